"""BISTRO+ against its theorem: Algorithm 2, the estimate, the guarantee, and bit-identical routes to the same play."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from milpcb import FinitePool, open_oracle
from milpcb.learners import BistroPlus
from milpcb.protocols import PolicyClass
from milpcb.relaxations.game import fill, mix, phi_from_psi, psi_from_profile
from milpcb.relaxations.paper import Paper
from milpcb.types import Floats
from policies import FiniteClass

from .rounds import CLASSES, CONTEXTS, past, with_past


def learner_on(
    policies: PolicyClass, horizon: int = 400, oracle: dict[str, Any] | None = None, **options: Any
) -> BistroPlus:
    """Return BISTRO+ on the five contexts."""
    opened = open_oracle(policies, CONTEXTS, **(oracle or {}))
    return BistroPlus(opened, FinitePool(CONTEXTS), horizon=horizon, **{"seed": 3, **options})


def transcript(learner: BistroPlus, rounds: int, seed: int = 0) -> tuple[list[int], Floats]:
    """Play against Bernoulli costs; return the actions and every q."""
    rng = np.random.default_rng(seed)
    actions, distributions = [], []
    for _ in range(rounds):
        row = int(rng.integers(len(CONTEXTS)))
        q = learner.act(row)
        action = min(int(np.searchsorted(q.cumsum(), rng.random())), learner.n_actions - 1)
        learner.learn(row, action, float(rng.random() < 0.3 + 0.4 * (action != row % 2)), q[action])
        actions.append(action)
        distributions.append(q)
    return actions, np.array(distributions)


# --------------------------------------------------------------------------- Algorithm 2


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


@pytest.mark.parametrize("start", [0, 100, 200])
def test_rounds_on_random_instances(start: int) -> None:
    """Psi is whole, one phi at most is not 0, q has the floor 1/L, and q* solves the minimax problem."""
    for seed in range(start, start + 100):
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
    phi=st.lists(st.floats(0, 1), min_size=2, max_size=6),
    spread=st.lists(st.floats(0.01, 1), min_size=6, max_size=6),
)
def test_every_leftover_rule_is_optimal(phi: list[float], spread: list[float]) -> None:
    """Whatever the leftover rule, the objective of Algorithm 2 is max(0, 1 - sum phi)."""
    leftover = np.array(spread[: len(phi)]) / sum(spread[: len(phi)])
    q = fill(np.array(phi), leftover)
    assert q.sum() == pytest.approx(1)
    assert np.maximum(q - phi, 0).sum() == pytest.approx(max(0.0, 1 - sum(phi)), abs=1e-9)


@pytest.mark.parametrize("probe", [1, 0.5, -0.5, -1])
@given(profile=st.lists(st.one_of(st.integers(-20, 20), st.just(np.inf)), min_size=2, max_size=6))
def test_profile_and_values_say_the_same(probe: float, profile: list[float]) -> None:
    """Psi from the profile equals its definition min(min over the others, V[i] + L), for a probe of either sign."""
    if all(np.isinf(v) for v in profile):
        profile[0] = 0
    V = np.array(profile, float)
    expected = [V.min(), *(min(np.delete(V, i).min(), V[i] + probe) for i in range(len(V)))]
    assert psi_from_profile(V, probe).tolist() == expected


# --------------------------------------------------------------------------- the estimate


def test_the_estimate_is_unbiased_exactly() -> None:
    """Summed over actions and X with their probabilities, L X e_y is the cost vector, for any q with floor 1/L."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        K, scale = 3, 7.5
        q, costs = mix(rng.dirichlet(np.ones(K)), scale), rng.random(K)
        mean = np.zeros(K)
        for action in range(K):
            chance = costs[action] / (scale * q[action])
            assert 0 <= chance <= 1
            mean[action] += q[action] * chance * scale
        assert mean == pytest.approx(costs)


def test_learn_counts_a_hit_exactly_when_the_draw_is_below_the_chance() -> None:
    """The estimate adds one unit at (row, action) iff the learner's own uniform draw is below c / (L q)."""
    learner = learner_on(CLASSES["decision_trees"], scale=6.0)
    draws = iter([0.2499999, 0.25, 0.0, 0.999])
    learner._estimate_rng = type("Fixed", (), {"random": lambda _self: next(draws)})()  # type: ignore[assignment]
    q = 0.5
    for cost in (0.75, 0.75, 0.0, 1.0):  # chances 1/4, 1/4, 0, 1/3
        learner._learn(1, 2, cost, q)
    expected = np.zeros((5, 3))
    expected[1, 2] = 1
    assert np.array_equal(learner.estimates(), expected)


# --------------------------------------------------------------------------- the theorem on a game small enough to list


def futures(order: list[int], t: int, m: int, scale: float, K: int) -> list[tuple[float, Floats]]:
    """Return (probability, noise (m, K) in units of L) of every future after round t of a known order."""
    outcomes = [(1.0, np.zeros((m, K)))]
    for row in order[t + 1 :]:
        step = []
        for p, noise in outcomes:
            step.append((p * (1 - K / scale), noise))
            for eps in product((-1, 1), repeat=K):
                more = noise.copy()
                more[row] += 2 * np.array(eps)
                step.append((p * K / scale / 2**K, more))
        outcomes = step
    return outcomes


def expected_regret(labelings: Floats, order: list[int], costs: Floats, scale: float) -> float:
    """Return E[Reg] exactly: every future, every action, every X, through the learner's own q."""
    m, K = int(max(order)) + 1, costs.shape[1]
    totals = np.array([sum(costs[t][labels[j]] for t, j in enumerate(order)) for labels in labelings])

    def play(t: int, past: Floats) -> float:
        if t == len(order):
            return 0.0
        row, value = order[t], 0.0
        after: dict[int, tuple[float, float]] = {}
        for p, noise in futures(order, t, m, scale, K):
            tot = (past + noise)[np.arange(m), labelings].sum(axis=1)
            profile = np.array([tot[labelings[:, row] == a].min(initial=np.inf) for a in range(K)])
            q = mix(fill(phi_from_psi(psi_from_profile(profile, 1), 1), np.full(K, 1 / K)), scale)
            value += p * float(q @ costs[t])
            for a in range(K):
                hit = q[a] * costs[t][a] / (scale * q[a])
                old = after.get(a, (0.0, 0.0))
                after[a] = (old[0] + p * hit, old[1] + p * (q[a] - hit))
        for a, (hit, _) in after.items():
            if hit > 0:
                more = past.copy()
                more[row, a] += 1
                value += hit * play(t + 1, more)
        return value + sum(miss for _, miss in after.values()) * play(t + 1, past)

    return play(0, np.zeros((m, K))) - float(totals.min())


@pytest.mark.parametrize("scale", [2.0, 3.0, 8.0])
@pytest.mark.parametrize("labelings", [[[0, 0], [1, 1]], [[0, 1], [1, 0], [1, 1]], [[0, 0], [0, 1], [1, 0], [1, 1]]])
def test_expected_regret_is_below_the_relaxation(labelings: list[list[int]], scale: float) -> None:
    """On every 0/1 cost plan of three rounds, E[Reg] <= Rel(empty), computed without sampling."""
    table, order, K = np.array(labelings), [0, 1, 0], 2
    rel = len(order) * K / scale
    for p, noise in futures([-1, *order], 0, 2, scale, K):
        rel += p * scale * float((-noise)[np.arange(2), table].sum(axis=1).max())
    plans = [np.array(plan, float).reshape(3, K) for plan in product((0, 1), repeat=3 * K)]
    worst = max(expected_regret(table, order, plan, scale) for plan in plans)
    assert worst <= rel + 1e-9
    assert rel <= Paper().guarantee(scale, 3, K, float(np.log(len(table)))) + 1e-9


# --------------------------------------------------------------------------- routes and solvers


@pytest.mark.parametrize("solver", ["highs", "pulp:PULP_CBC_CMD"])
@pytest.mark.parametrize("name", CLASSES)
def test_queries_all_and_profile_play_alike(name: str, solver: str) -> None:
    """K + 1 values and one profile give identical actions and q, for every class and solver."""
    rounds = 60 if solver == "highs" else 8
    runs = [
        transcript(learner_on(CLASSES[name], oracle={"solver": solver}, queries=queries, scale=4.0), rounds)
        for queries in ("all", "profile")
    ]
    assert runs[0][0] == runs[1][0]
    assert (runs[0][1] == runs[1][1]).all()


@pytest.mark.parametrize("kind", ["enumeration", "search"])
@pytest.mark.parametrize("name", CLASSES)
def test_the_kind_of_oracle_changes_nothing(name: str, kind: str) -> None:
    """A program, an explicit list and a search give the same run, bit for bit."""
    _, milp = transcript(learner_on(CLASSES[name], scale=4.0), 60)
    _, other = transcript(learner_on(CLASSES[name], oracle={"kind": kind}, scale=4.0), 60)
    assert (milp == other).all()


def test_k_plus_one_questions_a_round() -> None:
    """``queries="all"`` asks exactly K + 1 values a round, ``"profile"`` one question."""
    for queries, per_round in (("all", 4), ("profile", 1)):
        oracle = open_oracle(CLASSES["decision_trees"], CONTEXTS)
        pool = FinitePool(CONTEXTS)
        transcript(BistroPlus(oracle, pool, horizon=50, seed=0, queries=queries), 20)  # type: ignore[arg-type]
        assert oracle.calls == 20 * per_round


def test_leader_equals_follow_the_perturbed_leader() -> None:
    """With ``leftover="leader"`` and a single leader, q* sits on the action of the perturbed leader."""
    learner = learner_on(CLASSES["finite_class"], queries="profile", leftover="leader", scale=8.0)
    listed = open_oracle(CLASSES["finite_class"], CONTEXTS, kind="enumeration")
    rng = np.random.default_rng(0)
    for t in range(50):
        row = t % 5
        q = learner.act(row)
        totals = listed.totals(learner.totals())  # type: ignore[attr-defined]
        leaders = np.unique(listed.labelings[totals == totals.min(), row])  # type: ignore[attr-defined]
        assert set(np.flatnonzero(q > 1 / learner.scale + 1e-9)) == set(leaders.tolist())
        action = int(rng.integers(3))
        learner.learn(row, action, 1.0, q[action])


def test_one_policy_is_followed() -> None:
    """With N = 1 the policy's action gets 1 - (K - 1)/L."""
    learner = learner_on(FiniteClass([[0, 1, 2, 0, 1]], 3), scale=10.0)
    assert learner.act(2) == pytest.approx([0.1, 0.1, 0.8])
    assert np.isfinite(learner_on(FiniteClass([[0, 1, 2, 0, 1]], 3)).scale)


def test_the_smallest_scale_plays_uniformly() -> None:
    """L = K mixes all of q away."""
    assert learner_on(CLASSES["decision_trees"], scale=3.0).act(0) == pytest.approx(np.full(3, 1 / 3))


@pytest.mark.parametrize("kind", ["milp", "search", "enumeration"])
def test_equal_contexts_that_policies_tell_apart_are_played(kind: str) -> None:
    """A list of labelings may differ on equal contexts; queries = "argmin" then plays what the row's column says."""
    contexts = np.zeros((3, 1))
    oracle = open_oracle(FiniteClass([[0, 1, 2]], 3), contexts, kind=kind)
    learner = BistroPlus(oracle, FinitePool(contexts), horizon=10, scale=30.0, queries="argmin")
    for row in range(3):
        q = learner.act(row)
        assert q.argmax() == row
        learner.learn(row, row, 1.0, q[row])


def test_the_guarantee_is_the_paper_s_and_the_scale_its_minimiser() -> None:
    """2 sqrt(2TKL log N) + TK/L at the best L; no other L is better, and no L below K is taken."""
    relaxation, T, K, log_size = Paper(), 100_000, 3, 11.849
    best = relaxation.best_scale(T, K, log_size)
    bound = relaxation.guarantee(best, T, K, log_size)
    assert bound == pytest.approx(38_617, abs=2)
    assert bound == pytest.approx(3 * 2 ** (1 / 3) * (T * K) ** (2 / 3) * log_size ** (1 / 3))
    assert all(relaxation.guarantee(best * factor, T, K, log_size) > bound for factor in (0.5, 0.9, 1.1, 2.0))
    assert relaxation.best_scale(10, 3, 12.0) == 3


def test_the_scale_of_the_relaxation_is_estimated_once() -> None:
    """L is that where Rel(empty) is least; its value is below every closed form, all else is as with that L given."""
    policies = CLASSES["decision_trees"]
    learner, again = (learner_on(policies, 50_000, scale="relaxation") for _ in range(2))
    at = learner.estimated_guarantee
    assert at is not None
    assert (learner.scale, at) == (again.scale, again.estimated_guarantee)
    assert at.scale == learner.scale
    assert at.upper < learner_on(policies, 50_000).guarantee() <= learner.guarantee() == at.closed_form
    assert learner_on(policies, 50_000).estimated_guarantee is None
    assert learner_on(policies, 50_000, seed=4, scale="relaxation").estimated_guarantee != at
    asked = learner.oracle.calls  # type: ignore[attr-defined]
    given = learner_on(policies, 50_000, scale=learner.scale)
    assert (transcript(learner, 30)[1] == transcript(given, 30)[1]).all()
    assert learner.oracle.calls == asked + 30 * 4  # type: ignore[attr-defined]


def test_regret_stays_below_the_guarantee() -> None:
    """On a planted game the expected regret bends away from uniform play and stays below the guarantee."""
    T, labelings = 6000, np.array([[0, 1, 0, 1, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]])
    oracle = open_oracle(FiniteClass(labelings, 2), CONTEXTS, kind="enumeration")
    learner = BistroPlus(oracle, FinitePool(CONTEXTS), horizon=T, seed=1, queries="profile")
    rng, regret = np.random.default_rng(0), []
    for t in range(T):
        row = t % 5
        costs = (rng.random(2) < np.where(np.arange(2) == labelings[0, row], 0.2, 0.8)).astype(float)
        q = learner.act(row)
        action = int(rng.random() > q[0])
        learner.learn(row, action, costs[action], q[action])
        regret.append(q @ costs - costs[labelings[0, row]])
    assert sum(regret) < learner.guarantee()
    assert sum(regret) < 0.5 * 0.3 * T  # uniform play loses 0.3 a round
    assert sum(regret[-1000:]) < 0.6 * sum(regret[:1000])


@settings(max_examples=20, deadline=None)
@given(constant=st.integers(-5, 5), row=st.integers(0, 4))
def test_a_constant_on_one_example_changes_nothing(constant: int, row: int) -> None:
    """Adding the same number to all K costs of one context leaves q as it is."""
    plain, shifted = learner_on(CLASSES["finite_class"]), learner_on(CLASSES["finite_class"])
    with_past(shifted, row, past(shifted)[row] + constant)
    assert (plain.act(2) == shifted.act(2)).all()
