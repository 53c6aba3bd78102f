"""Requirements of every policy class, checked against its own definition (``policies()`` and ``predict``).

Each check raises AssertionError with what it saw, or Unmet where a law does not apply to the class. A class is given
with contexts small enough to list every policy; ``battery`` runs all checks on costs drawn from a fixed seed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.oracles.enumeration import EnumerationOracle
from milpcb.protocols import PolicyClass
from milpcb.testing import Check, Unmet
from milpcb.testing.exports import check_json, check_printed, check_source
from milpcb.testing.instances import Instance, instances
from milpcb.types import Floats, Ints

_listed: deque[tuple[PolicyClass, Floats, Ints]] = deque(maxlen=2)
_in_check: list[tuple[PolicyClass, dict[tuple[object, ...], Oracle]]] = []  # what the check at hand has opened


def battery(entry: str | Instance) -> list[Check]:
    """Return every check on every instance of a registered class, or on the one instance given."""
    every = instances(entry) if isinstance(entry, str) else [entry]
    return [
        Check(f"{instance.name}: {name}", partial(_on_drawn_costs, check, instance))
        for instance in every
        for name, check in CHECKS.items()
    ]


def brute_force(policies: PolicyClass, contexts: Floats, costs: Floats) -> Floats:
    """Return the total cost (N,) of every labeling, straight from the definition."""
    labelings = _labelings(policies, contexts)
    return np.asarray(costs[np.arange(len(costs)), labelings].sum(axis=1))


def _oracle(policies: PolicyClass, contexts: Floats, kind: str = "milp", **options: Any) -> Oracle:
    """Return an oracle without constraints: in a check of the battery one for all of its tables, as they are used."""
    kept = next((oracles for known, oracles in _in_check if known is policies), {})
    key = contexts.tobytes(), kind, *options.values()
    if key not in kept:
        kept[key] = open_oracle(policies, contexts, kind=kind, **options)
    return kept[key]


def _labelings(policies: PolicyClass, contexts: Floats) -> Ints:
    """Return the labelings (N, m) of the definition; what was listed last is kept, as many checks ask for it."""
    for known, table, labelings in _listed:
        if known is policies and np.array_equal(table, contexts):
            return labelings
    labelings = policies.on(contexts).labelings()
    labelings.setflags(write=False)
    _listed.append((policies, contexts.copy(), labelings))
    return labelings


def check_value(policies: PolicyClass, contexts: Floats, costs: Floats, solver: str = "highs") -> None:
    """The program's optimum is the least total cost, and the decoded policy attains it."""
    oracle = _oracle(policies, contexts, solver=solver)
    answer = oracle.minimise(costs)
    least = brute_force(policies, contexts, costs).min()
    assert np.isclose(answer.value, least, atol=1e-6), (answer, least)
    _check_policy(answer.policy, _labelings(policies, contexts), contexts, costs, answer.value)
    assert np.isclose(oracle.value(costs), answer.value, atol=1e-9)


def check_profile(policies: PolicyClass, contexts: Floats, costs: Floats, row: int, solver: str = "highs") -> None:
    """V[a] is the least cost among the policies that play a at the row; its minimum is the value."""
    oracle = _oracle(policies, contexts, solver=solver)
    profile = oracle.profile(costs, row)
    expected = _profile(_labelings(policies, contexts), brute_force(policies, contexts, costs), row, costs)
    assert np.allclose(profile, expected, atol=1e-6), (profile, expected)
    assert np.isclose(profile.min(), oracle.value(costs), atol=1e-6)


def check_shift(policies: PolicyClass, contexts: Floats, costs: Floats, row: int, solver: str = "highs") -> None:
    """A constant added to all K costs of one context moves the value by that constant."""
    oracle = _oracle(policies, contexts, solver=solver)
    shifted = costs.copy()
    shifted[row] += 3.0
    assert np.isclose(oracle.value(shifted), oracle.value(costs) + 3.0, atol=1e-6)


def check_enumeration(policies: PolicyClass, contexts: Floats, costs: Floats) -> None:
    """The enumeration oracle agrees with brute force, and the number of labelings is within exp(log_size)."""
    oracle = _oracle(policies, contexts, "enumeration")
    assert isinstance(oracle, EnumerationOracle)
    assert np.isclose(oracle.value(costs), brute_force(policies, contexts, costs).min(), atol=1e-9)
    assert np.log(len(oracle.labelings)) <= policies.log_size(contexts) + 1e-9


def check_draw(policies: PolicyClass, contexts: Floats, seed: int) -> None:
    """A drawn policy is a policy of the class, and the same seed draws the same one."""
    first, again = (policies.on(contexts).draw(np.random.default_rng(seed)) for _ in range(2))
    labels = first.predict(contexts)
    assert (labels == again.predict(contexts)).all()
    assert str(first) == str(again)
    assert (labels == _labelings(policies, contexts)).all(axis=1).any(), (labels, "is no labeling of the class")


def check_constraint(policies: PolicyClass, contexts: Floats, costs: Floats, solver: str = "highs") -> None:
    """Under a budget on action 0 the program's optimum is the best labeling within the budget."""
    weights = np.zeros_like(costs)
    weights[:, 0] = 1.0
    labelings, totals = _labelings(policies, contexts), brute_force(policies, contexts, costs)
    used = weights[np.arange(len(costs)), labelings].sum(axis=1)
    budget = float(np.median(used))
    oracle = open_oracle(policies, contexts, solver=solver, constraints=[LabelConstraint(weights, budget, "budget")])
    answer = oracle.minimise(costs)
    assert np.isclose(answer.value, totals[used <= budget].min(), atol=1e-6), answer
    assert answer.policy is not None
    assert weights[np.arange(len(costs)), answer.policy.predict(contexts)].sum() <= budget + 1e-9


def check_monotone(policies: PolicyClass, contexts: Floats, costs: Floats, solver: str = "highs") -> None:
    """Where no cost falls, the value does not fall."""
    oracle = _oracle(policies, contexts, solver=solver)
    raised = costs + np.arange(costs.size).reshape(costs.shape) % 4
    assert oracle.value(raised) >= oracle.value(costs) - 1e-6, (oracle.value(costs), oracle.value(raised))


def check_reordered_contexts(policies: PolicyClass, contexts: Floats, costs: Floats, solver: str = "highs") -> None:
    """The order of the contexts does not matter; unmet by classes that play by the row, not by the context."""
    order = np.roll(np.arange(len(contexts))[::-1], 1)
    moved = _labelings(policies, contexts[order])
    if _rows(moved) != _rows(_labelings(policies, contexts)[:, order]):
        raise Unmet("a policy of this class plays by the row, not by the context")
    value = _oracle(policies, contexts, solver=solver).value(costs)
    again = _oracle(policies, contexts[order], solver=solver).value(costs[order])
    assert np.isclose(value, again, atol=1e-6), (value, again)


def check_renamed_actions(policies: PolicyClass, contexts: Floats, costs: Floats, solver: str = "highs") -> None:
    """The names of the actions do not matter; unmet by classes in which not every action can play every part."""
    names = np.roll(np.arange(policies.n_actions), 1)
    labelings = _labelings(policies, contexts)
    if _rows(names[labelings]) != _rows(labelings):
        raise Unmet("the actions of this class are not alike: renaming them gives other policies")
    oracle = _oracle(policies, contexts, solver=solver)
    renamed = np.empty_like(costs)
    renamed[:, names] = costs
    assert np.isclose(oracle.value(renamed), oracle.value(costs), atol=1e-6), (oracle.value(renamed), renamed)


def check_search(policies: PolicyClass, contexts: Floats, costs: Floats, row: int) -> None:
    """The class's own search finds the least cost of the definition, a policy that attains it, and the profile."""
    _declared("search", policies, contexts)
    oracle = _oracle(policies, contexts, "search")
    labelings, totals = _labelings(policies, contexts), brute_force(policies, contexts, costs)
    answer = oracle.minimise(costs)
    assert np.isclose(oracle.value(costs), totals.min(), atol=1e-9), (oracle.value(costs), totals.min())
    assert np.isclose(answer.value, totals.min(), atol=1e-9), (answer, totals.min())
    _check_policy(answer.policy, labelings, contexts, costs, totals.min())
    expected = _profile(labelings, totals, row, costs)
    assert np.allclose(oracle.profile(costs, row), expected, atol=1e-9), (oracle.profile(costs, row), expected)


def check_action_weights(policies: PolicyClass, contexts: Floats, costs: Floats, row: int) -> None:
    """The search's Exp4 distribution is within a factor N of exp(-rate * profile), N the number of derivations."""
    _declared("action_weights", policies, contexts)
    _check_weights(_oracle(policies, contexts, "search"), costs, row)


def check_terms(policies: PolicyClass, contexts: Floats, costs: Floats, row: int) -> None:
    """Over kept totals of the class's terms, profile and minimum are those of the definition; a policy attains it."""
    _declared("totals", policies, contexts)
    terms = policies.on(contexts).terms()
    labelings, totals = _labelings(policies, contexts), brute_force(policies, contexts, costs)
    kept = np.zeros(terms.n_terms)
    places = terms.places(contexts)
    for place, action in np.ndindex(costs.shape):
        kept[places[place][:, action]] += costs[place, action]
    assert np.allclose(terms.totals(contexts, costs), kept, atol=1e-9), (terms.totals(contexts, costs), kept)
    expected = _profile(labelings, totals, row, costs)
    profile = terms.profile(kept, places[row])
    assert np.allclose(profile, expected, atol=1e-9), (profile, expected)
    value, policy = terms.minimise(kept)
    assert np.isclose(value, totals.min(), atol=1e-9), (value, totals.min())
    _check_policy(policy, labelings, contexts, costs, totals.min())


def check_forbidden(policies: PolicyClass, contexts: Floats, costs: Floats, row: int) -> None:
    """The class's own search finds the best of the policies that do not play action 0 at a context, and no other."""
    _declared("search", policies, contexts)
    weights = np.zeros_like(costs)
    weights[row, 0] = 1.0
    if (_labelings(policies, contexts)[:, row] == 0).all():
        raise Unmet("all policies of the class play action 0 there")
    _check_under([LabelConstraint(weights, 0.0)], policies, contexts, costs, row)


def check_side_constraints(policies: PolicyClass, contexts: Floats, costs: Floats, row: int) -> None:
    """The class's own search under one side constraint, under one and its negative, and under both kinds together."""
    _declared("constraints", policies, contexts)
    rng, labelings = np.random.default_rng(row), _labelings(policies, contexts)
    weights = [rng.integers(0, 4, costs.shape).astype(float), rng.normal(size=costs.shape)]
    # A labeling that keeps them all, and attains a bound of each.
    budget, real = (table[np.arange(len(costs)), labelings[len(labelings) // 2]].sum() for table in weights)
    at_most = LabelConstraint(weights[0], budget)
    between = [LabelConstraint(weights[1], real), LabelConstraint(-weights[1], 2.0 - real)]
    for constraints in ([at_most], between, [at_most, *between]):
        _check_under(constraints, policies, contexts, costs, row)


def _check_under(
    constraints: list[LabelConstraint], policies: PolicyClass, contexts: Floats, costs: Floats, row: int
) -> None:
    """Value, policy, profile and action weights of kind "search" are those of the labelings that keep constraints."""
    oracle = open_oracle(policies, contexts, kind="search", constraints=constraints)
    labelings, totals = _labelings(policies, contexts), brute_force(policies, contexts, costs)
    rows = np.arange(len(costs))
    for constraint in constraints:
        weights = constraint.matrix(*costs.shape)
        kept = weights[rows, labelings].sum(axis=1) <= constraint.largest(weights)
        labelings, totals = labelings[kept], totals[kept]
    answer = oracle.minimise(costs)
    assert np.isclose(oracle.value(costs), totals.min(), atol=1e-9), (oracle.value(costs), totals.min())
    assert np.isclose(answer.value, totals.min(), atol=1e-9), (answer, totals.min())
    _check_policy(answer.policy, labelings, contexts, costs, totals.min())
    expected = _profile(labelings, totals, row, costs)
    profile = oracle.profile(costs, row)
    assert np.allclose(profile, expected, atol=1e-9), (profile, expected)
    if "action_weights" in oracle.capabilities:
        _check_weights(oracle, costs, row)
        most = min(oracle.log_derivations, oracle.log_size)
        assert np.log(len(labelings)) <= most + 1e-9, (len(labelings), most)
    if "columns" in oracle.capabilities:
        table = oracle.table("columns")
        for context, action in np.ndindex(costs.shape):
            table.add(context, action, float(costs[context, action]))
        assert np.allclose(table.profile(row), expected, atol=1e-9), (table.profile(row), expected)


def check_near_best(policies: PolicyClass, contexts: Floats, costs: Floats) -> None:
    """All policies within a slack are those of the definition, each once, cheapest first, and play what these play."""
    kind = "search" if "search" in policies.on(contexts).capabilities else "milp"
    labelings, totals = _labelings(policies, contexts), brute_force(policies, contexts, costs)
    gaps = np.unique(totals - totals.min())
    slack = float(gaps[min(SLACK_GAPS, len(gaps) - 1)])
    expected = labelings[totals <= totals.min() + slack + 1e-9]
    found = _oracle(policies, contexts, kind).near_best(costs, slack)
    labels = np.array([policy.predict(contexts) for policy in islice(found.policies(), MOST_LISTED)])
    order = costs[np.arange(len(costs)), labels].sum(axis=1)
    assert len(_rows(labels)) == len(labels), (labels, "lists a labeling twice")
    assert _rows(labels) <= _rows(expected), (labels, f"are not all within {slack:g} of the least cost")
    assert (np.diff(order) >= -1e-9).all(), (order, "are not in order of cost")
    if len(expected) < MOST_LISTED:
        assert (found.count, found.exact) == (len(expected), True), (found.count, found.exact, len(expected))
    actions = np.array([(expected == a).any(axis=0) for a in range(policies.n_actions)]).T
    assert (found.actions == actions).all(), (found.actions, actions)


SLACK_GAPS, MOST_LISTED = 4, 50  # the slack is the gap of the fifth best total; policies that are looked at
CHECKS_OF_A_SOLVER = (check_value, check_constraint)
CHECKS_AT_A_ROW = (check_profile, check_shift)


CHECKS: dict[str, Callable[..., None]] = {
    "value": check_value,
    "profile": check_profile,
    "shift": check_shift,
    "monotone": check_monotone,
    "reordered contexts": check_reordered_contexts,
    "renamed actions": check_renamed_actions,
    "enumeration": check_enumeration,
    "draw": check_draw,
    "json": check_json,
    "source code": check_source,
    "printed rules": check_printed,
    "side constraint": check_constraint,
    "search": check_search,
    "action weights": check_action_weights,
    "terms": check_terms,
    "forbidden actions": check_forbidden,
    "side constraints": check_side_constraints,
    "near-best policies": check_near_best,
}
_OF_DRAWN = {check_draw, check_json, check_source, check_printed}
_AT_A_ROW = {*CHECKS_AT_A_ROW, check_search, check_action_weights, check_terms, check_forbidden, check_side_constraints}


def _on_drawn_costs(check: Callable[..., None], instance: Instance) -> None:
    """Run a check on costs of each kind a learner asks about, at different rows."""
    policies, contexts = instance.policies, instance.contexts
    rng, shape = np.random.default_rng(0), (len(contexts), policies.n_actions)
    drawn = [
        rng.integers(-9, 10, shape).astype(float),  # whole, of both signs
        rng.integers(0, 2, shape) + 2.0 * rng.integers(-3, 4, shape),  # past 0/1 estimates and future noise
        rng.normal(size=shape),
        np.zeros(shape),
    ]
    _in_check.append((policies, {}))
    try:
        for row, costs in enumerate(drawn):
            if check in _OF_DRAWN:
                check(policies, contexts, row)
            else:
                check(policies, contexts, costs, *([row % len(contexts)] if check in _AT_A_ROW else []))
    finally:
        _in_check.pop()


def _profile(labelings: Ints, totals: Floats, row: int, costs: Floats) -> list[float]:
    """Return the least total of the labelings (N, m) that play each action at a row, inf where none does."""
    return [totals[labelings[:, row] == a].min(initial=np.inf) for a in range(costs.shape[1])]


def _check_policy(policy: Any, labelings: Ints, contexts: Floats, costs: Floats, least: float) -> None:
    assert policy is not None
    labels = policy.predict(contexts)
    assert (labels == labelings).all(axis=1).any(), (labels, "keeps no constraint, or is no labeling of the class")
    assert np.isclose(costs[np.arange(len(costs)), labels].sum(), least, atol=1e-9), (labels, least)


def _check_weights(oracle: Oracle, costs: Floats, row: int, rate: float = 0.7) -> None:
    """The Exp4 distribution is within a factor N of exp(-rate * profile), N the number of derivations."""
    weights, profile, most = oracle.action_weights(costs, row, rate), oracle.profile(costs, row), oracle.log_derivations
    assert np.isclose(weights.sum(), 1.0), weights
    assert ((weights > 0) == np.isfinite(profile)).all(), (weights, profile)
    played = weights > 0
    distance = np.log(weights[played]) + rate * (profile[played] - profile.min())
    assert (np.abs(distance) <= most + 1e-6).all(), (weights, profile, most)


def _declared(capability: str, policies: PolicyClass, contexts: Floats) -> None:
    """Raise Unmet, with the class's reason, only where the class itself declares that it lacks the capability."""
    try:
        policies.on(contexts).require(capability)
    except InputError as error:
        raise Unmet(str(error)) from error


def _rows(labelings: Ints) -> set[tuple[int, ...]]:
    return {tuple(labels) for labels in labelings.tolist()}
