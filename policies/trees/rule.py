"""One decision tree: nested tests, an action at each leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.exports.decisions import Decision, If, in_words
from policies.exports.decisions import Test as Comparison
from policies.literals import Literals
from policies.names import Names
from policies.rule import Rule


@dataclass(frozen=True)
class Leaf:
    """A leaf that plays ``action``."""

    action: int


@dataclass(frozen=True)
class Split:
    """A test ``x[feature] <= threshold``; ``binary`` means that the feature only takes 0 and 1."""

    feature: int
    threshold: float
    yes: Node
    no: Node
    binary: bool = False


Node = Leaf | Split


def split(test: tuple[int, float, bool], yes: Node, no: Node) -> Node:
    """Return the node with a test, its feature, threshold and ``binary``; without it where both sides are the same."""
    feature, threshold, binary = test
    return yes if yes == no else Split(feature, threshold, yes, no, binary)


@dataclass(frozen=True, repr=False)
class DecisionTree(Rule):
    """One decision tree; prints as nested rules. Its parts are its leaves, "yes" before "no"."""

    root: Node
    names: Names = field(default=Names(), compare=False)

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        return tuple(node.action for node in nodes_of(self.root) if isinstance(node, Leaf))

    def action_on(self, context: Floats) -> int:
        """Return the action of one context (d,) as ``predict`` does, without checks, for loops."""
        node = self.root
        while isinstance(node, Split):
            node = node.yes if context[node.feature] <= node.threshold else node.no
        return node.action

    def decision(self) -> Decision:
        return _decision(self.root)

    def _leaf(self, contexts: Floats) -> Ints:
        leaf = np.empty(len(contexts), dtype=np.int64)
        for number, rows in enumerate(rows_of_leaves(self.root, contexts, np.arange(len(contexts)))):
            leaf[rows] = number
        return leaf

    def __str__(self) -> str:
        return "\n".join(_lines(self.decision(), self.names, ""))


def rows_of_leaves(node: Node, contexts: Floats, rows: Ints) -> Iterator[Ints]:
    """Yield, for each leaf below a node, those of ``rows`` that reach it, "yes" before "no"."""
    # Not a function within another, which would keep the contexts until garbage is collected: gigabytes.
    if isinstance(node, Leaf):
        yield rows
        return
    holds = contexts[rows, node.feature] <= node.threshold
    yield from rows_of_leaves(node.yes, contexts, rows[holds])
    yield from rows_of_leaves(node.no, contexts, rows[~holds])


def nodes_of(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, "yes" before "no"."""
    yield node
    if isinstance(node, Split):
        yield from nodes_of(node.yes)
        yield from nodes_of(node.no)


def _decision(node: Node) -> Decision:
    if isinstance(node, Leaf):
        return node.action
    return If(Comparison(node.feature, "<=", node.threshold, node.binary), _decision(node.yes), _decision(node.no))


def _lines(node: Decision, names: Names, indent: str) -> list[str]:
    if isinstance(node, int):
        return [f"{indent}play {names.action(node)}"]
    yes, no = _lines(node.yes, names, indent + "    "), _lines(node.no, names, indent + "    ")
    return [f"{indent}if {in_words(node.condition, names)}:", *yes, f"{indent}else:", *no]


def all_nodes(tests: list[tuple[int, float, bool]], n_actions: int, depth: int) -> Iterator[Node]:
    """Yield all trees up to a depth, small ones first; a split has two different sides."""
    yield from (Leaf(a) for a in range(n_actions))
    if depth == 0:
        return
    below = list(all_nodes(tests, n_actions, depth - 1))
    for feature, threshold, binary in tests:
        for yes, no in product(below, below):
            if yes != no:
                yield Split(feature, threshold, yes, no, binary)


def random_node(tests: list[tuple[int, float, bool]], n_actions: int, depth: int, rng: np.random.Generator) -> Node:
    """Return a full tree; a path does not repeat a test while others are left, siblings differ."""
    if depth == 0 or not tests:
        return Leaf(int(rng.integers(n_actions)))
    f = int(rng.integers(len(tests)))
    feature, threshold, binary = tests[f]
    rest = tests[:f] + tests[f + 1 :]
    yes = random_node(rest, n_actions, depth - 1, rng)
    no = random_node(rest, n_actions, depth - 1, rng)
    while no == yes:
        no = random_node(rest, n_actions, depth - 1, rng)
    return Split(feature, threshold, yes, no, binary)


def cheapest_leaf(costs: Floats, here: Bools) -> Leaf:
    """Return the leaf for the contexts ``here`` (g,); the lowest-numbered action wins a tie."""
    return Leaf(int(costs[here].sum(axis=0).argmin()))


def grow(
    choose: Callable[[tuple[int, ...], Bools], Leaf | int],
    literals: Literals,
    here: Bools,
    path: tuple[int, ...] = (),
) -> Node:
    """Return the tree below ``path``, where ``choose(path, here)`` gives the leaf or the number of the test.

    ``here`` (g,) marks the contexts that follow the path. Tests that divide none of them, or whose two sides turn out
    equal, are left out.
    """
    chosen = choose(path, here)
    if isinstance(chosen, Leaf):
        return chosen
    holds = literals.holds(chosen)
    sides = {1: here & holds, 0: here & ~holds}
    for side in (1, 0):
        if not sides[side].any():
            return grow(choose, literals, here, (*path, chosen, 1 - side))
    yes, no = (grow(choose, literals, sides[side], (*path, chosen, side)) for side in (1, 0))
    return split(literals.test(chosen), yes, no)


def path_totals(truth: Floats, costs: Floats, depth: int) -> Floats:
    """Return H, shape (p, 2) * depth + costs.shape[1:]: total costs of the contexts on each path.

    ``truth`` is (g, p) of 0 and 1, ``costs`` (g, ...). Integer costs stay exact. One side of each test is a product of
    matrices, the other follows by subtraction.
    """
    if depth == 0:
        return np.asarray(costs.sum(axis=0))
    if depth == 1:
        every = np.asarray(costs.sum(axis=0))
        held = (truth.T @ costs.reshape(len(costs), every.size)).reshape(-1, *every.shape)
    else:
        every = path_totals(truth, costs, depth - 1)
        first = costs[:, None] * truth.reshape(*truth.shape, *[1] * (costs.ndim - 1))
        held = np.moveaxis(path_totals(truth, first, depth - 1), 2 * (depth - 1), 0)
    return np.stack([every - held, held], axis=1)
