"""Every kind of oracle against the definition of its class, over raw features, in any unit of cost.

Each case is a class that counts features (trees under structure limits, boxes, scoring rules) or one that does not, a
few contexts whose columns may be alike, turned round or nested, and costs, whole or real, times a power of two between
2^-1000 and 2^900. What is cheapest is found by definition: policies are made of tests of the features themselves, all
of them, and no two are ever held for one. Compared are the least total cost, the policy that attains it (it must be one
of the class), the profile at a row, and the least total cost after the columns have changed places; of trees by all
routes that the search may take. Whole costs must be answered exactly by searches and lists.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.oracles.query import Query
from milpcb.protocols import Opened, Policy
from policies import DecisionTrees
from policies.trees import policy_class
from policies.trees.policy_class import OpenedTrees
from policies.trees.routes import Route
from tests.stress.definition_cases import CLASSES, Case, draw_case
from tests.stress.drawn_cases import check_cases

MOST_LISTED = 3_000  # policies that kind "enumeration" is asked to list
MOST_COLUMNS = 20_000  # of a program
OFF = {"search": 1e-13, "enumeration": 1e-13, "milp": 2e-9, "audited": 2e-9}  # shares of the range of total costs


@pytest.mark.cases(40)
def test_every_kind_answers_as_the_definition(numbers: range) -> None:
    """On cases of every class nothing is wrong, and something was compared."""
    assert check_cases(CLASSES, draw_case, check, numbers)["columns"]


def check(case: Case) -> Iterator[tuple[str, str]]:
    """Yield each thing that was compared, and what is wrong with it, or nothing."""
    expected = case.profile(case.row)
    for name, oracle in _oracles(case):
        answer = oracle.minimise(case.scaled)
        values = [answer.value, oracle.value(case.scaled)]
        yield "values", _unlike(name, values, [expected.min()] * 2, case)
        policy = cast("Policy", answer.policy)
        labels = policy.predict(case.contexts)
        attained = _unlike(name, [case.total(labels)], [expected.min()], case)
        yield "policies", attained or _not_of_the_class(name, case, policy, labels)
        yield "profiles", _unlike(name, oracle.profile(case.scaled, case.row), expected, case)
    order = np.random.default_rng(len(case.contexts)).permutation(case.contexts.shape[1])
    for name, oracle in _oracles(case, order):
        what = f"{name}, columns {order}"
        yield "columns", _unlike(what, [oracle.value(case.scaled)], [expected.min()], case)


def _oracles(case: Case, order: Any = None) -> Iterator[tuple[str, Oracle]]:
    """Yield the oracles that can be opened on the contexts, their columns in another order if one is given."""
    contexts = case.contexts if order is None else case.contexts[:, order]
    policies = case.policies
    if order is not None and isinstance(cuts := getattr(policies, "thresholds", None), tuple):
        policies = replace(policies, thresholds=tuple(cuts[f] for f in order))
    opened = policies.on(contexts)
    yield from (
        (f"search, {route}", open_oracle(on, contexts, "search")) for route, on in _routes(policies, contexts).items()
    )
    if "program" in opened.capabilities and opened.program().program.n_columns <= MOST_COLUMNS:
        yield "milp", open_oracle(opened, contexts, "milp")
        if "search" in opened.capabilities:
            yield "audited", open_oracle(opened, contexts, "audited", audit=1.0)
    if opened.log_size <= np.log(MOST_LISTED):
        yield "enumeration", open_oracle(opened, contexts, "enumeration")


def _routes(policies: Any, contexts: Any) -> dict[str, Opened]:
    """Return the class on the contexts by each way to search it; trees are searched by three."""
    if not isinstance(policies, DecisionTrees):
        opened = policies.on(contexts)
        return {"its own": opened} if "search" in opened.capabilities else {}
    found: dict[str, Opened] = {}
    for route in Route:
        with patch.object(policy_class, "route", lambda on, route=route: route if on.depth == 2 else Route.LITERALS):
            opened = cast("OpenedTrees", policies.on(contexts))
        if "search" in opened.capabilities:
            found[str(opened.route)] = opened
    return found


def _unlike(what: str, found: Any, expected: Any, case: Case) -> str:
    """Return what differs, or nothing; whole costs are answered exactly but by solvers in units below 1."""
    kind = what.partition(",")[0]
    exact = case.whole and (kind in {"search", "enumeration"} or Query(case.scaled).whole)
    near = 0.0 if exact else OFF[kind] * max(case.range, 1e-4 * float(np.abs(case.costs).sum())) * case.unit
    with np.errstate(invalid="ignore"):  # two infinities are alike
        like = (np.asarray(found) == expected) | (np.abs(np.asarray(found) - expected) <= near)
    return "" if like.all() else f"{what}: {np.asarray(found) / case.unit}, by definition {expected / case.unit}"


def _not_of_the_class(name: str, case: Case, policy: Any, labels: Any) -> str:
    return "" if case.allows(policy, labels) else f"{name}: no policy of the class: {policy}"
