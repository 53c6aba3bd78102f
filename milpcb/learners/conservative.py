"""A learner that never does much worse than current practice (conservative bandits: Wu et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from milpcb import rng
from milpcb.bets import Floor
from milpcb.core.checks import check_confidence, index, real, whole_array
from milpcb.errors import InputError
from milpcb.learners.around import Around
from milpcb.learners.base import Learner
from milpcb.protocols import ContextModel
from milpcb.types import Aside, Floats

Baseline = int | Sequence[int] | Callable[[int], int]


class Conservative(Around):
    """Any learner, kept from costing much more than a baseline would have.

    With probability ``confidence``, after every round (statement 18 of milpcb/theory/confidence.md), the total cost so
    far is at most (1 + loss) times the baseline's, plus the allowance. Where paid + 1 <= (1 + loss) floor + allowance,
    ``floor`` the proved cost of the baseline so far, the learner's q is played, mixed with a share mu of the baseline's
    action so that the floor grows: in the n-th such round min(1/2, share / n^(1/3)). Else the baseline's action is
    played. Until its cost is known, a round of the first kind counts as 1 on the left and 0 on the right. Whether the
    learner inside was followed is drawn, given the action; if not, it gives the round up. ``bound()`` is that of the
    learner inside plus the costs of the rounds where it was not followed.

    Parameters
    ----------
    oracle, pool, contexts, horizon, seed : as of every learner, handed on to the one inside
    inner : registered name of a learner that learns from played actions, or one that has not played yet
    options : that learner's own options, where it is named
    baseline : current practice: the number of an action, one for each context, or a function from row to action
    loss : largest share lost, 0 or more
    allowance : a further loss allowed, in units of cost, 0 or more
    confidence : the probability that the bound holds
    share : of the baseline's action in rounds of the learner, as above

    """

    what = "a baseline"
    kept = ("inner", "_floor", "_elsewhere", "_own", "unknown", "rounds_of_baseline", "deviations", "_rng")

    def __init__(
        self,
        oracle: Any,
        pool: ContextModel | None = None,
        contexts: Any = None,
        *,
        horizon: int | None = None,
        seed: int = 0,
        inner: str | Learner = "exp4",
        options: dict[str, Any] | None = None,
        baseline: Baseline = 0,
        loss: float = 0.02,
        allowance: float = 0.0,
        confidence: float = 0.95,
        share: float = 1.0,
    ) -> None:
        super().__init__(oracle, pool, contexts, horizon=horizon, seed=seed)
        self.inner = self._made(inner, options)
        self.delayed = self.inner.delayed  # type: ignore[misc]  # as the learner inside, not as the class
        self.hides_law = self.inner.hides_law  # type: ignore[misc]  # as the learner inside, not as the class
        self._baseline = _read(baseline, self.n_actions, oracle.n_contexts)
        self._loss, self._allowance, self._share = (
            real(name, value, "finite and 0 or more", lambda number: number >= 0)
            for name, value in (("loss", loss), ("allowance", allowance), ("share", share))
        )
        self._floor = Floor(check_confidence(confidence))
        self.ledger.bet(*self.inner.ledger.stakes)
        self._elsewhere = 0.0  # paid in rounds that the learner inside does not count
        self._own = 0  # rounds that were not the baseline's alone
        self.unknown = 0  # those of them that count as 1, as their costs are not known
        self.rounds_of_baseline = 0  # in which nothing but the baseline's action could be played
        self.deviations = 0  # rounds that a person overrode, not with the baseline's action: the promise grows by 1
        self._rng = rng.child(seed, "conservative")

    @property
    def floor(self) -> float:
        """Lower confidence bound on the cost of the baseline in the rounds so far."""
        return self._floor.value

    @property
    def at_limit(self) -> bool:
        """Whether no more may be risked in the next round."""
        return self._at_worst() > (1 + self._loss) * self._floor.value + self._allowance + self.deviations

    def _act(self, row: int) -> Floats:
        action = self._action(row)
        if self.at_limit:
            self.rounds_of_baseline += 1
            self.note = [action, 0.0, None]
            return self._only(action)
        q = self.inner.act(row)
        aside = self.inner.set_aside() if self.delayed else Aside(row, q.tolist(), self.inner.played)
        self._own += 1
        self.unknown += 1
        mu = min(0.5, self._share / float(self._own) ** (1 / 3))
        self.note = [action, mu, list(aside)]
        return np.asarray((1 - mu) * q + mu * self._only(action))

    def _learn(self, row: int, action: int, cost: float, probability: float) -> float:
        usual, mu, aside = (self._action(row), 0.0, None) if self.note is None else self.note
        if action == usual:
            self._floor.add(cost, cost / probability)
        if aside is None:  # the baseline alone, or a round that was taken over, whose q is all that is known of it
            self._elsewhere += cost
            return 0.0 if probability == 1.0 else cost / probability
        mine = self._begun(aside)
        if self._rng.random() * probability >= (1 - mu) * mine.q[action]:
            self.inner.give_up()
            self.unknown -= 1
            self._elsewhere += cost
            return cost
        self.inner.learn(row, action, cost, mine.q[action])  # where that fails, the round goes on counting as 1
        self.unknown -= 1
        estimate = self.inner.ledger.last
        return estimate if action == usual else estimate / (1 - mu)

    def _give_up(self) -> None:
        if self._give_up_inside():
            self._own -= 1
            self.unknown -= 1
        elif self.note is not None:
            self.rounds_of_baseline -= 1

    def _lose(self) -> None:
        """Give up the round of the learner inside; it goes on counting as 1, unless it was the baseline's alone."""
        if not self._give_up_inside() and self.note is None:  # whether the baseline alone played is not known
            self.unknown += 1

    def _override(self, row: int, action: int) -> None:
        """Count the round as 1 until its cost is known; it earns no floor, and the promise grows by a deviation."""
        self.deviations += action != (self._action(row) if self.note is None else self.note[0])
        if not self._give_up_inside():
            self.unknown += 1
            self.rounds_of_baseline -= self.note is not None

    def _give_up_inside(self) -> bool:
        """Give up the round of the learner inside, and return whether it has begun one."""
        if self.note is None or self.note[2] is None:
            return False
        self._begun(self.note[2])
        self.inner.give_up()
        return True

    def _pay(self, cost: float) -> None:
        self.unknown -= 1
        self._elsewhere += cost

    def _begun(self, aside: Sequence[Any]) -> Aside:
        mine = Aside(*aside)
        if self.delayed:
            self.inner.take_up(mine)
        return mine

    def bound(self, confidence: float | None = None) -> float:
        return self.inner.bound(confidence) + self._elsewhere

    def _go_on(self, before: Conservative) -> None:
        self.inner.go_on(before.inner)
        for name in set(self.kept or ()) - {"inner"}:
            setattr(self, name, getattr(before, name))

    def _at_worst(self) -> float:
        """Return what may have been paid after this round."""
        return self.ledger.cost + self.unknown + 1

    def _action(self, row: int) -> int:
        return index("the baseline's action", self._baseline(row), self.n_actions)

    def _only(self, action: int) -> Floats:
        q = np.zeros(self.n_actions)
        q[action] = 1.0
        return q


def _read(baseline: Any, n_actions: int, n_contexts: int) -> Callable[[int], int]:
    if callable(baseline):
        return baseline  # type: ignore[no-any-return]
    if isinstance(baseline, (list, tuple, np.ndarray)):
        actions = whole_array("baseline", baseline).tolist()
        if len(actions) != n_contexts:
            raise InputError(f"the baseline has {len(actions)} actions for {n_contexts} contexts; give one for each")
        return [index("an action of the baseline", action, n_actions) for action in actions].__getitem__
    constant = index("baseline", baseline, n_actions)
    return lambda _row: constant
