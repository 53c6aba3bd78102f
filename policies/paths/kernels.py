"""Compiled passes over a graph of paths: sums in (min, +) and (log-sum-exp, +), and the walk through single paths.

A graph has inner nodes 0..n-1, of which 0 is the root, and the sink n. Where ``soft``, a sum in the making is a pair
(low, mass) that stands for low - log(mass): one exponential an edge, and exact at any rate.
"""

from typing import NamedTuple

import numpy as np

from milpcb.core.kernels import compiled, lower
from milpcb.types import Floats, Ints
from policies.paths.graph import Array, Edges, Graph

NO_NAN = {"nnan", "nsz"}
NEGLIGIBLE = 60.0  # exp(-60), a million times over, is below the rounding of 1
LIST, LEAST, SUM = 0, 1, 2  # what a walk is for
STEPS = 2**24  # edges that a walk tries before it comes up for air: a tenth of a second


class PathSums(NamedTuple):
    """Sums of the paths between each node and one end of the graph (n + 1,); ``mass`` only where soft."""

    low: Array
    mass: Array


class Ahead(NamedTuple):
    """Bounds of a walk on the paths from each node v on, all of them at the place at[v].

    They cost ``low`` at the least, and weigh between ends[0, r] and ends[1, r] in row r. Where ``mass`` is not empty,
    it is theirs, and ``factor`` exp(low[v] - cost - low[to]) of each edge: then sums take whole subgraphs at once.
    """

    at: Array
    low: Array
    ends: Array
    mass: Array
    factor: Array


class PathRows(NamedTuple):
    """Side constraints: the ``weights`` (R, terms), and the ``bounds`` (R, 2) of their sums along a path."""

    weights: Array
    bounds: Array


class Trail(NamedTuple):
    """An unfinished walk, by depth: the next edge to try and its node; action, cost, factor, key, weights so far."""

    edge: Array
    node: Array
    action: Array
    total: Array
    product: Array
    key: Array
    weights: Array  # (R, depth + 1)
    depth: Array  # (1,), negative when the walk is over


class Found(NamedTuple):
    """Paths that a walk has found: total, sum of keys, and edges of each, padded by -1; (1,) their number."""

    totals: Array
    hashes: Array
    paths: Array
    number: Array


@compiled()
def new_trail(depth: int, n_rows: int) -> Trail:
    """Return a walk at the root, through paths of at most ``depth`` edges; its start may be changed."""
    whole, real = np.zeros((3, depth + 1), np.int64), np.ones((2, depth + 1))
    real[0, 0] = 0.0
    keys, weights = np.zeros(depth + 1, np.uint64), np.zeros((n_rows, depth + 1))
    return Trail(whole[0], whole[1], whole[2], real[0], real[1], keys, weights, np.zeros(1, np.int64))


@compiled(NO_NAN)
def down(edges: Edges, cost: Array, soft: bool, sums: PathSums) -> None:
    """Fill ``sums`` over the paths from each node to the sink, given the ``cost`` of each term."""
    first, to, term, low, mass = edges.first, edges.to, edges.term, sums.low, sums.mass
    n = len(first) - 1
    low[n] = 0.0
    if soft:
        mass[n] = 1.0
    for v in range(n - 1, -1, -1):
        least = np.inf
        for e in range(first[v], first[v + 1]):
            least = lower(least, cost[term[e]] + low[to[e]])
        low[v] = least
        if soft:
            total = 0.0
            if least < np.inf:
                for e in range(first[v], first[v + 1]):
                    gap = cost[term[e]] + low[to[e]] - least
                    if gap == 0.0:
                        total += mass[to[e]]
                    elif gap < NEGLIGIBLE:
                        total += mass[to[e]] * np.exp(-gap)
            mass[v] = total


@compiled(NO_NAN)
def up(edges: Edges, cost: Array, soft: bool, sums: PathSums) -> None:
    """Fill ``sums`` over the paths from the root to each node."""
    first, to, term, low, mass = edges.first, edges.to, edges.term, sums.low, sums.mass
    low[:] = np.inf
    low[0] = 0.0
    for v in range(len(first) - 1):
        own = low[v]
        for e in range(first[v], first[v + 1]):
            low[to[e]] = lower(low[to[e]], own + cost[term[e]])
    if soft:
        mass[:] = 0.0
        mass[0] = 1.0
        for v in range(len(first) - 1):
            if mass[v] > 0.0:
                for e in range(first[v], first[v + 1]):
                    gap = low[v] + cost[term[e]] - low[to[e]]
                    if gap == 0.0:
                        mass[to[e]] += mass[v]
                    elif gap < NEGLIGIBLE:
                        mass[to[e]] += mass[v] * np.exp(-gap)


@compiled(NO_NAN)
def through(
    terms: Array,
    actions: Array,
    by_term: tuple[Array, Array],
    edges: Edges,
    cost: Array,
    soft: bool,
    above: PathSums,
    below: PathSums,
    answers: Array,
) -> None:
    """Fill ``answers`` (K,): the sum of the paths through an edge of one of ``terms``, by the action of the term."""
    starts, having = by_term
    weights = np.zeros(len(answers))
    answers[:] = np.inf
    for step in range(2 if soft else 1):
        for i in range(len(terms)):
            a, t = actions[i], terms[i]
            for j in range(starts[t], starts[t + 1]):
                e = having[j]
                v, w = edges.source[e], edges.to[e]
                x = above.low[v] + cost[t] + below.low[w]
                if step == 0:
                    answers[a] = lower(answers[a], x)
                elif x < answers[a] + NEGLIGIBLE:
                    weights[a] += above.mass[v] * below.mass[w] * np.exp(answers[a] - x)
    if soft:
        for a in range(len(answers)):
            if weights[a] > 0.0:
                answers[a] -= np.log(weights[a])


@compiled()
def least_path(edges: Edges, cost: Array, low: Array, path: Array) -> int:
    """Fill ``path`` with the edges of a path that attains low[0], the first of equal ones; return how many."""
    first, to, term = edges.first, edges.to, edges.term
    v, k = 0, 0
    while v < len(first) - 1:
        chosen = first[v]
        for e in range(first[v], first[v + 1]):
            if cost[term[e]] + low[to[e]] == low[v]:
                chosen = e
                break
        path[k] = chosen
        v = to[chosen]
        k += 1
    return k


@compiled()
def walk(
    edges: Edges,
    cost: Array,
    ahead: Ahead,
    rows: PathRows,
    acts: Array,
    within: Array,
    mode: int,
    keys: Array,
    trail: Trail,
    found: Found,
) -> None:
    """Continue a depth-first walk through the paths that keep ``rows``, backtracking where none can follow.

    The action of a path is that of its only term with an action in ``acts`` (terms,), -1 being none, or that
    with which the trail begins; ``within`` (K,) bounds their cost by action. In mode LIST each path is added
    to ``found``; a number one above its capacity means that there are too many. In mode LEAST the cheapest path of each
    action stays, the first of equal ones, and ``within`` becomes its cost. In mode SUM found.totals[action] is the sum
    of exp(-cost).
    """
    first, term, n = edges.first, edges.term, len(edges.first) - 1
    shared = mode == SUM and len(ahead.mass) > 0
    most, d = within.max(), trail.depth[0]
    for _ in range(STEPS):
        if d < 0:
            break
        e = trail.edge[d]
        if e == first[trail.node[d] + 1]:
            d -= 1
            continue
        trail.edge[d] += 1
        t, v = term[e], edges.to[e]
        x, place = trail.total[d] + cost[t], ahead.at[v]
        a = trail.action[d] if trail.action[d] >= 0 else acts[t]
        left, bound = x + ahead.low[place], within[a] if a >= 0 else most
        if left > bound or (mode == LEAST and left >= bound):
            continue
        may, must = _weigh(rows, ahead, trail, d, t, place)
        if not may:
            continue
        if shared and must and a >= 0:
            found.totals[a] += trail.product[d] * ahead.factor[e] * ahead.mass[v]
            continue
        trail.product[d + 1] = trail.product[d] * ahead.factor[e] if shared else np.exp(-x) if mode == SUM else 1.0
        trail.total[d + 1], trail.key[d + 1], trail.action[d + 1] = x, trail.key[d] + keys[t], a
        if v < n:
            d += 1
            trail.node[d], trail.edge[d] = v, first[v]
            continue
        if not _arrive(mode, a, d, trail, within, found):
            d = -1
        most = within.max()
    trail.depth[0] = d


@compiled()
def _weigh(rows: PathRows, ahead: Ahead, trail: Trail, d: int, t: int, place: int) -> tuple[bool, bool]:
    """Add the weights of a term; return whether paths from a place on may keep the rows, and whether all of them do."""
    may = must = True
    for r in range(len(rows.weights)):
        weight = trail.weights[r, d] + rows.weights[r, t]
        trail.weights[r, d + 1] = weight
        lightest, heaviest = weight + ahead.ends[0, r, place], weight + ahead.ends[1, r, place]
        may = may and lightest <= rows.bounds[r, 1] and heaviest >= rows.bounds[r, 0]
        must = must and heaviest <= rows.bounds[r, 1] and lightest >= rows.bounds[r, 0]
    return may, must


@compiled()
def _arrive(mode: int, a: int, d: int, trail: Trail, within: Array, found: Found) -> bool:
    """Add the path that has come to the sink; return whether there is room for it."""
    if mode == SUM:
        found.totals[a] += trail.product[d + 1]
        return True
    i = a
    if mode == LEAST:
        within[a] = trail.total[d + 1]
    else:
        i = found.number[0]
        found.number[0] += 1
        if i == len(found.totals):
            return False
    found.totals[i], found.hashes[i] = trail.total[d + 1], trail.key[d + 1]
    for k in range(found.paths.shape[1]):
        found.paths[i, k] = trail.edge[k] - 1 if k <= d else -1
    return True


def room(graph: Graph, *, soft: bool = False) -> PathSums:
    """Return arrays for the sums of paths."""
    return PathSums(np.empty(graph.n_inner + 1), np.empty(graph.n_inner + 1 if soft else 0))


def path_sums(graph: Graph, cost: Floats, *, soft: bool = False) -> PathSums:
    """Return the sums over the paths from each node to the sink; that of the root is over all paths."""
    found = room(graph, soft=soft)
    down(graph.edges, cost, soft, found)
    return found


def least_edges(graph: Graph, cost: Floats) -> tuple[float, Ints]:
    """Return the least cost of a path, and the edges of the first path that attains it."""
    path, low = np.empty(graph.n_inner, dtype=np.int64), path_sums(graph, cost).low
    return float(low[0]), path[: least_path(graph.edges, cost, low, path)]


def longest(graph: Graph) -> int:
    """Return the most edges of a path."""
    return int(-path_sums(graph, np.full(graph.nothing + 1, -1.0)).low[0])
