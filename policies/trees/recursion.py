"""Compiled: one recursion over the states of all trees, in two semirings, from the totals of conjunctions.

With A = K - 1 differences to action 0, and behind them C counts of rows, ``totals[a, S]`` is the sum over contexts
where all literals of the set S hold. The states of size D come from these by inclusion and exclusion,

    T_0[S, o] = (+)_a (sum over the contexts where S comes out as o), infinite where a count is below ``least``
    T_h[S, o] = (+)_g T_{h-1}[S + g, o with g] (x) T_{h-1}[S + g, o without g]

The recursion is read the other way round: each set S' of size k is visited once, and for each of its literals e adds
T_{h-1}[S', e holds] (x) T_{h-1}[S', e fails] to T_h[S' - e]. All sets u + g of one u are visited together, as rows.
Where leaves count, a state may also end as a leaf, and numbers of leaves add up. A literal of S tested again is (x)
the trees on no contexts; sums and ties need these derivations, and with them all heights at all sizes (``every``).

(+) is min, or with a float ``soft`` -log(e^-a + e^-b), kept as a pair: T - log(mass M).  (x) is +, and * of masses.
"""

from functools import cached_property

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.types import Bools, Floats
from policies.trees.sets import layout
from policies.trees.states import (
    BIG,
    NO_NAN,
    Array,
    SetRow,
    Soft,
    StateRoom,
    TreeQuestion,
    add_row,
    add_rows,
    exclude_leaves,
    fill_leaves,
    fill_outcomes,
    fill_own,
    sum_leaves,
)
from policies.trees.totals import Codes, ContextCosts, Products


@compiled(NO_NAN)
def recurse(soft: Soft, totals: Array, asked: TreeQuestion, closed: Array, room: StateRoom) -> None:
    """Fill all T_h of trees with a test, of which none is ``closed`` (p,); whole trees are at cells and owns [D, 0]."""
    depth, p = len(asked.empty), len(asked.sides)
    start, first, chosen, ranks = room.start, room.first, room.chosen, room.ranks
    room.T[:], room.M[:] = BIG, 0.0
    for k in range(min(depth, p), 0, -1):
        m = k - 1
        for i in range(m):
            chosen[i] = i
        for u in range(first[m], first[k]):
            if u > first[m]:
                next_set(chosen, m, p)
            last, skip, outcome = chosen[m - 1] if m else -1, False, 0
            for i in range(m):
                outcome |= (1 << i) if asked.sides[chosen[i]] else 0
                skip = skip or closed[chosen[i]]
                for o in range(1 << i):
                    ranks[o | 1 << i] = start[ranks[o]] + chosen[i]
            if last < p - 1 and not skip:
                row = SetRow(k, p - 1 - last, last, outcome, start[u] + last + 1 - first[k])
                take_row(soft, totals, asked, closed, row, room)


@compiled()
def next_set(chosen: Array, m: int, p: int) -> None:
    """Turn ``chosen`` into the next set of m of p literals."""
    i = m - 1
    while chosen[i] == p - m + i:
        i -= 1
    chosen[i] += 1
    for j in range(i + 1, m):
        chosen[j] = chosen[j - 1] + 1


@compiled(NO_NAN)
def take_row(soft: Soft, totals: Array, asked: TreeQuestion, closed: Array, row: SetRow, room: StateRoom) -> None:
    """Fill the leaves of the sets of a row, and pass their states on to the sets of one literal less."""
    depth = len(asked.empty)
    if row.k == depth or asked.every or asked.shift:
        fill_outcomes(totals, row, room)
        fill_leaves(row, asked, room)
        if soft is not None:
            sum_leaves(row, asked.n_actions - 1, room)
        exclude_leaves(row, asked, closed, room)
        if asked.near:
            fill_own(row, asked, room)
    for h in range(0 if asked.every else depth - row.k, depth - row.k + 1):
        if h:
            finish(soft, h, row, asked, room)
        push(soft, h, row, asked, room)
        if asked.near:
            push_own(soft, h, row, asked, room)


@compiled(NO_NAN)
def finish(soft: Soft, h: int, row: SetRow, asked: TreeQuestion, room: StateRoom) -> None:
    """Complete T_h of the sets u + g by trees that test no new literal: a leaf, or a literal of the set again."""
    leaves, k = room.leaves, row.k
    for part in range(2 if asked.near else 1):
        begins, size, leaf = (room.owns, asked.n_actions, room.own) if part else (room.cells, 1 << k, 0)
        at = begins[h, k] + leaves[h] * row.rank * size
        below = begins[h - 1, k] + leaves[h - 1] * row.rank * size if h > 1 else leaf
        width = size * row.n
        if asked.shift:
            room.T[at : at + width] = room.T[leaf : leaf + width]
            if soft is not None:
                room.M[at : at + width] = room.M[leaf : leaf + width]
        if asked.every:
            test_again(soft, h, k, at, below, width, asked, room)


@compiled(NO_NAN)
def test_again(
    soft: Soft, h: int, k: int, at: int, below: int, width: int, asked: TreeQuestion, room: StateRoom
) -> None:
    """Add T_{h-1}, at ``below``, with the trees on no contexts to T_h, for each of the k literals of the set."""
    T, M, terms, leaves, other, shift, empty = (
        room.T, room.M, room.terms, room.leaves, room.other, asked.shift, asked.empty,
    )  # fmt: skip
    for j in range(leaves[h - 1]):
        if empty[h - 1, j] > 0.0:
            T[other : other + width] = 0.0
            if soft is not None:
                M[other : other + width] = k * empty[h - 1, j]
            for i in range(min(leaves[h - 1], leaves[h] - j - shift)):
                add_rows(soft, T, M, terms, at + (i + j + shift) * width, below + i * width, other, width)


@compiled()
def target(e: int, row: SetRow, p: int, room: StateRoom) -> tuple[int, int, int]:
    """Return the place of the sets u + g without their e-th literal: length and number of the row, and the column."""
    m, ranks, chosen = row.k - 1, room.ranks, room.chosen
    if m == 0:
        return 1, 0, 0
    w, above = ranks[((1 << m) - 1) ^ (1 << min(e, m - 1))], -1
    if m > 1:
        above = chosen[m - 2] if e >= m - 1 else chosen[m - 1]
    column = row.last + (0 if e == m else 1) - above - 1
    return p - 1 - above, room.start[w] + above + 1 - room.first[m], column


@compiled(NO_NAN)
def push(soft: Soft, h: int, row: SetRow, asked: TreeQuestion, room: StateRoom) -> None:
    """Add T_h of the sets u + g to T_{h+1} of these without each of their literals e: u's, and g."""
    k, m, n, p, shift = row.k, row.k - 1, row.n, len(asked.sides), asked.shift
    leaves, T, M, terms = room.leaves, room.T, room.M, room.terms
    begin, half, more = room.cells[h + 1, m], 1 << m, leaves[h + 1] - shift
    at = room.cells[h, k] + leaves[h] * (row.rank << k) if h else 0
    for e in range(k):
        width, rank, column = target(e, row, p, room)
        low = 1 << e  # outcomes of the literals below e lie side by side, where rows are as long
        run = low if width == n else 1
        for i in range(leaves[h]):
            for j in range(min(leaves[h], more - i)):
                to = begin + leaves[h + 1] * (rank << m) + (i + j + shift) * (width << m) + column
                fails, holds = at + (i * n << k), at + (j * n << k) + low * n
                if e == m:
                    for o in range(half):
                        add_row(soft, T, M, terms, to + o * width, fails + o * n, holds + o * n, n)
                else:
                    for o in range(0, half, run):
                        source = ((o >> e << (e + 1)) | (o & (low - 1))) * n
                        add_rows(soft, T, M, terms, to + o * width, fails + source, holds + source, run * n)


@compiled(NO_NAN)
def push_own(soft: Soft, h: int, row: SetRow, asked: TreeQuestion, room: StateRoom) -> None:
    """As ``push``, at the context x: the side of e that x is on by the action there, and the other side."""
    k, m, n, p, shift, n_actions = row.k, row.k - 1, row.n, len(asked.sides), asked.shift, asked.n_actions
    leaves, T, M, terms, other, sides = room.leaves, room.T, room.M, room.terms, room.other, asked.sides
    begin, half, more = room.owns[h + 1, m], 1 << m, leaves[h + 1] - shift
    at = room.cells[h, k] + leaves[h] * (row.rank << k) if h else 0
    own = room.owns[h, k] + leaves[h] * row.rank * n_actions if h else room.own
    for e in range(k):
        width, rank, column = target(e, row, p, room)
        for i in range(leaves[h]):
            for j in range(n):
                side = half if sides[row.last + 1 + j] != (e == m) else 0
                cell = at + (i * n << k) + ((row.outcome if e == m else row.outcome ^ (1 << e)) + side) * n + j
                T[other + j] = T[cell]
                if soft is not None:
                    M[other + j] = M[cell]
            for j in range(min(leaves[h], more - i)):
                to = begin + (leaves[h + 1] * rank + (i + j + shift) * width) * n_actions + column
                for a in range(n_actions):
                    source = own + (j * n_actions + a) * n
                    if e == m:
                        add_row(soft, T, M, terms, to + a * width, source, other, n)
                    else:
                        add_rows(soft, T, M, terms, to + a * width, source, other, n)


class TreeStates:
    """The recursion for trees of a depth, from the totals that ``source`` fills."""

    def __init__(
        self, source: Products | Codes, n_actions: int, depth: int, least: Floats, most_leaves: int | None
    ) -> None:
        self.source, self.n_actions, self.depth, self.least = source, n_actions, depth, least
        self._p, self.limited = len(source.flipped), most_leaves is not None
        self.layout = start, where, size = layout(self._p, depth, n_actions, most_leaves)
        self.empty, n, half = self._on_nothing(), self._p + 1, 1 << max(depth - 1, 0)
        own, longest = n << depth, max(1 << depth, n_actions) * n
        self._room = StateRoom(
            start, where[0], where[1], where[2 : 3 + depth], where[3 + depth :], own, own + n_actions * n,
            np.empty(size), np.zeros(0), np.empty((2, longest)), np.empty((len(source.totals), n * half)),
            np.zeros(half, np.int64), np.zeros(depth + 1, np.int64),
        )  # fmt: skip

    def answers(self, soft: Soft, given: ContextCosts, pattern: Bools | None, closed: Bools) -> Floats:
        """Return the answers (n, leaves, K) at a context where the literals ``pattern`` hold; K is 1 without one.

        ``closed`` (n, p) are the literals that no tree may test, for each of n sets of trees. Trees without a test are
        left out where there are others.
        """
        everywhere = self.source.fill(*given, self.depth)
        found = self._ask(soft, pattern, closed, every=soft is not None or self._p < self.depth)
        return np.where(found < BIG, found + everywhere, np.inf) if self.limited else found + everywhere

    def sides(self, given: ContextCosts, closed: Bools) -> tuple[Floats, float]:
        """Return (2, leaves, p), least totals where each root fails and holds, from that of action 0, and that."""
        everywhere = self.source.fill(*given, self.depth)
        self._ask(None, None, closed[None], every=self._p < self.depth)
        begin = self.layout.where[1 + self.depth, 1] if self.depth > 1 else 0  # of the states of one literal
        shape = int(self.layout.where[1, self.depth - 1]), 2, self._p
        found = self._room.T[begin : begin + 2 * shape[0] * self._p].reshape(shape)
        literals = np.arange(self._p)
        return np.stack([found[:, side ^ self.source.flipped, literals] for side in (0, 1)]), everywhere

    def _ask(self, soft: Soft, pattern: Bools | None, closed: Bools, *, every: bool) -> Floats:
        near, room = pattern is not None, self._room if soft is None else self._room._replace(M=self._masses)
        sides = np.zeros(self._p, bool) if pattern is None else pattern ^ self.source.flipped
        asked = TreeQuestion(near, every, int(self.limited), self.n_actions, sides, self.least, self.empty)
        begin, leaves = (room.owns if near else room.cells)[self.depth, 0], self.empty.shape[1]
        here, found = slice(begin, begin + leaves * (self.n_actions if near else 1)), list[Floats]()
        for each in closed:
            recurse(soft, self.source.totals, asked, each, room)
            T, M = room.T[here], room.M[here]
            fits = soft is not None and (M > 0.0) & (T < BIG)
            found.append(T.copy() if soft is None else np.where(fits, T - np.log(np.where(fits, M, 1.0)), BIG))
        return np.reshape(found, (len(closed), leaves, -1))

    @cached_property
    def _masses(self) -> Array:
        return np.empty(self.layout.room)

    def _on_nothing(self) -> Floats:
        """Return (D, leaves): how many trees of each height, by leaves, there are on no contexts."""
        empty = np.zeros((self.depth, int(self.layout.where[1, self.depth])))
        if (self.least > 0).any() or not self.depth:
            return empty
        empty[0, 0] = self.n_actions
        for h in range(1, self.depth):
            products = self._p * np.convolve(empty[h - 1], empty[h - 1])
            empty[h, 0] = self.n_actions
            split = empty[h, int(self.limited) :]  # only where leaves count there is one leaf, too
            split[: len(products)] = products[: len(split)]
        return empty
