"""The search over trees by states, sets of tests with their outcomes, against the recursion by definition."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb.types import Floats
from policies.literals import Literals
from policies.names import Names
from policies.trees import sets as trees_sets
from policies.trees.limits import Limits, TreesOn, context_counts
from policies.trees.search import TreeSearch
from policies.trees.sets import n_sets, n_states

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


def added(ways: Any) -> Floats:
    """Return -log of the summed exp(-way)."""
    return np.asarray(-np.logaddexp.reduce(-np.asarray(ways)))


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
    low, high = (0, 2) if kind == "ties" else (-99, 99)
    return rng.integers(low, high, shape).astype(float)


@pytest.mark.parametrize("kind", ["whole", "ties", "real"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_answers_are_those_of_the_definition(shape: tuple[int, int, int, int], kind: str) -> None:
    """Value, profile and the total of the tree are exact for whole costs, and to rounding for real ones."""
    search, literals, rng = opened(shape)
    costs = drawn(rng, (len(literals.contexts), shape[2]), kind)
    error = 1e-12 * np.abs(costs).sum() if kind == "real" else 0.0
    for row in (0, len(costs) - 1):
        profile = by_definition(literals.truth, costs, row, shape[3], least)
        assert search.profile(costs, row) == pytest.approx(profile, abs=error, rel=0.0)
    assert search.value(costs) == pytest.approx(profile.min(), abs=error, rel=0.0)
    value, tree = search.minimise(costs)
    assert value == pytest.approx(profile.min(), abs=error, rel=0.0)
    played = costs[np.arange(len(costs)), tree.predict(literals.contexts)].sum()
    assert played == pytest.approx(value, abs=error, rel=0.0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_weights_count_every_derivation(shape: tuple[int, int, int, int]) -> None:
    """Summed weights have tests that come twice on a path as well, to 1e-12, with costs of any size."""
    search, literals, rng = opened(shape)
    for scale in (0.1, 3.0, 1e4):
        costs = scale * drawn(rng, (len(literals.contexts), shape[2]), "real")
        summed = -by_definition(literals.truth, 0.3 * costs, 0, shape[3], added)
        assert search.log_weights(costs, 0, 0.3) == pytest.approx(summed, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("kind", ["whole", "ties"])
@pytest.mark.parametrize(("shape", "fits"), [((60, 5, 3, 3), 0), ((60, 5, 3, 4), 2), ((60, 5, 3, 5), 3)])
def test_what_does_not_fit_memory_is_searched_root_by_root(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int, int], fits: int, kind: str
) -> None:
    """With states of less depth only, answers are the same to the bit, and the tree of lowest numbers is the same."""
    whole, literals, rng = opened(shape)
    room = n_states(5, fits, 3, None) + 2 * n_sets(5, fits)
    monkeypatch.setattr(trees_sets, "MOST_NUMBERS", room if fits else 0)
    less = TreeSearch(TreesOn(literals, shape[2], shape[3], Names()))
    for _ in range(3):
        costs = drawn(rng, (len(literals.contexts), shape[2]), kind)
        assert less.value(costs) == whole.value(costs)
        assert less.minimise(costs) == whole.minimise(costs)
        assert less.profile(costs, 1).tolist() == whole.profile(costs, 1).tolist()
        assert less.log_weights(costs, 1, 0.1) == pytest.approx(whole.log_weights(costs, 1, 0.1), rel=1e-12)
    assert max(less._states, default=0) == fits


@pytest.mark.parametrize(
    "kept", [Limits(min_leaf_size=4), Limits(max_leaves=5), Limits(max_features=2, min_leaf_size=2, max_leaves=6)]
)
def test_limits_are_kept_root_by_root(monkeypatch: pytest.MonkeyPatch, kept: Limits) -> None:
    """What does not fit memory has the same values, profiles, weights and trees within limits."""
    whole, literals, rng = opened((40, 4, 3, 3))
    trees = literals, 3, 3, Names(), kept, context_counts(literals.group, 3, None)
    whole = TreeSearch(TreesOn(*trees))
    less = TreeSearch(TreesOn(*trees))
    monkeypatch.setattr(less, "_fits", 1)
    for kind in ("whole", "ties"):
        costs = drawn(rng, (len(literals.contexts), 3), kind)
        assert less.value(costs) == whole.value(costs)
        assert less.profile(costs, 2).tolist() == whole.profile(costs, 2).tolist()
        assert less.minimise(costs) == whole.minimise(costs)
        assert kept.allow(less.minimise(costs)[1].root, literals.contexts, trees[-1])
        if kept.max_features is None:
            assert less.log_weights(costs, 2, 0.1) == pytest.approx(whole.log_weights(costs, 2, 0.1), rel=1e-12)
    assert max(less._states) == 1


def test_many_contexts_are_gathered_block_by_block() -> None:
    """On more contexts than a block holds, depth 4 answers as the trees of depth 3 on both sides of each root."""
    search, literals, rng = opened((3000, 11, 2, 4))
    assert len(literals.contexts) > 512
    costs = drawn(rng, (len(literals.contexts), 2), "whole")
    below = TreeSearch(TreesOn(literals, 2, 3, Names()))
    sides = [[below.value(costs * (column == side)[:, None]) for side in (0, 1)] for column in literals.truth.T]
    assert search.value(costs) == min(map(sum, sides))
