"""The compiled passes over derivations that keep side rows; policies/weighted_folds.py has the arrays.

Costs are total costs, added up in (min, +), where ``soft`` is None. Where it is a float (its value is not used), they
are -log weights, added up in (log-sum-exp, +). Infinity is the sum of nothing in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from policies.kernels import compiled

Array = npt.NDArray[Any]
Soft = float | None

# exp(-40) is far below the rounding of 1.
_NEGLIGIBLE = 40.0


@compiled()
def windows(
    head_start: Array, tail_start: Array, heads: Array, tails: Array, bounds: Array, low: Array, high: Array
) -> None:
    """Fill low and high (n,): a head may be followed by the tails of its state with low <= number < high.

    ``heads`` (n,) are weights that fall and ``tails`` (n',) weights that rise within a state; the sum of two is to be
    within ``bounds`` (2,). State s has the heads from head_start[s] to head_start[s + 1], and its tails alike.
    """
    for s in range(len(head_start) - 1):
        first = last = tail_start[s]
        for h in range(head_start[s], head_start[s + 1]):
            while first < tail_start[s + 1] and heads[h] + tails[first] < bounds[0]:
                first += 1
            last = max(first, last)
            while last < tail_start[s + 1] and heads[h] + tails[last] <= bounds[1]:
                last += 1
            low[h], high[h] = first, last


@compiled()
def fold_windows(
    soft: Soft,
    states: Array,
    head_start: Array,
    low: Array,
    high: Array,
    costs: Array,
    actions: Array,
    action: int,
    front: Array,
    sums: Array,
) -> None:
    """Fill sums (n,) for the heads of ``states``: over the ``costs`` (n',) of the tails in each head's window.

    Only tails of which ``actions`` (n',) is ``action`` count. The window is a queue made of two stacks: ``front[i]`` is
    the sum from tail i to the middle, ``rear`` that from the middle to the end. So each tail is added at most twice,
    and nothing is ever taken away.
    """
    for s in states:
        middle = end = low[head_start[s]]
        rear = np.inf
        for h in range(head_start[s], head_start[s + 1]):
            for tail in range(end, high[h]):
                if actions[tail] == action:
                    rear = _plus(soft, rear, costs[tail])
            end = high[h]
            if low[h] > middle:
                middle, rear, total = end, np.inf, np.inf
                for tail in range(end - 1, low[h] - 1, -1):
                    if actions[tail] == action:
                        total = _plus(soft, total, costs[tail])
                    front[tail] = total
            sums[h] = _plus(soft, front[low[h]], rear) if low[h] < middle else rear


@compiled()
def fold_pairs(
    soft: Soft,
    states: Array,
    head_start: Array,
    low: Array,
    high: Array,
    costs: Array,
    actions: Array,
    action: int,
    heads: Array,
    tails: Array,
    bounds: Array,
    sums: Array,
) -> None:
    """Fill sums (n,) as ``fold_windows`` does, over the tails in the window that keep further rows as well.

    ``heads`` (n, R) and ``tails`` (n', R) are weights, ``bounds`` (2, R) those of the sums of two.
    """
    for s in states:
        for h in range(head_start[s], head_start[s + 1]):
            total = np.inf
            for tail in range(low[h], high[h]):
                counts = actions[tail] == action and (soft is not None or costs[tail] < total)
                if counts and keeps(heads[h], tails[tail], bounds):
                    total = _plus(soft, total, costs[tail])
            sums[h] = total


@compiled()
def keeps(head: Array, tail: Array, bounds: Array) -> bool:
    """Return whether the summed weights (R,) of a head and a tail are within ``bounds`` (2, R)."""
    for r in range(len(head)):
        weight = head[r] + tail[r]
        if weight < bounds[0, r] or weight > bounds[1, r]:
            return False
    return True


@compiled()
def _plus(soft: Soft, one: float, other: float) -> float:
    low, high = min(one, other), max(one, other)
    if soft is None or high - low > _NEGLIGIBLE or high == np.inf:
        return float(low)
    return float(low - np.log1p(np.exp(low - high)))
