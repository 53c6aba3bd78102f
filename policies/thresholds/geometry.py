"""Where the contexts lie between the cut points: all that a class of threshold rules needs to know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from milpcb.types import Floats, Ints
from policies.cuts import Distinct, Thresholds, is_binary
from policies.literals import columns_of

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
