"""Few contexts that stand for the rows of a log, however many these are.

Policies of tests of at most ``order`` columns at a time do not differ on two logs whose sums by cell are equal (see
milpcb.offline.moments). So they are searched on a log of few contexts with the same sums: every bin of up to ``order``
columns, the others being in their first bin. For d columns of b bins and pairs these are d (d - 1) / 2 (b - 1)^2 +
d (b - 1) + 1 contexts: 3 736 for 10 columns of 10 bins. What a context counts follows from the sums by inclusion and
exclusion, and may be below 0; sums over the contexts that a part of a policy covers are those over its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import prod

import numpy as np

from milpcb.errors import InputError
from milpcb.offline.diagnostics import Diagnostics
from milpcb.offline.intervals import IntervalEstimate
from milpcb.offline.moments import Grid, Moments
from milpcb.types import Floats, Ints

Columns = tuple[int, ...]


def standing(grid: Grid, cells: Floats) -> tuple[Ints, Floats]:
    """Return the bins (m, d) of the contexts that stand for rows with these sums by cell, and what each counts.

    Parameters
    ----------
    grid : the cells
    cells : (cells, ...) sums, the first of them the number of rows

    Returns
    -------
    codes (m, d), sums (m, ...)

    """
    sums = cells.reshape(grid.size, -1)
    margins = _margins(grid, sums)
    there = [np.flatnonzero(margins[f,][..., 0]) for f in range(len(grid.bins))]  # bins without rows stand for nothing
    others = [bins[1:] for bins in there]
    left = {columns: table[np.ix_(*(others[f] for f in columns))] for columns, table in margins.items()}
    codes, counted = [], []
    for columns in sorted(left, key=len, reverse=True):
        own = left[columns]
        for lesser in _subsets(columns):
            if len(lesser) < len(columns):
                left[lesser] = left[lesser] - own.sum(axis=_other_axes(columns, lesser))
        codes.append(_codes(columns, others, there))
        counted.append(own.reshape(-1, sums.shape[1]))
    every = np.concatenate(counted)
    found = np.concatenate(codes)
    kept = every.any(axis=1) | ((found != found[-1]).sum(axis=1) <= 1)  # every bin stays, whatever it counts
    order = np.flatnonzero(kept)[np.lexsort(found[kept].T[::-1])]
    return found[order], every[order].reshape(-1, *cells.shape[1:])


def _margins(grid: Grid, sums: Floats) -> dict[Columns, Floats]:
    """Return the sums by bins of every set of up to ``order`` columns."""
    found: dict[Columns, Floats] = {}
    for columns, start, stop in zip(grid.sets, grid.starts, grid.starts[1:], strict=False):
        table = sums[start:stop].reshape(*(grid.bins[f] for f in columns), -1)
        for lesser in _subsets(columns):
            if lesser not in found:
                found[lesser] = table.sum(axis=_other_axes(columns, lesser))
    return found


def _subsets(columns: Columns) -> list[Columns]:
    return [lesser for size in range(len(columns) + 1) for lesser in combinations(columns, size)]


def _other_axes(columns: Columns, lesser: Columns) -> tuple[int, ...]:
    return tuple(axis for axis, f in enumerate(columns) if f not in lesser)


def _codes(columns: Columns, others: list[Ints], there: list[Ints]) -> Ints:
    """Return the bins (contexts, d) of contexts that differ from the first bins in ``columns``."""
    n = prod(len(others[f]) for f in columns)
    chosen = np.array(list(product(*(others[f] for f in columns))), dtype=np.int64).reshape(n, len(columns))
    codes = np.tile([bins[0] for bins in there], (len(chosen), 1))
    codes[:, list(columns)] = chosen
    return codes


@dataclass(frozen=True, eq=False)
class StandIn:
    """Few contexts with the scores of a log of any size: sums over them are those over the rows.

    Attributes
    ----------
    codes : (m, d) the bin of each column
    sizes : (m,) how many rows each stands for, perhaps below 0
    scores : (m, K) sums of the scores of each action, in the unit and sign of the log, treatment cost included
    products : (m, K, K) sums of the products of the scores of two actions
    n : rows of the log
    counts : (K,) rows in which each action was done
    outcome : mean and standard deviation of the outcome, treatment cost included
    reach : lengths of the ranges in which the score of an action lies, and the difference of two
    maximise : whether larger is better
    diagnostics : how far the scores can be trusted

    """

    codes: Ints
    sizes: Floats
    scores: Floats
    products: Floats
    n: int
    counts: Floats
    outcome: tuple[float, float]
    reach: tuple[float, float]
    maximise: bool
    diagnostics: Diagnostics

    @property
    def constants(self) -> Floats:
        """(K,) the value of playing one action always."""
        return np.asarray(self.scores.sum(axis=0) / self.n)

    @property
    def best_action(self) -> int:
        """The action that is best where it is always played."""
        return int((self.constants if self.maximise else -self.constants).argmax())

    def always(self, action: int) -> Ints:
        """Return an action (m,) for every context."""
        return np.full(len(self.sizes), action)

    def value(self, played: Ints) -> tuple[float, float]:
        """Return the mean of the scores of what is ``played`` (m,), and its standard error."""
        rows = np.arange(len(played))
        return self._mean(self.scores[rows, played].sum(), self.products[rows, played, played].sum())

    def gain(self, played: Ints, other: int) -> tuple[float, float]:
        """Return how much better ``played`` (m,) is than always playing ``other``, and its standard error."""
        rows, sign = np.arange(len(played)), 1.0 if self.maximise else -1.0
        gained = (self.scores[rows, played] - self.scores[:, other]).sum()
        return self._mean(sign * gained, self.squares(other)[rows, played].sum())

    def squares(self, other: int) -> Floats:
        """Return the sums (m, K) of the squares of the differences between each action's score and another's."""
        own = np.einsum("jkk->jk", self.products)
        return np.asarray(own - 2 * self.products[:, :, other] + own[:, [other]])

    def _mean(self, total: float, squares: float) -> tuple[float, float]:
        spread = max(0.0, squares - total**2 / self.n) / max(1, self.n - 1)
        return float(total / self.n), float(np.sqrt(spread / self.n))


def stand_in(
    moments: Moments,
    actions: tuple[str, ...],
    method: str,
    charge: Floats,
    *,
    maximise: bool,
    randomised: bool,
    min_propensity: float,
) -> StandIn:
    """Return the contexts that stand for the rows of a log, with their scores.

    Parameters
    ----------
    moments : of the rows, with propensities of 1 where the log is a ``randomised`` trial
    actions : K names
    method : "ips" or "snips"
    charge : (K,) what each action adds to the outcome: its treatment cost, below 0 for rewards
    maximise : whether larger outcomes are better
    randomised : whether the propensity of an action is its share of the rows
    min_propensity : that propensities were raised to

    Raises
    ------
    InputError : there are no rows, or none with some action

    """
    n, totals = len(moments), moments.totals
    for name, count in zip(actions, totals[:, 0].tolist(), strict=True):
        if not count:
            raise InputError(f"no row has action '{name}'; leave it out of actions, or add rows that have it")
    cells = moments.cells
    if randomised:
        scale = n / totals[:, 0]
        cells = cells * np.stack([scale**power for power in (0, 1, 1, 2, 2, 2)], axis=1)
        totals = totals * np.stack([scale**power for power in (0, 1, 1, 2, 2, 2)], axis=1)
    centre = totals[:, 2] / totals[:, 1] if method == "snips" else np.zeros(len(totals))
    with_rows = np.concatenate([cells[..., 0].sum(axis=1)[:, None], cells.reshape(len(cells), -1)], axis=1)
    codes, sums = standing(moments.grid, with_rows)
    sizes, terms = sums[:, 0], sums[:, 1:].reshape(len(sums), len(totals), -1)
    base, residual, squared = centre + charge, *_residuals(terms, centre)
    scores = sizes[:, None] * base + residual
    products = sizes[:, None, None] * np.multiply.outer(base, base)
    products += residual[:, :, None] * base + residual[:, None, :] * base[:, None]
    diagonal = np.arange(len(totals))
    products[:, diagonal, diagonal] += squared
    return StandIn(
        codes,
        sizes,
        scores,
        products,
        n,
        totals[:, 0],
        _outcome(moments, totals, charge),
        _reach(moments, totals, base, charge, min_propensity, randomised=randomised),
        maximise,
        _diagnostics(moments, actions, totals, centre, min_propensity, randomised=randomised),
    )


def _residuals(terms: Floats, centre: Floats) -> tuple[Floats, Floats]:
    """Return the sums (..., K) of u (y - centre), and of its square."""
    _, u, uy, uu, uuy, uuyy = np.moveaxis(terms, -1, 0)
    return uy - centre * u, uuyy - 2 * centre * uuy + centre**2 * uu


def _outcome(moments: Moments, totals: Floats, charge: Floats) -> tuple[float, float]:
    n, counts, (y, yy, _) = len(moments), totals[:, 0], moments.outcomes.T
    total = float((y + counts * charge).sum())
    squares = float((yy + 2 * charge * y + charge**2 * counts).sum())
    return total / n, float(np.sqrt(max(0.0, squares - total**2 / n) / max(1, n - 1)))


def _least(moments: Moments, totals: Floats, *, randomised: bool) -> Floats:
    """Return the least propensity (K,) of each action in the rows in which it was done."""
    return totals[:, 0] / totals[:, 0].sum() if randomised else -moments.ends[:-2]


def _reach(
    moments: Moments, totals: Floats, base: Floats, charge: Floats, least: float, *, randomised: bool
) -> tuple[float, float]:
    """Return the lengths of the ranges of scores and of their differences, as milpcb.offline.ranges does."""
    y0, y1 = -moments.ends[-2] + charge.min(), moments.ends[-1] + charge.max()
    smallest = float(_least(moments, totals, randomised=randomised).min())
    e = smallest if randomised else max(least, smallest)
    m0, m1 = float(base.min()), float(base.max())
    low, high = min(m0, y0 / e - m1 * (1 / e - 1)), max(m1, y1 / e - m0 * (1 / e - 1))
    return high - low, 2 * max(high - m0, m1 - low)


def _diagnostics(
    moments: Moments,
    actions: tuple[str, ...],
    totals: Floats,
    centre: Floats,
    least: float,
    *,
    randomised: bool,
) -> Diagnostics:
    n = len(moments)
    calibration, squares = totals[:, 1] / n, totals[:, 3]
    constants = centre + _residuals(totals, centre)[0] / n
    return Diagnostics(
        actions=actions,
        least_propensity=_least(moments, totals, randomised=randomised),
        effective_size=totals[:, 1] ** 2 / squares,
        clipped=0 if randomised else int(moments.outcomes[:, 2].sum()),
        calibration=calibration,
        calibration_error=np.sqrt(np.maximum(0.0, squares - n * calibration**2) / max(1, n - 1) / n),
        constants=constants,
        calibrated=centre + (constants - centre) / calibration,
        outcome_r2=np.full(len(actions), np.nan),
        regression_only=False,
        min_propensity=least,
        events=np.inf,
        value_events=np.inf,
        rows=n,
        grouped=False,
    )


def at_level(estimate: tuple[float, float], quantile: float, beyond: float = 0.0) -> IntervalEstimate:
    """Return an estimate with its interval: so many standard errors, and a length beyond them, to each side."""
    value, error = estimate
    reach = quantile * error + beyond
    return IntervalEstimate(value, error, value - reach, value + reach)
