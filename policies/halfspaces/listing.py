"""All labelings of a few points by halfspaces, from the hyperplanes that they span.

A halfspace can be moved, without a change of labels, until its boundary holds as many affinely independent points as
there are dimensions; those on the boundary are labelled by a halfspace of one dimension less. Conversely, a boundary
turns a little to label the points on it as any of these do. In general position there are 2^d ways, at each of the
C(g, d) hyperplanes; the others are gone through once each, by recursion.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from milpcb.types import Bools, Floats

# A point is on a hyperplane when its score is at most this share of the largest. Points span no hyperplane when their
# singular values differ by more than the inverse of the other share; scores are exact to a tenth of the first one then.
_ON = 1e-8
_FLAT = 1e-7


class Dichotomies(NamedTuple):
    """Labels (N, g), each once and in increasing order, and an estimate (N,) of the margin with which they are had."""

    labels: Bools
    margins: Floats


def dichotomies(points: Floats) -> Dichotomies:
    """Return how halfspaces label ``points`` (g, d), different ones."""
    centred = points - points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int((sizes > _ON * sizes.max(initial=1.0)).sum())
    n = len(points)
    if n == rank + 1:
        return Dichotomies(_binary(n), np.full(2**n, sizes[rank - 1] / sizes[0] if rank else 1.0))
    affine = np.column_stack([centred @ axes[:rank].T, np.ones(n)])
    subsets = np.array(list(combinations(range(n), rank)))
    _, spread, normals = np.linalg.svd(affine[subsets])
    scores = normals[:, -1] @ affine.T
    scores /= np.abs(scores).max(axis=1, keepdims=True)
    spans = spread[:, -1] > _FLAT * spread[:, 0]
    scores, independence = scores[spans], spread[spans, -1] / spread[spans, 0]
    on = np.abs(scores) <= _ON
    room = independence * np.where(on, 1.0, np.abs(scores)).min(axis=1)
    simple = on.sum(axis=1) == rank
    found = [_constant(n), _turned(scores[simple] > 0.0, subsets[spans][simple], room[simple])]
    flats, first = np.unique(on[~simple], axis=0, return_index=True)
    for flat, score, margin in zip(flats, scores[~simple][first], room[~simple][first], strict=True):
        within = dichotomies(points[flat])
        labels = np.tile(score > 0.0, (len(within.labels), 1))
        labels[:, flat] = within.labels
        found.append(Dichotomies(labels, margin * within.margins))
    labels, margins = np.concatenate([one.labels for one in found]), np.concatenate([one.margins for one in found])
    return _distinct(np.concatenate([labels, ~labels]), np.concatenate([margins, margins]))


def _turned(sides: Bools, on: Floats, room: Floats) -> Dichotomies:
    """Return hyperplanes, by the ``sides`` (n, g) of the points, turned in all ways about the points ``on`` (n, d)."""
    ways = _binary(on.shape[1])
    labels = np.repeat(sides[:, None], len(ways), axis=1)
    np.put_along_axis(labels, np.broadcast_to(on[:, None], (len(on), *ways.shape)), ways[None], axis=2)
    return Dichotomies(labels.reshape(-1, sides.shape[1]), np.repeat(room, len(ways)))


def _distinct(labels: Bools, margins: Floats) -> Dichotomies:
    """Return each labeling once, with the largest of its margins."""
    packed = np.packbits(labels, axis=1)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    largest = np.zeros(len(first))
    np.maximum.at(largest, number, margins)
    return Dichotomies(labels[first], largest)


def _binary(n: int) -> Bools:
    """Return all labels of ``n`` points, in increasing order."""
    return (np.arange(2**n)[:, None] >> np.arange(n)[::-1] & 1).astype(bool)


def _constant(n: int) -> Dichotomies:
    return Dichotomies(np.zeros((1, n), dtype=bool), np.ones(1))
