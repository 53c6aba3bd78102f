"""Run directories: files are replaced whole, foreign directories refused, finished curves never lost."""

from __future__ import annotations

import errno
import stat
import tempfile
import tomllib
from pathlib import Path

import pytest

from milpcb.errors import RunError
from milpcb.experiments.config import parse_config
from milpcb.experiments.curves import read_curves
from milpcb.experiments.store import RunDirectory, write_file


def opened(path, text):
    """Return the run directory of a config."""
    return RunDirectory(path, parse_config(tomllib.loads(text)))


@pytest.fixture
def held(tmp_path, tiny, make_rows):
    """Return a run directory with one finished curve."""
    directory = opened(tmp_path / "held", tiny)
    directory.add(make_rows("first", 0, [0.5, 0.25]))
    return directory


def test_a_file_is_replaced_whole(tmp_path):
    """Folders are made, the content is there, everybody may read it, and nothing else is left behind."""
    for content in (b"old", b"new"):
        target = write_file(tmp_path / "a/b/f.txt", content)
        assert target.read_bytes() == content
    assert [file.name for file in target.parent.iterdir()] == ["f.txt"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path, monkeypatch):
    """When the name changes hands the new content is all on disk, and the old one was readable until then."""
    target = write_file(tmp_path / "f.txt", b"old")
    seen = []

    def replace(self, other):
        seen.append((self.read_bytes(), other.read_bytes()))
        return real(self, other)

    real = Path.replace
    monkeypatch.setattr(Path, "replace", replace)
    write_file(target, b"new")
    assert seen == [(b"new", b"old")]
    assert target.read_bytes() == b"new"


def refuse(*_):
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt(*_):
    """Fail as Control-C does."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(("failure", "error"), [(refuse, RunError), (interrupt, KeyboardInterrupt)])
@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_failed_write_keeps_the_old_file(failure, error, step, tmp_path, monkeypatch):
    """Whatever stops a write and wherever, the old file is whole and no part of the new one is left."""
    target = write_file(tmp_path / "f.txt", b"old")
    monkeypatch.setattr(step, failure)
    with pytest.raises(error):
        write_file(target, b"new")
    assert target.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["f.txt"]


def test_a_full_disk_is_told_in_one_line(tmp_path, monkeypatch):
    """The message names the file, the reason, and what to do."""
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse_call)
    with pytest.raises(RunError, match=r"^cannot write .*f\.txt: No space left on device; .* kept, .* run again$"):
        write_file(tmp_path / "f.txt", b"new")


def refuse_call(**_):
    """Fail as a full disk does when a file is made."""
    refuse()


def test_a_curve_that_cannot_be_written_is_not_finished(held, make_rows, monkeypatch):
    """After a failed write the directory holds, on disk and in memory, what it held before."""
    before = (held.path / "curves.csv").read_bytes()
    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(RunError):
        held.add(make_rows("second", 0, [1.0]))
    assert held.finished() == {("first", 0)}
    assert (held.path / "curves.csv").read_bytes() == before


def test_the_config_is_written_with_the_first_result(tmp_path, tiny, make_rows):
    """Before there is a result the directory is empty, so that a corrected config may use it; then config and versions."""
    directory = opened(tmp_path / "new", tiny)
    assert list(directory.path.iterdir()) == []
    directory = opened(tmp_path / "new", tiny.replace("depth = 1", "depth = 2"))
    directory.add(make_rows("first", 0, [0.5]))
    written = tomllib.loads((directory.path / "config.toml").read_text(encoding="utf-8"))
    assert written["policies"]["depth"] == 2
    assert set(written.pop("versions")) >= {"milpcb", "numpy", "highspy"}
    assert parse_config(written).table() == written


def test_a_directory_is_continued_by_the_same_experiment(held, tiny):
    """Opening again finds the finished curves; comments and the order of keys in the config do not matter."""
    again = opened(
        held.path, "# the same\n" + tiny.replace("horizon = 40\ncheckpoints = 4", "checkpoints = 4\nhorizon = 40")
    )
    assert again.finished() == {("first", 0)}
    assert again.rows == held.rows


@pytest.mark.parametrize(
    ("old", "new", "section"),
    [
        ("horizon = 40", "horizon = 41", "experiment"),
        ("depth = 1", "depth = 2", "policies"),
        ("contexts = 8", "contexts = 9", "environment"),
    ],
)
def test_another_experiment_is_refused(old, new, section, held, tiny):
    """The message says in which section it differs; nothing is touched."""
    before = {file: file.read_bytes() for file in held.path.iterdir()}
    with pytest.raises(RunError, match=rf"holds another experiment \(it differs in {section}\); .*--out"):
        opened(held.path, tiny.replace(old, new))
    assert before == {file: file.read_bytes() for file in held.path.iterdir()}


def test_a_directory_of_something_else_is_refused(tmp_path, tiny):
    """Neither a file nor a folder with other files in it becomes a run directory."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis.tex").write_text("mine")
    for name in ("file", "full"):
        with pytest.raises(RunError, match=r"is no run directory; choose another with --out"):
            opened(tmp_path / name, tiny)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_part_left_by_a_killed_run_does_not_matter(tmp_path, tiny):
    """A run that was killed before its first file was whole can be started again."""
    (tmp_path / ".config.toml.x1y2").write_text("[exper")
    assert opened(tmp_path, tiny).finished() == set()


@pytest.mark.parametrize("content", [b"[experiment", b"\xff\xfe"])
def test_a_damaged_config_is_refused(content, held, tiny):
    """A config.toml that cannot be read is named, and nothing is overwritten."""
    (held.path / "config.toml").write_bytes(content)
    with pytest.raises(RunError, match=r"cannot read .*config\.toml: .*--out"):
        opened(held.path, tiny)


def test_curves_are_added_to_those_that_are_there(held, make_rows, tiny):
    """A second curve, added after opening again, stands beside the first."""
    again = opened(held.path, tiny)
    again.add(make_rows("second", 3, [1.0]))
    assert again.finished() == {("first", 0), ("second", 3)}
    assert read_curves(held.path) == [*held.rows, *make_rows("second", 3, [1.0])]
