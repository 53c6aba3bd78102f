"""Support tables of linear rules: the tables, the search over them, the program over them."""

from itertools import product

import numpy as np
import pytest

from milpcb.errors import InputError
from policies.linear import LinearRules, supports
from policies.linear import program as program_module
from policies.linear.labelings import LabelTable, OneScore, Shape, support_table
from policies.linear.program import LinearEncoding, TableEncoding
from policies.linear.search_branching import BranchingSearch
from policies.linear.supports import Supports

BINARY = np.array(
    [[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 0]], float
)


def table_of(shapes: tuple[Shape, ...], n_cuts: int) -> LabelTable:
    """The table of columns of these shapes."""
    return support_table(OneScore(n_cuts + 1), shapes)


def binary(n: int, bound: int = 5) -> tuple[Shape, ...]:
    """The shapes of n binary columns."""
    return (Shape((0, 1), bound),) * n


# ------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("shapes", "n_cuts", "rows"),
    [
        *((binary(n), 1, rows) for n, rows in enumerate((2, 4, 14, 104, 1882))),  # threshold functions, OEIS A000609
        *(((Shape((0, 1, 2, 3, 4), 5),) * n, 1, rows) for n, rows in ((1, 10), (2, 402))),  # counted once by hand
        (binary(3), 2, 993),
        (binary(1, 1), 129, 130**2),  # more actions than a byte holds: a label for each, and all pairs of two
    ],
)
def test_tables_have_the_known_sizes(shapes: tuple[Shape, ...], n_cuts: int, rows: int) -> None:
    """Of two to five values, and of many actions, each of which is played."""
    labels = table_of(shapes, n_cuts).labels
    assert len(labels) == rows
    assert set(labels.ravel().tolist()) == set(range(n_cuts + 1))


@pytest.mark.parametrize(
    ("shapes", "n_cuts"),
    [
        (binary(3, 2), 1),
        (binary(2, 1), 3),
        ((Shape((0, 1, 4), 2), Shape((0, 1), 1)), 2),
        ((Shape((0, 10, 30), 3), Shape((0, 7), 2)), 1),
        ((Shape((0, 5), 1),), 2),
    ],
)
def test_a_table_is_the_list_of_labelings_by_definition(shapes: tuple[Shape, ...], n_cuts: int) -> None:
    """Rows are all labelings by weights in the box and half-integer cuts, each once, and made by their weights."""
    points = np.array(list(product(*(shape.grid for shape in shapes))))
    wanted = set()
    for w in product(*(range(-shape.bound, shape.bound + 1) for shape in shapes)):
        scores = points @ np.array(w)
        cuts = sorted({score + half for score in scores.tolist() for half in (-0.5, 0.5)})
        wanted |= {
            tuple(sum(cut <= score for cut in chosen) for score in scores) for chosen in product(cuts, repeat=n_cuts)
        }
    table = table_of(shapes, n_cuts)
    assert len(table.labels) == len(wanted)
    assert set(map(tuple, table.labels.tolist())) == wanted
    for labels, weights in zip(table.labels, table.weights, strict=True):
        scores = points @ weights
        assert all(abs(w) <= shape.bound for w, shape in zip(weights, shapes, strict=True))
        assert (np.diff(labels[np.argsort(scores, kind="stable")]) >= 0).all()
        assert all(len(set(labels[scores == score])) == 1 for score in set(scores))
        by_column = labels.reshape([len(shape.grid) for shape in shapes])
        used = [bool((np.diff(by_column, axis=i) != 0).any()) for i in range(len(shapes))]
        assert [bool(w) for w in weights] == used, "weights on the columns that the labels depend on, and on no other"


# ------------------------------------------------------------------- search


def test_log_weights_do_not_underflow() -> None:
    """The weight of an action that is worse by thousands is still a finite logarithm."""
    opened = LinearRules(max_features=1).on(BINARY)
    search = opened.search()
    costs = np.zeros((len(opened.contexts), 2))
    costs[0, 1] = 5_000.0
    logs = search.log_weights(costs, 0, 1.0)
    assert np.isfinite(logs).all()
    assert logs[0] - logs[1] == pytest.approx(5_000.0, abs=10.0)


def test_the_first_support_and_the_first_row_win_a_tie() -> None:
    """Columns 1 and 2 do equally well: the rule scores column 1, with the smaller weight."""
    contexts = np.array([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 0]], float)
    wanted = contexts[:, 0] == 1
    value, policy = (
        LinearRules(max_features=1).on(contexts).search().minimise(np.column_stack([wanted, ~wanted]).astype(float))
    )
    assert (value, policy.weights, policy.cuts) == (0.0, (1, 0, 0), (1,))
    costs = np.zeros((5, 2))
    assert LinearRules(max_features=1).on(contexts).search().minimise(costs)[1].weights == (0, 0, 0)


# ------------------------------------------------------------------- sizes


def test_the_program_is_by_tables_where_they_have_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """210 rows are few for 30 contexts; beyond the limit the program has big-M rows."""
    contexts = np.random.default_rng(0).integers(0, 2, (30, 6)).astype(float)
    rules = LinearRules(max_features=2)
    assert isinstance(rules.on(contexts).program(), TableEncoding)
    monkeypatch.setattr(program_module, "COLUMNS_PER_CONTEXT", 1)
    assert isinstance(rules.on(contexts).program(), LinearEncoding)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("MOST_PRICES", "15 supports of 2 features have 60 prices, more than 1"),
        ("MOST_SUMS", "there are 49 sums over contexts, more than 1"),
        ("MOST_LABELS", "takes 180 labels, more than 1"),
    ],
)
def test_what_is_too_large_for_tables_goes_another_way(
    limit: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each limit is named: two actions go on by branch and bound, three are refused with the kind that works."""
    contexts = np.random.default_rng(0).integers(0, 2, (30, 6)).astype(float)
    monkeypatch.setattr(supports, limit, 1)
    opened = LinearRules(max_features=2).on(contexts)
    assert isinstance(opened.search(), BranchingSearch)
    assert reason in opened.describe_search()
    three = LinearRules(3, max_features=2).on(contexts)
    for ask in (three.search, three.describe_search):
        with pytest.raises(InputError, match="more than two actions there is only oracle kind 'milp'"):
            ask()


def test_many_columns_are_counted_not_listed() -> None:
    """Hundreds of columns overflow no number and take no time."""
    contexts = np.random.default_rng(0).integers(0, 2, (20, 400)).astype(float)
    many = Supports(LinearRules(max_features=9).on(contexts).scored).obstacle()
    assert "10^17.8 supports of 9 features have 10^20.5 prices" in many
    assert "1 supports of 400 features have 10^120.4 prices" in Supports(LinearRules().on(contexts).scored).obstacle()
