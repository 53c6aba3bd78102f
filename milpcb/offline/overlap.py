"""Where a log has no rows of an action: no estimate carries over to there, so no claim may either.

Propensities of 0 show it row by row. Otherwise it is looked for in the parts that one test of a column cuts off, or
two. A part is without an action where fewer of its rows have it than ``FEWEST``, or than the share ``least`` to which
propensities are raised, and where so few would nearly never come by chance: the given propensities add up to the number
that is expected, or a ``FALL``-th of the share that the action has in the whole log. It is at least as spread as by
Poisson's law, whose probability is to be at most ``ALARM`` for all parts and actions together, half of it for single
tests. The rows of a group count as one. Cut points are then moved as far as no further row of the action is met.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.special import pdtr

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import ROUNDING
from milpcb.core.decimals import fixed, written
from milpcb.core.text import listed
from milpcb.data.columns import Values, in_words, name_in_words
from milpcb.rng import child
from milpcb.types import Bools, Floats, Ints

Found = TypeVar("Found", bound=Any)  # what a search returns, with the policy that was found

KINDS = ("required", "ignore")
NAME = "actions only where the log has rows of them; --overlap ignore, or overlap='ignore', allows them everywhere"
ALARM = 1e-3  # probability that a log in which nothing is wrong has such a part
FEWEST = 3  # rows of an action in a part, below which they count as none
FALL = 3.0  # to which share of its own an action may fall by chance
TESTS = 400  # of columns, about
MOST_TESTS = 2_000  # above, they are not looked at in pairs
MOST_ROWS = 20_000  # rows on which pairs of tests are looked for
WORK = 1e10  # multiplications of that
MOST_PARTS = 5_000  # that are gone through, largest first
SEARCHES = 25  # that forbid an action in a part; those after forbid it everywhere
LISTED = 3  # parts that a sentence names


@dataclass(frozen=True, eq=False)
class ColumnTest:
    """A test of one column: its words, where it holds (n,), and for a comparison the numbers that are compared."""

    words: str
    holds: Bools
    name: str = ""
    numbers: Floats | None = None
    up: bool = True  # whether it holds up to ``cut``, or above
    cut: float = np.nan


@dataclass(frozen=True, eq=False)
class UnseenPart:
    """A part of the rows in which an action was never done, or nearly so."""

    action: int
    tests: tuple[ColumnTest, ...]  # which all hold there
    within: Bools  # (n,) its rows
    seen: int  # how many of them have the action

    @property
    def words(self) -> str:
        """Return the tests of the part in words, and the number of its rows with the action."""
        who = " and ".join(test.words for test in self.tests) or "everywhere"
        return f"{who} ({self.seen or 'none'} of {fixed(int(self.within.sum()), 0)} rows)"


def _is_missing(seen: Floats, rows: Floats, expected: Floats, tested: float, least: float = 0.0) -> Bools:
    """Return whether an action is missing in a part of ``rows``, of which ``seen`` have it, by no chance."""
    few = (seen < FEWEST) | (seen < least * rows)
    return np.asarray(few & (pdtr(np.ceil(seen), expected) < ALARM / tested))


def rows_of_actions(log: Any, weight: Floats) -> tuple[Floats, Floats]:
    """Return the amounts (n, K) that each row adds to the number of rows of an action, and to the expected number."""
    each = np.asarray((weight > 0) / np.bincount(log.members)[log.members])  # groups count once, weightless rows not
    done = np.eye(len(log.actions))[log.action]
    known = np.full(done.shape, np.nan) if log.shares or log.propensity is None else log.propensity
    return each[:, None] * done, expected_of(log.action, known, each)


def expected_of(action: Ints, known: Floats, each: Floats) -> Floats:
    """Return the expected numbers (n, K) by the actions (n,) and propensities (n, K), NaN where not known."""
    shares = np.bincount(action, each, known.shape[1]) / (FALL * each.sum())
    rates = completed(known)
    return np.asarray(each[:, None] * np.where(rates > 0, rates, shares))  # where it is 0, the part is to be found


def completed(known: Floats) -> Floats:
    """Return propensities (n, K) where a missing one is filled in if the others determine it, as they add up to 1."""
    unknown = np.isnan(known)
    left = 1.0 - np.nansum(known, axis=1, keepdims=True)
    left[left < ROUNDING] = 0.0
    return np.where(unknown & ((unknown.sum(axis=1, keepdims=True) == 1) | (left == 0)), left, known)


def parts_without(
    tests: Sequence[ColumnTest], action: Ints, each: Floats, expected: Floats, least: float
) -> list[UnseenPart]:
    """Return the parts of a log, cut off by ``tests``, without rows of some action, largest first.

    Rows count as ``each`` (n,), ``expected`` (n, K) is that of ``expected_of``; propensities are raised to ``least``.
    """
    found: list[UnseenPart] = []
    covered = np.zeros(expected.shape, dtype=bool)
    for k, chosen, tested in _candidates(tests, action, each, expected, least):
        done, within = action == k, np.logical_and.reduce([test.holds for test in chosen])
        rest = within & ~covered[:, k]
        if _is_missing(each @ (rest & done), each @ rest, expected[:, k] @ rest, tested, least):
            found.append(_exact(chosen, done, k))
            covered[:, k] |= found[-1].within
    return found


def column_tests(values: Mapping[str, Values]) -> Iterator[ColumnTest]:
    """Yield the tests of all columns (n,) by name."""
    most = max(3, min(31, TESTS // max(1, 2 * len(values))))  # cut points of a column
    for name, column in values.items():
        named = name_in_words(name)
        if column.dtype == object:
            yield from _of_values(named, column, most)
        else:
            yield from _of_numbers(named, column, most)


def _of_values(name: str, column: Values, most: int) -> Iterator[ColumnTest]:
    entries = column.tolist()
    counts = Counter(entries)
    for value, _ in counts.most_common(most):
        here = np.array([entry == value for entry in entries], dtype=bool)
        yield ColumnTest(f"{name} is missing" if value is None else f"{name} = {in_words(value)}", here)
        if len(counts) > 2:
            yield ColumnTest(f"{name} other than {in_words(value)}", ~here)


def _of_numbers(name: str, column: Floats, most: int) -> Iterator[ColumnTest]:
    lost = np.isnan(column)
    if lost.any():
        yield ColumnTest(f"{name} is missing", lost)
    if lost.all():
        return
    distinct = np.unique(column[~lost])
    cuts = distinct[:-1]
    if len(cuts) > most:
        cuts = np.unique(np.quantile(column[~lost], np.arange(1, most + 1) / (most + 1), method="lower"))
    if distinct.tolist() == [0.0, 1.0]:
        yield from (ColumnTest(f"{name} = {value}", column == value) for value in (0, 1))
        return
    yield from (compared(name, column, cut, up=up) for cut in cuts.tolist() for up in (True, False))


def compared(name: str, numbers: Floats, cut: float, *, up: bool) -> ColumnTest:
    """Return the test that a number is up to a cut, or above."""
    words, holds = ("up to", numbers <= cut) if up else ("above", numbers > cut)
    return ColumnTest(f"{name} {words} {written(float(f'{cut:.6g}'))}", holds, name, numbers, up, cut)


def _candidates(
    tests: Sequence[ColumnTest], action: Ints, each: Floats, expected: Floats, least: float
) -> Iterator[tuple[int, list[ColumnTest], float]]:
    """Yield an action, a test or two where it lacks in some rows, and of how many such parts; single tests first."""
    if not tests:
        return
    size = int(min(MOST_ROWS, max(2_000, WORK / len(tests) ** 2 / expected.shape[1])))
    rows = np.arange(len(action))
    if len(rows) > size:
        rows = np.sort(child(0, "offline", "overlap").choice(len(action), size, replace=False))
    holds = np.array([test.holds[rows] for test in tests], dtype=np.float32)
    both = [np.triu_indices(len(tests), 1)] if len(tests) <= MOST_TESTS else []
    for pairs in (None, *both):
        sizes = _counted(holds, each[rows], pairs)
        tested = 2 * max(1, int((sizes > 0).sum())) * expected.shape[1]
        for k in range(expected.shape[1]):
            seen = _counted(holds, (each * (action == k))[rows], pairs)
            by_chance = _counted(holds, expected[rows, k], pairs)
            lacking = np.flatnonzero(_is_missing(seen, sizes, by_chance, tested, least))
            order = np.lexsort((-sizes[lacking], seen[lacking] > 0))
            for i in lacking[order[:MOST_PARTS]].tolist():
                yield k, [tests[i]] if pairs is None else [tests[side[i]] for side in pairs], tested


def _counted(holds: Any, weight: Floats, pairs: Any) -> Floats:
    """Return the weight of the rows where a test, or a pair of tests, ``holds`` (tests, n)."""
    own = holds * weight.astype(np.float32)
    return np.asarray(own.sum(axis=1) if pairs is None else (own @ holds.T)[pairs], dtype=float)


def _exact(chosen: list[ColumnTest], done: Bools, action: int) -> UnseenPart:
    """Return the part that some tests cut off, with cuts as far out as there are no further rows ``done`` (n,)."""
    for place, test in enumerate(chosen):
        others = [other.holds for other in chosen[:place] + chosen[place + 1 :]]
        chosen[place] = _widened(test, np.logical_and.reduce(others) if others else np.ones_like(done), done)
    within = np.logical_and.reduce([test.holds for test in chosen])
    return UnseenPart(
        action, tuple(test for test in chosen if not test.holds.all()), within, int((within & done).sum())
    )


def _widened(test: ColumnTest, others: Bools, done: Bools) -> ColumnTest:
    """Return a test with its cut moved up to the next row of the action; ``others`` (n,) is where other tests hold."""
    if test.numbers is None:
        return test
    stop = test.numbers[others & done & ~test.holds & ~np.isnan(test.numbers)]
    if test.up:
        cut = float(np.max(test.numbers, where=test.numbers < stop.min(initial=np.inf), initial=-np.inf))
        return compared(test.name, test.numbers, cut, up=True)
    least = float(np.nextafter(np.nanmin(test.numbers), -np.inf))
    return compared(test.name, test.numbers, float(stop.max(initial=least)), up=False)


def impossible(log: Any) -> Bools:
    """Return the cells (n, K) of a log with propensities of 0."""
    none = np.zeros((len(log), len(log.actions)), dtype=bool)
    return none if log.propensity is None else np.asarray(completed(log.propensity) == 0)


def cells_without(log: Any, parts: Sequence[UnseenPart]) -> Bools:
    """Return the cells (n, K) of a log in parts without rows, or with propensities of 0.

    An action is left in each row: where all were missing, the logged one.
    """
    cells = impossible(log)
    for part in parts:
        cells[part.within, part.action] = True
    nothing = np.flatnonzero(cells.all(axis=1))
    cells[nothing, log.action[nothing]] = False
    return cells


def sentences(
    actions: Sequence[str], parts: Sequence[tuple[int, str]], zero: Floats | Ints, *, ignored: bool
) -> Iterator[str]:
    """Yield sentences on the actions not seen in ``parts``, and in ``zero`` (K,) rows by their propensities."""
    for k, name in enumerate(actions):
        own = [words for action, words in parts if action == k]
        where = [f"where {words}" for words in own[:LISTED]]
        if len(own) > LISTED:
            where.append(f"in {len(own) - LISTED} more parts")
        if zero[k]:
            where.append(f"in {fixed(int(zero[k]), 0)} rows by its propensity of 0")
        if where:
            yield f"'{name}' was not done {listed(where)}: {ASSUMED if ignored else LEFT_OUT}"


LEFT_OUT = "its value there is not known, so no rule may play it there; --overlap ignore (overlap='ignore') allows it."
ASSUMED = "its value there is not known, and was assumed all the same, as asked for (overlap 'ignore')."


def rules_on(cells: Bools | Floats) -> list[LabelConstraint]:
    """Return the constraint that none of the ``cells`` (m, K) is played; [] where there are none."""
    return [] if not cells.any() else [LabelConstraint(cells.astype(float), 0.0, NAME)]


def seen_everywhere(
    search: Callable[[list[LabelConstraint]], Found],
    contexts: Any,
    counts: Floats,
    expected: Floats,
    cells: Bools | None,
) -> Found:
    """Return the answer of a search whose policy plays, in each of its parts, an action with rows there.

    ``search`` returns the answer under further constraints on the ``contexts`` (m, d), with ``counts`` (m, K) of rows
    by action, and ``expected`` ones; no action may be played in ``cells`` (m, K).
    """
    shut = np.zeros(counts.shape, dtype=bool) if cells is None else cells.copy()
    answer = search(rules_on(shut))
    for turn in range(SEARCHES + counts.shape[1]):
        empty = _cells_unseen(answer.policy, contexts, counts, expected)
        if not empty.any():
            break
        shut |= empty if turn < SEARCHES else empty.any(axis=0)
        answer = search(rules_on(shut))
    return answer


def _cells_unseen(policy: Any, contexts: Any, counts: Floats, expected: Floats) -> Bools:
    """Return the cells (m, K) that a policy plays in parts of its own in which no row has the action."""
    played = np.asarray(policy.predict(contexts))
    part = np.asarray(policy.apply(contexts)) if hasattr(policy, "apply") else played
    cells = np.zeros(counts.shape, dtype=bool)
    empty, lacking = in_parts(played, part, counts, expected)
    cells[np.arange(len(played)), played] = empty | lacking
    return cells


def in_parts(played: Ints, part: Ints, counts: Floats, expected: Floats) -> tuple[Bools, Bools]:
    """Return the contexts (m,) in whose ``part`` (m,) no row, or too few for chance, has the action ``played`` (m,)."""
    cells = np.arange(len(played)), played
    number = np.unique(part, return_inverse=True)[1].ravel()
    seen, by_chance = (np.bincount(number, table[cells]).astype(float) for table in (counts, expected))
    sizes = np.bincount(number, counts.sum(axis=1)).astype(float)
    lacking = _is_missing(seen, sizes, by_chance, float(len(seen)))
    return ((seen <= 0) & (sizes > 0))[number], lacking[number]
