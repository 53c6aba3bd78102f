"""``near_best``, all policies within a slack of the least cost, against lists of all policies of small classes.

Each case is a class (trees of depth 1 to 3, with structure limits and without, threshold rules, boxes, rule lists,
scoring rules, halfspaces, monotone rules, lists), a few contexts, costs, whole or real, a slack that is 0, the gap of
some policy to the last bit, or any other, and in every other case one to three side constraints. Every kind of oracle
that the class has is asked how many policies are within the slack, which and in which order, which actions they play on
each context, and what forbidding each feature costs. Expected are the answers of a list: all labelings that keep the
constraints by their definition, and those of the class on contexts whose column is constant.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InputError
from milpcb.oracles.base import Oracle
from milpcb.oracles.near_best import NearBest
from milpcb.protocols import Opened, open_class
from milpcb.types import Floats, Ints
from policies import Halfspaces
from tests.stress.constrained_cases import CLASSES, Case
from tests.stress.constrained_cases import draw_case as draw_constrained
from tests.stress.drawn_cases import check_cases

NAMES = [*CLASSES, "halfspaces"]
CLOSE = 1e-9  # of sums of real costs
MOST_COLUMNS = 400  # of a program that is asked for a list


@pytest.mark.cases(27)
def test_every_class_and_kind_answers_as_the_list_of_all_policies(numbers: range) -> None:
    """Counts, actions, policies in order and prices of features."""
    counts = check_cases(NAMES, draw_case, check, numbers)
    assert min(counts[event] for event in ("counts", "actions", "policies", "features")) >= len(numbers)


def draw_case(name: str, rng: np.random.Generator) -> Case:
    """Return a random case of the class called ``name``, in every other one without constraints."""
    case = draw_constrained(name if name in CLASSES else "linear_rules", rng)
    if name == "halfspaces":
        case = replace(case, policies=Halfspaces(), costs=case.costs[:, :2], constraints=[], row=0)
    return case if rng.random() < 0.5 else replace(case, constraints=[])


def check(case: Case) -> Iterator[tuple[str, str]]:
    """Yield each thing that was compared, and what is wrong with it, or nothing."""
    opened = open_class(case.policies, case.contexts)
    labelings = _kept(case, opened.labelings())
    if not len(labelings):
        yield "none", ""
        return
    totals = _totals(case.costs, labelings)
    slack = _slack(totals, np.random.default_rng(len(labelings)))
    for kind in _kinds(opened):
        try:
            oracle = open_oracle(case.policies, case.contexts, kind, constraints=case.constraints)
        except InputError as error:
            yield "refused", "" if "constraints" not in opened.capabilities else str(error)
            continue
        yield "oracles", ""
        yield from _compare(case, oracle, kind, labelings, totals, slack)


def _kinds(opened: Opened) -> Iterator[str]:
    """Yield the kinds that the class has; a program is asked for a list only if it is small."""
    yield "enumeration"
    if "search" in opened.capabilities:
        yield "search"
    if "program" in opened.capabilities and opened.program(constrained=True).program.n_columns <= MOST_COLUMNS:
        yield "milp"
        if "search" in opened.capabilities:
            yield "audited"


def _slack(totals: Floats, rng: np.random.Generator) -> float:
    """Return 0, the gap of some policy, or any number up to a third of the range."""
    gaps = np.unique(totals - totals.min())
    return [0.0, float(gaps[rng.integers(min(len(gaps), 8))]), float(rng.random() * gaps.max() / 3)][rng.integers(3)]


def _compare(
    case: Case, oracle: Oracle, kind: str, labelings: Ints, totals: Floats, slack: float
) -> Iterator[tuple[str, str]]:
    """Yield what is compared of one oracle; the ``labelings`` (N, m) have the ``totals`` (N,)."""
    close = 0.0 if (case.costs == np.rint(case.costs)).all() else CLOSE
    within = totals <= totals.min() + slack + close
    expected = labelings[within]
    found = oracle.near_best(case.costs, slack)
    here = f"{kind}, slack {slack:.6g}: "
    yield "counts", _unlike(here, (found.count, found.exact), (len(expected), True))
    actions = np.array([(expected == a).any(axis=0) for a in range(case.costs.shape[1])]).T
    alike = (expected == expected[0]).all(axis=0)
    yield (
        "actions",
        _unlike(here, found.actions.tolist(), actions.tolist()) or _unlike(here, found.agreed.tolist(), alike.tolist()),
    )
    yield "policies", here + wrong if (wrong := _wrong_order(case, found, expected, close)) else ""
    yield "features", here + wrong if (wrong := _wrong_prices(case, found, totals.min(), slack, close)) else ""


def _wrong_order(case: Case, found: NearBest, expected: Ints, close: float) -> str:
    """Return what is wrong with the policies: they are those expected, each once, cheapest first."""
    labels = np.array([policy.predict(case.contexts) for policy in found.policies()])
    if sorted(map(tuple, labels.tolist())) != sorted(map(tuple, expected.tolist())):
        return f"{len(labels)} policies that are not the {len(expected)} expected"
    order = _totals(case.costs, labels)
    return "" if (np.diff(order) >= -close).all() else f"not in order of cost: {order}"


def _wrong_prices(case: Case, found: NearBest, least: float, slack: float, close: float) -> str:
    """Return what is wrong with the prices of forbidding features, or nothing."""
    if not case.policies.reads_columns:
        try:
            return f"a list has prices of features: {found.features}"
        except InputError:
            return ""
    prices = []
    for column in range(case.contexts.shape[1]):
        constant = case.contexts.copy()
        constant[:, column] = 0.0
        left = _kept(case, open_class(case.policies, constant).labelings())
        prices.append(_totals(case.costs, left).min() - least if len(left) else np.inf)
    if not np.allclose(list(found.features.values()), prices, rtol=0.0, atol=close):
        return f"prices {found.features}, expected {prices}"
    needed = [f"x{column}" for column, price in enumerate(prices) if price > slack + close]
    return _unlike("needed: ", found.needed, needed)


def _kept(case: Case, labels: Ints) -> Ints:
    """Return those of ``labels`` (N, m) that keep all constraints, as LabelConstraint defines it."""
    for rule in case.constraints:
        weights = rule.matrix(*case.costs.shape)
        labels = labels[_totals(weights, labels) <= rule.largest(weights)]
    return labels


def _totals(costs: Floats, labels: Ints) -> Floats:
    return np.asarray(costs[np.arange(len(costs)), labels].sum(axis=1))


def _unlike(what: str, found: object, expected: object) -> str:
    return "" if found == expected else f"{what}{found}, expected {expected}"
