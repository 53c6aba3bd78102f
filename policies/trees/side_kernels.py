"""The compiled recursion over trees under side constraints; policies/trees/side_states.py states what it adds up.

In go the ``totals`` of leaves and the ``place`` of a context, as in policies/trees/folds.py. Where ``rate`` is None, an
answer is the least total of the trees that keep the rows; where it is a float, -log of the summed exp(-rate * total).

The states that hold the context are computed once for each action there, with that action alone on the leaves that the
context may reach; all others once.

Sums of weights are kept as a mass and a power (policies/semirings.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled
from policies.semirings import MIXED, NOTHING, Array, add_at, common_power, cost_of_mass, normal, plus, weight_of
from policies.weighted_kernels import Side, pair

Rate = float | None

_TOGETHER = 2**12  # paths of full length whose sums fit the second-level cache


class States(NamedTuple):
    """All states, level by level from the root, whose number is 0; paths of length l begin at ``offset[l]``.

    What they have is in policies/trees/side_states.py; here labels are numbered through all levels, and behind them
    comes one that costs nothing, the tail of a root that is a leaf. ``classes`` (K,) are those of the actions,
    ``members`` (K,) the actions class by class, from ``edges`` (C + 1,) on. Only paths shorter than the longest have
    ``ended`` (none where only full paths end), ``first`` and ``label``. The labels of a state are in groups, each from
    one of ``group_starts`` on. A label is dominated, and matters to no least total, where it is not cheaper than all
    before it in its group.
    """

    n_tests: int
    offset: Array
    classes: Array
    members: Array
    edges: Array
    start: Array
    group_starts: Array
    ended: Array
    first: Array
    label: Array


class Joined(NamedTuple):
    """The two sides of the tests at the root: the numbers of the labels that are heads and tails, and their pairing.

    ``head_states`` (ways,) are the states of the heads: the side where a test fails, or the root as a leaf.
    """

    head_labels: Array
    tail_labels: Array
    head_states: Array
    by_tails: Array
    heads: Side
    tails: Side
    bounds: Array
    front: Array


class Sums(NamedTuple):
    """What is computed: the cost of each label, or mass and power of its sum; of shorter paths the totals of leaves.

    ``alike`` (states,) is the power of all sums of a state that are something; MIXED where there are several. Those
    of the leaves of full paths are given.

    ``at`` (states,) is whether the context follows a path. Working space: ``number`` and ``cost``, as long as the most
    labels of a state.
    """

    costs: Array
    masses: Array
    powers: Array
    alike: Array
    leaf_masses: Array
    leaf_powers: Array
    totals: Array
    at: Array
    number: Array
    cost: Array


@compiled()
def answer(
    rate: Rate, totals: Array, place: Array, states: States, joined: Joined, sums: Sums, answers: Array, chosen: Array
) -> None:
    """Fill answers (K,) by the action at ``place`` (p^D, K), or answers (1,) of all trees where place is (0, K).

    Fills chosen (n,) with the places of heads of least totals, or of tails where these decide.
    """
    sums.at[:] = False
    if len(states.ended):
        _end(totals, states, sums.totals)
    _mark(place, states, sums.at)
    _sweep(rate, -1, totals, states, sums)
    for s in range(len(joined.by_tails)):
        joined.by_tails[s] = len(place) > 0 and not sums.at[joined.head_states[s]]
    _gather(rate, False, 0, joined, sums)
    for a in range(len(answers)):
        if len(place):
            _sweep(rate, a, totals, states, sums)
        _gather(rate, True, a, joined, sums)
    pair(rate, joined.by_tails, joined.heads, joined.tails, joined.bounds, joined.front, answers, chosen)


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

    A few subtrees of the root at a time, so that what is read was written a short while ago.
    """
    depth, width = len(states.offset) - 2, 2 * states.n_tests
    together = max(1, _TOGETHER // max(1, width) ** max(0, depth - 1))
    for top in range(0, width if depth else 0, together):
        if together == 1 and action >= 0 and not sums.at[1 + top]:
            continue
        for level in range(depth, 0, -1):
            n_paths, first = width ** (level - 1), states.offset[level]
            end = first + min(width, top + together) * n_paths
            _level(rate, action, first + top * n_paths, end, states.n_tests, totals, states, sums)
    _level(rate, action, 0, 1, 0, totals, states, sums)


@compiled()
def _level(rate: Rate, action: int, begin: int, end: int, p: int, totals: Array, states: States, sums: Sums) -> None:
    """Compute the states from ``begin`` to before ``end``, of one length, with ``p`` tests below each."""
    full = begin >= states.offset[-2]
    if rate is None:
        if full:
            _least_leaves(action, begin, end, totals, states, sums)
        else:
            _least(action, begin, end, p, states, sums)
    elif full:
        _summed_leaves(action, begin, end, states, sums)
    else:
        _summed(rate, action, begin, end, p, states, sums)


@compiled()
def _least_leaves(action: int, begin: int, end: int, totals: Array, states: States, sums: Sums) -> None:
    """Compute least costs of states of full depth: of those of the context the leaf with ``action`` alone."""
    start, classes, members, edges = states.start, states.classes, states.members, states.edges
    at, costs, n_actions, here, full = sums.at, sums.costs, len(classes), action >= 0, states.offset[-2]
    for s in range(begin, end):
        first = start[s]
        if at[s] != here or first == start[s + 1]:
            continue
        own = (s - full) * n_actions
        if here:
            costs[first : start[s + 1]] = np.inf
            costs[first + classes[action]] = totals[own + action]
            continue
        for k in range(first, start[s + 1]):
            least = np.inf
            for m in range(edges[k - first], edges[k - first + 1]):
                least = min(least, totals[own + members[m]])
            costs[k] = least


@compiled()
def _summed_leaves(action: int, begin: int, end: int, states: States, sums: Sums) -> None:
    """Compute sums of weights of states of full depth: of those of the context the leaf with ``action`` alone."""
    start, members, edges, at, alike = states.start, states.members, states.edges, sums.at, sums.alike
    masses, powers, leaf_masses, leaf_powers = sums.masses, sums.powers, sums.leaf_masses, sums.leaf_powers
    n_actions, here, full = len(members), action >= 0, states.offset[-2]
    for s in range(begin, end):
        first, own = start[s], (s - full) * n_actions
        if at[s] != here:
            continue
        for k in range(first, start[s + 1]):
            mass, power = 0.0, NOTHING
            for m in range(edges[k - first], edges[k - first + 1]):
                a = members[m]
                if not here or a == action:
                    mass, power = plus(mass, power, leaf_masses[own + a], leaf_powers[own + a])
            masses[k], powers[k] = mass, power
        alike[s] = common_power(masses, powers, first, start[s + 1])


@compiled()
def _least(action: int, begin: int, end: int, p: int, states: States, sums: Sums) -> None:
    """Compute least costs: over the leaves that may end a path, and the pairs of two labels that may matter."""
    start, group_starts, first, label, at = states.start, states.group_starts, states.first, states.label, sums.at
    costs, number, cost, here = sums.costs, sums.number, sums.cost, action >= 0
    for s in range(begin, end):
        if at[s] != here:
            continue
        costs[start[s] : start[s + 1]] = np.inf
        if len(states.ended):
            _least_ended(action, s, states, sums)
        for g in range(p):
            below = 1 + 2 * (p * s + g)  # where g fails; it holds at the next
            fails, holds, stop = start[below], start[below + 1], start[below + 2]
            n, least = 0, np.inf
            for j in range(holds, stop):
                least = np.inf if group_starts[j] else least
                if costs[j] < least:
                    number[n], cost[n], least = j - holds, costs[j], costs[j]
                    n += 1
            row, least = first[p * s + g], np.inf
            for i in range(fails, holds):
                least = np.inf if group_starts[i] else least
                if costs[i] < least:
                    least = costs[i]
                    for j in range(n):
                        k = label[row + number[j]]
                        costs[k] = min(costs[k], least + cost[j])
                row += stop - holds


@compiled()
def _least_ended(action: int, s: int, states: States, sums: Sums) -> None:
    """Add the leaves that may end a path, with ``action`` alone or, at -1, with all."""
    for a in range(len(states.classes)):
        k = states.ended[s, states.classes[a]]
        if k >= 0 and action in (-1, a):
            sums.costs[k] = min(sums.costs[k], sums.totals[s, a])


@compiled()
def _summed_ended(rate: float, action: int, s: int, states: States, sums: Sums) -> None:
    """Add the leaves that may end a path, with ``action`` alone or, at -1, with all."""
    for a in range(len(states.classes)):
        k = states.ended[s, states.classes[a]]
        if k >= 0 and action in (-1, a):
            mass, power = weight_of(rate * sums.totals[s, a])
            add_at(sums.masses, sums.powers, k, mass, power)


@compiled()
def _summed(rate: float, action: int, begin: int, end: int, p: int, states: States, sums: Sums) -> None:
    """Compute sums of weights: over the leaves that may end a path, and all pairs of two labels."""
    start, masses, powers, here = states.start, sums.masses, sums.powers, action >= 0
    for s in range(begin, end):
        if sums.at[s] != here:
            continue
        power = _shared(1 + 2 * p * s, p, sums.alike)
        masses[start[s] : start[s + 1]] = 0.0
        powers[start[s] : start[s + 1]] = NOTHING if power == MIXED else power
        if power == MIXED:
            _sum_pairs(s, p, states, sums)
        else:
            _sum_alike(s, p, states, masses)
        if len(states.ended):
            _summed_ended(rate, action, s, states, sums)
        for k in range(start[s], start[s + 1]):
            masses[k], powers[k] = normal(masses[k], powers[k])
        sums.alike[s] = common_power(masses, powers, start[s], start[s + 1])


@compiled()
def _shared(below: int, p: int, alike: Array) -> int:
    """Return the power of all pairs of the states from ``below`` on, two for each of p tests; MIXED: several."""
    power = NOTHING
    for fails in range(below, below + 2 * p, 2):
        if alike[fails] == MIXED or alike[fails + 1] == MIXED:
            return MIXED
        if alike[fails] == NOTHING or alike[fails + 1] == NOTHING:
            continue
        pairs = alike[fails] + alike[fails + 1]
        if power not in (NOTHING, pairs):
            return MIXED
        power = pairs
    return power


@compiled()
def _sum_alike(s: int, p: int, states: States, masses: Array) -> None:
    """Add the pairs of one state where all have the same power."""
    start, label = states.start, states.label
    for g in range(p):
        below = 1 + 2 * (p * s + g)  # where g fails; it holds at the next
        fails, holds, stop = start[below], start[below + 1], start[below + 2]
        row = states.first[p * s + g] - holds
        for i in range(fails, holds):
            mass = masses[i]
            for j in range(holds, stop):
                masses[label[row + j]] += mass * masses[j]
            row += stop - holds


@compiled()
def _sum_pairs(s: int, p: int, states: States, sums: Sums) -> None:
    """Add the pairs of one state, whatever their powers."""
    start, label, masses, powers = states.start, states.label, sums.masses, sums.powers
    for g in range(p):
        below = 1 + 2 * (p * s + g)  # where g fails; it holds at the next
        fails, holds, stop = start[below], start[below + 1], start[below + 2]
        row = states.first[p * s + g] - holds
        for i in range(fails, holds):
            mass, power = masses[i], powers[i]
            for j in range(holds, stop):
                add_at(masses, powers, label[row + j], mass * masses[j], power + powers[j])
            row += stop - holds


@compiled()
def _gather(rate: Rate, deciding: bool, column: int, joined: Joined, sums: Sums) -> None:
    """Fill a column of the costs of the sides that decide the action at the context, or of all others."""
    least, masses, powers = sums.costs, sums.masses, sums.powers
    for s in range(len(joined.by_tails)):
        by_tails = joined.by_tails[s] == deciding
        side, labels = (joined.tails, joined.tail_labels) if by_tails else (joined.heads, joined.head_labels)
        costs = side.costs
        for i in range(side.start[s], side.start[s + 1]):
            k = labels[i]
            if rate is None:
                costs[i, column] = least[k]
            else:
                costs[i, column] = cost_of_mass(masses[k], powers[k])
