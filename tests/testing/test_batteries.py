"""Every registered policy class, solver, learner and environment passes its battery; what is wrong is caught."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from milpcb import extras, registry, testing
from milpcb.environments.planted import Planted
from milpcb.environments.replay import Replay
from milpcb.errors import InputError, OracleInexact, UnknownNameError
from milpcb.learners import BistroPlus, ContextualFTPL, Doubling, Exp4
from milpcb.protocols import Objective
from milpcb.solvers import describe_all, load_solver
from milpcb.solvers.highs import Highs, HighsSession
from milpcb.testing.instances import BUILTIN, Instance, instances
from milpcb.testing.problems import violation
from milpcb.types import Solution, Stop
from policies import FiniteClass, ThresholdRules
from policies.thresholds.policy_class import OpenedThresholds
from policies.thresholds.program import ThresholdEncoding

# These solvers come with the package: where one of them cannot run, that is a failure and no skip.
MUST_RUN = {"highs", "pulp:PULP_CBC_CMD", "scipy"}
# The instances of linear rules where a rule can be more than one action, and those of three ordered actions, where only
# the reverse of a rule is one as well.
OF_THREE = ("binary, three actions", "integers, three actions, one feature", "reals, three actions", "one column")
SCORED = (
    *("binary", "binary, two features", "integers", "reals", "reals, given cuts", "mixed", "a line"),
    *("columns alike", "columns alike, two features", *OF_THREE),
)
# Laws that a class, or an instance of it, does not follow, by its definition. Any other skip is a failure, and so is a
# law of this table that is followed: that a class lost a capability would otherwise be a skip like these.
UNMET = {
    "decision_trees": {  # limits are kept by a search that keeps no totals
        "leaves of two rows: terms",
        "one feature: terms",
        "three leaves: terms",
    },
    "linear_rules": {  # only rules that are one action are printed without points
        "terms",
        *(f"{instance}: printed rules" for instance in SCORED),
        *(f"{instance}: renamed actions" for instance in OF_THREE),
    },
    "halfspaces": {"search", "action weights", "terms", "forbidden cells", "side rows", "source code", "printed rules"},
    "monotone_rules": {  # actions are ordered; the sum is #P-hard
        "action weights",
        "terms",
        "side rows",
        "binary, two actions: renamed actions",
        "binary, three actions: renamed actions",
        "reals, two actions: renamed actions",
        "reals, three actions: renamed actions",
        "reals, given cuts: renamed actions",
        "mixed, quantiles: renamed actions",
    },
    "finite_class": {"terms", "source code", "printed rules", "equal rows differ: renamed actions"},
}
# The only checks of a learner that may be skipped: full information has no unplayed costs, some ask no oracle.
LEARNER_UNMET = {
    "hedge": {"unplayed costs"},
    "uniform": {"capability"},
    "best_in_hindsight": {"capability"},
    "vw": {"capability"},
    "contextualbandits": {"capability"},
}


def policy_checks():
    """One parameter for each check of each registered policy class."""
    for name in registry.names("policies"):
        for check in testing.battery("policies", name):
            yield pytest.param(name, check, id=f"{name}, {check}")


def solver_checks():
    """One parameter for each check of each solver; one for all checks of a solver that cannot run here."""
    for info in describe_all():
        if info.missing and info.name not in MUST_RUN:
            yield pytest.param(None, id=info.name, marks=pytest.mark.skip(reason=f"solver {info.missing}"))
            continue
        for check in testing.battery("solver", info.name):
            yield pytest.param(check, id=f"{info.name}, {check}")


def learner_checks():
    """One parameter for each check of each registered learner, and of some by other roads through them."""
    entries = {name: name for name in registry.names("learner")} | {
        "doubling in short phases": partial(Doubling, first=7),
        "doubling of exp4": partial(Doubling, inner="exp4", first=7),
        "exp4 anytime": partial(Exp4, rate="anytime"),
        "exp4 adaptive": partial(Exp4, rate="adaptive"),
        "exp4 certified": partial(Exp4, rate="certified"),
        "ftpl adaptive": partial(ContextualFTPL, epsilon="adaptive"),
        "ftpl adaptive by argmin": partial(ContextualFTPL, epsilon="adaptive", queries="argmin"),
        "ftpl adaptive in whole numbers": partial(ContextualFTPL, epsilon="adaptive", law="whole"),
        "doubling of ftpl": partial(Doubling, inner="ftpl", first=7),
        "bistro_plus by argmin": partial(BistroPlus, queries="argmin", noise="half", draws=2),
        "bistro_plus signed": partial(BistroPlus, queries="profile", noise="signed"),
        "bistro_plus signed by argmin": partial(BistroPlus, queries="argmin", noise="signed", draws=2),
    }
    for name, entry in entries.items():
        if name in extras.absent():
            skip = pytest.mark.skip(reason=f"the extra '{name}' is not installed")
            yield pytest.param(name, None, id=name, marks=skip)
            continue
        for check in testing.battery("learner", entry):
            yield pytest.param(name, check, id=f"{name}, {check}")


def environment_checks():
    """One parameter for each check of each registered environment but those that need files or an extra.

    These have tests of their own.
    """
    for name in registry.names("environment"):
        for check in testing.battery("environment", name) if name not in ("replay", "coba") else ():
            yield pytest.param(check, id=f"{name}, {check}")


def unmet(name, check):
    """Tell whether the tables say that a class or learner does not follow a law."""
    return not {*UNMET.get(name, ()), *LEARNER_UNMET.get(name, ())}.isdisjoint({check.id, law(check)})


def law(check):
    """Return the name of a check without that of the instance."""
    return check.id.rpartition(": ")[2]


def run(name, check):
    """Run a check; what is said to be unmet is skipped, and must be."""
    try:
        check.run()
    except testing.Unmet as reason:
        if not unmet(name, check):
            pytest.fail(f"must not be skipped: {reason}")
        pytest.skip(str(reason))
    assert not unmet(name, check), "it is followed now: take it off the table"


@pytest.mark.parametrize(("name", "check"), list(policy_checks()))
def test_policy_class(name, check):
    """A registered policy class follows the law on its small instances, but for those of a table."""
    run(name, check)


@pytest.mark.parametrize("name", UNMET)
def test_every_exception_is_of_a_check(name):
    """Nothing in the table names a check that there is not."""
    checks = testing.battery("policies", name)
    assert UNMET[name] <= {check.id for check in checks} | {law(check) for check in checks}


@pytest.mark.parametrize("check", list(solver_checks()))
def test_solver(check):
    """A solver that can run here keeps the promises of a solver."""
    check.run()


@pytest.mark.parametrize(("name", "check"), list(learner_checks()))
def test_learner(name, check):
    """A registered learner keeps the contract."""
    run(name, check)


@pytest.mark.parametrize("check", list(environment_checks()))
def test_environment(check):
    """A registered environment, with its default settings, keeps the contract."""
    check.run()


def test_a_made_environment_is_an_entry(tmp_path):
    """Settings without a default are given by handing over the environment; by its name alone it is explained."""
    rng, paths = np.random.default_rng(0), [str(tmp_path / name) for name in ("contexts.csv", "costs.csv")]
    for path, table in zip(paths, (rng.random((250, 2)), rng.random((250, 3))), strict=True):
        np.savetxt(path, table, delimiter=",")
    assert testing.run_all("environment", Replay(*paths)) == []
    assert testing.run_all("environment", Planted(n_actions=2, n_contexts=5)) == []
    with pytest.raises(InputError, match="hand over a made one"):
        testing.battery("environment", "replay")


def test_the_solvers_of_the_core_run_here():
    """No solver that comes with the package is missing."""
    assert {info.name for info in describe_all() if not info.missing} >= MUST_RUN


# ------------------------------------------------------------------- the entry points


def test_a_missing_solver_is_a_skip_with_the_way_out():
    """Every check of a solver that cannot run here is skipped with its advice, none fails."""
    missing = next(info.name for info in describe_all() if info.missing)
    skipped = testing.run_all("solver", missing)
    assert len(skipped) == len(testing.battery("solver", missing))
    assert "install" in skipped[0]


def test_made_objects_are_entries_too():
    """A solver or an instance can be handed over as it is."""
    assert testing.run_all("solver", load_solver("highs")) == []
    instance = Instance("all of two contexts", FiniteClass(np.indices((2, 2)).reshape(2, -1).T, 2), np.eye(2))
    skipped = testing.run_all("policies", instance)
    assert {each.split(": ")[1] for each in skipped} == {"terms", "source code", "printed rules"}  # a list has none


@pytest.mark.parametrize(("kind", "entry"), [("policy", "decision_trees"), ("policies", "decision_tree")])
def test_unknown_names_are_explained(kind, entry):
    """A kind without a battery, and an entry that is not registered, name the nearest one."""
    with pytest.raises(UnknownNameError, match="did you mean"):
        testing.battery(kind, entry)


def test_a_class_that_cannot_be_made_by_itself_needs_instances(monkeypatch):
    """A class with further required arguments and no small() is an error that says what to add."""
    monkeypatch.delitem(BUILTIN, "finite_class")
    with pytest.raises(InputError, match=r"class method small\(\)"):
        instances("finite_class")


@pytest.mark.parametrize("name", ["decision_trees", "threshold_rules"])
def test_a_class_made_by_its_number_of_actions_needs_nothing(monkeypatch, name):
    """Without instances of its own a class is tried on the common contexts."""
    monkeypatch.delitem(BUILTIN, name)
    assert [instance.policies.n_actions for instance in instances(name)] == [2, 3]


# ------------------------------------------------------------------- what is wrong is caught


class Wrong(HighsSession):
    """HiGHS with one mistake."""

    mistake = staticmethod(lambda solution: solution)

    def solve(self, objective, **options):
        """Solve, then spoil the answer."""
        return self.mistake(super().solve(objective, **options))


def solver_with(mistake):
    """A solver whose every solution goes through ``mistake``."""
    session = type("Mistaken", (Wrong,), {"mistake": staticmethod(mistake)})

    class Solver(Highs):
        def open(self, program, *, relax=False):
            return session(program, mip=bool(program.integer.any()) and not relax)

    return Solver()


@pytest.mark.parametrize(
    "mistake",
    [
        lambda s: replace(s, bound=s.bound + 0.5),
        lambda s: replace(s, bound=s.bound - 0.5),
        lambda s: replace(s, objective=s.objective + 0.5),
        lambda s: replace(s, stop=Stop.OPTIMAL),
        lambda s: replace(s, x=None),
        lambda s: s if s.x is None else replace(s, x=s.x + 0.01),
        lambda _: Solution(Stop.UNKNOWN, np.inf, -np.inf),
    ],
)
def test_a_wrong_solver_fails_its_battery(mistake):
    """A solver that misreports its bound, value, status or point is caught, and the check is named."""
    with pytest.raises(AssertionError) as caught:
        testing.run_all("solver", solver_with(mistake))
    assert any(note.startswith("solver, check '") for note in caught.value.__notes__)


def test_a_solver_that_drops_integrality_fails_its_battery():
    """Solving the relaxation of everything is caught."""

    class Relaxing(Highs):
        def open(self, program, **_):
            return super().open(program, relax=True)

    with pytest.raises(AssertionError):
        testing.run_all("solver", Relaxing())


def test_a_solver_that_remembers_an_objective_fails_its_battery():
    """A session that ignores what the second query asks is caught."""

    class Stuck(HighsSession):
        asked = None

        def solve(self, objective, **options):
            self.asked = objective if self.asked is None else self.asked
            return super().solve(self.asked, **options)

    class Solver(Highs):
        def open(self, program, *, relax=False):
            return Stuck(program, mip=bool(program.integer.any()) and not relax)

    with pytest.raises(AssertionError):
        testing.run_all("solver", Solver())


class AddsNoRows(HighsSession):
    """HiGHS that does not hear of rows added later."""

    def add_rows(self, matrix, lower, upper):
        """Do nothing."""


class AddsUpperBounds(HighsSession):
    """HiGHS that forgets what added rows must at least be."""

    def add_rows(self, matrix, lower, upper):
        """Add half of the row."""
        super().add_rows(matrix, np.full(len(lower), -np.inf), upper)


class AddsOnce(HighsSession):
    """HiGHS that takes one row, and no further ones."""

    taken = False

    def add_rows(self, matrix, lower, upper):
        """Add the first row."""
        if not self.taken:
            self.taken = True
            super().add_rows(matrix, lower, upper)


class KeepsTheIncumbent(HighsSession):
    """HiGHS that returns its last point where added rows leave none."""

    last = None

    def solve(self, objective, **options):
        """Answer with what was found before, if there is no answer."""
        found = super().solve(objective, **options)
        if found.x is not None:
            self.last = found
        return self.last if found.stop is Stop.INFEASIBLE and self.last else found


@pytest.mark.parametrize("session", [AddsNoRows, AddsUpperBounds, AddsOnce, KeepsTheIncumbent])
def test_a_solver_that_loses_added_rows_fails_its_battery(session):
    """Whatever a session does with added rows but to keep them is caught."""

    class Solver(Highs):
        def open(self, program, *, relax=False):
            return session(program, mip=bool(program.integer.any()) and not relax)

    with pytest.raises(AssertionError) as caught:
        testing.run_all("solver", Solver())
    assert any("rows" in note or "cut off" in note for note in caught.value.__notes__)


class TrustsTheStart(HighsSession):
    """HiGHS that returns the start that it is given as the optimum."""

    def solve(self, objective, *, start=None, **options):
        """Answer with the start."""
        if start is None:
            return super().solve(objective, **options)
        return Solution(Stop.OPTIMAL, float(objective @ start), float(objective @ start), start)


class StopsAtTheStart(HighsSession):
    """HiGHS that takes what the start costs for a lower bound, where it keeps the rows."""

    def solve(self, objective, *, start=None, **options):
        """Answer with the start, or the solution where it is no better."""
        found = super().solve(objective, **options)
        kept = start is not None and found.x is not None and violation(self.program, start) <= 1e-6
        return Solution(Stop.OPTIMAL, float(objective @ start), float(objective @ start), start) if kept else found


class NeedsAStart(HighsSession):
    """HiGHS that finds nothing where its start breaks the rows."""

    def solve(self, objective, *, start=None, **options):
        """Answer that there is no point."""
        if start is None or violation(self.program, start) <= 1e-6:
            return super().solve(objective, **options)
        return Solution(Stop.INFEASIBLE, np.inf, -np.inf)


@pytest.mark.parametrize("session", [TrustsTheStart, StopsAtTheStart, NeedsAStart])
def test_a_solver_that_trusts_a_start_fails_its_battery(session):
    """A start that is taken for more than a point to begin at is caught."""

    class Solver(Highs):
        def open(self, program, *, relax=False):
            opened = session(program, mip=bool(program.integer.any()) and not relax)
            opened.program = program
            return opened

    with pytest.raises(AssertionError) as caught:
        testing.run_all("solver", Solver())
    assert any("start" in note for note in caught.value.__notes__)


def thresholds_with(**instead):
    """A class of threshold rules that opens with some methods replaced."""
    opened = type("Wrong", (OpenedThresholds,), instead)

    class Rules(ThresholdRules):
        def _on(self, contexts, names):
            right = super()._on(contexts, names)
            right.__class__ = opened
            for name in instead.keys() & vars(right).keys():
                delattr(right, name)
            return right

    return Instance("wrong", Rules(2), np.arange(3.0)[:, None])


def test_a_wrong_cost_map_fails_the_battery():
    """A class whose program prices one context wrongly is caught."""

    class Encoding(ThresholdEncoding):
        def objective(self, costs):
            return Objective(super().objective(costs * np.linspace(1.0, 1.1, len(costs))[:, None]).coefficients)

    def program(self, *, constrained=False):
        del constrained
        return Encoding(self._bins, self.n_actions, self._max_cuts, self._names)

    with pytest.raises((AssertionError, OracleInexact)):
        testing.run_all("policies", thresholds_with(program=program))


def test_a_policy_outside_the_class_fails_the_battery():
    """A class that lists fewer policies than its program holds is caught."""

    def policies(self):
        return (rule for rule in OpenedThresholds.policies(self) if str(rule) != "play action 0")

    with pytest.raises(AssertionError):
        testing.run_all("policies", thresholds_with(policies=policies))


def test_a_search_that_is_declared_and_fails_is_no_skip():
    """What a class declares it must do: an error of its search is an error of its battery."""

    def search(_):
        raise InputError("broken")

    with pytest.raises(InputError, match="broken"):
        testing.run_all("policies", thresholds_with(search=search))


def test_a_class_may_declare_that_it_has_no_search():
    """Then the checks of the search are skipped, with the class's own reason."""
    instance = thresholds_with(can=frozenset({"program", "policies"}), cannot={"search": "too hard"})
    skipped = testing.run_all("policies", instance)
    assert len(skipped) == 5  # no weights, no terms, no side rows and no forbidden cells either
    assert "search: too hard" in skipped[0]


# ------------------------------------------------------------------- third parties

PLUGIN = Path(__file__).parents[1] / "plugin"
BATTERY = """
from milpcb import registry, testing
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
    undeclared = {"terms", "side rows", "json", "source code", "printed rules"}  # by the class
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
from milpcb import open_oracle, registry
rules = registry.load("policies", "constant_rules")(n_actions=3)
oracle = open_oracle(rules, [[0.0], [1.0]], kind="audited", solver="fresh:highs", audit=1)
print(oracle.value([[1, 0, 4], [1, 3, 0]]), oracle.minimise([[1, 0, 4], [1, 3, 0]]).policy)
"""
    assert run_python(installed, "-c", program).strip() == "2.0 play action 0"


def test_a_plug_in_with_a_name_that_is_taken_is_refused(monkeypatch):
    """Two owners of one name are an error that names both."""
    from importlib.metadata import EntryPoint

    taken = EntryPoint("highs", "somebody.else:Highs", "milpcb.solver")
    monkeypatch.setattr("milpcb.registry.entry_points", lambda **_: [taken])
    registry._table.cache_clear()
    try:
        with pytest.raises(InputError, match=r"registered twice: by milpcb\.solvers\.highs:Highs and somebody\.else"):
            registry.names("solver")
    finally:
        registry._table.cache_clear()
