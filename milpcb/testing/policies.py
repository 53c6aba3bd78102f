"""Requirements of every policy class, checked against its own definition (``policies()`` and ``predict``)."""

# ruff: noqa: S608 - the SQL is ours, in databases of its own

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.data.columns import Number
from milpcb.data.fields import Field
from milpcb.data.schema import Schema
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.testing import Check, Unmet, laws
from milpcb.testing.instances import SEARCHED, Case, Instance, instances
from milpcb.types import Floats, Ints

SOLVED = 1e-6  # what values of solvers may be off by
SLACK_GAPS, MOST_LISTED = 4, 30  # the slack is the gap of the fifth best total; policies that are looked at
BELOW = -1e6  # what a missing number of an even column counts as
FEATURES = ('a "b"\n  <= 3', "c", "it's and not", "1", "missing", "play x", "")
ACTIONS = ("it's\n    'one'", '"two"', "play", "4", "", "None")


def battery(entry: str | Instance) -> list[Check]:
    """Return every check on every instance of a registered class, or on the one instance given."""
    every = instances(entry) if isinstance(entry, str) else [entry]
    return [
        Check(f"{instance.name}: {name}", partial(_on_drawn_costs, check, instance))
        for instance in every
        for name, check in CHECKS.items()
    ]


def _on_drawn_costs(check: Callable[[Case], None], instance: Instance) -> None:
    policies, contexts = instance.policies, instance.contexts
    rng, shape = np.random.default_rng(0), (len(contexts), policies.n_actions)
    drawn = [
        rng.integers(-9, 10, shape).astype(float),  # whole, of both signs
        rng.integers(0, 2, shape) + 2.0 * rng.integers(-3, 4, shape),  # past 0/1 estimates and future noise
        rng.normal(size=shape)
        + 3.0 * rng.normal(size=(len(contexts), 1)),  # some contexts cost much whatever is played
        np.zeros(shape),
    ]
    opened: dict[str, Oracle] = {}
    for number, costs in enumerate(drawn):
        check(Case(policies, contexts, instance.labelings, costs, number % len(contexts), opened=opened))


def check_program(case: Case) -> None:
    """The program's optimum is the least total cost, the decoded policy attains it, and profiles are right."""
    case.check_answers(case.oracle(), SOLVED)


def check_size(case: Case) -> None:
    """The number of labelings is within exp(log_size)."""
    assert np.log(len(_rows(case.labelings))) <= case.policies.log_size(case.contexts) + 1e-9


def check_draw(case: Case) -> None:
    """A drawn policy is a policy of the class, and the same seed draws the same one."""
    opened = case.policies.on(case.contexts)
    first, again = (opened.draw(np.random.default_rng(case.row)) for _ in range(2))
    labels = first.predict(case.contexts)
    assert (labels == again.predict(case.contexts)).all()
    assert str(first) == str(again)
    assert (labels == case.labelings).all(axis=1).any(), (labels, "is no labeling of the class")


def check_side_constraint(case: Case) -> None:
    """Under a budget on action 0 the program's optimum is the best labeling within the budget."""
    weights = np.zeros_like(case.costs)
    weights[:, 0] = 1.0
    budget = LabelConstraint(weights, float(np.median(case.paid(weights))), "budget")
    if "budget" not in case.opened:
        constrained = open_oracle(case.policies, case.contexts, solver=case.solver, constraints=[budget])
        case.opened["budget"] = constrained
    answer = case.opened["budget"].minimise(case.costs)
    case.under([budget]).check_value(answer.value, answer.policy, SOLVED)


def check_search(case: Case) -> None:
    """The class's own search finds the least cost of the definition, a policy that attains it, and the profile."""
    case.require("search")
    case.check_answers(case.oracle("search"), SEARCHED)


def check_action_weights(case: Case) -> None:
    """The search's Exp4 distribution is within a factor N of exp(-rate * profile), N the number of derivations."""
    case.require("action_weights")
    _check_weights(case.oracle("search"), case)


def check_terms(case: Case) -> None:
    """Over kept totals of the class's terms, profile and minimum are those of the definition; a policy attains it."""
    case.require("totals")
    contexts, costs = case.contexts, case.costs
    terms = case.policies.on(contexts).terms()
    kept, places = np.zeros(terms.n_terms), terms.places(contexts)
    for place, action in np.ndindex(costs.shape):
        kept[places[place][:, action]] += costs[place, action]
    assert np.allclose(terms.totals(contexts, costs), kept, atol=1e-9), (terms.totals(contexts, costs), kept)
    case.check_profile(terms.profile(kept, places[case.row]), SEARCHED)
    case.check_value(*terms.minimise(kept), SEARCHED)


def check_forbidden_actions(case: Case) -> None:
    """The class's own search finds the best of the policies that do not play action 0 at a context, and no other."""
    case.require("search")
    if (case.labelings[:, case.row] == 0).all():
        raise Unmet("all policies of the class play action 0 there")
    weights = np.zeros_like(case.costs)
    weights[case.row, 0] = 1.0
    _check_under([LabelConstraint(weights, 0.0)], case)


def check_side_constraints(case: Case) -> None:
    """The class's own search under one side constraint, under one and its negative, and under both kinds together."""
    case.require("constraints")
    rng, shape = np.random.default_rng(case.row), case.costs.shape
    weights = [rng.integers(0, 4, shape).astype(float), rng.normal(size=shape)]
    # A labeling that keeps them all, and attains a bound of each.
    budget, real = (case.paid(table)[len(case.labelings) // 2] for table in weights)
    at_most = LabelConstraint(weights[0], budget)
    between = [LabelConstraint(weights[1], real), LabelConstraint(-weights[1], 2.0 - real)]
    for constraints in ([at_most], between, [at_most, *between]):
        _check_under(constraints, case)


def _check_under(constraints: list[LabelConstraint], case: Case) -> None:
    oracle = open_oracle(case.policies, case.contexts, kind="search", constraints=constraints)
    expected = case.under(constraints)
    expected.check_answers(oracle, SEARCHED)
    if "action_weights" in oracle.capabilities:
        _check_weights(oracle, case)
        most = min(oracle.log_derivations, oracle.log_size)
        assert np.log(len(expected.labelings)) <= most + 1e-9, (len(expected.labelings), most)
    if "columns" in oracle.capabilities:
        table = oracle.table("columns")
        for context, action in np.ndindex(case.costs.shape):
            table.add(context, action, float(case.costs[context, action]))
        expected.check_profile(table.profile(case.row), SEARCHED)


def check_near_best_policies(case: Case) -> None:
    """All policies within a slack are those of the definition, each once, cheapest first, and play what these play."""
    kind = "search" if "search" in case.policies.on(case.contexts).capabilities else "milp"
    totals, least, costs = case.totals, case.totals.min(), case.costs
    gaps = np.unique(totals - least)
    slack = float(gaps[min(SLACK_GAPS, len(gaps) - 1)])
    expected = case.labelings[totals <= least + slack + 1e-9]
    found = case.oracle(kind).near_best(costs, slack)
    labels = np.array([policy.predict(case.contexts) for policy in islice(found.policies(), MOST_LISTED)])
    order = costs[np.arange(len(costs)), labels].sum(axis=1)
    assert len(_rows(labels)) == len(labels), (labels, "lists a labeling twice")
    assert _rows(labels) <= _rows(expected), (labels, f"are not all within {slack:g} of the least cost")
    assert (np.diff(order) >= -1e-9).all(), (order, "are not in order of cost")
    if len(expected) < MOST_LISTED:
        assert (found.count, found.exact) == (len(expected), True), (found.count, found.exact, len(expected))
    actions = np.array([(expected == a).any(axis=0) for a in range(case.policies.n_actions)]).T
    assert (found.actions == actions).all(), (found.actions, actions)


def _check_weights(oracle: Oracle, case: Case) -> None:
    """The Exp4 distribution is within a factor N of exp(-rate * profile), N the number of derivations."""
    rate, profile = 0.7, oracle.profile(case.costs, case.row)
    weights = oracle.action_weights(case.costs, case.row, rate)
    assert np.isclose(weights.sum(), 1.0), weights
    assert ((weights > 0) == np.isfinite(profile)).all(), (weights, profile)
    played, most = weights > 0, oracle.log_derivations
    distance = np.log(weights[played]) + rate * (profile[played] - profile.min())
    assert (np.abs(distance) <= most + 1e-6).all(), (weights, profile, most)


def _rows(labelings: Ints) -> set[tuple[int, ...]]:
    return {tuple(labels) for labels in labelings.tolist()}


# ------------------------------------------------------------------- exports, on contexts on, beside and off cuts


def check_json(case: Case) -> None:
    """A policy comes back from its JSON: it prints as before and labels every context as before."""
    policy, table = _drawn(case)
    if not hasattr(policy, "document"):
        raise Unmet("policies of this class have no JSON")
    again = type(policy).from_document(json.loads(policy.to_json()))
    assert str(again) == str(policy)
    assert (again.predict(table) == policy.predict(table)).all(), (policy, again)


def check_source_code(case: Case) -> None:
    """SQL and Python source give each context the action of ``predict``."""
    policy, table = _drawn(case)
    if getattr(policy, "decision", lambda: None)() is None:
        raise Unmet("policies of this class cannot be written as SQL or Python")
    expected = policy.predict_names(table)
    features = policy.names.features
    rows = [[None if value != value else value for value in row] for row in table.tolist()]  # noqa: PLR0124 - NaN
    scope: dict[str, Any] = {}
    exec(policy.to_python(), scope)  # noqa: S102 - it is what is checked
    assert [scope["decide"](dict(zip(features, row, strict=True))) for row in rows] == expected, policy.to_python()
    with closing(sqlite3.connect(":memory:")) as base:
        columns = ", ".join('"{}" DOUBLE'.format(name.replace('"', '""')) for name in features)
        base.execute(f"CREATE TABLE t ({columns}, place INTEGER)")
        places = [(*row, i) for i, row in enumerate(rows)]
        base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(places[0]))})", places)
        answers = [answer for (answer,) in base.execute(f"SELECT {policy.to_sql()} FROM t ORDER BY place")]
    assert answers == expected, policy.to_sql()


def _drawn(case: Case) -> tuple[Any, Floats]:
    """Return a policy with odd names, where it takes names, and contexts on, beside and off its cuts."""
    contexts = case.contexts
    policy: Any = case.policies.on(contexts).draw(np.random.default_rng(case.row))
    if getattr(policy, "decision", lambda: None)() is None:
        return policy, contexts
    features = [FEATURES[i] if i < len(FEATURES) else f"x{i}" for i in range(contexts.shape[1])]
    binary = np.asarray(np.isin(contexts, (0.0, 1.0)).all(axis=0))
    columns = [Number(name, None if i % 2 or binary[i] else BELOW) for i, name in enumerate(features)]
    table = _beside_cuts(policy, contexts, ~binary)
    lost = table[:2].copy()
    lost[:, [column.missing is not None for column in columns]] = np.nan
    schema = Schema(tuple(Field(column.name, missing=column.missing is not None) for column in columns))
    return policy.with_columns(schema, columns, ACTIONS[: case.policies.n_actions]), np.vstack([table, lost])


def _beside_cuts(policy: Any, contexts: Floats, real: Any) -> Floats:
    moved = [contexts]
    for feature, cuts in policy.cut_points().items():
        for cut in filter(np.isfinite, cuts or ()) if real[feature] else ():
            for value in (cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf)):
                there = contexts.copy()
                there[:, feature] = value
                moved.append(there)
    return np.unique(np.vstack(moved), axis=0)


CHECKS = laws(__name__)
