"""Algorithm 2, the game of one round: q* against a linear program, and BISTRO+'s values and leftover rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from milpcb.relaxations.base import fill, mix, phi_from_psi, psi_from_profile, water_fill
from milpcb.types import Floats


def minimax(psi: Floats, scale: float) -> float:
    """Solve min over q of max over p of equation (7) as one linear program, in units of L.

    The inner maximum over p with p(i) <= 1/L, sum p = 1 is replaced by its dual: min s + sum_i u_i / L with
    s + u_i >= q_i - psi_i, s >= -psi_0, u >= 0 (all in units of L).
    """
    K = len(psi) - 1
    objective = np.concatenate([np.zeros(K), [1.0], np.full(K, 1.0 / scale)])  # q, s, u
    rows = np.hstack([np.eye(K), -np.ones((K, 1)), -np.eye(K)])
    bounds = [(0, 1)] * K + [(-psi[0], None)] + [(0, None)] * K
    solved = linprog(
        objective, rows, psi[1:], np.concatenate([np.ones(K), np.zeros(K + 1)])[None, :], [1.0], bounds=bounds
    )
    return float(solved.fun)


def test_rounds_on_random_instances() -> None:
    """Psi is whole, one phi at most is not 0, q has the floor 1/L, and q* solves the minimax problem."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        K, m, N = (int(v) for v in rng.integers([2, 1, 1], [6, 5, 12]))
        labelings = rng.integers(0, K, (N, m))
        past = rng.integers(0, 4, (m, K)) + 2 * rng.integers(-4, 5, (m, K))
        row, scale = int(rng.integers(m)), float(K + rng.exponential(5.0))
        totals = past[np.arange(m), labelings].sum(axis=1).astype(float)
        psi = np.array([totals.min(), *((totals + (labelings[:, row] == i)).min() for i in range(K))])
        profile = np.array([totals[labelings[:, row] == a].min(initial=np.inf) for a in range(K)])

        phi = phi_from_psi(psi, 1)
        q_star = fill(phi, np.full(K, 1 / K))
        assert (q_star == fill(phi, np.full(K, 1 / K), descending=True)).all()
        q = mix(q_star, scale)

        assert (psi_from_profile(profile, 1) == psi).all()
        assert (psi == np.rint(psi)).all()
        assert set(phi) <= {0.0, 1.0}
        assert (phi > 0).sum() <= 1
        assert q.sum() == pytest.approx(1)
        assert q.min() >= 1 / scale - 1e-12
        z = q_star - psi[1:]
        value = -psi[0] + np.maximum(z + psi[0], 0).sum() / scale  # the adversary's best answer to q*
        assert value == pytest.approx(minimax(psi, scale), abs=1e-9), seed


@given(
    phi=st.lists(st.floats(0, 1), min_size=2, max_size=6), spread=st.lists(st.floats(0.01, 1), min_size=6, max_size=6)
)
def test_every_leftover_rule_is_optimal(phi: list[float], spread: list[float]) -> None:
    """Whatever the leftover rule, the objective of Algorithm 2 is max(0, 1 - sum phi)."""
    leftover = np.array(spread[: len(phi)]) / sum(spread[: len(phi)])
    q = fill(np.array(phi), leftover)
    assert q.sum() == pytest.approx(1)
    assert np.maximum(q - phi, 0).sum() == pytest.approx(max(0.0, 1 - sum(phi)), abs=1e-9)


@given(
    probe=st.sampled_from([1, 0.5, -0.5, -1]),
    profile=st.lists(st.one_of(st.integers(-20, 20), st.just(np.inf)), min_size=2, max_size=6),
)
def test_profile_and_values_say_the_same(probe: float, profile: list[float]) -> None:
    """Psi from the profile equals its definition min(min over the others, V[i] + L), for a probe of either sign."""
    if all(np.isinf(v) for v in profile):
        profile[0] = 0
    V = np.array(profile, float)
    expected = [V.min(), *(min(np.delete(V, i).min(), V[i] + probe) for i in range(len(V)))]
    assert psi_from_profile(V, probe).tolist() == expected


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
