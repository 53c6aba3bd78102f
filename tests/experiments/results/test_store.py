"""Run directories: files are replaced whole, foreign directories refused, finished curves never lost."""

from __future__ import annotations

import errno
import stat
import tempfile
import tomllib
from pathlib import Path

import pytest

import milpcb
from milpcb.errors import RunError
from milpcb.experiments.results.store import RunDirectory, write_file
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import parse_config


@pytest.fixture
def held(tmp_path, tiny, play_into):
    """Return a finished run directory."""
    return RunDirectory(play_into(tiny, tmp_path / "held").path)


def study_of(text):
    """Return the study of a config."""
    return build_study(parse_config(tomllib.loads(text)))


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


def test_a_record_that_cannot_be_written_is_not_finished(held, tiny, monkeypatch):
    """After a failed write the directory holds the record it held before, and nothing half written."""
    (cell,) = study_of(tiny).cells
    before = {file: file.read_bytes() for file in held.path.rglob("*") if file.is_file()}
    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(RunError):
        held.keep(cell, {"key": cell.key, "rounds": [40]}, {})
    assert before == {file: file.read_bytes() for file in held.path.rglob("*") if file.is_file()}


TORN = {
    "empty": lambda content: content[:0],
    "cut in the middle": lambda content: content[: len(content) // 2],
    "without its last byte": lambda content: content[:-1],
    "zeros at its end": lambda content: content[:-40] + bytes(40),
    "of another task": lambda content: content.replace(b'"key": "', b'"key": "0'),
    "with a shorter column": lambda content: content.replace(b'"rounds": [1, ', b'"rounds": ['),
    "that ends too early": lambda content: content.replace(b", 40]", b", 39]"),
    "no table": lambda _: b"[]",
}


@pytest.mark.parametrize("damage", TORN)
def test_a_damaged_record_counts_as_unfinished(damage, held, tiny, play_into, untimed):
    """What a power cut left of a record is never read as a curve; the cell is played again, to the same numbers."""
    (cell,) = study_of(tiny).cells
    file = held.path / f"cells/{cell.key}.json"
    whole, curves = file.read_bytes(), untimed(held.path)
    file.write_bytes(TORN[damage](whole))
    assert file.read_bytes() != whole
    assert held.finished([cell]) == set()
    (held.path / "curves.parquet").unlink()
    with pytest.raises(RunError, match="no finished curve"):
        milpcb.load(held.path)
    assert play_into(tiny, held.path).tasks == ["bistro_plus, seed 0: 40"]
    assert untimed(held.path) == curves


@pytest.mark.parametrize("lost", ["json", "png"])
def test_a_yardstick_without_record_or_picture_is_measured_again(lost, held, tiny, play_into):
    """The best policy in hindsight is finished when its rules and its pictures are there."""
    (yardstick,) = study_of(tiny).yardsticks
    before = (held.path / "best_policy_seed0.png").read_bytes()
    (held.path / f"cells/{yardstick.key}.{lost}").unlink()
    assert play_into(tiny, held.path).tasks == ["best policy in hindsight, seed 0: 40"]
    assert (held.path / "best_policy_seed0.png").read_bytes() == before


def test_the_config_is_written_with_versions(held, tiny):
    """The resolved config says with which packages, and in which format, the results were written."""
    written = tomllib.loads((held.path / "config.toml").read_text(encoding="utf-8"))
    versions = written.pop("versions")
    assert set(versions) >= {"milpcb", "numpy", "highspy"}
    assert versions["format"] == 2
    assert parse_config(written).table() == written == parse_config(tomllib.loads(tiny)).table()


def test_comments_and_the_order_of_keys_change_no_cell(tiny):
    """Cells are the same whatever the config looks like and whatever stands in [run]."""
    other = "# the same\n" + tiny.replace("horizon = 40\ncheckpoints = 4", "checkpoints = 4\nhorizon = [40]")
    other += '[run]\nbackend = "serial"\nworkers = 3\ncheckpoint_seconds = 1.5\n'
    assert [task.key for task in study_of(tiny).tasks] == [task.key for task in study_of(other).tasks]


def test_a_directory_of_something_else_is_refused(tmp_path):
    """Neither a file, nor a folder with other files in it, nor somebody else's config.toml becomes a run directory."""
    (tmp_path / "file").write_text("mine")
    for name, file in (("full", "thesis.tex"), ("other", "config.toml")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("title = 3")
    for name in ("file", "full", "other"):
        with pytest.raises(RunError, match=r"is no run directory.*; choose another with --out"):
            RunDirectory(tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"


def test_an_older_format_is_refused(tmp_path):
    """A run directory of an earlier version says so, and nothing in it is touched."""
    (tmp_path / "config.toml").write_text('[experiment]\nname = "old"\n[versions]\nmilpcb = "0.1.0"\n')
    with pytest.raises(RunError, match=r"of format 1, this version writes format 2; choose another with --out"):
        RunDirectory(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["config.toml"]


def test_a_part_left_by_a_killed_run_does_not_matter(tmp_path, tiny, play_into):
    """A run that was killed before its first file was whole can be started again, and clears away what was left."""
    (tmp_path / ".config.toml.x1y2").write_text("[exper")
    assert play_into(tiny, tmp_path).failed == []
    assert not (tmp_path / ".config.toml.x1y2").exists()


@pytest.mark.parametrize("content", [b"[experiment", b"\xff\xfe"])
def test_a_damaged_config_is_refused(content, held):
    """A config.toml that cannot be read is named, and nothing is overwritten."""
    (held.path / "config.toml").write_bytes(content)
    with pytest.raises(RunError, match=r"cannot read .*config\.toml: .*--out"):
        RunDirectory(held.path)


def test_one_run_at_a_time(held, tiny, play_into):
    """While one run is at work in a directory another is refused, in one line that says who; afterwards it is let in."""
    with (
        held.locked(),
        pytest.raises(RunError, match=rf"another run is at work in {held.path} \(pid \d+ on .+\); wait for it"),
        RunDirectory(held.path).locked(),
    ):
        pass
    assert play_into(tiny, held.path).tasks == []
