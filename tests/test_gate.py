"""The gate: names, places and strings of foreign files; and the current folder, which sets nothing of libraries."""

import hashlib
import json
import os
import subprocess
import sys
import threading
import tomllib
from functools import partial
from pathlib import Path

import pytest

from milpcb.core import gate, surroundings
from milpcb.core.files import append, contents, sealed, unsealed, write_file
from milpcb.plugins import registry
from tests.refused import refused

CLASSES = {"a:B": ("a", "B"), "a.b:C.D": ("a.b", "C.D"), "ä:Ö": ("ä", "Ö")}
NO_NAMES = ["a:", ":a", "a:b:c", "a b:c", "a.:c", "../a:b", "a:b-c", "a\n:b", 5, None, ["a"]]


@pytest.mark.parametrize("text", CLASSES)
def test_a_class_is_read_with_all_its_parts(text):
    """Dots are allowed on both sides of the colon, and both sides are taken apart once."""
    assert gate.parse_name(text) == CLASSES[text]


@pytest.mark.parametrize("text", NO_NAMES)
def test_what_is_no_name_is_none(text):
    """Neither a registered name nor module:Class."""
    assert gate.parse_name(text) is None


def test_classes_are_found_at_any_depth():
    """In values, lists and keys; a solver with its argument is no class."""
    data = {"a": ["x:Y.Z", {"b": ("c", "d:E")}], "f:G": 1, "solver": "pulp:PULP_CBC_CMD", "n": ["no: name", 3]}
    assert list(gate.named_classes(data)) == ["x:Y.Z", "d:E", "f:G"]


def test_within_registered_only_no_code_is_loaded(tmp_path, monkeypatch):
    """A name that is not registered is refused before its module is looked for; other threads go on as they were."""
    source = "from pathlib import Path\nfrom milpcb.learners import Uniform\nclass X(Uniform): pass\n"
    (tmp_path / "evil.py").write_text(f"{source}Path({str(tmp_path / 'hit')!r}).touch()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    with gate.registered_only("the file f.json"):
        line = "the file f.json names learner 'evil:X', which is not registered"
        refused(lambda: registry.load("learner", "evil:X"), line)
        assert registry.load("learner", "uniform").__name__ == "Uniform"
        assert not (tmp_path / "hit").exists()
        other = threading.Thread(target=lambda: found.append(registry.load("learner", "evil:X")))
        other.start()
        other.join()
    assert len(found) == 1
    assert (tmp_path / "hit").exists()


OUTSIDE = ["..", ".", "", "a/b", "a\\b", "/etc", "a\nb", "\x1b[2J", "a\0b", "C:"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_path_stays_inside(name, tmp_path):
    """A part that is more than the name of one file is refused, at each place."""
    for parts in ((name,), ("cells", name), (name, "x.json")):
        refused(partial(gate.inside, tmp_path, *parts), "cannot be the name of a file")
    assert gate.inside(tmp_path, "cells", "0a.json") == tmp_path / "cells/0a.json"


def test_no_link_is_passed(tmp_path):
    """Neither a folder nor a file below the root may be a link; the root itself may."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x.json").touch()
    (tmp_path / "cells").symlink_to("real")
    (tmp_path / "real/y.json").symlink_to("x.json")
    for parts in (("cells", "x.json"), ("real", "y.json")):
        refused(partial(gate.inside, tmp_path, *parts), "is a link")
    assert gate.inside(tmp_path / "cells", "x.json").exists()


def test_only_plain_files_are_read(tmp_path):
    """A pipe is not waited for, a device and a directory are no files, a link is followed only where that is asked."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "link", Path("/dev/zero")):
        with pytest.raises(OSError, match=r"plain|directory|link"):
            gate.read_bytes(path)
    with pytest.raises(OSError, match=r"plain|device"):
        append(tmp_path / "pipe", "x")
    assert gate.read_bytes(tmp_path / "link", follow=True) == contents(tmp_path / "file") == b"x"


def test_a_file_beyond_the_limit_is_not_read(tmp_path, monkeypatch):
    """The limit is said."""
    monkeypatch.setattr(gate, "MOST_BYTES", 2**20)
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**20 + 1)
    with pytest.raises(OSError, match="larger than 1 MB"):
        gate.read_bytes(tmp_path / "sparse")
    os.truncate(tmp_path / "sparse", 2**20)
    assert gate.read_bytes(tmp_path / "sparse") == bytes(2**20)


BAD_JSON = {
    '{"a": 1, "a": 2}': "'a' occurs twice",
    "[NaN]": "NaN is no number",
    "[-Infinity]": "no number",
    "[1e999]": "beyond the largest number",
    "[" * 101 + "]" * 101: "deeper than 100",
    '["' + '\\"' * 9 + '", ' + "[" * 101 + "]" * 101 + "]": "deeper than 100",
    "1" * 5000: "digits",
    "{": "Expecting",
}


@pytest.mark.parametrize("text", BAD_JSON)
def test_a_json_text_that_we_never_write_is_refused(text):
    """With a reason on one line."""
    refused(lambda: gate.read_json(text), BAD_JSON[text], error=ValueError)


@pytest.mark.parametrize("text", ['["[[[[]]"]', '{"a\\\\": ["}"], "b": ["\\""]}', "[1e10, 0.1]", '"é"'])
def test_other_json_is_read_as_python_reads_it(text):
    """Brackets and backslashes in strings count for nothing."""
    assert gate.read_json(text) == json.loads(text)


def test_a_sealed_text_is_read_with_the_same_care():
    """A right checksum does not make a string well formed."""
    assert unsealed(sealed({"a": [1.5, float("inf")]})) == {"a": [1.5, float("inf")]}
    good = sealed({"a": 1})
    for text in (b'{"a": 1, "a": 1}', b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}", b'{"a": ' + b"9" * 5000 + b"}"):
        assert unsealed(good[:14] + hashlib.sha256(text).hexdigest().encode() + b'",' + text[1:]) is None


@pytest.mark.parametrize("mask", [0o077, 0o022])
def test_the_umask_decides_who_may_read(mask, tmp_path):
    """Nothing that is written is more open than the user asked the system for."""
    before = os.umask(mask)
    try:
        write_file(tmp_path / "a", b"x")
        append(tmp_path / "b", "x")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in "ab"] == [0o666 & ~mask] * 2


def test_data_that_nest_deeply_are_found():
    """A thousand dots in one key of a TOML text make a table as deep."""
    assert gate.nests_deeply(tomllib.loads(f"{'.'.join(['a'] * 1000)} = 1"))
    assert not gate.nests_deeply(tomllib.loads("[a.b.c]\nd = [[1], [{ e = 2 }]]"))


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
