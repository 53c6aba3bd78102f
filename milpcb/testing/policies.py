"""What every policy class must satisfy, checked against its own definition (``policies()`` and ``predict``).

Each check raises AssertionError with the instance. A class is given with contexts small enough to enumerate.
"""

from __future__ import annotations

import numpy as np

from milpcb.oracles import open_oracle
from milpcb.oracles.enumeration import EnumerationOracle
from milpcb.protocols import PolicyClass
from milpcb.types import Floats


def brute_force(policies: PolicyClass, contexts: Floats, costs: Floats) -> Floats:
    """Return the total cost (N,) of every labeling, straight from the definition."""
    labelings = policies.labelings(contexts)
    return np.asarray(costs[np.arange(len(costs)), labelings].sum(axis=1))


def check_value(policies: PolicyClass, contexts: Floats, costs: Floats, solver: str = "highs") -> None:
    """The program's optimum is the least total cost, and the decoded policy attains it."""
    oracle = open_oracle(policies, contexts, kind="milp", solver=solver)
    answer = oracle.minimise(costs)
    least = brute_force(policies, contexts, costs).min()
    assert np.isclose(answer.value, least, atol=1e-6), (answer, least)
    assert answer.policy is not None
    labels = answer.policy.predict(contexts)
    assert np.isclose(costs[np.arange(len(costs)), labels].sum(), answer.value, atol=1e-9), (answer, labels)
    assert (labels == policies.labelings(contexts)).all(axis=1).any(), (labels, "is no labeling of the class")
    assert np.isclose(oracle.value(costs), answer.value, atol=1e-9)


def check_profile(policies: PolicyClass, contexts: Floats, costs: Floats, row: int, solver: str = "highs") -> None:
    """V[a] is the least cost among the policies that play a at the row; its minimum is the value."""
    oracle = open_oracle(policies, contexts, kind="milp", solver=solver)
    profile = oracle.profile(costs, row)
    totals, at_row = brute_force(policies, contexts, costs), policies.labelings(contexts)[:, row]
    expected = [totals[at_row == a].min(initial=np.inf) for a in range(policies.n_actions)]
    assert np.allclose(profile, expected, atol=1e-6), (profile, expected)
    assert np.isclose(profile.min(), oracle.value(costs), atol=1e-6)


def check_shift(policies: PolicyClass, contexts: Floats, costs: Floats, row: int, solver: str = "highs") -> None:
    """A constant added to all K costs of one context moves the value by that constant."""
    oracle = open_oracle(policies, contexts, kind="milp", solver=solver)
    shifted = costs.copy()
    shifted[row] += 3.0
    assert np.isclose(oracle.value(shifted), oracle.value(costs) + 3.0, atol=1e-6)


def check_enumeration(policies: PolicyClass, contexts: Floats, costs: Floats) -> None:
    """The enumeration oracle agrees with brute force, and the number of labelings is within exp(log_size)."""
    oracle = open_oracle(policies, contexts, kind="enumeration")
    assert isinstance(oracle, EnumerationOracle)
    assert oracle.value(costs) == brute_force(policies, contexts, costs).min()
    assert np.log(len(oracle.labelings)) <= policies.log_size(contexts) + 1e-9


def check_draw(policies: PolicyClass, contexts: Floats, seed: int) -> None:
    """A drawn policy is a policy of the class, and the same seed draws the same one."""
    first, again = (policies.draw(contexts, np.random.default_rng(seed)) for _ in range(2))
    labels = first.predict(contexts)
    assert (labels == again.predict(contexts)).all()
    assert str(first) == str(again)
    assert (labels == policies.labelings(contexts)).all(axis=1).any(), (labels, "is no labeling of the class")


def check_constraint(policies: PolicyClass, contexts: Floats, costs: Floats, solver: str = "highs") -> None:
    """Under a budget on action 0 the program's optimum is the best labeling within the budget."""
    from milpcb.constraints import LabelConstraint

    weights = np.zeros_like(costs)
    weights[:, 0] = 1.0
    labelings, totals = policies.labelings(contexts), brute_force(policies, contexts, costs)
    used = weights[np.arange(len(costs)), labelings].sum(axis=1)
    budget = float(np.median(used))
    oracle = open_oracle(policies, contexts, solver=solver, constraints=[LabelConstraint(weights, budget, "budget")])
    answer = oracle.minimise(costs)
    assert np.isclose(answer.value, totals[used <= budget].min(), atol=1e-6), answer
    assert answer.policy is not None
    assert weights[np.arange(len(costs)), answer.policy.predict(contexts)].sum() <= budget + 1e-9


CHECKS_OF_A_SOLVER = (check_value, check_constraint)
CHECKS_AT_A_ROW = (check_profile, check_shift)
