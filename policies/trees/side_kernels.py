"""The compiled recursion over trees under side rows; policies/trees/side_states.py states what it adds up.

In go the ``totals`` of leaves and the ``place`` of a context, as in policies/trees/folds.py. Where ``rate`` is None, an
answer is the least total of the trees that keep the rows; where it is a float, -log of the summed exp(-rate * total).

The states that hold the context are computed once for each action there, with that action alone on the leaves that the
context may reach; all others once.

Sums of weights are kept as mass * 2^(256 * power): none is so small beside another that it underflows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.kernels import compiled
from policies.weighted_kernels import Side, pair

Array = npt.NDArray[Any]
Rate = float | None

_STEP = 2.0**256
_LOG_STEP = 256 * np.log(2.0)
_NOTHING = -(2**40)  # the power of a sum of nothing: no sum of two is as small as the next
_UNSET = -(2**50)


class States(NamedTuple):
    """All states, level by level from the root, whose number is 0; paths of length l begin at ``offset[l]``.

    Those of policies/trees/side_states.py, with items numbered through all levels; behind them comes one that costs
    nothing, the tail of a tree of one leaf. ``classes`` (K,) are those of actions. Paths shorter than the longest have
    ``ended``, ``first`` and ``item``; ``ended`` is empty where only full paths end. Of the items of a state in one
    ``group``, one matters to the least total only where no item before it is as cheap.
    """

    n_tests: int
    offset: Array
    classes: Array
    start: Array
    group: Array
    ended: Array
    first: Array
    item: Array


class Joined(NamedTuple):
    """The two sides of the tests at the root: the numbers of the items that are heads and tails, and their pairing."""

    head_items: Array
    tail_items: Array
    by_tails: Array
    heads: Side
    tails: Side
    bounds: Array
    front: Array


class Sums(NamedTuple):
    """What is computed: of each item its cost, or the mass and power of its sum; of shorter paths the totals of leaves.

    ``at`` (states,) is whether the context follows a path. Working space: ``number`` and ``cost``, as long as the most
    items of a state.
    """

    costs: Array
    masses: Array
    powers: Array
    totals: Array
    at: Array
    number: Array
    cost: Array


@compiled()
def answer(
    rate: Rate, totals: Array, place: Array, states: States, joined: Joined, sums: Sums, answers: Array, chosen: Array
) -> None:
    """Fill answers (K,) by the action at ``place`` (p^D, K), or answers (1,) of all trees where place is (0, K).

    Fills chosen (1,) with the place of the head of a least total, the last that was answered for.
    """
    anywhere = len(place) == 0
    sums.at[:] = False
    if len(states.ended):
        _end(totals, states, sums.totals)
    _mark(place, states, sums.at)
    _sweep(rate, -1, totals, states, sums)
    for a in range(len(answers)):
        if not anywhere:
            _sweep(rate, a, totals, states, sums)
        _gather(rate, joined.head_items, sums, joined.heads.costs)
        _gather(rate, joined.tail_items, sums, joined.tails.costs)
        pair(rate, joined.by_tails, joined.heads, joined.tails, joined.bounds, joined.front, answers[a : a + 1], chosen)


@compiled()
def _end(totals: Array, states: States, ended: Array) -> None:
    """Fill ended (shorter paths, K): the total of a leaf is that of both sides of any test, here the first."""
    n_actions, p, full = ended.shape[1], states.n_tests, len(ended)
    for s in range(full - 1, -1, -1):
        fails = 1 + 2 * p * s
        for a in range(n_actions):
            if fails < full:
                ended[s, a] = ended[fails, a] + ended[fails + 1, a]
            else:
                path = (fails - full) * n_actions + a
                ended[s, a] = totals[path] + totals[path + n_actions]


@compiled()
def _mark(place: Array, states: States, at: Array) -> None:
    """Mark the paths that a context follows, as ``at`` (states,)."""
    n_actions = len(states.classes)
    for i in range(len(place)):
        path = place[i, 0] // n_actions
        for level in range(len(states.offset) - 2, -1, -1):
            at[states.offset[level] + path] = True
            path //= max(1, 2 * states.n_tests)


@compiled()
def _sweep(rate: Rate, action: int, totals: Array, states: States, sums: Sums) -> None:
    """Compute all states that do not hold the context where ``action`` is -1, else those that do with that action.

    One subtree of the root after the other, so that what is read was written a short while ago.
    """
    depth, width = len(states.offset) - 2, 2 * states.n_tests
    for top in range(width if depth else 0):
        if action >= 0 and not sums.at[1 + top]:
            continue
        for level in range(depth, 0, -1):
            n_paths = width ** (level - 1)
            begin = states.offset[level] + top * n_paths
            for s in range(begin, begin + n_paths):
                if sums.at[s] == (action >= 0):
                    _state(rate, action, s, states.n_tests, totals, states, sums)
    if sums.at[0] == (action >= 0):
        _state(rate, action, 0, 0, totals, states, sums)


@compiled()
def _state(rate: Rate, action: int, s: int, p: int, totals: Array, states: States, sums: Sums) -> None:
    """Compute the items of one state with ``p`` tests below it; of leaves those with ``action`` alone, with all at -1."""
    start, stop = states.start[s], states.start[s + 1]
    if rate is None:
        sums.costs[start:stop] = np.inf
    else:
        sums.masses[start:stop], sums.powers[start:stop] = 0.0, _UNSET
    n_actions, full = len(states.classes), states.offset[-2]
    if s >= full:
        if start < stop:
            for a in range(n_actions):
                if action in (-1, a):
                    _add_leaf(rate, start + states.classes[a], totals[(s - full) * n_actions + a], sums)
    else:
        if len(states.ended):
            for a in range(n_actions):
                if action in (-1, a) and states.ended[s, states.classes[a]] >= 0:
                    _add_leaf(rate, states.ended[s, states.classes[a]], sums.totals[s, a], sums)
        for g in range(p):
            below = 1 + 2 * (p * s + g)  # where g fails; it holds at the next
            if rate is None:
                _least_pairs(below, states.first[p * s + g], states, sums)
            else:
                _sum_pairs(below, states.first[p * s + g], states, sums)
    if rate is not None:
        _normalise(start, stop, sums)


@compiled()
def _add_leaf(rate: Rate, k: int, total: float, sums: Sums) -> None:
    """Add a leaf to an item."""
    if rate is None:
        sums.costs[k] = min(sums.costs[k], total)
    else:
        power = -np.rint(rate * total / _LOG_STEP)
        _add(k, np.exp(-(rate * total + power * _LOG_STEP)), int(power), sums)


@compiled()
def _least_pairs(below: int, first: int, states: States, sums: Sums) -> None:
    """Add the pairs of an item of the state ``below`` with one of the next; those that cannot matter are left out."""
    start, middle, stop = states.start[below], states.start[below + 1], states.start[below + 2]
    number, cost, costs = sums.number, sums.cost, sums.costs
    n = _undominated(middle, stop, states.group, costs, number, cost)
    m = _undominated(start, middle, states.group, costs, number[n:], cost[n:])
    for i in range(n, n + m):
        row = first + (number[i] - start) * (stop - middle) - middle
        for j in range(n):
            k, total = states.item[row + number[j]], cost[i] + cost[j]
            costs[k] = min(costs[k], total)


@compiled()
def _undominated(start: int, stop: int, group: Array, costs: Array, number: Array, cost: Array) -> int:
    """Fill number and cost with the items of a state that are cheaper than all before them in their group; count them."""
    n, least = 0, np.inf
    for k in range(start, stop):
        if k > start and group[k] != group[k - 1]:
            least = np.inf
        if costs[k] < least:
            least = costs[k]
            number[n], cost[n] = k, least
            n += 1
    return n


@compiled()
def _sum_pairs(below: int, first: int, states: States, sums: Sums) -> None:
    """Add the pairs of an item of the state ``below`` with one of the next."""
    start, middle, stop = states.start[below], states.start[below + 1], states.start[below + 2]
    for i in range(start, middle):
        mass, power = sums.masses[i], sums.powers[i]
        if mass > 0.0:
            row = first + (i - start) * (stop - middle) - middle
            for j in range(middle, stop):
                _add(states.item[row + j], mass * sums.masses[j], power + sums.powers[j], sums)


@compiled()
def _add(k: int, mass: float, power: int, sums: Sums) -> None:
    """Add mass * 2^(256 power) to the sum of item k; where powers are three apart, the lesser is nothing to rounding."""
    gap = power - sums.powers[k]
    if gap == 0:
        sums.masses[k] += mass
    elif gap < 0:
        sums.masses[k] += mass * _scale(-gap)
    else:
        sums.masses[k] = sums.masses[k] * _scale(gap) + mass
        sums.powers[k] = power


@compiled()
def _scale(gap: int) -> float:
    """Return 2^(-256 gap), 0 from 3 on."""
    return 1.0 / _STEP if gap == 1 else 1.0 / _STEP / _STEP if gap == 2 else 0.0


@compiled()
def _normalise(start: int, stop: int, sums: Sums) -> None:
    """Bring masses to between 2^-128 and 2^128."""
    for k in range(start, stop):
        mass, power = sums.masses[k], sums.powers[k]
        if mass == 0.0:
            sums.powers[k] = _NOTHING
            continue
        while mass >= 2.0**128:
            mass, power = mass / _STEP, power + 1
        while mass < 2.0**-128:
            mass, power = mass * _STEP, power - 1
        sums.masses[k], sums.powers[k] = mass, power


@compiled()
def _gather(rate: Rate, items: Array, sums: Sums, costs: Array) -> None:
    """Fill costs (n,) with those of ``items`` (n,)."""
    for i in range(len(items)):
        k = items[i]
        if rate is None:
            costs[i] = sums.costs[k]
        else:
            costs[i] = -(np.log(sums.masses[k]) + sums.powers[k] * _LOG_STEP) if sums.masses[k] > 0.0 else np.inf
