"""The leaf totals of threshold rules, (feature, bin, action), and their dynamic program, for all features at once.

A piece of a rule is a run of bins of one feature. A derivation is a feature, at most B of its cuts, and any action for
each piece (neighbours may repeat theirs), so a constant is counted once per feature and set of cuts.

The program has a column for each piece, the sum of its bins, so noise on its columns is not noise on these terms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.derivations import Derivations, FoldedTerms
from policies.names import Names
from policies.thresholds.geometry import bin_totals
from policies.thresholds.pieces import Pieces
from policies.thresholds.rule import ThresholdRule


class ThresholdTerms(FoldedTerms):
    """The bins between the cut points, a feature after the other, from low to high, each with every action."""

    def __init__(
        self, cuts: dict[int, Floats], binary: dict[int, bool], n_actions: int, max_cuts: int, names: Names
    ) -> None:
        self.n_actions = n_actions
        self._cuts, self._binary, self._max_cuts, self._names = cuts, binary, max_cuts, names
        self._sizes = sizes = np.array([len(points) + 1 for points in cuts.values()])
        self._first = np.cumsum([0, *sizes[:-1]])
        self._real = np.arange(sizes.max()) < sizes[:, None]
        self._may_cut: Bools = self._real & (np.arange(sizes.max()) > 0)
        self.n_features = 1 + max(cuts)
        self.n_touched = len(cuts)
        self.n_terms = int(sizes.sum()) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the bin of each feature."""
        return list(((self._first + self._bins(contexts)) * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``."""
        add_up = bin_totals(self._bins(contexts), self._sizes)
        return lambda costs: add_up(costs).ravel()

    def derivations(self) -> Derivations:
        """Return all rules, in pieces."""
        return Derivations.whole(self._pieces.rules)

    def policy(self, parts: list[int]) -> ThresholdRule:
        """Return the rule of these pieces, from low to high."""
        numbers, actions = zip(
            *(divmod(part, self.n_actions) for part in parts if part < self._pieces.nothing), strict=True
        )
        f = int(self._pieces.feature[numbers[0]])
        return self._rule(f, [int(self._pieces.stop[number]) for number in numbers[:-1]], actions)

    def parts(self, totals: Floats) -> Floats:
        """Return the totals of the pieces, each with every action."""
        pieces, below = self._pieces, np.pad(self._tables(totals).cumsum(axis=1), ((0, 0), (1, 0), (0, 0)))
        return np.asarray(below[pieces.feature, pieces.stop] - below[pieces.feature, pieces.start]).ravel()

    def actions(self, place: Ints) -> Ints:
        """Return the actions of the pieces that hold the bins of ``place``."""
        pieces, bins = self._pieces, self._own(place)[self._pieces.feature]
        holds = (pieces.start <= bins) & (bins < pieces.stop)
        return np.where(holds[:, None], np.arange(self.n_actions), -1).ravel()

    def value(self, totals: Floats) -> float:
        """Return the least total."""
        return float(self._states(self._tables(totals), np.minimum)[-1].min())

    def minimise(self, totals: Floats) -> tuple[float, ThresholdRule]:
        """Return the least total and a rule that attains it, walking back from its last piece."""
        tables = self._tables(totals)
        states = self._states(tables, np.minimum)
        last = states[-1]
        f, used, action = (int(i) for i in np.unravel_index(last.argmin(), last.shape))
        actions, bins = [action], list[int]()
        for b in range(tables.shape[1] - 1, 0, -1):
            before = states[b - 1][f]
            if before[used, action] + tables[f, b, action] == states[b][f, used, action]:  # its own sum
                continue
            used -= 1
            action = int(before[used].argmin())
            bins.append(b)
            actions.append(action)
        return float(last.min()), self._rule(f, bins[::-1], tuple(actions[::-1]))

    def _states(self, tables: Floats, add: np.ufunc) -> list[Floats]:
        """Fold the bins from low to high: after each, (..., features, cuts used, last action).

        ``add`` is min or log-sum-exp, and the last of them the sum over the rules that end so.
        """
        nothing = _nothing(add)
        state = np.full((*tables.shape[:-2], self._max_cuts + 1, self.n_actions), nothing)
        state[..., 0, :] = tables[..., 0, :]
        states = [state]
        for b in range(1, tables.shape[-2]):
            cut = add.reduce(state[..., :-1, :], axis=-1, keepdims=True)
            cut = np.where(self._may_cut[:, b, None, None], cut, nothing)
            after = state.copy()
            after[..., 1:, :] = add(state[..., 1:, :], cut)
            state = after + tables[..., None, b, :]
            states.append(state)
        return states

    def _by_action(self, totals: Floats, place: Ints, add: np.ufunc) -> Floats:
        """Return (K,): the sums with the bins of the context held to each action in turn."""
        tables, bins, features = self._tables(totals), self._own(place), np.arange(len(self._cuts))
        forced = np.repeat(tables[None], self.n_actions, axis=0)
        other = ~np.eye(self.n_actions, dtype=bool)
        forced[:, features, bins, :] = np.where(other[:, None, :], _nothing(add), tables[features, bins][None])
        return np.asarray(add.reduce(self._states(forced, add)[-1].reshape(self.n_actions, -1), axis=1))

    def _tables(self, totals: Floats) -> Floats:
        """Return the totals (features, bins, K), padded with zeros."""
        tables = np.zeros((*self._real.shape, self.n_actions))
        tables[self._real] = totals.reshape(-1, self.n_actions)
        return tables

    def _own(self, place: Ints) -> Ints:
        """Return the bins (features,) of a place."""
        return np.asarray(place[:, 0] // self.n_actions - self._first)

    def _bins(self, contexts: Floats) -> Ints:
        """Return the bin (n, features) of each of ``contexts`` in each feature."""
        return np.column_stack([np.searchsorted(points, contexts[:, f]) for f, points in self._cuts.items()])

    def _rule(self, f: int, bins: list[int], actions: tuple[int, ...]) -> ThresholdRule:
        """Return the rule on the feature at place f whose pieces but the first begin with these bins."""
        feature = list(self._cuts)[f]
        cuts = tuple(float(self._cuts[feature][b - 1]) for b in bins)
        return ThresholdRule(feature, cuts, actions, self._names, self._binary[feature])

    @cached_property
    def _pieces(self) -> Pieces:
        """The pieces of the rules: listed for side constraints alone, as there may be many."""
        return Pieces([len(points) for points in self._cuts.values()], self._max_cuts, self.n_actions)


def _nothing(add: np.ufunc) -> float:
    """Return the sum of no terms."""
    return np.inf if add is np.minimum else -np.inf
