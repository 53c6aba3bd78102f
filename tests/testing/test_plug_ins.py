"""Classes and solvers of other packages, known by their entry points alone, get the same battery."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from milpcb import testing
from milpcb.errors import InputError
from milpcb.learners import Learner
from milpcb.plugins import registry
from tests.inside import find_plug_ins_again

PLUGIN = Path(__file__).parents[1] / "plugin"
BATTERY = """
from milpcb import testing
from milpcb.plugins import registry
for kind, name in (("policies", "constant_rules"), ("solver", "fresh:highs")):
    assert name.partition(":")[0] in registry.names(kind), registry.names(kind)
    for check in testing.battery(kind, name):
        try:
            check.run()
        except testing.Unmet as reason:
            print("skipped", kind, name, check, reason, sep="|")
        else:
            print("passed", kind, name, check, sep="|")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment in which the plug-in is installed: its modules and its entry points are on the path."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = tmp_path_factory.mktemp("site")
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in points.items())])
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n", encoding="utf-8")
    root = Path(__file__).parents[2]
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (site, PLUGIN, root))), "COLUMNS": "150"}


def run_python(environment, *arguments):
    """Run this Python; return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_plug_in_gets_the_same_battery(installed):
    """A third party's class and solver, known by their entry points alone, run through every check."""
    lines = [line.split("|") for line in run_python(installed, "-c", BATTERY).splitlines()]
    passed = {(kind, check) for verdict, kind, _, check, *_ in lines if verdict == "passed"}
    assert {check.id for check in testing.battery("solver", "highs")} == {
        check for kind, check in passed if kind == "solver"
    }
    laws = {check.partition(": ")[2] for kind, check in passed if kind == "policies"}
    every = {check.id.partition(": ")[2] for check in testing.battery("policies", "decision_trees")}
    undeclared = {"terms", "side constraints", "json", "source code", "printed rules"}  # by the class
    assert laws == every - undeclared
    assert {line[3].partition(": ")[2] for line in lines if line[0] == "skipped"} == undeclared


@pytest.mark.parametrize("command", ["list", "solvers"])
def test_the_command_line_shows_a_plug_in(installed, command):
    """The names of a plug-in stand beside the built-in ones."""
    shown = run_python(installed, "-m", "milpcb.cli", command)
    assert "fresh" in shown
    assert command == "solvers" or "constant_rules" in shown


def test_a_plug_in_is_used_by_name(installed):
    """A plug-in's class and solver work together through the oracle, by their names."""
    program = """
from milpcb import open_oracle
from milpcb.plugins import registry
rules = registry.load("policies", "constant_rules")(n_actions=3)
oracle = open_oracle(rules, [[0.0], [1.0]], kind="audited", solver="fresh:highs", audit=1)
print(oracle.value([[1, 0, 4], [1, 3, 0]]), oracle.minimise([[1, 0, 4], [1, 3, 0]]).policy)
"""
    assert run_python(installed, "-c", program).strip() == "2.0 play action 0"


def test_a_plug_in_with_a_name_that_is_taken_is_refused(monkeypatch):
    """Two owners of one name are an error that names both."""
    from importlib.metadata import EntryPoint

    taken = EntryPoint("highs", "somebody.else:Highs", "milpcb.solver")
    monkeypatch.setattr("milpcb.plugins.registry.entry_points", lambda **_: [taken])
    find_plug_ins_again()
    try:
        with pytest.raises(InputError, match=r"registered twice: by milpcb\.solvers\.highs:Highs and somebody\.else"):
            registry.names("solver")
        assert issubclass(registry.load("learner", "exp4"), Learner)  # other kinds are not concerned
    finally:
        find_plug_ins_again()
