"""A small share of scripts/checks/misreadings.py: nothing is read silently, and each old fault is found."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts" / "checks"


@pytest.fixture(scope="module")
def script() -> Any:
    """The script as a module; what it imports is beside it."""
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module("misreadings")
    sys.path.remove(str(SCRIPTS))


def test_nothing_is_read_silently(script: Any) -> None:
    """What is read of 20 tables and 20 services is what was meant, or refused in one line."""
    counts, silent = script.run(40, seed=0)
    assert not silent
    assert counts["as meant"] > 200
    assert counts["refused"] > 200


FAULTS = ("types", "truth", "missing", "codes", "declared", "names", "marks", "order", "export")


@pytest.mark.parametrize("fault", FAULTS)
def test_each_old_fault_is_found(script: Any, fault: str) -> None:
    """Where the part of the reader that ended it is taken out."""
    assert set(script.FAULTS) == set(FAULTS)
    assert any(script.run(1, seed=seed, fault=fault, first=first)[1] for seed in (0, 1) for first in range(40))
