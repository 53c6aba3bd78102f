"""Compressed data: few contexts with the sufficient statistics of a log, however many rows it has.

Policies of tests of at most ``order`` columns at a time have equal values on two logs whose sums by cell are equal (see
milpcb.offline.sufficient_statistics). So they are searched on a log of few contexts with the same sums: every bin of up
to ``order`` columns, the others being in their first bin. For d columns of b bins and pairs these are d (d - 1) / 2
(b - 1)^2 + d (b - 1) + 1 contexts: 3 736 for 10 columns of 10 bins. The count of a context follows from the sums by
inclusion and exclusion, and may be below 0; sums over the contexts that a part of a policy covers are those over its
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import prod

import numpy as np
from scipy.stats import norm

from milpcb.constraints import LabelConstraint
from milpcb.offline.diagnostics import Diagnostics
from milpcb.offline.evaluation import Evaluation, LeafValue, over_best
from milpcb.offline.intervals import UNKNOWN, IntervalEstimate
from milpcb.offline.overlap import NAME
from milpcb.offline.reference import Lotteries, Reference
from milpcb.offline.sufficient_statistics import Grid
from milpcb.types import Bools, Floats, Ints

Columns = tuple[int, ...]


def compressed_contexts(grid: Grid, cells: Floats) -> tuple[Ints, Floats]:
    """Return the bins (m, d) of contexts that stand for rows with these sums by cell, and the sums (m, ...) of each.

    Of the sums, ``cells`` (cells, ...), the first is the number of rows.
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
class CompressedLog:
    """Few contexts with the scores of a log of any size: sums over them are those over the rows."""

    codes: Ints  # (m, d) the bin of each column
    sizes: Floats  # (m,) how many rows each stands for, perhaps below 0
    scores: Floats  # (m, K) sums of the scores of each action, in the unit and sign of the log, treatment cost included
    products: Floats  # (m, K, K) sums of the products of the scores of two actions
    n: int  # rows of the log
    # done, barred: (m, K) how many rows with each action each stands for, and how many in which the log has none of it
    done: Floats
    barred: Floats
    counts: Floats  # (K,) rows in which each action was done
    outcome: tuple[float, float]  # mean and standard deviation of the outcome, treatment cost included
    spread: float  # standard deviation of the outcome by itself, as milpcb.offline.inference has it
    reach: tuple[float, float]  # lengths of the ranges in which the score of an action lies, and the difference of two
    maximise: bool  # whether larger is better
    diagnostics: Diagnostics  # how far the scores can be trusted

    @property
    def constants(self) -> Floats:
        """(K,) the value of playing one action always."""
        return np.asarray(self.scores.sum(axis=0) / self.n)

    @property
    def unseen(self) -> Floats:
        """(K,) in how many rows the log has none of an action."""
        return np.asarray(self.barred.sum(axis=0))

    @property
    def known(self) -> Bools:
        """(K,) whether the log has rows of an action everywhere, so that it is known what playing it always gives."""
        return np.asarray(self.unseen <= 0)

    @property
    def support(self) -> list[LabelConstraint]:
        """The side constraint that actions are played only where the log has rows of them; [] for none."""
        return [] if self.known.all() else [LabelConstraint(self.barred, 0.0, NAME)]

    @property
    def best_action(self) -> int:
        """The action that is best where it is always played, of those with rows everywhere if there are any."""
        values = self.constants if self.maximise else -self.constants
        return int(np.where(self.known | ~self.known.any(), values, -np.inf).argmax())

    @property
    def reference(self) -> Reference:
        """The best constant; not allowed where no action has rows everywhere."""
        best, actions = self.best_action, self.diagnostics.actions
        one, no_rows = np.eye(len(actions))[[best]], np.zeros((0, 1, len(actions)))
        allowed = bool(self.known.any())
        playable = self.known[None] if allowed else one > 0
        ways = Lotteries(np.zeros(len(self.sizes), dtype=np.int64), playable, no_rows, np.zeros(0), allowed)
        return Reference(actions, ways, one, float(self.constants[best]), {actions[best]: 1.0}, None, 0.0)

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


def at_level(estimate: tuple[float, float], quantile: float, beyond: float = 0.0) -> IntervalEstimate:
    """Return an estimate with its interval: so many standard errors, and a length beyond them, to each side."""
    value, error = estimate
    reach = quantile * error + beyond
    return IntervalEstimate(value, error, value - reach, value + reach)


def evaluate_sums(
    found: CompressedLog, played: Ints, part: Ints, level: float, *, in_sample: bool = False
) -> Evaluation:
    """Return the value of a policy as milpcb.offline.evaluate does, without the gain over what was done.

    ``played`` and ``part`` (m,) are its action and the number of its part in every context.
    """
    names, K = found.diagnostics.actions, len(found.counts)
    once, at_once = (float(norm.ppf(1 - (1 - level) / 2 / times)) for times in (1, K))
    known, best = np.flatnonzero(found.known).tolist(), found.best_action
    gains = {k: found.gain(played, k) for k in known}
    over, together = ({k: at_level(gain, far) for k, gain in gains.items()} for far in (once, at_once))
    constants = {k: at_level(found.value(found.always(k)), once) for k in known}
    return Evaluation(
        value=at_level(found.value(played), once),
        constants={name: constants.get(k, UNKNOWN) for k, name in enumerate(names)},
        best_constant=names[best],
        reference=found.reference,
        reference_value=constants.get(best, UNKNOWN),
        gain_over={name: over.get(k, UNKNOWN) for k, name in enumerate(names)},
        gain=over_best(over[best], over, together) if known else UNKNOWN,
        logged=at_level((found.outcome[0], found.outcome[1] / found.n**0.5), once),
        gain_over_logged=UNKNOWN,
        leaves=tuple(
            _leaf(found, number, int(played[part == number][0]), part == number, once)
            for number in np.unique(part).tolist()
            if found.sizes[part == number].sum() > 0.5
        ),
        interval="normal",
        level=level,
        maximise=found.maximise,
        in_sample=in_sample,
    )


def _leaf(found: CompressedLog, number: int, action: int, here: Bools, quantile: float) -> LeafValue:
    size, other, sign = found.sizes[here].sum(), found.best_action, 1.0 if found.maximise else -1.0
    own, alike = found.scores[here, action].sum(), found.scores[here, other].sum()

    def mean(total: float, squares: float) -> IntervalEstimate:
        spread = max(0.0, squares - total**2 / size) / max(1, found.n - 1)
        return at_level((float(total / size), float(np.sqrt(spread * found.n) / size)), quantile)

    value = mean(own, found.products[here, action, action].sum())
    gain = mean(sign * (own - alike), found.squares(other)[here, action].sum())
    return LeafValue(number, action, found.diagnostics.actions[action], float(size / found.n), value, gain)
