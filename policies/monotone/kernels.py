"""Compiled parts of the search for monotone rules: Dinic's maximum flow, layer by layer.

Arrays over nodes are ``supply`` and ``demand``, what is left of each, ``depth``, the distance from supply, ``first``,
where a node's arcs begin in ``to`` (the node at the other end) and ``need`` (the number of the arc, or -1 - number on
the way back); ``flow`` is what each arc carries.
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled, copy
from milpcb.types import Bools, Floats, Ints


@compiled()
def maximum_flow(first: Ints, to: Ints, need: Ints, supply: Floats, demand: Floats, flow: Floats) -> Bools:
    """Send as much ``supply`` (nodes,) to ``demand`` (nodes,) as possible; return the nodes that supply still reaches.

    Arcs carry any flow, and their reverses as much as flows along them. The nodes returned are the side of supply of a
    minimum cut. ``supply``, ``demand`` and ``flow`` are changed in place to what is left and what flows.
    """
    n_nodes = len(supply)
    depth, queue, arc, path = np.empty((4, n_nodes), np.int64)
    while _layer(first, to, need, supply, demand, flow, depth, queue):
        copy(first[:n_nodes], arc)
        for start in range(n_nodes):
            if supply[start] > 0:
                _drain(start, first, to, need, supply, demand, flow, depth, arc, path)
    return depth >= 0


@compiled()
def _layer(
    first: Ints, to: Ints, need: Ints, supply: Floats, demand: Floats, flow: Floats, depth: Ints, queue: Ints
) -> bool:
    """Set the distance of each node from supply, -1 where none reaches; return whether some demand is reached."""
    size, done, found = 0, 0, False
    depth[:] = -1
    for u in range(len(supply)):
        if supply[u] > 0:
            depth[u] = 0
            queue[size] = u
            size += 1
    while done < size:
        u = queue[done]
        done += 1
        found = found or demand[u] > 0
        for e in range(first[u], first[u + 1]):
            v = to[e]
            if depth[v] < 0 and _room(need[e], flow) > 0:
                depth[v] = depth[u] + 1
                queue[size] = v
                size += 1
    return found


@compiled()
def _drain(
    start: int,
    first: Ints,
    to: Ints,
    need: Ints,
    supply: Floats,
    demand: Floats,
    flow: Floats,
    depth: Ints,
    arc: Ints,
    path: Ints,
) -> None:
    """Send supply from ``start`` one layer on at each step, until it or the ways on are used up."""
    u, length = start, 0
    while supply[start] > 0:
        if demand[u] > 0:
            amount = min(supply[start], demand[u])
            for e in path[:length]:
                amount = min(amount, _room(need[e], flow))
            for e in path[:length]:
                if need[e] >= 0:
                    flow[need[e]] += amount
                else:
                    flow[-1 - need[e]] -= amount
            supply[start] -= amount
            demand[u] -= amount
            u, length = start, 0
            continue
        while arc[u] < first[u + 1] and not (depth[to[arc[u]]] == depth[u] + 1 and _room(need[arc[u]], flow) > 0):
            arc[u] += 1
        if arc[u] < first[u + 1]:
            path[length] = arc[u]
            u = to[arc[u]]
            length += 1
        elif length > 0:
            length -= 1
            u = to[path[length - 1]] if length > 0 else start
            arc[u] += 1
        else:
            return


@compiled()
def _room(number: int, flow: Floats) -> float:
    return np.inf if number >= 0 else flow[-1 - number]
