"""Anytime play: approximate oracle answers, and the sum of what they may have cost."""

from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, open_oracle
from milpcb.errors import OracleInexact
from milpcb.learners import BistroPlus
from milpcb.relaxations.game import phi_from_psi, psi_from_profile
from milpcb.types import Answer, Floats, Stop
from policies import DecisionTrees, FiniteClass, LinearRules

CONTEXTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 1]], float)
LABELINGS = np.array([[0, 1, 2, 0, 1], [1, 1, 0, 0, 2], [2, 2, 2, 2, 2], [0, 0, 0, 0, 0], [1, 2, 0, 1, 2]])
CLASS = FiniteClass(LABELINGS, 3)


class Sloppy:
    """The listed class, with upper bounds up to ``alpha`` too high and policies that cost as much too much."""

    def __init__(self, alpha: float, seed: int, policies: Any = CLASS, contexts: Floats = CONTEXTS) -> None:
        self.exact: Any = open_oracle(policies, contexts, kind="enumeration")
        self.contexts, self.n_contexts, self.n_actions = contexts, len(contexts), self.exact.n_actions
        self.log_size, self.capabilities = self.exact.log_size, self.exact.capabilities
        self._alpha, self._rng = alpha, np.random.default_rng(seed)

    def minimise(self, costs: Floats) -> Answer:
        """Return a policy within alpha of the best, chosen at random, and honest bounds."""
        totals = self.exact.totals(costs)
        near = np.flatnonzero(totals <= totals.min() + self._alpha)
        chosen = int(self._rng.choice(near))
        upper = min(float(totals[chosen]) + self._alpha * float(self._rng.random() < 0.5), totals.min() + self._alpha)
        stop = Stop.OPTIMAL if upper == totals.min() else Stop.TIME_LIMIT
        return Answer(float(totals.min()), upper, _Labels(self.exact.labelings[chosen]), stop, 0.0)

    value = profile = action_weights = None


class _Labels:
    """A policy known by its labels on CONTEXTS."""

    def __init__(self, labels: Any) -> None:
        self._labels = {tuple(x): int(a) for x, a in zip(CONTEXTS, labels, strict=True)}

    def predict(self, contexts: Floats) -> Any:
        """Look the contexts up."""
        return np.array([self._labels[tuple(x)] for x in contexts])


def play(learner: BistroPlus, oracle: Any, rounds: int, seed: int = 1) -> list[tuple[float, float]]:
    """Play, and return for each round what q* truly lost, and by how much the oracle error grew."""
    rng, pairs = np.random.default_rng(seed), []
    for _ in range(rounds):
        row, before = int(rng.integers(len(CONTEXTS))), learner.oracle_error()
        q = learner.act(row)
        K, scale = learner.n_actions, learner.scale
        q_star = (q - 1 / scale) / (1 - K / scale)
        hit = learner.relaxation.hit
        phi = phi_from_psi(psi_from_profile(oracle.exact.profile(learner.totals(), row), hit), hit)
        lost = max(0.0, float((phi - q_star).max())) if phi.any() else 0.0
        pairs.append(((1 - K / scale) * lost, learner.oracle_error() - before))
        action = int(rng.integers(K))
        learner.learn(row, action, float(rng.random() < 0.5), q[action])
    return pairs


@pytest.mark.parametrize("noise", ["paper", "half", "coordinate"])
@pytest.mark.parametrize("queries", ["all", "argmin"])
@pytest.mark.parametrize("alpha", [0.3, 1.0, 3.0])
def test_the_oracle_error_covers_what_was_lost(alpha: float, queries: Any, noise: str) -> None:
    """In every round the true excess is at most what the oracle error grew by, and that at most min(1, alpha / L)."""
    oracle = Sloppy(alpha, seed=3)
    learner = BistroPlus(
        oracle, FinitePool(CONTEXTS), horizon=400, seed=0, scale=8.0, noise=noise, queries=queries, anytime=True
    )
    pairs = play(learner, oracle, 400)
    assert all(lost <= grown + 1e-9 for lost, grown in pairs)
    assert all(grown <= (1 - 3 / 8) * min(1.0, alpha / learner.relaxation.hit) + 1e-9 for _, grown in pairs)
    assert sum(grown for _, grown in pairs) == pytest.approx(learner.oracle_error())
    assert learner.oracle_error() > 0


def test_play_from_sloppy_answers_does_lose() -> None:
    """The errors injected are large enough to matter: without that sum the loss would go unnoticed."""
    oracle = Sloppy(3.0, seed=3)
    learner = BistroPlus(oracle, FinitePool(CONTEXTS), horizon=400, seed=0, scale=8.0, anytime=True)
    assert sum(lost for lost, _ in play(learner, oracle, 400)) > 1


@pytest.mark.parametrize("queries", ["all", "argmin"])
def test_exact_answers_add_nothing_and_play_as_ever(queries: Any) -> None:
    """With proved answers anytime play is the ordinary play, and the oracle error stays 0."""
    runs = []
    for anytime in (False, True):
        learner = BistroPlus(
            open_oracle(DecisionTrees(3, 1), CONTEXTS),
            FinitePool(CONTEXTS),
            horizon=60,
            seed=0,
            scale=6.0,
            queries=queries,
            anytime=anytime,
        )
        rng, qs = np.random.default_rng(0), []
        for t in range(40):
            q = learner.act(t % 5)
            learner.learn(t % 5, t % 3, float(rng.random()), q[t % 3])
            qs.append(q)
        assert learner.oracle_error() == 0.0
        runs.append(np.array(qs))
    assert (runs[0] == runs[1]).all()


def test_errors_below_one_unit_are_rounded_away() -> None:
    """A gap below one unit on whole costs is no gap: the bound rounds up to the value, and play is exact."""
    exact = open_oracle(LinearRules(2, max_weight=2), CONTEXTS)
    rough = open_oracle(LinearRules(2, max_weight=2), CONTEXTS, gap=0.9)
    qs = []
    for oracle in (exact, rough):
        learner = BistroPlus(oracle, FinitePool(CONTEXTS), horizon=50, seed=0, scale=6.0, anytime=oracle is rough)
        rng, seen = np.random.default_rng(0), []
        for t in range(30):
            q = learner.act(t % 5)
            learner.learn(t % 5, t % 2, float(rng.random()), q[t % 2])
            seen.append(q)
        assert learner.oracle_error() == 0.0
        qs.append(np.array(seen))
    assert (qs[0] == qs[1]).all()


def test_rules_that_cannot_be_proved_in_time_still_play_and_say_what_it_may_cost() -> None:
    """Real-weight rules without time: the run completes, the oracle error is reported and covers the true loss."""
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(24, 4))
    oracle = open_oracle(LinearRules(2, max_weight=None), contexts, time_limit=0.0)
    learner = BistroPlus(oracle, FinitePool(contexts), horizon=40, seed=0, scale=8.0, noise="half", anytime=True)
    for _ in range(40):
        row = int(rng.integers(24))
        q = learner.act(row)
        learner.learn(row, 0, 1.0, q[0])
    assert 0 < learner.oracle_error() <= 40


def test_without_anytime_an_unproved_answer_is_an_error() -> None:
    """No bound is taken for a value unless it was asked for."""
    contexts = np.random.default_rng(0).normal(size=(60, 6))
    for queries in ("all", "argmin"):
        oracle = open_oracle(LinearRules(2, max_weight=None), contexts, time_limit=0.0)
        learner = BistroPlus(oracle, FinitePool(contexts), horizon=9000, seed=0, scale=8.0, queries=queries)
        with pytest.raises(OracleInexact):
            learner.act(0)
        assert learner.played == 0


def test_the_oracle_error_is_part_of_the_state() -> None:
    """A restored learner goes on adding to what its answers may have cost before."""
    oracle = Sloppy(1.0, seed=3)
    first, second = (
        BistroPlus(oracle, FinitePool(CONTEXTS), horizon=99, seed=0, scale=8.0, anytime=True) for _ in range(2)
    )
    play(first, oracle, 50)
    second.restore(first.state())
    assert second.oracle_error() == first.oracle_error() > 0
