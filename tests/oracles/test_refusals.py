"""Openings and questions that no oracle takes: each is refused by what is wrong with it."""

import pickle
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint, parity, share_at_most
from milpcb.errors import InfeasibleError
from milpcb.oracles import open_oracle
from milpcb.oracles.growing import GrowingOracle
from policies import DecisionTrees, FiniteClass, MonotoneRules, ThresholdRules
from tests.refused import refused

CONTEXTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 1]], float)
COSTS = np.zeros((5, 3))
TREES = DecisionTrees(n_actions=3, depth=1)
NAMED = DecisionTrees(3, depth=1, feature_names=["old", "ill"], action_names=["wait", "write", "call"])
CUTS = ((0.5,), (0.5,))
SEVERAL: list[Any] = [-1.0, np.nan, True, "1"]
BUDGET = share_at_most(2, 0.2)


class Forgetful(DecisionTrees):
    """A class of somebody's own whose ``on`` returns nothing."""

    def on(self, contexts: object) -> None:  # type: ignore[override]
        """Forget to return."""


OPENINGS: list[tuple[dict[str, Any], str]] = [
    ({"contexts": np.zeros((0, 2))}, "at least one"),
    ({"contexts": [[0.0, np.nan]]}, "contexts[0, 1]"),
    ({"kind": "mlip"}, "'milp'"),
    ({"policies": Forgetful(2)}, "Forgetful"),
    *(({"kind": kind, "time_limit": limit}, "time_limit") for kind in ("milp", "audited") for limit in SEVERAL),
    *(({"kind": "audited", "audit": audit}, "audit") for audit in (5e-324, 1.5)),
    *(({"kind": kind, "solver": "higs"}, "'highs'") for kind in ("milp", "audited")),
    ({"constraints": [LabelConstraint(np.zeros((2, 3)), 1)]}, "(5, 3)"),
    ({"constraints": [LabelConstraint(np.full((5, 3), np.inf), 1)]}, "finite"),
    ({"policies": NAMED, "constraints": [share_at_most("phone", 0.2)]}, "'phone'"),
    ({"policies": NAMED, "constraints": [parity("call", "young", 0.2)]}, "'young'"),
    ({"policies": NAMED, "constraints": ["at most a fifth"]}, "constraints"),
    ({"policies": MonotoneRules(3), "kind": "search", "constraints": [BUDGET]}, "'milp'"),
    ({"policies": DecisionTrees(3, max_features=1), "kind": "search", "constraints": [BUDGET]}, "max_features"),
]


@pytest.mark.parametrize(("options", "named"), OPENINGS)
def test_a_wrong_opening_is_named(options: dict[str, Any], named: str) -> None:
    """Contexts, kind, settings and constraints are looked at when the oracle is opened."""
    refused(lambda: open_oracle(**{"policies": TREES, "contexts": CONTEXTS, **options}), named)


OF_ORACLES: list[tuple[Callable[[Any], object], str]] = [
    (lambda o: o.value(np.zeros((4, 3))), "(4, 3)"),
    (lambda o: o.value(np.zeros((5, 2))), "(5, 3)"),
    (lambda o: o.minimise(np.where(np.eye(5, 3) == 1, np.inf, 0.0)), "costs"),
    (lambda o: o.near_best(COSTS[:4], 1), "costs"),
    (lambda o: o.table("colums"), "'columns'"),
    (lambda o: (o.close(), o.near_best(COSTS, 1)), "closed"),
]


@pytest.mark.parametrize("kind", ["milp", "search", "enumeration"])
@pytest.mark.parametrize(("ask", "named"), OF_ORACLES)
def test_a_wrong_question_is_named(kind: str, ask: Callable[[Any], object], named: str) -> None:
    """Wrong shapes, rows, slacks and numbers that are not finite, whatever kind is asked."""
    refused(lambda: ask(open_oracle(TREES, CONTEXTS, kind=kind)), named)


def listed() -> Any:
    """Return an oracle of a list."""
    return open_oracle(FiniteClass([[0, 1, 0, 1, 1]], 2), CONTEXTS, kind="enumeration")


OTHERS: dict[str, tuple[Callable[[], object], str]] = {
    "a pickle": (lambda: pickle.dumps(listed()), "open another oracle"),
    "a copy of one that grows": (lambda: copy(GrowingOracle(DecisionTrees(2), CONTEXTS)), "open another oracle"),
    "columns of a list": (lambda: listed().near_best(np.zeros((5, 2)), 1).features, "columns"),
    "noise on columns of a list": (lambda: listed().table("columns"), "contexts"),
    "a list that grows": (lambda: GrowingOracle(FiniteClass([[0, 1]], 2), [[0.0], [1.0]]), "open it on all"),
    "rows of other columns": (
        lambda: GrowingOracle(ThresholdRules(2, thresholds=1), [[0.0], [2.0]]).extend([[1.0, 2.0]]),
        "columns",
    ),
    "no contexts and no cut points": (lambda: GrowingOracle(DecisionTrees(2)), "quantiles"),
    "a solver whose contexts arrive": (lambda: GrowingOracle(DecisionTrees(2), CONTEXTS, kind="milp"), "'search'"),
    "limits where contexts arrive": (lambda: GrowingOracle(DecisionTrees(2, max_leaves=3), CONTEXTS), "beforehand"),
    "a table by context that grows": (
        lambda: GrowingOracle(DecisionTrees(2), CONTEXTS).table("contexts"),
        '"columns"',
    ),
    "rows of one column": (lambda: GrowingOracle(DecisionTrees(2, thresholds=CUTS)).rows([[1.0]]), "2 features"),
    **{
        f"{capability} under side constraints": (
            lambda capability=capability: getattr(
                open_oracle(TREES, CONTEXTS, kind="search", constraints=[share_at_most(2, 0.2)]).opened, capability
            )(*([np.random.default_rng(0)] if capability == "draw" else [])),
            "side constraints",
        )
        for capability in ("program", "policies", "draw")
    },
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_a_form_of_oracle_lacks_is_named(case: str) -> None:
    """With what would help."""
    refused(*OTHERS[case])


@pytest.mark.parametrize("kind", ["milp", "search", "enumeration"])
def test_constraints_that_conflict_are_named(kind: str) -> None:
    """Where no policy keeps them, by the names that they were given."""
    everyone = [LabelConstraint(np.ones((5, 3)), 2, "at most two")]
    refused(
        lambda: open_oracle(TREES, CONTEXTS, kind=kind, constraints=everyone), "'at most two'", error=InfeasibleError
    )
    shares = [share_at_most(action, 0.2) for action in (0, 1)]
    policies = FiniteClass([[0] * 5, [1] * 5], 2)
    refused(
        lambda: open_oracle(policies, CONTEXTS, kind=kind, constraints=shares),
        *("action 0", "action 1"),
        error=InfeasibleError,
    )
