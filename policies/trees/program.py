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
    (6)  y_l[path, f] = 0 where a side of the test would hold fewer than min_leaf_size rows of the contexts, or of some
         action fewer than min_action_rows logged ones
    (4) and (5) make the relaxation fractional, (6) only fixes columns.
Cost map
    H[path, a], the sum of costs[j, a] over the contexts j that follow the path, is linear in the costs. u[path, a]
    costs H[path, a]. Without side constraints each leaf takes its cheapest action, so u drops out and y_{D-1}[path, f]
    costs sum_s min_a H[path, f, s, a].
Size
    p (2p)^l columns and 2p (2p)^(l-1) rows at level l; no big-M.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective
from milpcb.types import Bools, Floats, Ints
from policies.trees.limits import Limits, TreesOn
from policies.trees.rule import DecisionTree, Leaf, cheapest_leaf, grow, path_totals


class TreeEncoding(Encoding):
    """The polytope of (1)-(3) and its cost map."""

    def __init__(self, trees: TreesOn, *, constrained: bool) -> None:
        self._names, self._literals, self._depth = trees.names, trees.literals, trees.depth
        literals, depth, limits = trees.literals, trees.depth, trees.limits
        self._truth: Floats = literals.truth.astype(float)
        b = ProgramBuilder()
        n_leaf_actions = trees.n_actions if constrained or depth == 0 else 0
        self._nodes, self._stops, self._leaves = _polytope(b, len(literals), depth, n_leaf_actions, stops=bool(limits))
        if self._leaves is not None and not self._stops:
            self.noisy_columns = self._leaves.ravel()  # also where no context follows the path, as in TreeTerms
        if limits and depth:
            feature = np.array([feature for feature, *_ in literals.tests])
            counts_of = partial(path_totals, self._truth, trees.counts)
            _limit(b, limits, self._nodes, feature, counts_of)
        self.program = b.build(integral=limits.max_leaves is None and limits.max_features is None)

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
        """Return the tree whose paths are 1 in y; a leaf plays its u, or the cheapest action of its contexts."""
        everyone = np.ones(len(self._truth), bool)
        root = grow(lambda path, here: self._chosen(x, costs, path, here), self._literals, everyone)
        return DecisionTree(root, self._names)

    def _chosen(self, x: Floats, costs: Floats, path: tuple[int, ...], here: Bools) -> Leaf | int:
        level, ends = len(path) // 2, self._ends(path)
        if level == self._depth or (ends is not None and x[ends].sum() > 0.5):
            if self._leaves is not None and ends is not None:
                return Leaf(int(x[ends].argmax()))
            return cheapest_leaf(costs, here)
        return int(x[self._nodes[level][path]].argmax())

    def _ends(self, path: tuple[int, ...]) -> Ints | None:
        """Return the columns, one or one of each action, by which ``path`` ends; None where it has none."""
        level = len(path) // 2
        ends = self._leaves if level == self._depth else self._stops[level] if self._stops else None
        return None if ends is None else ends[path]


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
    b: ProgramBuilder, limits: Limits, nodes: list[Ints], feature: Ints, counts: Callable[[int], Floats]
) -> None:
    """Add the structure limits; ``counts(l)`` are those of the leaves at the ends of all paths of length l."""
    if limits.max_leaves is not None:
        every = np.concatenate([y.ravel() for y in nodes])
        b.rows((every[None, :], 1.0), upper=limits.max_leaves - 1.0)  # (4)
    if limits.max_features is not None:
        distinct, number = np.unique(feature, return_inverse=True)
        t = b.columns("t", (len(distinct),), upper=1.0, integer=True)
        for level, y in enumerate(nodes):
            sides_first = np.moveaxis(y, [*range(1, 2 * level, 2), 2 * level], range(level + 1))
            flat = sides_first.reshape(2**level * len(feature), -1)
            b.rows((flat, 1.0), (t[np.tile(number, 2**level)][:, None], -1.0), upper=0.0)  # (5)
        b.rows((t[None, :], 1.0), upper=float(limits.max_features))
    for level, y in enumerate(nodes):
        barred = y[limits.too_small(counts(level + 1)).any(axis=-1)]
        if barred.size:
            b.rows((barred.reshape(-1, 1), 1.0), upper=0.0)  # (6)
