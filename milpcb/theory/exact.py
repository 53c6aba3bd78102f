"""A relaxation on a small game, in rational arithmetic: one round, and by enumeration Rel, q and every reachable past.

The functions that a run calls for q are called with Fractions. The past enters only through its *base* (N,): for each
policy, the total of the estimates of the actions that it would have played.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, product
from math import lcm
from numbers import Rational
from operator import add
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from milpcb.errors import InputError
from milpcb.relaxations import base as rounds
from milpcb.relaxations.base import Estimator, Relaxation
from milpcb.types import Floats

Leftover = Literal["uniform", "leader"]
Totals = tuple[Any, ...]  # Fractions, whole ones as ints; in a profile also inf
FRACTIONAL_BITS = 20  # a float with more of them is taken for a rounded number

Labelings = tuple[tuple[int, ...], ...]
Law = tuple[Fraction, ...]

UNIFORM: Law = (Fraction(1, 2), Fraction(1, 2))
SKEWED: Law = (Fraction(3, 4), Fraction(1, 4))
POINT: Law = (Fraction(1), Fraction(0))


@dataclass(frozen=True)
class Game:
    """``labelings`` (N, m), the ``law`` (m,) of contexts, K actions, L and the longest horizon of the check."""

    labelings: Labelings
    law: Law
    n_actions: int
    scale: Fraction
    horizon: int

    @cached_property
    def actions(self) -> range:
        """0..K-1."""
        return range(self.n_actions)

    @cached_property
    def playing(self) -> list[list[list[int]]]:
        """The numbers of the policies that play action i at context x, as ``playing[x][i]``."""
        columns = list(zip(*self.labelings, strict=True))
        return [[[n for n, label in enumerate(column) if label == i] for i in self.actions] for column in columns]

    def __str__(self) -> str:
        law = ", ".join(map(str, self.law))
        return f"labelings {[list(labels) for labels in self.labelings]}, contexts ({law}), L = {self.scale}"


@dataclass(frozen=True)
class Variant:
    """A relaxation and the options of BistroPlus it is played with; ``mix`` turns q* (K,) and L into q."""

    name: str
    relaxation: Relaxation
    estimator: Estimator = "bernoulli"
    leftover: Leftover = "uniform"
    mix: Callable[[Floats, Any], Floats] = rounds.mix


class Player:
    """A variant at one number of actions K and one scale L.

    Totals, profiles and noise are in units of the relaxation, one of which is ``unit`` in cost. ``price`` is the most
    that exploring costs in a round, in cost. ``noise`` is the law of the noise (K,) of one future round: probabilities
    by vector, that of no noise included. ``reply(V)`` is play on a future of profile V (K,): q (K,), and the slack of
    the per-round game. Raises InputError where the relaxation returns rounded numbers, or no probabilities.
    """

    def __init__(self, variant: Variant, n_actions: int, scale: Fraction) -> None:
        self.n_actions = n_actions
        self.scale: Any = scale  # goes where a float is declared and a Fraction is kept
        self.hit, self.probe, self.shift = variant.relaxation.hit, variant.relaxation.probe, variant.relaxation.shift
        self.unit = exact(variant.relaxation.unit(scale), f"{variant.name}: unit")
        self.price = exact(variant.relaxation.exploration(n_actions), f"{variant.name}: exploration") / scale
        self.noise = _one_round(variant, n_actions, scale)
        self.reply = cache(self._reply)
        self._variant = variant

    def estimate(self, cost: int, q: Fraction) -> tuple[Fraction, Fraction]:
        """Return the chance that an action of this cost, played with probability ``q``, counts, and its estimate."""
        if not q:
            return q, q
        found = self._variant.relaxation.estimate(cost, cast("float", q), self.scale)
        chance, units = (exact(number, f"{self._variant.name}: estimate") for number in found)
        return (q, chance * units) if self._variant.estimator == "ips" else (q * min(chance, Fraction(1)), units)

    def _reply(self, profile: Totals) -> tuple[tuple[Fraction, ...], Fraction]:
        V = np.array([v if v == np.inf else Fraction(v) for v in profile], dtype=object)
        variant = self._variant
        q_star = variant.relaxation.respond(rounds.psi_from_profile(V, self.probe), self._leftover(V))
        q = tuple(exact(share, f"{variant.name}: q") for share in variant.mix(q_star, self.scale))
        if sum(q) != 1 or min(q) < 0:
            raise InputError(f"{variant.name}: q = ({', '.join(map(str, q))}) is no distribution; fix its respond()")
        lifted = sum(p * min(v + xi for v, xi in zip(V, noise, strict=True)) for noise, p in self.noise.items())
        lost: Any = variant.relaxation.loss(q_star, self._phi(V, 1), self._phi(V, -1), self.scale)
        return q, self.unit * (min(V) - lifted) - lost

    def _leftover(self, V: Floats) -> Floats:
        shared = [self._variant.leftover == "uniform" or v == V.min() for v in V]
        return np.array([Fraction(share, sum(shared)) for share in shared])

    def _phi(self, V: Floats, sign: int) -> Floats:
        """Return what one more or one less hit on each action moves psi by, in hits, by its definition."""
        step = sign * self.hit
        moved = [min(v + step * (a == i) for a, v in enumerate(V)) for i in range(self.n_actions)]
        return np.array([(psi - min(V)) / step for psi in moved], dtype=object)


def exact(value: Any, what: str) -> Fraction:
    """Return a number as a Fraction; ``what`` names it in the InputError for a float that looks rounded."""
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, float) and (value * 2**FRACTIONAL_BITS).is_integer():
        return Fraction(value)
    raise InputError(
        f"{what} is {value!r}, a rounded number: keep the type of the arguments (use + - * / and no floats)"
    )


def int_if_whole(value: Fraction) -> Any:
    """Return an integer as an int, which is faster."""
    return value.numerator if value.denominator == 1 else value


def _one_round(variant: Variant, n_actions: int, scale: Any) -> dict[Totals, Fraction]:
    what = f"{variant.name}: the law of the noise"
    rate = exact(variant.relaxation.rate(scale, n_actions), f"{variant.name}: rate")
    law: defaultdict[Totals, Fraction] = defaultdict(Fraction)
    law[(0,) * n_actions] = 1 - rate
    for p, noise in variant.relaxation.law(n_actions):
        law[tuple(int_if_whole(exact(v, what)) for v in noise)] += rate * exact(p, what)
    if sum(law.values()) != 1 or min(law.values()) < 0:
        raise InputError(f"{what} is no law at K = {n_actions}, L = {scale}: fix its law(), rate() or least_scale()")
    return {noise: p for noise, p in law.items() if p}


COSTS = (0, 1)  # the worst costs are among these


class Round(NamedTuple):
    """One round, given past and context, in expectation over all futures that the learner may draw.

    ``loss`` (K,) is E q, ``counted[i][c]`` the law of the estimate of action i where its cost is c, 0 or 1, ``slack``
    that of the per-round game.
    """

    loss: tuple[Fraction, ...]
    counted: tuple[tuple[dict[Any, Fraction], ...], ...]
    slack: Fraction


class ExactRun:
    """A player on a game, each answer computed once.

    ``base`` (N,) is a past in units of the player, ``x`` a context, ``i`` an action, and ``n`` the number of rounds
    that follow: the past for ``rel(base, n)``, Rel in units of cost, the current round for ``round(base, n, x)``.
    """

    def __init__(self, player: Player, game: Game) -> None:
        self.player, self.game = player, game
        self.empty: Totals = (0,) * len(game.labelings)
        self.contexts = [x for x, p in enumerate(game.law) if p]  # one that never comes is not looked at
        self.likely = [game.law[x] for x in self.contexts]
        self.rel, self.round, self.future = cache(self._rel), cache(self._round), cache(self._convolved)

    def pasts(self, horizon: int) -> list[list[Totals]]:
        """Return, for t = 0..T, every base that t rounds with costs 0 and 1 can lead to."""
        levels = [[self.empty]]
        for n in reversed(range(horizon)):
            reached = dict.fromkeys(levels[-1])  # a dict keeps its order
            for base in levels[-1]:
                for x in self.contexts:
                    for i, cost in product(self.game.actions, COSTS):
                        reached |= dict.fromkeys(self.outcomes(base, n, x, i, cost))
            levels.append(list(reached))
        return levels

    def outcomes(self, base: Totals, n: int, x: int, i: int, cost: int) -> dict[Totals, Fraction]:
        """Return the bases that counting action i may lead to, with their probabilities, where it has this ``cost``."""
        found: dict[Totals, Fraction] = {}
        for step, p in self.round(base, n, x).counted[i][cost].items():
            totals = list(base)
            for policy in self.game.playing[x][i]:
                totals[policy] += step
            found[tuple(totals)] = p
        return found

    def condition(self, base: Totals, n: int) -> Fraction:
        """Return the slack of condition (1) before a round: Rel(past) - E_x max_c E[c(y) + Rel(past and round)].

        Costs are counted less the player's shift, as they are estimated. The right-hand side is a sum over actions, as
        only the cost of the one played is seen, and convex in each cost: it is largest at 0 or at 1.
        """
        rel = self.rel(base, n)
        slack = self.rel(base, n + 1) - rel + self.player.shift
        for x in self.contexts:
            for i, loss in enumerate(self.round(base, n, x).loss):
                outcomes = [self.outcomes(base, n, x, i, cost).items() for cost in COSTS]
                changes = [sum(p * (self.rel(after, n) - rel) for after, p in each) for each in outcomes]
                slack -= self.game.law[x] * max(cost * loss + changes[cost] for cost in COSTS)
        return slack

    def bias(self, base: Totals, n: int, x: int) -> Fraction:
        """Return the largest |E chat_i - (c_i - shift)| over actions i and costs 0 and 1."""
        bias = Fraction(0)
        for cost, i in product(COSTS, self.game.actions):
            law = self.round(base, n, x).counted[i][cost]
            expected = sum((p * step for step, p in law.items()), Fraction(0)) * self.player.unit
            bias = max(bias, abs(expected - (cost - self.player.shift)))
        return bias

    def _rel(self, base: Totals, n: int) -> Fraction:
        future, parts = self.future(n)
        least = sum(weight * min(map(add, base, noise)) for noise, weight in future.items())
        return n * self.player.price - self.player.unit * Fraction(least, parts)

    def _round(self, base: Totals, n: int, x: int) -> Round:
        future, parts = self.future(n)
        profiles: Counter[Totals] = Counter()
        for noise, weight in future.items():
            profiles[self._profile(tuple(map(add, base, noise)), x)] += weight
        replies = [(Fraction(weight, parts), self.player.reply(profile)) for profile, weight in profiles.items()]
        plays: defaultdict[tuple[Fraction, ...], Fraction] = defaultdict(Fraction)
        for p, (q, _) in replies:
            plays[q] += p
        loss = tuple(sum((p * q[i] for q, p in plays.items()), Fraction(0)) for i in self.game.actions)
        counted = tuple(tuple(self._counted(plays, i, cost) for cost in COSTS) for i in self.game.actions)
        return Round(loss, counted, sum((p * slack for p, (_, slack) in replies), Fraction(0)))

    def _profile(self, totals: Totals, x: int) -> Totals:
        return tuple(
            min([totals[policy] for policy in policies], default=float("inf")) for policies in self.game.playing[x]
        )

    def _counted(self, plays: dict[tuple[Fraction, ...], Fraction], i: int, cost: int) -> dict[Any, Fraction]:
        law: defaultdict[Any, Fraction] = defaultdict(Fraction)
        for q, p in plays.items():
            chance, step = self.player.estimate(cost, q[i])
            law[int_if_whole(step)] += p * chance
        return {step: p for step, p in law.items() if p}

    def _convolved(self, n: int) -> tuple[dict[Totals, int], int]:
        """Return the law of the noise (N,) of n future rounds, as weights that are integers, and their sum."""
        if n == 0:
            return {self.empty: 1}, 1
        law: Counter[Totals] = Counter()
        one, parts = self._one_round()
        before, parts_before = self.future(n - 1)
        for noise, weight in before.items():
            for more, p in one.items():
                law[tuple(map(add, noise, more))] += weight * p
        return law, parts * parts_before

    def _one_round(self) -> tuple[dict[Totals, int], int]:
        law: defaultdict[Totals, Fraction] = defaultdict(Fraction)
        for x in self.contexts:
            for noise, p in self.player.noise.items():
                law[tuple(noise[labels[x]] for labels in self.game.labelings)] += self.game.law[x] * p
        parts = lcm(*(p.denominator for p in law.values()))
        return {noise: int(p * parts) for noise, p in law.items()}, parts


TWO_ACTIONS: list[Labelings] = [  # every class on two contexts
    chosen for size in range(1, 5) for chosen in combinations(product((0, 1), repeat=2), size)
]
THREE_ACTIONS: list[Labelings] = [
    ((0, 0), (1, 2)),
    ((0, 0), (1, 1), (2, 2)),
    ((0, 1), (1, 2), (2, 0)),
    ((0, 0), (0, 1), (2, 1)),
]


def _games(classes: list[Labelings], law: Law, n_actions: int, scales: tuple[int, ...], horizon: int) -> list[Game]:
    return [Game(labelings, law, n_actions, Fraction(L), horizon) for labelings in classes for L in scales]


def quick_games() -> list[Game]:
    """Return the games of ``--quick``: all classes of two actions at the smallest and largest L, two rounds at most."""
    return _games(TWO_ACTIONS, UNIFORM, 2, (2, 4, 20), 2) + _games(THREE_ACTIONS, UNIFORM, 3, (3, 4, 20), 1)


def all_games() -> list[Game]:
    """Return the games of ``milpcb verify``."""
    two = _games(TWO_ACTIONS, UNIFORM, 2, (2, 3, 4, 5, 20), 3)
    other = [game for law in (SKEWED, POINT) for game in _games(TWO_ACTIONS, law, 2, (4, 20), 2)]
    return two + other + _games(THREE_ACTIONS, UNIFORM, 3, (3, 4, 20), 2)
