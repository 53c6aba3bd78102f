"""The best policy under an order: the action never goes down as a column grows. By branch and bound.

The best policy of the class bounds the cost of those in order. Where it goes down, from action a to a lower one b, at a
context between two neighbouring values of the ordered column, every policy in order either plays less than k in the
first or k or more in the second, for k between b and a; and so for all values before the first or after the second.
These are two queries of the same oracle, with forbidden actions at contexts that cost nothing otherwise. The cheapest
open answer is looked at next, so the first one that is in order is the best, whatever the class, the oracle and the
side constraints are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count, product
from math import ceil, prod
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import several
from milpcb.core.decimals import spaced
from milpcb.errors import InfeasibleError, InputError, OracleInexact, shown
from milpcb.offline.question import Best, Question, Restricted, explicit
from milpcb.offline.restrictions.restriction import check_columns
from milpcb.types import Answer, Floats

MOST_CELLS = 1_000_000  # of the tests of one policy
AT_ONCE = 100_000  # rows whose actions are compared at a time
Cuts = Mapping[int, "tuple[float, ...] | None"]


@dataclass(frozen=True, eq=False)
class Joint:
    """Numbers that are made of one column of a table: which they are, and what they may be together."""

    places: tuple[int, ...]  # (k,) their numbers among the columns of the contexts
    values: Floats  # (v, k) what they may be
    # of the first so many values none may get a higher action than a later one of them; 0 where all is allowed
    chain: int = 0


@dataclass(frozen=True)
class Step:
    """Where a policy goes down: at a context (d,), between the values ``last`` and ``last + 1`` of a joint's chain."""

    context: Floats
    joint: int
    last: int
    before: int
    after: int


class ActionOrder:
    """The order that ``joints`` ask for, whatever the numbers of the other joints are; together they are all columns.

    Parameters
    ----------
    joints : of them some have a chain
    contexts : (m, d), the rows of the data: a policy is looked at there first

    """

    def __init__(self, joints: Sequence[Joint], contexts: Floats) -> None:
        self.joints = tuple(joints)
        self._contexts = contexts
        self._spread = contexts.std(axis=0) + (contexts.std(axis=0) == 0)

    def broken(self, policy: Any) -> Step | None:
        """Return a place where a policy plays a higher action before a lower one; None where it keeps the order."""
        cuts = getattr(policy, "cut_points", lambda: None)()
        if cuts is None:
            raise InputError(f"no order can be asked of policies that are no rules of columns: {shown(policy)}")
        for number, joint in enumerate(self.joints):
            starts = _starts(joint, cuts)
            if len(starts) > 1:
                for rows in self._looked_at(cuts, number):
                    if step := self._step(policy, number, starts, rows):
                        return step
        return None

    def _looked_at(self, cuts: Cuts, number: int) -> Iterator[Floats]:
        """Yield the contexts, and then one of each way in which the tests may come out, the joint ``number`` aside."""
        yield from np.array_split(self._contexts, ceil(len(self._contexts) / AT_ONCE))
        others = [joint for other, joint in enumerate(self.joints) if other != number]
        some = [(joint.places, found) for joint in others if len(found := _each_way(joint, cuts)) > 1]
        cells = prod(len(found) for _, found in some)
        if cells > MOST_CELLS:
            raise InputError(
                f"an order cannot be asked of policies with so many tests: {spaced(cells)} ways; take fewer"
            )
        grid = np.repeat(self._contexts[:1], cells, axis=0)
        for row, values in zip(grid, product(*(found for _, found in some)), strict=True):
            for (places, _), value in zip(some, values, strict=True):
                row[list(places)] = value
        yield grid

    def _step(self, policy: Any, number: int, starts: Sequence[int], rows: Floats) -> Step | None:
        """Return a step of ``rows`` that goes down: where most of them do, one from the middle of them."""
        joint = self.joints[number]
        every = np.repeat(rows, len(starts), axis=0)
        every[:, joint.places] = np.tile(joint.values[list(starts)], (len(rows), 1))
        played = np.asarray(policy.predict(every)).reshape(len(rows), len(starts))
        down = played[:, :-1] > played[:, 1:]
        if not down.any():
            return None
        at = int(down.sum(axis=0).argmax())
        here = np.flatnonzero(down[:, at])
        apart = np.abs(rows[here] - np.median(rows[here], axis=0)) / self._spread
        apart[:, joint.places] = 0.0
        row = here[apart.sum(axis=1).argmin()]
        return Step(rows[row], number, starts[at + 1] - 1, int(played[row, at]), int(played[row, at + 1]))


def distinguished(joints: Sequence[Joint], thresholds: Any) -> list[Joint]:
    """Return the joints with one of the values that no cut point divides; ``thresholds`` are one list a number."""
    if not isinstance(thresholds, tuple):
        return list(joints)
    cuts = {place: tuple(sorted(points)) for place, points in enumerate(thresholds)}
    found = []
    for joint in joints:
        rising = joint.values[_starts(joint, cuts)] if joint.chain else joint.values[:0]
        rest = Joint(joint.places, joint.values[joint.chain :])
        more = _each_way(rest, cuts) if len(rest.values) else rest.values
        found.append(Joint(joint.places, np.concatenate([rising, more]), len(rising)))
    return found


def _starts(joint: Joint, cuts: Cuts) -> list[int]:
    """Return the values of a chain at which some test comes out otherwise than before, and the first; () for none."""
    if not joint.chain:
        return []
    ways = _ways(joint, cuts)[: joint.chain]
    return [0, *(np.flatnonzero((np.diff(ways, axis=0) != 0).any(axis=1)) + 1).tolist()]


def _each_way(joint: Joint, cuts: Cuts) -> Floats:
    """Return one of the values (w, k) for each way in which the tests come out."""
    _, first = np.unique(_ways(joint, cuts), axis=0, return_index=True)
    return joint.values[first]


def _ways(joint: Joint, cuts: Cuts) -> Floats:
    """Return (v, k) numbers that are equal where all tests of a policy come out alike."""
    return np.column_stack(
        [_way(values, cuts.get(place, ())) for place, values in zip(joint.places, joint.values.T, strict=True)]
    )


def _way(values: Floats, cuts: tuple[float, ...] | None) -> Floats:
    if cuts is None:
        return values
    return (np.searchsorted(cuts, values) + np.searchsorted(cuts, values, side="right")).astype(float)


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
    """Return the answer about the policies that keep an order, under ``rules`` on the ``contexts`` (m, d).

    ``opened`` opens an oracle on more contexts, of which the first m are those given and further ones do not count, and
    side constraints on them; its cut points are explicit, so that it has the same policies there. Raises
    InfeasibleError where no policy keeps order and side constraints, OracleInexact where an answer came to nothing in
    time, InputError where there are too many queries.
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
                f"the best policy in this order takes more than {spaced(MOST_QUERIES)} queries; ask for less depth, or "
                "take fewer thresholds or columns"
            )
        for more in asked.ways_out(step):
            found = asked.answer((*cells, more))
            if found is not None:
                heappush(open_ones, (found.lower, next(numbers), (*cells, more), found))
    raise InfeasibleError("no policy of the class keeps both the order and the side constraints")


def _padded(rule: LabelConstraint, n: int) -> LabelConstraint:
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
        joint = self._order.joints[step.joint]
        line = np.repeat(step.context[None, :], joint.chain, axis=0)
        line[:, joint.places] = joint.values[: joint.chain]
        key = step.joint, line.tobytes()
        if key not in self._lines:
            self._lines[key] = len(self._contexts)
            self._contexts = np.vstack([self._contexts, line])
            self._ask = self._open_on(self._contexts)
        return self._lines[key]


WAYS = (1, -1, 0)  # up, down, and no order


@dataclass(frozen=True)
class Monotone:
    """The action never goes down (or, with -1, up) as a column grows, whatever the other columns of a row are.

    The order of actions is that of their numbers. The policies are rules of columns: trees, thresholds, lists, boxes,
    scoring systems.
    """

    columns: Mapping[int, int]
    name: str = "monotone"

    def of(self, question: Question) -> Restricted:
        """Return the class under the order."""
        known = explicit(question)
        if not isinstance(self.columns, Mapping):
            raise InputError(f"columns must map numbers of columns to 1 or -1, got {shown(self.columns)}")
        check_columns(tuple(self.columns), known.rows)
        if not all(way in WAYS for way in self.columns.values()):
            raise InputError(f"an order is 1 where the action never goes down, -1 where never up, got {self.columns}")
        joints = [
            Joint((place,), values, len(values) if sign else 0)
            for place in range(known.rows.shape[1])
            for sign in [self.columns.get(place, 0)]
            for values in [_values(known, place)[:: sign or 1, None]]
        ]
        return InOrder(joints, self.name).of(known)


@dataclass(frozen=True, eq=False)
class InOrder:
    """The action never goes down along the chains of some joints, which are all columns of the contexts."""

    joints: Sequence[Joint]
    name: str = "monotone"

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", several("joints", self.joints, Joint, "Joint"))

    def of(self, question: Question) -> Restricted:
        """Return the class under the order."""
        known = explicit(question)
        check_orderable(known.policies)
        if sorted(place for joint in self.joints for place in joint.places) != list(range(known.rows.shape[1])):
            raise InputError("joints must hold each column of the contexts once")
        cuts = getattr(known.policies, "thresholds", None)
        return _Ordered(known, ActionOrder(distinguished(self.joints, cuts), known.rows))


@dataclass(frozen=True, eq=False)
class _Ordered:
    question: Question
    order: ActionOrder

    def best(self, costs: Floats) -> Best:
        """Return the least total cost and a policy."""
        known = self.question

        def opened(contexts: Floats, rules: list[LabelConstraint]) -> Ask:
            return replace(known, contexts=contexts, constraints=tuple(rules)).oracle.minimise

        answer = best_in_order(opened, known.rows, known.constraints, costs, self.order)
        return Best(answer.value, answer.policy)


def check_orderable(policies: Any) -> None:
    """Raise InputError for a class whose policies depend on how many contexts there are: an order adds some."""
    for limit in ("min_leaf_size", "min_action_rows"):
        if getattr(policies, limit, None) is not None:
            raise InputError(f"no order can be asked together with {limit}, as it counts rows; leave one of them out")


def _values(question: Question, place: int) -> Floats:
    """Return values of a column on each side of its cuts and at them; all its values for a class without cuts."""
    cuts = getattr(question.policies, "thresholds", None)
    if not isinstance(cuts, tuple):
        return np.unique(question.rows[:, place])
    inside = np.unique(np.asarray(cuts[place], dtype=float))
    if not len(inside):
        return question.rows[:1, place]
    between = (inside[:-1] + inside[1:]) / 2
    return np.unique(np.concatenate([[inside[0] - 1.0], inside, between, [inside[-1] + 1.0]]))
