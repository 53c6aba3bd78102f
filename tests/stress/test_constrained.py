"""The search under side constraints against the list of all policies and HiGHS, on small random classes.

Each case is a class (trees of depth 1 to 3, with structure limits and without, threshold rules, boxes, rule lists,
scoring rules, lists, monotone rules), a few contexts, one to three side constraints (budgets, parity, means,
guard-rails, any weights, whole or real, bounds attained exactly or beyond all policies), and costs, whole or real.
Compared are the least total cost, the policy that attains it (it must keep the constraints by their definition,
tolerance included), the profile at every context, and the action weights (with the sum over every way to write a policy
that keeps the constraints). Whole costs must be answered exactly.
"""

from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InfeasibleError, InputError
from milpcb.oracles.base import Oracle
from milpcb.protocols import Opened, Policy, open_class
from milpcb.types import Floats, Ints
from tests.stress.constrained_cases import CLASSES, Case, derivations, draw_case
from tests.stress.drawn_cases import check_cases

RATE = 0.3


@pytest.mark.cases(24)
def test_search_list_and_solver_agree(numbers: range) -> None:
    """On cases of every class nothing is wrong, and something was compared."""
    assert check_cases(CLASSES, draw_case, check, numbers)["values"]


def check(case: Case) -> Iterator[tuple[str, str]]:
    """Yield each thing that was compared, and what is wrong with it, or nothing."""
    opened = open_class(case.policies, case.contexts)
    every = opened.labelings()
    labelings = every[_kept(case, every)]
    try:
        search: Oracle | None = open_oracle(opened, case.contexts, "search", constraints=case.constraints)
    except InfeasibleError:
        search = None
    except InputError as error:
        yield "refused", str(error) if "constraints" in opened.capabilities else ""
        return
    if not len(labelings):
        yield "no policy", "the search has found one" if search else _found_some(case, opened)
        return
    if search is None:
        yield "no policy", f"the search has found none of {len(labelings)}"
        return
    yield from _compare(case, opened, search, labelings)


def _compare(case: Case, opened: Opened, search: Oracle, labelings: Ints) -> Iterator[tuple[str, str]]:
    """Yield what is compared where some policy keeps the constraints; their ``labelings`` are (N, m)."""
    totals = _totals(case.costs, labelings)
    program = open_oracle(opened, case.contexts, constraints=case.constraints)
    listed = open_oracle(opened, case.contexts, "enumeration", constraints=case.constraints)
    for name, oracle in (("search", search), ("list", listed), ("HiGHS", program)):
        answer, close = oracle.minimise(case.costs), 1e-9 if oracle is not program else 1e-5
        yield "values", _unlike(name, [answer.value, oracle.value(case.costs)], [totals.min()] * 2, case, close)
        labels = cast("Policy", answer.policy).predict(case.contexts)[None]
        kept = _kept(case, labels).all() and (labels == labelings).all(axis=1).any()
        attained = _unlike(name, _totals(case.costs, labels), [answer.value], case, close)
        yield "policies", attained if kept else f"the policy of {name} does not keep the constraints"
        for row in range(len(case.contexts)) if oracle is not program else [case.row]:
            expected = [totals[labelings[:, row] == a].min(initial=np.inf) for a in range(opened.n_actions)]
            yield "profiles", _unlike(f"{name}, row {row}", oracle.profile(case.costs, row), expected, case, close)
    ways = derivations(case, opened) if "action_weights" in search.capabilities else None
    if ways is not None:
        ways = ways[_kept(case, ways)]
        logs = -RATE * _totals(case.costs, ways)
        sums = [np.exp(logs - logs.max())[ways[:, case.row] == a].sum() for a in range(opened.n_actions)]
        found = [*search.action_weights(case.costs, case.row, RATE), search.log_derivations]
        close = np.allclose(found, [*(np.array(sums) / np.sum(sums)), np.log(len(ways))], atol=1e-9, rtol=1e-9)
        yield "action weights", "" if close else f"action weights {found}, sums {sums} of {len(ways)}"


def _kept(case: Case, labels: Ints) -> Floats:
    """Return which of ``labels`` (N, m) keep all constraints, as LabelConstraint defines it."""
    shape = case.costs.shape
    bounds = [(rule.matrix(*shape), rule.largest(rule.matrix(*shape))) for rule in case.constraints]
    return np.array([_totals(weights, labels) <= largest for weights, largest in bounds]).all(axis=0)


def _totals(costs: Floats, labels: Ints) -> Floats:
    return np.asarray(costs[np.arange(len(costs)), labels].sum(axis=1))


def _unlike(what: str, found: Floats | list[float], expected: Floats | list[float], case: Case, close: float) -> str:
    """Return what differs, or nothing; whole costs are answered exactly, others up to ``close``."""
    if (case.costs == np.rint(case.costs)).all():
        close = 0.0
    return "" if np.allclose(found, expected, rtol=0.0, atol=close) else f"{what}: {found}, expected {expected}"


def _found_some(case: Case, opened: Opened) -> str:
    """Return which of the other kinds finds a policy where there is none."""
    for kind in ("milp", "enumeration"):
        try:
            open_oracle(opened, case.contexts, kind, constraints=case.constraints)
        except InfeasibleError:
            continue
        return f"kind '{kind}' has found one"
    return ""
