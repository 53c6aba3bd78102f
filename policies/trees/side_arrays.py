"""From side constraints and structure limits to the arrays that the kernels in side_kernels.py read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from milpcb.protocols import SideConstraint
from milpcb.types import Bools, Floats, Ints
from policies.pairings import Pairing, Weighed, pairing
from policies.trees.side_kernels import Joined, States, Sums
from policies.trees.side_states import Endings, Level, action_classes, ended_totals, levels
from policies.weighted_kernels import Side


class Ends(NamedTuple):
    """Structure limits on the leaves of a tree of depth D.

    ``allowed``, for each path length from 0 to D, is which paths (paths,) may end in a leaf; ``most`` is how many
    leaves there may be.
    """

    allowed: Sequence[Bools]
    most: int


class LabelRecursion(NamedTuple):
    """The states of all levels, and the pairing of the two sides of each test at the root."""

    states: States
    joined: Joined
    pairing: Pairing

    def with_columns(self, n_actions: int) -> Joined:
        """Return the two sides with costs for each action, in arrays of their own."""
        heads, tails = (
            side._replace(costs=np.empty((len(side.low), n_actions))) for side in (self.joined.heads, self.joined.tails)
        )
        return self.joined._replace(heads=heads, tails=tails)

    def sums(self, n_leaves: int = 0) -> Sums:
        """Return the arrays that are computed; for sums of weights, those of ``n_leaves`` leaves."""
        states, soft = self.states, n_leaves > 0
        n_labels, n_shorter = states.start[-1] + 1, len(states.ended)
        most = int(np.diff(states.start).max())
        return Sums(
            costs=np.zeros(n_labels),
            masses=np.ones(n_labels if soft else 0),
            powers=np.zeros(n_labels if soft else 0, dtype=np.int64),
            alike=np.zeros(len(states.start) - 1 if soft else 0, dtype=np.int64),
            leaf_masses=np.empty(n_leaves),
            leaf_powers=np.empty(n_leaves, dtype=np.int64),
            totals=np.empty((n_shorter, len(states.classes))),
            at=np.zeros(len(states.start) - 1, dtype=bool),
            number=np.empty(2 * most, dtype=np.int64),
            cost=np.empty(2 * most),
        )


def recursion(p: int, n_actions: int, depth: int, rows: Sequence[SideConstraint], ends: Ends | None) -> LabelRecursion:
    """Return the recursion over trees of a ``depth`` over p literals that keep ``rows``, and ``ends`` where given.

    Without them all paths are full. Raises SearchTooLargeError where there is too much to keep.
    """
    weights, bounds = _scaled(rows, (-1, n_actions))
    first, classes = action_classes(weights)
    counted = ends is not None and ends.most < 2**depth
    full = [np.full((2 * p) ** level, level == depth) for level in range(depth + 1)]
    every = [ended_totals(row[:, first], p, depth) for row in weights]
    endings = [
        Endings(_counted(np.array(of_rows), counted=counted), allowed)
        for *of_rows, allowed in zip(*every, ends.allowed if ends else full, strict=True)
    ]
    found = levels(p, endings)
    dominance = bounds.shape[1] == 1 and bounds[0, 0] == -np.inf
    states = _states(p, found, classes, _group_starts(found, counted=counted, dominance=dominance))
    if ends is None:
        states = states._replace(ended=states.ended[:0])
    most = ends.most if ends is not None and counted else None
    return LabelRecursion(states, *_joined(found, states, bounds, most))


def _scaled(rows: Sequence[SideConstraint], shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return the weights (R, leaves, K) of rows, the largest between 1/2 and 1, and their bounds (2, R).

    Factors are powers of 2. A row that is bounded below alone is turned round.
    """
    weights, bounds = [], []
    for row in rows:
        exponent = -int(np.frexp(np.abs(row.weights).max(initial=0.0))[1])
        scaled, lower, upper = (np.ldexp(number, exponent) for number in (row.weights, row.lower, row.upper))
        turned = upper == np.inf
        weights.append((-scaled if turned else scaled).reshape(shape))
        bounds.append((-upper, -lower) if turned else (lower, upper))
    return np.array(weights), np.array(bounds).T


def _counted(weights: Floats, *, counted: bool) -> Floats:
    """Return the weights (R, paths, C) of leaves with their number before them where it is counted."""
    return np.concatenate([np.ones_like(weights[:1]), weights]) if counted else weights


def _group_starts(found: Sequence[Level], *, counted: bool, dominance: bool) -> Bools:
    """Return which labels of all levels begin a group: where there is no ``dominance``, each of them.

    Under one row that is bounded above a lighter tree may stand for a heavier one, but not where its number of leaves
    is ``counted`` and another.
    """
    group_starts = []
    for level in found:
        weights, begins = level.weights[-1], np.zeros(level.weights.shape[1], dtype=bool)
        begins[level.start[:-1][np.diff(level.start) > 0]] = True
        if counted:
            begins[1:] |= np.diff(level.weights[0]) != 0.0
        begins[1:] |= np.diff(weights) < 0.0  # actions at a leaf are not always in order of weight
        group_starts.append(begins | (not dominance))
    return np.concatenate(group_starts)


def _states(p: int, found: Sequence[Level], classes: Ints, group_starts: Bools) -> States:
    """Return the levels one behind the other, from the root on."""
    n_labels = [level.weights.shape[1] for level in found]
    before = np.cumsum([0, *n_labels])
    n_pairs = np.cumsum([0, *(len(level.label) for level in found[:-1])])
    shorter = list(zip(found[:-1], before, n_pairs, strict=False))
    no_states = np.zeros((0, found[-1].ended.shape[1]), dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    return States(
        n_tests=p,
        offset=np.cumsum([0, *(len(level.ended) for level in found)]),
        classes=classes,
        members=np.argsort(classes, kind="stable"),
        edges=np.cumsum(np.append(0, np.bincount(classes))),
        start=np.concatenate(
            [level.start[:-1] + first for level, first in zip(found, before, strict=False)] + [before[-1:]]
        ),
        group_starts=group_starts,
        ended=np.concatenate(
            [no_states, *(np.where(level.ended < 0, -1, level.ended + labels) for level, labels, _ in shorter)]
        ),
        first=np.concatenate([none, *(level.first + pairs for level, _, pairs in shorter)]),
        label=np.concatenate(
            [none.astype(np.int32), *((level.label + labels).astype(np.int32) for level, labels, _ in shorter)]
        ),
    )


def _joined(found: Sequence[Level], states: States, bounds: Floats, most: int | None) -> tuple[Joined, Pairing]:
    """Return the labels on both sides of each test at the root in order of weight, and their pairing."""
    weights = np.concatenate([*(level.weights for level in found[:2]), np.zeros((len(found[0].weights), 1))], axis=1)
    nothing = states.start[-1]
    ways = [(heads, tails) for heads, tails in _ways(states, weights[0], most) if len(heads) and len(tails)]
    number = np.arange(len(ways))
    heads, tails = (np.concatenate(side) for side in zip(*ways, strict=True))
    head_state, tail_state = (np.repeat(number, [len(side) for side in sides]) for sides in zip(*ways, strict=True))
    of_rows = weights[-bounds.shape[1] :]
    found_pairing = pairing(
        Weighed(head_state, of_rows[:, heads]),
        Weighed(tail_state, of_rows[:, tails]),
        bounds,
    )
    tails = np.where(tails == weights.shape[1] - 1, nothing, tails)
    joined = Joined(
        heads[found_pairing.by_head],
        tails[found_pairing.by_tail],
        np.searchsorted(states.start, [side[0] for side, _ in ways], side="right") - 1,
        np.zeros(len(ways), dtype=bool),
        _in_a_column(found_pairing.heads),
        _in_a_column(found_pairing.tails),
        found_pairing.bounds,
        np.empty((max(len(heads), len(tails)), 2)),
    )
    return joined, found_pairing


def _in_a_column(side: Side) -> Side:
    """Return a side with the same costs as one column (n, 1)."""
    return side._replace(costs=side.costs[:, None])


def _ways(states: States, n_leaves: Floats, most: int | None) -> Iterator[tuple[Ints, Ints]]:
    """Yield heads and tails: the labels on the side where a test at the root fails, with those where it holds.

    A root that is a leaf goes with nothing. Where leaves are limited, heads with a number of them go with the tails
    that leave it at ``most``.
    """
    start = states.start[: 2 + 2 * states.n_tests]
    labels = [np.arange(*ends) for ends in pairwise(start)]
    yield labels[0], np.array([len(n_leaves) - 1])
    for fails, holds in zip(labels[1::2], labels[2::2], strict=True):
        if most is None:
            yield fails, holds
            continue
        for count in np.unique(n_leaves[fails]):
            yield fails[n_leaves[fails] == count], holds[n_leaves[holds] + count <= most]
