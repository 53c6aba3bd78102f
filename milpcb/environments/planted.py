"""Environments in which policies of the class are right, or mislead: one throughout, several in turn, drifting."""

import math
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from milpcb.core.checks import real, whole
from milpcb.environments.stream import BernoulliStream, Steps, check_opening
from milpcb.errors import InputError
from milpcb.protocols import Opened, Policy, PolicyClass, open_class
from milpcb.rng import child
from milpcb.types import Floats, Ints

CANDIDATES = 32


@dataclass(frozen=True)
class Planted:
    """The benign case: nothing is adversarial, and the class holds the best policy there is.

    Contexts are random 0/1 rows (repeats possible). Of 32 policies drawn from the class, the one whose labels are
    spread most evenly over the actions is planted; the stream names it in ``planted``.

    Parameters
    ----------
    n_actions : K >= 2
    n_contexts : rows of the pool, >= 1
    n_features : columns of the pool, >= 1
    cost_right : P[cost = 1] of the planted policy's action
    cost_wrong : P[cost = 1] of every other action, at least ``cost_right``

    """

    n_actions: int = 3
    n_contexts: int = 200
    n_features: int = 12
    cost_right: float = 0.3
    cost_wrong: float = 0.6

    counts: ClassVar[Any] = (("n_actions", 2), ("n_contexts", 1), ("n_features", 1))  # options, and the least of each
    probabilities: ClassVar[tuple[str, ...]] = ("cost_right", "cost_wrong")
    n_policies: ClassVar[int | None] = None  # how many are planted; None for one a phase
    feature_names: ClassVar[tuple[str, ...]] = ()
    action_names: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name, least in self.counts:
            whole(name, getattr(self, name), least)
        whole("n_features", self.n_features, 1, 10_000)  # beyond, opening a class takes minutes
        for name in self.probabilities:
            real(name, getattr(self, name), "a probability from 0 to 1", lambda p: 0 <= p <= 1)
        if self.cost_right > self.cost_wrong:
            raise InputError(
                f"cost_right = {self.cost_right} must not exceed cost_wrong = {self.cost_wrong}: "
                "the planted policy is the one that pays less; swap them"
            )

    def starts(self, horizon: int) -> Ints:
        """Return (P,): the round at which each phase starts, the first at 0; here one phase."""
        del horizon  # one phase, however long
        return np.zeros(1, dtype=np.int64)

    def chances(self, labels: Ints, horizon: int, seed: int) -> Steps:
        """Return the chances by round; ``labels`` (P, m) are the actions of the planted policies."""
        del seed
        right = labels[:, :, None] == np.arange(self.n_actions)
        return Steps(self.starts(horizon), np.where(right, self.cost_right, self.cost_wrong))

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> BernoulliStream:
        """Return the stream of one seed with policies of ``policies`` planted; raises InputError."""
        check_opening(self.n_actions, policies, horizon)
        contexts = self.contexts(seed)
        opened = open_class(policies, contexts)
        planted: list[Policy] = []
        labels = np.zeros((0, len(contexts)), dtype=np.int64)
        for number in range(len(self.starts(horizon)) if self.n_policies is None else self.n_policies):
            policy, right = _plant(opened, contexts, child(seed, "environment", "planted", number), labels[-1:])
            planted.append(policy)
            labels = np.vstack([labels, right])
        chances = self.chances(labels, horizon, seed)
        return BernoulliStream(contexts, chances, self.n_actions, horizon=horizon, seed=seed, planted=tuple(planted))

    def contexts(self, seed: int) -> Floats:
        """Return the pool (m, d) of one seed."""
        bits = child(seed, "environment", "contexts").integers(2, size=(self.n_contexts, self.n_features))
        return bits.astype(np.float64)


def _plant(opened: Opened, contexts: Floats, rng: np.random.Generator, before: Ints) -> tuple[Policy, Ints]:
    """Return the most evenly spread of the drawn policies that differ from those ``before`` (n, m), and its labels."""
    drawn = [opened.draw(rng) for _ in range(CANDIDATES)]
    pairs = [(policy, policy.predict(contexts)) for policy in drawn]
    new = [pair for pair in pairs if (pair[1] != before).any(axis=1).all()]
    if not new:
        raise InputError(
            f"there is nothing to switch to: {CANDIDATES} draws from the policy class label the contexts alike; "
            "give it more policies, or take environment 'planted'"
        )

    def entropy(pair: tuple[Policy, Ints]) -> float:
        share = np.bincount(pair[1]) / len(pair[1])
        share = share[share > 0]
        return float(-(share * np.log(share)).sum())

    return max(new, key=entropy)


@dataclass(frozen=True)
class Switching(Planted):
    """Costs that are not i.i.d.: knowledge from before a switch is wrong after it.

    Breaks learners that stop exploring, or that never give up an early estimate. Regret can be negative. Up to the
    first switch, a seed shows the same rounds as in ``Planted``. ``planted`` has a policy for each phase.

    Parameters
    ----------
    n_actions, n_contexts, n_features, cost_right, cost_wrong : as in ``Planted``
    switch_at : increasing fractions f of the horizon, 0 < f < 1; a switch is at the first round t >= f * horizon

    """

    switch_at: tuple[float, ...] = (0.5,)

    def __post_init__(self) -> None:
        super().__post_init__()
        fractions: Any = self.switch_at
        listed = isinstance(fractions, (list, tuple)) and fractions and all(isinstance(f, Real) for f in fractions)
        if not listed or not all(earlier < later for earlier, later in pairwise([0, *fractions, 1])):
            raise InputError(
                f"switch_at must list fractions between 0 and 1, each larger than the one before, got {fractions!r}"
            )
        object.__setattr__(self, "switch_at", tuple(map(float, fractions)))

    def starts(self, horizon: int) -> Ints:
        # Rounded first, so that 0.07 * 100 = 7.000000000000001 does not become 8.
        return np.array([0, *(math.ceil(round(f * horizon, 6)) for f in self.switch_at)], dtype=np.int64)


@dataclass(frozen=True)
class AlternatingLeader(Planted):
    """The policy that has paid least so far is about to be wrong, over and over; breaks follow-the-leader.

    Two policies are planted; the first is right for half a turn, then each for a whole turn.

    Parameters
    ----------
    n_actions, n_contexts, n_features, cost_right, cost_wrong : as in ``Planted``
    n_turns : whole turns in a run, >= 1

    """

    n_policies = 2
    counts = (*Planted.counts, ("n_turns", 1))
    n_turns: int = 20

    def starts(self, horizon: int) -> Ints:
        odd = 2 * np.arange(self.n_turns, dtype=np.int64) + 1  # turn i starts after (2 i + 1) / (2 n + 1) of all rounds
        return np.array([0, *-(-odd * horizon // (2 * self.n_turns + 1))], dtype=np.int64)


@dataclass(frozen=True)
class Seasonal(Planted):
    """The same few situations come back for ever, which no fixed policy can follow; regret can be negative.

    Breaks learners that retrain on a growing past and act on it as if it were the present.

    Parameters
    ----------
    n_actions, n_contexts, n_features, cost_right, cost_wrong : as in ``Planted``
    n_seasons : policies planted, one a season, >= 2
    season : rounds of a season, >= 1

    """

    counts = (*Planted.counts, ("n_seasons", 2), ("season", 1))
    n_seasons: int = 4
    season: int = 500

    @property
    def n_policies(self) -> int:  # type: ignore[override]  # an option here
        """One a season."""
        return self.n_seasons

    def starts(self, horizon: int) -> Ints:
        return np.arange(0, horizon, self.season, dtype=np.int64)


@dataclass(frozen=True)
class LateBloomer(Planted):
    """One policy pays in every round of an early phase and in none afterwards; over the run it is by far the best.

    Breaks learners that act on early confidence. Policies planted: the late bloomer and the decoy, which is free early
    on and ordinary later. All other actions cost 1 with ``cost_other``.

    Parameters
    ----------
    n_actions, n_contexts, n_features : as in ``Planted``
    cost_right : P[cost = 1] of the late bloomer's action in the late phase
    cost_wrong : P[cost = 1] of every other action in the late phase, at least ``cost_right``
    early : fraction of the horizon that the early phase lasts, from 0 to 1
    cost_other : P[cost = 1] in the early phase of an action that neither policy plays

    """

    n_policies = 2  # the late bloomer, then the decoy
    probabilities = (*Planted.probabilities, "early", "cost_other")
    cost_right: float = 0.0
    cost_wrong: float = 0.5
    early: float = 0.1
    cost_other: float = 0.5

    def chances(self, labels: Ints, horizon: int, seed: int) -> Steps:
        del seed
        m, rows = labels.shape[1], np.arange(labels.shape[1])
        early = np.full((m, self.n_actions), self.cost_other)
        late = np.full((m, self.n_actions), self.cost_wrong)
        early[rows, labels[1]] = 0.0
        early[rows, labels[0]] = 1.0
        late[rows, labels[0]] = self.cost_right
        return Steps(np.array([0, round(self.early * horizon)]), np.array([early, late]))


@dataclass(frozen=True)
class Drifting(Planted):
    """Costs that are never i.i.d. for long, without a moment at which anything happens.

    Breaks learners that average all of the past, and those that commit. Several policies are planted; their weights are
    the softmax of independent random walks, and an action is cheap in proportion to the weight of those that play it.

    Parameters
    ----------
    n_actions, n_contexts, n_features, cost_right, cost_wrong : as in ``Planted``
    n_policies : policies planted, >= 2
    n_steps : times at which the weights move, evenly over the horizon, >= 1
    speed : standard deviation of a walk over the whole horizon, > 0

    """

    counts = (*Planted.counts, ("n_policies", 2), ("n_steps", 1))
    n_policies: int = 4  # type: ignore[misc]  # an option here
    n_steps: int = 200
    speed: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real("speed", self.speed, "a positive number", lambda number: number > 0)

    def chances(self, labels: Ints, horizon: int, seed: int) -> Steps:
        steps = child(seed, "environment", "drift").normal(size=(self.n_steps, self.n_policies))
        walks = np.cumsum(steps * self.speed / np.sqrt(self.n_steps), axis=0)
        weights = np.exp(walks - walks.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        plays = labels[:, :, None] == np.arange(self.n_actions)
        right = np.clip(np.einsum("sj,jmk->smk", weights, plays), 0.0, 1.0)
        starts = np.arange(self.n_steps) * horizon // self.n_steps
        return Steps(starts, self.cost_wrong - (self.cost_wrong - self.cost_right) * right)


@dataclass(frozen=True)
class Parity(Planted):
    """The right action depends on two features together; either of them alone is no help.

    Breaks linear models and greedy trees: over the pool each of the four values of the two features is equally frequent
    (up to one row). A depth-2 tree has no regret. Nothing is planted.

    Parameters
    ----------
    n_actions, n_contexts, cost_right, cost_wrong : as in ``Planted``; actions beyond the first two are always wrong
    n_features : columns of the pool, >= 2; which two of them matter depends on the seed

    """

    n_policies = 0
    counts = (*Planted.counts, ("n_features", 2))
    n_actions: int = 2
    n_features: int = 8

    def contexts(self, seed: int) -> Floats:
        rows, corner = super().contexts(seed), np.arange(self.n_contexts) % 4
        rows[:, self._pair(seed)] = np.column_stack([corner // 2, corner % 2])
        return rows

    def chances(self, labels: Ints, horizon: int, seed: int) -> Steps:
        del labels
        one, other = self.contexts(seed)[:, self._pair(seed)].astype(np.int64).T
        return super().chances((one ^ other)[None, :], horizon, seed)

    def _pair(self, seed: int) -> Ints:
        return child(seed, "environment", "pair").permutation(self.n_features)[:2]
