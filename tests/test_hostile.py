"""A share of the attacks of scripts/checks/hostile.py: with the gate none does harm, without it some do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts/checks/hostile.py"


@pytest.mark.parametrize(
    ("arguments", "harm"), [(("--quick",), False), (("--quick", "--only", "code", "--without-gate"), True)]
)
def test_attacks_do_no_harm_but_without_the_gate(arguments, harm):
    """No code of a file runs, nothing outside is written, each ends in one line; the attacks are real ones."""
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("ran code of a file: 0" not in done.stdout) == harm, done.stdout
