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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from math import comb, log
from typing import TYPE_CHECKING, Any

import numpy as np

from milpcb.checks import context_array, whole
from milpcb.errors import InputError
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Encoding, Objective
from milpcb.types import Floats, Ints
from policies.literals import (
    CuttingClass,
    Distinct,
    Thresholds,
    check_names,
    check_thresholds,
    cut_points,
    describe_test,
)
from policies.names import Names

if TYPE_CHECKING:
    from policies.thresholds_search import ThresholdSearch


@dataclass(frozen=True)
class ThresholdRule:
    """One threshold rule: ``actions[i]`` where exactly i of the increasing ``cuts`` lie below the feature.

    Neighbouring pieces with one action are merged, and a constant is said of feature 0, so that equal rules compare
    equal. ``binary`` says that the feature only takes 0 and 1.
    """

    feature: int
    cuts: tuple[float, ...]
    actions: tuple[int, ...]
    names: Names = field(default=Names(), compare=False)
    binary: bool = False

    def __post_init__(self) -> None:
        changes = [i for i, (left, right) in enumerate(pairwise(self.actions)) if left != right]
        object.__setattr__(self, "cuts", tuple(self.cuts[i] for i in changes))
        object.__setattr__(self, "actions", (self.actions[0], *(self.actions[i + 1] for i in changes)))
        if not changes:
            object.__setattr__(self, "feature", 0)
            object.__setattr__(self, "binary", False)

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,); raises InputError when the feature is not there."""
        array = context_array(contexts)
        if self.feature >= array.shape[1]:
            raise InputError(
                f"the rule tests feature {self.feature}, but the contexts have {array.shape[1]} columns; "
                "give the columns the rule was made on"
            )
        return np.array(self.actions, dtype=np.int64)[np.searchsorted(self.cuts, array[:, self.feature])]

    def __str__(self) -> str:
        plays = [f"play {self.names.action(action)}" for action in self.actions]
        if not self.cuts:
            return plays[0]
        tests = [describe_test(self.names, self.feature, cut, binary=self.binary) for cut in self.cuts]
        heads = [f"if {tests[0]}:", *(f"elif {test}:" for test in tests[1:]), "else:"]
        return "\n".join(f"{head}\n    {play}" for head, play in zip(heads, plays, strict=True))


@dataclass(frozen=True)
class ThresholdRules(CuttingClass):
    """Rules that cut one feature into pieces.

    Parameters
    ----------
    n_actions : K >= 2
    max_cuts : B >= 1, the most cuts of a rule
    thresholds : number of quantile cuts per feature, or one list of cut points per feature; a feature that only takes
        0 and 1 gives one cut
    feature_names, action_names : used in printed rules

    """

    n_actions: int
    max_cuts: int = 1
    thresholds: Thresholds = 3
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        whole("max_cuts", self.max_cuts, 1)
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    @property
    def names(self) -> Names:
        """Names for printing."""
        return Names(check_names(self.feature_names), check_names(self.action_names))

    def cuts(self, contexts: Floats) -> dict[int, Floats]:
        """Return the cut points, increasing, of each feature that has any.

        A cut is kept when some contexts lie between it and its neighbours: each way of dividing appears once.
        """
        divided = {}
        for f, cuts in enumerate(cut_points(contexts, self.thresholds)):
            below = (contexts[:, f, None] <= cuts).sum(axis=0)
            number, first = np.unique(below, return_index=True)
            kept = cuts[first[(number > 0) & (number < len(contexts))]]
            if len(kept):
                divided[f] = kept
        return divided

    def formulate(self, contexts: Floats, *, constrained: bool = False) -> ThresholdEncoding:
        """Return the shortest-path encoding; an LP suffices unless side constraints are added."""
        del constrained  # the one cost map is linear and exact
        return ThresholdEncoding(self, contexts)

    def search(self, contexts: Floats) -> ThresholdSearch:
        """Return the dynamic programme over bins."""
        from policies.thresholds_search import ThresholdSearch

        return ThresholdSearch(self, contexts)

    def log_size(self, contexts: Floats) -> float:
        """Return log N, exact for the rules; an upper bound for labelings, which two features may share."""
        numbers = [(len(cuts), self._most(cuts)) for cuts in self.cuts(contexts).values()]
        k = self.n_actions
        return log(k + sum(comb(q, c) * k * (k - 1) ** c for q, most in numbers for c in range(1, most + 1)))

    def policies(self, contexts: Floats) -> Iterator[ThresholdRule]:
        """List all rules once: constants, then feature by feature, few cuts first."""
        yield from (ThresholdRule(0, (), (a,), self.names) for a in range(self.n_actions))
        for f, cuts in self.cuts(contexts).items():
            binary = _binary(contexts[:, f])
            for c in range(1, self._most(cuts) + 1):
                for chosen, actions in product(combinations(cuts.tolist(), c), _alternating(self.n_actions, c + 1)):
                    yield ThresholdRule(f, chosen, actions, self.names, binary)

    def draw(self, contexts: Floats, rng: np.random.Generator) -> ThresholdRule:
        """Return a random rule: a feature, as many of its cuts as allowed, any action for each piece, all uniform."""
        cuts = self.cuts(contexts) or {0: np.zeros(0)}
        f = int(rng.choice(list(cuts)))
        chosen = np.sort(rng.choice(cuts[f], self._most(cuts[f]), replace=False))
        actions = rng.integers(self.n_actions, size=len(chosen) + 1)
        return ThresholdRule(f, _plain(chosen), _plain(actions), self.names, _binary(contexts[:, f]))

    def _most(self, cuts: Floats) -> int:
        return min(self.max_cuts, len(cuts))


class ThresholdEncoding(Encoding):
    """The polytope of (1)-(2) and its cost map."""

    def __init__(self, rules: ThresholdRules, contexts: Floats) -> None:
        self._names = rules.names
        self._shape = (-1, rules.n_actions)
        self._cuts = rules.cuts(contexts) or {0: np.zeros(0)}  # without any cut, constants on feature 0
        bins = np.column_stack([np.searchsorted(cuts, contexts[:, f]) for f, cuts in self._cuts.items()])
        distinct = Distinct.rows(bins)
        self.group = distinct.group
        self.contexts = contexts[distinct.first]
        self._binary = {f: _binary(contexts[:, f]) for f in self._cuts}
        pieces = _pieces(self._cuts, rules.max_cuts)
        self.program = _network(pieces, rules.n_actions)
        self._feature, _, self._start, self._stop = np.array(pieces).T
        # Row `base[f] + i` of `below` marks the contexts with x[f] <= theta_i, i = 0..q + 1.
        sizes = [len(cuts) + 2 for cuts in self._cuts.values()]
        base = dict(zip(self._cuts, np.cumsum([0, *sizes[:-1]]), strict=True))
        offset = np.array([base[f] for f in self._feature])
        self._lower, self._upper = offset + self._start, offset + self._stop
        self._below = np.vstack(
            [bins[distinct.first, c] < np.arange(size)[:, None] for c, size in enumerate(sizes)], dtype=float
        )

    def objective(self, costs: Floats) -> Objective:
        """Return the total cost of each piece with each action."""
        totals = self._below @ costs
        return Objective((totals[self._upper] - totals[self._lower]).ravel())

    def decode(self, x: Floats, costs: Floats) -> ThresholdRule:
        """Read the pieces that the path takes, from low to high."""
        del costs  # x holds the actions
        table = x.reshape(self._shape)
        taken = np.flatnonzero(table.max(axis=1) > 0.5)
        taken = taken[self._start[taken].argsort()]
        f = int(self._feature[taken[0]])
        cuts, actions = self._cuts[f][self._start[taken[1:]] - 1], table[taken].argmax(axis=1)
        return ThresholdRule(f, _plain(cuts), _plain(actions), self._names, self._binary[f])


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


def _alternating(n_actions: int, pieces: int) -> Iterator[tuple[int, ...]]:
    """Yield the actions of pieces whose neighbours differ."""
    for actions in product(range(n_actions), repeat=pieces):
        if all(left != right for left, right in pairwise(actions)):
            yield actions


def _binary(column: Floats) -> bool:
    return bool(np.isin(column, (0.0, 1.0)).all())


def _plain(values: Any) -> tuple[Any, ...]:
    """Return numpy numbers as Python's, so that rules print and hash like hand-written ones."""
    return tuple(values.tolist())
