"""A closed oracle answers nothing: one line, whatever the kind and the solver."""

import numpy as np
import pytest

from milpcb import LabelConstraint, open_oracle
from milpcb.errors import InputError, SolverMissingError
from milpcb.oracles import Oracle
from milpcb.plugins import registry
from policies import DecisionTrees, Halfspaces

CONTEXTS, COSTS = np.eye(3), np.arange(6.0).reshape(3, 2)
SOLVERS = ["pulp:PULP_CBC_CMD" if name == "pulp" else name for name in registry.names("solver")]


def refuses(oracle: Oracle) -> None:
    """Check that no question is answered once the oracle is closed, twice."""
    assert oracle.minimise(COSTS).value == oracle.value(COSTS)
    oracle.close()
    oracle.close()
    for ask in (
        lambda: oracle.minimise(COSTS),
        lambda: oracle.value(COSTS),
        lambda: oracle.profile(COSTS, 0),
        lambda: oracle.action_weights(COSTS, 0, 0.5),
    ):
        with pytest.raises(InputError, match="this oracle was closed") as caught:
            ask()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_closed_solver_answers_nothing(solver: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Not "infinite and optimal", and the solver prints no error."""
    try:
        oracle = open_oracle(DecisionTrees(2, 1), CONTEXTS, kind="milp", solver=solver)
    except SolverMissingError as error:
        pytest.skip(str(error))
    refuses(oracle)
    assert "ERROR" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("kind", ["search", "audited", "enumeration"])
def test_every_kind_can_be_closed(kind: str) -> None:
    """A search holds no solver, and is closed all the same."""
    refuses(open_oracle(DecisionTrees(2, 1), CONTEXTS, kind=kind))


@pytest.mark.parametrize("constrained", [False, True])
def test_a_table_of_a_closed_oracle_answers_nothing(constrained: bool) -> None:
    """Queries of a table go to the oracle that made it."""
    rules = [LabelConstraint(np.tile([0.0, 1.0], (3, 1)), 2.0)] if constrained else []
    oracle = open_oracle(DecisionTrees(2, 1), CONTEXTS, constraints=rules)
    table = oracle.table("columns" if constrained else None)
    assert table.minimise().value == 0.0
    oracle.close()
    with pytest.raises(InputError, match="this oracle was closed"):
        table.minimise()


def test_rows_that_are_found_as_they_are_broken_are_closed_too() -> None:
    """A class whose program has too many rows to list holds two models."""
    refuses(open_oracle(Halfspaces(2), CONTEXTS, kind="milp"))
