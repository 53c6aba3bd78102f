"""Names of features and actions: those of data frames are kept in printed rules, and columns are found by them."""

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from milpcb.oracles.growing import GrowingOracle
from policies import (
    BoxRules,
    DecisionTrees,
    Halfspaces,
    LinearRules,
    MonotoneRules,
    RuleLists,
    ThresholdRules,
    from_json,
)
from tests.refused import refused

CLASSES = {
    "threshold_rules": ThresholdRules,
    "decision_trees": DecisionTrees,
    "rule_lists": RuleLists,
    "box_rules": BoxRules,
}
EVERY_CLASS = pytest.mark.parametrize("name", CLASSES)
TABLE = {"age": [20.0, 70.0, 30.0, 64.0], "insured": [1.0, 0.0, 0.0, 1.0]}
CONTEXTS = np.column_stack(list(TABLE.values()))
OLD = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])  # action 1 is right from 64 on


class PandasLike:
    """As much of a pandas frame as is used: columns, which may be numbers or twice the same, choice, and an array."""

    def __init__(self, table, columns):
        self._table, self.columns = np.asarray(table, dtype=float), columns

    def __getitem__(self, chosen):
        columns = list(self.columns)
        return PandasLike(self._table[:, [columns.index(name) for name in chosen]], chosen)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._table, dtype=dtype, copy=copy)

    def __len__(self):
        return len(self._table)


def pandas_frame(table):
    """A frame of pandas, or where that is not installed, of what is used of it."""
    try:
        import pandas as pd
    except ImportError:
        return PandasLike(np.column_stack(list(table.values())), list(table))
    return pd.DataFrame(table)


FRAMES = pytest.mark.parametrize("frame", [pl.DataFrame, pandas_frame], ids=["polars", "pandas"])


def best(policies, contexts):
    """The best policy for the costs above."""
    return open_oracle(policies, contexts).minimise(OLD).policy


@FRAMES
@EVERY_CLASS
def test_rules_print_the_names_of_the_columns(name, frame):
    """Opened on a data frame, a class prints what its columns are called; on an array x0, x1, ..."""
    assert str(best(CLASSES[name](2), frame(TABLE))).startswith("if age ")
    assert str(best(CLASSES[name](2), CONTEXTS)).startswith("if x0 ")


@FRAMES
@EVERY_CLASS
def test_predict_finds_columns_by_name(name, frame):
    """Order and further columns of the frame do not matter; an array is read by position."""
    policy = best(CLASSES[name](2), frame(TABLE))
    mixed = frame({"insured": TABLE["insured"], "height": [0.0] * 4, "age": TABLE["age"]})
    assert policy.predict(mixed).tolist() == policy.predict(CONTEXTS).tolist() == [0, 1, 0, 1]
    assert sum(leaf.share for leaf in policy.leaves(mixed) if leaf.action == 0) == 0.5
    assert from_json(policy.to_json()).predict(mixed).tolist() == [0, 1, 0, 1]


@FRAMES
@EVERY_CLASS
def test_columns_that_do_not_fit_are_named(name, frame):
    """A missing one with the one that comes near, one that is there twice, and tables of other widths."""
    policy, twice = best(CLASSES[name](2), frame(TABLE)), PandasLike(np.ones((4, 3)), ["age", "insured", "age"])
    refused(lambda: policy.predict(frame({"age": [1.0], "insurer": [0.0]})), "'insured'", "insurer")
    refused(lambda: policy.predict(twice), "'age'")
    refused(lambda: CLASSES[name](2).on(twice), "'age'")
    refused(lambda: policy.predict(np.ones((1, 3))), "3 columns", "age, insured")


@pytest.mark.parametrize("cls", [*CLASSES.values(), LinearRules, MonotoneRules, Halfspaces])
def test_a_class_hands_its_names_to_its_rules(cls):
    """They are those of its answers."""
    policy = best(cls(2, feature_names=["age", "insured"], action_names=["wait", "treat"]), CONTEXTS)
    assert (policy.names.features, policy.names.actions) == (("age", "insured"), ("wait", "treat"))
    assert "play treat" in str(policy)


def test_frames_without_names_are_tables():
    """Columns that are only numbered, as pandas does it by itself, are no names."""
    policy = best(DecisionTrees(2), PandasLike(CONTEXTS, range(2)))
    assert str(policy).startswith("if x0 <= ")
    assert policy.predict(PandasLike(CONTEXTS, range(2))).tolist() == [0, 1, 0, 1]


@EVERY_CLASS
@pytest.mark.parametrize("kind", ["milp", "search", "audited", "enumeration"])
def test_given_names_choose_the_columns(name, kind):
    """Names given to the class choose the columns of a frame, whatever else there is in it, in every oracle."""
    policies = CLASSES[name](2, feature_names=["age"], action_names=["wait", "treat"])
    frame = pl.DataFrame({"name": ["a", "b", "c", "d"]} | TABLE)
    oracle = open_oracle(policies, frame, kind=kind)
    assert oracle.contexts.tolist() == CONTEXTS[:, :1].tolist()
    policy = oracle.minimise(OLD).policy
    assert str(policy).startswith("if age ")
    assert policy.predict(frame).tolist() == policy.predict(oracle.contexts).tolist() == [0, 1, 0, 1]


@EVERY_CLASS
def test_a_growing_oracle_keeps_names(name):
    """Contexts that arrive later as frames are found by the names of the first, in whatever order."""
    frame = pl.DataFrame(TABLE)
    oracle = GrowingOracle(CLASSES[name](2), frame)
    assert oracle.extend(frame.select("insured", "age")).tolist() == oracle.rows(frame).tolist()
    costs = np.zeros((oracle.n_contexts, 2))
    np.add.at(costs, oracle.rows(frame), OLD)
    policy = oracle.minimise(costs).policy
    assert str(policy).startswith("if age ")
    assert policy.predict(frame).tolist() == [0, 1, 0, 1]
    with pytest.raises(InputError, match="no column named 'insured'"):
        oracle.extend(frame.select("age"))


@EVERY_CLASS
def test_predict_names_gives_the_names_of_actions(name):
    """``predict`` gives numbers, ``predict_names`` what the actions are called."""
    policy = best(CLASSES[name](2, action_names=["wait", "treat"]), CONTEXTS)
    assert policy.predict(CONTEXTS).tolist() == [0, 1, 0, 1]
    assert policy.predict_names(CONTEXTS) == ["wait", "treat", "wait", "treat"]
    assert best(CLASSES[name](2), CONTEXTS).predict_names(CONTEXTS[:2]) == ["action 0", "action 1"]


@EVERY_CLASS
def test_control_characters_of_names_are_written_out(name):
    """Terminal escapes, line breaks and lone surrogates of a table's header do nothing when a rule is printed."""
    features, actions = ["age\x1b[2J\n", "insured"], ["wait\r", "treat\ud800"]
    policy = best(CLASSES[name](2, feature_names=features, action_names=actions), CONTEXTS)
    assert str(policy).startswith('if "age\\x1b[2J\\n" ')
    assert all(line.isprintable() for line in str(policy).split("\n"))
    assert policy.predict_names(CONTEXTS[:2]) == actions
    assert from_json(policy.to_json()).names.features == tuple(features)
