"""Oracles take side constraints by the names of actions and columns, the same that estimators and bandits take."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import milpcb
from milpcb import open_oracle
from policies import DecisionTrees

RNG = np.random.default_rng(0)
CONTEXTS = RNG.integers(0, 2, (12, 3)).astype(float)
COSTS = RNG.integers(0, 9, (12, 3)).astype(float)
NAMED = DecisionTrees(3, depth=2, feature_names=["old", "rich", "new"], action_names=["call", "write", "wait"])
PAIRS: dict[str, tuple[Any, Any]] = {
    "share": (milpcb.share_at_most("call", 0.25), milpcb.share_at_most(0, 0.25)),
    "mean": (milpcb.mean_at_most({"call": 2.0, "write": 1.0}, 0.75), milpcb.mean_at_most({0: 2.0, 1: 1.0}, 0.75)),
    "parity": (milpcb.parity("wait", "rich", 0.1), milpcb.parity(2, "x1", 0.1)),
    "never": (milpcb.never("wait", "old >= 1"), milpcb.never(2, "x0 >= 1")),
}
NUMBERED: dict[str, list[Any]] = {
    "share": [milpcb.LabelConstraint(np.tile([1.0, 0.0, 0.0], (12, 1)), 3.0)],
    "mean": [milpcb.LabelConstraint(np.tile([2.0, 1.0, 0.0], (12, 1)), 9.0)],
    "parity": [milpcb.parity(2, CONTEXTS[:, 1], 0.1)],
    "never": [milpcb.never(2, rows=CONTEXTS[:, 0] >= 1)],
}


@pytest.mark.parametrize("kind", ["search", "milp", "enumeration", "audited"])
@pytest.mark.parametrize("name", NUMBERED)
def test_names_and_numbers_say_the_same(name: str, kind: str) -> None:
    """By names, by x0, x1 ... where there are none, and by rows: the same least total, and the same profile."""
    by_name, by_number = PAIRS[name]
    asked = [(NAMED, [by_name]), (DecisionTrees(3, depth=2), [by_number]), (DecisionTrees(3, depth=2), NUMBERED[name])]
    oracles = [open_oracle(policies, CONTEXTS, kind=kind, constraints=rules) for policies, rules in asked]
    assert len({oracle.value(COSTS) for oracle in oracles}) == 1
    assert len({tuple(oracle.profile(COSTS, 3)) for oracle in oracles}) == 1
    free = open_oracle(DecisionTrees(3, depth=2), CONTEXTS, kind="search")
    assert free.value(COSTS) < oracles[0].value(COSTS)


def test_columns_of_a_frame_are_read_whatever_the_policies_read() -> None:
    """Parity between groups whose names are strings in a column that is no number; both kinds of rule go together."""
    frame = pl.DataFrame({"old": CONTEXTS[:, 0], "sex": ["f" if x else "m" for x in CONTEXTS[:, 1]]})
    policies = DecisionTrees(3, depth=1, feature_names=["old"])
    rules = [milpcb.parity(0, "sex", 0.0), *NUMBERED["share"]]
    oracle = open_oracle(policies, frame, kind="search", constraints=rules)
    played = oracle.minimise(COSTS).policy.predict(CONTEXTS[:, :1]) == 0
    assert played[CONTEXTS[:, 1] == 1].mean() == played[CONTEXTS[:, 1] == 0].mean()
    assert played.mean() <= 0.25


def test_a_class_opened_without_a_column_keeps_them_on_the_contexts_as_they_were() -> None:
    """The worth of a feature under a condition on that very feature: the rule does not change with the class."""
    rule = milpcb.never(2, "x0 >= 1")
    named = open_oracle(DecisionTrees(3, depth=1), CONTEXTS, kind="search", constraints=[rule])
    numbered = open_oracle(DecisionTrees(3, depth=1), CONTEXTS, kind="search", constraints=NUMBERED["never"])
    assert named.near_best(COSTS, 0.0).features == numbered.near_best(COSTS, 0.0).features


def test_a_class_that_was_opened_before_knows_the_names_of_its_actions() -> None:
    """A share is that of the action of this name, also where names are the numbers of other actions."""
    trees = DecisionTrees(3, depth=1, feature_names=["old", "rich", "new"], action_names=["1", "2", "0"])
    rules = [milpcb.share_at_most(1, 0.0), milpcb.never("0", "old >= 1")]
    both = [open_oracle(each, CONTEXTS, kind="search", constraints=rules) for each in (trees, trees.on(CONTEXTS))]
    assert both[0].value(COSTS) == both[1].value(COSTS)
    for oracle in both:
        assert "1" not in oracle.minimise(COSTS).policy.predict_names(CONTEXTS)
