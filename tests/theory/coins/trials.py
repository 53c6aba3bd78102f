"""The exact chance that a trial ends with a policy that it should not end with, on games that can be enumerated.

Rows are i.i.d., costs 0 and 1, all numbers fractions. A false ending is a moment at which *some* policy that is worse
than the best by eps or more has refuted all its rivals: whoever leads, whenever one looks. Statement T1 of
milpcb/theory/trials.md proves that its chance is at most delta.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

Row = tuple[int, int, int]  # context, action, cost
Held = tuple[Fraction, ...]  # what is held by (bad leader, rival, stake)
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class TrialGame:
    """A law of rows: ``shares`` (X,) of contexts, ``means`` (X, K) of costs, ``law`` (X, K) of actions; N labelings."""

    shares: tuple[Fraction, ...]
    means: tuple[tuple[Fraction, ...], ...]
    law: tuple[tuple[Fraction, ...], ...]
    labelings: tuple[tuple[int, ...], ...]
    eps: Fraction
    rounds: int

    @cached_property
    def rows(self) -> dict[Row, Fraction]:
        """The chance of each row."""
        cells = product(enumerate(self.shares), range(len(self.law[0])), (0, 1))
        found = {
            (x, y, c): share * self.law[x][y] * (self.means[x][y] if c else 1 - self.means[x][y])
            for (x, share), y, c in cells
        }
        return {row: chance for row, chance in found.items() if chance}

    @cached_property
    def pairs(self) -> list[list[tuple[int, int]]]:
        """By policy that is worse than the best by eps or more, the pairs of it and each of its rivals."""
        values = [
            sum((share * own[x] for share, own, x in zip(self.shares, self.means, labels, strict=True)), Fraction(0))
            for labels in self.labelings
        ]
        bad = [p for p, value in enumerate(values) if value >= min(values) + self.eps]
        return [[(p, rival) for rival in range(len(values)) if rival != p] for p in bad]

    @property
    def floor(self) -> Fraction:
        """The least probability of any action on any context."""
        return min(min(own) for own in self.law)


@dataclass(frozen=True)
class TrialRule:
    """When a trial ends: stakes as parts of the floor, by context; and what is not as it should be; on ``games``.

    ``expected`` of all costs is a number, or "before", the mean of each action in the rows before. ``union`` is whether
    the price is paid for all leaders.
    """

    name: str
    games: Sequence[TrialGame]
    stakes: tuple[tuple[Fraction, ...], ...] = ((Fraction(1),),)
    delta: Fraction = HALF
    expected: Fraction | str = Fraction(0)
    union: bool = True


def judge_trial(rule: TrialRule) -> Fraction:
    """Return the largest chance of a false ending over all games, less delta."""
    return max(false_ending(rule, game) for game in rule.games) - rule.delta


def false_ending(rule: TrialRule, game: TrialGame) -> Fraction:
    """Return the chance that a trial of so many rounds ever ends with a policy that it should not end with."""
    K = len(game.law[0])
    size = sum(len(pairs) for pairs in game.pairs) * len(rule.stakes)
    states: dict[tuple[Held, tuple[int, ...]], Fraction] = {((Fraction(1),) * size, (0,) * 2 * K): Fraction(1)}
    wrong = Fraction(0)
    for _ in range(game.rounds):
        after: defaultdict[tuple[Held, tuple[int, ...]], Fraction] = defaultdict(Fraction)
        for (held, seen), chance in states.items():
            for row, share in game.rows.items():
                now = tuple(own * factor for own, factor in zip(held, _factors(rule, game, row, seen), strict=True))
                if _ends(rule, game, now):
                    wrong += chance * share
                else:
                    after[now, _with(seen, row) if isinstance(rule.expected, str) else seen] += chance * share
        states = after
    return wrong


def _factors(rule: TrialRule, game: TrialGame, row: Row, seen: tuple[int, ...]) -> Iterator[Fraction]:
    """Yield what each sum held is multiplied by; ``seen`` are the rows and the costs of each action before."""
    x, y, cost = row
    if isinstance(rule.expected, str):
        rows, paid = seen[: len(seen) // 2], seen[len(seen) // 2 :]
        expected = [(sum_ + HALF) / (n + 1) for n, sum_ in zip(rows, paid, strict=True)]
    else:
        expected = [rule.expected] * len(game.law[0])
    estimates = list(expected)
    estimates[y] += (cost - expected[y]) / game.law[x][y]
    for p, rival in (pair for pairs in game.pairs for pair in pairs):
        more = estimates[game.labelings[rival][x]] - estimates[game.labelings[p][x]] + game.eps
        yield from (1 + stake[x % len(stake)] * game.floor * more for stake in rule.stakes)


def _with(seen: tuple[int, ...], row: Row) -> tuple[int, ...]:
    """Return rows and costs by action with one more row."""
    K = len(seen) // 2
    return tuple(n + (k == row[1]) + (row[2] if k == K + row[1] else 0) for k, n in enumerate(seen))


def _ends(rule: TrialRule, game: TrialGame, held: Held) -> bool:
    """Return whether some policy that is too bad has refuted each of its rivals by some stake."""
    G, enough = len(rule.stakes), len(rule.stakes) * (len(game.labelings) if rule.union else 1) / rule.delta
    place = 0
    for pairs in game.pairs:
        if all(max(held[place + i * G : place + (i + 1) * G]) >= enough for i in range(len(pairs))):
            return True
        place += len(pairs) * G
    return False


THIRDS = (Fraction(1, 3),) * 3
CONSTANTS = ((0,), (1,), (2,))
TENTH, ZERO, ONE = Fraction(1, 10), Fraction(0), Fraction(1)
WORSE = (Fraction(9, 10), ONE, ONE)  # of three actions two are worse by a tenth


def _constants(means: tuple[Fraction, ...], rounds: int, law: tuple[Fraction, ...] = THIRDS) -> TrialGame:
    """Return a game without features, of three constants."""
    return TrialGame((ONE,), (means,), (law,), CONSTANTS, TENTH, rounds)


def _turned(rounds: int) -> TrialGame:
    """Return a game in which a policy is worse where contexts are frequent, and better where they are rare."""
    means = ((ONE, ZERO, ONE), (ZERO, ONE, ONE))
    return TrialGame(
        (Fraction(3, 5), Fraction(2, 5)), means, (THIRDS,) * 2, ((0, 0), (1, 1), (0, 1)), 2 * TENTH, rounds
    )


EVEN = _constants(WORSE, 10)
UNEVEN = _constants((HALF, HALF + TENTH, HALF + TENTH), 8, (HALF, HALF / 2, HALF / 2))
GAMES = [EVEN, UNEVEN, _turned(16)]

TRIALS = [
    TrialRule("c / q", GAMES),
    TrialRule("c / q, delta = 1/4", GAMES, delta=HALF / 2),
    TrialRule("c / q, two stakes", GAMES[:1], stakes=((ONE,), (HALF,))),
    TrialRule("cost of 1/2 expected", GAMES, expected=HALF),
    TrialRule("mean of the rows before expected", [_constants((ZERO, TENTH, ONE), 7)], expected="before"),
]
TRIAL_MUTANTS = [
    TrialRule("the union over leaders forgotten", [EVEN], union=False),
    TrialRule("stakes that see the context", [_turned(20)], stakes=((ZERO, ONE),)),
    TrialRule("stakes above the floor", [EVEN], stakes=((Fraction(3),),)),
]
