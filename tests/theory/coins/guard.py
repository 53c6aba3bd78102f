"""A guard on games small enough to enumerate: mean regret beside what a run states, and what statement G1 allows.

Every sequence of actions is played for costs 0 and 1 of two constants, around a learner that plays nearly always the
same action, learns nothing, and is left for Exp4 when the certificate is above B. Its coins have no part in the play.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from milpcb.learners import Exp4, Guarded, Learner
from milpcb.types import Floats
from tests.theory.coins.games import OPPOSITE, CoinGame
from tests.theory.coins.slacks import ROUNDING, Judged, Verdict, worst_of

T = 4
GAME = CoinGame(OPPOSITE, (0,) * T, ())
GUARD_NAMES = ("E[regret] <= E[bound]", "E[regret] <= E[B + 1 + G]")


class GuardSetting(NamedTuple):
    """How certain the learner inside is of its action, B, and the share of the least chance."""

    certain: float
    bound: float
    share: float


SETTINGS = tuple(GuardSetting(*setting) for setting in product((1.0, 0.75), (0.1, 0.6), (0.5, 0.0)))


class Stubborn(Learner):
    """Plays action 0, nearly or quite for certain, and learns nothing."""

    kept = ()

    def __init__(self, n_actions: int, certain: float = 1.0) -> None:
        super().__init__(n_actions=n_actions)
        self._q = np.full(n_actions, (1 - certain) / max(1, n_actions - 1))
        self._q[0] = certain

    def _act(self, row: int) -> Floats:
        """Return the same distribution (K,) for every context."""
        del row
        return self._q.copy()

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Learn nothing."""


def judge_guard(judged: Judged, settings: Sequence[GuardSetting] = SETTINGS) -> Verdict:
    """Return the verdict over the settings, and all costs of which one constant pays 1 in each round."""

    def found() -> Iterator[tuple[str, Floats]]:
        for setting in settings:
            for costs in product(((1.0, 0.0), (0.0, 1.0)), repeat=T):
                place = f"{setting}, costs {np.array(costs, dtype=int).tolist()}"
                yield place, -np.array(guarded_means(judged.kind, setting, np.array(costs))[:2])

    return worst_of(GUARD_NAMES, found(), ROUNDING)


def guarded_means(kind: type[Guarded], setting: GuardSetting, costs: Floats) -> tuple[float, float, float]:
    """Return the slacks for one sequence of costs (T, K), and the chance of a change."""
    sums, least = np.zeros(3), float(costs.sum(axis=0).min())
    for chance, learner in _every_run(kind, setting, costs):
        tau = T if learner.changed is None else learner.changed
        rest = Exp4(GAME.oracle(), horizon=T - tau).guarantee() if tau < T else 0.0
        regret = learner.ledger.cost - least
        sums += chance * np.array([learner.bound() - regret, setting.bound + 1 + rest - regret, tau < T])
    stated, allowed, changed = sums.tolist()
    return stated, allowed, changed


def _every_run(kind: type[Guarded], setting: GuardSetting, costs: Floats) -> Iterator[tuple[float, Guarded]]:
    """Yield the chance of every sequence of actions that has one, and the learner after it."""
    oracle = GAME.oracle()
    for actions in product(range(2), repeat=T):
        inner, chance = Stubborn(2, setting.certain), 1.0
        learner = kind(oracle, horizon=T, inner=inner, bound=setting.bound, share=setting.share)
        for action, shown in zip(actions, costs, strict=True):
            q = learner.act(0)
            chance *= float(q[action])
            if not chance:
                break
            learner.learn(0, action, float(shown[action]), float(q[action]))
        else:
            yield chance, learner


# ------------------------------------------------------------------- with one thing wrong


class _ForgetsPaid(Guarded):
    def _known(self) -> float:
        return self._seen


class _AlwaysAllowed(Guarded):
    def _look(self) -> None:
        pass


GUARDED = (Judged("guarded", Guarded),)
GUARD_MUTANTS = (
    Judged("guard, costs since forgotten", _ForgetsPaid),
    Judged("guard, never changes", _AlwaysAllowed),
)
