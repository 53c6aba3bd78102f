"""The naive side of the benchmark of tree oracles, and the form of its figures."""

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from milpcb.oracles import open_oracle
from policies import DecisionTrees
from tests.conftest import SCRIPTS

SIGNS = {
    "both signs": lambda real: real,
    "none negative": np.abs,
    "none positive": lambda real: -np.abs(real),
    "whole": lambda real: np.rint(3.0 * real),
}


@pytest.fixture(scope="module")
def oracles(script: Callable[[str], Any]) -> Iterator[Any]:
    """Load scripts/benchmarks/oracles.py; what it sets for a process of its own is taken back."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", dict(os.environ))
        patch.setattr(sys, "path", [str(SCRIPTS / "benchmarks"), *sys.path])
        yield script("benchmarks/oracles.py")
        for name in ("flow_oct", "bench"):
            sys.modules.pop(name)


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize(("n_actions", "depth"), [(2, 2), (3, 2), (3, 1)])
def test_the_flow_formulation_has_our_optimum(signs, n_actions, depth, oracles):
    """FlowOCT with shifted rewards gives the least total cost of a tree, whatever the signs of the costs."""
    rng = np.random.default_rng(n_actions)
    contexts = rng.integers(0, 2, (20, 3)).astype(float)
    costs = SIGNS[signs](rng.normal(size=(20, n_actions)))
    expected = open_oracle(DecisionTrees(n_actions, depth), contexts, kind="search").value(costs)
    assert oracles.flow_oct(contexts, costs, depth) == pytest.approx(expected, abs=1e-6)


def test_the_script_stops_at_a_different_optimum(oracles):
    """A contender that answers wrongly ends the run; rounding does not."""
    oracles.bench.check_same("rounded", [3.0], [3.0 + 1e-8])
    with pytest.raises(SystemExit, match="the optimum is 3"):
        oracles.bench.check_same("wrong", [2.0, 4.0], [2.0, 3.0])


def test_numbers_are_written_without_exponents(oracles):
    """Ratios and times keep their significant digits and are readable."""
    assert [oracles.number(value) for value in (3_312_456.0, 59_515.0, 1.0, 0.01804)] == [
        "3\N{NARROW NO-BREAK SPACE}310\N{NARROW NO-BREAK SPACE}000",
        "59\N{NARROW NO-BREAK SPACE}500",
        "1",
        "0.018",
    ]
    assert [oracles.duration(ms) for ms in (63_700.0, 0.27, 0.018)] == ["64 s", "0.27 ms", "18 µs"]
    assert [oracles.times(ratio, "FlowOCT, PuLP") for ratio in (3.3e6, 0.5)] == [
        "3\N{NARROW NO-BREAK SPACE}300\N{NARROW NO-BREAK SPACE}000 times as fast as FlowOCT",
        "2 times as long as FlowOCT",
    ]
