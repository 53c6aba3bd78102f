"""Every kind of oracle, and every route of the search, against definitions, on drawn classes, contexts and costs.

Free ones in any unit of cost, by the definition over raw features, and with columns in another order; others under side
constraints, attained exactly or beyond all policies, by lists of all policies and of all ways to write one.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, cast
from unittest.mock import patch

import numpy as np
import pytest

import policies as classes
from milpcb import LabelConstraint, open_oracle
from milpcb.constraints import always, bind_to, mean_at_most, never, parity, share_at_most
from milpcb.errors import InfeasibleError, InputError
from milpcb.oracles.base import Oracle
from milpcb.oracles.near_best import NearBest
from milpcb.oracles.query import Query
from milpcb.protocols import Opened, Policy, open_class
from milpcb.types import Floats, Ints
from policies import LinearRules
from policies.linear import program as program_module
from policies.linear.supports import Supports
from policies.trees import policy_class
from policies.trees.policy_class import OpenedTrees
from policies.trees.routes import Route
from scripts.checks.questions import CLASSES, draw_constraints, draw_labels, draw_small
from tests.stress.definitions import best, is_allowed, profile, totals, written

EXPONENTS = (-1000, -300, -60, -20, 0, 0, 0, 20, 60, 300, 900)
RATE = 0.3
MOST_LISTED, MOST_COLUMNS, MOST_NEAR = 5_000, 20_000, 400  # policies; columns of a program, and of one that lists
# Shares of the range of total costs by which answers may be off; of solvers under side constraints, in all.
OFF, OFF_UNDER = {"search": 1e-13, "enumeration": 1e-13, "milp": 2e-9, "audited": 2e-9}, 1e-5
CLOSE = 1e-9  # of sums of real costs, and of weights
Event = tuple[str, str]  # what was compared, and what is wrong with it, or nothing


@dataclass(frozen=True)
class Case:
    """A class on contexts (m, d), side constraints, costs (m, K) in a unit, and a row that is asked about."""

    policies: Any
    contexts: Floats
    rules: list[LabelConstraint]
    costs: Floats
    unit: float
    row: int

    @property
    def whole(self) -> bool:
        """Whether costs are integers, times the unit."""
        return bool((self.costs / self.unit == np.rint(self.costs / self.unit)).all())

    def kept(self, labels: Ints) -> Ints:
        """Return those of ``labels`` (N, m) that keep all constraints, as LabelConstraint defines it."""
        for rule in self.rules:
            weights = rule.matrix(*self.costs.shape)
            labels = labels[totals(weights, labels) <= rule.largest(weights)]
        return labels

    def unlike(self, what: str, found: Any, expected: Any) -> str:
        """Return what differs, or nothing; ``what`` begins with the kind of the oracle."""
        kind = what.partition(",")[0]
        near = 0.0
        if not (self.whole and (kind in {"search", "enumeration"} or Query(self.costs).whole)):
            size = float(np.abs(self.costs).sum())
            near = OFF[kind] * max(float(np.ptp(self.costs, axis=1).sum()), 1e-4 * size)
            near = max(near, OFF_UNDER) if self.rules and kind in {"milp", "audited"} else near
        with np.errstate(invalid="ignore"):  # two infinities are alike
            like = (np.asarray(found) == expected) | (np.abs(np.asarray(found) - expected) <= near)
        return "" if like.all() else f"{what}: {found}, by definition {expected}"


# ------------------------------------------------------------------------------------------------ cases

# Of labels (m,), which keep each of them exactly, and random numbers.
NAMED: list[Callable[[Ints, int, np.random.Generator], Any]] = [
    lambda labels, action, _rng: share_at_most(action, float(np.mean(labels == action))),
    lambda labels, action, rng: _alike(labels, action, rng.permutation(np.arange(len(labels)) % 2)),
    lambda labels, _action, rng: _mean(labels, rng.normal(size=labels.max() + 1)),
    lambda labels, _action, _rng: always(int(labels[0]), rows=[0]),
    lambda labels, action, _rng: never(action, rows=np.flatnonzero(labels != action)[:1].tolist() or [0]),
]


def _alike(labels: Ints, action: int, groups: Ints) -> Any:
    rates = [float(np.mean(labels[groups == side] == action)) for side in (0, 1)]
    return parity(action, groups, abs(rates[0] - rates[1]))


def _mean(labels: Ints, amounts: Floats) -> Any:
    return mean_at_most(dict(enumerate(amounts.tolist())), float(amounts[labels].mean()))


LABELS = [*CLASSES, *["trees within limits"] * 3]  # each limit, and pairs of them, by each route


def draw_case(number: int) -> Case:
    """Return a case: every other one of a class is under side constraints."""
    rng, under = np.random.default_rng([7, number]), number // len(LABELS) % 2 == 1
    drawn = draw_small(LABELS[number % len(LABELS)], rng, listed=under or rng.random() < 0.3)
    if drawn.name == "Halfspaces" and np.ptp(drawn.contexts) < 1e-9:  # no LP tells these apart, and the oracle says so
        drawn = drawn._replace(contexts=(drawn.contexts - 1.0) / np.finfo(float).eps)
    options = {key: tuple(value) if key == "directions" else value for key, value in drawn.options.items()}
    m, K = shape = (len(drawn.contexts), drawn.options["n_actions"])
    rules: list[Any] = []
    if under and rng.random() < 0.7:
        drawn_rules = draw_constraints(drawn.contexts, K, rng)
        rules = [LabelConstraint(np.array(rule["weights"]), rule["upper"]) for rule in drawn_rules]
    elif under and m > 1:  # rates are those of two groups
        labels, action = draw_labels(drawn.contexts, K, rng), int(rng.integers(K))
        labels[-1] = K - 1
        rules = [NAMED[k](labels, action, rng) for k in rng.choice(len(NAMED), 2, replace=False)]
    costs = rng.integers(-9, 10, shape).astype(float) if rng.random() < 0.6 else rng.normal(size=shape)
    unit = 1.0 if under else 2.0 ** int(rng.choice(EXPONENTS))
    bound = bind_to(rules, drawn.contexts, (), range(K))
    made = getattr(classes, drawn.name)(**options)
    return Case(made, drawn.contexts, bound, costs * unit, unit, int(rng.integers(m)))


@pytest.mark.cases(160)
def test_every_kind_answers_as_the_definition(numbers: range) -> None:
    """On cases of every class nothing is wrong, and everything was compared."""
    counts, wrong = Counter[str](), []
    for number in numbers:
        for event, found in check(draw_case(number)):
            counts[event] += 1
            wrong += [f"case {number}, {LABELS[number % len(LABELS)]}, {event}: {found}"] if found else []
    assert not wrong, "\n".join(wrong)
    assert counts["values"] > len(numbers)


def check(case: Case) -> Iterator[Event]:
    """Yield each thing that was compared."""
    expected = best(case.policies, case.contexts, case.costs, case.row)
    try:
        opened = open_class(case.policies, case.contexts)
    except InputError as error:
        yield "refused", "" if expected is not None and np.isinf(expected).all() else str(error)
        return
    if expected is not None and not case.rules:
        yield from by_definition(case, expected)
    if opened.log_size <= np.log(MOST_LISTED):
        yield from by_list(case, opened)


# ------------------------------------------------------------------------------------------------ free


def by_definition(case: Case, expected: Floats) -> Iterator[Event]:
    """Yield answers of every kind and route beside a profile over raw features."""
    for name, oracle in _oracles(case):
        answer = oracle.minimise(case.costs)
        values = [answer.value, oracle.value(case.costs)]
        yield "values", case.unlike(name, values, [expected.min()] * 2)
        policy = cast("Policy", answer.policy)
        attained = totals(case.costs, policy.predict(case.contexts)[None])[0]
        yield "policies", case.unlike(name, attained, expected.min())
        yield "policies", "" if is_allowed(case.policies, case.contexts, policy) else f"{name}: none of the class"
        yield "profiles", case.unlike(name, oracle.profile(case.costs, case.row), expected)
    order = np.random.default_rng(len(case.contexts)).permutation(case.contexts.shape[1])
    policies = case.policies
    if isinstance(cuts := getattr(policies, "thresholds", None), (tuple, list)):
        policies = replace(policies, thresholds=tuple(cuts[f] for f in order))
    for name, oracle in _oracles(replace(case, policies=policies, contexts=case.contexts[:, order])):
        yield "columns", case.unlike(f"{name}, columns {order}", oracle.value(case.costs), expected.min())


def _oracles(case: Case) -> Iterator[tuple[str, Oracle]]:
    """Yield the oracles that can be opened on the contexts; trees are searched by every route."""
    opened = case.policies.on(case.contexts)
    routes = Route if isinstance(opened, OpenedTrees) and case.policies.depth > 1 and opened.log_size > 2 else [None]
    for route in routes if "search" in opened.capabilities else ():
        chosen = policy_class.route if route is None else lambda _on, route=route: route
        with patch.object(policy_class, "route", chosen):
            yield f"search, {route}", open_oracle(case.policies.on(case.contexts), case.contexts, "search")
    yield from ((kind, open_oracle(opened, case.contexts, kind, **more)) for kind, more in _others(opened))


def _others(opened: Opened, *, constrained: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kinds beside "search" that are not too large."""
    if opened.log_size <= np.log(MOST_LISTED):
        yield "enumeration", {}
    program = "program" in opened.capabilities and opened.program(constrained=constrained).program
    if program and program.n_columns <= MOST_COLUMNS:
        yield "milp", {}
        if "search" in opened.capabilities:
            yield "audited", {"audit": 1.0}


# ------------------------------------------------------------------------------------------------ by lists


def by_list(case: Case, opened: Opened) -> Iterator[Event]:
    """Yield answers beside the list of all policies that keep the constraints."""
    every, ways = opened.labelings(), written(case.policies, case.contexts, opened)
    if ways is not None:
        alike = set(map(tuple, every.tolist())) == set(map(tuple, ways.tolist()))
        yield "lists", "" if alike else f"{len(every)} policies, {len(ways)} ways to write one"
    labelings = case.kept(every)
    searched = [("search", dict[str, Any]())] if "search" in opened.capabilities else []
    for kind, more in [*searched, *_others(opened, constrained=bool(case.rules))]:
        try:
            oracle = open_oracle(opened, case.contexts, kind, constraints=case.rules, **more)
        except InfeasibleError:
            yield "no policy", f"{kind} has found none of {len(labelings)}" if len(labelings) else ""
            continue
        except InputError as error:
            yield "refused", str(error) if "constraints" in opened.capabilities else ""
            continue
        if not len(labelings):
            yield "no policy", f"{kind} has found one"
            continue
        yield from answers(case, kind, oracle, labelings, ways)
        if case.unit == 1.0 and (kind != "milp" or opened.program(constrained=True).program.n_columns <= MOST_NEAR):
            yield from near_best(case, kind, oracle, labelings)


def answers(case: Case, kind: str, oracle: Oracle, labelings: Ints, ways: Ints | None) -> Iterator[Event]:
    """Yield the answers of an oracle, from costs and from totals that are kept, beside a list of labelings (N, m)."""
    least, answer = totals(case.costs, labelings).min(), oracle.minimise(case.costs)
    yield "values", case.unlike(kind, [answer.value, oracle.value(case.costs)], [least] * 2)
    labels = cast("Policy", answer.policy).predict(case.contexts)
    yield "policies", case.unlike(kind, totals(case.costs, labels[None])[0], least)
    yield "policies", "" if (labelings == labels).all(axis=1).any() else f"{kind}: {answer.policy} is none of the list"
    rows = range(len(labels)) if len(labels) < 13 and kind in {"search", "enumeration"} else [case.row]
    for row in rows:
        expected = profile(case.costs, labelings, row)
        yield "profiles", case.unlike(f"{kind}, row {row}", oracle.profile(case.costs, row), expected)
    tables = [oracle.table("columns")] if "columns" in oracle.capabilities else []
    for table in tables:
        rows, actions = (each.ravel().tolist() for each in np.indices(case.costs.shape))
        table.add_all(rows, actions, case.costs.ravel().tolist())
        yield "kept", case.unlike(f"{kind}, kept", table.minimise().value, least)
        yield "kept", case.unlike(f"{kind}, kept", table.profile(case.row), profile(case.costs, labelings, case.row))
    if ways is None or kind != "search" or "action_weights" not in oracle.capabilities:
        return
    ways, rate = case.kept(ways), RATE / max(case.unit, float(np.abs(case.costs).mean()))
    logs = -rate * totals(case.costs, ways)
    sums = np.array([np.exp(logs - logs.max())[ways[:, case.row] == a].sum() for a in range(case.costs.shape[1])])
    found = [oracle.action_weights(case.costs, case.row, rate)]
    found += [table.action_weights(case.row, rate) for table in tables]
    for weights in found:
        close = np.allclose([*weights, oracle.log_derivations], [*sums / sums.sum(), np.log(len(ways))], CLOSE, CLOSE)
        yield "weights", "" if close else f"{kind}: {weights}, {sums} of {len(ways)}"


def near_best(case: Case, kind: str, oracle: Oracle, labelings: Ints) -> Iterator[Event]:
    """Yield the policies within a slack that is 0, the gap of some policy to the last bit, or any other."""
    sums, rng = totals(case.costs, labelings), np.random.default_rng(len(labelings))
    gaps, close = np.unique(sums - sums.min()), 0.0 if case.whole else CLOSE
    slack = [0.0, float(gaps[rng.integers(min(len(gaps), 8))]), float(rng.random() * gaps.max() / 3)][rng.integers(3)]
    expected = labelings[sums <= sums.min() + slack + close]
    found, what = oracle.near_best(case.costs, slack), f"{kind}, slack {slack:.6g}"
    yield "counts", "" if (found.count, found.exact) == (len(expected), True) else f"{what}: {found.count}"
    actions = np.array([(expected == a).any(axis=0) for a in range(case.costs.shape[1])]).T
    agreed = (expected == expected[0]).all(axis=0)
    alike = np.array_equal(found.actions, actions) and np.array_equal(found.agreed, agreed)
    yield "actions", "" if alike else f"{what}: {found.actions}, {found.agreed}"
    labels = np.array([policy.predict(case.contexts) for policy in found.policies()])
    listed = sorted(map(tuple, labels.tolist())) == sorted(map(tuple, expected.tolist()))
    in_order = (np.diff(totals(case.costs, labels)) >= -close).all()
    yield "policies", "" if listed and in_order else f"{what}: {len(labels)} policies, {len(expected)} expected"
    yield "features", _prices(case, found, float(sums.min()), slack, close)


def _prices(case: Case, found: NearBest, least: float, slack: float, close: float) -> str:
    """Return what is wrong with the prices of forbidding features: those of the class on a constant column."""
    if not case.policies.reads_columns:
        try:
            return f"a list has prices of features: {found.features}"
        except InputError:
            return ""
    prices = []
    for column in range(case.contexts.shape[1]):
        constant = case.contexts.copy()
        constant[:, column] = 0.0
        left = case.kept(open_class(case.policies, constant).labelings())
        prices.append(totals(case.costs, left).min() - least if len(left) else np.inf)
    needed = [f"x{column}" for column, price in enumerate(prices) if price > slack + close]
    alike = np.allclose(list(found.features.values()), prices, rtol=0.0, atol=close) and found.needed == needed
    return "" if alike else f"prices {found.features}, expected {prices}; needed {found.needed}, expected {needed}"


# ------------------------------------------------------------------------------------------------ large scoring rules

# values of a column, actions, columns, the most of them with a weight
SCORING = {
    "five of 0/1 columns": ((0, 1), 2, (5, 7), 5),
    "four of 0/1 columns": ((0, 1), 2, (4, 8), 4),
    "up to three of 0/1 columns": ((0, 1), 2, (1, 7), 3),
    "three actions": ((0, 1), 3, (1, 6), 3),
    "four values": ((-2, 0, 1, 5), 2, (1, 4), 2),
    "alike columns": ((0, 3), 3, (2, 5), 3),
    "a score each": ((0, 1), 3, (1, 6), 2),
    "a score each, three values": ((0, 1, 4), 3, (1, 3), 1),
}
FEW = 8  # contexts of a question to HiGHS


@pytest.mark.cases(8)
def test_scoring_rules_answer_as_their_tables(numbers: range) -> None:
    """Products of whole support tables, free and under a constraint, and HiGHS by the program that knows no tables."""
    wrong = []
    for number in numbers:
        name = list(SCORING)[number % len(SCORING)]
        case, every = draw_scoring(name, np.random.default_rng(number))
        for rules in ([], case.rules):
            held = replace(case, rules=rules)
            oracle = open_oracle(case.policies, case.contexts, "search", constraints=rules)
            assert {"action_weights", "columns"} <= oracle.capabilities
            found = answers(held, "search", oracle, held.kept(every), every)
            wrong += [f"case {number}, {name}: {what}" for _, what in found if what]
        contexts, costs = case.contexts[:FEW], np.rint(case.costs[:FEW])
        with patch.object(program_module, "MOST_COLUMNS", 0):
            value = open_oracle(case.policies, contexts, "milp").value(costs)
        assert value == totals(costs, every[:, :FEW]).min(), f"case {number}, {name}: HiGHS"
    assert wrong == []


def draw_scoring(name: str, rng: np.random.Generator) -> tuple[Case, Ints]:
    """Return a case of scoring rules, and the labels (N, m) of all rows of all support tables."""
    values, n_actions, (fewest, most), limit = SCORING[name]
    d = int(rng.integers(fewest, most + 1))
    m = int(rng.integers(2, 12)) if rng.random() < 0.3 else int(rng.integers(10, 80))
    contexts = rng.choice(values, (m, d)).astype(float)
    if name == "alike columns":
        contexts[:, -1] = rng.choice([1, -1]) * contexts[:, 0] + rng.integers(3)
    weight = 5 if limit > 3 else int(rng.integers(1, 6 if len(values) == 2 and n_actions == 2 else 3))
    scores: Literal["one", "each"] = "each" if "each" in name else "one"
    rules = LinearRules(n_actions, max_weight=weight, max_features=min(limit, d), scores=scores)
    largest = int(rng.choice([1, 9, 10**6]))  # of small ones many rules tie
    factor = 1.0 if rng.random() < 0.7 else float(rng.random())
    costs = rng.integers(-largest, largest + 1, (m, n_actions)) * factor
    opened: Any = rules.on(contexts)
    supports, found = Supports(opened.scored), []
    for batch in supports.batches:
        patterns = np.array([supports.patterns_of(batch, codes) for codes in supports.codes_of(opened.contexts)])
        found += [batch.table.labels[:, patterns[:, i]] for i in range(len(batch.supports))]
    labels = np.concatenate(found)[:, opened.group]
    weights = rng.integers(0, 3, (m, n_actions)).astype(float)
    upper = float(totals(weights, labels[rng.integers(len(labels))][None])[0])  # some row keeps it
    return Case(rules, contexts, [LabelConstraint(weights, upper)], costs, 1.0, int(rng.integers(m))), labels
