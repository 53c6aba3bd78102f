"""The arrays that the kernels of passes.py, last_tests.py and states.py work on, for a depth D and p literals.

Numbers are all float32 or all float64; integers are int64. The literals are *turned* so that they hold at no more than
half of the contexts, and the constant p, which always holds, is behind them. Large arrays are allocated once, as
StateArrays; small ones by the kernels, as each that is handed over takes longer than a new one.
"""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import numpy as np

from milpcb.types import Bools
from policies.semirings import Array
from policies.trees.block import in_blocks, zeros

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
    cells, owns : (D + 1, D), where the answers of height h for sets of k literals begin, see Answers
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


class AtContext(NamedTuple):
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
    firsts: Array
    terms: Array
    ways: Array


class Answers(NamedTuple):
    """The answers T_h[S, o], without what action 0 costs on all contexts.

    least : flat, at cells[h, k] + 2^k rank + o; own : (., K), at owns[h, k] + rank, by the action at the point
    empty : (D,), what trees of height h come to on no contexts at all
    """

    least: Array
    own: Array
    empty: Array


class StateArrays(NamedTuple):
    """What is allocated once, of Given, Sets, AtContext and Answers.

    begins : (3, D + 1, D + 1), first in begins[0, 0], cells and owns behind it
    tests : (2^D - 1,), those of a best tree: see policies/trees/tracing.py
    """

    literals: Array
    costs: Array
    weighted: Array
    pairs: Array
    totals: Array
    least: Array
    own: Array
    tests: Array
    binomial: Array
    begins: Array
    flipped: Array


def n_numbers(p: int, n_actions: int, depth: int) -> int:
    """Return how many numbers the largest arrays have together: totals and answers of states."""
    totals = sum(comb(p, k) for k in range(depth)) * (n_actions - 1) * _padded(p + 1)
    return totals + sum(comb(p, k) << k for h in range(1, depth + 1) for k in range(depth - h + 1))


def kept(truth: Bools, n_actions: int, depth: int, dtype: type[np.floating[Any]]) -> StateArrays:
    """Return the arrays for contexts with the literals ``truth`` (g, p)."""
    (g, p), more = truth.shape, n_actions - 1
    flipped = 2 * truth.sum(axis=0) > g
    held = in_blocks(truth ^ flipped)
    blocks, rows, width = held.shape
    binomial = np.array([[comb(n, k) for k in range(depth + 2)] for n in range(p + 1)], dtype=np.int64)
    begins, n_cells, n_owns = _begins(p, depth)
    made = zeros(
        dtype,
        literals=(depth - 2, blocks, rows, width),
        costs=(depth - 2, 2, blocks, more, width),
        weighted=(2, more, width),
        pairs=(more, p + 2, rows),
        totals=(int(begins[0, 0, depth]), more, _padded(p + 1)),
        least=(n_cells,),
        own=(n_owns, n_actions),
    )
    made["literals"][0] = held
    tests = np.empty(2**depth - 1, np.int64)
    return StateArrays(**made, tests=tests, binomial=binomial, begins=begins, flipped=flipped)


def _begins(p: int, depth: int) -> tuple[Array, int, int]:
    """Return ``begins``, and how many entries there are in ``least`` and ``own``."""
    begins = np.zeros((3, depth + 1, depth + 1), np.int64)
    begins[0, 0, 1:] = np.cumsum([comb(p, k) for k in range(depth)])
    cell = own = 0
    for h in range(1, depth + 1):
        for k in range(depth - h + 1):
            begins[1, h, k], begins[2, h, k] = cell, own
            cell, own = cell + (comb(p, k) << k), own + comb(p, k)
    return begins, cell, own


def _padded(n: int) -> int:
    return -(-n // _WIDTH) * _WIDTH
