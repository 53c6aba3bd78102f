"""People's files and foreign directories: nothing of one's own is lost, and no code runs that nobody asked for."""

import shutil
import tomllib

import pytest

from milpcb.errors import InputError
from milpcb.experiments.study.config import parse_config

PLUGIN = '''\
"""A learner of one's own that shows where it was imported and played."""

from pathlib import Path

from helper_of_mine import MARK
from milpcb.learners.comparators import Uniform

Path("imported").touch()


class Mine(Uniform):
    """Uniform."""

    mark = MARK
'''
MINE = '[[learners]]\nname = "module_of_mine:Mine"\n'
QUIET = ("--progress", "quiet", "--backend", "serial")


@pytest.fixture
def folder(tmp_path, write, config, monkeypatch):
    """Return a folder with a config, one that names a class of the folder, and no state of earlier runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    small = config.replace('kind = "milp"\nsolver = "highs"', 'kind = "search"')
    files = {
        "tiny.toml": small,
        "mine.toml": small + MINE,
        "module_of_mine.py": PLUGIN,
        "helper_of_mine.py": "MARK = 1\n",
    }
    write(tmp_path / "work", files)
    return tmp_path / "work"


def everything(path):
    """Return all files of a folder with their contents."""
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


NAMES = ["..", ".", ".git", "...", "-x", "NUL", "com1.txt", "a.", "x" * 101, "../x", "/x", "a/b", "a\\b", ""]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_folder_s_is_refused(name, config):
    """Whatever leaves runs/, is hidden, looks like an option, or is a device on some system."""
    text = config.replace('name = "tiny"', f"name = '{name}'")
    with pytest.raises(InputError, match=r"^config, line 2: name in \[experiment\]"):
        parse_config(tomllib.loads(text), text)


def test_a_run_called_dot_dot_changes_nothing(folder, write, milpcb_, assert_one_line):
    """One line, and every file is as it was: the run directory would be the folder itself."""
    text = (folder / "tiny.toml").read_text().replace('name = "tiny"', 'name = ".."')
    write(folder, {"bad.toml": text, ".bashrc": "mine", ".config/x": "mine", "live/0123456789abcdef.json": "mine"})
    before = everything(folder)
    assert_one_line(milpcb_(folder, "run", "bad.toml", *QUIET), "bad.toml", "line 2", "name")
    assert everything(folder) == before


def test_a_folder_of_dot_files_is_refused(folder, write, milpcb_, assert_one_line):
    """--out with a folder that holds only dot files: one line, and nothing is changed."""
    write(folder, {"home/.bashrc": "mine", "home/.profile": "mine", "home/cells/.x": "mine"})
    before = everything(folder)
    for out in ("home", "home/cells", "."):
        assert_one_line(milpcb_(folder, "run", "tiny.toml", "--out", out, *QUIET), "is no run directory", "--out")
    assert everything(folder) == before


def test_a_directory_of_ones_own_is_resumed(folder, milpcb_):
    """Who ran a config with a class of the folder goes on with it without a word."""
    assert milpcb_(folder, "run", "mine.toml", "--out", "out", *QUIET).returncode == 0
    done = milpcb_(folder, "resume", "out", *QUIET)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("how", ["copied", "edited", "from elsewhere"])
def test_a_foreign_directory_runs_no_code_that_is_not_installed(how, folder, milpcb_, assert_one_line, monkeypatch):
    """Resume refuses in one line that names class and file, before any import; --trust runs it, and is remembered."""
    assert milpcb_(folder, "run", "mine.toml", "--out", "made", *QUIET).returncode == 0
    out = folder / "made"
    if how == "copied":
        shutil.copytree(folder / "made", out := folder / "copied")
    elif how == "edited":
        other = (folder / "mine.toml").read_text().replace("horizon = 30", "horizon = 31")
        (folder / "other.toml").write_text(other)
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "of somebody else"))
        assert milpcb_(folder, "run", "other.toml", "--out", "made", *QUIET).returncode == 0
        monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent / "state"))
    else:
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "another state"))
    (folder / "imported").unlink()
    refused = milpcb_(folder, "resume", out.name, *QUIET)
    assert_one_line(refused, "module_of_mine:Mine", str(folder / "module_of_mine.py"), "then give --trust")
    for command in ("report", "plot"):
        assert milpcb_(folder, command, out.name).returncode == 0
    assert not (folder / "imported").exists()
    for arguments in (("--trust",), ()):
        done = milpcb_(folder, "resume", out.name, *arguments, *QUIET)
        assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "imported").exists()


def test_without_a_home_resume_asks_each_time(folder, milpcb_, assert_one_line, monkeypatch):
    """Where no note can be kept a run works all the same, and resume asks for --trust."""
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")
    assert milpcb_(folder, "run", "mine.toml", "--out", "out", *QUIET).returncode == 0
    assert_one_line(milpcb_(folder, "resume", "out", *QUIET), "module_of_mine:Mine", "--trust")
    assert milpcb_(folder, "resume", "out", "--trust", *QUIET).returncode == 0


@pytest.mark.parametrize("file", ["module_of_mine.py", "helper_of_mine.py"])
def test_an_edited_class_is_played_again(file, folder, milpcb_):
    """Its source, and that of modules beside it that it imports, are part of the cell: only its cells are played."""
    assert milpcb_(folder, "run", "mine.toml", "--out", "out", *QUIET).returncode == 0
    before = everything(folder / "out/cells")
    with (folder / file).open("a") as source:
        source.write("# edited\n")
    assert milpcb_(folder, "run", "mine.toml", "--out", "out", *QUIET).returncode == 0
    after = everything(folder / "out/cells")
    assert all(after[name] == content for name, content in before.items())
    assert len(set(after) - set(before)) == 1


def test_replaced_data_are_played_again(folder, write, milpcb_, untimed):
    """The contents of replay's files are part of a cell: new costs make new curves, the old ones make the old ones."""
    tables = {"x.csv": "a\n0\n1\n0\n1\n", "c.csv": "p,q\n0,1\n1,0\n0,1\n1,0\n"}
    replay = 'name = "replay"\ncontexts = "x.csv"\ncosts = "c.csv"'
    text = (folder / "tiny.toml").read_text().replace('name = "planted"\nn_contexts = 6\nn_features = 3', replay)
    write(folder, {**tables, "replay.toml": text.replace("horizon = 30", "horizon = 4")})
    run = ("run", "replay.toml", "--out", "out", *QUIET)
    assert milpcb_(folder, *run).returncode == 0
    first = untimed(folder / "out")
    write(folder, {"c.csv": "p,q\n1,0\n0,1\n1,0\n0,0.5\n"})
    assert milpcb_(folder, *run).returncode == 0
    second = untimed(folder / "out")
    assert first != second
    assert {row[-1] for row in first[1:]}.isdisjoint(row[-1] for row in second[1:])
    write(folder, tables)
    assert milpcb_(folder, *run).returncode == 0
    assert untimed(folder / "out") == first
