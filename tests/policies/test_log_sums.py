"""One module adds up weights whose logarithms lie far apart."""

import ast
from pathlib import Path

import numpy as np

from policies.trees import states

POLICIES = Path(states.__file__).parents[1]
LOGARITHMS = {"exp", "expm1", "log", "log1p", "logaddexp"}
# Compiled functions that take an exponential or a logarithm, and of what.
KNOWN = {
    "paths.kernels.down": "a pair (low, mass) for each node of a graph, one exponential an edge",
    "paths.kernels.up": "the same from the other end",
    "paths.kernels.through": "a total less the least of its action, which is known",
    "paths.kernels.walk": "totals less one that is known",
    "linear.template.walk_each": "the sum of an instance, whose least total is known",
    "trees.states.add_row": "a total less the least one, which is known",
    "trees.constrained.answer": "pairs of least and mass become their sums, under side constraints",
    "trees.constrained.sum_of": "two pairs of least and mass, neither of which is nothing to rounding",
}


def _takes_logarithms(function: ast.FunctionDef) -> bool:
    """Return whether a compiled function calls an exponential or a logarithm."""
    called = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    return bool(called & LOGARITHMS) and "compiled" in ast.unparse(function.decorator_list[0])


def test_there_is_one_log_sum_exp():
    """Few compiled functions take exponentials or logarithms: those above."""
    found = set()
    for file in POLICIES.rglob("*.py"):
        functions = [
            node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
        ]
        module = ".".join(file.relative_to(POLICIES).with_suffix("").parts)
        found |= {f"{module}.{each.name}" for each in functions if each.decorator_list and _takes_logarithms(each)}
    assert found == set(KNOWN)


def test_exponentials_are_those_of_numpy():
    """To a rounding or two, from 0 down to where numbers end."""
    terms = np.empty((2, 1000))
    terms[0] = -np.linspace(0.0, 699.0, 1000)
    expected = np.exp(terms[0])
    states.exponentials(terms, 1000)
    np.testing.assert_allclose(terms[0], expected, rtol=1e-15)
