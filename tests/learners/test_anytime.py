"""Anytime play: approximate oracle answers, and the sum of what they may have cost."""

from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, open_oracle
from milpcb.errors import OracleInexact
from milpcb.learners import BistroPlus
from milpcb.relaxations.base import psi_from_profile
from milpcb.types import Answer, Floats, Stop
from policies import FiniteClass, Halfspaces, LinearRules

from .rounds import CONTEXTS, transcript

LABELINGS = np.array([[0, 1, 2, 0, 1], [1, 1, 0, 0, 2], [2, 2, 2, 2, 2], [0, 0, 0, 0, 0], [1, 2, 0, 1, 2]])
POOL = FinitePool(CONTEXTS)


class Sloppy:
    """The listed class, with upper bounds up to ``alpha`` too high and policies that cost as much too much."""

    def __init__(self, alpha: float, seed: int = 3) -> None:
        self.exact: Any = open_oracle(FiniteClass(LABELINGS, 3), CONTEXTS, kind="enumeration")
        self.contexts, self.n_contexts, self.n_actions = CONTEXTS, len(CONTEXTS), 3
        self.log_size, self.capabilities = self.exact.log_size, self.exact.capabilities
        self.alpha, self._rng = alpha, np.random.default_rng(seed)

    def minimise(self, costs: Floats) -> Answer:
        """Return a policy within alpha of the best, chosen at random, and honest bounds."""
        totals = self.exact.totals(costs)
        near = np.flatnonzero(totals <= totals.min() + self.alpha)
        chosen = int(self._rng.choice(near))
        upper = min(float(totals[chosen]) + self.alpha * float(self._rng.random() < 0.5), totals.min() + self.alpha)
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


def learner_on(oracle: Any, **options: Any) -> BistroPlus:
    """Return BISTRO+ that goes on with bounds."""
    return BistroPlus(oracle, POOL, **{"horizon": 400, "seed": 0, "scale": 8.0, "anytime": True, **options})


def lost(learner: BistroPlus, profile: Floats, q_star: Floats) -> float:
    """Return what q* loses against the best one, by the exact profile: by phi, or signed by mu."""
    V, hit = profile, learner.relaxation.hit
    hits = psi_from_profile(V, hit)
    phi = (hits[1:] - hits[0]) / hit
    if not learner.relaxation.shift:
        return max(0.0, float((phi - q_star).max())) if phi.any() else 0.0
    psi = psi_from_profile(V, -hit)
    return float(np.maximum(q_star - (phi + (psi[0] - psi[1:]) / hit) / 2, 0).sum())


@pytest.mark.parametrize("noise", ["paper", "half", "coordinate", "signed"])
@pytest.mark.parametrize("queries", ["all", "argmin"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 3.0])
def test_the_oracle_error_covers_what_was_lost(alpha: float, queries: Any, noise: str) -> None:
    """In every round the true excess is at most what the oracle error grew by, which is at most min(1, alpha / L)."""
    oracle, rng = Sloppy(alpha), np.random.default_rng(1)
    learner, pairs = learner_on(oracle, noise=noise, queries=queries), []
    for _ in range(200):
        row, before = int(rng.integers(len(CONTEXTS))), learner.oracle_error()
        q = learner.act(row)
        excess = lost(learner, oracle.exact.profile(learner.totals(), row), (q - 1 / 8) / (1 - 3 / 8))
        pairs.append(((1 - 3 / 8) * excess, learner.oracle_error() - before))
        action = int(rng.integers(3))
        learner.learn(row, action, float(rng.random() < 0.5), q[action])
    signed = noise == "signed"
    assert all(
        grown <= (1 - 3 / 8) * (1.0 if signed else min(1.0, alpha / learner.relaxation.hit)) + 1e-9
        for _, grown in pairs
    )
    assert sum(grown for _, grown in pairs) == pytest.approx(learner.oracle_error())
    if not (signed and queries == "argmin"):
        assert all(truly <= grown + 1e-9 for truly, grown in pairs)
    assert (learner.oracle_error() > 1e-9) == (alpha > 0)
    if alpha == 3.0 and queries == "all" and noise in ("paper", "signed"):
        assert sum(truly for truly, _ in pairs) > 0.5  # the errors are large enough to matter


def test_one_inexact_minimiser_of_signed_noise_counts_a_whole_round() -> None:
    """An answer without a gap is exact; any other may have broken a tie unevenly and adds 1, before exploring."""

    class Rough(Sloppy):
        def minimise(self, costs: Floats) -> Answer:
            answer = self.exact.minimise(costs)
            return Answer(answer.upper - self.alpha, answer.upper, answer.policy, Stop.TIME_LIMIT, 0.0)

    for gap in (1.0, 0.0):
        learner = learner_on(Rough(gap), noise="signed", queries="argmin")
        learner.act(0)
        assert learner.oracle_error() == gap * (1 - 3 / 8)


@pytest.mark.parametrize("queries", ["all", "argmin"])
def test_exact_answers_add_nothing_and_play_as_ever(queries: Any) -> None:
    """Proved answers, and those whose gap is below one unit, as the bound on whole costs rounds up to the value."""
    plays = []
    for anytime, gap in ((False, None), (True, None), (True, 0.9)):
        oracle = open_oracle(LinearRules(2, max_weight=2), CONTEXTS, **({} if gap is None else {"gap": gap}))
        learner = learner_on(oracle, queries=queries, anytime=anytime, scale=6.0)
        plays.append(transcript(learner, 30))
        assert learner.oracle_error() == 0.0
    assert plays[0] == plays[1]
    assert queries == "argmin" or plays[1] == plays[2]


@pytest.mark.parametrize("queries", ["all", "argmin"])
def test_rules_that_cannot_be_proved_in_time_still_play_and_say_what_it_may_cost(queries: Any) -> None:
    """Real-weight rules without time: the run completes and reports the oracle error; without anytime it is an error.

    No bound is taken for a value unless it was asked for.
    """
    contexts = np.random.default_rng(0).normal(size=(40, 6))
    oracle = open_oracle(Halfspaces(), contexts, time_limit=0.0)
    pool = FinitePool(contexts)
    learner = BistroPlus(oracle, pool, horizon=9000, seed=0, scale=8.0, noise="half", queries=queries, anytime=True)
    transcript(learner, 10)
    assert 0 < learner.oracle_error() <= 10
    strict = BistroPlus(oracle, pool, horizon=9000, seed=0, scale=8.0, queries=queries)
    with pytest.raises(OracleInexact):
        strict.act(0)
    assert strict.played == 0
