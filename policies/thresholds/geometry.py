"""Where the contexts lie between the cut points: all that a class of threshold rules needs to know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from milpcb.types import Floats, Ints
from policies.cuts import Distinct, Thresholds, cut_points, is_binary

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
        cuts = _dividing(contexts, thresholds) or {0: np.zeros(0)}
        bins = np.column_stack([np.searchsorted(points, contexts[:, f]) for f, points in cuts.items()])
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


def _dividing(contexts: Floats, thresholds: Thresholds) -> dict[int, Floats]:
    """Return the cut points of each feature that has any.

    A cut is kept when some contexts lie between it and its neighbours: each way of dividing appears once.
    """
    divided = {}
    for f, cuts in enumerate(cut_points(contexts, thresholds)):
        below = np.searchsorted(np.sort(contexts[:, f]), cuts, side="right")
        number, first = np.unique(below, return_index=True)
        kept = cuts[first[(number > 0) & (number < len(contexts))]]
        if len(kept):
            divided[f] = kept
    return divided
