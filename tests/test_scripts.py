"""The scripts that a clone is tried with: what they say of themselves, and what their quick way leaves out."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_test_script_explains_itself(option: str) -> None:
    """Help is printed, and nothing is installed or run."""
    done = subprocess.run([ROOT / "scripts/test", option], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: ./scripts/test [--quick]")
    assert "SLOW in tests/conftest.py" in done.stdout
    assert done.stderr == ""


def test_what_is_left_out_is_there(slow: dict[str, str]) -> None:
    """Each entry of the table names a folder, a file or a test, and says why it is left out."""
    for place, reason in slow.items():
        path, _, test = place.partition("::")
        assert (ROOT / path).exists(), place
        assert not test or re.search(rf"^def {test}\(", (ROOT / path).read_text(), re.MULTILINE), place
        assert reason


def test_both_scripts_install_the_extra() -> None:
    """The demo needs the command line, the tests what they run with."""
    assert "\nprepare studies\n" in (ROOT / "scripts/demo").read_text()
    assert "\nprepare dev\n" in (ROOT / "scripts/test").read_text()
