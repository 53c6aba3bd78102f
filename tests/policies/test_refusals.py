"""Arguments, names and contexts that no policy class and no policy takes: each is refused by its name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint
from milpcb.errors import InfeasibleError
from milpcb.oracles import open_oracle
from milpcb.plugins import registry
from policies import FiniteClass, Halfspaces, LinearRules, MonotoneRules
from policies.linear.geometry import LARGEST_WHOLE
from tests.refused import refused

from .rules import BOX, HALFSPACE, LIST, MONOTONE, SCORE, THRESHOLD, TREE

CONTEXTS = np.array([[20.0, 1.0], [70.0, 0.0], [30.0, 0.0], [64.0, 1.0]])
CLASSES = sorted(set(registry.BUILTIN["policies"]) - {"finite_class"})
LOGGED = {"min_action_rows": 1, "logged_actions": [0, 1, 0, 1]}
WIDE = np.random.default_rng(0).normal(size=(40, 5))
LONG = np.random.default_rng(0).integers(0, 100_000, (60, 3)).astype(float)
DIFFER = np.arange(3.0)[:, None]

ARGUMENTS: list[tuple[str, dict[str, Any], str]] = [
    *((name, {"n_actions": 1}, "n_actions") for name in CLASSES),
    *((name, {"thresholds": 0}, "thresholds") for name in CLASSES if name != "halfspaces"),
    ("box_rules", {"max_features": 0}, "max_features"),
    ("box_rules", {"max_features": 3}, "max_features"),
    ("decision_trees", {"depth": -1}, "depth"),
    ("decision_trees", {"thresholds": [[np.inf]]}, "finite"),
    *(("decision_trees", {"thresholds": cuts}, "thresholds") for cuts in ("al", "", [["a"]], None, [1.0])),
    ("decision_trees", {"thresholds": [[0.5]]}, "thresholds"),
    *(("decision_trees", {key: value}, "belong together") for key, value in LOGGED.items()),
    *(
        ("decision_trees", LOGGED | changed, named)
        for changed, named in (
            ({"min_action_rows": 0}, "min_action_rows"),
            ({"min_action_rows": 3}, "min_action_rows"),
            ({"logged_actions": [0, 2, 0, 1]}, "one action 0..1"),
            ({"logged_actions": [0.5]}, "logged_actions"),
            ({"logged_actions": [0, 1]}, "2 actions"),
        )
    ),
    ("halfspaces", {"n_actions": 3}, "n_actions"),
    *(("linear_rules", {"max_weight": weight}, "max_weight") for weight in (0, 1.5, None)),
    ("linear_rules", {"max_features": 0}, "max_features"),
    ("linear_rules", {"scores": "all"}, "each, one"),
    *(("monotone_rules", {"directions": way}, "directions") for way in ([1, 0], 1, "up", [1, 1, -1])),
    ("rule_lists", {"max_rules": 0}, "max_rules"),
    ("rule_lists", {"thresholds": [[np.inf]]}, "finite"),
    ("threshold_rules", {"max_cuts": 0}, "max_cuts"),
    ("threshold_rules", {"thresholds": "high"}, "thresholds"),
    *(
        (name, options, key)
        for name in CLASSES
        for key, values in {
            "feature_names": (["age"], ["age", "insured", "height"], ["age", "age"], [1.5, None]),
            "action_names": (["wait"], ["wait", "treat", "refer"], "ab"),
        }.items()
        for value in values
        for options in ({key: value},)
    ),
]


@pytest.mark.parametrize(("name", "options", "named"), ARGUMENTS)
def test_a_wrong_argument_is_named(name: str, options: dict[str, Any], named: str) -> None:
    """When the class is made, or opened on contexts that it does not fit."""
    refused(lambda: registry.load("policies", name)(**{"n_actions": 2, **options}).on(CONTEXTS), named)


@pytest.mark.parametrize("rule", [TREE, LIST, BOX, THRESHOLD, SCORE, MONOTONE, HALFSPACE], ids=type)
def test_contexts_that_a_policy_cannot_read_are_named(rule: Any) -> None:
    """Too few columns, with NaN, no table."""
    width = rule.n_features
    for contexts, named in (([[1.0] * (width - 1)], "columns"), ([[np.nan] * width], "nan"), ([1.0, 2.0], "table")):
        refused(lambda contexts=contexts: rule.predict(contexts), named)


LABELINGS: list[tuple[Any, int, str]] = [
    *((labelings, 2, "table") for labelings in ([0, 1], [[]], [])),
    ([[0, 1], [1]], 2, "rectangular"),
    *((labelings, 2, "integers") for labelings in ([[0.5, 1.0]], [[True, False]])),
    ([[0, 1], [0, 2]], 2, "labelings[1, 1]"),
    ([[0, -1]], 2, "labelings[0, 1]"),
    ([[0]], 1, "n_actions"),
]
QUESTIONS: dict[str, tuple[Callable[[], object], str]] = {
    **{
        f"labelings {labelings} of {n_actions}": (lambda given=(labelings, n_actions): FiniteClass(*given), named)
        for labelings, n_actions, named in LABELINGS
    },
    "a context that is not listed": (
        lambda: next(FiniteClass([[0, 1, 0]], 2).on(DIFFER).policies()).predict([[0.0], [8.0]]),
        "contexts[1]",
    ),
    "labelings of others": (lambda: FiniteClass([[0, 1, 0]], 2).on(CONTEXTS), "4 rows"),
    "labelings of others, counted": (lambda: FiniteClass([[0, 1, 0]], 2).log_size(CONTEXTS), "4 rows"),
    "weights of monotone rules": (
        lambda: open_oracle(MonotoneRules(2), CONTEXTS, kind="search").action_weights(np.zeros((4, 2)), 0, 0.1),
        "'enumeration'",
    ),
    "weights of branch and bound": (
        lambda: open_oracle(LinearRules(), np.indices((2,) * 6).reshape(6, -1).T, kind="search").action_weights(
            np.zeros((64, 2)), 0, 1.0
        ),
        "max_features",
    ),
    "scores that span too much": (lambda: LinearRules().on(LONG).search(), "units"),
    "integers beyond exact sums": (lambda: LinearRules().log_size([[0, 0], [1, 2 * LARGEST_WHOLE]]), "feature 1"),
    "halfspaces to open as a list": (lambda: open_oracle(Halfspaces(2), WIDE, kind="enumeration"), "too many"),
    "halfspaces to list": (lambda: Halfspaces(2).on(WIDE).policies(), "too many"),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_what_a_class_cannot_answer_is_named(case: str) -> None:
    """With what is wrong, or what would help."""
    refused(*QUESTIONS[case])


def test_a_budget_that_no_labeling_keeps_is_infeasible() -> None:
    """A side constraint that every labeling breaks is named."""
    budget = LabelConstraint(np.tile([1.0, 0.0], (3, 1)), 0.0, "no zero")
    policies = FiniteClass([[0, 1, 0]], 2)
    refused(lambda: open_oracle(policies, DIFFER, constraints=[budget]), "no zero", error=InfeasibleError)
