"""The search under side constraints: what they come down to, what it answers, and what it refuses."""

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint, always, never, parity, share_at_most
from milpcb.constraints.linear import SideConstraint, merged, reduced
from milpcb.errors import OracleDisagreement
from milpcb.oracles import open_oracle
from policies import DecisionTrees
from policies.trees.constrained import ConstrainedTrees

RNG = np.random.default_rng(0)
CONTEXTS = np.repeat(RNG.integers(0, 2, (12, 3)), 2, axis=0).astype(float)  # rows repeat
TREES = DecisionTrees(3)
BUDGET = share_at_most(2, 0.2)
PARITY = parity(0, CONTEXTS[:, 0], 0.1)
OUTCOME = LabelConstraint(np.random.default_rng(1).normal(size=(24, 3)), 24 * 0.05, "outcome")
GUARD = (always(1, rows=[0, 5]), never(0, rows=[8]))
CONSTRAINTS = {
    "budget": [BUDGET],
    "parity": [PARITY],
    "an outcome": [OUTCOME],
    "guard-rails": [*GUARD],
    "budget, guard-rails": [BUDGET, *GUARD],
    "budget, parity": [BUDGET, PARITY],
    "everything": [BUDGET, PARITY, OUTCOME, *GUARD],
}


def costs_of(seed: int, *, whole: bool = True) -> np.ndarray:
    """Return costs (m, K)."""
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 10, (24, 3)).astype(float) if whole else rng.normal(size=(24, 3))


# --------------------------------------------------------------------------- what constraints come down to


def test_a_row_and_its_negative_are_one_band():
    """Repetitions keep the tightest bound; what is neither a repetition nor a negative stays by itself."""
    weights = np.array([[0.0, 1.0], [2.0, 0.0]])
    sides = [(weights, 2.0), (-weights, -1.0), (weights, 1.5), (weights.T, 9.0), (-weights, 0.0)]
    found = merged([SideConstraint(table, upper=largest) for table, largest in sides])
    assert [(band.lower, band.upper) for band in found] == [(1.0, 1.5), (-np.inf, 9.0)]
    assert found[0].weights is weights


def test_guard_rails_are_cells_and_nothing_else():
    """A row that only forbids actions at contexts leaves no row over, from above or from below."""
    weights = np.zeros((3, 2))
    weights[1, 0] = 1.0
    allowed, rows = reduced([SideConstraint(weights, -np.inf, 1e-9)], (3, 2))
    assert allowed.tolist() == [[True, True], [False, True], [True, True]]
    assert rows == []
    allowed, rows = reduced([SideConstraint(weights, 1.0 - 1e-9, np.inf)], (3, 2))
    assert allowed.tolist() == [[True, True], [True, False], [True, True]]
    assert rows == []


def test_what_one_row_forbids_narrows_the_others():
    """A cell that is forbidden can no longer make a row light enough for another one."""
    first = SideConstraint(np.array([[5.0, 0.0], [0.0, 0.0]]), -np.inf, 1.0)  # action 1 at context 0
    second = SideConstraint(np.array([[0.0, 1.0], [0.0, 1.0]]), -np.inf, 1.0)  # so action 0 at context 1
    for order in ([first, second], [second, first]):
        allowed, rows = reduced(order, (2, 2))
        assert allowed.tolist() == [[False, True], [True, False]]
        assert rows == []


def test_rows_that_cannot_be_broken_are_left_out():
    """A constraint that every labeling keeps is no row; one that none keeps leaves some context without an action."""
    weights = np.eye(2)
    assert reduced([SideConstraint(weights, 0.0, 2.0)], (2, 2))[1] == []
    assert len(reduced([SideConstraint(weights, 0.0, 1.0)], (2, 2))[1]) == 1
    assert len(reduced([SideConstraint(weights, 1.0, 2.0)], (2, 2))[1]) == 1
    allowed, _ = reduced([SideConstraint(weights, 2.5, 3.0)], (2, 2))
    assert not allowed.any(axis=1).all()


# --------------------------------------------------------------------------- answers


@pytest.mark.parametrize("more", [-100.0, 100.0])
def test_weights_do_not_depend_on_what_all_policies_pay(more):
    """However much it is: an action has a weight where the list has a policy that plays it, and the same one."""
    oracle, listed = (open_oracle(TREES, CONTEXTS, kind=kind, constraints=GUARD) for kind in ("search", "enumeration"))
    costs, tables = costs_of(5, whole=False), [oracle.table(noise) for noise in ("contexts", "columns")]
    for table in tables:
        for row, action in np.ndindex(costs.shape):
            table.add(row, action, costs[row, action] + more)
    for row in (0, 8, 11):
        expected = oracle.action_weights(costs, row, 1.0)
        assert ((expected > 0) == np.isfinite(listed.profile(costs, row))).all()
        for weights in (oracle.action_weights(costs + more, row, 1.0), *(t.action_weights(row, 1.0) for t in tables)):
            np.testing.assert_allclose(weights, expected, rtol=1e-9)


def test_log_sizes_are_those_of_the_policies_left():
    """The number of derivations left is counted, and bounds the number of labelings left."""
    free = open_oracle(TREES, CONTEXTS, kind="search")
    for name, constraints in CONSTRAINTS.items():
        oracle = open_oracle(TREES, CONTEXTS, kind="search", constraints=constraints)
        listed = open_oracle(TREES, CONTEXTS, kind="enumeration", constraints=constraints)
        assert np.log(len(listed.labelings)) <= oracle.log_size < free.log_derivations, name
        assert oracle.log_size == pytest.approx(oracle.log_derivations, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e95])
def test_costs_in_any_unit(scale):
    """Prices are in the unit of the costs."""
    for constraints in CONSTRAINTS.values():
        oracle = open_oracle(TREES, CONTEXTS, kind="search", constraints=constraints)
        costs = costs_of(4)
        np.testing.assert_allclose(oracle.profile(scale * costs, 1), scale * oracle.profile(costs, 1), rtol=1e-12)


# --------------------------------------------------------------------------- what is refused


def test_an_audit_finds_a_search_that_breaks_a_constraint(monkeypatch):
    """The solver of an audited oracle keeps the constraints itself."""
    oracle = open_oracle(TREES, CONTEXTS, kind="audited", constraints=[BUDGET], audit=1.0)
    costs = np.tile([0.0, 0.0, -1.0], (24, 1))
    assert oracle.value(costs) == -4.0
    monkeypatch.setattr(ConstrainedTrees, "value", lambda _, costs: float(costs.min(axis=1).sum()))
    with pytest.raises(OracleDisagreement):
        oracle.value(costs)
