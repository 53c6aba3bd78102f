"""The check that kills and damages studies, in small: a kill on each backend, and damages of every target."""

from __future__ import annotations

import random
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts/checks/kill_study.py"


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_killed_and_damaged_studies_end_as_if_nothing_had_happened(tmp_path):
    """Same bytes, or one clear line; whatever else happens makes the script fail."""
    pytest.importorskip("distributed", reason="one of the three backends needs it")
    arguments = ["--small", "--kills", "3", "--damages", "12", "--seed", "1"]
    done = subprocess.run(
        [sys.executable, SCRIPT, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 kills and 12 damages in " in done.stdout
    assert done.stdout.rstrip().endswith(", 0 went wrong")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the script as a module."""
    spec = spec_from_file_location("kill_study", SCRIPT)
    module: ModuleType = module_from_spec(spec)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "kill_study", module)
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """Return a folder of cells: ``both`` was killed after its record was written, ``part`` and ``none`` before."""
    folder = tmp_path / "out/cells"
    folder.mkdir(parents=True)
    for name in ("both.json", "both.part", "record.json", "record.png", "part.part", "none.png"):
        (folder / name).write_text(name)
    return folder


@pytest.mark.parametrize(
    ("damaged", "reported"),
    [
        (["both.part"], set()),
        (["both.json"], {"both"}),
        (["both.part", "both.json"], {"both"}),
        (["part.part"], {"part"}),
        (["none.png"], set()),
        (["record.png"], {"record"}),
    ],
)
def test_a_saved_state_counts_where_there_is_no_whole_record(
    script: Any, cells: Path, damaged: list[str], reported: set[str]
) -> None:
    """A kill between writing a record and removing its saved state leaves both: the state is never read."""
    before = {file: file.read_bytes() for file in cells.iterdir()}
    for name in damaged:
        (cells / name).write_text("damaged")
    assert script.wants_a_line(before) == reported


def test_damages_begin_with_a_saved_state_that_is_read(script: Any, cells: Path) -> None:
    """Of the saved states the one without a record is drawn first, so that each batch damages what a resume needs."""
    assert script.unfinished(cells.parent) == [cells / "part.part"]
    drawn = script.draw_places(cells.parent, 2, random.Random(0))  # noqa: S311 - dice
    assert drawn[0].file == cells / "part.part"
