"""Exp4 against its definition: a list of all derivations, Exp3, unbiased estimates, and the theorem's inequality."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InputError
from milpcb.learners import Exp4
from milpcb.oracles.growing import GrowingOracle
from milpcb.protocols import PolicyClass
from milpcb.types import Floats, Ints
from policies import BoxRules, DecisionTrees, FiniteClass, LinearRules, MonotoneRules, RuleLists, ThresholdRules

from .rounds import drawn

BITS = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1]], float)
REALS = np.array([[0.1, 5.0], [0.9, 1.0], [2.2, 3.0], [2.9, 4.0], [0.4, 1.5]])
CUTS = [[0.5, 2.5], [2.0]]
TABLE = np.array([[0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 2, 0], [2, 2, 2, 2, 2, 2], [0, 1, 2, 0, 1, 2]])
RULES = ("fixed", "anytime", "adaptive", "certified")


# ------------------------------------------------------------------- every derivation, from its definition


def trees(depth: int, n_actions: int) -> list[Ints]:
    """Any literal at each inner node, any action at each leaf of a complete tree."""
    if depth == 0:
        return [np.full(len(BITS), action) for action in range(n_actions)]
    below = trees(depth - 1, n_actions)
    return [np.where(BITS[:, f] > 0.5, yes, no) for f in range(BITS.shape[1]) for yes, no in product(below, below)]


def thresholds(max_cuts: int, n_actions: int) -> list[Ints]:
    """A feature, at most max_cuts of its cuts, any action for each piece."""
    return [
        np.array(actions)[np.searchsorted(cuts, REALS[:, f])]
        for f, points in enumerate(CUTS)
        for count in range(max_cuts + 1)
        for cuts in combinations(points, count)
        for actions in product(range(n_actions), repeat=count + 1)
    ]


def rule_lists(max_rules: int, n_actions: int) -> list[Ints]:
    """Tests of different literals, an outcome to go on with (0 at the last), an action for each end."""
    made = []
    for literals in permutations(range(BITS.shape[1]), max_rules):
        for outcomes in product((0, 1), repeat=max_rules - 1):
            for actions in product(range(n_actions), repeat=max_rules + 1):
                labels = np.full(len(BITS), actions[-1])
                for f, outcome, action in list(zip(literals, (*outcomes, 0), actions, strict=False))[::-1]:
                    labels = np.where(BITS[:, f] == outcome, labels, action)
                made.append(labels)
    return made


SEARCHED: dict[str, tuple[PolicyClass, Floats, list[Ints]]] = {
    "trees, depth 1": (DecisionTrees(3, 1), BITS, trees(1, 3)),
    "trees, depth 2": (DecisionTrees(2, 2), BITS, trees(2, 2)),
    "thresholds, one cut": (ThresholdRules(3, 1, thresholds=CUTS), REALS, thresholds(1, 3)),
    "thresholds, two cuts": (ThresholdRules(2, 2, thresholds=CUTS), REALS, thresholds(2, 2)),
    "rule lists": (RuleLists(2, 2), BITS, rule_lists(2, 2)),
    "finite, with a repeat": (FiniteClass(TABLE, 3), np.arange(6.0)[:, None], list(TABLE)),
}


def rates(rule: str, log_count: float, trace: Trace, K: int, T: int) -> list[float]:
    """The rates of all rounds, by their definition."""
    squares = trace.squares  # v_1, v_2, ...
    if rule == "certified":
        made, spent = [1.0], 0.0
        for cost, q in list(zip(trace.shown, trace.chances, strict=True))[:-1]:
            spent += cost + np.log(1 - q * (1 - np.exp(-made[-1] * cost / q))) / made[-1]
            made.append(min(1.0, log_count / spent) if spent > 0 else 1.0)
        return made
    if rule == "fixed":
        return [np.sqrt(2 * log_count / (K * T))] * len(squares)
    anytime = [np.sqrt(log_count / (K * t)) for t in range(1, len(squares) + 1)]
    if rule == "anytime":
        return anytime
    made = [2 * anytime[0]]
    for t in range(1, len(squares)):
        made.append(
            min(made[-1], np.clip(np.sqrt(log_count / max(sum(squares[:t]), 1e-300)), anytime[t], 2 * anytime[t]))
        )
    return made


class Trace:
    """A played game: what was shown, played and estimated, and the rates used."""

    def __init__(self, learner: Exp4, n_contexts: int, rounds: int, seed: int = 0, scale: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.q, self.estimates, self.rows, self.squares, self.rates = [], [], [], [], []
        self.shown, self.chances = [], []
        for t in range(rounds):
            row = int(rng.integers(n_contexts))
            costs = np.roll(np.linspace(0.0, scale, learner.n_actions), t // 7) * (rng.random() < 0.8)
            self.rates.append(learner.rate)
            q = learner.act(row)
            action = int(rng.choice(len(q), p=q))
            learner.learn(row, action, costs[action], q[action])
            estimate = np.zeros(len(q))
            estimate[action] = costs[action] / q[action]
            self.q.append(q)
            self.rows.append(row)
            self.estimates.append(estimate)
            self.squares.append(costs[action] ** 2 / q[action])
            self.shown.append(costs[action])
            self.chances.append(q[action])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", SEARCHED)
def test_search_plays_as_the_list_of_all_derivations(name: str, rule: str) -> None:
    """Without listing anything, q equals the normalised sum over derivations, step by step to 1e-10."""
    policies, contexts, derivations = SEARCHED[name]
    table, T, K = np.array(derivations), 60, policies.n_actions
    trace = Trace(Exp4(open_oracle(policies, contexts, kind="search"), horizon=T, rate=rule), len(contexts), T)
    expected = rates(rule, np.log(len(table)), trace, K, T)
    totals = np.zeros(len(table))
    for row, q, estimate, rate in zip(trace.rows, trace.q, trace.estimates, expected, strict=True):
        weights = np.exp(-rate * (totals - totals.min()))
        mass = np.bincount(table[:, row], weights, minlength=K)
        assert np.abs(q - mass / mass.sum()).max() < 1e-10
        totals += estimate[table[:, row]]


@pytest.mark.parametrize("policies", [DecisionTrees(2, 2), RuleLists(2, 2), BoxRules(2), MonotoneRules(2)])
def test_enumeration_weighs_labelings(policies: PolicyClass) -> None:
    """Over a list, each labeling weighs once, however often it can be written."""
    table, T, K = np.unique([p.predict(BITS) for p in policies.on(BITS).policies()], axis=0), 60, 2
    learner = Exp4(open_oracle(policies, BITS, kind="enumeration"), horizon=T)
    trace = Trace(learner, len(BITS), T)
    totals, rate = np.zeros(len(table)), np.sqrt(2 * np.log(len(table)) / (K * T))
    for row, q, estimate in zip(trace.rows, trace.q, trace.estimates, strict=True):
        mass = np.bincount(table[:, row], np.exp(-rate * totals), minlength=K)
        assert np.abs(q - mass / mass.sum()).max() < 1e-10
        totals += estimate[table[:, row]]
    assert learner.guarantee() == pytest.approx(np.sqrt(2 * T * K * np.log(len(table))))


# ------------------------------------------------------------------- the right N


@pytest.mark.parametrize("name", SEARCHED)
def test_the_guarantee_counts_derivations(name: str) -> None:
    """Log N is that of the derivations, not the smaller of labelings; an audited or growing oracle says the same."""
    policies, contexts, derivations = SEARCHED[name]
    expected = np.log(len(derivations))
    search = open_oracle(policies, contexts, kind="search")
    assert search.log_derivations == pytest.approx(expected)
    assert open_oracle(policies, contexts, kind="audited").log_derivations == pytest.approx(expected)
    listed = open_oracle(policies, contexts, kind="enumeration")
    assert listed.log_derivations == pytest.approx(np.log(len(np.unique(derivations, axis=0))))
    T, K = 5000, policies.n_actions
    for rule, factor in zip(RULES[:3], (np.sqrt(2), 2.0, 3.0), strict=True):
        assert Exp4(search, horizon=T, rate=rule).guarantee() == pytest.approx(factor * np.sqrt(T * K * expected))


def test_a_growing_oracle_has_derivations_too() -> None:
    """Exp4 plays on a growing oracle's contexts as on fixed ones."""
    growing = GrowingOracle(DecisionTrees(3, 1), BITS)
    assert growing.log_derivations == pytest.approx(np.log(3 * 9))
    assert Exp4(growing, horizon=10).act(2) == pytest.approx(np.full(3, 1 / 3))


def test_the_guarantee_at_the_size_of_a_study() -> None:
    """Depth-2 trees on 12 binary literals, K = 3: 139 968 derivations, 2 666 at T = 100 000."""
    contexts = np.random.default_rng(0).integers(0, 2, (200, 12)).astype(float)
    oracle = open_oracle(DecisionTrees(3, 2), contexts, kind="search")
    assert np.exp(oracle.log_derivations) == pytest.approx(12**3 * 3**4)
    assert Exp4(oracle, horizon=100_000).guarantee() == pytest.approx(2666.4, abs=0.1)


def test_a_rate_given_as_a_number_has_its_own_guarantee() -> None:
    """Log N / eta + eta K T / 2, least at the fixed rate; without a rate there is none."""
    oracle = open_oracle(DecisionTrees(3, 1), BITS, kind="search")
    fixed = Exp4(oracle, horizon=400)
    assert Exp4(oracle, horizon=400, rate=0.3).guarantee() == pytest.approx(np.log(27) / 0.3 + 0.3 * 3 * 400 / 2)
    assert Exp4(oracle, horizon=400, rate=fixed.rate).guarantee() == fixed.guarantee()
    assert all(Exp4(oracle, horizon=400, rate=fixed.rate * by).guarantee() > fixed.guarantee() for by in (0.9, 1.1))
    assert Exp4(oracle, horizon=400, rate=0).guarantee() == np.inf


# ------------------------------------------------------------------- special cases


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["search", "enumeration"])
def test_constant_policies_make_it_exp3(kind: str, rule: str) -> None:
    """With N = K constants, q is Exp3's: exp(-eta * estimated cost of the action), step by step."""
    K, T = 4, 80
    constants = FiniteClass(np.repeat(np.arange(K)[:, None], 5, axis=1), K)
    trace = Trace(Exp4(open_oracle(constants, np.arange(5.0)[:, None], kind=kind), horizon=T, rate=rule), 5, T)
    totals = np.zeros(K)
    for q, estimate, rate in zip(trace.q, trace.estimates, rates(rule, np.log(K), trace, K, T), strict=True):
        weights = np.exp(-rate * (totals - totals.min()))
        assert np.abs(q - weights / weights.sum()).max() < 1e-10
        totals += estimate


@pytest.mark.parametrize("rate", [*RULES, 0.5])
@pytest.mark.parametrize("kind", ["search", "enumeration"])
def test_one_policy_has_no_regret(kind: str, rate: Any) -> None:
    """With N = 1 the policy is played surely, and the guarantee is 0."""
    learner = Exp4(open_oracle(FiniteClass(TABLE[:1], 3), np.arange(6.0)[:, None], kind=kind), horizon=20, rate=rate)
    for t in range(20):
        q = learner.act(t % 6)
        assert q.tolist() == np.eye(3)[TABLE[0, t % 6]].tolist()
        learner.learn(t % 6, int(q.argmax()), t % 2, 1.0)
    assert learner.guarantee() == 0.0


def test_an_action_that_no_policy_plays_is_never_played() -> None:
    """Its probability is exactly 0, and feedback that claims otherwise is refused."""
    learner = Exp4(open_oracle(FiniteClass(TABLE[:2], 3), np.arange(6.0)[:, None], kind="search"), horizon=20)
    q = learner.act(3)
    assert q[1] == q[2] == 0.0
    with pytest.raises(InputError, match="probability 0 in the q"):
        learner.learn(3, 1, 1.0, q[1])


def test_the_log_weight_ratio_is_unbiased_exactly() -> None:
    """Summed over the actions with their probabilities, the log ratio of two weights moves by -eta (c(pi) - c(pi'))."""
    rng = np.random.default_rng(1)
    pair = np.array([[0, 1, 2, 0], [1, 0, 1, 2]])
    oracle = open_oracle(FiniteClass(pair, 3), np.arange(4.0)[:, None], kind="search")

    def log_ratio(learner: Exp4) -> float:
        q = drawn(learner, 3)
        return float(np.log(q[pair[0, 3]] / q[pair[1, 3]]))

    learner = Exp4(oracle, horizon=50)
    Trace(learner, 4, 10)
    for row in range(3):
        costs, q, before, moved = rng.random(3), drawn(learner, row), log_ratio(learner), 0.0
        for action in np.flatnonzero(q):
            after = Exp4(oracle, horizon=50)
            after.restore(learner.state())
            after.act(row)
            after.learn(row, int(action), costs[action], q[action])
            moved += q[action] * (log_ratio(after) - before)
        difference = costs[pair[0, row]] - costs[pair[1, row]]
        assert moved == pytest.approx(-learner.rate * difference, abs=1e-12)


# ------------------------------------------------------------------- the theorem


@pytest.mark.parametrize("scale", [0.1, 1.0])
@pytest.mark.parametrize("rule", RULES)
def test_the_inequality_behind_the_guarantee_holds_on_every_path(rule: str, scale: float) -> None:
    """Per derivation: sum <p, estimate> - its total <= log N / eta_T + sum eta_t v_t / 2, estimates as they are."""
    policies, contexts, derivations = SEARCHED["trees, depth 1"]
    table, T = np.array(derivations), 150
    for seed in range(3):
        learner = Exp4(open_oracle(policies, contexts, kind="search"), horizon=T, rate=rule)
        trace = Trace(learner, len(contexts), T, seed, scale)
        suffered = sum(float(q @ estimate) for q, estimate in zip(trace.q, trace.estimates, strict=True))
        totals = sum(e[table[:, row]] for row, e in zip(trace.rows, trace.estimates, strict=True))
        bound = np.log(len(table)) / trace.rates[-1] + np.array(trace.rates) @ np.array(trace.squares) / 2
        assert suffered - np.min(totals) <= bound + 1e-9


@pytest.mark.parametrize("rule", RULES)
def test_no_path_has_a_certificate_above_its_bound(rule: str) -> None:
    """Whatever is drawn, certificate <= bound; the certified rate's sum keeps to what its guarantee is made from."""
    oracle, T = open_oracle(DecisionTrees(3, 1), BITS, kind="search"), 150
    for seed in range(3):
        learner = Exp4(oracle, horizon=T, rate=rule)
        assert learner.bound() == 0.0
        trace = Trace(learner, len(BITS), T, seed)
        assert 0 < learner.certificate() <= learner.bound() + 1e-9
        if rule == "certified":
            spent = learner.bound() - np.log(27) / trace.rates[-1]
            assert spent <= 0.5 + np.sqrt(0.25 + np.log(27) * sum(trace.squares))
            assert np.log(27) / trace.rates[-1] <= np.log(27) + spent


def test_the_certified_rate_needs_no_horizon() -> None:
    """Without one it plays on, and no guarantee is claimed; the fixed rate says which one to take instead."""
    oracle = open_oracle(DecisionTrees(3, 1), BITS, kind="search")
    free, bounded = (Exp4(oracle, horizon=T, rate="certified") for T in (None, 60))
    assert all(
        (a == b).all() for a, b in zip(Trace(free, len(BITS), 60).q, Trace(bounded, len(BITS), 60).q, strict=True)
    )
    assert free.guarantee() == np.inf
    assert bounded.guarantee() == pytest.approx(np.log(27) + 1 + 2 * np.sqrt(0.25 + 180 * np.log(27)))
    with pytest.raises(InputError, match=r'needs a horizon.*rate = "certified"'):
        Exp4(oracle, rate="fixed")
    assert Exp4(oracle).rate == Exp4(oracle, rate="certified").rate


@pytest.mark.parametrize("rule", ["anytime", "certified"])
@pytest.mark.parametrize("delay", [0, 1, 7])
def test_late_rounds_keep_the_bound_above_the_certificate(rule: Any, delay: int) -> None:
    """On every path, in any order of learning; a round put aside and taken up at once changes nothing."""
    oracle = open_oracle(DecisionTrees(3, 1), BITS, kind="search")
    learner, at_once = (Exp4(oracle, horizon=None if rule == "certified" else 300, rate=rule) for _ in range(2))
    draws, waiting = np.random.default_rng(5), []
    for _ in range(300):
        row, cost = int(draws.integers(len(BITS))), float(draws.integers(3)) / 2
        q = learner.act(row)
        action = int(draws.choice(3, p=q))
        waiting.append((learner.set_aside(), action, cost))
        if delay == 0:
            assert (at_once.act(row) == q).all()
            at_once.learn(row, action, cost, float(q[action]))
        while len(waiting) > delay:
            aside, action, cost = waiting.pop(int(draws.integers(len(waiting))))
            learner.take_up(aside)
            learner.learn(aside.row, action, cost, aside.q[action])
            assert learner.certificate() <= learner.bound() + 1e-9
    assert learner.played == 300 - delay
    if delay == 0:
        assert learner.state() == at_once.state()


@pytest.mark.parametrize("rate", [0.0, 1e-300, 5.0, 1e6])
def test_the_bound_is_a_number_at_any_rate(rate: float) -> None:
    """However small or large the rate, no overflow; at rate 0 there is no bound."""
    learner = Exp4(open_oracle(DecisionTrees(3, 1), BITS, kind="search"), horizon=40, rate=rate)
    Trace(learner, len(BITS), 40)
    assert learner.bound() >= learner.certificate() - 1e-9
    assert (learner.bound() == np.inf) == (rate == 0.0)


def test_the_adaptive_rate_keeps_to_its_band() -> None:
    """It never increases, stays between the anytime rate and twice that, and is higher where costs are small."""
    oracle = open_oracle(DecisionTrees(3, 1), BITS, kind="search")
    last = []
    for scale in (0.05, 1.0):
        made = np.array(Trace(Exp4(oracle, horizon=200, rate="adaptive"), len(BITS), 200, scale=scale).rates)
        anytime = np.sqrt(np.log(27) / (3 * np.arange(1, 201)))
        assert (np.diff(made) <= 0).all()
        assert (made >= anytime * (1 - 1e-12)).all()
        assert (made <= 2 * anytime * (1 + 1e-12)).all()
        last.append(made[-1])
    assert last[0] == pytest.approx(2 * np.sqrt(np.log(27) / 600))
    assert last[1] < 0.9 * last[0]


@pytest.mark.parametrize("rule", RULES)
def test_mean_regret_stays_below_the_guarantee_on_flips(rule: str) -> None:
    """Leaders change, then one stays: over 20 seeds the mean regret is below the guarantee (one run's need not be)."""
    T, table = 600, np.array(trees(1, 3))
    oracle = open_oracle(DecisionTrees(3, 1), BITS, kind="search")
    suffered, least = np.zeros(20), np.zeros(20)
    for seed in range(20):
        learner, rng, totals = Exp4(oracle, horizon=T, rate=rule), np.random.default_rng(seed), np.zeros(len(table))
        for t in range(T):
            row = int(rng.integers(len(BITS)))
            right = (t // (10 + seed) + row) % 3 if t < T // 3 else int(BITS[row, seed % 3])
            costs = np.roll([0.0, 1.0, 1.0], right)
            q = learner.act(row)
            action = int(rng.choice(3, p=q))
            learner.learn(row, action, costs[action], q[action])
            suffered[seed] += float(q @ costs)
            totals += costs[table[:, row]]
        least[seed] = totals.min()
    assert (suffered - least).mean() <= learner.guarantee()
    assert suffered.mean() < T / 2  # uniform play costs 2 T / 3


def test_linear_rules_by_tables_have_weights() -> None:
    """Where linear rules are searched by tables, Exp4 plays on them too."""
    oracle = open_oracle(LinearRules(2, max_weight=1), BITS, kind="search")
    assert Exp4(oracle, horizon=10).act(0).sum() == pytest.approx(1.0)
