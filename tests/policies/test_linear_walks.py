"""Walks through the labelings of support tables: diagrams, prices, totals that are kept, side constraints, sums."""

from itertools import product

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.constraints import share_at_most
from milpcb.errors import InputError
from policies.linear import LinearRules, supports
from policies.linear.labelings import LabelTable, OneScore, Shape, diagram_of, support_table
from policies.linear.search_tables import TableTerms


def table_of(shapes: tuple[Shape, ...], n_cuts: int) -> LabelTable:
    """The table of columns of these shapes."""
    return support_table(OneScore(n_cuts + 1), shapes)


@pytest.mark.parametrize(
    ("shapes", "n_cuts"),
    [((), 1), ((Shape((0, 1), 5),) * 4, 1), ((Shape((0, 1), 2),) * 3, 2), ((Shape((0, 1, 4), 2), Shape((0, 2), 1)), 3)],
)
def test_a_diagram_has_a_path_for_each_labeling(shapes: tuple[Shape, ...], n_cuts: int) -> None:
    """Paths from the root are the rows of the table, each once, in their order; edges number them."""
    table = table_of(shapes, n_cuts)
    (first, to, term, _), before = table.diagram.graph.edges, table.diagram.before
    paths: list[tuple[int, int, tuple[int, ...]]] = [(0, 0, ())]
    for pattern in range(table.labels.shape[1]):
        paths = [
            (to[e], number + before[e], (*labels, term[e] - pattern * (n_cuts + 1)))
            for node, number, labels in paths
            for e in range(first[node], first[node + 1])
        ]
    assert {node for node, *_ in paths} == {table.diagram.graph.n_inner}
    assert [labels for *_, labels in paths] == [tuple(row) for row in table.labels.tolist()]
    assert [number for _, number, _ in paths] == list(range(len(paths)))


def test_nodes_that_go_on_alike_are_one() -> None:
    """Both labelings of the second pattern may follow either label of the first: a node a level is enough."""
    every = np.array(list(product(range(2), repeat=3)), dtype=np.int8)
    assert diagram_of(every).graph.edges.to.tolist() == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(("n", "weight", "rows"), [(1, 1, 4), (2, 1, 14), (3, 2, 104), (4, 3, 1882), (5, 5, 94_572)])
def test_weights_beyond_those_that_make_all_labelings_add_none(n: int, weight: int, rows: int) -> None:
    """Tables of binary columns are built with the least weights that make all threshold functions (OEIS A000609)."""
    shapes = OneScore(2).enough((Shape((0, 1), 40),) * n)
    assert shapes == (Shape((0, 1), weight),) * n
    table = table_of(shapes, 1)
    assert len(table.labels) == rows
    assert len(table_of((Shape((0, 1), max(1, weight - 1)),) * n, 1).labels) < rows or weight == 1
    assert table.diagram.graph.n_inner <= 30_692
    scores = table.weights @ np.array(list(product(range(2), repeat=n))).T
    lowest = np.where(table.labels == 1, scores, 99).min(axis=1)
    assert (lowest > np.where(table.labels == 0, scores, -99).max(axis=1)).all()


def test_only_two_actions_and_two_values_need_no_larger_weights() -> None:
    """Of other shapes the largest weight is what it was; so it is of smaller weights."""
    for shapes, n_actions in (
        ((Shape((0, 1), 9),) * 3, 3),
        ((Shape((0, 1), 9), Shape((0, 1, 2), 9)), 2),
        ((Shape((0, 3), 1),) * 4, 2),
    ):
        assert OneScore(n_actions).enough(shapes) == shapes
    contexts = np.random.default_rng(0).integers(0, 2, (50, 7)).astype(float)
    costs = np.random.default_rng(1).integers(-9, 10, (50, 2)).astype(float)
    wide, narrow = (open_oracle(LinearRules(2, most, 5), contexts, "search") for most in (50, 5))
    assert wide.value(costs) == narrow.value(costs)


def test_five_of_twenty_features_are_answered() -> None:
    """A hidden rule is found exactly; there are 15 504 supports of 94 572 rows, too many to sum."""
    rng = np.random.default_rng(5)
    contexts = rng.integers(0, 2, (300, 20)).astype(float)
    hidden = contexts[:, [1, 4, 8, 12, 19]] @ np.array([5, -4, 3, 2, -1]) >= 3
    oracle = open_oracle(LinearRules(max_features=5), contexts, kind="search")
    assert "support tables" in oracle.explain()
    answer = oracle.minimise(np.column_stack([hidden, ~hidden]).astype(float))
    assert (answer.value, oracle.value(np.column_stack([~hidden, hidden]).astype(float))) == (0.0, 0.0)
    assert (answer.policy.predict(contexts) == hidden).all()
    with pytest.raises(InputError, match="goes through 475 848 768 states of support tables, more than 100 000 000"):
        oracle.action_weights(np.zeros((300, 2)), 0, 0.1)
    assert isinstance(oracle.opened.terms(), TableTerms)


def test_totals_too_many_to_keep_are_added_up_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a class has no terms, and the rest all the same, side constraints included."""
    contexts = np.random.default_rng(6).integers(0, 2, (40, 7)).astype(float)
    on, free = (LinearRules(max_features=3).on(contexts) for _ in range(2))
    every = free.capabilities
    monkeypatch.setattr(supports, "LARGEST", 559)
    assert every - on.capabilities == {"totals"}
    assert "the supports have 560 totals to keep, more than 559" in on.unsupported["totals"]
    few, same = (open_oracle(each, contexts, "search", constraints=[share_at_most(0, 0.2)]) for each in (on, free))
    costs = np.random.default_rng(7).integers(-9, 10, (40, 2)).astype(float)
    assert few.value(costs) == same.value(costs)
    assert few.action_weights(costs, 0, 0.1) == pytest.approx(same.action_weights(costs, 0, 0.1))
