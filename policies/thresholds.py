"""Threshold rules: one rule, the leaf totals (feature, bin, action), the rules as paths through them, the settings.

Policy class
    One feature, at most B of its cut points, any action on each of the pieces between them; fewer cuts, and so
    constants, are included. With q_f cut points on feature f, N = K + sum_f sum_{c=1..B} C(q_f, c) K (K - 1)^c.
Paths
    A piece is a run of bins of one feature. A derivation is a feature, at most B of its cuts, and any action for each
    piece (neighbours may repeat theirs), so a constant is counted once per feature and set of cuts. Free questions go
    bin by bin: long paths, few edges. Walks and programs go piece by piece, by nodes (feature, cuts used, last cut):
    the total of a piece is the difference of two running sums over bins. For B = 1 there are 2 q + 1 pieces a feature,
    else (q + 1) (q + 2) / 2; each further cut adds at most q nodes and q (q + 1) / 2 edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise, product
from math import comb, log
from typing import Any

import numpy as np

from milpcb.core.checks import whole
from milpcb.types import Floats, Ints
from policies.cuts import CuttingClass, Thresholds, check_thresholds
from policies.exports.decisions import Test
from policies.literals import Literals
from policies.names import Names
from policies.paths.graph import Graph
from policies.paths.policy_class import OpenedPaths, PathTerms
from policies.rule import ChainRule


@dataclass(frozen=True, repr=False)
class ThresholdRule(ChainRule):
    """``actions[i]`` where exactly i of the increasing ``cuts`` lie below the feature.

    Neighbouring pieces with one action are merged, and a constant is a rule on feature 0, so that equal rules compare
    equal. ``binary`` means that the feature only takes 0 and 1.
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

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        return self.actions

    @property
    def _conditions(self) -> list[Test]:
        return [Test(self.feature, "<=", cut, self.binary) for cut in self.cuts]

    def _leaf(self, contexts: Floats) -> Ints:
        return np.searchsorted(self.cuts, contexts[:, self.feature]).astype(np.int64)


class ThresholdTerms(PathTerms):
    """The bins between the cut points, a feature after the other, from low to high, each with every action.

    Paths go bin by bin: nodes (cuts used, feature, bin, action), and one between two bins where a cut is made.
    """

    def __init__(
        self, cuts: dict[int, Floats], binary: list[bool], n_actions: int, max_cuts: int, names: Names
    ) -> None:
        self.n_actions = n_actions
        self._cuts, self._binary, self._max_cuts, self._names = cuts, binary, max_cuts, names
        self._features = list(cuts)
        self._sizes = np.array([len(points) + 1 for points in cuts.values()])
        self._first = np.cumsum([0, *self._sizes[:-1]])
        self.n_features = 1 + max(cuts)
        self.n_touched = len(cuts)
        self.n_terms = int(self._sizes.sum()) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        return list(((self._first + self._bins(contexts)) * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        import scipy.sparse as sp  # only where there are threshold rules, as it takes a tenth of a second to import

        bins = self._first + self._bins(contexts)
        (n, d), n_bins = bins.shape, self.n_terms // self.n_actions
        member = sp.csr_array((np.ones(n * d), (bins.ravel(), np.repeat(np.arange(n), d))), shape=(n_bins, n))
        return lambda costs: np.ravel(member @ costs)

    def _bins(self, contexts: Floats) -> Ints:
        return np.column_stack([np.searchsorted(points, contexts[:, f]) for f, points in self._cuts.items()])

    def _rule(self, position: int, cuts: Sequence[int], actions: Sequence[int]) -> ThresholdRule:
        f = self._features[position]
        points = tuple(float(self._cuts[f][bin_]) for bin_ in cuts)
        return ThresholdRule(f, points, tuple(actions), self._names, self._binary[f])

    @cached_property
    def walked(self) -> _Pieces:
        return _Pieces(self._cuts, self._binary, self.n_actions, self._max_cuts, self._names)

    def policy(self, terms: list[int]) -> ThresholdRule:
        leaves, actions = zip(*(divmod(term, self.n_actions) for term in terms), strict=True)
        position = int(np.searchsorted(self._first, leaves[0], side="right")) - 1
        return self._rule(position, range(len(leaves) - 1), actions)

    @cached_property
    def graph(self) -> Graph:
        """The rules of up to B cuts, layer by layer: in layer k, k cuts have been made."""
        n_leaves, K, actions = int(self._sizes.sum()), self.n_actions, np.arange(self.n_actions)
        edges: list[tuple[Any, Any, Any]] = []
        cut: dict[int, Ints] = {}  # of each feature, the nodes of the cuts that lead to the layer
        node = 1
        for k in range(self._max_cuts + 1):
            made: dict[int, Ints] = {}
            for f, (first, size) in enumerate(zip(self._first.tolist(), self._sizes.tolist(), strict=True)):
                if size <= k:
                    continue
                bins = np.arange(k, size)
                runs = node + (bins - k)[:, None] * K + actions  # after a bin with an action
                node += runs.size
                runs[-1] = -1  # the sink
                terms = (first + bins)[:, None] * K + actions
                if k == 0:
                    edges.append((np.zeros(K, dtype=np.int64), runs[0], terms[0]))
                else:
                    edges.append((np.repeat(cut[f], K), runs.ravel(), terms.ravel()))
                edges.append((runs[:-1].ravel(), runs[1:].ravel(), terms[1:].ravel()))
                if k < self._max_cuts and size > k + 1:
                    made[f] = runs[:-1]
            cut = {}
            for f, before in made.items():
                cut[f] = node + np.arange(len(before))
                node += len(before)
                edges.append((before.ravel(), np.repeat(cut[f], K), np.full(before.size, -1)))
        source, to, term = (np.concatenate(part) for part in zip(*edges, strict=True))
        return Graph(source, np.where(to < 0, node, to), np.where(term < 0, n_leaves * (K + 1), term), n_leaves, K)


class _Pieces(ThresholdTerms):
    """Paths piece by piece: nodes (feature, cuts used, last cut). Leaves are pieces, numbered feature by feature."""

    def policy(self, terms: list[int]) -> ThresholdRule:
        pieces, actions = zip(*(divmod(term, self.n_actions) for term in terms), strict=True)
        position, _, stop = self._ends
        return self._rule(int(position[pieces[0]]), [int(stop[piece]) - 1 for piece in pieces[:-1]], actions)

    def leaf_totals(self, totals: Floats) -> Floats:
        """Return the totals of the pieces; the running sums of each feature begin at 0, so that they stay exact."""
        table, zeros = totals.reshape(-1, self.n_actions), self._first + np.arange(len(self._first))
        position, start, stop = self._ends
        sums = np.insert(table, self._first, 0.0, axis=0)
        sums[zeros[1:]] = -np.add.reduceat(table, self._first, axis=0)[:-1]
        np.cumsum(sums, axis=0, out=sums)
        return np.asarray(sums[zeros[position] + stop] - sums[zeros[position] + start]).ravel()

    def deciding(self, place: Ints) -> tuple[Ints, Ints]:
        position, start, stop = self._ends
        bins = (place[:, 0] // self.n_actions - self._first)[position]
        leaves = np.flatnonzero((start <= bins) & (bins < stop))
        actions = np.arange(self.n_actions)
        return (leaves[:, None] * self.n_actions + actions).ravel(), np.tile(actions, len(leaves))

    @cached_property
    def _ends(self) -> Ints:
        """Position of the feature, start and stop (3, pieces) of each piece, of the bins start <= bin < stop."""
        found = []
        for f, size in enumerate(self._sizes.tolist()):
            if self._max_cuts == 1:
                cuts = np.arange(1, size)
                start = np.concatenate([np.zeros(size, dtype=np.int64), cuts])
                stop = np.concatenate([np.arange(1, size + 1), np.full(size - 1, size)])
            else:
                start, stop = np.triu_indices(size + 1, 1)
            found.append(np.array([np.full(len(start), f), start, stop]))
        return np.concatenate(found, axis=1)

    @cached_property
    def graph(self) -> Graph:
        """The rules of up to B cuts; each piece with the action that costs least."""
        edges, node, pieces = [], 1, np.arange(self._ends.shape[1])
        for f, size in enumerate(self._sizes.tolist()):
            leaf, most = pieces[self._ends[0] == f], min(self._max_cuts, size - 1)
            _, start, stop = self._ends[:, leaf]
            for k in range(most + 1):  # cuts before the piece, the last of them at its start
                here = ((start >= k) if k else (start == 0)) & ((stop == size) | (k < most))
                source = node + (k - 1) * (size - 1) + start[here] - 1 if k else 0 * start[here]
                to = np.where(stop[here] == size, -1, node + k * (size - 1) + stop[here] - 1)
                edges.append((source, to, leaf[here]))
            node += most * (size - 1)
        source, to, leaf = (np.concatenate(part) for part in zip(*edges, strict=True))
        n_leaves = len(pieces)
        return Graph(source, np.where(to < 0, node, to), n_leaves * self.n_actions + leaf, n_leaves, self.n_actions)


@dataclass(frozen=True)
class ThresholdRules(CuttingClass):
    """Rules that cut one feature into pieces.

    Parameters
    ----------
    n_actions : K >= 2
    max_cuts : B >= 1, the most cuts of a rule
    thresholds : number of quantile cuts per feature, "all" for one between any two values, or one list per feature
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

    def _on(self, contexts: Floats, names: Names) -> OpenedThresholds:
        return OpenedThresholds(self.with_cuts_of(contexts, names), contexts, names)

    def _terms(self, cuts: tuple[tuple[float, ...], ...], names: Names) -> ThresholdTerms:
        every = {f: np.array(points) for f, points in enumerate(cuts) if points} or {0: np.zeros(0)}
        return ThresholdTerms(every, [False] * len(cuts), self.n_actions, self.max_cuts, names)


class OpenedThresholds(OpenedPaths):
    """Threshold rules on fixed contexts. ``log_size`` is exact for rules, an upper bound for labelings."""

    def __init__(self, rules: ThresholdRules, contexts: Floats, names: Names) -> None:
        literals = Literals.of(contexts, rules.thresholds, by_feature=True)
        points = np.split(literals.cuts, literals.first[1:-1])
        self._cuts = dict(zip(literals.features.tolist(), points, strict=False)) or {0: points[0]}  # for the constants
        self._binary, self._names, self._max_cuts = literals.binary, names, rules.max_cuts
        k, sizes = rules.n_actions, [len(cuts) for cuts in self._cuts.values()]
        chosen = [(q, c) for q in sizes for c in range(min(rules.max_cuts, q) + 1)]
        size = k + sum(comb(q, c) * k * (k - 1) ** c for q, c in chosen if c)
        ways = sum(comb(q, c) * k ** (c + 1) for q, c in chosen)
        super().__init__(rules, literals.group, literals.contexts, log_size=log(size), n_derivations=ways)

    @cached_property
    def own_terms(self) -> ThresholdTerms:
        return ThresholdTerms(self._cuts, self._binary, self.n_actions, self._max_cuts, self._names)

    def describe_search(self) -> str:
        return "a dynamic program over the bins of each feature"

    def policies(self) -> Iterator[ThresholdRule]:
        yield from (ThresholdRule(0, (), (a,), self._names) for a in range(self.n_actions))
        for f, cuts in self._cuts.items():
            for c in range(1, min(self._max_cuts, len(cuts)) + 1):
                every = product(range(self.n_actions), repeat=c + 1)
                changing = [actions for actions in every if all(a != b for a, b in pairwise(actions))]
                for chosen, actions in product(combinations(cuts.tolist(), c), changing):
                    yield ThresholdRule(f, chosen, actions, self._names, self._binary[f])

    def draw(self, rng: np.random.Generator) -> ThresholdRule:
        """Return a random rule: a feature, the most cuts allowed, any action for each piece, all uniform."""
        f = int(rng.choice(list(self._cuts)))
        cuts = self._cuts[f]
        chosen = np.sort(rng.choice(cuts, min(self._max_cuts, len(cuts)), replace=False))
        actions = rng.integers(self.n_actions, size=len(chosen) + 1)
        return ThresholdRule(f, tuple(chosen.tolist()), tuple(actions.tolist()), self._names, self._binary[f])
