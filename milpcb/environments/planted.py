"""Planted: i.i.d. contexts and costs, and one policy of the competing class that is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from milpcb.core.checks import whole
from milpcb.environments.chances import Chances, Labelled, Phases
from milpcb.environments.stream import BernoulliStream, check_opening, check_probability
from milpcb.errors import InputError
from milpcb.protocols import Opened, Policy, PolicyClass, open_class
from milpcb.rng import child
from milpcb.types import Floats, Ints

CANDIDATES = 32


@dataclass(frozen=True)
class Planted:
    """The benign case: nothing is adversarial, and the class holds the best policy there is.

    Shows how fast a learner finds that policy; breaks learners that ignore the context, since every action is wrong on
    many contexts, and learners that explore for ever. Contexts are random 0/1 rows (repeats possible). Of 32 policies
    drawn from the class, the one whose labels are spread most evenly over the actions is planted. Contexts and policy
    depend on the seed; the stream names the policy in ``planted``.

    Parameters
    ----------
    n_actions : K >= 2
    n_contexts : rows of the pool, >= 1
    n_features : columns of the pool, >= 1
    cost_right : P[cost = 1] of the planted policy's action
    cost_wrong : P[cost = 1] of every other action, at least ``cost_right``

    Raises
    ------
    InputError (a setting out of range)

    """

    n_actions: int = 3
    n_contexts: int = 200
    n_features: int = 12
    cost_right: float = 0.3
    cost_wrong: float = 0.6

    feature_names: ClassVar[tuple[str, ...]] = ()
    action_names: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        whole("n_contexts", self.n_contexts, 1)
        whole("n_features", self.n_features, 1, 10_000)  # beyond, opening a class takes minutes
        check_probability("cost_right", self.cost_right)
        check_probability("cost_wrong", self.cost_wrong)
        if self.cost_right > self.cost_wrong:
            raise InputError(
                f"cost_right = {self.cost_right} must not exceed cost_wrong = {self.cost_wrong}: "
                "the planted policy is the one that pays less; swap them"
            )

    def starts(self, horizon: int) -> Ints:
        """Return (P,): the round at which each phase starts, the first at 0; here one phase."""
        del horizon  # one phase, however long
        return np.zeros(1, dtype=np.int64)

    def n_planted(self, horizon: int) -> int:
        """Return how many policies are planted: one a phase."""
        return len(self.starts(horizon))

    def chances(self, labels: Ints, horizon: int, seed: int) -> Chances:
        """Return who is right when; ``labels`` (P, m) are the actions of the planted policies."""
        del seed
        return Labelled(Phases(self.starts(horizon), labels), self.n_actions, self.cost_right, self.cost_wrong)

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> BernoulliStream:
        """Return the stream of one seed with policies of ``policies`` planted; raises InputError."""
        check_opening(self.n_actions, policies, horizon)
        contexts = self.contexts(seed)
        opened = open_class(policies, contexts)
        planted: list[Policy] = []
        labels: list[Ints] = []
        for number in range(self.n_planted(horizon)):
            rng = child(seed, "environment", "planted", number)
            policy, right = _plant(opened, contexts, rng, labels[-1] if labels else None)
            planted.append(policy)
            labels.append(right)
        chances = self.chances(np.array(labels).reshape(-1, len(contexts)), horizon, seed)
        return BernoulliStream(contexts, chances, self.n_actions, horizon=horizon, seed=seed, planted=tuple(planted))

    def contexts(self, seed: int) -> Floats:
        """Return the pool (m, d) of one seed."""
        bits = child(seed, "environment", "contexts").integers(2, size=(self.n_contexts, self.n_features))
        contexts: Floats = bits.astype(np.float64)
        contexts.setflags(write=False)
        return contexts


def _plant(opened: Opened, contexts: Floats, rng: np.random.Generator, before: Ints | None) -> tuple[Policy, Ints]:
    """Return the most evenly spread of the drawn policies whose labels differ from ``before``, and its labels (m,)."""
    drawn = [opened.draw(rng) for _ in range(CANDIDATES)]
    pairs = [(policy, policy.predict(contexts)) for policy in drawn]
    new = [pair for pair in pairs if before is None or (pair[1] != before).any()]
    if not new:
        raise InputError(
            f"there is nothing to switch to: {CANDIDATES} draws from the policy class label the contexts alike; "
            "give it more policies, or take environment 'planted'"
        )
    return max(new, key=lambda pair: _entropy(pair[1]))


def _entropy(labels: Ints) -> float:
    share = np.bincount(labels) / len(labels)
    share = share[share > 0]
    return float(-(share * np.log(share)).sum())
