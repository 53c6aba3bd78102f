"""All policies within a slack of the least cost: how many, which, what they agree on, and what they need."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from milpcb.constraints import share_at_most
from milpcb.errors import InputError, OracleInexact
from milpcb.offline.restrictions import Question, prices
from milpcb.oracles import near_best, open_oracle
from milpcb.oracles.growing import GrowingOracle
from policies import BoxRules, DecisionTrees, FiniteClass, LinearRules, MonotoneRules, ThresholdRules
from policies.monotone import policy_class as monotone_class
from policies.trees import terms

RNG = np.random.default_rng(0)
CONTEXTS = RNG.integers(0, 3, (20, 3)).astype(float)
COSTS = RNG.integers(0, 6, (20, 3)).astype(float)
TREES = DecisionTrees(3, depth=2)


def totals(policies, contexts=CONTEXTS, costs=COSTS):
    """Return the total cost of each policy."""
    rows = np.arange(len(contexts))
    return [float(costs[rows, policy.predict(contexts)].sum()) for policy in policies]


def test_slack_0_gives_the_best_policies():
    """Of four labelings two are the best; they differ on one context."""
    table = FiniteClass([[0, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 0]], 2)
    found = open_oracle(table, CONTEXTS[:3], "search").near_best([[0, 2], [2, 0], [1, 1]], 0)
    assert (found.value, found.count, found.exact) == (1.0, 2, True)
    assert found.actions.tolist() == [[True, False], [False, True], [True, True]]
    assert found.agreed.tolist() == [True, True, False]


def test_of_the_ways_to_write_a_policy_the_shortest_is_listed():
    """One cut of the second column labels as two of the first do, which come before it."""
    rules, contexts = ThresholdRules(2, max_cuts=2, thresholds="all"), [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]
    (found,) = open_oracle(rules, contexts, "search").near_best([[0, 1], [1, 0], [0, 1]], 0).policies()
    assert str(found).startswith("if x1 = 0:")


def test_policies_are_made_as_they_are_asked_for():
    """The first policy of a solver takes fewer questions than the count, which asks none again that were asked."""
    oracle = open_oracle(ThresholdRules(3), CONTEXTS, "milp")
    found = oracle.near_best(COSTS, 3.0)
    first = next(found.policies())
    assert totals([first]) == [found.value]
    after_first = oracle.calls
    assert found.count > 2
    after_count = oracle.calls
    assert after_count > after_first
    assert totals(found.policies()) == sorted(totals(found.policies()))
    assert oracle.calls == after_count
    assert oracle.seconds > 0


def test_actions_of_some_rows_are_those_of_all():
    """Rows may come in any order, and several times; each distinct context takes a query."""
    oracle = open_oracle(ThresholdRules(3), CONTEXTS, "milp")
    found, before = oracle.near_best(COSTS, 3.0), oracle.calls
    some = found.played([5, 2, 5])
    assert oracle.calls == before + 2
    assert (some == found.actions[[5, 2, 5]]).all()


@pytest.mark.parametrize("kind", ["search", "milp"])
def test_beyond_the_budget_the_cheapest_are_listed_and_it_says_so(monkeypatch, kind):
    """Where work ends early ``exact`` is False, and the policies are the cheapest of all."""
    policies = TREES if kind == "search" else MonotoneRules(3)
    every = totals(open_oracle(policies, CONTEXTS, "enumeration").near_best(COSTS, 8.0).policies())
    monkeypatch.setattr(terms, "MOST_PAIRS", len(every) // 3)
    monkeypatch.setattr(near_best, "MOST_QUERIES", 40)
    found = open_oracle(policies, CONTEXTS, kind).near_best(COSTS, 8.0)
    assert not found.exact
    assert 0 < found.count < len(every)
    assert totals(found.policies()) == every[: found.count]


@pytest.mark.parametrize("constrained", [False, True])
def test_trees_of_depth_3_are_listed_root_by_root(monkeypatch, constrained):
    """Over three literals they label the eight patterns in any way; where they are too many it is the cheapest."""
    contexts = np.array(list(product((0.0, 1.0), repeat=3)))
    costs = np.random.default_rng(1).integers(0, 6, (8, 3)).astype(float)
    rules = [share_at_most(0, 0.25)] if constrained else []
    labels = np.array(list(product(range(3), repeat=8)))
    labels = labels[(labels == 0).sum(axis=1) <= (2 if constrained else 8)]
    every = np.sort(costs[np.arange(8), labels].sum(axis=1))
    every = every[every <= every[0] + 4].tolist()
    oracle = open_oracle(DecisionTrees(3, depth=3), contexts, "search", constraints=rules)
    found = oracle.near_best(costs, 4)
    assert (found.listed, found.exact) == (True, True)
    assert totals(found.policies(), contexts, costs) == every
    monkeypatch.setattr(terms, "MOST_PAIRS", 300)
    some = oracle.near_best(costs, 4)
    assert not some.exact
    assert totals(some.policies(), contexts, costs) == every[: some.count]
    monkeypatch.setattr(terms, "MOST_PAIRS", -1)
    monkeypatch.setattr(near_best, "MOST_QUERIES", 100)
    asked = oracle.near_best(costs, 4)
    assert not asked.listed
    assert totals(asked.policies(), contexts, costs) == every[: asked.count]


def test_more_ties_than_the_budget_are_some_of_them(monkeypatch):
    """If all trees cost the same, so many are listed as are looked at, and there are more."""
    monkeypatch.setattr(terms, "MOST_PAIRS", 100)
    found = open_oracle(TREES, CONTEXTS, "search").near_best(np.zeros((20, 3)), 0)
    assert not found.exact
    assert 0 < found.count <= 100
    assert set(totals(found.policies(), costs=np.zeros((20, 3)))) == {0.0}
    assert found.actions.all()


def test_ties_are_followed_to_their_end_one_by_one(monkeypatch):
    """If all monotone rules cost the same, the first is found before the others are begun, and so on."""
    monkeypatch.setattr(near_best, "MOST_QUERIES", 60)
    monkeypatch.setattr(monotone_class, "MOST_CELLS", 0)  # no list of its own
    found = open_oracle(MonotoneRules(3), CONTEXTS, "search").near_best(np.zeros((20, 3)), 0)
    assert not found.listed
    assert not found.exact
    assert found.count > 5


def test_constraints_that_the_cheapest_break_leave_questions(monkeypatch):
    """Where all policies that may be looked at break a side constraint, profiles find those that keep it."""
    rule = share_at_most(0, 0.1)
    costs = COSTS + np.array([0.0, 40.0, 40.0])
    expected = open_oracle(TREES, CONTEXTS, "enumeration", constraints=[rule]).near_best(costs, 2.0)
    monkeypatch.setattr(terms, "MOST_PAIRS", 50)
    found = open_oracle(TREES, CONTEXTS, "search", constraints=[rule]).near_best(costs, 2.0)
    assert (found.count, found.exact) == (expected.count, True)
    assert totals(found.policies(), costs=costs) == totals(expected.policies(), costs=costs)


def test_what_is_not_proved_has_no_neighbours():
    """A solver without time has no least cost that others could be near to."""
    oracle = open_oracle(TREES, CONTEXTS, "milp", time_limit=0.0)
    with pytest.raises(OracleInexact):
        oracle.near_best(COSTS, 1)
    answer = oracle.minimise(COSTS)
    assert answer.lower <= open_oracle(TREES, CONTEXTS, "search").value(COSTS) <= answer.upper


def test_features_have_their_names_and_those_needed_are_listed():
    """A data frame names its columns; forbidding the one that decides costs what the best constant costs more."""
    frame = pl.DataFrame({"age": [0.0, 1.0, 2.0, 3.0], "shoe": [1.0, 0.0, 1.0, 0.0]})
    costs = [[0, 4], [0, 4], [4, 0], [4, 0]]
    for kind in ("search", "milp", "enumeration", "audited"):
        found = open_oracle(DecisionTrees(2, depth=1), frame, kind).near_best(costs, 1)
        assert found.features == {"age": 8.0, "shoe": 0.0}
        assert found.needed == ["age"]


def test_without_a_column_a_constraint_may_be_broken_by_all():
    """Where no policy without the column keeps the constraints, its price is infinite."""
    rules = [share_at_most(action, 0.5) for action in (0, 1)]
    contexts = np.array([[0.0], [1.0], [2.0], [3.0]])
    found = open_oracle(DecisionTrees(2, depth=1), contexts, "search", constraints=rules).near_best(np.eye(4, 2), 9)
    assert found.features == {"x0": np.inf}
    assert found.needed == ["x0"]


def test_whole_columns_of_scores_are_left_out_although_they_have_no_cuts():
    """A scoring rule with explicit thresholds does not read a column of integers that it is forbidden."""
    contexts = np.array([[0.0, 0.5], [1.0, 0.7], [0.0, 0.1], [1.0, 0.2]])
    costs = np.array([[0.0, 3.0], [3.0, 0.0], [0.0, 3.0], [3.0, 0.0]])
    scores = LinearRules(2, thresholds=[[], [0.6]])
    found = open_oracle(scores, contexts, "search").near_best(costs, 0)
    question = Question(scores, contexts)
    (price,) = prices(question, costs, {"without x0": question.without(0)})
    assert price.price == found.features["x0"] == 3.0


def test_contexts_that_arrive_are_counted():
    """A growing oracle answers as one that is opened on all contexts."""
    growing = GrowingOracle(DecisionTrees(3, thresholds=[[0.5], [0.5, 1.5], [1.5]]))
    rows = growing.extend(CONTEXTS)
    costs = np.zeros((growing.n_contexts, 3))
    np.add.at(costs, rows, COSTS)
    found = growing.near_best(costs, 3.0)
    same = open_oracle(DecisionTrees(3, thresholds=[[0.5], [0.5, 1.5], [1.5]]), CONTEXTS, "search").near_best(COSTS, 3)
    assert (found.value, found.count) == (same.value, same.count)
    assert found.actions[rows].tolist() == same.actions.tolist()
    assert found.features == same.features
    held = GrowingOracle(DecisionTrees(3, thresholds=[[0.5], [], []]), constrained=True)
    held.extend(CONTEXTS)
    with pytest.raises(InputError, match="opened without a column"):
        _ = held.near_best(np.zeros((held.n_contexts, 3)), 0).features


@pytest.mark.parametrize("number", [1, 2, 4])
def test_different_ones_are_the_farthest_from_those_before(number):
    """So many and no more: the best, then each time one whose nearest among those before is as far as any can be."""
    found = open_oracle(TREES, CONTEXTS, "search").near_best(COSTS, 2.0)
    every = np.array([policy.predict(CONTEXTS) for policy in found.policies()])
    labels = np.array([policy.predict(CONTEXTS) for policy in found.different(number)])
    assert len(every) > number == len(labels)
    assert totals(found.different(number))[0] == found.value
    for before in range(1, number):
        apart = (every[:, None] != labels[:before]).sum(axis=2).min(axis=1)
        assert (labels[before] != labels[:before]).sum(axis=1).min() == apart.max()
    assert len(found.different(10**4)) == min(len(every), near_best.MOST_COMPARED)


def test_boxes_that_no_context_tells_apart_are_one():
    """Where contexts arrive, boxes of two features are not merged beforehand: their marks tell which are alike."""
    rules = BoxRules(2, max_features=2, thresholds=[[1.0], [-1.0, 1.0]])
    for contexts in ([[0.2, -1.5], [-1.5, 0.2]], [[0.2, -1.5], [-1.5, 0.2], [2.0, 2.0]]):
        growing = GrowingOracle(rules)
        growing.extend(contexts)
        every = open_oracle(rules, contexts, kind="enumeration").labelings
        assert growing.near_best(np.zeros((len(contexts), 2)), 0.0).count == len(every)


def test_costs_that_change_later_change_no_answer():
    """A table that somebody writes to after the question, as running totals, is asked about as it was."""
    contexts = np.arange(6.0)[:, None]
    costs = np.random.default_rng(0).integers(0, 9, (6, 2)).astype(float)
    rules = ThresholdRules(2, thresholds="all")
    wanted = open_oracle(rules, contexts, kind="search").near_best(costs.copy(), 2.0)
    near = open_oracle(rules, contexts, kind="search").near_best(costs, 2.0)
    count, features = wanted.count, wanted.features
    costs[:] = costs[::-1, ::-1].copy() + 5.0 * np.arange(6)[:, None]
    assert (near.count, near.features) == (count, features)


def test_a_list_that_was_interrupted_goes_on_where_it_was(monkeypatch) -> None:
    """A query that ended in an error is asked again: no policy is left out, none comes twice."""
    policies, costs = FiniteClass(list(product((0, 1), repeat=3)), 2), np.array([[0, 2], [2, 0], [1, 1]])
    oracle = open_oracle(policies, CONTEXTS[:3], "milp")
    ask, asked = oracle._profile, []

    def sometimes(*arguments):
        asked.append(arguments)
        if len(asked) in {5, 8}:  # after the profiles of the three contexts
            raise KeyboardInterrupt
        return ask(*arguments)

    monkeypatch.setattr(oracle, "_profile", sometimes)
    found, times = oracle.near_best(costs, 2), 0
    while True:
        try:
            listed = [tuple(policy.predict(CONTEXTS[:3])) for policy in found.policies()]
            break
        except KeyboardInterrupt:
            times += 1
    assert times == 2
    assert found.exact
    expected = open_oracle(policies, CONTEXTS[:3], "enumeration").near_best(costs, 2)
    assert sorted(listed) == sorted(tuple(policy.predict(CONTEXTS[:3])) for policy in expected.policies())
