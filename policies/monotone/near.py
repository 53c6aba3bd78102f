"""All monotone rules within a bound of total cost, from the diagram of their labelings.

Contexts are decided one after the other, none before one that lies below it. What is left is the same for all
beginnings that leave the same least actions to the contexts to come: these are one state. On a grid of few columns
states are few; where they are too many there is no list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.protocols import Listing, Within
from milpcb.types import Ints
from policies.monotone.geometry import Order
from policies.near_lists import affordable

MOST_CELLS = 5 * 10**6  # least actions that are held to make a diagram
MOST_LISTED = 10**6  # labelings
MOST_LABELS = 10**8  # of these labelings
HALVINGS = 12  # of a bound that too many labelings are within


class Ways(NamedTuple):
    """The states, level by level: level p decides ``order[p]``; see Diagram for ``child`` and ``first``."""

    order: Ints
    child: npt.NDArray[np.int32]
    first: Ints


def ways(order: Order, n_actions: int) -> Ways | None:
    """Return the diagram of all monotone labelings, None where it has too many states."""
    ranked = np.lexsort(order.points.T[::-1])  # whoever is below comes first
    below = order.below[ranked][:, ranked]
    kind = np.min_scalar_type(-n_actions)  # one byte, unless there are more than 128 actions
    floors = np.zeros((1, len(ranked)), kind)  # of each state the least actions of the contexts to come
    levels: list[Ints] = []
    held = 0
    for p in range(len(ranked)):
        state, action = np.nonzero(floors[:, :1] <= np.arange(n_actions))
        after = np.maximum(floors[state, 1:], np.where(below[p, p + 1 :], action[:, None], 0).astype(kind))
        held += after.size
        if held > MOST_CELLS:
            return None
        floors, onward = np.unique(after, axis=0, return_inverse=True)
        child = np.full((state.max() + 1, n_actions), -1)
        child[state, action] = onward.ravel()
        levels.append(child)
    first = np.cumsum([0, *map(len, levels)])
    every = [np.where(child < 0, first[-1] + 1, child + after) for child, after in zip(levels, first[1:], strict=True)]
    return Ways(ranked, np.concatenate(every).astype(np.int32), first)


def near_rules(order: Order, found: Ways, asked: Within) -> Listing | None:
    """Return the rules asked for, those within a lower bound where they are too many; None where that has none."""
    from policies.path_kernels import SideRoom, list_paths  # with it numba, which takes a second to import

    cost = np.ascontiguousarray(asked.costs[found.order].T)
    weights = np.array([row.weights[found.order].T for row in asked.rows]).reshape(len(asked.rows), *cost.shape)
    bounds = np.array([(row.lower, row.upper) for row in asked.rows]).reshape(len(asked.rows), 2)
    room = SideRoom(weights, bounds, *np.zeros((3, len(asked.rows), 1 + len(found.order))))
    most = min(MOST_LISTED, MOST_LABELS // len(found.order))
    totals, labels = np.empty(most), np.empty((most, len(found.order)), np.min_scalar_type(-len(cost)))
    low = np.empty(len(found.child) + 2)

    def listed(bound: float) -> int:
        return int(list_paths(found.child, found.first, cost, room, bound, low, totals, labels, 0))

    n = listed(asked.bound)
    complete = n <= most
    if not complete:
        n = min(listed(affordable(lambda lower: listed(lower) <= most, asked.least, asked.bound, HALVINGS)), most)
    chosen = np.argsort(totals[:n], kind="stable")
    kept, unranked = labels[chosen], np.argsort(found.order)
    return Listing(totals[chosen], lambda i: order.rule(kept[i, unranked].astype(np.int64)), complete) if n else None
