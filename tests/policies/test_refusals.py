"""Arguments, names and contexts that no policy class and no policy takes: each is refused by its name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint
from milpcb.errors import InfeasibleError, InputError
from milpcb.oracles import open_oracle
from milpcb.plugins import registry
from policies import BoxRules, FiniteClass, Halfspaces, LinearRules, MonotoneRules, RuleLists, from_json
from policies.linear.geometry import LARGEST_WHOLE
from tests.refused import refused

from .rules import BOX, HALFSPACE, LIST, MONOTONE, SCORE, THRESHOLD, TREE

CONTEXTS = np.array([[20.0, 1.0], [70.0, 0.0], [30.0, 0.0], [64.0, 1.0]])
CLASSES = sorted(set(registry.BUILTIN["policies"]) - {"finite_class"})
LOGGED = {"min_action_rows": 1, "logged_actions": [0, 1, 0, 1]}
WIDE = np.random.default_rng(0).normal(size=(40, 5))
TALL = np.random.default_rng(0).normal(size=(20_000, 2))
LONG = np.random.default_rng(0).integers(0, 100_000, (60, 3)).astype(float)
DIFFER = np.arange(3.0)[:, None]
LISTED = FiniteClass([[0, 1, 0]], 2)
NO_ZERO = LabelConstraint(np.tile([1.0, 0.0], (3, 1)), 0.0, "no zero")
INFEASIBLE = (lambda: open_oracle(LISTED, DIFFER, constraints=[NO_ZERO]), "no zero", InfeasibleError)

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
    ("halfspaces", {"n_actions": 3}, "n_actions must be 2, got 3; linear_rules with integer weights take more"),
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

LABELINGS: list[tuple[Any, int, str]] = [
    *((labelings, 2, "table") for labelings in ([0, 1], [[]], [])),
    ([[0, 1], [1]], 2, "rectangular"),
    *((labelings, 2, "integers") for labelings in ([[0.5, 1.0]], [[True, False]])),
    ([[0, 1], [0, 2]], 2, "labelings[1, 1]"),
    ([[0, -1]], 2, "labelings[0, 1]"),
    ([[0]], 1, "n_actions"),
]
QUESTIONS: list[tuple[Callable[[], object], str]] = [
    *(
        (
            lambda name=name, options=options: registry.load("policies", name)(**{"n_actions": 2} | options).on(
                CONTEXTS
            ),
            named,
        )
        for name, options, named in ARGUMENTS
    ),
    *((lambda given=given: FiniteClass(*given), named) for *given, named in LABELINGS),
    *(
        (lambda rule=rule, contexts=contexts: rule.predict(contexts), named)
        for rule in (TREE, LIST, BOX, THRESHOLD, SCORE, MONOTONE, HALFSPACE)
        for contexts, named in (
            ([[1.0] * (rule.n_features - 1)], "columns"),
            ([[np.nan] * rule.n_features], "nan"),
            ([1.0, 2.0], "table"),
        )
    ),
    (lambda: next(LISTED.on(DIFFER).policies()).predict([[0.0], [8.0]]), "contexts[1]"),
    (lambda: LISTED.on(CONTEXTS), "4 rows"),
    (lambda: LISTED.log_size(CONTEXTS), "4 rows"),
    (
        lambda: open_oracle(MonotoneRules(2), CONTEXTS, kind="search").action_weights(np.zeros((4, 2)), 0, 0.1),
        "'enumeration'",
    ),
    (
        lambda: open_oracle(LinearRules(), np.indices((2,) * 6).reshape(6, -1).T, kind="search").action_weights(
            np.zeros((64, 2)), 0, 1.0
        ),
        "max_features",
    ),
    (lambda: LinearRules().on(LONG).search(), "units"),
    (lambda: LinearRules().log_size([[0, 0], [1, 2 * LARGEST_WHOLE]]), "feature 1"),
    (lambda: open_oracle(Halfspaces(2), WIDE, kind="enumeration"), "too many"),
    (lambda: Halfspaces(2).on(WIDE).policies(), "too many"),
    *(
        (lambda rules=rules: open_oracle(rules, TALL, "search"), "use fewer thresholds")
        for rules in (BoxRules(2, thresholds="all"), RuleLists(2, max_rules=1, thresholds="all"))
    ),
    *(
        (lambda text=text: from_json(text), "this is no JSON of a policy")
        for text in ("", "{", "[]", "null", "3", '{"policy": null}', '{"milpcb_policy": 3}', "\ud800", None, 7)
    ),
]


@pytest.mark.parametrize(("call", "named", "error"), [*((*case, InputError) for case in QUESTIONS), INFEASIBLE])
def test_what_a_class_or_a_policy_cannot_take_is_named(
    call: Callable[[], object], named: str, error: type[Exception]
) -> None:
    """Arguments, tables and questions, with what would help; a constraint that every labeling breaks."""
    refused(call, named, error=error)
