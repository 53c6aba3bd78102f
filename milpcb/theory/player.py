"""One round of a relaxation in rational arithmetic: the functions that a run calls for q, called with Fractions."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from numbers import Rational
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from milpcb.errors import InputError
from milpcb.relaxations import game
from milpcb.relaxations.base import Estimator, Relaxation
from milpcb.types import Floats

Leftover = Literal["uniform", "leader"]
Totals = tuple[Any, ...]  # Fractions, whole ones as ints; in a profile also inf
FRACTIONAL_BITS = 20  # a float with more of them is taken for a rounded number


@dataclass(frozen=True)
class Variant:
    """A relaxation and the options it is played with, those of the learner BistroPlus.

    ``mix`` turns q* (K,) and L into the q that is played, which explores.
    """

    name: str
    relaxation: Relaxation
    estimator: Estimator = "bernoulli"
    leftover: Leftover = "uniform"
    mix: Callable[[Floats, Any], Floats] = game.mix


class Response(NamedTuple):
    """Play on one future: q (K,), and the slack of the per-round game, in units of cost.

    The slack is the first of milpcb.theory.verdicts.Slacks, for this future.
    """

    q: tuple[Fraction, ...]
    slack: Fraction


class Player:
    """A variant at one number of actions K and one scale L.

    Totals, profiles and noise are in units of the relaxation: ``hit`` of them make one L, and one is ``unit`` = L /
    ``hit`` in cost. ``price`` is the most that exploring costs in a round, in cost. ``noise`` is the law of the noise
    (K,) of one future round: probabilities by vector, that of no noise included. ``reply(profile)`` returns the
    Response to V (K,).

    Raises InputError where the relaxation returns rounded numbers, or what are no probabilities.
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
        self._equal = np.full(n_actions, Fraction(1, n_actions))

    def estimate(self, cost: int, q: Fraction) -> tuple[Fraction, Fraction]:
        """Return for an action of this cost with probability ``q`` the chance to be played and counted, and as what."""
        if not q:
            return q, q
        found = self._variant.relaxation.estimate(cost, cast("float", q), self.scale)
        chance, units = (exact(number, f"{self._variant.name}: estimate") for number in found)
        return (q, chance * units) if self._variant.estimator == "ips" else (q * min(chance, Fraction(1)), units)

    def _reply(self, profile: Totals) -> Response:
        """Return q and the slack of the per-round game where V[a] = ``profile`` (K,)."""
        V = np.array([v if v == np.inf else Fraction(v) for v in profile], dtype=object)
        variant = self._variant
        q_star = variant.relaxation.respond(game.psi_from_profile(V, self.probe), self._leftover(V))
        q = tuple(exact(share, f"{variant.name}: q") for share in variant.mix(q_star, self.scale))
        if sum(q) != 1 or min(q) < 0:
            raise InputError(f"{variant.name}: q = ({', '.join(map(str, q))}) is no distribution; fix its respond()")
        lifted = sum(p * min(v + xi for v, xi in zip(V, noise, strict=True)) for noise, p in self.noise.items())
        lost: Any = variant.relaxation.loss(q_star, self._phi(V, 1), self._phi(V, -1), self.scale)
        return Response(q, self.unit * (min(V) - lifted) - lost)

    def _leftover(self, V: Floats) -> Floats:
        """Return the distribution (K,) of the mass Algorithm 2 leaves free; "leader" shares it among the least V."""
        if self._variant.leftover != "leader":
            return self._equal
        least = V.min()
        leaders = [v == least for v in V]
        return np.array([Fraction(leads, sum(leaders)) for leads in leaders])

    def _phi(self, V: Floats, sign: int) -> Floats:
        """Return what one more or one less hit on each action moves psi by, in hits.

        By its definition, which is not what a run calls: psi_i asks every policy, and i costs L more, or less.
        """
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
    """Return an integer as an int, which is faster; the rest as it is."""
    return value.numerator if value.denominator == 1 else value


def _one_round(variant: Variant, n_actions: int, scale: Any) -> dict[Totals, Fraction]:
    """Return the law of the noise (K,) of one future round."""
    what = f"{variant.name}: the law of the noise"
    rate = exact(variant.relaxation.rate(scale, n_actions), f"{variant.name}: rate")
    law: defaultdict[Totals, Fraction] = defaultdict(Fraction)
    law[(0,) * n_actions] = 1 - rate
    for p, noise in variant.relaxation.law(n_actions):
        law[tuple(int_if_whole(exact(v, what)) for v in noise)] += rate * exact(p, what)
    if sum(law.values()) != 1 or min(law.values()) < 0:
        raise InputError(f"{what} is no law at K = {n_actions}, L = {scale}: fix its law(), rate() or least_scale()")
    return {noise: p for noise, p in law.items() if p}
