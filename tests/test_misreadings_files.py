"""A share of scripts/checks/misreadings_files.py: nothing in a file is read silently as what it was not."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts/checks/misreadings_files.py"


@pytest.fixture(scope="module")
def script():
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("misreadings_files", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["misreadings_files"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["misreadings_files"]


def test_no_drawn_file_is_misread(script):
    """Each column is as meant, refused in one line, or named in a note."""
    outcomes = [outcome for _, outcome in script.run(15, 0)]
    assert [what for verdict, what in outcomes if verdict == "SILENT"] == []
    assert sum(verdict == "as meant" for verdict, _ in outcomes) > 150


@pytest.mark.parametrize(
    "fault",
    [
        "marks are strings",
        "names that end in id",
        "row numbers",
        "64 bits",
        "missing strings",
        "other strings among numbers",
    ],
)
def test_an_old_fault_would_be_seen(fault, script):
    """Put back, it shows among the same files."""
    assert script.finds(fault, 60)
