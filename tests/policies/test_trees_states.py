"""The search over trees by states, sets of tests with their outcomes, against the recursion by definition."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb.types import Bools, Floats
from policies.literals import Literals
from policies.names import Names
from policies.trees import DecisionTree, DecisionTrees, Leaf, Split
from policies.trees.limits import TreesOn
from policies.trees.rule import Node, cheapest_leaf, grow
from policies.trees.search import TreeSearch

SIXTEEN = np.array([[row >> bit & 1 for bit in range(4)] for row in range(16)], dtype=float)
# rows, features, actions, depth: also with more levels than literals, and more contexts than a block holds
SHAPES = [(20, 4, 2, 1), (20, 4, 3, 2), (30, 4, 4, 3), (20, 4, 3, 4), (8, 3, 2, 5), (9, 2, 3, 4), (20, 1, 3, 3)]


def by_definition(truth: Floats, costs: Floats, row: int, depth: int, add: Callable[[Any], Floats]) -> Floats:
    """Return the answers by action at ``row``: any literal at the root, trees of less depth on both sides of it."""
    if depth == 0:
        return np.asarray(costs.sum(axis=0))
    ways = []
    for column in truth.T:
        near = (column == column[row])[:, None]
        far = by_definition(truth, costs * ~near, row, depth - 1, add)
        ways.append(by_definition(truth, costs * near, row, depth - 1, add) + add(far))
    return np.asarray(add(ways))


def least(ways: Any) -> Floats:
    """Return the least of the ways."""
    return np.asarray(np.min(ways, axis=0))


def opened(shape: tuple[int, int, int, int], seed: int = 0) -> tuple[TreeSearch, Literals, np.random.Generator]:
    """Return a search over trees on random contexts of 0 and 1, some features more often 1 than others."""
    m, p, n_actions, depth = shape
    rng = np.random.default_rng(seed)
    literals = Literals.of((rng.random((m, p)) < rng.uniform(0.2, 0.8, p)).astype(float), 1)
    return TreeSearch(TreesOn(literals, n_actions, depth, Names())), literals, rng


def drawn(rng: np.random.Generator, shape: tuple[int, int], kind: str) -> Floats:
    """Return whole costs, costs that tie, or real ones."""
    if kind == "real":
        return rng.normal(size=shape)
    low, high = {"ties": (0, 2), "all the same": (1, 2)}.get(kind, (-99, 99))
    return rng.integers(low, high, shape) * (2.0**30 if kind == "large" else 1.0)


def first_tree(literals: Literals, costs: Floats, depth: int) -> Node:
    """Return the tree of the least total with the lowest-numbered test, and action, wherever several are best."""

    def choose(path: tuple[int, ...], here: Bools) -> Leaf | int:
        if len(path) == 2 * depth:
            return cheapest_leaf(costs, here)
        height, own = depth - len(path) // 2 - 1, costs * here[:, None]
        sides = [[own * (column == side)[:, None] for side in (0, 1)] for column in literals.truth.T]
        ways = [sum(by_definition(literals.truth, each, 0, height, least).min() for each in both) for both in sides]
        return int(np.argmin(ways))

    return grow(choose, literals, np.ones(len(costs), bool))


@pytest.mark.parametrize("kind", ["whole", "ties", "large", "all the same"])
@pytest.mark.parametrize("shape", [shape for shape in [*SHAPES, (600, 8, 3, 2)] if shape[1] ** shape[3] < 100], ids=str)
def test_the_lowest_numbered_choice_wins_at_every_node(shape: tuple[int, int, int, int], kind: str) -> None:
    """Trees are the same as by a search by the definition at each node, also on more contexts than a block holds."""
    search, literals, rng = opened(shape, seed=7)
    costs = drawn(rng, (len(literals.contexts), shape[2]), kind)
    assert search.minimise(costs)[1].root == first_tree(literals, costs, shape[3])


def test_many_contexts_are_gathered_block_by_block() -> None:
    """On more contexts than a block holds, depth 4 answers as the trees of depth 3 on both sides of each root."""
    search, literals, rng = opened((3000, 11, 2, 4))
    assert len(literals.contexts) > 512
    costs = drawn(rng, (len(literals.contexts), 2), "whole")
    below = TreeSearch(TreesOn(literals, 2, 3, Names()))
    sides = [[below.value(costs * (column == side)[:, None]) for side in (0, 1)] for column in literals.truth.T]
    assert search.value(costs) == min(map(sum, sides))


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    """The arrays that are used again hold nothing from one question to the next."""
    rng = np.random.default_rng(3)
    search = DecisionTrees(3, depth=3).on(SIXTEEN).search()
    whole, real = rng.integers(-9, 10, (16, 3)).astype(float), rng.normal(size=(16, 3))

    def ask() -> list[object]:
        return [
            search.value(whole),
            search.log_weights(real, 2, 0.5).tolist(),
            search.profile(real, 3).tolist(),
            search.minimise(whole),
        ]

    assert ask() == ask()


def test_the_lowest_numbered_choice_wins_a_tie() -> None:
    """The first literal at each node and the first action; tests with equal sides are then left out."""
    contexts = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 1]], dtype=float)
    search = DecisionTrees(3, depth=2).on(contexts).search()
    assert search.minimise(np.zeros((5, 3))) == (0.0, DecisionTree(Leaf(0)))
    costs = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 1, 1]], dtype=float)
    below = Split(1, 0.5, Leaf(1), Leaf(0), binary=True)
    assert search.minimise(costs) == (0.0, DecisionTree(Split(0, 0.5, below, Leaf(0), binary=True)))


def test_costs_may_come_in_any_layout() -> None:
    """Read-only, integer and transposed tables are read alike."""
    search = DecisionTrees(3).on(SIXTEEN).search()
    costs = np.random.default_rng(4).integers(-9, 10, (16, 3)).astype(float)
    frozen = costs.copy()
    frozen.setflags(write=False)
    values = [search.value(table) for table in (costs, frozen, costs.astype(int), np.asfortranarray(costs))]
    assert len(set(values)) == 1


def test_nothing_is_compiled_for_those_who_do_not_search() -> None:
    """Importing the class and opening its program does not import numba."""
    program = (
        "import sys; from policies import DecisionTrees; from milpcb import open_oracle;"
        "open_oracle(DecisionTrees(2), [[0.0], [1.0]]).value([[0, 1], [1, 0]]); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
