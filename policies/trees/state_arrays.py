"""What the kernels of policies/trees/passes.py and states.py work on, allocated once for a depth D and p literals.

Numbers are all float32 or all float64; integers are int64. The literals are *turned* so that they hold at no more than
half of the contexts, and the constant p, which always holds, is behind them.
"""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Bools
from policies.trees.block import zeros

Array = npt.NDArray[Any]

# Contexts of a block: the rows of two and four literals then fit the first-level cache.
BLOCK = 512
_LANES = 32
_WIDTH = 8  # numbers of a row of totals come in such groups


class Given(NamedTuple):
    """What is added up from the contexts; the first axis of the first two is the size of the set they are gathered for.

    literals : (levels, blocks, R, B) 0/1, literal f on the contexts of a block that fits the cache; R = p + 4
    costs : (levels, 2, blocks, A, B), the A = K - 1 differences, and behind them those where one more literal holds
    weighted : (2, A, B), pairs : (A, p + 2, R), rows : (2, g), working space
    totals : (sets of less than D, A, P), P > p; what is over is 0
    """

    literals: Array
    costs: Array
    weighted: Array
    pairs: Array
    rows: Array
    totals: Array


class Sets(NamedTuple):
    """Where sets and states are, and the set in hand.

    binomial : (p + 1, D + 2), n choose k; first : (D + 1,), the number of the first set of each size
    cells, owns : (D + 1, D), where the answers of height h for sets of k literals begin, see Found
    chosen : (D + 2,), the literals of a set, the lowest first
    child, place : (p,), for each literal the rank of the set with it, and its place there
    ranks, sizes : (2^D,), of the subsets of a set
    """

    binomial: Array
    first: Array
    cells: Array
    owns: Array
    chosen: Array
    child: Array
    place: Array
    ranks: Array
    sizes: Array


class Point(NamedTuple):
    """The context that is asked about.

    flipped : (p,) bool, which literals are turned; turned : (p,) 0/1, whether each holds there
    sides : (2, P), the total on its side of g is sides[0, g] times that of all contexts and sides[1, g] times that
        where g holds
    """

    flipped: Array
    turned: Array
    sides: Array


class Room(NamedTuple):
    """Working space.

    above, work : (2^(D-1), A P), the totals of all outcomes of a set, without its lowest literal and with it
    sides : (8, P), what both sides of each test come to; the last row is 1
    terms : (2, 2 K P), numbers whose exponentials are taken; ways : (p,), what each test leads to
    """

    above: Array
    work: Array
    sides: Array
    terms: Array
    ways: Array


class Found(NamedTuple):
    """The answers T_h[S, o], without what action 0 costs on all contexts.

    least : flat, at cells[h, k] + 2^k rank + o; own : (., K), at owns[h, k] + rank, by the action at the point
    empty : (D,), what trees of height h come to on no contexts at all
    """

    least: Array
    own: Array
    empty: Array


class Arrays(NamedTuple):
    """All of them."""

    given: Given
    sets: Sets
    point: Point
    room: Room
    found: Found


def n_numbers(p: int, n_actions: int, depth: int) -> int:
    """Return how many numbers the largest arrays have together: totals and answers of states."""
    totals = sum(comb(p, k) for k in range(depth)) * (n_actions - 1) * _padded(p + 1, _WIDTH)
    return totals + sum(comb(p, k) << k for h in range(1, depth + 1) for k in range(depth - h + 1))


def arrays(truth: Bools, n_actions: int, depth: int, dtype: type[np.floating[Any]], *, soft: bool = False) -> Arrays:
    """Return the arrays for contexts with the literals ``truth`` (g, p); ``soft``: for sums over all trees."""
    (g, p), more = truth.shape, n_actions - 1
    flipped = 2 * truth.sum(axis=0) > g
    blocks = max(1, -(-g // BLOCK))
    width, rows, row = _padded(-(-g // blocks), _LANES), p + 4, _padded(p + 1, _WIDTH)
    sets = _sets(p, depth)
    levels, n_sets = max(1, depth - 2), int(sets.first[depth])
    made = zeros(
        dtype,
        literals=(levels, blocks, rows, width),
        costs=(levels, 2, blocks, more, width),
        weighted=(2, more, width),
        pairs=(more, p + 2, rows),
        totals=(n_sets, more, row),
        sides=(2, row),
        above=(2 ** (depth - 1), more * row),
        work=(2 ** (depth - 1), more * row),
        room=(8, row),
        terms=(2, 2 * n_actions * row),
        ways=(p,),
        least=(sum(comb(p, k) << k for h in range(1, depth + 1) for k in range(depth - h + 1)),),
        own=(sum(comb(p, k) for h in range(1, depth + 1) for k in range(depth - h + 1)), n_actions),
        empty=(depth,),
    )
    held = np.zeros((rows, blocks * width), bool)
    held[:p, :g], held[p, :g] = (truth ^ flipped).T, True
    made["literals"][0] = held.reshape(rows, blocks, width).transpose(1, 0, 2)
    made["room"][7] = 1.0
    if soft:
        made["empty"][0] = -np.log(n_actions)
        for h in range(1, depth):
            made["empty"][h] = 2 * made["empty"][h - 1] - np.log(p)
    literals, costs, weighted, pairs = (made[name] for name in ("literals", "costs", "weighted", "pairs"))
    given = Given(literals, costs, weighted, pairs, np.empty((2, g), np.int64), made["totals"])
    room = Room(*(made[name] for name in ("above", "work", "room", "terms", "ways")))
    point = Point(flipped, np.zeros(p, np.int64), made["sides"])
    return Arrays(given, sets, point, room, Found(made["least"], made["own"], made["empty"]))


def _sets(p: int, depth: int) -> Sets:
    binomial = np.array([[comb(n, k) for k in range(depth + 2)] for n in range(p + 1)], dtype=np.int64)
    first = np.append(0, np.cumsum(binomial[p, :depth]))
    cells, owns = np.zeros((2, depth + 1, depth), np.int64)
    cell = own = 0
    for h in range(1, depth + 1):
        for k in range(depth - h + 1):
            cells[h, k], owns[h, k] = cell, own
            cell, own = cell + (comb(p, k) << k), own + comb(p, k)
    numbers = (np.zeros(n, np.int64) for n in (depth + 2, p, p, 2**depth, 2**depth))
    return Sets(binomial, first, cells, owns, *numbers)


def _padded(n: int, step: int) -> int:
    return -(-n // step) * step
