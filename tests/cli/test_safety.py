"""People's files and foreign directories: nothing of one's own is lost, and no code runs that nobody asked for."""

import tomllib

import pytest

from milpcb.errors import InputError
from milpcb.experiments.study.config import parse_config

PLUGIN = '''\
"""A learner of one's own that shows where it was imported and played."""

from pathlib import Path

from milpcb.learners.comparators import Uniform

Path("imported").touch()


class Mine(Uniform):
    """Uniform."""
'''
MINE = '[[learners]]\nname = "module_of_mine:Mine"\n'
QUIET = ("--progress", "quiet", "--backend", "serial")


@pytest.fixture
def folder(tmp_path, write, config):
    """Return a folder with a config, and one that names a class of the folder."""
    write(tmp_path / "work", {"tiny.toml": config, "mine.toml": config + MINE, "module_of_mine.py": PLUGIN})
    return tmp_path / "work"


def everything(path):
    """Return all files of a folder with their contents."""
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


NAMES = ["..", ".", ".git", "...", "-x", "a.", "x" * 101, "../x", "/x", "a/b", "a\\b", ""]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_folder_s_is_refused(name, config):
    """Whatever leaves runs/, is hidden, looks like an option, or is a device on some system."""
    text = config.replace('name = "tiny"', f"name = '{name}'")
    with pytest.raises(InputError, match=r"^config, line 2: name in \[experiment\]"):
        parse_config(tomllib.loads(text), text)


def test_people_s_folders_stay_as_they_are(folder, write, milpcb_, assert_one_line):
    """A run that is called "..", and --out with a folder that holds only dot files, end in one line."""
    text = (folder / "tiny.toml").read_text().replace('name = "tiny"', 'name = ".."')
    write(folder, {"bad.toml": text, ".bashrc": "mine", ".config/x": "mine", "live/0123456789abcdef.json": "mine"})
    write(folder, {"home/.bashrc": "mine", "home/.profile": "mine", "home/cells/.x": "mine"})
    before = everything(folder)
    assert_one_line(milpcb_(folder, "run", "bad.toml", *QUIET), "bad.toml", "line 2", "name")
    for out in ("home", "home/cells", "."):
        assert_one_line(milpcb_(folder, "run", "tiny.toml", "--out", out, *QUIET), "is no run directory", "--out")
    assert everything(folder) == before


def test_a_run_directory_runs_no_code_that_is_not_installed(folder, process, assert_one_line):
    """Resume refuses in one line that names class and file, before any import; --trust runs it."""
    assert process(folder, "run", "mine.toml", "--out", "made", *QUIET).returncode == 0
    (folder / "imported").unlink()
    refused = process(folder, "resume", "made", *QUIET)
    assert_one_line(refused, "module_of_mine:Mine", str(folder / "module_of_mine.py"), "then give --trust")
    for command in ("report", "plot"):
        assert process(folder, command, "made").returncode == 0
    assert not (folder / "imported").exists()
    done = process(folder, "resume", "made", "--trust", *QUIET)
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "imported").exists()
