"""Outside of trees one compiled function adds up weights whose logarithms lie far apart."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from policies import weighted_kernels

POLICIES = Path(weighted_kernels.__file__).parent
# What each takes exponentials of.
TAKES_EXPONENTIALS = {
    "weighted_kernels.add": "how far two sums are apart: the log-sum-exp",
    "linear.table_kernels._scaled": "prices within e^600 of each other, whose products need no logarithm",
    "linear.walks._walk": "totals less the least one, which is known",
}


def _takes_exponentials(function: ast.FunctionDef) -> bool:
    """Return whether a compiled function calls an exponential, or a logarithm of one plus a number."""
    called = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    return bool(called & {"exp", "expm1", "log1p", "logaddexp"}) and "compiled" in ast.unparse(
        function.decorator_list[0]
    )


def test_there_is_one_log_sum_exp():
    """A compiled function that takes exponentials is one of those above, each for the reason given there."""
    found = set()
    for file in set(POLICIES.rglob("*.py")) - set((POLICIES / "trees").rglob("*.py")):
        functions = [
            node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
        ]
        module = ".".join(file.relative_to(POLICIES).with_suffix("").parts)
        found |= {f"{module}.{each.name}" for each in functions if each.decorator_list and _takes_exponentials(each)}
    assert found == set(TAKES_EXPONENTIALS)


@pytest.mark.parametrize("apart", [0.0, 1.0, 50.0, 59.0, 61.0, 1e5, np.inf])
def test_sums_of_weights_are_those_of_logaddexp(apart):
    """Two sums in the making add up to theirs, in either order; a sum of nothing adds nothing."""
    one, other = (700.0, 3.0), (700.0 + apart, 2.0 if apart < np.inf else 0.0)
    for first, second in ((one, other), (other, one)):
        least, weight = weighted_kernels.add(1.0, *first, *second)
        with np.errstate(divide="ignore"):
            expected = np.logaddexp(*(np.log(weight) - least for least, weight in (first, second)))
        assert np.log(weight) - least == pytest.approx(expected, rel=1e-15)
        assert weighted_kernels.add(None, *first, *second)[0] == 700.0
