"""The choices of the one loop: argmin play, leftover rules, several futures, the plain estimator, BISTRO's own q."""

from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, open_oracle
from milpcb.learners import BistroPlus
from milpcb.relaxations.game import phi_from_psi, psi_from_profile, water_fill
from milpcb.types import Floats
from policies import FiniteClass

from .rounds import drawn

CONTEXTS = np.arange(5.0)[:, None]
CLASS = FiniteClass([[0, 1, 2, 0, 1], [1, 1, 0, 0, 2], [2, 2, 2, 2, 2], [0, 0, 0, 0, 0], [1, 2, 0, 1, 2]], 3)


def learner_on(**options: Any) -> tuple[BistroPlus, Any]:
    """Return a learner and its oracle."""
    oracle = open_oracle(CLASS, CONTEXTS, kind="enumeration")
    return BistroPlus(oracle, FinitePool(CONTEXTS), horizon=300, **{"seed": 3, "scale": 8.0, **options}), oracle


def rounds(learner: BistroPlus, count: int = 150) -> list[Floats]:
    """Play against random costs and return every q."""
    rng, seen = np.random.default_rng(0), []
    for _ in range(count):
        row, action = int(rng.integers(5)), int(rng.integers(3))
        seen.append(learner.act(row))
        learner.learn(row, action, float(rng.random() < 0.5), seen[-1][action])
    return seen


@pytest.mark.parametrize("noise", ["paper", "half", "coordinate"])
def test_one_minimiser_a_round_is_optimal(noise: str) -> None:
    """All mass on the minimiser's action: q*(i*) >= Phi in every round, at one question a round."""
    learner, oracle = learner_on(noise=noise, queries="argmin")
    rng, binding = np.random.default_rng(0), 0
    for _ in range(200):
        row, before = int(rng.integers(5)), oracle.calls
        q = learner.act(row)
        assert oracle.calls == before + 1
        q_star = (q - 1 / 8) / (1 - 3 / 8)
        assert sorted(np.rint(q_star)) == pytest.approx(sorted(q_star)) == [0, 0, 1]
        hit = learner.relaxation.hit
        phi = phi_from_psi(psi_from_profile(oracle.profile(learner.totals(), row), hit), hit)
        assert (q_star >= phi - 1e-12).all()
        binding += phi.any()
        learner.learn(row, 0, float(rng.random() < 0.5), q[0])
    assert binding > 20


def test_descending_order_changes_nothing_with_exact_values() -> None:
    """At most one phi is not 0, so the order in which actions are gone through does not matter."""
    plain, descending = (rounds(learner_on(leftover=rule)[0]) for rule in ("uniform", "descending"))
    assert (np.array(plain) == np.array(descending)).all()


def test_several_futures_are_averaged() -> None:
    """``draws = 3`` plays the mean of the q that the same generator's next three futures give."""
    three, one = learner_on(draws=3)[0], learner_on()[0]
    for row in range(5):
        assert drawn(three, row) == pytest.approx(np.mean([drawn(one, row) for _ in range(3)], axis=0), abs=1e-12)


def test_the_plain_estimator_adds_the_mean_of_the_other() -> None:
    """(c / q) e_y is added in units: hit * c / (L q), whatever the relaxation's unit, and no coin is tossed."""
    for noise, hit in (("paper", 1), ("half", 2), ("bistro", 1)):
        learner = learner_on(noise=noise, estimator="ips")[0]
        before, q = learner.state()["estimate_rng"], learner.act(2)
        learner.learn(2, 1, 0.75, q[1])
        expected = np.zeros((5, 3))
        expected[2, 1] = hit * 0.75 / (8 * q[1])
        assert np.array(learner.state()["past"]) == pytest.approx(expected)
        assert learner.state()["estimate_rng"] == before


def test_bistro_plays_its_closed_form() -> None:
    """q* = Phi on the leader's action plus (1 - Phi) / K on every action, for real totals too."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        K = int(rng.integers(2, 6))
        profile = rng.exponential(rng.choice([0.2, 1.0, 3.0]), K)
        psi = psi_from_profile(profile, 1.0)
        phi = phi_from_psi(psi, 1.0)
        assert water_fill(psi[1:], 1.0) == pytest.approx(phi + (1 - phi.sum()) / K, abs=1e-12)
    any_psi = np.array([0.3, -0.2, 0.9])
    q = water_fill(any_psi, 1.0)
    assert q.sum() == pytest.approx(1)
    worst = (q - any_psi).max()
    assert all((other - any_psi).max() >= worst - 1e-9 for other in rng.dirichlet(np.ones(3), 500))
