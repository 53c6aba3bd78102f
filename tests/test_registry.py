"""The registry: one table of names, and nothing is called that does not fit the interface of its kind."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import policies
from milpcb import testing
from milpcb.errors import InputError, UnknownNameError
from milpcb.experiments.results.figures import draw
from milpcb.plugins import local_classes, registry
from policies.rule import Rule
from tests.inside import find_plug_ins_again
from tests.refused import refused


@pytest.fixture
def folder(tmp_path):
    """Return a folder that ``module:Class`` is looked for in, until the test is over."""
    local_classes.look_in(tmp_path)
    yield tmp_path
    local_classes.look_in(None)


@pytest.fixture
def third_party(monkeypatch, folder):
    """Return ``third_party(kind, name, value)``: make an entry point, as an installed package would."""
    added: list[EntryPoint] = []
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(
        "milpcb.plugins.registry.entry_points", lambda group: [point for point in added if point.group == group]
    )

    def add(kind, name, value):
        added.append(EntryPoint(name, value, f"milpcb.{kind}"))
        find_plug_ins_again()

    yield add
    find_plug_ins_again()


def refusal(kind, name):
    """Return the one line that a name is refused with."""
    with pytest.raises(InputError) as caught:
        registry.load(kind, name)
    return str(caught.value)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in registry.KINDS for name in registry.names(kind)])
def test_every_entry_fits_the_interface_of_its_kind(kind, name):
    """Every registered name loads, which checks it."""
    assert registry.load(kind, name) is registry.load(kind, name)
    assert name in registry.entries(kind)


def test_every_public_class_and_every_rule_has_a_name():
    """Classes of policies/ can be named in a config, and every rule of a class can be read back from JSON."""
    exported = {getattr(policies, name) for name in policies.__all__} - {policies.ListedRules, policies.from_json}
    assert exported == {registry.load("policies", name) for name in registry.names("policies")}
    modules = {f"policies.{file.parent.name}.rule" for file in Path(policies.__file__).parent.glob("*/rule.py")}
    rules = {
        entry
        for module in modules
        for entry in vars(import_module(module)).values()
        if isinstance(entry, type) and issubclass(entry, Rule) and entry.__module__ == module
    }
    written = {registry.load("policy", name) for name in registry.names("policy")}
    assert rules <= written
    assert {cls.__name__: cls for cls in written} == {
        name: registry.load("policy", name) for name in registry.names("policy")
    }


def test_what_lies_in_the_current_folder_is_not_installed(tmp_path, monkeypatch):
    """With the current folder on the path of imports, an entry point there adds no name; of a folder beside it does."""
    for name in ("here", "beside"):
        info = tmp_path / name / f"{name}-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[milpcb.policy]\n{name} = {name}:X\nDecisionTree = {name}:X\n")
        (tmp_path / name / f"{name}.py").write_text(
            "import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch()"
        )
    monkeypatch.chdir(tmp_path / "here")
    for entry in ("", ".", str(tmp_path / "here"), str(tmp_path / "beside/../here")):
        monkeypatch.setattr("sys.path", [entry, *sys.path])
        find_plug_ins_again()
        assert "here" not in registry.entries("policy")
    monkeypatch.setattr("sys.path", [str(tmp_path / "beside"), *sys.path])
    find_plug_ins_again()
    assert registry.load("policy", "DecisionTree") is policies.trees.DecisionTree  # milpcb's own come first
    line = "'DecisionTree' is registered twice: by policies.trees:DecisionTree and b"
    refused(lambda: "beside" in registry.entries("policy"), line)
    assert not list(tmp_path.rglob("*.ran"))
    find_plug_ins_again()


def test_importing_the_registry_imports_nothing_else():
    """Only the errors and the standard library; that is what lets every part import it."""
    program = (
        "import sys, types\n"
        "sys.modules['milpcb'] = types.ModuleType('milpcb')\n"
        "sys.modules['milpcb'].__path__ = [sys.argv[1]]\n"
        "import milpcb.plugins.registry\n"
        "own = {'__main__', *sys.stdlib_module_names}\n"
        "print(*sorted(n for n in sys.modules if n.partition('.')[0] not in own and "
        "not n.startswith('_sysconfigdata')))"
    )
    package = str(registry.__file__).rpartition("/plugins/")[0]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, package], capture_output=True, text=True, check=True
    )
    own = ["core", "core.gate", "core.surroundings", "errors", "plugins"]
    own += [f"plugins.{name}" for name in ("local_classes", "registry")]
    assert done.stdout.split() == ["milpcb", *map("milpcb.{}".format, own)]


def test_a_third_party_adds_a_figure_a_command_and_a_battery(third_party, folder):
    """One entry point each; figures are drawn with all, commands are found, batteries run."""
    (folder / "theirs.py").write_text(
        "import click\n"
        "from milpcb.experiments.results.figures.drawing import Drawing\n"
        "from milpcb.testing import Check\n"
        "def nothing(results) -> list[Drawing]:\n    '''Draw nothing at all.'''\n    return []\n"
        "@click.command()\ndef hello() -> None:\n    '''Greet.'''\n    click.echo('hello')\n"
        "def battery(entry) -> list[Check]:\n    return [Check(f'of {entry}', lambda: None)]\n"
    )
    third_party("figure", "nothing", "theirs:nothing")
    third_party("command", "hello", "theirs:hello")
    third_party("battery", "relaxation", "theirs:battery")

    class Results:
        title = "a study"

    refused(lambda: list(draw(Results(), ["nothing"])), "figure 'nothing' has nothing to draw of a study: Draw nothing")
    assert list(registry.entries("figure"))[-1] == "nothing"
    assert registry.load("command", "hello").name == "hello"
    assert testing.run_all("relaxation", "paper") == []
    line = "unknown battery 'relaxatio'; did you mean 'relaxation'"
    refused(lambda: testing.battery("relaxatio", "paper"), line, error=UnknownNameError)


FOREIGN = {
    "a function": ("environment", "click:edit", "is a function, and must be a class"),
    "a class of something else": ("environment", "click:Command", "without action_names, feature_names, n_actions"),
    "a class that does not inherit": ("policies", "click:Command", "does not inherit from milpcb.protocols:PolicyC"),
    "a learner for a class": ("policies", "milpcb.learners:Uniform", "does not inherit from milpcb.protocols:Polic"),
    "a backend": ("backend", "click:Command", "without map"),
    "a module for a constraint": ("constraint", "click:core", "is a module, and must be a function"),
    "the standard library": ("environment", "os:system", "module os is Python's own"),
    "no module": ("environment", ":x", "write module:Class"),
    "no attribute": ("environment", "click:nothing", "click/__init__.py has no 'nothing'"),
    "nowhere": ("environment", "not_there_at_all:X", "No module named 'not_there_at_all'"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_what_is_not_what_it_must_be_is_refused_before_it_is_called(case):
    """The line says what it is, and what it must be."""
    kind, name, message = FOREIGN[case]
    assert message in refusal(kind, name)


OWN = {
    "syntax error": ("class X(:\n", "mine.py, line 1: SyntaxError"),
    "error at import": ("a = 1\n1 / 0\n", "mine.py, line 2: ZeroDivisionError: division by zero"),
    "error in a helper": ("import helper\n", "helper.py, line 3: KeyError: 'x'"),
    "exit at import": ("import sys\nsys.exit(3)\n", "mine.py, line 2: SystemExit: 3"),
    "function": ("def X(): pass\n", "is a function, and must be a class"),
    "unfinished": (
        "from milpcb.learners import Learner\nclass X(Learner):\n def _act(self, row): pass\n",
        "is not finished: ",
    ),
}


@pytest.mark.parametrize("case", OWN)
def test_a_mistake_in_a_class_of_ones_own_is_a_line_with_its_place(case, folder):
    """File and line where there is one; Python goes on."""
    source, message = OWN[case]
    (folder / "mine.py").write_text(source)
    (folder / "helper.py").write_text("\n\n{}['x']\n")
    assert message in refusal("learner", "mine:X")


def test_another_folder_has_modules_of_its_own(tmp_path):
    """Two configs in two folders may each have a module of the same name; the first's is not taken for the second's."""
    try:
        for number in (1, 2):
            place = tmp_path / str(number)
            place.mkdir()
            (place / "mine.py").write_text(
                f"from milpcb.learners import Uniform\nclass X(Uniform):\n    number = {number}\n"
            )
            local_classes.look_in(place)
            assert registry.load("learner", "mine:X").number == number
    finally:
        local_classes.look_in(None)
    assert "mine" not in refusal("learner", "mine:Y").partition("named")[0].replace("'mine:Y'", "")


def test_the_folder_is_seen_only_while_a_name_is_resolved(folder):
    """Registered names do not look there, and nothing of it stays on the path."""
    (folder / "cplex.py").write_text("raise SystemExit('run')\n")
    before = list(sys.path)
    for name in registry.names("solver"):
        registry.load("solver", name).describe()
    assert sys.path == before
    assert str(folder) not in before


def test_only_registered_names_are_installed():
    """A module:Class name is not, whatever it leads to; nothing is imported to find out."""
    assert "milpcb.learners:Uniform" not in registry.entries("learner")
    assert "uniforms" not in registry.entries("learner")
