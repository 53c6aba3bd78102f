"""The compiled passes over derivations that keep side rows; policies/weighted_folds.py states what they add up.

State s has the heads from head_start[s] to head_start[s + 1], and its tails alike. A head may be followed by the tails
of its state with low[head] <= number < high[head], the window of the head.

In go the costs and the actions of heads (n,) and tails (n',): the action that a head or a tail plays at a context, -1
where the other decides it; ``by_tails`` (states,) is where tails do. Out come ``answers`` (K,) by that action. Where
``soft`` is None, they are least total costs, and ``chosen`` (K,) the heads of derivations that attain them. Where it is
a float (its value is not used), costs are -log weights, answers -log of their sums, and nothing is chosen.

A sum in the making is a pair (least, weight), which stands for least - log(weight).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from policies.kernels import compiled

Array = npt.NDArray[Any]
Soft = float | None

# exp(-60), a million times over, is far below the rounding of 1.
_NEGLIGIBLE = 60.0


@compiled()
def add_up(parts: Array, chosen: Array, totals: Array) -> None:
    """Fill totals (n,) with the sums of the ``parts`` that each row of ``chosen`` (n, k) numbers."""
    for i in range(len(chosen)):
        total = 0.0
        for part in chosen[i]:
            total += parts[part]
        totals[i] = total


@compiled()
def windows(
    head_start: Array, tail_start: Array, heads: Array, tails: Array, bounds: Array, low: Array, high: Array
) -> None:
    """Fill low and high (n,), so that a window has the tails whose weight with the head's is within ``bounds`` (2,).

    Within a state the weights ``heads`` (n,) fall and ``tails`` (n',) rise.
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
def one_row(
    soft: Soft,
    head_start: Array,
    low: Array,
    high: Array,
    by_tails: Array,
    head_costs: Array,
    head_actions: Array,
    tail_costs: Array,
    tail_actions: Array,
    front: Array,
    answers: Array,
    chosen: Array,
) -> None:
    """Answer for all derivations in the windows; working space front: (n', 2)."""
    weights = np.zeros(len(answers))
    answers[:] = np.inf
    for s in range(len(head_start) - 1):
        for action in range(len(answers)) if by_tails[s] else range(-1, 0):
            heads = (head_start[s], head_start[s + 1], low, high, head_costs, head_actions)
            _slide(soft, action, heads, tail_costs, tail_actions, front, answers, weights, chosen)
    _finish(soft, answers, weights)


@compiled()
def _slide(
    soft: Soft,
    action: int,
    heads: tuple[Any, ...],
    costs: Array,
    actions: Array,
    front: Array,
    answers: Array,
    weights: Array,
    chosen: Array,
) -> None:
    """Add the derivations of one state to ``answers`` and ``weights`` (K,), with those tails that play ``action``.

    Both ends of the window only move up. It is a queue made of two stacks: front[tail] sums up that tail to the middle,
    rear the middle to the end. So a tail is added at most twice, and none is ever taken out of a sum, where digits
    would be lost.
    """
    first, stop, low, high, head_costs, head_actions = heads
    middle = end = low[first]
    rear, rear_weight = np.inf, 0.0
    for h in range(first, stop):
        for tail in range(end, high[h]):
            if actions[tail] == action:
                rear, rear_weight = _add(soft, rear, rear_weight, costs[tail], 1.0)
        end = high[h]
        if low[h] > middle:
            least, weight = np.inf, 0.0
            for tail in range(end - 1, low[h] - 1, -1):
                if actions[tail] == action:
                    least, weight = _add(soft, least, weight, costs[tail], 1.0)
                front[tail, 0], front[tail, 1] = least, weight
            middle, rear, rear_weight = end, np.inf, 0.0
        least, weight = rear, rear_weight
        if low[h] < middle:
            least, weight = _add(soft, least, weight, front[low[h], 0], front[low[h], 1])
        a = max(action, head_actions[h])
        if soft is None and head_costs[h] + least < answers[a]:
            chosen[a] = h
        answers[a], weights[a] = _add(soft, answers[a], weights[a], head_costs[h] + least, weight)


@compiled()
def several_rows(
    soft: Soft,
    head_start: Array,
    tail_start: Array,
    low: Array,
    high: Array,
    by_tails: Array,
    head_costs: Array,
    head_actions: Array,
    tail_costs: Array,
    tail_actions: Array,
    head_weights: Array,
    tail_weights: Array,
    bounds: Array,
    answers: Array,
    chosen: Array,
) -> None:
    """Answer for the derivations in the windows whose weights (n, R), (n', R) add up to between ``bounds`` (2, R)."""
    weights = np.zeros(len(answers))
    answers[:] = np.inf
    for s in range(len(head_start) - 1):
        for action in range(len(answers)) if by_tails[s] else range(-1, 0):
            cheapest = np.inf
            for tail in range(tail_start[s], tail_start[s + 1]):
                if tail_actions[tail] == action:
                    cheapest = min(cheapest, tail_costs[tail])
            for h in range(head_start[s], head_start[s + 1]):
                a = max(action, head_actions[h])
                tails = (low[h], high[h], tail_costs, tail_actions)
                rows = (head_weights[h], tail_weights, bounds)
                if _pair(soft, a, action, head_costs[h], cheapest, tails, rows, answers, weights):
                    chosen[a] = h
    _finish(soft, answers, weights)


@compiled()
def _pair(
    soft: Soft,
    a: int,
    action: int,
    head_cost: float,
    cheapest: float,
    tails: tuple[Any, ...],
    rows: tuple[Any, ...],
    answers: Array,
    weights: Array,
) -> bool:
    """Add the derivations of one head to answers[a] and weights[a]; return whether one is less than all before.

    A head that is too dear to matter, whatever follows it, is passed over, and so is a tail.
    """
    first, stop, costs, actions = tails
    room, least = 0.0 if soft is None else _NEGLIGIBLE, answers[a]
    if head_cost + cheapest >= answers[a] + room:
        return False
    for tail in range(first, stop):
        cost = head_cost + costs[tail]
        if actions[tail] == action and cost < answers[a] + room and _fits(tail, *rows):
            answers[a], weights[a] = _add(soft, answers[a], weights[a], cost, 1.0)
    return bool(answers[a] < least)


@compiled()
def _fits(tail: int, head_weights: Array, tail_weights: Array, bounds: Array) -> bool:
    """Return whether the weights (R,) of a head and of one tail add up to between ``bounds`` (2, R)."""
    for r in range(len(head_weights)):
        weight = head_weights[r] + tail_weights[tail, r]
        if not bounds[0, r] <= weight <= bounds[1, r]:
            return False
    return True


@compiled()
def _add(soft: Soft, least: float, weight: float, other: float, other_weight: float) -> tuple[float, float]:
    """Return the sum of two sums; that of nothing is (infinity, 0)."""
    if soft is None:
        return min(least, other), 0.0
    if other < least:
        least, weight, other, other_weight = other, other_weight, least, weight
    if other_weight > 0.0 and other - least < _NEGLIGIBLE:
        weight += other_weight * np.exp(least - other)
    return least, weight


@compiled()
def _finish(soft: Soft, answers: Array, weights: Array) -> None:
    """Turn answers (K,), the least of each sum, into what the sums stand for."""
    if soft is not None:
        for a in range(len(answers)):
            if weights[a] > 0.0:
                answers[a] -= np.log(weights[a])
