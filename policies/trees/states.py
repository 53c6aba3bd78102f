"""Compiled: sums (+) in two semirings, and the states of sets of literals, by inclusion and exclusion, with the leaves.

(x) is + in both semirings. Where ``soft`` is None, a (+) b is min(a, b); where it is a float (its value is not used),
numbers are -log of weights, and a (+) b is -log(e^-a + e^-b). Which of the two is compiled in. The weights of one sum
may be further apart than numbers reach, so a sum in the making is a pair, (least, weight): least - log(weight).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.core.kernels import compiled, lower
from milpcb.types import Floats

Array = npt.NDArray[Any]
Soft = float | None

# No kernel makes NaN.
NO_NAN = {"nnan", "nsz"}

_LOG2_E = 1.4426950408889634
# log(2) in two parts, so that whole multiples of the first are exact
_LOG_2, _LOG_2_REST = 0.693147180369123816490, 1.90821492927058770002e-10
# A number added to this one is rounded to the nearest whole k, and the last bits are those of k + 1023.
_SHIFT = 1.5 * 2.0**52 + 1023.0


def add_up(soft: Soft, alternatives: Floats) -> Floats:
    """Return the sum (+) of ``alternatives`` (n, ...) over their first axis; it is not compiled."""
    least = np.asarray(alternatives.min(axis=0))
    if soft is None or len(alternatives) == 1:
        return least
    base = np.where(least < np.inf, least, 0.0)
    weights = base - alternatives
    mass = np.exp(weights, out=weights).sum(axis=0)
    return np.asarray(base - np.log(mass, out=np.full_like(mass, -np.inf), where=mass > 0.0))


@compiled(NO_NAN)
def exponentials(terms: Array, n: int) -> None:
    """Replace the first ``n`` of terms[0], none above 0, by their exponentials, to a rounding or two.

    e^x = 2^k e^r with whole k and |r| <= log(2) / 2: a polynomial, and k moved into the exponent of a number, in plain
    loops that become vectors; calls of exp are twelve times slower. Below -700 x is -700. Working space: terms[1].
    """
    bits = terms[1].view(np.int64)
    for i in range(n):
        x = max(terms[0, i], -700.0)
        moved = x * _LOG2_E + _SHIFT
        terms[1, i] = moved
        k = moved - _SHIFT
        r = x - k * _LOG_2 - k * _LOG_2_REST
        value = 1.0 / 479001600.0
        value = value * r + 1.0 / 39916800.0
        value = value * r + 1.0 / 3628800.0
        value = value * r + 1.0 / 362880.0
        value = value * r + 1.0 / 40320.0
        value = value * r + 1.0 / 5040.0
        value = value * r + 1.0 / 720.0
        value = value * r + 1.0 / 120.0
        value = value * r + 1.0 / 24.0
        value = value * r + 1.0 / 6.0
        value = value * r + 0.5
        value = value * r + 1.0
        terms[0, i] = value * r + 1.0
    for i in range(n):
        bits[i] <<= 52
    for i in range(n):
        terms[0, i] *= terms[1, i]


BIG = 1e300  # stands for infinity: differences of two are numbers


class TreeQuestion(NamedTuple):
    """A question: where ``near``, answers are by action at a context x where the literals ``sides`` (p,) hold.

    every : all heights at all sizes; shift : 1 where leaves count, else 0; least (C,), the counts of a leaf; empty (D,
    leaves), the number of trees of each height on no contexts
    """

    near: bool
    every: bool
    shift: int
    n_actions: int
    sides: Array
    least: Array
    empty: Array


class StateRoom(NamedTuple):
    """Where answers are (sets.StateLayout), the numbers T and masses M, (0,) if there are none, and working space."""

    start: Array
    first: Array
    leaves: Array
    cells: Array
    owns: Array
    own: int
    other: int
    T: Array
    M: Array
    terms: Array
    work: Array
    ranks: Array
    chosen: Array


class SetRow(NamedTuple):
    """The sets u + g of size k for all n literals g above ``last``, the highest of u; u's outcome at x; rank."""

    k: int
    n: int
    last: int
    outcome: int
    rank: int


@compiled(NO_NAN)
def fill_outcomes(totals: Array, row: SetRow, room: StateRoom) -> None:
    """Fill work[c, o (n + 1) + j]: the totals of the states (u, o) where the j-th literal above holds; at n all."""
    m, n, start, ranks, work = row.k - 1, row.n, room.start, room.ranks, room.work
    for c in range(len(totals)):
        plane, out = totals[c], work[c]
        for o in range(1 << m):
            source, to = plane[start[ranks[o]] + row.last + 1 :], out[o * (n + 1) :]
            for j in range(n):
                to[j] = source[j]
            to[n] = plane[ranks[o]]
        for i in range(m):
            width = (n + 1) << i
            for begin in range(0, (n + 1) << m, 2 * width):
                without, both = out[begin : begin + width], out[begin + width : begin + 2 * width]
                for j in range(width):
                    without[j] -= both[j]


@compiled(NO_NAN)
def fill_leaves(row: SetRow, asked: TreeQuestion, room: StateRoom) -> None:
    """Fill the front of T, (2^k, n), by the least totals of the states of the sets u + g."""
    n, half, T, work = row.n, row.n << (row.k - 1), room.T, room.work
    for o in range(1 << (row.k - 1)):
        fails, holds = T[o * n : (o + 1) * n], T[half + o * n : half + (o + 1) * n]
        for j in range(n):
            holds[j] = fails[j] = 0.0
        for a in range(asked.n_actions - 1):
            here, every = work[a, o * (n + 1) : o * (n + 1) + n], work[a, o * (n + 1) + n]
            for j in range(n):
                rest = every - here[j]
                holds[j] = lower(here[j], holds[j])
                fails[j] = lower(rest, fails[j])


@compiled(NO_NAN)
def sum_leaves(row: SetRow, n_differences: int, room: StateRoom) -> None:
    """Fill the front of M by the masses of the leaves, whose least totals are in T."""
    n, half, terms, T, M, work = row.n, row.n << (row.k - 1), room.terms, room.T, room.M, room.work
    M[: 2 * half] = 0.0
    for a in range(-1, n_differences):
        for o in range(1 << (row.k - 1)):
            here, every = work[max(a, 0), o * (n + 1) :], work[max(a, 0), o * (n + 1) + n]
            fails, holds, to, other = T[o * n :], T[half + o * n :], terms[0, o * n :], terms[0, half + o * n :]
            for j in range(n):
                to[j] = fails[j] - (every - here[j] if a >= 0 else 0.0)
                other[j] = holds[j] - (here[j] if a >= 0 else 0.0)
        exponentials(terms, 2 * half)
        for i in range(2 * half):
            M[i] += terms[0, i]


@compiled(NO_NAN)
def exclude_leaves(row: SetRow, asked: TreeQuestion, closed: Array, room: StateRoom) -> None:
    """Set leaves in the front of T to infinity that are too small, or behind a ``closed`` test."""
    n, half, T, work, n_differences = row.n, row.n << (row.k - 1), room.T, room.work, asked.n_actions - 1
    for c in range(len(asked.least)):
        least = asked.least[c]
        for o in range(1 << (row.k - 1)):
            fails, holds = T[o * n : (o + 1) * n], T[half + o * n : half + (o + 1) * n]
            here, every = work[n_differences + c, o * (n + 1) :], work[n_differences + c, o * (n + 1) + n]
            for j in range(n):
                holds[j] = BIG if here[j] < least else holds[j]
                fails[j] = BIG if every - here[j] < least else fails[j]
    for j in range(n):
        if closed[row.last + 1 + j]:
            for o in range(2 << (row.k - 1)):
                T[o * n + j] = BIG


@compiled(NO_NAN)
def fill_own(row: SetRow, asked: TreeQuestion, room: StateRoom) -> None:
    """Fill T (K, n) at ``own`` by T_0 of the states of the sets u + g at x, by the action there."""
    n, here, own, T, M, work = row.n, row.outcome * (row.n + 1), room.own, room.T, room.M, room.work
    sides = asked.sides
    for a in range(asked.n_actions):
        for j in range(n):
            holds = sides[row.last + 1 + j]
            x, at = 0.0, (row.outcome + ((1 << (row.k - 1)) if holds else 0)) * n + j
            if a:
                x = work[a - 1, here + j]
                x = x if holds else work[a - 1, here + n] - x
            T[own + a * n + j] = BIG if T[at] >= BIG else x
            if len(M):
                M[own + a * n + j] = 1.0


@compiled(NO_NAN)
def add_rows(soft: Soft, T: Array, M: Array, terms: Array, t: int, a: int, b: int, n: int) -> None:
    """T[t + j] (+)= T[a + j] (x) T[b + j] for j < n."""
    x, y, z = T[t : t + n], T[a : a + n], T[b : b + n]
    if soft is None:
        for j in range(n):
            way = y[j] + z[j]
            x[j] = lower(way, x[j])
    else:
        m, my, mz = M[t : t + n], M[a : a + n], M[b : b + n]
        for j in range(n):
            terms[0, j] = -abs(y[j] + z[j] - x[j])
        exponentials(terms, n)
        for j in range(n):
            way, mass, e = y[j] + z[j], my[j] * mz[j], terms[0, j]
            m[j] = m[j] * e + mass if way < x[j] else m[j] + mass * e
            x[j] = lower(way, x[j])


@compiled(NO_NAN)
def add_row(soft: Soft, T: Array, M: Array, terms: Array, t: int, a: int, b: int, n: int) -> None:
    """T[t] (+)= (+)_j T[a + j] (x) T[b + j] for j < n."""
    y, z, low = T[a : a + n], T[b : b + n], T[t]
    for j in range(n):
        way = y[j] + z[j]
        low = lower(way, low)
    if soft is not None:
        my, mz, mass = M[a : a + n], M[b : b + n], M[t] * np.exp(max(low - T[t], -700.0))
        for j in range(n):
            terms[0, j] = low - (y[j] + z[j])
        exponentials(terms, n)
        for j in range(n):
            mass += terms[0, j] * my[j] * mz[j]
        M[t] = mass
    T[t] = low
