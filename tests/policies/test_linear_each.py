"""Scoring rules with a score for each action: tables, answers, program, printed rules, and what is refused."""

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InputError
from policies import LinearRules
from policies.linear import HighestScore
from policies.linear.each_rule import EachScore, highest, n_placements, placed
from policies.linear.labelings import LabelTable, Shape, support_table

RNG = np.random.default_rng(0)
BINARY = RNG.integers(0, 2, (30, 4)).astype(float)


def table_of(shapes: tuple[Shape, ...], n_actions: int) -> LabelTable:
    """The table of columns of these shapes."""
    return support_table(EachScore(n_actions), shapes)


@pytest.mark.parametrize(("columns", "n_actions"), [(1, 2), (1, 4), (2, 2), (2, 3)])
def test_weights_of_1_make_all_but_the_crossed_labelings_of_two_columns(columns: int, n_actions: int) -> None:
    """Of four patterns only those are missing that are alike on either diagonal and differ between them."""
    table = table_of((Shape((0, 1), 1),) * columns, n_actions)
    crossed = n_actions * (n_actions - 1) if columns == 2 else 0
    assert len(table.labels) == n_actions ** (2**columns) - crossed
    larger = table_of((Shape((0, 1), 2),) * columns, n_actions)
    assert (larger.labels == table.labels).all()


def test_bases_that_are_tried_give_all_labelings_of_a_box_of_bases() -> None:
    """Placing actions one after the other loses no labeling, whatever the scores are."""
    for seed in range(20):
        scores = np.random.default_rng(seed).integers(-4, 5, (1, 5, 3))
        tried = placed(scores)
        assert tried.shape[1] == n_placements(5, 3)
        box = np.stack(np.meshgrid(0, np.arange(-25, 26), np.arange(-25, 26), indexing="ij"), axis=-1).reshape(1, -1, 3)
        ours, every = ({tuple(row) for row in highest(scores, bases)[0].tolist()} for bases in (tried, box))
        assert ours == every


def test_rows_of_tables_are_made_by_their_weights() -> None:
    """Some bases give the labels of each row to the scores of its weights, which are few and small."""
    shapes = (Shape((0, 1, 3), 1), Shape((0, 2), 1))
    table = table_of(shapes, 3)
    patterns = np.array([(x, y) for x in (0, 1, 3) for y in (0, 2)])
    for labels, weights in list(zip(table.labels, table.weights, strict=True))[::17]:
        scores = (patterns @ weights)[None]
        assert (highest(scores, placed(scores))[0] == labels).all(axis=1).any()
    assert (table.sizes == np.count_nonzero(table.weights.any(axis=2), axis=1)).all()
    assert EachScore(3).labels_to_build(shapes) == len(EachScore(3).weights([1, 1])) * n_placements(6, 3) * 6


def test_a_rule_reads_aloud() -> None:
    """Scores are lines of base points and weights; the last line is what to do with them; a constant is one action."""
    rules = LinearRules(
        3,
        max_weight=2,
        max_features=2,
        thresholds=[[30.5, 45.5], []],
        feature_names=["age", "member"],
        action_names=["call", "write", "wait"],
        scores="each",
    )
    contexts = np.array([[25.2, 0], [40.7, 0], [60.1, 0], [25.2, 1], [40.7, 1], [60.1, 1]])
    labels = np.array([2, 1, 1, 2, 0, 0])
    answer = open_oracle(rules, contexts, "search").minimise(1.0 - np.eye(3)[labels])
    assert answer.value == 0.0
    policy = answer.policy
    assert isinstance(policy, HighestScore)
    assert policy.predict(contexts).tolist() == labels.tolist()
    lines = str(policy).splitlines()
    assert [line.split(" = ")[0] for line in lines[:3]] == ["score of call", "score of write", "score of wait"]
    assert lines[3:] == [
        "points(age) = 1 point for each of age >= 30.5, 45.5",
        "play the action of the highest score, of equal scores the first",
    ]
    constant = open_oracle(rules, contexts, "search").minimise(np.tile([3.0, 1.0, 2.0], (6, 1))).policy
    assert str(constant) == "play write"


def test_what_is_too_large_for_tables_is_refused_and_left_to_a_solver() -> None:
    """The message has the counts and the ways out; the program takes the same class."""
    rules = LinearRules(4, max_weight=2, max_features=3, scores="each")
    with pytest.raises(InputError, match=r"score for each action .* tables alone; .* lower max_features.* kind 'milp'"):
        open_oracle(rules, BINARY, "search")
    few = BINARY[:4]
    costs = 1.0 - np.eye(4)[np.arange(4)]
    assert open_oracle(rules, few, "milp").value(costs) == pytest.approx(0.0)
