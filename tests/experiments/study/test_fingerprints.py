"""Keys of cells: contents of files and source code decide, paths and dates do not."""

import sys
import tomllib
from importlib.util import spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import policies
from milpcb.core.gate import named_classes
from milpcb.errors import InputError
from milpcb.experiments.study import fingerprints
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import parse_config
from milpcb.experiments.study.fingerprints import fingerprint, is_installed_file, source_digest, source_file
from milpcb.plugins import registry

FOREIGN = """\
from milpcb.learners.comparators import Uniform
class Mine(Uniform):
    def __init__(self, n_actions: int, path: str = "", word: str = "") -> None:
        super().__init__(n_actions)
"""


@pytest.fixture
def data(tmp_path):
    """Return the options of a replay of two small files."""
    for name, text in {"x.csv": "a\n0\n1\n", "c.csv": "p,q\n0,1\n1,0\n"}.items():
        (tmp_path / name).write_text(text)
    return {"contexts": str(tmp_path / "x.csv"), "costs": str(tmp_path / "c.csv"), "order": "file"}


def test_contents_count_and_paths_do_not(data, tmp_path):
    """A file that is moved, or written again as it was, is the same; one byte changed is another."""
    first = fingerprint("environment", "replay", data)
    (tmp_path / "moved").mkdir()
    for name in ("x.csv", "c.csv"):
        (tmp_path / "moved" / name).write_bytes((tmp_path / name).read_bytes())
    moved = {**data, "contexts": str(tmp_path / "moved/x.csv"), "costs": str(tmp_path / "moved/c.csv")}
    assert fingerprint("environment", "replay", moved) == first
    assert str(tmp_path) not in repr(first)
    (tmp_path / "c.csv").write_bytes((tmp_path / "c.csv").read_bytes().replace(b"1,0", b"1,1"))
    assert fingerprint("environment", "replay", data) != first


def test_a_file_that_is_not_there_is_named(data, tmp_path):
    """One line, as when it is read."""
    known, content = fingerprint("environment", "replay", data), (tmp_path / "c.csv").read_bytes()
    (tmp_path / "c.csv").unlink()
    with pytest.raises(InputError, match=r"cannot read .*c\.csv: No such file"):
        fingerprint("environment", "replay", data)
    (tmp_path / "c.csv").write_bytes(content)
    assert fingerprint("environment", "replay", data) == known


def test_what_milpcb_brings_is_named_and_no_more():
    """Keys of its own components hold name and options; their source is that of a version."""
    assert fingerprint("learner", "uniform", {}) == {"name": "uniform", "options": {}}
    assert source_digest("milpcb.learners.comparators:Uniform") is None
    assert source_digest("policies:DecisionTrees") is None


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a module of the current folder that imports others of it, in every way."""
    files = {
        "my_rules.py": "import my_helper\nfrom my_pack import inner as other\nimport json\n" + FOREIGN,
        "my_helper.py": "def late():\n    import my_late\n",
        "my_late.py": "",
        "my_pack/__init__.py": "from . import base\n",
        "my_pack/base.py": "",
        "my_pack/inner.py": "from .deep.down import x\n",
        "my_pack/deep/__init__.py": "",
        "my_pack/deep/down.py": "x = 1\n",
        "unrelated.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield "my_rules:Mine"
    for name in [name for name in sys.modules if name.startswith("my_")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "file",
    ["my_rules", "my_helper", "my_late", "my_pack/__init__", "my_pack/base", "my_pack/inner", "my_pack/deep/down"],
)
def test_the_source_of_a_class_counts_with_what_it_imports(file, module, tmp_path):
    """The module, and those beside it that it imports, lazily or relatively; not the others."""
    before = set(sys.modules)
    first = source_digest(module)
    (tmp_path / "unrelated.py").write_text("x = 2")
    assert source_digest(module) == first
    with (tmp_path / f"{file}.py").open("a") as source:
        source.write("# edited\n")
    assert source_digest(module) != first
    assert not [name for name in set(sys.modules) - before if name.startswith("my_")], "nothing was imported"


def test_files_that_a_class_of_one_s_own_may_read_count(module, tmp_path):
    """Unless its file_options say which, every option that is the path of a file; other strings stay as they are."""
    (tmp_path / "log.csv").write_text("1")
    options = {"path": "log.csv", "word": "log"}
    first = fingerprint("learner", module, options)
    assert first["options"]["word"] == "log"
    assert set(first["source"]) == {module}
    (tmp_path / "log.csv").write_text("2")
    assert fingerprint("learner", module, options) != first


SOURCES = {
    "learner": ("queries", "queries", "milpcb.learners.comparators import Uniform"),
    "solver": ('kind = "enumeration"', 'kind = "milp"\nsolver = "mine"', "milpcb.solvers.highs import Highs"),
    "oracle": ('"enumeration"', '"mine"', "milpcb.oracles.search import EnumerationOracle"),
    "relaxation": ("scale = 8", 'scale = 8\nnoise = "mine"', "milpcb.relaxations.paper import Half"),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_cell_has_another_key_when_source_that_it_names_changes(kind, module, tiny, tmp_path, monkeypatch):
    """That of a learner, and of what a package registers: solvers, oracles and noise laws; only cells that name it."""
    old, new, base = SOURCES[kind]
    (tmp_path / "my_rules.py").write_text(f"from {base} as Base\nclass Mine(Base):\n    pass\n")
    monkeypatch.setitem(registry._table(kind), "mine", module)
    text = tiny.replace(old, new) + f'[[learners]]\nname = "{module if kind == "learner" else "uniform"}"\n'
    keys = []
    for _ in range(2):
        keys.append([cell.key for cell in build_study(parse_config(tomllib.loads(text))).cells])
        with (tmp_path / "my_rules.py").open("a") as source:
            source.write("# edited\n")
    assert [one == other for one, other in zip(*keys, strict=True)] == [kind == "learner", kind != "learner"]


def test_the_source_of_a_package_that_is_installed_as_it_is_edited_counts(tmp_path, monkeypatch):
    """Such a package is on no path: a finder of its own leads to it."""
    for name, text in {"edited/__init__.py": "import edited.part", "edited/part.py": "class Mine: pass\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    class Editable:
        @staticmethod
        def find_spec(name, path=None, target=None):
            del path, target
            return spec_from_file_location(name, tmp_path / "edited/__init__.py") if name == "edited" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Editable])
    assert source_file("edited.part:Mine") == tmp_path / "edited/part.py"
    first = source_digest("edited:Mine")
    (tmp_path / "edited/part.py").write_text("class Mine: ...\n")
    assert source_digest("edited:Mine") not in {first, None}
    assert "edited" not in sys.modules


def test_names_of_classes_are_found_wherever_they_stand():
    """In lists and tables of options too: noise laws and inner learners are named there."""
    table = {"a": "mod:Class", "b": [{"c": "a.b.c:D"}, "no", "a:b:c", "1:2", ":x", "x:"], "d": 3}
    assert list(named_classes(table)) == ["mod:Class", "a.b.c:D"]


def test_what_is_installed(module):
    """Python, installed packages and milpcb are; the folder is not; what is not there has no file."""
    for name in ("json:dumps", "numpy.linalg:norm", "policies:DecisionTrees", "milpcb.learners.comparators:Uniform"):
        assert is_installed_file(source_file(name)), name
    assert not is_installed_file(source_file(module))
    assert source_file("no_such_module:X") is None
    assert source_file("my_pack.deep.down:x") == Path("my_pack/deep/down.py").resolve()
    assert source_file("policies:X") == Path(policies.__file__)
    assert source_file("numpy:X") == Path(np.__file__)
    assert fingerprints.source_file("my_pack.nothing:x") is None
