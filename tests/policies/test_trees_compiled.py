"""How often the kernels of trees are compiled: once for each precision, semiring and kind of limits, no more."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import policies.trees
from milpcb import open_oracle
from policies import DecisionTrees

# Two semirings, minima in two precisions, with limits and without: more would be layouts of memory.
MOST = 6
LIMITS = [{}, {"min_leaf_size": 3}, {"max_leaves": 3}, {"max_features": 2}]


def _kernels() -> list[Dispatcher]:
    """Return the compiled functions of policies/trees that other files may call."""
    files = Path(str(policies.trees.__file__)).parent.glob("*.py")
    modules = [importlib.import_module(f"policies.trees.{file.stem}") for file in files if file.stem != "__init__"]
    return [
        kernel
        for module in modules
        for name, kernel in vars(module).items()
        if not name.startswith("_") and isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == module.__name__
    ]


def _ask(depth: int, thresholds: object, limits: dict[str, int], order: str) -> None:
    """Ask everything of trees on contexts and costs that lie in memory in this order."""
    rng = np.random.default_rng(0)
    contexts = np.array(rng.integers(0, 9, (60, 3)), dtype=float, order=order)  # type: ignore[call-overload]
    costs = np.array(rng.integers(-9, 9, (60, 3)), dtype=float, order=order)  # type: ignore[call-overload]
    oracle = open_oracle(DecisionTrees(3, depth=depth, thresholds=thresholds, **limits), contexts, kind="search")  # type: ignore[arg-type]
    for asked in (costs, costs / 3.0):
        oracle.value(asked)
        oracle.profile(asked, 7)
        oracle.minimise(asked)
    if "max_features" not in limits:
        oracle.action_weights(costs, 7, 0.1)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_kernels_are_compiled_once_for_all_layouts(depth: int, limits: dict[str, int]) -> None:
    """However contexts and costs lie in memory, a kernel has few signatures: arrays reach it in one order."""
    for order in "CF":
        _ask(depth, 2, limits, order)
        _ask(depth, "all", limits, order)
    for kernel in _kernels():
        assert len(kernel.signatures) <= MOST, (kernel, kernel.signatures)
