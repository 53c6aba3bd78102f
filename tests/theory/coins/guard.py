"""A guard on games small enough to enumerate: mean regret beside what a run states, and what statement G1 allows.

The learner inside plays nearly always the same action, learns nothing, and is left for Exp4 when the certificate is
above B. Coins have no part in the play.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from milpcb.learners import Exp4, Guarded, Uniform
from tests.theory.coins.games import OPPOSITE, CoinGame
from tests.theory.coins.slacks import ROUNDING, Judged, Verdict, worst_of
from tests.theory.coins.trees import least_slacks, tree

T = 4
GAME = CoinGame(OPPOSITE, (0,) * T, ())
GUARD_NAMES = ("E[regret] <= E[bound]", "E[regret] <= E[B + 1 + G]")


class GuardSetting(NamedTuple):
    """How certain the learner inside is of its action, B, and the share of the least chance."""

    certain: float
    bound: float
    share: float


SETTINGS = tuple(GuardSetting(*setting) for setting in product((1.0, 0.75), (0.1, 0.6), (0.5, 0.0)))


class Stubborn(Uniform):
    """Plays action 0, nearly or quite for certain, and learns nothing."""

    least_chance = 0.0

    def __init__(self, n_actions: int, certain: float = 1.0) -> None:
        super().__init__(n_actions)
        self._q = np.full(n_actions, (1 - certain) / max(1, n_actions - 1))
        self._q[0] = certain


def judge_guard(judged: Judged, settings: Sequence[GuardSetting] = SETTINGS) -> Verdict:
    """Return the verdict over the settings, in the mean after every round, for all oblivious costs 0 and 1."""
    found = []
    for setting in settings:
        excess = []
        for stated in (judged.kind.bound, _allowed):
            kind, oracle = type(judged.kind.__name__, (judged.kind,), {"bound": stated}), GAME.oracle()
            inner = Stubborn(2, setting.certain)
            learner = kind(oracle, horizon=T, inner=inner, bound=setting.bound, share=setting.share)
            excess.append(-least_slacks(tree(learner, GAME.rows, oracle), GAME.rows, np.array(OPPOSITE))[1])
        found.append((str(setting), excess))
    return worst_of(GUARD_NAMES, found, ROUNDING)


def _allowed(guarded: Any) -> float:
    """Return B + 1 + G(T - tau), tau the round after which the safe learner went on, or T."""
    left = 0 if guarded.changed is None else T - guarded.changed
    return float(guarded._allowed(T) + 1 + (Exp4(GAME.oracle(), horizon=left).guarantee() if left else 0.0))


# ------------------------------------------------------------------- with one thing wrong


class _ForgetsPaid(Guarded):
    def _known(self) -> float:
        return self._seen


class _AlwaysAllowed(Guarded):
    def _look(self) -> None:
        pass


GUARDED = (Judged("guarded", Guarded),)
GUARD_MUTANTS = (Judged("guard, costs since forgotten", _ForgetsPaid), Judged("guard, never changes", _AlwaysAllowed))
