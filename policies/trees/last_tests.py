"""Compiled: the last tests of all states, from the totals; policies/trees/states.py defines states and recursion."""

from __future__ import annotations

from milpcb.core.kernels import compiled, lower
from policies.semirings import NO_NAN, Array, Soft, exponentials, sum_products
from policies.trees.set_ranks import next_set
from policies.trees.state_arrays import Answers, AtContext, Given, Room, Sets


@compiled(NO_NAN)
def outcomes(
    chosen: Array, low: int, size: int, extra: int, sets: Sets, totals: Array, work: Array, begin: int
) -> None:
    """Fill work[begin + o] with the totals of the outcomes o of the literals at places ``low`` to ``size`` of a set.

    Counted are the contexts where the literal ``extra``, below all of these, holds as well, unless it is -1.
    """
    n, width, ranks, sizes = max(size - low, 0), work.shape[1], sets.ranks, sets.sizes
    ranks[0], sizes[0] = max(extra, 0), 1 if extra >= 0 else 0
    for i in range(n):
        for o in range(1 << i):
            ranks[o + (1 << i)] = ranks[o] + sets.binomial[chosen[low + i], sizes[o] + 1]
            sizes[o + (1 << i)] = sizes[o] + 1
    for o in range(1 << n):
        here = sets.first[sizes[o]] + ranks[o]
        for i in range(width):
            work[begin + o, i] = totals[here, i]
    for k in range(n):
        for o in range(1 << n):
            if not o >> k & 1:
                for i in range(width):
                    work[begin + o, i] -= work[begin + (o | 1 << k), i]


@compiled(NO_NAN)
def last_tests(
    soft: Soft, size: int, near: bool, sets: Sets, point: AtContext, given: Given, room: Room, found: Answers
) -> None:
    """Fill least and own of height 1 for all sets of ``size`` literals."""
    p, chosen, totals, half = len(point.turned), sets.chosen, given.totals, 1 << max(size - 1, 0)
    flat, shape = totals.reshape(len(totals), totals.shape[1] * totals.shape[2]), totals.shape
    held, above = room.work.reshape((-1, shape[1], shape[2])), room.above.reshape((-1, shape[1], shape[2]))
    changed = size + 1
    for i in range(size):
        chosen[i] = i
    for rank in range(sets.binomial[p, size]):
        _with_lowest(size, changed, sets, flat, room)
        at, cell = own_outcome(chosen, size, point) if near else -1, sets.cells[1, size] + (rank << size)
        if soft is None:
            for o in range(half):
                if held.shape[1] > 2:
                    _first_actions(p, o, held, above, room.firsts)
                    holds, fails = _least_tests(p, o, held, above, room.firsts)
                else:
                    holds, fails = _least_tests(p, o, held, above, None)
                if size:
                    found.least[cell + 2 * o] = fails
                found.least[cell + (2 * o + 1 if size else 0)] = holds
        for o in range(1 << size):
            if soft is not None or o == at:
                here = held[_row_of(o, size, flat.shape[1], room)]
                least = last_test(p, here, room.sides)
                found.least[cell + o] = least if soft is None else last_sum(p, here, room.sides, room.terms)
                if o == at:
                    own = found.own[sets.owns[1, size] + rank]
                    _own_test(soft, p, here, point.sides, room.sides, room.terms, own)
        changed = next_set(chosen, size)


@compiled()
def own_outcome(chosen: Array, size: int, point: AtContext) -> int:
    """Return how the set in hand comes out at the point."""
    outcome = 0
    for i in range(size):
        outcome |= point.turned[chosen[i]] << i
    return outcome


@compiled(NO_NAN)
def _with_lowest(size: int, changed: int, sets: Sets, totals: Array, room: Room) -> None:
    """Fill above with the totals of all outcomes of the set in hand without its lowest literal, work where that holds.

    As long as the lowest literal alone moves, ``above`` stays; ``changed`` is what ``next_set`` has returned.
    """
    if changed > 1:
        outcomes(sets.chosen, 1, size, -1, sets, totals, room.above, 0)
    outcomes(sets.chosen, 1, size, sets.chosen[0] if size else -1, sets, totals, room.work, 0)


@compiled(NO_NAN)
def _row_of(o: int, size: int, width: int, room: Room) -> int:
    """Return the row of work with the totals of an outcome, after filling it where the lowest literal fails."""
    if o & 1 or size == 0:
        return o >> 1
    row = (o + (1 << size)) >> 1
    for i in range(width):
        room.work[row, i] = room.above[o >> 1, i] - room.work[o >> 1, i]
    return row


@compiled(NO_NAN)
def _first_actions(p: int, o: int, held: Array, above: Array, firsts: Array) -> None:
    """Fill firsts (4, P) with the least leaf over all actions but the last two, for each literal g.

    The four: the lowest literal of the set holds and g does, it holds and g fails, it fails and g holds, both fail.
    """
    firsts[:] = firsts.dtype.type(0.0)
    for a in range(held.shape[1] - 2):
        x, v = held[o, a, p], above[o, a, p] - held[o, a, p]
        for g in range(held.shape[2]):
            q = held[o, a, g]
            s = above[o, a, g] - q
            firsts[0, g], firsts[1, g] = lower(firsts[0, g], q), lower(firsts[1, g], x - q)
            firsts[2, g], firsts[3, g] = lower(firsts[2, g], s), lower(firsts[3, g], v - s)


@compiled(NO_NAN)
def _least_tests(p: int, o: int, held: Array, above: Array, firsts: Array | None) -> tuple[float, float]:
    """Return the least of all trees of one test where the lowest literal of the set holds, and where it fails.

    The totals there are held[o] (A, P), and above[o] less those. The last two actions are looked at together; that one
    may come twice makes no least number wrong. If there are more, ``firsts`` has the others; where it is None nothing
    is written on the way, in a third of the time.
    """
    zero, b = held.dtype.type(0.0), held.shape[1] - 1
    a = max(b - 1, 0)
    x, y = held[o, a, p], held[o, b, p]
    v, w = above[o, a, p] - x, above[o, b, p] - y
    holds = fails = zero
    for g in range(held.shape[2]):
        q, r = held[o, a, g], held[o, b, g]
        s, t = above[o, a, g] - q, above[o, b, g] - r
        i, j, k, m = lower(q, r), lower(x - q, y - r), lower(s, t), lower(v - s, w - t)
        if firsts is None:
            holds = lower(holds, lower(zero, i) + lower(zero, j))
            fails = lower(fails, lower(zero, k) + lower(zero, m))
        else:
            holds = lower(holds, lower(firsts[0, g], i) + lower(firsts[1, g], j))
            fails = lower(fails, lower(firsts[2, g], k) + lower(firsts[3, g], m))
    return holds, fails


@compiled(NO_NAN)
def last_test(p: int, held: Array, sides: Array) -> float:
    """Return the least of all trees of one test on the contexts with the totals ``held`` (A, P).

    Fills sides[0] and sides[1] (P,) with the least leaf where each literal holds, and where it fails. Two actions are
    looked at together; that one may come twice makes no least number wrong.
    """
    zero, last = sides.dtype.type(0.0), len(held) - 1
    for g in range(sides.shape[1]):
        sides[0, g] = sides[1, g] = zero
    for a in range(0, len(held), 2):
        b = min(a + 1, last)
        every, other = held[a, p], held[b, p]
        for g in range(sides.shape[1]):
            sides[0, g] = min(sides[0, g], held[a, g], held[b, g])
            sides[1, g] = min(sides[1, g], every - held[a, g], other - held[b, g])
    best = zero
    for g in range(sides.shape[1]):
        best = lower(best, sides[0, g] + sides[1, g])
    return float(best)


@compiled(NO_NAN)
def last_sum(p: int, held: Array, sides: Array, terms: Array) -> float:
    """Return -log of the sum over all trees of one test, from what ``last_test`` has left in ``sides``.

    A sum in the making is a pair, (least, mass), which stands for least - log(mass). Fills sides[2] and sides[3] with
    the masses.
    """
    n, width = 2 * len(held) + 2, sides.shape[1]
    for s in range(2):
        for g in range(width):
            terms[0, s * width + g] = sides[s, g]
    for a in range(len(held)):
        every, begin = held[a, p], 2 * (a + 1) * width
        for g in range(width):
            terms[0, begin + g] = sides[0, g] - held[a, g]
            terms[0, begin + width + g] = sides[1, g] - (every - held[a, g])
    exponentials(terms, n * width)
    for s in range(2):
        for g in range(width):
            sides[2 + s, g] = terms[0, s * width + g]
        for a in range(1, len(held) + 1):
            for g in range(width):
                sides[2 + s, g] += terms[0, (2 * a + s) * width + g]
    return sum_products(p, sides[0], sides[1], sides[2], sides[3], terms)


@compiled(NO_NAN)
def _own_test(soft: Soft, p: int, held: Array, at: Array, sides: Array, terms: Array, own: Array) -> None:
    """Fill own (K,) from what is left in ``sides``: the leaf of x plays one action, its sibling any."""
    for g in range(p):
        sides[4, g] = sides[1, g] if at[1, g] > 0 else sides[0, g]
        if soft is not None:
            sides[5, g] = sides[3, g] if at[1, g] > 0 else sides[2, g]
    for a in range(len(own)):
        for g in range(p):
            sides[6, g] = sides.dtype.type(0.0)
        if a:
            every = held[a - 1, p]
            for g in range(p):
                sides[6, g] = at[0, g] * every + at[1, g] * held[a - 1, g]
        if soft is None:
            best = sides[4, 0] + sides[6, 0]
            for g in range(p):
                best = lower(best, sides[4, g] + sides[6, g])
            own[a] = best
        else:
            own[a] = sum_products(p, sides[4], sides[6], sides[5], sides[7], terms)
