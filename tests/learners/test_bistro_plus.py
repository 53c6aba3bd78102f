"""BISTRO+ against its theorem: estimates, every way to ask, and bit-identical routes to the same play."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milpcb import Empirical, FinitePool, Transductive, open_oracle
from milpcb.learners import BistroPlus
from milpcb.protocols import PolicyClass
from milpcb.relaxations.base import phi_from_psi, psi_from_profile
from milpcb.relaxations.paper import Half
from policies import FiniteClass

from .rounds import CLASSES, CONTEXTS, drawn, past, transcript, with_past

TREES, LISTED = CLASSES["decision_trees"], CLASSES["finite_class"]
FIVE = FiniteClass([[0, 1, 2, 0, 1], [1, 1, 0, 0, 2], [2, 2, 2, 2, 2], [0, 0, 0, 0, 0], [1, 2, 0, 1, 2]], 3)


def learner_on(
    policies: PolicyClass, horizon: int = 400, oracle: dict[str, Any] | None = None, **options: Any
) -> BistroPlus:
    """Return BISTRO+ on the five contexts."""
    opened = open_oracle(policies, CONTEXTS, **(oracle or {}))
    return BistroPlus(opened, FinitePool(CONTEXTS), horizon=horizon, **{"seed": 3, **options})


# --------------------------------------------------------------------------- the estimate


def scripted(learner: BistroPlus, draws: list[float]) -> BistroPlus:
    """Return the learner with these draws of its own for its estimates."""
    coming = iter(draws)
    learner._estimate_rng = type("Fixed", (), {"random": lambda _self: next(coming)})()  # type: ignore[assignment]
    return learner


def test_learn_counts_a_hit_exactly_when_the_draw_is_below_the_chance() -> None:
    """One unit iff the learner's own draw is below c / (L q); signed |2 c - 1| / (L q), with the sign of c - 1/2."""
    learner = scripted(learner_on(TREES, scale=6.0), [0.2499999, 0.25, 0.0, 0.999])
    for cost in (0.75, 0.75, 0.0, 1.0):  # chances 1/4, 1/4, 0, 1/3
        learner._learn(1, 2, cost, 0.5)
    assert past(learner).tolist() == [[0, 0, 0], [0, 0, 1], *[[0, 0, 0]] * 3]
    learner = scripted(learner_on(TREES, scale=6.0, noise="signed"), [0.2333, 0.0834, 0.0, 0.1666, 0.1667])
    for action, cost in enumerate((0.85, 0.375, 0.5)):  # chances 7/30, 1/12, 0
        learner._learn(1, action, cost, 0.5)
    for action in (0, 1):  # chances 1/6, 1/6
        learner._learn(2, action, 0.0, 1.0)
    assert past(learner).tolist() == [[0, 0, 0], [1, 0, 0], [-1, 0, 0], *[[0, 0, 0]] * 2]


def test_a_relaxation_may_be_handed_in_itself() -> None:
    """One of one's own need not be registered: an instance of a known one plays as its name does."""
    named, own = learner_on(TREES, noise="half"), learner_on(TREES, noise=Half())
    assert [named.act(2).tolist(), named.guarantee()] == [own.act(2).tolist(), own.guarantee()]


@pytest.mark.parametrize("noise", ["paper", "half", "bistro", "signed"])
def test_the_plain_estimator_adds_the_mean_of_the_other(noise: str) -> None:
    """(c / q) e_y is added in units, signed ((c - 1/2) / q) e_y, and no coin is tossed."""
    learner = learner_on(FIVE, noise=noise, estimator="ips", scale=8.0)
    before, q = learner.state()["estimate_rng"], learner.act(2)
    learner.learn(2, 1, 0.75, q[1])
    expected = np.zeros((5, 3))
    expected[2, 1] = (0.75 - float(learner.relaxation.shift)) / q[1]
    assert past(learner) * learner.relaxation.unit(8.0) == pytest.approx(expected)
    assert learner.state()["estimate_rng"] == before


# --------------------------------------------------------------------------- routes and solvers


@pytest.mark.parametrize("noise", ["paper", "signed"])
@pytest.mark.parametrize("name", CLASSES)
def test_every_exact_route_leads_to_the_same_play(name: str, noise: str) -> None:
    """K + 1 values and one profile give the same bytes, over programs, searches and lists; solvers do, for trees."""
    routes = [({"kind": kind}, queries) for kind in ("milp", "search", "enumeration") for queries in ("all", "profile")]
    expected = transcript(learner_on(CLASSES[name], noise=noise, scale=4.0), 30)
    for oracle, queries in routes:
        assert (
            transcript(learner_on(CLASSES[name], 400, oracle, noise=noise, queries=queries, scale=4.0), 30) == expected
        )
    if name == "decision_trees":
        expected = transcript(learner_on(TREES, noise=noise, scale=4.0), 6)
        for solver in ("scipy", "pulp:PULP_CBC_CMD"):
            assert transcript(learner_on(TREES, 400, {"solver": solver}, noise=noise, scale=4.0), 6) == expected


def test_one_minimiser_is_the_same_for_every_kind_of_oracle() -> None:
    """With signed noise the query itself breaks the ties, so programs, searches and lists play alike, to the byte."""
    for name in ("decision_trees", "monotone_rules", "finite_class"):
        plays = {
            transcript(learner_on(CLASSES[name], 400, oracle, queries="argmin", noise="signed", scale=6.0), 20)
            for oracle in ({"kind": "milp"}, {"kind": "search"}, {"kind": "enumeration"}, {"solver": "scipy"})
        }
        assert len(plays) == 1


def test_a_future_is_of_the_rounds_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh one in each round t, of all rounds after it, at the rate of the noise."""
    learner, asked = learner_on(TREES, 5, scale=6.0), []
    future = learner._pool.future
    monkeypatch.setattr(learner._pool, "future", lambda *given: asked.append(given[:3]) or future(*given))
    transcript(learner, 5)
    assert asked == [(t, 5, 3 / 6) for t in range(5)]


@pytest.mark.parametrize(("queries", "per_round"), [("all", 4), ("profile", 1), ("argmin", 1)])
@pytest.mark.parametrize("noise", ["half", "signed"])
def test_queries_of_a_round(noise: str, queries: Any, per_round: int) -> None:
    """K + 1 values, one profile, one minimiser."""
    learner = learner_on(TREES, noise=noise, queries=queries)
    transcript(learner, 20)
    assert learner.oracle.calls == learner.queries == 20 * per_round  # type: ignore[attr-defined]


@pytest.mark.parametrize("noise", ["paper", "half", "coordinate"])
def test_one_minimiser_a_round_is_optimal(noise: str) -> None:
    """All mass on the minimiser's action: q*(i*) >= Phi in every round."""
    learner = learner_on(FIVE, 300, {"kind": "enumeration"}, noise=noise, queries="argmin", scale=8.0)
    rng, binding = np.random.default_rng(0), 0
    for _ in range(200):
        row = int(rng.integers(5))
        q = learner.act(row)
        q_star = (q - 1 / 8) / (1 - 3 / 8)
        assert sorted(np.rint(q_star)) == pytest.approx(sorted(q_star)) == [0, 0, 1]
        hit = learner.relaxation.hit
        phi = phi_from_psi(psi_from_profile(learner.oracle.profile(learner.totals(), row), hit), hit)
        assert (q_star >= phi - 1e-12).all()
        binding += phi.any()
        learner.learn(row, 0, float(rng.random() < 0.5), q[0])
    assert binding > 20


def test_one_minimiser_follows_each_leader_equally_often() -> None:
    """Signed: over all orders of actions the mean of q* is that of the profile; no leader is passed over."""
    learner, listed = (
        learner_on(TREES, 200, {"kind": "enumeration"}, queries=queries, noise="signed", scale=6.0)
        for queries in ("argmin", "profile")
    )
    ranks: list[Any] = []
    learner._future_rng = type("Fixed", (), {"permutation": lambda _self, _n: ranks.pop()})()  # type: ignore[assignment]
    rng, ties = np.random.default_rng(0), 0
    for _ in range(60):
        learner._costs[:] = rng.integers(-1, 2, (5, 3))
        listed._costs[:] = learner.totals()
        ranks[:] = list(permutations(range(3)))
        q_star = np.mean([learner._ask_argmin(2)[0] for _ in range(6)], axis=0)
        assert q_star == pytest.approx(listed._ask_profile(2)[0])
        ties += q_star.max() < 1
    assert 5 < ties < 55


def test_leader_equals_follow_the_perturbed_leader() -> None:
    """With ``leftover="leader"`` and a single leader, q* sits on the action of the perturbed leader."""
    learner = learner_on(LISTED, queries="profile", leftover="leader", scale=8.0)
    listed = open_oracle(LISTED, CONTEXTS, kind="enumeration")
    rng = np.random.default_rng(0)
    for t in range(50):
        row = t % 5
        q = learner.act(row)
        totals = listed.totals(learner.totals())  # type: ignore[attr-defined]
        leaders = np.unique(listed.labelings[totals == totals.min(), row])  # type: ignore[attr-defined]
        assert set(np.flatnonzero(q > 1 / learner.scale + 1e-9)) == set(leaders.tolist())
        action = int(rng.integers(3))
        learner.learn(row, action, 1.0, q[action])


@pytest.mark.parametrize(("noise", "estimator"), [("paper", "bernoulli"), ("signed", "bernoulli"), ("signed", "ips")])
def test_several_futures_are_averaged(noise: str, estimator: Any) -> None:
    """``draws = 3`` plays the mean of the q that the same generator's next three futures give."""
    three, one = (learner_on(FIVE, noise=noise, estimator=estimator, scale=8.0, draws=draws) for draws in (3, 1))
    for row in range(5):
        assert drawn(three, row) == pytest.approx(np.mean([drawn(one, row) for _ in range(3)], axis=0), abs=1e-12)
    q = three.act(0)
    three.learn(0, 0, 1.0, q[0])
    assert three.queries == 3 * 4


def test_descending_order_changes_nothing_with_exact_values() -> None:
    """At most one phi is not 0, so the order in which actions are gone through does not matter."""
    for queries in ("all", "profile"):
        plain, descending = (
            transcript(learner_on(FIVE, queries=queries, leftover=rule, scale=8.0), 100)
            for rule in ("uniform", "descending")
        )
        assert plain == descending


@settings(max_examples=20, deadline=None)
@given(constant=st.integers(-5, 5), row=st.integers(0, 4))
def test_a_constant_on_one_example_changes_nothing(constant: int, row: int) -> None:
    """Adding the same number to all K costs of one context leaves q as it is."""
    plain, shifted = learner_on(LISTED), learner_on(LISTED)
    with_past(shifted, row, past(shifted)[row] + constant)
    assert (plain.act(2) == shifted.act(2)).all()


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


def test_the_ends_of_classes_and_scales() -> None:
    """With N = 1 the policy's action gets 1 - (K - 1)/L; L = K mixes all of q away, signed at 2 (K - 1) still plays."""
    alone = FiniteClass([[0, 1, 2, 0, 1]], 3)
    assert learner_on(alone, scale=10.0).act(2) == pytest.approx([0.1, 0.1, 0.8])
    assert np.isfinite(learner_on(alone).scale)
    assert learner_on(TREES, scale=3.0).act(0) == pytest.approx(np.full(3, 1 / 3))
    transcript(learner_on(TREES, noise="signed", scale=4.0), 20)


@pytest.mark.parametrize("model", [Transductive, Empirical])
def test_other_models_of_the_contexts(model: Any) -> None:
    """A known order has the guarantee of a known law, a guessed law has none; both play."""
    order = np.random.default_rng(0).integers(5, size=60)
    pool = model(CONTEXTS, order) if model is Transductive else model(CONTEXTS)
    learner = BistroPlus(open_oracle(TREES, CONTEXTS, kind="search"), pool, horizon=60, noise="signed")
    assert np.isinf(learner.guarantee()) == (model is Empirical)
    assert learner.act(int(order[0])).sum() == pytest.approx(1)


def test_the_scale_of_the_relaxation_is_estimated_once() -> None:
    """L is that where Rel(empty) is least; its value is below every closed form, all else is as with that L given."""
    learner, again = (learner_on(TREES, 50_000, {"kind": "search"}, scale="relaxation") for _ in range(2))
    plain = learner_on(TREES, 50_000, {"kind": "search"})
    at = learner.estimated_guarantee
    assert at is not None
    assert (learner.scale, at) == (again.scale, again.estimated_guarantee)
    assert at.scale == learner.scale
    assert at.upper < plain.guarantee() <= learner.guarantee() == at.closed_form
    assert plain.estimated_guarantee is None
    asked = learner.oracle.calls  # type: ignore[attr-defined]
    given = learner_on(TREES, 50_000, {"kind": "search"}, scale=learner.scale)
    assert transcript(learner, 30) == transcript(given, 30)
    assert learner.oracle.calls == asked + 30 * 4  # type: ignore[attr-defined]
