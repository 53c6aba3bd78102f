"""One module adds up weights whose logarithms lie far apart."""

import ast
from pathlib import Path

import numpy as np
import pytest

from policies import semirings

POLICIES = Path(semirings.__file__).parent
LOGARITHMS = {"exp", "expm1", "log", "log1p", "logaddexp"}
# Compiled functions elsewhere that take an exponential or a logarithm, and of what.
ELSEWHERE = {
    "paths.kernels.down": "a pair (low, mass) for each node of a graph, one exponential an edge",
    "paths.kernels.up": "the same from the other end",
    "paths.kernels.through": "a total less the least of its action, which is known",
    "paths.kernels.walk": "totals less one that is known",
    "linear.template.walk_each": "the sum of an instance, whose least total is known",
    "trees.recursion.take_answers": "the mass of an answer, which is kept beside its total",
    "trees.states.add_row": "a total less the least one, which is known",
    "trees.terms.sum_own": "pairs of least and mass become their sums",
    "trees.terms.sum_ways": "the same, where a mass would grow too large",
    "trees.usage_kernels.answer": "the same under side constraints",
    "trees.usage_kernels.sum_of": "two pairs of least and mass, neither of which is nothing to rounding",
}
RNG = np.random.default_rng(0)


def _takes_logarithms(function: ast.FunctionDef) -> bool:
    """Return whether a compiled function calls an exponential or a logarithm."""
    called = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    return bool(called & LOGARITHMS) and "compiled" in ast.unparse(function.decorator_list[0])


def test_there_is_one_log_sum_exp():
    """A compiled function that takes exponentials or logarithms is in one file, but for those above."""
    found = set()
    for file in set(POLICIES.rglob("*.py")) - {Path(semirings.__file__)}:
        functions = [
            node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
        ]
        module = ".".join(file.relative_to(POLICIES).with_suffix("").parts)
        found |= {f"{module}.{each.name}" for each in functions if each.decorator_list and _takes_logarithms(each)}
    assert found == set(ELSEWHERE)


@pytest.mark.parametrize("spread", [1.0, 30.0, 100.0, 5000.0])
def test_a_sum_is_that_of_logaddexp(spread):
    """In both semirings."""
    costs = RNG.uniform(-spread, spread, 40)
    assert semirings.add_all(1.0, costs) == pytest.approx(-np.logaddexp.reduce(-costs), rel=1e-13, abs=1e-13)
    assert semirings.add_all(None, costs) == costs.min()


def test_exponentials_are_those_of_numpy():
    """To a rounding or two, from 0 down to where numbers end."""
    terms = np.empty((2, 1000))
    terms[0] = -np.linspace(0.0, 699.0, 1000)
    expected = np.exp(terms[0])
    semirings.exponentials(terms, 1000)
    np.testing.assert_allclose(terms[0], expected, rtol=1e-15)
