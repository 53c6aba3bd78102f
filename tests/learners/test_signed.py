"""BISTRO+ with signed estimates: the same play however the oracle is asked, and regret below the guarantee."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from milpcb import Empirical, FinitePool, LabelConstraint, Transductive, open_oracle
from milpcb.learners import BistroPlus
from milpcb.protocols import PolicyClass
from milpcb.relaxations.game import psi_from_profile
from milpcb.types import Answer, Floats, Stop
from policies import FiniteClass

from .rounds import CLASSES, CONTEXTS, drawn, past, with_past

TREES = CLASSES["decision_trees"]


def learner_on(policies: PolicyClass, oracle: dict[str, Any] | None = None, **options: Any) -> BistroPlus:
    """Return signed BISTRO+ on the five contexts."""
    opened = open_oracle(policies, CONTEXTS, **(oracle or {}))
    return BistroPlus(opened, FinitePool(CONTEXTS), **{"horizon": 200, "scale": 6.0, "noise": "signed", **options})


def transcript(learner: BistroPlus, rounds: int) -> bytes:
    """Play against costs of which some are 1/2; return every q and the final estimates."""
    rng, seen = np.random.default_rng(0), []
    for _ in range(rounds):
        row = int(rng.integers(len(CONTEXTS)))
        q = learner.act(row)
        action = min(int(np.searchsorted(q.cumsum(), rng.random())), learner.n_actions - 1)
        learner.learn(row, action, float(rng.choice([0.0, 0.3, 0.5, 1.0])), q[action])
        seen.append(q)
    return np.array(seen).tobytes() + past(learner).tobytes()


@pytest.mark.parametrize("name", CLASSES)
def test_values_and_profile_play_alike(name: str) -> None:
    """psi_0 with K psi_i, and one profile, give the same bytes, over programs, searches and lists."""
    plays = {
        transcript(learner_on(CLASSES[name], {"kind": kind}, queries=queries), 40)
        for kind in ("milp", "search", "enumeration")
        for queries in ("all", "profile")
    }
    assert len(plays) == 1


@pytest.mark.parametrize("solver", ["scipy", "pulp:PULP_CBC_CMD"])
def test_solvers_play_alike(solver: str) -> None:
    """Totals are integers, so any two exact solvers give the same bytes."""
    assert transcript(learner_on(TREES, {"solver": solver}), 6) == transcript(learner_on(TREES), 6)


def test_k_plus_one_questions_each_one_unit_cheaper() -> None:
    """The loop asks psi_0, then psi_i with one unit less on action i of the current context, and puts it back."""
    learner, asked = learner_on(TREES), []
    value = learner.oracle.value
    learner.oracle.value = lambda costs: (asked.append(costs.copy()), value(costs))[1]  # type: ignore[method-assign]
    learner.act(3)
    assert len(asked) == 4
    for i, costs in enumerate(asked[1:]):
        expected = asked[0].copy()
        expected[3, i] -= 1
        assert (costs == expected).all()
    assert (learner.totals() == asked[0]).all()


def test_one_minimiser_follows_each_leader_equally_often() -> None:
    """One question; over all orders of actions the mean of q* is what the profile gives; no leader is passed over."""
    learner, listed = learner_on(TREES, {"kind": "enumeration"}, queries="argmin"), learner_on(TREES)
    ranks: list[Any] = []
    fixed = type("Fixed", (), {"permutation": lambda _self, _n: ranks.pop()})
    learner._future_rng = fixed()  # type: ignore[assignment]
    rng, ties = np.random.default_rng(0), 0
    for _ in range(60):
        learner._costs[:] = rng.integers(-1, 2, (5, 3))
        listed._costs[:] = learner.totals()
        ranks[:] = list(permutations(range(3)))
        calls = learner.oracle.calls  # type: ignore[attr-defined]
        q_star = np.mean([learner._ask_argmin(2).q_star for _ in range(6)], axis=0)
        assert learner.oracle.calls == calls + 6  # type: ignore[attr-defined]
        assert q_star == pytest.approx(listed._ask_profile(2).q_star)
        ties += q_star.max() < 1
    assert 5 < ties < 55


def test_one_minimiser_is_the_same_for_every_kind_of_oracle() -> None:
    """The question itself breaks the ties, so programs, searches and lists play alike, to the byte."""
    for name in ("decision_trees", "monotone_rules", "finite_class"):
        plays = {
            transcript(learner_on(CLASSES[name], oracle, queries="argmin"), 30)
            for oracle in ({"kind": "milp"}, {"kind": "search"}, {"kind": "enumeration"}, {"solver": "scipy"})
        }
        assert len(plays) == 1


@pytest.mark.parametrize("queries", ["profile", "argmin"])
def test_side_constraints_change_nothing_of_this(queries: Any) -> None:
    """With a budget on an action, which some context may then never see, programs and lists play alike."""
    weights = np.zeros((5, 3))
    weights[:, 2], weights[4, 1] = 1.0, 2.0
    rule = [LabelConstraint(weights, 1.0)]  # action 2 once at most; action 1 never on the last context
    plays = {
        transcript(learner_on(TREES, {"kind": kind, "constraints": rule}, queries=queries), 40)
        for kind in ("milp", "enumeration")
    }
    assert len(plays) == 1
    asked = transcript(learner_on(TREES, {"constraints": rule}), 40)
    assert (asked in plays) == (queries == "profile")


@pytest.mark.parametrize("model", [Transductive, Empirical])
def test_other_models_of_the_contexts(model: Any) -> None:
    """A known order has the guarantee of a known law, a guessed law has none; both play."""
    order = np.random.default_rng(0).integers(5, size=60)
    pool = model(CONTEXTS, order) if model is Transductive else model(CONTEXTS)
    learner = BistroPlus(open_oracle(TREES, CONTEXTS, kind="search"), pool, horizon=60, noise="signed")
    assert np.isinf(learner.guarantee()) == (model is Empirical)
    for t, row in enumerate(order.tolist()):
        q = learner.act(row)
        learner.learn(row, t % 3, float(t % 2), q[t % 3])
    assert (past(learner) < 0).any()


def test_one_inexact_minimiser_counts_a_whole_round() -> None:
    """An answer without a gap is exact; any other may have broken a tie unevenly and adds 1, before exploring."""

    class Rough(Sloppy):
        gap = 1.0

        def minimise(self, costs: Floats) -> Answer:
            answer = self.exact.minimise(costs)
            return Answer(answer.upper - self.gap, answer.upper, answer.policy, Stop.TIME_LIMIT, 0.0)

    oracle = Rough(0.0)
    learner = BistroPlus(
        oracle, FinitePool(CONTEXTS), horizon=9, scale=8.0, noise="signed", queries="argmin", anytime=True
    )
    assert learner._play(0).excess == 1.0
    oracle.gap = 0.0
    assert learner._play(0).excess == 0.0


def test_learn_adds_hits_of_both_signs() -> None:
    """One unit with the sign of c - 1/2 iff the draw < |2 c - 1| / (L q); 1/2 never counts; "ips" adds (c - 1/2)/q."""
    learner, draws = learner_on(TREES), iter([0.2333, 0.0834, 0.0, 0.1666, 0.1667])
    learner._estimate_rng = type("Fixed", (), {"random": lambda _self: next(draws)})()  # type: ignore[assignment]
    for action, cost in enumerate((0.85, 0.375, 0.5)):  # chances 7/30, 1/12, 0
        learner._learn(1, action, cost, 0.5)
    for action, probability in ((0, 1.0), (1, 1.0)):  # chances 1/6, 1/6
        learner._learn(2, action, 0.0, probability)
    expected = np.zeros((5, 3))
    expected[1, 0], expected[2, 0] = 1, -1
    assert (past(learner) == expected).all()
    plain = learner_on(TREES, estimator="ips")
    plain._learn(2, 1, 0.2, 0.25)
    assert past(plain)[2, 1] * learner.relaxation.unit(6.0) == pytest.approx((0.2 - 0.5) / 0.25)


@pytest.mark.parametrize("estimator", ["bernoulli", "ips"])
def test_several_futures_are_averaged(estimator: Any) -> None:
    """``draws = 3`` plays the mean of the q that the same generator's next three futures give."""
    three, one = (learner_on(TREES, draws=draws, estimator=estimator) for draws in (3, 1))
    for row in range(5):
        assert drawn(three, row) == pytest.approx(np.mean([drawn(one, row) for _ in range(3)], axis=0), abs=1e-12)
    assert np.isfinite(np.frombuffer(transcript(learner_on(TREES, estimator=estimator), 40))).all()


def test_estimates_below_zero_lower_what_a_policy_seems_to_cost() -> None:
    """Hits that are taken off are part of the estimates, with their sign."""
    learner = with_past(learner_on(CLASSES["finite_class"]), (slice(None), 2), -1)
    assert learner.oracle.minimise(learner.estimates()).policy.predict(CONTEXTS).tolist() == [2, 2, 2, 2, 2]


def test_the_smallest_scale_plays() -> None:
    """At L = 2 (K - 1) every future round carries noise."""
    learner = learner_on(TREES, scale=4.0)
    transcript(learner, 20)


class Sloppy:
    """The listed class with bounds that are up to ``alpha`` apart around the least total."""

    def __init__(self, alpha: float) -> None:
        self.exact: Any = open_oracle(CLASSES["finite_class"], CONTEXTS, kind="enumeration")
        self.contexts, self.n_contexts, self.n_actions = CONTEXTS, len(CONTEXTS), 3
        self.log_size, self.capabilities = self.exact.log_size, self.exact.capabilities
        self._alpha, self._rng = alpha, np.random.default_rng(3)

    def minimise(self, costs: Floats) -> Answer:
        """Return the bounds; no policy is asked for."""
        value, (below, above) = self.exact.value(costs), self._alpha * self._rng.random(2) / 2
        return Answer(value - below, value + above, None, Stop.TIME_LIMIT, 0.0)

    value = profile = action_weights = None


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 3.0])
def test_anytime_play_counts_what_inexact_answers_lose(alpha: float) -> None:
    """In every round the true excess of q* is at most what the learner adds up, at most 1; exact answers add 0."""
    oracle, rng, truly = Sloppy(alpha), np.random.default_rng(1), []
    learner = BistroPlus(oracle, FinitePool(CONTEXTS), horizon=300, scale=8.0, noise="signed", anytime=True)
    for _ in range(300):
        row = int(rng.integers(5))
        reply = learner._play(row)
        V = oracle.exact.profile(learner.totals(), row)
        psi, hits = psi_from_profile(V, -1), psi_from_profile(V, 1)
        mu = (psi[0] - psi[1:] + hits[1:] - hits[0]) / 2
        truly.append(np.maximum(reply.q_star - mu, 0).sum())
        assert truly[-1] <= reply.excess + 1e-9 <= 1 + 1e-9
        if alpha == 0.0:
            assert reply.excess == pytest.approx(0, abs=1e-12)
        learner._learn(row, int(rng.integers(3)), float(rng.random() < 0.5), 0.5)
    if alpha == 3.0:
        assert sum(truly) > 1  # the errors are large enough to matter


@pytest.mark.parametrize("costs", ["planted", "only losses", "no loss"])
def test_regret_stays_below_the_guarantee(costs: str) -> None:
    """On three games of two actions the expected regret, summed over the rounds' q, is below the guarantee."""
    T, labelings = 6000, np.array([[0, 1, 0, 1, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]])
    oracle = open_oracle(FiniteClass(labelings, 2), CONTEXTS, kind="enumeration")
    learner = BistroPlus(oracle, FinitePool(CONTEXTS), horizon=T, seed=1, queries="profile", noise="signed")
    rng, paid, total = np.random.default_rng(0), 0.0, np.zeros((5, 2))
    for t in range(T):
        row = t % 5
        shown = (rng.random(2) < np.where(np.arange(2) == labelings[0, row], 0.2, 0.8)).astype(float)
        shown = {"planted": shown, "only losses": np.ones(2), "no loss": np.zeros(2)}[costs]
        q = learner.act(row)
        action = int(rng.random() > q[0])
        learner.learn(row, action, shown[action], q[action])
        paid, total[row] = paid + q @ shown, total[row] + shown
    regret = paid - oracle.value(total)
    assert regret < learner.guarantee() < 0.75 * T * 0.3
    if costs == "planted":
        assert regret < 0.5 * 0.3 * T  # uniform play loses 0.3 a round
