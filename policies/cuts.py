"""Cut points, where the features of contexts are divided, and the base classes of classes that call these by names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast

import numpy as np

from milpcb.core.checks import choice, whole
from milpcb.core.decimals import short_between, shortest_between
from milpcb.errors import InputError, shown
from milpcb.protocols import Opened, PolicyClass, Terms
from milpcb.types import Floats, Ints
from policies.names import Names

# A number of quantile cuts per feature, a cut between any two values of a feature, or the cut points of every feature.
Thresholds = int | Literal["all"] | Sequence[Sequence[float]]

_MOST = 2**62  # a number that stands for the codes of a row stays below


def check_thresholds(thresholds: Any) -> Thresholds:
    """Return thresholds as an int, "all" or nested tuples; raises InputError on anything else."""
    if isinstance(thresholds, str):
        choice("thresholds", thresholds, ("all",))
        return "all"
    if isinstance(thresholds, (int, np.integer)):
        return whole("thresholds", thresholds, 1)
    try:
        cuts = tuple(tuple(sorted({float(cut) for cut in feature})) for feature in thresholds)
    except (TypeError, ValueError) as error:
        raise InputError(
            'thresholds must be a number of quantile cuts, "all", or one list of cut points per feature'
        ) from error
    if not all(np.isfinite(cut) for feature in cuts for cut in feature):
        raise InputError("thresholds must be finite cut points")
    return cuts


def cut_points(contexts: Floats, thresholds: Thresholds) -> list[Floats]:
    """Return the cut points of each feature, increasing, without those that leave all contexts on one side.

    A column with only the values 0 and 1 gets the one cut 0.5, whatever number of quantiles is asked for.
    """
    cuts = every_cut(contexts, thresholds)
    with_cuts = zip(contexts.T, cuts, strict=True)
    return [points[(points >= column.min()) & (points < column.max())] for column, points in with_cuts]


def every_cut(contexts: Floats, thresholds: Thresholds) -> list[Floats]:
    """Return the cut points of each feature, increasing, also those that leave all ``contexts`` on one side."""
    if isinstance(thresholds, (int, str)):
        return [_cuts_of(column, thresholds) for column in contexts.T]
    if len(thresholds) != contexts.shape[1]:
        raise InputError(
            f"thresholds list {len(thresholds)} features, but the contexts have {contexts.shape[1]}; "
            "give one list of cut points each"
        )
    return [np.asarray(points, dtype=float) for points in thresholds]


class NamedClass(PolicyClass):
    """A class whose rules call features and actions by names; those of features may come from a data frame."""

    feature_names: Sequence[str] | None
    action_names: Sequence[str] | None

    @property
    def names(self) -> Names:
        """The given names, checked."""
        return Names.of(self.feature_names, self.action_names)

    def on(self, contexts: Any) -> Opened:
        """Return the class on ``contexts`` (m, d), an array or a data frame; raises InputError."""
        names, array = self.names.on(contexts, self.n_actions)
        opened = self._on(array, names)
        if isinstance(opened, Opened):  # constraints are written in the names of its class
            object.__setattr__(opened, "class_name", type(self).__name__)  # it may be a frozen dataclass
            object.__setattr__(opened, "settings", self)
        return opened

    def read(self, contexts: Any) -> Floats:
        """Return the columns of the named features of a data frame, all columns of an array; raises InputError."""
        return self.names.on(contexts, self.n_actions)[1]

    @abstractmethod
    def _on(self, contexts: Floats, names: Names) -> Opened:
        """Return the class on contexts that are checked, with the names that go with them."""


class CuttingClass(NamedClass):
    """A class made of tests ``x[feature] <= cut``: contexts between the same cuts are one context."""

    thresholds: Thresholds

    def with_cuts_of(self, contexts: Floats, names: Names) -> Self:
        """Return the class with the cut points and names that ``contexts`` give it, explicit from now on."""
        cuts = self.thresholds
        if not isinstance(cuts, tuple):
            cuts = tuple(tuple(points.tolist()) for points in every_cut(contexts, cuts))
        # Every subclass is a dataclass.
        return replace(self, thresholds=cuts, feature_names=names.features or None)  # type: ignore[type-var]

    def terms(self) -> Terms:
        """Return the terms of the class with all its cut points, which must be explicit; see PolicyClass.terms."""
        if not isinstance(self.thresholds, tuple):
            what = "quantiles" if isinstance(self.thresholds, int) else "values"
            raise InputError(
                f"thresholds = {shown(self.thresholds)} are {what} of contexts that are not there: give one list of "
                "cut points per feature, or contexts to begin with"
            )
        nowhere = np.zeros((1, len(self.thresholds)))
        names, _ = self.names.on(nowhere, self.n_actions)  # raises where the numbers of names and features differ
        return self._terms(self.thresholds, names)

    @abstractmethod
    def _terms(self, cuts: tuple[tuple[float, ...], ...], names: Names) -> Terms:
        """Return the terms with these cut points of the features, all of them."""

    def patterns(self, contexts: Floats) -> Ints:
        """Return (n, d): for each feature, the number of explicit cuts below the value."""
        cuts = every_cut(contexts, self.thresholds)
        below = [np.searchsorted(points, column) for points, column in zip(cuts, contexts.T, strict=True)]
        return np.array(below, dtype=np.int64).T


@dataclass(frozen=True)
class Distinct:
    """Context rows merged into groups (m,) on which every policy plays alike, and the ``first`` (g,) row of each."""

    group: Ints
    first: Ints

    @classmethod
    def rows(cls, patterns: Any) -> Distinct:
        """Group equal rows of ``patterns`` (m, k), numbered by first appearance."""
        patterns = np.asarray(patterns)
        return cls.codes([np.unique(column, return_inverse=True)[1] for column in patterns.T], len(patterns))

    @classmethod
    def codes(cls, columns: Iterable[Ints], n_rows: int) -> Distinct:
        """Group rows with equal codes in all ``columns``, each (n_rows,) from 0 up, numbered by first appearance."""
        number, largest = np.zeros(n_rows, dtype=np.int64), 0
        for column in columns:
            most = int(column.max())
            if (largest + 1) * (most + 1) > _MOST:
                _, number = np.unique(number, return_inverse=True)
                largest = int(number.max())
                if largest + 1 == n_rows:
                    break
            number = number * (most + 1) + column
            largest = largest * (most + 1) + most
        _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
        if len(first) == n_rows:
            return cls(np.arange(n_rows), np.arange(n_rows))
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(rank[inverse.ravel()], first[order])


def is_binary(column: Floats) -> bool:
    """Return whether a column (m,) holds only 0 and 1."""
    return column[0] in (0.0, 1.0) and bool(((column == 0.0) | (column == 1.0)).all())


def _cuts_of(column: Floats, thresholds: int | str) -> Floats:
    """Return the cuts of a column: quantiles, or one between any two values; 0.5 for one that only takes 0 and 1."""
    if is_binary(column):
        return np.array([0.5])
    if thresholds == "all":
        values = np.unique(column)
        return short_between(values[:-1], values[1:])
    ordered = np.sort(column)
    levels = np.arange(1, cast("int", thresholds) + 1) / (cast("int", thresholds) + 1)
    cuts = np.quantile(ordered, levels)
    values = np.append(ordered[np.append(True, ordered[1:] != ordered[:-1])], np.inf)
    above = np.searchsorted(values, cuts, side="right")
    return np.unique([shortest_between(values[i - 1], values[i], cut) for i, cut in zip(above, cuts, strict=True)])
