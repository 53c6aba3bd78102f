"""The core without the extra 'studies': what a service imports runs, and what needs the extra says so in one line."""

import tomllib
from pathlib import Path

import pytest

from milpcb.errors import EXTRAS, ExtraMissingError
from tests.processes import Ended, one_by_one

CORE = {"numpy", "scipy", "highspy", "pulp", "numba", "networkx"}
MODULE_OF = {"scikit-learn": "sklearn", "tomli-w": "tomli_w"}  # where a package and its module differ in name
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"

WITHOUT = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRAS["studies"])!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""

IMPORT_ALL = """
from importlib import import_module
from pkgutil import walk_packages
import milpcb, policies

STUDIES = ("milpcb.experiments", "milpcb.commands", "milpcb.cli", "milpcb.estimators", "milpcb.logs")
for package in (milpcb, policies):
    for module in walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.startswith(STUDIES):
            import_module(module.name)
"""

ONE_ROUND = """
import milpcb, numpy as np
from milpcb import FinitePool, LabelConstraint, open_oracle
from milpcb.plugins import registry
from milpcb.learners import BistroPlus, Exp4
from policies import DecisionTrees

contexts, costs = np.eye(3), np.arange(6.0).reshape(3, 2) % 4
trees = DecisionTrees(2, depth=1)
for kind in ("milp", "search", "enumeration", "audited"):
    assert open_oracle(trees, contexts, kind=kind).value(costs) == open_oracle(trees, contexts).minimise(costs).value
for solver in ("highs", "scipy", "pulp:PULP_CBC_CMD"):
    assert open_oracle(trees, contexts, solver=solver).value(costs) == open_oracle(trees, contexts).value(costs)
rule = LabelConstraint(np.tile([0.0, 1.0], (3, 1)), 1)
print(open_oracle(trees, contexts, constraints=[rule]).minimise(costs).policy)
oracle = open_oracle(trees, contexts, kind="search")
for learner in (BistroPlus(oracle, FinitePool(contexts), horizon=9, seed=0), Exp4(oracle, horizon=9)):
    q = learner.act(0)
    learner.learn(0, 1, 1.0, q[1])
    print(learner.guarantee())
plays = milpcb.play("planted", ["exp4", "uniform"], 20, policies=DecisionTrees(3, depth=1))
print(plays)
"""

PLAYED = "import milpcb, policies; milpcb.play('planted', 'uniform', 9, policies=policies.DecisionTrees(3, depth=1))"
NEEDS = {  # code, and what its error names
    "import milpcb; milpcb.load": "milpcb.load",
    "from milpcb import load": "milpcb.load",
    f"{PLAYED}.frame()": "frame()",
    f"{PLAYED}.plot('x.png')": "plot()",
    "from milpcb.environments.recorded import Supervised; Supervised().n_actions": "the environment 'supervised'",
    "from milpcb.data.tables import read_table; from pathlib import Path; read_table(Path('x.parquet'))": "x.parquet",
    "import milpcb.estimators": "milpcb.estimators",
}
EACH = f"""
for code in {list(NEEDS)!r}:
    try:
        exec(code, {{}})
        print("no error")
    except ImportError as error:
        print(f"{{type(error).__module__}}.{{type(error).__name__}}: {{error}}")
"""

COMMANDS = """
import sys
for sys.argv[1:] in ([], ["--help"], ["list"], ["run", "study.toml"]):
    try:
        from milpcb.__main__ import main
        main()
    except SystemExit as ended:
        print(ended.code)
"""


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """Return how programs end where the extra is missing, in processes that have imported milpcb and the policies."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "x.parquet").touch()
    parts = {
        "modules": IMPORT_ALL,
        "round": ONE_ROUND,
        "needs": f"import os; os.chdir({str(folder)!r})\n{EACH}",
        "commands": COMMANDS,
    }
    return dict(zip(parts, one_by_one(f"{WITHOUT}\nimport milpcb, policies", *parts.values()), strict=True))


def test_pyproject_says_which_packages_are_core_and_which_extra() -> None:
    """The core needs six packages, and milpcb.errors knows the modules of the extra."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    assert {named(line) for line in project["dependencies"]} == CORE
    for extra, modules in EXTRAS.items():
        assert {named(line) for line in project["optional-dependencies"][extra]} == modules


def named(requirement: str) -> str:
    """Return the module that a requirement brings."""
    package = requirement.partition(">")[0]
    return MODULE_OF.get(package, package)


@pytest.mark.parametrize("part", ["modules", "round"])
def test_the_core_runs_without_the_extra(part: str, without: dict[str, Ended]) -> None:
    """All but studies is imported; every kind of oracle answers, learners play a round, and milpcb.play plays."""
    assert without[part].returncode == 0, without[part].stderr


def test_a_service_loads_nothing_of_the_extra() -> None:
    """Where the extra is installed, importing what a service imports and playing a round still loads none of it.

    The package and the policies load no learner, nor what these and programs need: it would be half of an import.
    """
    begin = "import sys, milpcb, policies\nearly = {'milpcb.learners', 'scipy', 'numba'} & {*sys.modules}"
    end = f"sys.exit(str(early | {EXTRAS['studies']} & set(sys.modules)))"
    (done,) = one_by_one("", f"{begin}\n{ONE_ROUND}\n{end}")
    assert done.stderr.splitlines()[-1] == "set()"  # a slow machine gets a line of progress before it


def test_what_needs_an_extra_says_so(without: dict[str, Ended]) -> None:
    """The error names what was asked for and the pip line, and is an ImportError too."""
    lines = without["needs"].stdout.splitlines()
    for line, what in zip(lines, NEEDS.values(), strict=True):
        extra = "learn" if what == "milpcb.estimators" else "studies"
        assert line.startswith("milpcb.errors.ExtraMissingError: ")
        assert what in line
        assert line.endswith(f"needs the extra '{extra}': pip install '.[{extra}]' in the clone")
    assert issubclass(ExtraMissingError, ImportError)


def test_the_command_line_says_so_in_one_line(without: dict[str, Ended]) -> None:
    """Without click there is one line, exit code 2 and no traceback."""
    done = without["commands"]
    line = "milpcb: this command needs the extra 'studies': pip install '.[studies]' in the clone\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n" * 4, line * 4)
