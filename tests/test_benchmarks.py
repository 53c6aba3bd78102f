"""Every benchmark runs to its end, on small problems; the naive side of oracles.py, and the form of its figures."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from milpcb.oracles import open_oracle
from policies import DecisionTrees, LinearRules
from tests.conftest import SCRIPTS

BENCHMARKS = SCRIPTS / "benchmarks"
LEARN = ["--action", "done", "--reward", "y", "--propensity", "p", "--thresholds", "3", "--one-pass", "--draws", "20"]
# Options beside those that are named, and what stands in place of the sizes of a script.
SMALL: dict[str, tuple[list[str], dict[str, Any]]] = {
    "constraints": (["--quick"], {"SIZES": [(40, 4)], "BY_SOLVER": 3}),
    "linear": (
        ["--queries", "1"],
        {"CASES": [("tables", LinearRules(2, max_features=1), kind, 20, 3, 0.1) for kind in ("search", "milp")]},
    ),
    "one_draw": (["--horizons", "300", "--oracles", "search", "--fresh", "10"], {}),
    "one_pass": ([], {"ROWS": 1000, "FILE": 500, "SIZES": (1,), "OPTIONS": LEARN}),
    "one_draw --programs": (
        ["--horizons", "60"],
        {"PROGRAMS": {"trees": (DecisionTrees(2, depth=1), 20, 4, True, [])}},
    ),
    "policies_from_logs": (["--one", "OptimalPolicyTree, 31 cuts", "300"], {"LOGS": {300: 1}, "FRESH": 100}),
    "rounds": (["--rounds", "40", "--repeats", "1"], {"HORIZON": 1000, "SIZES": (20, 40)}),
    "scale": (["--one", "ours, 9 cuts", "200", "3", "2", "planted"], {}),
    "trees": (
        [],
        {
            "SIZES": [(40, 6, 3)],
            "DEEP": [(40, 6, 3, 4)],
            "LIMITED": [(100, 7, 3, 2)],
            "CUTS_LIMITED": [(100, 2, 5, 2)],
            "ROUNDS": 1,
            "FEW_ROUNDS": 1,
        },
    ),
}
# A comparison of checkouts runs others; of oracles.py the parts are tested below; the others hold what scripts share.
NOT_HERE = {"against", "bench", "flow_oct", "oracles", "peers"}
SIGNS = {
    "both signs": lambda real: real,
    "none negative": np.abs,
    "none positive": lambda real: -np.abs(real),
    "whole": lambda real: np.rint(3.0 * real),
}


@pytest.fixture
def load(script: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Return ``load(stem)``: the script as a module; what it sets for a process of its own is taken back."""
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    yield lambda stem: script(f"benchmarks/{stem}.py")
    for name in BENCHMARKS.glob("*.py"):
        sys.modules.pop(name.stem, None)


def test_no_benchmark_is_forgotten():
    """Each script is either run here, or left out for a reason."""
    assert {script.stem for script in BENCHMARKS.glob("*.py")} == {name.split()[0] for name in SMALL} | NOT_HERE


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs_to_its_end(name, load, capsys, tmp_path, monkeypatch):
    """It prints its tables and, where it writes them down, figures that can be read."""
    (stem, *way), (options, sizes) = name.split(), SMALL[name]
    module = load(stem)
    if hasattr(module, "bench"):
        monkeypatch.setattr(module.bench, "TURN", 1e-6)
    for size, value in sizes.items():
        assert hasattr(module, size), f"{stem}.py has no {size} any more"
        monkeypatch.setattr(module, size, value)
    file = tmp_path / "figures.json"
    written = ["--json", str(file)] if "bench.options" in (BENCHMARKS / f"{stem}.py").read_text() else []
    monkeypatch.setattr(sys, "argv", [stem, *way, *options, *written])
    module.main()
    assert capsys.readouterr().out.strip()
    if written and "--one" not in options:
        assert json.loads(file.read_text())


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize(("n_actions", "depth"), [(2, 2), (3, 2), (3, 1)])
def test_the_flow_formulation_has_our_optimum(signs, n_actions, depth, load):
    """FlowOCT with shifted rewards gives the least total cost of a tree, whatever the signs of the costs."""
    rng, oracles = np.random.default_rng(n_actions), load("oracles")
    contexts = rng.integers(0, 2, (20, 3)).astype(float)
    costs = SIGNS[signs](rng.normal(size=(20, n_actions)))
    expected = open_oracle(DecisionTrees(n_actions, depth), contexts, kind="search").value(costs)
    assert oracles.flow_oct(contexts, costs, depth) == pytest.approx(expected, abs=1e-6)


def test_the_script_stops_at_a_different_optimum(load):
    """A contender that answers wrongly ends the run; rounding does not."""
    oracles = load("oracles")
    oracles.bench.check_same("rounded", [3.0], [3.0 + 1e-8])
    with pytest.raises(SystemExit, match="the optimum is 3"):
        oracles.bench.check_same("wrong", [2.0, 4.0], [2.0, 3.0])
