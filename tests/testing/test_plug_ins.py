"""Classes and solvers of other packages, known by their entry points alone, get the same battery."""

import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from milpcb import open_oracle, testing
from milpcb.cli import cli
from milpcb.errors import InputError
from milpcb.learners import Learner
from milpcb.plugins import registry
from tests.inside import find_plug_ins_again

PLUGIN = Path(__file__).parents[1] / "plugin"


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Put the modules of the plug-in and its entry points on the path, as installing it does."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = tmp_path_factory.mktemp("site")
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in points.items())])
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        for place in (site, PLUGIN):
            patch.syspath_prepend(str(place))
        find_plug_ins_again()
        yield
    find_plug_ins_again()


def test_a_class_of_a_plug_in_gets_the_same_battery() -> None:
    """All laws that it does not declare to be without; these are skipped."""
    skipped = {line.split(": ")[1] for line in testing.run_all("policies", "constant_rules")}
    laws = {check.id.partition(": ")[2] for check in testing.battery("policies", "constant_rules")}
    assert skipped == {"terms", "side constraints", "json", "source code", "printed rules"}
    assert laws == {check.id.partition(": ")[2] for check in testing.battery("policies", "decision_trees")}


def test_a_solver_of_a_plug_in_gets_the_same_battery() -> None:
    """Nothing is skipped."""
    assert testing.run_all("solver", "fresh:highs") == []


@pytest.mark.parametrize(("command", "names"), [("list", ("fresh", "constant_rules")), ("solvers", ("fresh",))])
def test_the_command_line_shows_a_plug_in(command: str, names: tuple[str, ...]) -> None:
    """The names of a plug-in stand beside the built-in ones."""
    shown = CliRunner().invoke(cli, [command]).output
    assert all(name in shown for name in names)


def test_a_plug_in_is_used_by_name() -> None:
    """A plug-in's class and solver work together through the oracle, by their names."""
    rules = registry.load("policies", "constant_rules")(n_actions=3)
    options: dict[str, Any] = {"kind": "audited", "solver": "fresh:highs", "audit": 1}
    answer = open_oracle(rules, [[0.0], [1.0]], **options).minimise([[1, 0, 4], [1, 3, 0]])
    assert (answer.value, str(answer.policy)) == (2.0, "play action 0")


def test_a_plug_in_with_a_name_that_is_taken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two owners of one name are an error that names both."""
    taken = EntryPoint("highs", "somebody.else:Highs", "milpcb.solver")
    monkeypatch.setattr("milpcb.plugins.registry.entry_points", lambda **_: [taken])
    find_plug_ins_again()
    try:
        with pytest.raises(InputError, match=r"registered twice: by milpcb\.solvers\.highs:Highs and somebody\.else"):
            registry.names("solver")
        assert issubclass(registry.load("learner", "exp4"), Learner)  # other kinds are not concerned
    finally:
        monkeypatch.undo()
        find_plug_ins_again()
