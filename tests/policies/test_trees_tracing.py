"""Trees are the same whether sides of a test are states, or are gone through root by root."""

from collections.abc import Callable

import numpy as np
import pytest

from milpcb.types import Floats
from policies.literals import Literals
from policies.names import Names
from policies.trees.limits import TreesOn
from policies.trees.search import TreeSearch

# rows, features, actions, depth: also one literal, and more contexts than a block holds
SHAPES = [(20, 4, 2, 1), (20, 4, 3, 2), (12, 1, 2, 2), (60, 7, 4, 2), (3000, 11, 3, 2)]
COSTS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "whole": lambda rng, shape: rng.integers(-99, 99, shape).astype(float),
    "large": lambda rng, shape: rng.integers(-99, 99, shape) * 2.0**30,
    "ties": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "real": lambda rng, shape: rng.normal(size=shape),
    "all the same": lambda _, shape: np.ones(shape),
}


def literals_of(shape: tuple[int, int, int, int]) -> tuple[Literals, np.random.Generator]:
    """Return the tests of trees on random contexts of 0 and 1, some features more often 1 than others."""
    rng = np.random.default_rng(7)
    m, p, *_ = shape
    return Literals.of((rng.random((m, p)) < rng.uniform(0.1, 0.9, p)).astype(float), 1), rng


@pytest.mark.parametrize("kind", COSTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_tree_is_that_of_a_search_at_every_node(
    shape: tuple[int, int, int, int], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same choice wherever several are best; of real costs trees of the same total, to rounding."""
    literals, rng = literals_of(shape)
    *_, n_actions, depth = shape
    traced, searched = (TreeSearch(TreesOn(literals, n_actions, depth, Names())) for _ in range(2))
    monkeypatch.setattr(searched, "_fits", 0)
    for _ in range(5 if len(literals.contexts) < 100 else 1):
        costs = COSTS[kind](rng, (len(literals.contexts), n_actions))
        found, expected = traced.minimise(costs), searched.minimise(costs)
        assert found[0] == pytest.approx(expected[0], abs=1e-9 if kind == "real" else 0.0, rel=0.0)
        assert found == expected or kind == "real"
