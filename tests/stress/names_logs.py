"""Random logs with names of every kind, and what follows from them by definition, in plain loops."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# What actions may be called; each log takes the first two or three of one line, in any order.
ACTIONS: list[list[Any]] = [
    [1, 2, 3],
    [2, 10, 1],
    [0, 1, 2],
    [1.0, 2.0, 3.0],
    [0.5, 1.0, 2.0],
    ["write", "call", "wait"],
    ["10", "9", "8"],
    ["1", "02", "2"],
    ["missing", "", "true"],
    ["a\nb", "a\\nb", "a\n  b"],
    ['say "no"', "it's", "'"],
    ["play", "else:", "if x <= 1:"],
    [False, True],
]
# What categories may be; those of a line print alike, or like something else.
GROUPS: list[list[Any]] = [
    ["north", "south", None],
    ["missing", None, "None"],
    ["", " ", "x"],
    ['"', '""', "'"],
    ["a\nb", "a\\nb", "a\n    b"],
    ["1", "2", "a"],
    ["true", "false", "TRUE"],
    ["a and b", "a", "b"],
    ["is missing", "not a", "{a, b}"],
    [1000001, 1000002, 1000003],
    [0.1, 0.1 + 1e-9, 0.1 + 2e-9],
    [9007199254740992.0, 9007199254740994.0, 9007199254740996.0],
    [True, False, None],
    ["x <= 1 (or missing)", "x (or missing)", "x"],
]
COLUMNS = [
    ("x", "g"),
    ("x and y", "g is"),
    ('"x"', "g <= 1"),
    ("x\ny", "in {g}"),
    ("1", "missing"),
    ("", " "),
    ("a", "a "),
]


@dataclass(frozen=True)
class RandomLog:
    """n rows: numbers ``x`` (None where missing), groups ``g``, what was ``done`` (0..K-1), its ``earned``.

    ``chances`` (n, K) are those of the actions, which ``names`` call; ``columns`` are the names of x and g.
    """

    names: list[Any]
    columns: tuple[str, str]
    groups: list[Any]
    x: list[float | None]
    g: list[Any]
    done: list[int]
    chances: list[list[float]]
    earned: list[float]

    @property
    def n_actions(self) -> int:
        """K."""
        return len(self.names)

    @property
    def scores(self) -> list[list[float]]:
        """Outcome of each action, by its inverse propensity."""
        rows = zip(self.done, self.chances, self.earned, strict=True)
        return [[y / p[a] if k == a else 0.0 for k in range(self.n_actions)] for a, p, y in rows]


def draw(seed: int) -> RandomLog:
    """Return a log; every action and every group is there."""
    rng = random.Random(seed)  # noqa: S311 - cases, no secrets
    names = rng.choice(ACTIONS)
    names = names[: rng.choice([2, 3])]
    rng.shuffle(names := list(names))
    groups, columns = rng.choice(GROUPS), rng.choice(COLUMNS)
    n, k = rng.randint(40, 80), len(names)
    lost = rng.choice([0.0, 0.2])
    x = [None if rng.random() < lost else float(rng.randint(0, 3)) for _ in range(n)]
    g = [*groups, *(rng.choice(groups) for _ in range(n - len(groups)))]
    weights = [[rng.randint(1, 4) for _ in range(k)] for _ in range(n)]
    chances = [[w / sum(row) for w in row] for row in weights]
    done = [*range(k), *(rng.choices(range(k), row)[0] for row in chances[k:])]
    best = {(value, group): rng.randrange(k) for value in (None, 0.0, 1.0, 2.0, 3.0) for group in range(len(groups))}
    place = [next(i for i, other in enumerate(groups) if other == value) for value in g]
    earned = [float(best[x[i], place[i]] == done[i]) + rng.randint(0, 3) / 8 for i in range(n)]
    return RandomLog(names, columns, groups, x, g, done, chances, earned)


def value(log: RandomLog, played: list[int]) -> float:
    """Return the value of a policy that plays ``played``: the mean of its scores."""
    return sum(row[a] for row, a in zip(log.scores, played, strict=True)) / len(played)


def stumps(log: RandomLog) -> Iterator[list[bool]]:
    """Yield the sides that the tests of trees of depth 1 have the rows on: comparisons, missing, sets of groups."""
    known = sorted({x for x in log.x if x is not None})
    for cut in known[:-1]:
        for missing in {False, None in log.x}:
            yield [missing if x is None else x <= cut for x in log.x]
    yield [x is None for x in log.x]
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in log.groups)
    if numbers:
        for cut in sorted(log.groups)[:-1]:
            yield [value <= cut for value in log.g]
    else:
        for chosen in log.groups:
            yield [value == chosen for value in log.g]


def trees(log: RandomLog) -> Iterator[list[int]]:
    """Yield what every tree of depth 1 plays in each row."""
    for side in stumps(log):
        for yes in range(log.n_actions):
            for no in range(log.n_actions):
                yield [yes if here else no for here in side]


def rates(log: RandomLog, played: list[int], action: int) -> list[float]:
    found = []
    for group in log.groups:
        among = [a == action for a, value in zip(played, log.g, strict=True) if value == group]
        found.append(sum(among) / len(among))
    return found
