"""How often the kernels of trees are compiled: once for each semiring and kind of limits, no more."""

import json
import os
import subprocess
import sys

# Two semirings, with limits and without: more would be layouts of memory.
MOST = 4

# However contexts and costs lie in memory, everything is asked of trees of each depth, with each limit and without.
ASKED = """
import importlib, json
from pathlib import Path
import numpy as np
from numba.core.dispatcher import Dispatcher
import policies.trees
from milpcb import open_oracle
from policies import DecisionTrees

def ask(depth, thresholds, limits, order):
    rng = np.random.default_rng(0)
    contexts = np.array(rng.integers(0, 9, (60, 3)), dtype=float, order=order)
    costs = np.array(rng.integers(-9, 9, (60, 3)), dtype=float, order=order)
    trees = DecisionTrees(3, depth=depth, thresholds=thresholds, **limits)
    oracle = open_oracle(trees, contexts, kind="search")
    for asked in (costs, costs / 3.0):
        oracle.value(asked)
        oracle.profile(asked, 7)
        oracle.minimise(asked)
    if "max_features" not in limits:
        oracle.action_weights(costs, 7, 0.1)

for depth in (1, 2, 3):
    for limits in ({}, {"min_leaf_size": 3}, {"max_leaves": 3}, {"max_features": 2}):
        for order in "CF":
            for thresholds in (2, "all"):
                ask(depth, thresholds, limits, order)
files = [file.stem for file in Path(policies.trees.__file__).parent.glob("*.py")]
modules = [importlib.import_module(f"policies.trees.{name}") for name in files if name != "__init__"]
kernels = {kernel for module in modules for kernel in vars(module).values() if isinstance(kernel, Dispatcher)}
names = {f"{kernel.py_func.__module__}.{kernel.__name__}": kernel for kernel in kernels}
asked = {name: [kernel.signatures, kernel.inner().signatures] for name, kernel in names.items() if "._" not in name}
print(json.dumps({name: list(map(str, max(signatures, key=len))) for name, signatures in asked.items()}))
"""


def test_kernels_are_compiled_once_for_all_layouts() -> None:
    """In a process that asks all kinds of questions in all orders of memory, no kernel is compiled more often."""
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True)
    signatures = json.loads(done.stdout)
    called = {name.removeprefix("policies.trees.") for name, types in signatures.items() if types}
    assert called >= {"recursion.recurse", "totals.fill_products", "totals.add_codes"}
    assert {name: types for name, types in signatures.items() if len(types) > MOST} == {}


def test_no_kernel_is_compiled_for_a_constant() -> None:
    """A constant that one compiled function hands to another is compiled as any number of its type."""
    program = (
        "from milpcb.core.kernels import compiled\n"
        "inner = compiled()(lambda x, flag: x + 1 if flag else x)\n"
        "outer = compiled()(lambda x: inner(x, True) + inner(2, False) + inner(3, x > 0))\n"
        "assert outer(1) == 2 + 2 + 4\n"
        "print(len(inner.inner().signatures))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_questions_are_answered_without_a_compiler() -> None:
    """With numba's NUMBA_DISABLE_JIT the same functions run as Python's own, for whoever follows them in a debugger."""
    program = (
        "from policies import DecisionTrees\n"
        "search = DecisionTrees(2, depth=2).on([[0, 0], [0, 1], [1, 0], [1, 1]]).search()\n"
        "print(search.minimise(__import__('numpy').array([[0.0, 1], [1, 0], [1, 0], [0, 1]]))[0])"
    )
    environ = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == "0.0\n"
