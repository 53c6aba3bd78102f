"""Fixtures of all tests: drawn costs, the battery of a policy class, golden files, processes with all imports done."""

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.extra.numpy import arrays

from milpcb.protocols import PolicyClass
from milpcb.solvers import load_solver
from milpcb.testing import policies as checks
from milpcb.types import Floats
from tests.slow import SLOW

Ended = subprocess.CompletedProcess[str]
FORKS = Path(__file__).with_name("forks.py")
GOLDEN = Path(__file__).parent / "golden"
SCRIPTS = Path(__file__).parents[1] / "scripts"
WHOLE = st.integers(-9, 9).map(float)
REAL = st.floats(-10.0, 10.0, allow_subnormal=False)

# The collection of tests makes no garbage to speak of: looking for it takes a third of its time.
gc.disable()

# No test depends on the speed of the machine. Time-outs elsewhere, of 600 seconds, only end what hangs.
settings.register_profile("milpcb", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("milpcb")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of tests/stress, which may be given from any folder."""
    group = parser.getgroup("milpcb")
    group.addoption("--stress", type=int, default=0, metavar="N", help="cases that each check of tests/stress draws")
    group.addoption("--first", type=int, default=0, metavar="N", help="number of the first, of cases taken one by one")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where slow tests are left out, do not even import their folders and files."""
    place = Path(os.path.relpath(collection_path, config.rootpath)).as_posix()
    return True if config.option.markexpr == "not slow" and place in SLOW else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what the table names, and let it run first."""
    places = [re.compile(rf"{re.escape(place)}(/|::|\[|$)") for place in SLOW]
    position = {item: next((i for i, place in enumerate(places) if place.match(item.nodeid)), None) for item in items}
    for item, i in position.items():
        if i is not None:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: len(places) if (i := position[item]) is None else i)


def pytest_collection_finish() -> None:
    """Leave what the collection made, a million objects, out of every later collection of garbage, the last too."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def sketches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pictures be sketches, but in tests with the mark ``drawn``."""
    if request.node.get_closest_marker("drawn") is None:
        from matplotlib.figure import Figure

        from tests.sketches import sketch

        monkeypatch.setattr(Figure, "savefig", sketch)


@pytest.fixture
def same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a copy of a bandit go on with the draws of the original, so that the two can be compared."""
    monkeypatch.setattr("milpcb.rng.parted", lambda state, _name: state)


def of_python(variables: dict[str, str]) -> dict[str, str]:
    """Return the variables that an interpreter reads when it starts."""
    return {name: value for name, value in variables.items() if name.startswith("PYTHON")}


class Forks:
    """Processes that fork from one that has imported the command line: see forks.py."""

    def __init__(self, folder: Path) -> None:
        self._streams = {name: str(folder / name) for name in ("stdout", "stderr")}
        self._environment = self.environment()
        self._process: subprocess.Popen[str] | None = None

    def fits(self) -> bool:
        """Return whether an interpreter that starts now would find what the first one found."""
        return of_python(self.environment()) == of_python(self._environment)

    @staticmethod
    def environment() -> dict[str, str]:
        """Return the variables that the command line finds: those of this process, and a terminal for every table."""
        return {**os.environ, "COLUMNS": "200", "PYTHONWARNINGS": "default"}

    def run(self, folder: Path, arguments: tuple[str, ...], limits: dict[str, int], **more: Any) -> Ended:
        """Run the command line in a folder to its end, with limits of the system by their names in ``resource``.

        With ``program=`` a Python program, as in ``python -c``; with ``environment=`` other variables; with
        ``sketches=True`` pictures are sketches.
        """
        if self._process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen([sys.executable, FORKS], env=self._environment, cwd=FORKS.parent, **pipes)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for file in self._streams.values():
            Path(file).write_bytes(b"")
        streams = {"stdin": os.devnull, **self._streams}
        call = {
            "folder": str(folder),
            "arguments": arguments,
            "environment": self.environment(),
            "limits": limits,
            **streams,
            **more,
        }
        self._process.stdin.write(f"{json.dumps(call)}\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        texts = {name: Path(file).read_text(errors="replace") for name, file in self._streams.items()}
        return subprocess.CompletedProcess(["milpcb", *arguments], code, **texts)

    def close(self) -> None:
        """End the process that they fork from."""
        if self._process is not None:
            self._process.communicate()


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Return what makes processes with all imports done."""
    made = Forks(tmp_path_factory.mktemp("streams"))
    yield made
    made.close()


def _script(path: str) -> Any:
    """Return a file of the folder scripts as a module."""
    spec: Any = spec_from_file_location(f"script_{Path(path).stem}", SCRIPTS / path)
    module = sys.modules[spec.name] = module_from_spec(spec)  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def _draw_costs(data: st.DataObject, n_contexts: int, n_actions: int) -> Floats:
    """Return whole or real costs (m, K) of both signs."""
    elements = data.draw(st.sampled_from([WHOLE, REAL]))
    return data.draw(arrays(np.float64, (n_contexts, n_actions), elements=elements))


def _battery(policies: PolicyClass, contexts: Floats, data: st.DataObject, solver: str = "highs") -> None:
    """Make every check of a class on drawn costs."""
    costs = _draw_costs(data, len(contexts), policies.n_actions)
    row = data.draw(st.integers(0, len(contexts) - 1))
    case = checks.Case(policies, contexts, policies.on(contexts).labelings(), costs, row, solver)
    for check in ("program", "side constraint", "size", "draw"):
        checks.CHECKS[check](case)


def _assert_integral(policies: PolicyClass, contexts: Floats, seed: int) -> None:
    """The optima of the relaxation are whole for any objective."""
    for constrained in (False, True):
        program = policies.on(contexts).program(constrained=constrained).program
        assert program.integral
        assert program.integer.all()
        session = load_solver("highs").open(program, relax=True)
        for objective in np.random.default_rng(seed).normal(size=(20, program.n_columns)):
            x = session.solve(objective).x
            assert np.abs(x - np.rint(x)).max() < 1e-9, (constrained, x)


def _assert_golden(text: str, name: str) -> None:
    """The text is that of tests/golden/<name>."""
    path = GOLDEN / name
    if os.environ.get("MILPCB_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.is_file(), f"{path} is missing: run with MILPCB_UPDATE_GOLDEN=1 and read what it writes"
    assert text == path.read_text(), f"differs from {path}: if meant, run with MILPCB_UPDATE_GOLDEN=1 and read the diff"


# Functions, and the table of slow tests, that tests name as arguments.
assert_golden = pytest.fixture(lambda: _assert_golden, scope="session")
assert_integral = pytest.fixture(lambda: _assert_integral, scope="session")
battery = pytest.fixture(lambda: _battery, scope="session")
draw_costs = pytest.fixture(lambda: _draw_costs, scope="session")
script = pytest.fixture(lambda: _script, scope="session")
slow = pytest.fixture(lambda: SLOW, scope="session")
