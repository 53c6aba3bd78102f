"""Openings and questions that no oracle takes: each is refused by what is wrong with it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint, parity, share_at_most
from milpcb.errors import InfeasibleError, InputError
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
CONSTANT = FiniteClass([[0] * 5, [1] * 5], 2)
KINDS = ["milp", "search", "enumeration"]


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
OF_ORACLES: list[tuple[Callable[[Any], object], str]] = [
    (lambda o: o.value(np.zeros((4, 3))), "(4, 3)"),
    (lambda o: o.value(np.zeros((5, 2))), "(5, 3)"),
    (lambda o: o.minimise(np.where(np.eye(5, 3) == 1, np.inf, 0.0)), "costs"),
    (lambda o: o.near_best(COSTS[:4], 1), "costs"),
    (lambda o: o.table("colums"), "'columns'"),
    (lambda o: (o.close(), o.near_best(COSTS, 1)), "closed"),
]


def opened(**options: Any) -> Any:
    """Return an oracle of trees, unless another is asked for."""
    return open_oracle(**{"policies": TREES, "contexts": CONTEXTS, **options})


def listed() -> Any:
    """Return an oracle of a list."""
    return open_oracle(FiniteClass([[0, 1, 0, 1, 1]], 2), CONTEXTS, kind="enumeration")


CASES: list[tuple[Callable[[], object], str]] = [
    *((lambda options=options: opened(**options), named) for options, named in OPENINGS),
    *((lambda kind=kind, ask=ask: ask(opened(kind=kind)), named) for kind in KINDS for ask, named in OF_ORACLES),
    (lambda: listed().near_best(np.zeros((5, 2)), 1).features, "columns"),
    (lambda: listed().table("columns"), "contexts"),
    (lambda: GrowingOracle(FiniteClass([[0, 1]], 2), [[0.0], [1.0]]), "open it on all"),
    (lambda: GrowingOracle(ThresholdRules(2, thresholds=1), [[0.0], [2.0]]).extend([[1.0, 2.0]]), "columns"),
    (lambda: GrowingOracle(DecisionTrees(2)), "quantiles"),
    (lambda: GrowingOracle(DecisionTrees(2, thresholds=CUTS), kind="milp"), "'search'"),
    (lambda: GrowingOracle(DecisionTrees(2), CONTEXTS, kind="milp", constrained=True), "'search'"),
    (lambda: GrowingOracle(DecisionTrees(2, max_leaves=3), CONTEXTS, constrained=True), "beforehand"),
    (lambda: GrowingOracle(DecisionTrees(2, max_leaves=3), CONTEXTS).table(), "open the oracle on all"),
    (lambda: GrowingOracle(DecisionTrees(2), CONTEXTS, kind="milp").table(), "open the oracle on all"),
    (lambda: GrowingOracle(DecisionTrees(2), CONTEXTS).table("contexts"), '"columns"'),
    (lambda: GrowingOracle(DecisionTrees(2, thresholds=CUTS)).rows([[1.0]]), "2 features"),
    *(
        (
            lambda ask=ask, given=given: getattr(opened(kind="search", constraints=[BUDGET]).opened, ask)(*given),
            "side constraints",
        )
        for ask, given in (("program", ()), ("policies", ()), ("draw", (np.random.default_rng(0),)))
    ),
]
CONFLICTS: list[tuple[Callable[[], object], str]] = [
    (lambda kind=kind, options=options: opened(kind=kind, **options), named)
    for kind in KINDS
    for options, named in (
        ({"constraints": [LabelConstraint(np.ones((5, 3)), 2, "at most two")]}, "'at most two'"),
        *(
            ({"policies": CONSTANT, "constraints": [share_at_most(a, 0.2) for a in (0, 1)]}, f"action {a}")
            for a in (0, 1)
        ),
    )
]


@pytest.mark.parametrize(
    ("call", "named", "error"),
    [(*case, InputError) for case in CASES] + [(*case, InfeasibleError) for case in CONFLICTS],
)
def test_what_no_oracle_takes_is_named(call: Callable[[], object], named: str, error: type[Exception]) -> None:
    """Openings and questions, with what would help; constraints that no policy keeps, by the names that they have."""
    refused(call, named, error=error)
