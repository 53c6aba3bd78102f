"""Decision trees: AND/OR formulation, decode, enumeration (formulations: Martin, Rardin & Campbell, Oper. Res. 1990).

Policy class
    Binary trees of depth D over p literals ``x[feature] <= threshold`` with any action at any leaf; trees with fewer
    splits are included (equal actions on both sides). N <= p^(2^D - 1) K^(2^D).
Variables
    A *path* of length l is a sequence (f_1, s_1, ..., f_l, s_l): literal f_i was tested and came out s_i in {0, 1}.
    y_l[path, f] for l = 0..D-1 and every path of length l: the node at the end of the path tests literal f.
    u[path, a] for every path of length D (constrained encodings only): the leaf at the end of the path plays a.
Constraints
    (1)  sum_f y_0[f] = 1
    (2)  sum_g y_l[path, f, s, g] = y_{l-1}[path, f]      l = 1..D-1, both sides s
    (3)  sum_a u[path, f, s, a] = y_{D-1}[path, f]        constrained encodings only
    The polytope of (1), (2) and (3) is a hyperflow on an acyclic AND/OR graph: every vertex is 0/1.
Structure limits
    They count splits, so a path may then stop: stop_l[path(, a)] for l < D joins the left side of (1) and (2).
    (4)  sum of all y <= max_leaves - 1
    (5)  sum over the paths with sides s_1..s_l of y_l[path, f] <= t[feature of f],  sum t <= max_features,  t binary
    (6)  y_l[path, f] = 0 where a side of the test would hold fewer than min_leaf_size contexts
    (4) and (5) make the relaxation fractional, (6) only fixes columns.
Cost map
    H[path, a], the sum of costs[j, a] over the contexts j that follow the path, is linear in the costs. u[path, a]
    costs H[path, a]. Without side constraints each leaf takes its cheapest action, so u drops out and y_{D-1}[path, f]
    costs sum_s min_a H[path, f, s, a].
Size
    p (2p)^l columns and 2p (2p)^(l-1) rows at level l; no big-M.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from milpcb.checks import context_array, whole
from milpcb.errors import InputError
from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective
from milpcb.types import Bools, Floats, Ints
from policies.literals import CuttingClass, Distinct, Literals, Thresholds, check_names, check_thresholds, describe_test
from policies.names import Names

if TYPE_CHECKING:
    import networkx as nx

    from policies.trees_search import TreeSearch


@dataclass(frozen=True)
class Leaf:
    """A leaf that plays ``action``."""

    action: int


@dataclass(frozen=True)
class Split:
    """A test ``x[feature] <= threshold``; ``binary`` says that the feature only takes 0 and 1."""

    feature: int
    threshold: float
    yes: Node
    no: Node
    binary: bool = False


MOST_DEPTH = 12
LARGEST = 5_000_000  # columns of a program: beyond it memory runs out before the solver begins

Node = Leaf | Split
Test = tuple[int, float, bool]  # feature, threshold, whether the feature is 0/1


@dataclass(frozen=True)
class DecisionTree:
    """One decision tree; prints as nested rules."""

    root: Node
    names: Names = field(default=Names(), compare=False)

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,)."""
        array = context_array(contexts, least_columns=1 + _last_feature(self.root))
        actions = np.empty(len(array), dtype=np.int64)
        _fill(self.root, array, np.arange(len(array)), actions)
        return actions

    def __str__(self) -> str:
        return "\n".join(_lines(self.root, self.names, ""))

    def graph(self) -> nx.DiGraph:
        """Return the tree as a networkx graph; nodes carry ``label``, edges ``label`` "yes" or "no"."""
        import networkx as nx

        graph = nx.DiGraph()
        _add_nodes(graph, self.root, self.names, 0)
        return graph

    def export_text(self) -> str:
        """Return the tree in the style of scikit-learn's ``export_text``."""
        return "\n".join(_export(self.root, self.names, "")) + "\n"

    def draw(self, axes: Any) -> None:
        """Draw the tree on matplotlib axes."""
        from policies.drawing import draw_tree

        draw_tree(self.graph(), axes)


@dataclass(frozen=True)
class DecisionTrees(CuttingClass):
    """Decision trees of a given depth.

    Parameters
    ----------
    n_actions : K >= 2
    depth : number of tests on the longest path, >= 1
    thresholds : number of quantile cuts per feature, or one list of cut points per feature; a feature that only takes
        0 and 1 gives one literal
    max_leaves, max_features : limits on the number of leaves and of distinct features of a tree
    min_leaf_size : every leaf holds at least this many rows of the contexts
    feature_names, action_names : used in printed rules

    """

    n_actions: int
    depth: int = 2
    thresholds: Thresholds = 3
    max_leaves: int | None = None
    max_features: int | None = None
    min_leaf_size: int | None = None
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        if whole("depth", self.depth, 1) > MOST_DEPTH:
            raise InputError(
                f"depth must be at most {MOST_DEPTH}, 4096 leaves, got {self.depth}; no oracle can go deeper"
            )
        for limit in ("max_leaves", "max_features", "min_leaf_size"):
            if getattr(self, limit) is not None:
                whole(limit, getattr(self, limit), 1)
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    @property
    def limited(self) -> bool:
        """Whether a structure limit is set."""
        return (self.max_leaves, self.max_features, self.min_leaf_size) != (None, None, None)

    @property
    def names(self) -> Names:
        """Names for printing."""
        return Names(check_names(self.feature_names), check_names(self.action_names))

    def literals(self, contexts: Floats) -> Literals:
        """Return the tests that trees on these contexts may use."""
        return Literals.on(contexts, self.thresholds)

    def formulate(self, contexts: Floats, *, constrained: bool = False) -> TreeEncoding:
        """Return the AND/OR encoding; an LP suffices unless leaves or features are limited or constraints are added."""
        return TreeEncoding(self, contexts, constrained=constrained)

    def search(self, contexts: Floats) -> TreeSearch:
        """Return the exact search; raises InputError when there are structure limits."""
        from policies.trees_search import TreeSearch

        return TreeSearch(self, contexts)

    def log_size(self, contexts: Floats) -> float:
        """Return (2^D - 1) log p + 2^D log K, an upper bound (it counts trees, not labelings)."""
        p = len(self.literals(contexts))
        if p == 0:
            return float(np.log(self.n_actions))
        return float((2**self.depth - 1) * np.log(p) + 2**self.depth * np.log(self.n_actions))

    def policies(self, contexts: Floats) -> Iterator[DecisionTree]:
        """List all trees within the limits, small depths first; a split has two different sides."""
        tests = self.tests(contexts)
        for root in _all_nodes(tests, self.n_actions, self.depth):
            if not self.limited or self._allowed(root, contexts):
                yield DecisionTree(root, self.names)

    def draw(self, contexts: Floats, rng: np.random.Generator) -> DecisionTree:
        """Return a random full tree: a path does not repeat a literal while others are left, siblings differ.

        Under structure limits the depth is random too, and the first allowed tree of many is taken (or one leaf).
        """
        tests = self.tests(contexts)
        if not self.limited:
            return DecisionTree(_random_node(tests, self.n_actions, self.depth, rng), self.names)
        for _ in range(1000):
            root = _random_node(tests, self.n_actions, int(rng.integers(self.depth + 1)), rng)
            if self._allowed(root, contexts):
                return DecisionTree(root, self.names)
        return DecisionTree(Leaf(int(rng.integers(self.n_actions))), self.names)

    def tests(self, contexts: Floats) -> list[Test]:
        """Return (feature, threshold, whether the feature is 0/1) of each literal."""
        literals = self.literals(contexts)
        binary = [bool(np.isin(column, (0.0, 1.0)).all()) for column in contexts.T]
        return [(int(i), float(cut), binary[i]) for i, cut in zip(literals.feature, literals.threshold, strict=True)]

    def _allowed(self, root: Node, contexts: Floats) -> bool:
        leaves = list(_leaves(root, contexts, np.ones(len(contexts), bool), frozenset()))
        used = frozenset().union(*(features for _, features in leaves))
        return (
            (self.max_leaves is None or len(leaves) <= self.max_leaves)
            and (self.max_features is None or len(used) <= self.max_features)
            and (self.min_leaf_size is None or min(size for size, _ in leaves) >= self.min_leaf_size)
        )


class TreeEncoding(Encoding):
    """The polytope of (1)-(3) and its cost map."""

    def __init__(self, trees: DecisionTrees, contexts: Floats, *, constrained: bool) -> None:
        literals = trees.literals(contexts)
        truth = literals.truth(contexts)
        distinct = Distinct.rows(truth) if len(literals) else Distinct.rows(np.zeros((len(contexts), 1)))
        self.group = distinct.group
        self.contexts = contexts[distinct.first]
        self._names = trees.names
        self._tests = trees.tests(contexts)
        self._truth: Floats = truth[distinct.first].astype(float)
        self._depth = trees.depth if len(literals) else 0
        _check_size(len(literals), self._depth)
        b = ProgramBuilder()
        n_leaf_actions = trees.n_actions if constrained or self._depth == 0 else 0
        self._nodes, self._stops, self._leaves = _polytope(
            b, len(literals), self._depth, n_leaf_actions, stops=trees.limited
        )
        if trees.limited and self._depth:
            sizes = np.bincount(self.group).astype(float)[:, None]
            _limit(
                b, trees, self._nodes, literals.feature, lambda level: path_totals(self._truth, sizes, level)[..., 0]
            )
        self.program = b.build(integral=trees.max_leaves is None and trees.max_features is None)

    def objective(self, costs: Floats) -> Objective:
        """Return the coefficients of the columns that end a path; all others are 0."""
        totals = path_totals(self._truth, costs, self._depth)
        coefficients = np.zeros(self.program.n_columns)
        if self._leaves is None:
            coefficients[self._nodes[-1].ravel()] = totals.min(axis=-1).sum(axis=-1).ravel()
        else:
            coefficients[self._leaves.ravel()] = totals.ravel()
        for level, stop in enumerate(self._stops):
            ended = path_totals(self._truth, costs, level)
            coefficients[stop.ravel()] = (ended if self._leaves is not None else ended.min(axis=-1)).ravel()
        return Objective(coefficients)

    def decode(self, x: Floats, costs: Floats) -> DecisionTree:
        """Follow the ones of y; a leaf plays its u, or the cheapest action of the contexts that reach it."""
        everyone = np.ones(len(self.contexts), bool)
        root = grow(lambda path, here: self._chosen(x, costs, path, here), self._truth, self._tests, everyone)
        return DecisionTree(root, self._names)

    def _chosen(self, x: Floats, costs: Floats, path: tuple[int, ...], here: Bools) -> Leaf | int:
        level = len(path) // 2
        ends = self._leaves if level == self._depth else self._stops[level] if self._stops else None
        if level == self._depth or (ends is not None and x[ends[path]].sum() > 0.5):
            if self._leaves is not None and ends is not None:
                return Leaf(int(x[ends[path]].argmax()))
            return cheapest_leaf(costs, here)
        return int(x[self._nodes[level][path]].argmax())


def cheapest_leaf(costs: Floats, here: Bools) -> Leaf:
    """Return the leaf for the contexts ``here`` (g,); the lowest-numbered action wins a tie."""
    return Leaf(int(costs[here].sum(axis=0).argmin()))


def grow(
    choose: Callable[[tuple[int, ...], Bools], Leaf | int],
    truth: Bools | Floats,
    tests: list[Test],
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
    sides = {side: here & (truth[:, chosen] == side) for side in (1, 0)}
    for side in (1, 0):
        if not sides[side].any():
            return grow(choose, truth, tests, here, (*path, chosen, 1 - side))
    yes, no = (grow(choose, truth, tests, sides[side], (*path, chosen, side)) for side in (1, 0))
    if yes == no:
        return yes
    feature, threshold, binary = tests[chosen]
    return Split(feature, threshold, yes, no, binary)


def path_totals(truth: Floats, costs: Floats, depth: int) -> Floats:
    """Return H, shape (p, 2) * depth + costs.shape[1:]: total costs of the contexts on each path.

    ``truth`` is (g, p) of 0 and 1, ``costs`` (g, ...). Whole costs stay exact.
    """
    if depth == 0:
        return np.asarray(costs.sum(axis=0))
    rest = costs.ndim - 1
    literals = [*range(depth + 1 + rest, 2 * depth + rest), depth]
    axes = [axis for pair in zip(literals, range(depth), strict=True) for axis in pair]
    return _sides(truth, costs, depth).transpose(*axes, *range(depth + 1, depth + 1 + rest))


def _sides(truth: Floats, costs: Floats, depth: int) -> Floats:
    """Return H with the axes s_1..s_D, f_D, those of ``costs`` but the first, f_1..f_{D-1}.

    In this order sums over sides and minima over actions run over long rows. One side of each test is a matrix
    product, the other follows by subtraction.
    """
    g, p = truth.shape
    if depth == 1:
        every = costs.sum(axis=0)
        held = (truth.T @ costs.reshape(g, -1)).reshape(p, *every.shape)
    else:
        wide = costs[..., None] * truth.reshape(g, *[1] * (costs.ndim - 1), p)
        held = _sides(truth, wide, depth - 1)
        every = np.expand_dims(_sides(truth, costs, depth - 1), depth + costs.ndim - 1)
    totals = np.empty((2, *held.shape))
    totals[1] = held
    np.subtract(every, held, out=totals[0])
    return totals


def _check_size(p: int, depth: int) -> None:
    columns = p * (2 * p) ** max(0, depth - 1)
    if columns > LARGEST:
        raise InputError(
            f"trees of depth {depth} over {p} literals need more than {LARGEST:,} columns; "
            "use less depth or fewer thresholds"
        )


def _polytope(
    b: ProgramBuilder, p: int, depth: int, n_leaf_actions: int, *, stops: bool
) -> tuple[list[Ints], list[Ints], Ints | None]:
    """Add columns and rows (1)-(3); return y_l of shape (p, 2) * l + (p,), stop_l (or none), and u (or None)."""
    nodes: list[Ints] = []
    ended: list[Ints] = []
    for level in range(depth):
        children = y = b.columns("y", (p, 2) * level + (p,), upper=1.0, integer=True)
        if stops:
            ended.append(b.columns("stop", (p, 2) * level + (max(1, n_leaf_actions),), upper=1.0, integer=True))
            children = np.concatenate([y, ended[-1]], axis=-1)
        _share_parents(b, children, nodes)  # (1), (2)
        nodes.append(y)
    if not n_leaf_actions:
        return nodes, ended, None
    u = b.columns("u", (p, 2) * depth + (n_leaf_actions,), upper=1.0, integer=True)
    _share_parents(b, u, nodes)  # (3)
    return nodes, ended, u


def _share_parents(b: ProgramBuilder, children: Ints, levels: list[Ints]) -> None:
    """Add rows sum(children[..., side, :]) = parent for both sides of every parent; the root's children sum to 1."""
    flat = children.reshape(-1, children.shape[-1])
    if not levels:
        b.rows((flat, 1.0), lower=1.0, upper=1.0)
    else:
        b.rows((flat, 1.0), (np.repeat(levels[-1].ravel(), 2)[:, None], -1.0), lower=0.0, upper=0.0)


def _limit(
    b: ProgramBuilder, trees: DecisionTrees, nodes: list[Ints], feature: Ints, sizes: Callable[[int], Floats]
) -> None:
    """Add the structure limits; ``sizes(l)`` counts the rows of the contexts on every path of length l."""
    if trees.max_leaves is not None:
        every = np.concatenate([y.ravel() for y in nodes])
        b.rows((every[None, :], 1.0), upper=trees.max_leaves - 1.0)  # (4)
    if trees.max_features is not None:
        distinct, number = np.unique(feature, return_inverse=True)
        t = b.columns("t", (len(distinct),), upper=1.0, integer=True)
        for level, y in enumerate(nodes):
            sides_first = np.moveaxis(y, [*range(1, 2 * level, 2), 2 * level], range(level + 1))
            flat = sides_first.reshape(2**level * len(feature), -1)
            b.rows((flat, 1.0), (t[np.tile(number, 2**level)][:, None], -1.0), upper=0.0)  # (5)
        b.rows((t[None, :], 1.0), upper=float(trees.max_features))
    if trees.min_leaf_size is not None:
        for level, y in enumerate(nodes):
            small = y[sizes(level + 1).min(axis=-1) < trees.min_leaf_size]
            if small.size:
                b.rows((small.reshape(-1, 1), 1.0), upper=0.0)  # (6)


def _all_nodes(tests: list[Test], n_actions: int, depth: int) -> Iterator[Node]:
    yield from (Leaf(a) for a in range(n_actions))
    if depth == 0:
        return
    below = list(_all_nodes(tests, n_actions, depth - 1))
    for feature, threshold, binary in tests:
        for yes, no in product(below, below):
            if yes != no:
                yield Split(feature, threshold, yes, no, binary)


def _random_node(tests: list[Test], n_actions: int, depth: int, rng: np.random.Generator) -> Node:
    if depth == 0 or not tests:
        return Leaf(int(rng.integers(n_actions)))
    f = int(rng.integers(len(tests)))
    feature, threshold, binary = tests[f]
    rest = tests[:f] + tests[f + 1 :]
    yes = _random_node(rest, n_actions, depth - 1, rng)
    no = _random_node(rest, n_actions, depth - 1, rng)
    while no == yes:
        no = _random_node(rest, n_actions, depth - 1, rng)
    return Split(feature, threshold, yes, no, binary)


def _leaves(node: Node, contexts: Floats, here: Bools, used: frozenset[int]) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield, for each leaf, the number of contexts it holds and the features tested on its path."""
    if isinstance(node, Leaf):
        yield int(here.sum()), used
        return
    holds = contexts[:, node.feature] <= node.threshold
    yield from _leaves(node.yes, contexts, here & holds, used | {node.feature})
    yield from _leaves(node.no, contexts, here & ~holds, used | {node.feature})


def _last_feature(node: Node) -> int:
    if isinstance(node, Leaf):
        return -1
    return max(node.feature, _last_feature(node.yes), _last_feature(node.no))


def _fill(node: Node, contexts: Floats, rows: Ints, actions: Ints) -> None:
    if isinstance(node, Leaf):
        actions[rows] = node.action
        return
    holds = contexts[rows, node.feature] <= node.threshold
    _fill(node.yes, contexts, rows[holds], actions)
    _fill(node.no, contexts, rows[~holds], actions)


def _lines(node: Node, names: Names, indent: str) -> list[str]:
    if isinstance(node, Leaf):
        return [f"{indent}play {names.action(node.action)}"]
    test = describe_test(names, node.feature, node.threshold, binary=node.binary)
    yes, no = _lines(node.yes, names, indent + "    "), _lines(node.no, names, indent + "    ")
    return [f"{indent}if {test}:", *yes, f"{indent}else:", *no]


def _export(node: Node, names: Names, bars: str) -> list[str]:
    if isinstance(node, Leaf):
        return [f"{bars}|--- class: {names.action(node.action)}"]
    name, cut = names.feature(node.feature), f"{node.threshold:.2f}"
    yes, no = (_export(child, names, bars + "|   ") for child in (node.yes, node.no))
    return [f"{bars}|--- {name} <= {cut}", *yes, f"{bars}|--- {name} >  {cut}", *no]


def _add_nodes(graph: nx.DiGraph, node: Node, names: Names, number: int) -> int:
    """Add a subtree rooted at ``number``; return the next free number."""
    if isinstance(node, Leaf):
        graph.add_node(number, label=names.action(node.action), action=node.action)
        return number + 1
    label = describe_test(names, node.feature, node.threshold, binary=node.binary)
    graph.add_node(number, label=label, feature=node.feature, threshold=node.threshold)
    free = number + 1
    for answer, child in (("yes", node.yes), ("no", node.no)):
        graph.add_edge(number, free, label=answer)
        free = _add_nodes(graph, child, names, free)
    return free
