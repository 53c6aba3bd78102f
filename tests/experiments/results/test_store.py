"""Run directories: files are replaced whole, foreign directories refused, finished curves never lost."""

import errno
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

import milpcb
from milpcb.core.files import sealed, unsealed, write_file
from milpcb.errors import RunError
from milpcb.experiments.results import store
from milpcb.experiments.results.store import RunDirectory, file_of, read_index
from milpcb.experiments.run.runner import read_run
from milpcb.experiments.study.cells import FORMAT, build_study
from milpcb.experiments.study.config import parse_config


@pytest.fixture
def held(tiny, copied):
    """Return a finished run directory."""
    return RunDirectory(copied(tiny))


@pytest.fixture
def cell(tiny):
    """Return its only cell."""
    return study_of(tiny).cells[0]


def study_of(text):
    """Return the study of a config."""
    return build_study(parse_config(tomllib.loads(text)))


def everything(path):
    """Return all files of a folder with their contents, links as what they point to."""
    return {
        str(file.relative_to(path)): file.readlink() if file.is_symlink() else file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_symlink() or file.is_file()
    }


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path, monkeypatch):
    """When the name changes hands the new content is all on disk, the old one was readable; nothing else is left."""
    target = write_file(tmp_path / "a/b/f.txt", b"old")
    assert target.read_bytes() == b"old"
    seen, real = [], Path.replace

    def replace(self, other):
        seen.append((self.read_bytes(), other.read_bytes()))
        return real(self, other)

    monkeypatch.setattr(Path, "replace", replace)
    write_file(target, b"new")
    assert seen == [(b"new", b"old")]
    assert everything(target.parent) == {"f.txt": b"new"}


def refuse(*_):
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt(*_):
    """Fail as Control-C does."""
    raise KeyboardInterrupt


FULL = (refuse, RunError, r"^cannot write .*f\.txt: No space left on device; .* kept, .* run again$")


@pytest.mark.parametrize(("failure", "error", "message"), [FULL, (interrupt, KeyboardInterrupt, None)])
@pytest.mark.parametrize("step", ["milpcb.core.files.os.open", "os.fsync", "pathlib.Path.replace"])
def test_a_failed_write_keeps_the_old_file(failure, error, message, step, tmp_path, monkeypatch):
    """Whatever stops a write and wherever, the old file is whole and no part of the new one is left."""
    target = write_file(tmp_path / "f.txt", b"old")
    monkeypatch.setattr(step, failure)
    with pytest.raises(error, match=message):
        write_file(target, b"new")
    assert everything(tmp_path) == {"f.txt": b"old"}


def resealed(content, change):
    """Return a changed record with a checksum that fits."""
    return sealed(change(unsealed(content)))


TORN = {
    "empty": lambda content: content[:0],
    "cut in the middle": lambda content: content[: len(content) // 2],
    "one digit changed": lambda content: content.replace(b'"rounds": [1, ', b'"rounds": [2, '),
    "of another task": lambda content: resealed(content, lambda record: record | {"key": "0" * 16}),
    "with a shorter column": lambda content: resealed(content, lambda record: record | {"rounds": [40]}),
    "that ends too early": lambda content: content.replace(b", 40]", b", 39]"),
    "with a key more": lambda content: content[:-1] + b', "more": 1}',
    "without a checksum": lambda content: json.dumps(unsealed(content)).encode(),
}


@pytest.mark.parametrize("damage", TORN)
def test_a_damaged_record_is_named_and_no_curve(damage, held, cell):
    """A file that is not as written is never read as a curve."""
    file = file_of(held.path, "record", cell.key)
    whole = file.read_bytes()
    file.write_bytes(TORN[damage](whole))
    assert file.read_bytes() != whole
    line = f"record {cell.key} is damaged; milpcb run and resume play it again"
    assert held.held([cell]) == (set(), [line])
    assert store.remarks(held.path) == [line]
    with pytest.raises(RunError, match="holds no finished curve yet; milpcb resume"):
        milpcb.load(held.path)


def test_every_byte_of_a_sealed_file_counts():
    """Whatever single byte is changed, lost or added, the content is not read."""
    content = sealed({"key": "k", "rounds": [1, 2], "cost": 0.1})
    assert unsealed(content) == {"key": "k", "rounds": [1, 2], "cost": 0.1}
    assert json.loads(content)["rounds"] == [1, 2]
    for i in range(len(content)):
        for middle in (bytes([content[i] ^ 1]), b"", b" " + content[i : i + 1]):
            assert unsealed(content[:i] + middle + content[i + 1 :]) is None


def test_versions_that_differ_are_named(held, cell, tiny, play_into):
    """Records made with another version count, and one line says which; a package that is new here is no difference."""
    file = file_of(held.path, "record", cell.key)
    file.write_bytes(resealed(file.read_bytes(), lambda record: record | {"versions": {"numpy": "1.0"}}))
    others = f"numpy 1.0 (here {np.__version__}); their numbers may differ"
    line = f"{held.path} holds records made with other versions: {others}"
    assert store.remarks(held.path) == [line]
    again = play_into(tiny, held.path)
    assert (again.tasks, again.remarks) == ([], [line])


@pytest.mark.parametrize("lost", ["record", "drawing"])
def test_a_task_without_its_record_or_drawing_is_computed_again(lost, held, tiny, play_into):
    """A record of a best policy that is to be drawn holds the drawing."""
    (task,) = read_index(held.path)["comparators"]
    drawings = [held.path / f"{task['file']}.{ending}" for ending in ("txt", "svg")]
    before, file = [drawing.read_bytes() for drawing in drawings], held.path / f"cells/{task['key']}.json"
    content = file.read_bytes()
    file.unlink()
    if lost == "drawing":
        file.write_bytes(resealed(content, lambda record: {key: record[key] for key in record if key != "drawing"}))
    again = play_into(tiny, held.path)
    assert (again.tasks, again.remarks) == ([f"{task['title']}: 40"], [])
    assert [drawing.read_bytes() for drawing in drawings] == before


def test_the_config_is_written_with_versions(held, tiny):
    """The resolved config says with which packages, and in which format, the results were written."""
    written = tomllib.loads((held.path / "config.toml").read_text(encoding="utf-8"))
    versions = written.pop("versions")
    assert set(versions) >= {"milpcb", "highspy"}
    assert (versions["numpy"], versions["format"]) == (np.__version__, FORMAT)
    assert parse_config(written).table() == written == parse_config(tomllib.loads(tiny)).table()


def test_best_policies_have_files_of_their_own(tiny):
    """Also of classes whose labels differ in signs, or in case, alone."""
    section = '[[policies]]\nname = "decision_trees"\ndepth = {}\nlabel = "{}"\n'
    more = "".join(section.format(depth, label) for depth, label in ((2, "A/b"), (3, "a b")))
    config = parse_config(tomllib.loads(tiny.replace("[policies]", f'{more}[[policies]]\nlabel = "a:B"')))
    files = [each["file"].casefold() for each in store.index_of(config, build_study(config))["comparators"]]
    assert len(set(files)) == len(files) == 3


MINE = [
    "thesis.tex",
    "config.toml",  # somebody else's
    ".git/config",
    ".lock",
    ".milpcb-x1y2.tmp",  # nearly a temporary
    "cells/.notes live/0123456789abcdef.json",
    "best_policy_of_mine.txt",
    "regret.png",
    "",
]


@pytest.mark.parametrize("names", MINE)
def test_a_folder_with_any_file_of_ones_own_is_refused(names, tmp_path, tiny, play_into):
    """Dot files count as content: the folder, or a file in its place, is refused, and everything stays as it was."""
    for name in names.split():
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text("title = 3")
    if not names:
        (tmp_path / "out").write_text("mine")
    before = everything(tmp_path)
    with pytest.raises(RunError, match=r"out exists and is no run directory.*; choose another with --out"):
        play_into(tiny, tmp_path / "out")
    assert everything(tmp_path) == before


def test_an_older_format_is_refused(tmp_path):
    """A run directory of an earlier version says so, and nothing in it is touched."""
    (tmp_path / "config.toml").write_text('[experiment]\nname = "old"\n[versions]\nmilpcb = "0.1.0"\n')
    before = everything(tmp_path)
    with pytest.raises(RunError, match=r"no run directory of this version of milpcb; choose another with --out"):
        RunDirectory(tmp_path)
    assert everything(tmp_path) == before


NO_SEAL = f'{{"checksum": "0", "format": {FORMAT}}}'.encode()
DAMAGED = (b"[experiment", b"\xff\xfe", b"", b"title = 3", b"{}", b"[]", NO_SEAL, None)


@pytest.mark.parametrize(
    ("name", "read", "message"),
    [
        ("config.toml", store.check_config, r"config\.toml.* milpcb run CONFIG --out .*"),
        ("study.json", read_index, r"study\.json.* fixes"),
    ],
)
def test_a_damaged_config_or_index_is_written_again(name, read, message, held, tiny, play_into):
    """The other file says whose directory it is; reading is one line on how to fix it, which the next run does."""
    file = held.path / name
    before = file.read_bytes()
    for content in DAMAGED:
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        with pytest.raises(RunError, match=message):
            read(held.path)
        RunDirectory(held.path)
    assert play_into(tiny, held.path).tasks == []
    assert file.read_bytes() == before
    read(held.path)


def test_a_config_with_one_digit_changed_is_refused_by_resume(held):
    """It would be another study, and nobody asked for that."""
    file = held.path / "config.toml"
    file.write_text(file.read_text().replace("horizon = 40", "horizon = 41"))
    changed = r"config\.toml was damaged, or edited, after the run wrote it; .* milpcb run CONFIG"
    with pytest.raises(RunError, match=changed):
        read_run(held.path, trust=True)


def test_a_damaged_config_and_index_are_no_mark(held):
    """Where neither says that milpcb made the directory it is refused, and nothing is overwritten."""
    for name in ("config.toml", "study.json"):
        (held.path / name).write_bytes(b"{")
    before = everything(held.path)
    with pytest.raises(RunError, match=r"no run directory of this version of milpcb; .*--out"):
        RunDirectory(held.path)
    assert everything(held.path) == before


def test_one_run_at_a_time(held, tiny, play_into):
    """While one run is at work in a directory another is refused; afterwards it is let in."""
    who = f"another run is at work in {held.path}; wait for it"
    with held.locked(), pytest.raises(RunError, match=who), RunDirectory(held.path).locked():
        pass
    assert play_into(tiny, held.path).tasks == []


def test_what_others_put_into_a_run_directory_stays(held, tiny, play_into):
    """Only files that the run itself wrote are changed or removed, whatever the others, or study.json, are called."""
    mine = [
        *(".bashrc", ".config.toml.x1y2", ".milpcb-x1.tmp", ".milpcb-x1y2z3a4.tmp.bak", "best_policy_of_mine.txt"),
        *("leader_list.csv", "cells/.notes", "cells/a.json", "live/notes.txt", "live/.hidden"),
        *("notes/.milpcb-x1y2z3a4.tmp", "thesis.tex", "../thesis.tex"),
    ]
    for name in mine:
        (held.path / name).parent.mkdir(exist_ok=True)
        (held.path / name).write_text("mine")
    index = unsealed((held.path / "study.json").read_bytes())
    index["written"] += ["../thesis.tex", "thesis.tex", "best_policy_/../../thesis.tex", str(held.path / "thesis.tex")]
    (held.path / "study.json").write_bytes(sealed(index))
    play_into(tiny.replace("horizon = 40", "horizon = 40\nseeds = [1]"), held.path)
    assert all((held.path / name).read_text() == "mine" for name in mine)
    assert (held.path / "best_policy_seed1.txt").exists()
    assert not (held.path / "best_policy_seed0.txt").exists(), "an earlier run wrote it, and this config has no seed 0"
