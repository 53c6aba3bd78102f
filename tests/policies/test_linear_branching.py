"""Branch and bound on the weights: against lists, against tables, and where neither can go."""

from itertools import combinations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from milpcb import open_oracle
from milpcb.types import Floats
from policies.linear import LinearRules, search_branching
from policies.linear.policy_class import OpenedLinear
from policies.linear.search_branching import BranchingSearch, _floor


def branching(opened: OpenedLinear) -> BranchingSearch:
    """The search, whatever the sizes."""
    return BranchingSearch(opened.scored)


def noisy(rng: np.random.Generator, contexts: Floats, flipped: float) -> Floats:
    """Cost 1 for each disagreement with a planted rule with some labels flipped; contexts count 1 to 3 times."""
    n = len(contexts)
    scores = contexts @ rng.integers(-5, 6, contexts.shape[1])
    labels = (scores >= np.median(scores)) ^ (rng.random(n) < flipped)
    return np.column_stack([labels, ~labels]) * rng.integers(1, 4, (n, 1)).astype(float)


@settings(max_examples=20)
@given(data=st.data())
def test_search_equals_enumeration(data, draw_costs) -> None:
    """Value, policy and profile are those of the list, by tables too: any columns, repeats, limits and costs."""
    rows, features = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    kinds = [st.integers(0, 1), st.integers(-4, 4), st.sampled_from([0.5, 1.0, 1.5, 2.25]), st.just(7)]
    kind = [data.draw(st.sampled_from(kinds)) for _ in range(features)]
    table = np.array([[float(data.draw(k)) for k in kind] for _ in range(rows)])
    if data.draw(st.booleans()):
        table[:, 0] = 2 - table[:, -1]  # columns alike
    rules = LinearRules(2, data.draw(st.integers(1, 2)), data.draw(st.sampled_from([None, 1, 2])))
    opened = rules.on(table)
    listed = open_oracle(opened, table, kind="enumeration")
    for search in (branching(opened), opened.search()):
        costs = draw_costs(data, rows, 2)
        merged = np.zeros((len(opened.contexts), 2))
        np.add.at(merged, opened.group, costs)
        value, policy = search.minimise(merged)
        assert value == pytest.approx(listed.value(costs), abs=1e-9)
        assert search.value(merged) == pytest.approx(value, abs=1e-9)
        assert search.profile(merged, opened.group[0]) == pytest.approx(listed.profile(costs, 0), abs=1e-9)
        assert costs[np.arange(rows), policy.predict(table)].sum() == pytest.approx(value, abs=1e-9)
        assert max(map(abs, policy.weights)) <= rules.max_weight
        assert np.count_nonzero(policy.weights) <= (rules.max_features or features)


@pytest.mark.parametrize(
    ("contexts_and_columns", "values", "max_features", "flipped"),
    [
        ((1_000, 10), range(2), 2, 0.1),
        ((60, 8), range(2), 2, 0.5),
        ((80, 3), range(5), None, 0.2),
        ((80, 3), range(-3, 2), None, 0.2),
        ((80, 3), range(3, 8), None, 0.2),
    ],
)
def test_it_equals_the_tables(
    contexts_and_columns: tuple[int, int], values: range, max_features: int | None, flipped: float
) -> None:
    """On full and on sparse grids, of two and of five values, both searches agree, on whole and on real costs."""
    rng = np.random.default_rng(5)
    contexts = rng.choice(values, contexts_and_columns).astype(float)
    opened = LinearRules(max_features=max_features).on(contexts)
    tables, search = opened.search(), branching(opened)
    costs = noisy(rng, opened.contexts, flipped)
    assert search.value(costs) == tables.value(costs)
    assert (search.profile(costs, 3) == tables.profile(costs, 3)).all()
    costs += rng.normal(size=costs.shape)
    assert search.value(costs) == pytest.approx(tables.value(costs), abs=1e-9)


@given(data=st.data())
def test_the_bound_is_the_best_shift_of_each_pattern(data) -> None:
    """The compiled bound is the least over the cut of the sum over patterns of the least f within reach."""
    span, patterns = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 3))
    f = np.array([[float(data.draw(st.integers(-5, 5))) for _ in range(span - 1)] + [0.0] for _ in range(patterns)])
    reach = np.array([data.draw(st.integers(0, 5)) for _ in range(patterns)])
    furthest = int(reach.max())

    def at(p: int, c: int) -> float:
        return float(f[p, min(max(c, 0), span - 1)])

    expected = min(
        sum(min(at(p, t + delta) for delta in range(-reach[p], reach[p] + 1)) for p in range(patterns))
        for t in range(-furthest, span + furthest)
    )
    assert _floor(f, span, reach, np.empty(span + 2 * furthest), np.empty(span, int)) == expected


def test_how_far_free_columns_reach() -> None:
    """With so many features left, the scores of a pattern move by the largest sum of that many weighted values."""
    X = np.array([[0, 0, 0], [1, -2, 3], [1, -2, 0]])
    levels = search_branching._levels(X, np.array([4, 2, 2]), np.array([2, 1, 1]), 2, 3)
    for level in range(4):
        here = slice(levels.first[level], levels.first[level + 1])
        rows = np.unique(X[:, level:], axis=0)
        copies = np.repeat(np.arange(level, 3), np.array([2, 1, 1])[level:])
        for left in range(4):
            wanted = [
                max(
                    sum(2 * abs(row[c - level]) for c in chosen)
                    for chosen in combinations(copies, min(left, len(copies)))
                )
                for row in rows
            ]
            assert sorted(levels.reach[left, here]) == sorted(wanted)


def test_it_equals_the_program_where_no_feature_repeats() -> None:
    """Twelve contexts in six columns, no limit on features: a bound that is too high for one weight loses optima."""
    rng = np.random.default_rng(8)
    contexts = rng.integers(0, 2, (12, 6)).astype(float)
    opened = LinearRules(max_weight=2).on(contexts)
    search, program = branching(opened), open_oracle(opened, contexts)
    copies = np.bincount(opened.group)[opened.group][:, None]
    for _ in range(5):
        costs = rng.integers(-9, 10, (len(opened.contexts), 2)).astype(float)
        assert search.value(costs) == pytest.approx(program.value(costs[opened.group] / copies))


def test_no_context_is_above_the_cut_where_each_costs_a_little_more() -> None:
    """Costs below 1 count as all others do: the rule found has the cost of the value."""
    search = branching(LinearRules(max_weight=2).on(np.eye(5)))
    value, policy = search.minimise(np.column_stack([np.zeros(5), np.full(5, 0.1)]))
    assert value == 0.0
    assert not policy.predict(np.eye(5)).any()
