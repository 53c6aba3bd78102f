"""Scoring rules with a score for each action: tables, answers, program, printed rules, and what is refused."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from milpcb import open_oracle
from milpcb.errors import InputError
from policies import LinearRules
from policies.linear import HighestScore
from policies.linear import program as program_module
from policies.linear.labelings import EachScore, LabelTable, Shape, labels_of, support_table
from policies.linear.program import EachEncoding
from policies.names import Names
from tests.exported import exported
from tests.instances import instances
from tests.stress.definitions import scored

INSTANCES = {i.name: (i.policies, i.contexts) for i in instances("linear_rules") if i.policies.scores == "each"}
EVERY_INSTANCE = pytest.mark.parametrize("name", INSTANCES)


def table_of(shapes: tuple[Shape, ...], n_actions: int) -> LabelTable:
    """The table of columns of these shapes."""
    return support_table(EachScore(n_actions), shapes)


@EVERY_INSTANCE
def test_labelings_are_all_those_of_the_definition(name):
    """The listed rules label as the highest of all scores does, and in no other way; log_size bounds them."""
    rules, contexts = INSTANCES[name]
    opened = rules.on(contexts)
    wanted = scored(rules, opened.scored.points[opened.group])
    assert set(map(tuple, opened.labelings().tolist())) == set(map(tuple, wanted.tolist()))
    assert opened.log_size >= np.log(len(wanted)) - 1e-12


@EVERY_INSTANCE
@settings(max_examples=2)
@given(data=st.data())
def test_big_m_rows_answer_as_the_definition(name, data, battery):
    """Values, policies, profiles and budgets from HiGHS are those of the list of all rules, without tables too."""
    rules, contexts = INSTANCES[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program_module, "MOST_COLUMNS", 0)
        assert isinstance(rules.on(contexts).program(), EachEncoding)
        battery(rules, contexts, data)


@pytest.mark.parametrize(("columns", "n_actions"), [(1, 2), (1, 4), (2, 2), (2, 3)])
def test_weights_of_1_make_all_but_the_crossed_labelings_of_two_columns(columns: int, n_actions: int) -> None:
    """Of four patterns only those are missing that are alike on either diagonal and differ between them."""
    table = table_of((Shape((0, 1), 1),) * columns, n_actions)
    crossed = n_actions * (n_actions - 1) if columns == 2 else 0
    assert len(table.labels) == n_actions ** (2**columns) - crossed
    larger = table_of((Shape((0, 1), 2),) * columns, n_actions)
    assert (larger.labels == table.labels).all()
    assert EachScore(n_actions).enough((Shape((0, 1), 9),) * columns) == (Shape((0, 1), 1),) * columns


def test_bases_that_are_tried_give_all_labelings_of_a_box_of_bases() -> None:
    """Placing actions one after the other loses no labeling, whatever the scores are, and however large."""
    for seed in range(20):
        scores = np.random.default_rng(seed).integers(-4, 5, (1, 5, 3))
        box = np.stack(np.meshgrid(0, np.arange(-25, 26), np.arange(-25, 26), indexing="ij"), axis=-1).reshape(-1, 1, 3)
        tried = labels_of(scores)[0]
        assert len(tried) == EachScore(3).n_placements(5)
        assert set(map(tuple, tried.tolist())) == set(map(tuple, (scores + box).argmax(axis=2).tolist()))
        assert (labels_of(scores * 10**10 + scores) == labels_of(scores * 100 + scores)).all()


def test_rows_of_tables_are_made_by_their_weights() -> None:
    """Some bases give the labels of each row to the scores of its weights, which are few and small."""
    shapes = (Shape((0, 1, 3), 1), Shape((0, 2), 1))
    table = table_of(shapes, 3)
    patterns = np.array([(x, y) for x in (0, 1, 3) for y in (0, 2)])
    for labels, weights in list(zip(table.labels, table.weights, strict=True))[::17]:
        assert (labels_of((patterns @ weights)[None])[0] == labels).all(axis=1).any()
    assert (table.sizes == np.count_nonzero(table.weights.any(axis=2), axis=1)).all()
    every = EachScore(3).weights([1, 1])
    assert EachScore(3).labels_to_build(shapes) == len(every) * EachScore(3).n_placements(6) * 6
    assert len(every) == EachScore(3).n_weights(1) ** 2


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
    oracle = open_oracle(rules, contexts, "search")
    answer = oracle.minimise(1.0 - np.eye(3)[labels])
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
    assert list(policy.ways().values()) == [(f"{name} has the highest",) for name in ("call", "write", "wait")]
    assert str(oracle.minimise(np.tile([3.0, 1.0, 2.0], (6, 1))).policy) == "play write"


def test_rules_in_sql_and_python_play_as_they_predict() -> None:
    """Of random scores, some of which are ahead everywhere, or behind, on integers and on points."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"dose": rng.normal(size=40), "stage": rng.integers(-2, 3, 40), "like": [1.0] * 40})
    for _ in range(60):
        weights = rng.integers(-1, 2, (3, 3)) * rng.integers(0, 2, 3)
        bases = tuple(rng.integers(-2, 3, 3).tolist())
        names = Names(("dose", "stage", "like"), ("call", "write", "wait"))
        rule = HighestScore(tuple(map(tuple, weights.tolist())), bases, ((-0.5, 0.5), None, ()), names)
        assert exported(rule, table) == rule.predict_names(table)


def test_what_is_too_large_for_tables_is_refused_and_left_to_a_solver() -> None:
    """The message has the counts and the ways out; the program takes the same class."""
    rules = LinearRules(4, max_weight=2, max_features=3, scores="each")
    contexts = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)
    with pytest.raises(InputError, match=r"score for each action .* tables alone; .* lower max_features.* kind 'milp'"):
        open_oracle(rules, contexts, "search")
    assert open_oracle(rules, contexts[:4], "milp").value(1.0 - np.eye(4)[np.arange(4)]) == pytest.approx(0.0)
