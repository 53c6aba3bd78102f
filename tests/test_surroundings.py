"""The current folder sets nothing of the libraries that milpcb starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from milpcb.core import kernels, surroundings


def _exists(path: str | Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - as libraries ask


def test_one_name_is_unseen_within_a_block_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that looks for its settings as it is imported finds none; all else is there, and then all of it."""
    monkeypatch.chdir(tmp_path)
    for name in ("settings", "others"):
        (tmp_path / name).touch()
    before = os.path.exists
    with surroundings.unseen("settings"), surroundings.unseen("nothing"):
        found = [before is not os.path.exists, *map(_exists, ("settings", "others", tmp_path / "settings", "nothing"))]
    assert found == [True, False, True, True, False]
    assert os.path.exists is before


def test_numba_takes_no_settings_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba looks for them anew at each compilation, wherever the process has gone meanwhile."""
    monkeypatch.chdir(tmp_path)
    Path(".numba_config.yaml").write_text("cache_dir: here\n")
    kernels.config.reload_config()
    assert kernels.config.CACHE_DIR != "here"


@pytest.mark.parametrize("first", ["", "import numba"])
def test_machine_code_does_not_move_into_the_current_folder(first: str, tmp_path: Path) -> None:
    """Neither milpcb nor a program that has imported numba before keeps it where settings of the folder would."""
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: here\ndisable_jit: 1\n")
    program = f"{first}\nfrom milpcb.core import kernels\nprint(kernels.copy.stats.cache_path)"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_absolute()
    assert [file.name for file in tmp_path.iterdir()] == [".numba_config.yaml"]


def test_the_current_folder_leaves_the_path_of_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of ours starts without it, here and in its children; so it does in a folder that is gone."""
    monkeypatch.setenv("PYTHONSAFEPATH", "")  # restored at the end, whatever is set meanwhile
    (tmp_path / "gone").mkdir()
    for folder in (tmp_path, tmp_path / "gone"):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
        if folder.name == "gone":
            folder.rmdir()
        surroundings.leave()
        assert os.environ["PYTHONSAFEPATH"] == "1"
        assert (str(folder) in sys.path) == (folder.name == "gone")
    kept = list(sys.path)
    surroundings.leave()
    assert sys.path == kept


def test_settings_are_found_whatever_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, a pipe, a folder, and a link that leads nowhere."""
    monkeypatch.chdir(tmp_path)
    Path("a").touch()
    os.mkfifo("b")
    Path("c").mkdir()
    Path("d").symlink_to("nowhere")
    assert surroundings.settings_here("abcde") == list("abcd")
