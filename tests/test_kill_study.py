"""The check that kills and damages studies, in small: a kill on each backend, and damages of every target."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts/checks/kill_study.py"


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_killed_and_damaged_studies_end_as_if_nothing_had_happened(tmp_path):
    """Same bytes, or one clear line; whatever else happens makes the script fail."""
    pytest.importorskip("distributed", reason="one of the three backends needs it")
    arguments = ["--kills", "3", "--damages", "12", "--seed", "1"]
    done = subprocess.run(
        [sys.executable, SCRIPT, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 kills and 12 damages in " in done.stdout
    assert done.stdout.rstrip().endswith(", 0 went wrong")
    assert list(tmp_path.iterdir()) == []
