"""The best policy under an order, by branch and bound: the action never goes down as a column grows.

The branches are those of milpcb/offline/restrictions/README.md, with forbidden actions at contexts that cost nothing
otherwise. The cheapest open answer is examined next, so the first one that keeps the order is the best.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.decimals import spaced
from milpcb.errors import InfeasibleError, InputError, OracleInexact, shown
from milpcb.types import Answer, Floats

MOST_CELLS = 1_000_000  # of the tests of one policy
AT_ONCE = 100_000  # rows whose actions are compared at a time
MOST_QUERIES = 5_000
Cuts = Mapping[int, "tuple[float, ...] | None"]
Ask = Callable[[Floats], Answer]  # of costs (m, K)
Opener = Callable[[Floats, list[LabelConstraint]], Ask]  # opens an oracle on contexts (m, d), under side constraints
Cells = tuple[slice, slice]  # forbidden contexts and actions


@dataclass(frozen=True, eq=False)
class Joint:
    """Numbers that are made of one column of a table: their places, and the values that they take together."""

    places: tuple[int, ...]  # (k,) their numbers among the columns of the contexts
    values: Floats  # (v, k) what they may be
    # of the first so many values none may get a higher action than a later one of them; 0 where all is allowed
    chain: int = 0

    def ways(self, cuts: Cuts) -> Floats:
        """Return (v, k) numbers that are equal where all tests by these cuts come out alike."""
        found = self.values.copy()
        for place, values in zip(self.places, found.T, strict=True):
            if (points := cuts.get(place, ())) is not None:
                values[:] = np.searchsorted(points, values) + np.searchsorted(points, values, side="right")
        return found

    def starts(self, cuts: Cuts) -> list[int]:
        """Return the values of the chain at which the outcome of some test changes, and the first value."""
        if not self.chain:
            return []
        ways = self.ways(cuts)[: self.chain]
        return [0, *(np.flatnonzero((np.diff(ways, axis=0) != 0).any(axis=1)) + 1).tolist()]

    def each_way(self, cuts: Cuts) -> Floats:
        """Return one of the values (w, k) for each combination of outcomes of the tests."""
        return self.values[np.unique(self.ways(cuts), axis=0, return_index=True)[1]]

    def distinguished(self, cuts: Cuts) -> "Joint":
        """Return the joint with one value for each set of values that no cut divides."""
        rising = self.values[self.starts(cuts)]
        rest = Joint(self.places, self.values[self.chain :])
        more = rest.each_way(cuts) if len(rest.values) else rest.values
        return Joint(self.places, np.concatenate([rising, more]), len(rising))


class Descent(NamedTuple):
    """Where a policy goes down: at a context (d,), between the values ``last`` and ``last + 1`` of a joint's chain."""

    context: Floats
    joint: int
    last: int
    middle: int  # the lower action is below it, the higher one is not


class ActionOrder:
    """The order of ``joints``; together they are all columns of the rows of the data, ``contexts`` (m, d).

    ``thresholds`` are explicit cut points, a tuple of one list a number, or anything else.
    """

    def __init__(self, joints: Sequence[Joint], contexts: Floats, thresholds: Any = None) -> None:
        self._joints, self._contexts = list(joints), contexts
        if isinstance(thresholds, tuple):
            cuts = {place: tuple(sorted(points)) for place, points in enumerate(thresholds)}
            self._joints = [joint.distinguished(cuts) for joint in joints]

    def best(self, opened: Opener, rules: Sequence[LabelConstraint], costs: Floats) -> Answer:
        """Return the answer about the policies that keep the order, under ``rules`` on the contexts; costs are (m, K).

        Of the contexts on which ``opened`` opens oracles the first m are those given; its cut points are explicit.
        Raises InfeasibleError; OracleInexact where no policy was found in time, InputError after too many queries.
        """
        asked = _Branches(opened, self._contexts, rules, costs)
        if not asked.push(()):
            raise InfeasibleError("no policy of the class keeps the side constraints")
        while asked.open:
            lower, number, cells, answer = heappop(asked.open)
            step = self._broken(answer.policy)
            if step is None:
                return replace(answer, lower=lower)
            if number > MOST_QUERIES:
                raise InputError(
                    f"the best policy in this order takes more than {spaced(MOST_QUERIES)} queries; ask for less "
                    "depth, or take fewer thresholds or columns"
                )
            joint = self._joints[step.joint]
            line = np.repeat(step.context[None, :], joint.chain, axis=0)
            line[:, joint.places] = joint.values[: joint.chain]
            start = asked.line(line)
            end = start + step.last + 1
            asked.push((*cells, (slice(start, end), slice(step.middle, None))))
            asked.push((*cells, (slice(end, start + joint.chain), slice(0, step.middle))))
        raise InfeasibleError("no policy of the class keeps both the order and the side constraints")

    def _broken(self, policy: Any) -> Descent | None:
        """Return a place where a policy goes down; None where it keeps the order."""
        cuts = getattr(policy, "cut_points", lambda: None)()
        if cuts is None:
            raise InputError(f"no order can be asked of policies that are no rules of columns: {shown(policy)}")
        for number, joint in enumerate(self._joints):
            starts = joint.starts(cuts)
            if len(starts) > 1:
                for rows in self._looked_at(cuts, number):
                    if step := self._step(policy, number, starts, rows):
                        return step
        return None

    def _looked_at(self, cuts: Cuts, number: int) -> Iterator[Floats]:
        """Yield the contexts, and then one for each way in which the tests of the other joints may come out."""
        yield from np.array_split(self._contexts, ceil(len(self._contexts) / AT_ONCE))
        others = [(joint.places, joint.each_way(cuts)) for at, joint in enumerate(self._joints) if at != number]
        some = [(places, values) for places, values in others if len(values) > 1]
        cells = prod(len(values) for _, values in some)
        if cells > MOST_CELLS:
            raise InputError(
                f"an order cannot be asked of policies with so many tests: {spaced(cells)} ways; take fewer"
            )
        grid, place = np.repeat(self._contexts[:1], cells, axis=0), np.arange(cells)
        for places, values in reversed(some):
            grid[:, places] = values[place % len(values)]
            place //= len(values)
        yield grid

    def _step(self, policy: Any, number: int, starts: Sequence[int], rows: Floats) -> Descent | None:
        """Return a step of ``rows`` that goes down, where most of them do; None where none does."""
        joint = self._joints[number]
        every = np.repeat(rows, len(starts), axis=0)
        every[:, joint.places] = np.tile(joint.values[list(starts)], (len(rows), 1))
        played = np.asarray(policy.predict(every)).reshape(len(rows), len(starts))
        down = played[:, :-1] > played[:, 1:]
        if not down.any():
            return None
        at = int(down.sum(axis=0).argmax())
        row = int(down[:, at].argmax())
        return Descent(rows[row], number, starts[at + 1] - 1, int(played[row, at] + played[row, at + 1] + 1) // 2)


class _Branches:
    """Answers about policies that play no forbidden cell; the oracle is opened again as contexts are added."""

    def __init__(self, opened: Opener, contexts: Floats, rules: Sequence[LabelConstraint], costs: Floats) -> None:
        self._opened, self._contexts, self._rules, self._costs = opened, contexts, rules, costs
        self._ask = opened(contexts, list(rules))
        self._lines: dict[bytes, int] = {}
        highest = float(costs.max(axis=1).sum())
        self._price = 2.0 * (highest - float(costs.min(axis=1).sum())) or abs(highest) or 1.0  # whole where costs are
        self._most = highest + self._price / 4.0  # only totals with a price are above it
        self._asked = 0
        self.open: list[tuple[float, int, tuple[Cells, ...], Answer]] = []  # a heap, the cheapest first

    def push(self, cells: tuple[Cells, ...]) -> bool:
        """Add the answer about policies that play none of the cells; False where there are none."""
        costs = np.zeros((len(self._contexts), self._costs.shape[1]))
        costs[: len(self._costs)] = self._costs
        for rows, actions in cells:
            costs[rows, actions] = self._price
        try:
            found = self._ask(costs)
        except InfeasibleError:
            return False
        if found.lower > self._most:
            return False
        if found.policy is None or found.upper > self._most:
            raise OracleInexact("no policy in this order was found in time; give the oracle more")
        heappush(self.open, (found.lower, self._asked, cells, found))
        self._asked += 1
        return True

    def line(self, line: Floats) -> int:
        """Return the place of the first of some contexts in a row, which are added unless they are there."""
        key = line.tobytes()
        if key not in self._lines:
            self._lines[key] = len(self._contexts)
            self._contexts = np.vstack([self._contexts, line])
            none = np.zeros((len(self._contexts) - len(self._costs), self._costs.shape[1]))
            rules = [replace(rule, weights=np.vstack([np.asarray(rule.weights), none])) for rule in self._rules]
            self._ask = self._opened(self._contexts, rules)
        return self._lines[key]


def check_orderable(policies: Any) -> None:
    """Raise InputError for a class whose policies depend on the number of contexts, as an order adds contexts."""
    for limit in ("min_leaf_size", "min_action_rows"):
        if getattr(policies, limit, None) is not None:
            raise InputError(f"no order can be asked together with {limit}, as it counts rows; leave one of them out")
