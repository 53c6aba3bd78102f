"""The exact search of monotone rules: a maximum flow on the covers (the program is in policy_class.py).

The nodes are (j, k), "the action of context j is at least k"; an arc means that its tail needs its head: (i, k) needs
(j, k) when j covers i, (j, k + 1) needs (j, k). Taking a node costs costs[j, k] - costs[j, k - 1]. The cheapest set
that holds whatever its nodes need is a minimum cut (Picard, Management Science 1976): a node that gains has that much
supply, a node that costs that much demand, arcs carry any flow, and at a maximum flow the nodes that supply can still
reach are the smallest of the cheapest sets. So ties go to the lowest actions.

The flow is Dinic's, in float64: with real costs each step empties a supply, a demand or a flow exactly, and the total
is added up from the labels, so it is exact to rounding. A profile goes on from that flow: to play a at a row is to give
(row, a) endless supply and (row, a + 1) endless demand.
"""

import numpy as np

from milpcb.core.kernels import compiled, copy
from milpcb.protocols import Search
from milpcb.types import Bools, Floats, Ints
from policies.monotone.rule import MonotoneRule, Order


@compiled()
def maximum_flow(first: Ints, to: Ints, need: Ints, supply: Floats, demand: Floats, flow: Floats) -> Bools:
    """Send as much ``supply`` (nodes,) to ``demand`` (nodes,) as possible; return the nodes reachable from supply.

    Arcs carry any flow, and their reverses as much as flows along them. The nodes returned are the side of supply of a
    minimum cut. ``supply`` and ``demand`` are reduced in place to the amounts left, and ``flow`` is updated.
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


class MonotoneSearch(Search):
    """Minimum cuts on one network; node (j, k) has the number (k - 1) g + j."""

    def __init__(self, order: Order, n_actions: int) -> None:
        self._order, self._n_actions = order, n_actions
        g = len(order.contexts)
        nodes = np.arange(g * (self._n_actions - 1)).reshape(-1, g)
        lower, upper = order.covers
        tails = np.concatenate([nodes[:, lower].ravel(), nodes[1:].ravel()])
        heads = np.concatenate([nodes[:, upper].ravel(), nodes[:-1].ravel()])
        self._arcs = _arcs(tails, heads, nodes.size)
        self._n_needs = len(tails)
        self._rows = np.arange(g)

    def value(self, costs: Floats) -> float:
        return self._total(costs, self._cheapest(*self._start(costs)))

    def minimise(self, costs: Floats) -> tuple[float, MonotoneRule]:
        """Return the least total cost and the rule with the lowest actions that attains it."""
        labels = self._cheapest(*self._start(costs))
        return self._total(costs, labels), self._order.rule(labels)

    def profile(self, costs: Floats, row: int) -> Floats:
        supply, demand, flow = self._start(costs)
        free = self._cheapest(supply, demand, flow)
        g = len(self._rows)
        profile = np.full(self._n_actions, self._total(costs, free))
        for action in set(range(self._n_actions)) - {int(free[row])}:
            more, less = supply.copy(), demand.copy()
            if action > 0:
                more[(action - 1) * g + row] = np.inf
            if action < self._n_actions - 1:
                less[action * g + row] = np.inf
            profile[action] = self._total(costs, self._cheapest(more, less, flow.copy()))
        return profile

    def _start(self, costs: Floats) -> tuple[Floats, Floats, Floats]:
        gains = -np.diff(costs, axis=1).T.ravel()
        return np.maximum(gains, 0.0), np.maximum(-gains, 0.0), np.zeros(self._n_needs)

    def _cheapest(self, supply: Floats, demand: Floats, flow: Floats) -> Ints:
        reached = maximum_flow(*self._arcs, supply, demand, flow)
        return np.asarray(reached.reshape(self._n_actions - 1, -1).sum(axis=0))

    def _total(self, costs: Floats, labels: Ints) -> float:
        return float(costs[self._rows, labels].sum())


def _arcs(tails: Ints, heads: Ints, n_nodes: int) -> tuple[Ints, Ints, Ints]:
    """Return first (nodes + 1,), to and need (2 arcs,): the number of an arc, or -1 - number on the way back."""
    sources, targets = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    numbers = np.arange(len(tails))
    order = np.argsort(sources, kind="stable")
    first = np.searchsorted(sources[order], np.arange(n_nodes + 1))
    return first, targets[order], np.concatenate([numbers, -1 - numbers])[order]
