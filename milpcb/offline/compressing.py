"""From the sums over a log to the few contexts that stand for its rows, with scores and diagnostics.

A score is base(k) + residual(k), base being the same in all rows: the self-normalised mean of the action (0 for "ips"
and "dr") and its treatment cost. So sums of scores and of their products follow from those of the residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.offline.compressed import CompressedLog, compressed_contexts
from milpcb.offline.diagnostics import Diagnostics
from milpcb.offline.evaluation import entry_range
from milpcb.offline.overlap import sentence
from milpcb.offline.sufficient_statistics import ScoredStatistics, Statistics
from milpcb.types import Floats

CLOSE = 1e-12  # of the squares: a variance below is rounding
FAR = 1e-6  # of the size of outcomes: where all differences are less, sums of squares do not hold them


@dataclass(frozen=True, eq=False)
class _Summed:
    cells: Floats  # (cells, 1 + K + K K) rows, residuals, and products of the residuals of two actions
    centre: Floats  # (K,) the base without treatment costs
    modelled: Floats  # (K,) the mean of the regression
    regression: Floats  # least and greatest (2, K) of the regression
    # counts, inverse, squares: (K,) rows in which each action was done, and there the sums of u and u^2
    counts: Floats
    inverse: Floats
    squares: Floats
    least: Floats  # (K,) the least propensity
    r2: Floats  # (K,) share of the variance that the regression explains, NaN without one and where nothing varies


def compress(
    stats: Statistics,
    actions: tuple[str, ...],
    method: str,
    charge: Floats,
    *,
    maximise: bool,
    randomised: bool,
    min_propensity: float,
    parts: Sequence[tuple[int, str]] = (),
) -> CompressedLog:
    """Return the contexts that stand for the rows of a log, with their scores.

    Parameters
    ----------
    stats : of the rows; of a ``randomised`` trial with propensities of 1, or with the shares where they are scored
    charge : (K,) what each action adds to the outcome: its treatment cost, below 0 for rewards
    min_propensity : that propensities were raised to
    parts : in which no rows of some action were found, its number and who is in it

    Raises
    ------
    InputError : there are no rows, or none with some action; outcomes that differ by next to nothing beside their size
    """
    _check_spread(*stats.outcome_range)
    n, K = len(stats), stats.n_actions
    for name, count in zip(actions, stats.totals[:, 0].tolist(), strict=True):
        if not count:
            raise InputError(f"no row has action '{name}'; leave it out of actions, or add rows that have it")
    found = _scored(stats) if isinstance(stats, ScoredStatistics) else _weighted(stats, method, randomised)
    codes, sums = compressed_contexts(stats.grid, np.hstack([found.cells, stats.done, stats.barred[:, 0]]))
    sums, done, barred = sums[:, : -2 * K], sums[:, -2 * K : -K], sums[:, -K:]
    sizes, residual, squared = sums[:, 0], sums[:, 1 : K + 1], sums[:, K + 1 :].reshape(-1, K, K)
    base = found.centre + charge
    products = sizes[:, None, None] * np.multiply.outer(base, base) + squared
    products += residual[:, :, None] * base + residual[:, None, :] * base[:, None]
    clipped = 0 if randomised else int(stats.outcomes[:, 2].sum())
    limits: dict[str, Any] = {"clipped": clipped, "min_propensity": min_propensity}
    return CompressedLog(
        codes,
        sizes,
        sizes[:, None] * base + residual,
        products,
        n,
        done,
        barred,
        found.counts,
        _outcome(stats, found.counts, charge),
        _outcome(stats, found.counts, np.zeros(K))[1] * float(np.sqrt((n - 1) / n)),
        _reach(stats, found, charge, min_propensity, randomised=randomised),
        maximise,
        _diagnostics(found, n, residual, charge, barred.sum(axis=0), parts, actions, **limits),
    )


def _check_spread(least: float, most: float) -> None:
    if 0 < most - least < FAR * max(abs(least), abs(most)):
        raise InputError(
            f"outcomes are from {least:.17g} to {most:.17g}, and sums of their squares do not hold such differences: "
            "subtract a number near them from all, or learn from rows in memory"
        )


def _weighted(stats: Statistics, method: str, randomised: bool) -> _Summed:
    totals, cells, n = stats.totals, stats.cells, len(stats)
    counts = totals[:, 0]
    least = counts / n if randomised else -stats.ends[: len(totals)]
    if randomised:
        scale = np.stack([(n / counts) ** power for power in (0, 1, 1, 2, 2, 2)], axis=1)
        cells, totals = cells * scale, totals * scale
    centre = totals[:, 2] / totals[:, 1] if method == "snips" else np.zeros(len(totals))
    residual, squared = _residuals(cells, centre)
    diagonal = np.zeros((*squared.shape, len(totals)))
    diagonal[:, np.arange(len(totals)), np.arange(len(totals))] = squared
    known = (cells[..., 0].sum(axis=1)[:, None], residual, diagonal.reshape(len(cells), -1))
    nothing = np.full(len(totals), np.nan)
    ends = np.stack([centre, centre])
    return _Summed(np.hstack(known), centre, centre, ends, counts, totals[:, 1], totals[:, 3], least, nothing)


def _scored(stats: ScoredStatistics) -> _Summed:
    K, cells, (one, other) = stats.n_actions, stats.cells[:, 0], stats.pairs
    squared = np.empty((len(cells), K, K))
    squared[:, one, other] = squared[:, other, one] = cells[:, K + 1 : -K]
    y, yy, _, counts, inverse, squares, missed, modelled = stats.outcomes.T
    spread = yy - y**2 / counts
    varied = spread > CLOSE * yy
    ends = stats.ends
    return _Summed(
        np.hstack([cells[:, : K + 1], squared.reshape(len(cells), -1)]),
        np.zeros(K),
        modelled / len(stats),
        np.stack([-ends[K + 2 : 2 * K + 2], ends[2 * K + 2 :]]),
        counts,
        inverse,
        squares,
        -ends[:K],
        1 - np.divide(missed, spread, out=np.full(K, np.nan), where=varied),
    )


def _residuals(terms: Floats, centre: Floats) -> tuple[Floats, Floats]:
    """Return the sums (..., K) of u (y - centre), and of its square."""
    _, u, uy, uu, uuy, uuyy = np.moveaxis(terms, -1, 0)
    return uy - centre * u, uuyy - 2 * centre * uuy + centre**2 * uu


def _outcome(stats: Statistics, counts: Floats, charge: Floats) -> tuple[float, float]:
    n, (y, yy) = len(stats), stats.outcomes.T[:2]
    total = float((y + counts * charge).sum())
    squares = float((yy + 2 * charge * y + charge**2 * counts).sum())
    return total / n, float(np.sqrt(max(0.0, squares - total**2 / n) / max(1, n - 1)))


def _reach(stats: Statistics, found: _Summed, charge: Floats, least: float, *, randomised: bool) -> tuple[float, float]:
    """Return the lengths of the ranges of scores and of their differences, as milpcb.offline.intervals does."""
    y0, y1 = np.add(stats.outcome_range, (charge.min(), charge.max()))
    smallest = float(found.least.min())
    e = smallest if randomised else max(least, smallest)
    m0, m1 = float((found.regression[0] + charge).min()), float((found.regression[1] + charge).max())
    low, high = entry_range((float(y0), float(y1)), (m0, m1), e)
    return high - low, 2 * max(high - m0, m1 - low)


def _diagnostics(
    found: _Summed, n: int, residual: Floats, charge: Floats, barred: Floats, parts: Any, actions: Any, **known: Any
) -> Diagnostics:
    there = np.maximum(n - np.rint(barred), 1.0)  # rows in which an action was possible
    calibration, modelled = found.inverse / there, found.modelled + charge
    own = [[words for action, words in parts if action == k] for k in range(len(actions))]
    zero = [0 if each else int(rows) for each, rows in zip(own, np.rint(barred).tolist(), strict=True)]
    unseen = [text for item in zip(actions, own, zero, strict=True) for text in sentence(*item, ignored=False)]
    constants = found.centre + charge + residual.sum(axis=0) / n
    known |= {"regression_only": False, "events": np.inf, "value_events": np.inf, "grouped": False}
    return Diagnostics(
        actions=tuple(actions),
        least_propensity=found.least,
        effective_size=found.inverse**2 / found.squares,
        calibration=calibration,
        calibration_error=np.sqrt(
            np.maximum(0.0, found.squares - there * calibration**2) / np.maximum(1, there - 1) / there
        ),
        constants=constants,
        calibrated=np.where(barred <= 0, modelled + (constants - modelled) / calibration, np.nan),
        given=True,
        unseen=tuple(unseen),
        outcome_r2=found.r2,
        rows=n,
        **known,
    )
