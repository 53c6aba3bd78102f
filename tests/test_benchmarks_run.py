"""Every benchmark runs to its end: on small problems, since what is tested is that none of them is left behind."""

import json
import os
import sys
from typing import Any

import pytest

from milpcb.environments.planted import Planted
from policies import DecisionTrees, LinearRules
from tests.conftest import SCRIPTS

BENCHMARKS = SCRIPTS / "benchmarks"
LEARN = ["--action", "done", "--reward", "y", "--propensity", "p", "--thresholds", "3", "--one-pass", "--draws", "20"]
# Options beside those that are named, and what stands in place of the sizes of a script.
SMALL: dict[str, tuple[list[str], dict[str, Any]]] = {
    "constraints": ([], {"SIZES": [(40, 4)], "MATRICES": 2, "BY_SOLVER": 3}),
    "cuts": ([], {"ROUTES": [(60, 3, 3, 2)], "ALL": [(60, 3, 2), (40, 3, 3)], "WORTH": [(60, 3)], "FRESH": 100}),
    "fixed_share": (["--horizon", "200", "--seeds", "1"], {}),
    "linear": (
        ["--queries", "1"],
        {"CASES": [("tables", LinearRules(2, max_features=1), kind, 20, 3, 0.1) for kind in ("search", "milp")]},
    ),
    "one_draw": (
        ["--horizons", "300", "--oracles", "search", "--fresh", "10"],
        {"QUIET": 100, "QUIET_HORIZON": 500, "FRESH": 20},
    ),
    "one_pass": ([], {"ROWS": 1000, "FILE": 500, "SIZES": (1,), "OPTIONS": LEARN}),
    "one_draw --counts": (["--horizons", "300"], {"WORLD": Planted(n_contexts=20, n_features=4)}),
    "one_draw --programs": (
        ["--horizons", "60"],
        {"PROGRAMS": {"trees": (DecisionTrees(2, depth=1), 20, 4, True, [])}},
    ),
    "one_draw --spread": (["2"], {"SPREAD": 100, "FUTURES": [("half", 0), ("half", 1), ("half", 4)]}),
    "policies_from_logs": (["--one", "OptimalPolicyTree, 31 cuts", "300"], {"LOGS": {300: 1}, "FRESH": 100}),
    "rounds": (["--rounds", "40", "--repeats", "1"], {"HORIZON": 1000, "SIZES": (20, 40)}),
    "scale": (["--one", "ours, 9 cuts", "200", "3", "2"], {}),
    "trees": (
        [],
        {
            "SIZES": [(40, 6, 3)],
            "DEEP": [(40, 6, 3, 4)],
            "LIMITED": [(100, 7, 3, 2)],
            "CUTS_LIMITED": [(100, 2, 5, 2)],
            "KEPT": [(40, 6, 3)],
            "ROUNDS": 1,
            "FEW_ROUNDS": 1,
        },
    ),
}
# A comparison of checkouts runs others; oracles.py is tested in test_benchmarks.py, as its peers are; the others hold
# what scripts share.
NOT_HERE = {"against", "bench", "flow_oct", "oracles", "peers"}


def test_no_benchmark_is_forgotten():
    """Each script is either run here, or left out for a reason."""
    assert {script.stem for script in BENCHMARKS.glob("*.py")} == {name.split()[0] for name in SMALL} | NOT_HERE


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs_to_its_end(name, script, capsys, tmp_path, monkeypatch):
    """It prints its tables and, where it writes them down, figures that can be read."""
    (stem, *way), (options, sizes) = name.split(), SMALL[name]
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    module = script(f"benchmarks/{stem}.py")
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
