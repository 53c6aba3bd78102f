"""A run directory of somebody else: what its config asks for is taken only with trust, and only as it was read."""

import importlib.util
import marshal
import sys

import pytest

from milpcb.core.files import digest
from milpcb.errors import InputError
from milpcb.experiments.run.runner import read_run
from milpcb.plugins import local_classes, registry

LEARNER = """\
from pathlib import Path
from milpcb.learners import Uniform
Path({hit!r}).touch()
class Box:
    class Learner(Uniform):
        pass
class Mine(Uniform):
    pass
"""
CLASS = '[[learners]]\nname = "{}"\n'


def write_config(directory, text):
    """Write a config as a run writes it: with its checksum in the last line."""
    text += "[versions]\n"
    (directory / "config.toml").write_text(f'{text}checksum = "{digest(text.encode())}"\n')


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder to put a run directory in; the folder of classes is reset."""
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    local_classes.look_in(None)


@pytest.fixture
def make(place, tiny):
    """Return ``make(more, files)``: a run directory with a whole checksum, with files of Python that touch "hit"."""

    def made(more, files=("mine.py",), source=LEARNER):
        text = tiny.replace("[environment]", "[[environment]]") if "[[environment]]" in more else tiny
        write_config(place / "run", text + more)
        for name in files:
            (place / "run" / name).parent.mkdir(parents=True, exist_ok=True)
            (place / "run" / name).write_text(source.format(hit=str(place / "hit")))
        return place / "run"

    return made


CODE = {
    "a folder of the directory": (CLASS.format("mine:Mine") + '[run]\nfolder = "lib"\n', ("lib/mine.py",)),
    "a folder elsewhere": (CLASS.format("mine:Mine") + '[run]\nfolder = "../other"\n', ("../other/mine.py",)),
    "a package that runs before its module": (CLASS.format("pkg.nothing:X"), ("pkg/__init__.py",)),
    "an option": (CLASS.format("bistro_plus") + 'label = "b"\nnoise = "mine:Mine"\n', ("mine.py",)),
    "a backend": ('[run]\nbackend = "mine:Mine"\n', ("mine.py",)),
    "an oracle": (CLASS.format("exp4") + 'oracle = { kind = "mine:Mine" }\n', ("mine.py",)),
    "an installed module": (CLASS.format("click.testing:CliRunner"), ()),
}


@pytest.mark.parametrize("case", CODE)
def test_no_class_of_a_foreign_directory_is_imported(case, make, place):
    """One line asks for --trust, and nothing has run; whatever the name leads to."""
    directory = make(*CODE[case])
    with pytest.raises(InputError, match=r"give --trust$"):
        read_run(directory, trust=False)
    assert not (place / "hit").exists()


OTHERS = {
    "a scheduler": ('[run]\nbackend = "dask"\nscheduler = "tcp://127.0.0.1:8786"\n', "connects to tcp://127"),
    "a file of data": ("", "reads /etc/hostname"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_nothing_is_connected_to_or_read_for_a_foreign_directory(case, make, tiny, monkeypatch):
    """A scheduler could run code here, and numbers of a file would stand in the directory afterwards."""
    more, message = OTHERS[case]
    monkeypatch.setattr("milpcb.data.tables.read_table", lambda path: pytest.fail(f"{path} was read"))
    directory = make(more)
    if not more:
        start, stop = tiny.index('name = "planted"'), tiny.index("[policies]")
        files = 'name = "replay"\ncontexts = "/etc/hostname"\ncosts = "/etc/hostname"\n'
        write_config(directory, tiny[:start] + files + tiny[stop:])
    with pytest.raises(InputError, match=f"{message}.*give --trust$"):
        read_run(directory, trust=False)


def compiled(path, place):
    """Write byte code that touches "hit" for a source file that does not."""
    source = path.read_text()
    code = compile(f"open({str(place / 'hit')!r}, 'w').close()\n{source}", str(path), "exec")
    state = path.stat()
    head = importlib.util.MAGIC_NUMBER + b"\0" * 4 + int(state.st_mtime).to_bytes(4, "little")
    return head + state.st_size.to_bytes(4, "little") + marshal.dumps(code)


PLAIN = "from milpcb.learners import Uniform\nclass Mine(Uniform):\n    pass\n"


@pytest.mark.parametrize("where", ["beside the source", "without a source", "in a package", "in a package's cache"])
def test_only_source_that_was_read_is_run(where, make, place):
    """Byte code, which shows nobody what it does, is not loaded by any way, for a directory that is trusted either."""
    package = where.startswith("in")
    module = "pkg.mine" if package else "mine"
    files = ("pkg/__init__.py", "pkg/mine.py") if package else ("mine.py",)
    directory = make(CLASS.format(f"{module}:Mine"), files, PLAIN)
    source = directory / files[-1]
    code = compiled(source, place)
    if where in {"without a source", "in a package"}:
        source.unlink()
        source.with_suffix(".pyc").write_bytes(code)
        with pytest.raises(InputError, match="No module named"):
            read_run(directory, trust=True)
    else:
        cached = source.parent / f"__pycache__/mine.{sys.implementation.cache_tag}.pyc"
        cached.parent.mkdir()
        cached.write_bytes(code)
        assert read_run(directory, trust=True)
    assert not (place / "hit").exists()


def test_modules_below_a_package_of_one_s_own_are_found_later_too(place):
    """An import of a class that is already at work comes from the same folder, and from source."""
    (place / "pkg").mkdir()
    (place / "pkg/__init__.py").write_text("")
    (place / "pkg/late.py").write_text("X = 1\n")
    (place / "pkg/mine.py").write_text(f"{PLAIN}def late():\n    import pkg.late\n    return pkg.late.X\n")
    local_classes.look_in(place)
    registry.load("learner", "pkg.mine:Mine")
    assert sys.modules["pkg.mine"].late() == 1
    assert not list(place.rglob("__pycache__"))
    local_classes.look_in(None)
    assert not [name for name in sys.modules if name.partition(".")[0] == "pkg"]
