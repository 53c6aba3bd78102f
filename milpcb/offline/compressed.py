"""Compressed data: few contexts with the sufficient statistics of a log, however many rows it has.

Policies of tests of at most ``order`` columns at a time have equal values on two logs whose sums by cell are equal (see
milpcb.offline.sufficient_statistics). So they are searched on a log of few contexts with the same sums: every bin of up
to ``order`` columns, the others being in their first bin. For d columns of b bins and pairs these are d (d - 1) / 2
(b - 1)^2 + d (b - 1) + 1 contexts: 3 736 for 10 columns of 10 bins. The count of a context follows by inclusion and
exclusion, and may be below 0; sums over the contexts that a part of a policy covers are those over its rows.

A score is base(k) + residual(k), base being the same in all rows: the self-normalised mean of the action (0 for "ips"
and "dr") and its treatment cost. The residual is 0 where another action was done, or the regression m(k), so sums of
scores and of their products follow from those of the residuals, of their squares and of what regressions add.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import norm

from milpcb.constraints import LabelConstraint
from milpcb.errors import InputError
from milpcb.offline.diagnostics import Diagnostics
from milpcb.offline.evaluate import Evaluation, LeafValue, over_best
from milpcb.offline.intervals import UNKNOWN, at_level
from milpcb.offline.overlap import rules_on, sentences
from milpcb.offline.reference import Lotteries, Reference
from milpcb.offline.sufficient_statistics import Grid, Statistics
from milpcb.types import Bools, Floats, Ints


class EntryRanges(NamedTuple):
    """Lengths of the ranges of the score of an action, and of the difference of two.

    With outcomes in [y0, y1], regressions in [m0, m1] and propensities of at least e, a score m + 1[a = k] (y - m) / e
    is between y0 / e - m1 (1 / e - 1) and y1 / e - m0 (1 / e - 1), or between m0 and m1. Of two scores of a row one at
    most is not its regression. With e = 0 there is no bound.
    """

    entry: float
    difference: float

    @classmethod
    def between(cls, outcomes: tuple[float, float], known: tuple[float, float], least: float) -> Self:
        """Return the ranges by the ends of the outcomes, of the regressions, and the ``least`` propensity."""
        (y0, y1), (m0, m1) = outcomes, known
        low, high = -np.inf, np.inf
        if least > 0:
            low, high = min(m0, y0 / least - m1 * (1 / least - 1)), max(m1, y1 / least - m0 * (1 / least - 1))
        return cls(high - low, 2 * max(high - m0, m1 - low))


def compressed_contexts(grid: Grid, cells: Floats) -> tuple[Ints, Floats]:
    """Return the bins (m, d) of contexts with sums (cells, ...), of which the first counts rows; and their own sums."""
    sums = cells.reshape(grid.size, -1)
    tables: dict[tuple[int, ...], Floats] = {}  # by every set of at most ``order`` columns
    for columns, start, stop in zip(grid.sets, grid.starts, grid.starts[1:], strict=False):
        table = sums[start:stop].reshape(*(grid.bins[f] for f in columns), -1)
        for lesser in (lesser for size in range(len(columns) + 1) for lesser in combinations(columns, size)):
            if lesser not in tables:
                tables[lesser] = table.sum(axis=_other_axes(columns, lesser))
    there = [np.flatnonzero(tables[f,][..., 0]) for f in range(len(grid.bins))]  # bins without rows stand for nothing
    left = {columns: table[np.ix_(*(there[f][1:] for f in columns))] for columns, table in tables.items()}
    codes, counted = [], []
    for columns in sorted(left, key=len, reverse=True):
        own = left[columns]
        for lesser in (lesser for size in range(len(columns)) for lesser in combinations(columns, size)):
            left[lesser] = left[lesser] - own.sum(axis=_other_axes(columns, lesser))
        chosen = list(product(*(there[f][1:] for f in columns)))
        codes.append(np.tile([bins[0] for bins in there], (len(chosen), 1)))
        codes[-1][:, list(columns)] = np.array(chosen, dtype=np.int64).reshape(len(chosen), len(columns))
        counted.append(own.reshape(-1, sums.shape[1]))
    every, found = np.concatenate(counted), np.concatenate(codes)
    kept = every.any(axis=1) | ((found != found[-1]).sum(axis=1) <= 1)  # every bin stays, whatever it counts
    order = np.flatnonzero(kept)[np.lexsort(found[kept].T[::-1])]
    return found[order], every[order].reshape(-1, *cells.shape[1:])


def _other_axes(columns: tuple[int, ...], lesser: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis, f in enumerate(columns) if f not in lesser)


@dataclass(frozen=True, eq=False)
class CompressedLog:
    """Few contexts with the scores of a log of any size: sums over them equal those over the rows."""

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
    ranges: EntryRanges  # of the score of an action, and of the difference of two
    maximise: bool  # whether larger is better
    diagnostics: Diagnostics  # how far the scores can be trusted

    @property
    def constants(self) -> Floats:
        """(K,) the value of always playing one action."""
        return np.asarray(self.scores.sum(axis=0) / self.n)

    @property
    def unseen(self) -> Floats:
        """(K,) the number of rows in which the log has none of an action."""
        return np.asarray(self.barred.sum(axis=0))

    @property
    def known(self) -> Bools:
        """(K,) whether the log has rows of an action everywhere, so that the value of always playing it is known."""
        return np.asarray(self.unseen <= 0)

    @property
    def support(self) -> list[LabelConstraint]:
        """The side constraint that actions are played only where the log has rows of them; [] for none."""
        return rules_on(self.barred)

    @property
    def best_action(self) -> int:
        """The action that is best where it is always played, among actions with rows everywhere if there are any."""
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
        return Reference(actions, ways, one, float(self.constants[best]), {actions[best]: 1.0}, None)

    def value(self, played: Ints, here: Any = slice(None)) -> tuple[float, float]:
        """Return the mean score of the actions ``played`` (m,) in contexts ``here``, and its standard error."""
        rows = np.arange(len(played))
        return self._mean(self.scores[rows, played], self.products[rows, played, played], here)

    def gain(self, played: Ints, other: int, here: Any = slice(None)) -> tuple[float, float]:
        """Return how much better ``played`` (m,) is than always ``other``, and its standard error."""
        rows, sign = np.arange(len(played)), 1.0 if self.maximise else -1.0
        more = sign * (self.scores[rows, played] - self.scores[:, other])
        return self._mean(more, self.squares(other)[rows, played], here)

    def squares(self, other: int) -> Floats:
        """Return the sums (m, K) of the squares of the differences between each action's score and another's."""
        own = np.einsum("jkk->jk", self.products)
        return np.asarray(own - 2 * self.products[:, :, other] + own[:, [other]])

    def _mean(self, totals: Floats, squares: Floats, here: Any) -> tuple[float, float]:
        size, total = self.sizes[here].sum(), totals[here].sum()
        spread = max(0.0, squares[here].sum() - total**2 / size) / max(1, self.n - 1)
        return float(total / size), float(np.sqrt(spread * self.n) / size)


def evaluate_sums(
    found: CompressedLog, played: Ints, part: Ints, level: float, *, in_sample: bool = False
) -> Evaluation:
    """Return the value of a policy with the actions ``played`` (m,) and parts (m,), without the gain over the log's."""
    best, names = found.best_action, found.diagnostics.actions
    once, at_once = (float(norm.ppf(1 - (1 - level) / 2 / times)) for times in (1, len(names)))
    gains = {k: found.gain(played, k) for k in np.flatnonzero(found.known).tolist()}
    over, together = ({k: at_level(gain, far) for k, gain in gains.items()} for far in (once, at_once))
    constants = {
        name: at_level(found.value(np.full(len(played), k)), once) if k in over else UNKNOWN
        for k, name in enumerate(names)
    }
    leaves = []
    for number in np.unique(part).tolist():
        here = part == number
        if (size := found.sizes[here].sum()) > 0.5:
            action, share = int(played[here][0]), float(size / found.n)
            both = (at_level(each, once) for each in (found.value(played, here), found.gain(played, best, here)))
            leaves.append(LeafValue(number, action, names[action], share, *both))
    return Evaluation(
        value=at_level(found.value(played), once),
        constants=constants,
        best_constant=names[best],
        reference=found.reference,
        reference_value=constants[names[best]],
        gain_over={name: over.get(k, UNKNOWN) for k, name in enumerate(names)},
        gain=over_best(over[best], over, together) if over else UNKNOWN,
        logged=at_level((found.outcome[0], found.outcome[1] / found.n**0.5), once),
        gain_over_logged=UNKNOWN,
        leaves=tuple(leaves),
        interval="normal",
        level=level,
        maximise=found.maximise,
        in_sample=in_sample,
    )


FAR = 1e-6  # of the size of outcomes: where all differences are less, sums of squares do not hold them


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
    """Return few contexts with the sums of the rows of a log, and their scores; raises InputError.

    The ``stats`` of a ``randomised`` trial are with propensities of 1; ``charge`` (K,) is the treatment cost, below 0
    for rewards; ``parts`` are those without rows of an action, by its number, and in words.
    """
    least, most = stats.outcome_range
    if 0 < most - least < FAR * max(abs(least), abs(most)):
        raise InputError(
            f"outcomes are from {least:.17g} to {most:.17g}, and sums of their squares do not hold such differences: "
            "subtract a number near them from all, or learn from rows in memory"
        )
    n, K, counts = len(stats), stats.n_actions, stats.counts
    if not counts.all():
        name = actions[int(counts.argmin())]
        raise InputError(f"no row has action '{name}'; leave it out of actions, or add rows that have it")
    moments, smallest = stats.cells, -stats.ends[:K]
    if randomised:
        powers = np.array([0, 1, 1, 2, 2, 2, *[1] * (moments.shape[2] - 6)])
        moments, smallest = moments * (n / counts)[:, None] ** powers, counts / n
    rows, u, uy, uu, uuy, uuyy = np.moveaxis(moments[..., :6], -1, 0)
    regressions, mixed, ends = _of_regressions(stats, moments[..., 6:])
    total = stats.total(moments)
    centre = total[:, 2] / total[:, 1] if method == "snips" else np.zeros(K)
    cells = [uy - centre * u + regressions, uuyy - 2 * centre * uuy + centre**2 * uu, rows, stats.barred, mixed]
    codes, sums = compressed_contexts(stats.grid, np.hstack([rows.sum(axis=1)[:, None], *cells]))
    sizes, residual, squared, done, barred, mixed = np.split(sums, np.cumsum([1, K, K, K, K]), axis=1)
    base = centre + charge
    products = sizes[:, :, None] * np.multiply.outer(base, base) + squared[:, :, None] * np.eye(K)
    products += residual[:, :, None] * base + residual[:, None, :] * base[:, None]
    products += mixed.reshape(-1, K, K) if mixed.size else 0.0
    outcomes, known = (least + charge.min(), most + charge.max()), ((base + ends[0]).min(), (base + ends[1]).max())
    propensity = float(max(smallest.min(), 0.0 if randomised else min_propensity))
    return CompressedLog(
        codes=codes,
        sizes=sizes[:, 0],
        scores=sizes * base + residual,
        products=products,
        n=n,
        done=done,
        barred=barred,
        counts=counts,
        outcome=_outcome(stats, charge),
        spread=_outcome(stats, np.zeros(K))[1] * float(np.sqrt((n - 1) / n)),
        ranges=EntryRanges.between(outcomes, known, propensity),
        maximise=maximise,
        diagnostics=_trust(stats, total, smallest, np.rint(barred.sum(axis=0)), parts, actions, min_propensity),
    )


def _of_regressions(stats: Statistics, crossed: Floats) -> tuple[Floats | float, Floats, Floats]:
    """Return what regressions add to sums of scores (cells, K), and of products (cells, K^2); and their ends (2, K)."""
    K, (cells, *_) = stats.n_actions, crossed.shape
    if not crossed.size:
        return 0.0, np.zeros((cells, 0)), np.zeros((2, K))
    sums, products = np.split(stats.others[:, 0, K:], [K], axis=1)
    ends = np.stack([-stats.ends[K + 2 : 2 * K + 2], stats.ends[2 * K + 2 :]])
    return sums, products + (crossed + crossed.transpose(0, 2, 1)).reshape(cells, -1), ends


def _trust(
    stats: Statistics, total: Floats, least: Floats, barred: Floats, parts: Any, actions: tuple[str, ...], raised: float
) -> Diagnostics:
    n, named = len(stats), [action for action, _ in parts]
    other = np.where(np.isin(np.arange(len(actions)), named), 0, barred)
    there, inverse, squares = np.maximum(n - barred, 1.0), total[:, 1], total[:, 3]
    calibration = inverse / there
    spread = np.maximum(0.0, squares - there * calibration**2) / np.maximum(1, there - 1)
    return Diagnostics(
        actions=actions,
        least_propensity=least,
        effective_size=inverse**2 / squares,
        clipped=int(stats.outcomes[:, 2].sum()),
        min_propensity=raised,
        calibration=calibration,
        calibration_error=np.sqrt(spread / there),
        rows=n,
        given=True,
        unseen=tuple(sentences(actions, parts, other, ignored=False)),
    )


def _outcome(stats: Statistics, charge: Floats) -> tuple[float, float]:
    """Return the mean and the standard deviation of the outcome with what actions add to it."""
    n, counts, (y, yy) = len(stats), stats.counts, stats.outcomes.T[:2]
    total = float((y + counts * charge).sum())
    squares = float((yy + 2 * charge * y + charge**2 * counts).sum())
    return total / n, float(np.sqrt(max(0.0, squares - total**2 / n) / max(1, n - 1)))
