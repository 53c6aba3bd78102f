"""The best policy that keeps an order: branch and bound on what policies play at single contexts.

The best policy of the class bounds the cost of those in order. Where it goes down, from action a to a lower one b, at a
context between two neighbouring values of the ordered column, every policy in order either plays less than k in the
first or k or more in the second, for k between b and a; and so for all values before the first or after the second.
These are two queries of the same oracle, with forbidden actions at contexts that cost nothing otherwise. The cheapest
open answer is looked at next, so the first one that is in order is the best, whatever the class, the oracle and the
side constraints are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.errors import InfeasibleError, InputError, OracleInexact
from milpcb.offline.arguing.order import ActionOrder, Step
from milpcb.types import Answer, Floats

MOST_QUERIES = 5_000
Ask = Callable[[Floats], Answer]  # of costs (m, K)
Cells = tuple[slice, slice]  # forbidden contexts and actions


def best_in_order(
    opened: Callable[[Floats, list[LabelConstraint]], Ask],
    contexts: Floats,
    rules: Sequence[LabelConstraint],
    costs: Floats,
    order: ActionOrder,
) -> Answer:
    """Return the answer about the policies that keep an order.

    Parameters
    ----------
    opened : opens an oracle on contexts (m', d), of which the first m are those given, and side constraints on them;
        its cut points are explicit, so that it has the same policies on more contexts
    contexts, costs : (m, d) and (m, K)
    rules : side constraints on the contexts; further ones do not count
    order : what is asked

    Raises
    ------
    InfeasibleError where no policy keeps order and side constraints; OracleInexact where an answer came to nothing in
    time; InputError where there are too many queries

    """

    def open_on(more: Floats) -> Ask:
        return opened(more, [_padded(rule, len(more)) for rule in rules])

    asked = _Asked(open_on, contexts, costs, order)
    first = asked.answer(())
    if first is None:
        raise InfeasibleError("no policy of the class keeps the side constraints")
    numbers = count()
    open_ones: list[tuple[float, int, tuple[Cells, ...], Answer]] = [(first.lower, next(numbers), (), first)]
    while open_ones:
        lower, number, cells, answer = heappop(open_ones)
        step = order.broken(answer.policy)
        if step is None:
            return replace(answer, lower=lower)
        if number > MOST_QUERIES:
            raise InputError(
                f"the best policy in this order takes more than {MOST_QUERIES:,} queries; ask for less depth, or "
                "take fewer thresholds or columns"
            )
        for more in asked.ways_out(step):
            found = asked.answer((*cells, more))
            if found is not None:
                heappush(open_ones, (found.lower, next(numbers), (*cells, more), found))
    raise InfeasibleError("no policy of the class keeps both the order and the side constraints")


def _padded(rule: LabelConstraint, n: int) -> LabelConstraint:
    """Return a rule on more contexts, n in all, of which the new ones do not count."""
    weights = np.asarray(rule.weights, dtype=float)
    return replace(rule, weights=np.vstack([weights, np.zeros((n - len(weights), weights.shape[1]))]))


class _Asked:
    """An oracle that is opened again as contexts are added to its own."""

    def __init__(self, open_on: Callable[[Floats], Ask], contexts: Floats, costs: Floats, order: ActionOrder) -> None:
        self._open_on, self._contexts, self._costs, self._order = open_on, contexts, costs, order
        self._ask = open_on(contexts)
        self._lines: dict[tuple[int, bytes], int] = {}
        highest = float(costs.max(axis=1).sum())
        self._price = 2.0 * (highest - float(costs.min(axis=1).sum())) or abs(highest) or 1.0  # whole where costs are
        self._most = highest + self._price / 4.0  # only totals with a price are above it

    def answer(self, cells: tuple[Cells, ...]) -> Answer | None:
        """Return the answer about policies that play no forbidden cell; None where there are none."""
        costs = np.zeros((len(self._contexts), self._costs.shape[1]))
        costs[: len(self._costs)] = self._costs
        for rows, actions in cells:
            costs[rows, actions] = self._price
        try:
            found = self._ask(costs)
        except InfeasibleError:
            return None
        if found.lower > self._most:
            return None
        if found.policy is None or found.upper > self._most:
            raise OracleInexact("no policy in this order was found in time; give the oracle more")
        return found

    def ways_out(self, step: Step) -> tuple[Cells, Cells]:
        """Return what policies that do not take this step down may not play: the one or the other."""
        start = self._line(step)
        least = (step.before + step.after + 1) // 2
        stop = start + self._order.joints[step.joint].chain
        middle = start + step.last + 1
        return (slice(start, middle), slice(least, None)), (slice(middle, stop), slice(0, least))

    def _line(self, step: Step) -> int:
        """Return where the contexts begin that are the step's with all values of the chain."""
        joint = self._order.joints[step.joint]
        line = np.repeat(step.context[None, :], joint.chain, axis=0)
        line[:, joint.places] = joint.values[: joint.chain]
        key = step.joint, line.tobytes()
        if key not in self._lines:
            self._lines[key] = len(self._contexts)
            self._contexts = np.vstack([self._contexts, line])
            self._ask = self._open_on(self._contexts)
        return self._lines[key]
