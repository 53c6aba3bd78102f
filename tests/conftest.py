"""What the tests share: drawn costs, the battery of a policy class, golden files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.extra.numpy import arrays

from milpcb.protocols import PolicyClass
from milpcb.solvers import load_solver
from milpcb.testing import policies as checks
from milpcb.types import Floats

GOLDEN = Path(__file__).parent / "golden"
WHOLE = st.integers(-9, 9).map(float)
REAL = st.floats(-10.0, 10.0, allow_subnormal=False)

# No test depends on the speed of the machine. Time-outs elsewhere, of 600 seconds, only end what hangs.
settings.register_profile("milpcb", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("milpcb")


@pytest.fixture(scope="session")
def draw_costs() -> Callable[..., Floats]:
    """Return ``draw_costs(data, m, K)``: whole or real costs of both signs."""
    return _draw_costs


@pytest.fixture(scope="session")
def battery() -> Callable[..., None]:
    """Return ``battery(policies, contexts, data, solver)``: every check of a class on drawn costs."""
    return _battery


@pytest.fixture(scope="session")
def assert_integral() -> Callable[..., None]:
    """Return ``assert_integral(policies, contexts, seed)``: the relaxation's optima are whole for any objective."""
    return _assert_integral


@pytest.fixture
def assert_golden() -> Callable[[str, str], None]:
    """Return ``assert_golden(text, name)``: the text is that of tests/golden/<name>."""
    return _assert_golden


def _draw_costs(data: st.DataObject, n_contexts: int, n_actions: int) -> Floats:
    elements = data.draw(st.sampled_from([WHOLE, REAL]))
    return data.draw(arrays(np.float64, (n_contexts, n_actions), elements=elements))


def _battery(policies: PolicyClass, contexts: Floats, data: st.DataObject, solver: str = "highs") -> None:
    costs = _draw_costs(data, len(contexts), policies.n_actions)
    row = data.draw(st.integers(0, len(contexts) - 1))
    for check in checks.CHECKS_OF_A_SOLVER:
        check(policies, contexts, costs, solver)
    for check_at in checks.CHECKS_AT_A_ROW:
        check_at(policies, contexts, costs, row, solver)
    checks.check_enumeration(policies, contexts, costs)
    checks.check_draw(policies, contexts, seed=row)


def _assert_integral(policies: PolicyClass, contexts: Floats, seed: int) -> None:
    for constrained in (False, True):
        program = policies.on(contexts).program(constrained=constrained).program
        assert program.integral
        assert program.integer.all()
        session = load_solver("highs").open(program, relax=True)
        for objective in np.random.default_rng(seed).normal(size=(20, program.n_columns)):
            x = session.solve(objective).x
            assert np.abs(x - np.rint(x)).max() < 1e-9, (constrained, x)


def _assert_golden(text: str, name: str) -> None:
    path = GOLDEN / name
    if os.environ.get("MILPCB_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.is_file(), f"{path} is missing: run with MILPCB_UPDATE_GOLDEN=1 and read what it writes"
    assert text == path.read_text(), f"differs from {path}: if meant, run with MILPCB_UPDATE_GOLDEN=1 and read the diff"
