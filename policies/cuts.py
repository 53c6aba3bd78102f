"""Cut points: where the features of contexts are divided."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from milpcb.checks import whole
from milpcb.decimals import shortest_between
from milpcb.errors import InputError
from milpcb.protocols.tables import Terms
from milpcb.types import Floats, Ints
from policies.named import NamedClass
from policies.names import Names

# A number of quantile cuts per feature, or the cut points of every feature.
Thresholds = int | tuple[tuple[float, ...], ...]


def check_thresholds(thresholds: Any) -> Thresholds:
    """Return thresholds as an int or nested tuples; raises InputError on anything else."""
    if isinstance(thresholds, (int, np.integer)):
        return whole("thresholds", thresholds, 1)
    try:
        cuts = tuple(tuple(sorted({float(cut) for cut in feature})) for feature in thresholds)
    except (TypeError, ValueError) as error:
        raise InputError(
            "thresholds must be a number of quantile cuts, or one list of cut points per feature"
        ) from error
    if not all(np.isfinite(cut) for feature in cuts for cut in feature):
        raise InputError("thresholds must be finite cut points")
    return cuts


def cut_points(contexts: Floats, thresholds: Thresholds) -> list[Floats]:
    """Return the cut points of each feature, increasing, without those that leave all on one side.

    A column with only the values 0 and 1 gets the one cut 0.5, whatever number of quantiles is asked for.
    """
    if not isinstance(thresholds, int):
        if len(thresholds) != contexts.shape[1]:
            raise InputError(
                f"thresholds list {len(thresholds)} features, but the contexts have {contexts.shape[1]}; "
                "give one list of cut points each"
            )
        return [_dividing(column, np.asarray(cuts)) for column, cuts in zip(contexts.T, thresholds, strict=True)]
    return [_dividing(column, cuts) for column, cuts in zip(contexts.T, _quantiles(contexts, thresholds), strict=True)]


class CuttingClass(NamedClass):
    """A class made of tests ``x[feature] <= cut``: contexts between the same cuts are one context."""

    thresholds: Thresholds

    def with_cuts_of(self, contexts: Floats, names: Names) -> Self:
        """Return the class with the cut points and names that ``contexts`` give it, explicit from now on."""
        cuts = self.thresholds
        if isinstance(cuts, int):
            cuts = tuple(tuple(points.tolist()) for points in _quantiles(contexts, cuts))
        # Every subclass is a dataclass.
        return replace(self, thresholds=cuts, feature_names=names.features or None)  # type: ignore[type-var]

    def terms(self) -> Terms:
        """Return the terms of the class with all its cut points, which must be explicit; see PolicyClass.terms."""
        if isinstance(self.thresholds, int):
            raise InputError(
                f"thresholds = {self.thresholds} are quantiles of contexts that are not there: give one list of cut "
                "points per feature, or contexts to begin with"
            )
        nowhere = np.zeros((1, len(self.thresholds)))
        names, _ = self.names.on(nowhere, self.n_actions)  # raises where the numbers of names and features differ
        return self._terms(self.thresholds, names)

    @abstractmethod
    def _terms(self, cuts: tuple[tuple[float, ...], ...], names: Names) -> Terms:
        """Return the terms with these cut points of the features, all of them."""

    def patterns(self, contexts: Floats) -> Ints:
        """Return (n, d): the number of each feature's cuts below the value."""
        cuts = self.thresholds
        if isinstance(cuts, int):
            raise InputError("patterns need explicit cut points, one list per column of the contexts")
        if len(cuts) != contexts.shape[1]:
            raise InputError(
                f"contexts have {contexts.shape[1]} columns, but thresholds list cuts of {len(cuts)} features"
            )
        below = [points.searchsorted(column) for points, column in zip(self._points, contexts.T, strict=True)]
        return np.array(below, dtype=np.int64).T

    @cached_property
    def _points(self) -> list[Floats]:
        """The explicit cut points as arrays: contexts that arrive one by one ask for them every time."""
        return [np.asarray(points) for points in cast("Any", self.thresholds)]


@dataclass(frozen=True)
class Distinct:
    """Context rows merged into groups on which every policy plays alike: ``group`` (m,) is that of each row.

    ``first`` (g,) is the first row of each group.
    """

    group: Ints
    first: Ints

    @classmethod
    def rows(cls, patterns: Any) -> Distinct:
        """Group equal rows of ``patterns`` (m, k), numbered by first appearance."""
        _, first, inverse = np.unique(np.asarray(patterns), axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(rank[inverse.ravel()], first[order])


def describe_test(names: Names, feature: int, cut: float, *, binary: bool, below: bool = True) -> str:
    """Return ``x <= cut``, or ``x > cut`` unless ``below``, in words; of a ``binary`` feature ``x = 0`` or ``x = 1``.

    The number is read back as exactly the one that is compared with.
    """
    return names.test(feature, "<=" if below else ">", cut, binary=binary)


def is_binary(column: Floats) -> bool:
    """Return whether a column (m,) holds only 0 and 1."""
    return bool(np.isin(column, (0.0, 1.0)).all())


def _quantiles(contexts: Floats, count: int) -> list[Floats]:
    """Return ``count`` quantile cuts of each feature, 0.5 for one that only takes 0 and 1.

    A quantile stands for all numbers between the two neighbouring values of the feature; the shortest decimal is taken.
    """
    levels = np.arange(1, count + 1) / (count + 1)
    return [np.array([0.5]) if is_binary(c) else _readable(c, np.quantile(c, levels)) for c in contexts.T]


def _readable(column: Floats, cuts: Floats) -> Floats:
    """Return the cuts, each moved to the shortest decimal that divides the values of the column alike."""
    values = np.append(np.unique(column), np.inf)
    above = np.searchsorted(values, cuts, side="right")
    return np.unique([shortest_between(values[i - 1], values[i], cut) for i, cut in zip(above, cuts, strict=True)])


def _dividing(column: Floats, cuts: Floats) -> Floats:
    return np.asarray(cuts[(cuts >= column.min()) & (cuts < column.max())])
