"""Threshold rules: one feature cut into pieces, an action a piece; a shortest path as a network program.

Policy class
    One feature f, at most B of its cut points theta_1 < ... < theta_q, any action on each of the pieces between them;
    fewer cuts, and so constants, are included. With q_f cut points on feature f and K actions,
    N = K + sum_f sum_{c=1..B} C(q_f, c) K (K - 1)^c.
Variables
    The cut points of a feature are numbered 1..q; 0 stands below the first and q + 1 above the last.
    z[f, k, i, j, a] in {0, 1}: piece k of the rule takes the contexts with theta_i < x[f] <= theta_j and plays a;
    k = 0..B, and piece k ends at q + 1 when k = B.
Constraints
    (1)  sum z[f, 0, 0, j, a] = 1                                   over all f, j, a: one first piece
    (2)  sum_{j, a} z[f, k, i, j, a] = sum_{h, a} z[f, k - 1, h, i, a]    for each f, k >= 1, i: what ends goes on
    A path through the nodes (f, k, i): k cuts used, the last at i. Each column leaves one node and enters one other
    (the end needs no row), so the matrix is a directed incidence matrix, totally unimodular: every vertex is 0/1.
Cost map
    C[f, i, a], the total of costs[., a] over the contexts with x[f] <= theta_i, is linear in the costs;
    z[f, k, i, j, a] costs C[f, j, a] - C[f, i, a]. One map serves with and without side constraints.
Size
    B = 1: (2 q + 1) K columns and q rows per feature; each further cut adds at most K q (q + 1) / 2 columns and
    q rows; no big-M.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import InvertibleEncoding, Objective
from milpcb.types import Floats, Ints
from policies.cuts import Distinct, Thresholds, is_binary
from policies.literals import columns_of
from policies.names import Names
from policies.thresholds.rule import ThresholdRule

DENSE = 2**22  # entries (bin, context): up to here the totals of bins are one product of matrices


@dataclass(frozen=True)
class Bins:
    """Features with the cut points that divide the contexts, and the bin of each context.

    ``cuts`` holds the increasing cut points of each feature that has any; where none has, feature 0 with no cut stands
    for the constants. ``bins`` (g, features) is the number of those cuts below the context, ``binary`` marks which
    features only take 0 and 1; ``group`` (m,) and ``contexts`` (g, d) are those of Opened.
    """

    cuts: dict[int, Floats]
    binary: dict[int, bool]
    bins: Ints
    group: Ints
    contexts: Floats

    @classmethod
    def of(cls, contexts: Floats, thresholds: Thresholds) -> Bins:
        """Return the bins of ``contexts`` (m, d)."""
        every = columns_of(contexts, thresholds)
        columns = [column for column in every if len(column.cuts)] or every[:1]
        cuts = {column.feature: column.cuts for column in columns}
        bins = np.column_stack([column.codes for column in columns])
        distinct = Distinct.rows(bins)
        binary = {f: is_binary(contexts[:, f]) for f in cuts}
        return cls(cuts, binary, bins[distinct.first], distinct.group, contexts[distinct.first])


def bin_totals(bins: Ints, sizes: Ints) -> Callable[[Floats], Floats]:
    """Return the function of costs (n, K) that adds up each action in each bin, a feature after the other: (bins, K).

    ``bins`` (n, features) are those of the contexts, ``sizes`` (features,) how many bins each feature has.
    """
    bins = bins + np.cumsum(sizes) - sizes
    n_bins = int(sizes.sum())
    if len(bins) * n_bins <= DENSE:
        member = (bins.T[np.repeat(np.arange(len(sizes)), sizes)] == np.arange(n_bins)[:, None]).astype(float)
        return lambda costs: np.asarray(member @ costs)

    def add_up(costs: Floats) -> Floats:
        added = (np.bincount(bins.ravel(), np.repeat(column, len(sizes)), n_bins) for column in costs.T)
        return np.column_stack(list(added))

    return add_up


class ThresholdEncoding(InvertibleEncoding):
    """The polytope of (1)-(2) and its cost map."""

    def __init__(self, bins: Bins, n_actions: int, max_cuts: int, names: Names) -> None:
        self._names, self._shape, self._binary = names, (-1, n_actions), bins.binary
        self._cuts = bins.cuts
        pieces = _pieces(self._cuts, max_cuts)
        self._number = {piece: number for number, piece in enumerate(pieces)}
        self.program = _network(pieces, n_actions)
        self._feature, _, self._start, self._stop = np.array(pieces).T
        # Row `base[f] + i` of `below` marks the contexts with x[f] <= theta_i, i = 0..q + 1.
        sizes = [len(cuts) + 2 for cuts in self._cuts.values()]
        base = dict(zip(self._cuts, np.cumsum([0, *sizes[:-1]]), strict=True))
        offset = np.array([base[f] for f in self._feature])
        self._lower, self._upper = offset + self._start, offset + self._stop
        self._below = np.vstack(
            [bins.bins[:, c] < np.arange(size)[:, None] for c, size in enumerate(sizes)], dtype=float
        )

    def objective(self, costs: Floats) -> Objective:
        """Return the total cost of each piece with each action."""
        totals = self._below @ costs
        return Objective((totals[self._upper] - totals[self._lower]).ravel())

    def decode(self, x: Floats, costs: Floats) -> ThresholdRule:
        """Return the rule whose pieces, from low to high, are those of the path that is 1 in ``x``."""
        del costs  # x holds the actions
        table = x.reshape(self._shape)
        taken = np.flatnonzero(table.max(axis=1) > 0.5)
        taken = taken[self._start[taken].argsort()]
        f = int(self._feature[taken[0]])
        cuts, actions = self._cuts[f][self._start[taken[1:]] - 1], table[taken].argmax(axis=1)
        return ThresholdRule(f, tuple(cuts.tolist()), tuple(actions.tolist()), self._names, self._binary[f])

    def encode(self, policy: ThresholdRule) -> Floats:
        """Return the path of the rule's pieces, for a constant one piece of some feature."""
        f = policy.feature if policy.feature in self._cuts else next(iter(self._cuts))
        inner = (np.searchsorted(self._cuts[f], policy.cuts) + 1).tolist()
        x = np.zeros(self.program.n_columns).reshape(self._shape)
        pieces = pairwise([0, *inner, len(self._cuts[f]) + 1])
        for k, ((start, stop), action) in enumerate(zip(pieces, policy.actions, strict=True)):
            x[self._number[f, k, start, stop], action] = 1.0
        return x.ravel()


def _pieces(cuts: dict[int, Floats], max_cuts: int) -> list[tuple[int, int, int, int]]:
    """Return (f, k, i, j) for every piece k = 0, 1, ... that a rule may have: above cut i, up to cut j of feature f."""
    return [
        (f, k, i, j)
        for f, q in ((f, len(points)) for f, points in cuts.items())
        for k in range(min(max_cuts, q) + 1)
        for i in (range(k, q + 1) if k else (0,))
        for j in (range(i + 1, q + 2) if k < min(max_cuts, q) else (q + 1,))
    ]


def _network(pieces: list[tuple[int, int, int, int]], n_actions: int) -> Program:
    """Return the program; its columns are the pieces with their actions, (pieces, K) read row by row."""
    b = ProgramBuilder()
    into: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    out: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    for f, k, i, j in pieces:
        columns = b.columns(f"z_{f}_{k}_{i}_{j}", (n_actions,), upper=1.0, integer=True).tolist()
        out[f, k, i] += columns
        into[f, k + 1, j] += columns
    first = [column for (_, k, _), columns in out.items() if k == 0 for column in columns]
    b.rows((np.array([first]), 1.0), lower=1.0, upper=1.0)  # (1)
    for node, columns in out.items():
        if node in into:
            b.rows((np.array([columns]), 1.0), (np.array([into[node]]), -1.0), lower=0.0, upper=0.0)  # (2)
    return b.build(integral=True)
