"""A cheapest policy that is kept while costs change; the oracle is queried only where a change may have unseated it.

The proof is in milpcb/theory/one_draw.md (The kept minimiser), with the number of queries: a query about a table
G proves that no policy costs less than v there, so none costs less at C than the *bound* v + sum over rows x of min_b
(C - G)[x, b]. A query first raises the leader's own entries by an *allowance* (m,) for harm to come.

The successor of a leader is, of the cheapest policies, the one whose actions come first in a fixed random order of
contexts and actions, so that all exact oracles lead to the same leaders.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from milpcb.core.checks import index
from milpcb.oracles.query import LARGEST_WHOLE
from milpcb.protocols import ValueOracle
from milpcb.types import Floats, FoundPolicy, Ints

MOST_KEPT = 24  # policies whose totals are kept
FARTHEST = 2**40  # how far ahead a query may look
NEAREST = 64

Foreseen = Callable[[Ints, int], Floats]


class KeptMinimiser:
    """The cheapest policy on integer ``costs`` (m, K) that change a row at a time; the contexts of the oracle may grow.

    ``order(m)`` returns (m, 1 + K) random numbers that decide between cheapest policies: contexts by the first, the
    actions of each by the others; the numbers for fewer contexts begin those for more. With None a known policy whose
    total is at most the bound succeeds without a query. ``unproved`` accepts policies with bounds alone.

    ``actions`` are the leader's on each row, ``number`` counts leaders, ``ties`` counts the ``queries`` about the order
    of equal policies, ``harms`` the changes that harmed the leader of their time.
    """

    def __init__(
        self, oracle: ValueOracle, costs: Floats, order: Callable[[int], Floats] | None, *, unproved: bool = False
    ) -> None:
        self._oracle, self._order, self._unproved = oracle, order, unproved
        self.number = self.queries = self.ties = self.harms = 0
        self._reach = NEAREST
        self._labels: Ints = np.zeros((len(costs), 0), dtype=np.int64)  # (m, n), a column for each policy found
        self.actions: list[int] = []
        self.replace(costs)

    def replace(self, costs: Floats) -> None:
        """Replace the costs in all rows, of which nothing is known yet."""
        self.costs = np.array(costs, dtype=float)
        self._rows = np.arange(len(self.costs))
        self._totals: Floats = self._totals_of(self._labels)
        self.total = float(self.costs[self._rows, self.actions].sum()) if self.number else np.inf
        self._over = np.zeros_like(self.costs)  # the costs less the table of the last proof
        self.bound = -np.inf
        self._doubt = 0.0  # what the total may exceed the bound by without a new query

    @property
    def in_doubt(self) -> bool:
        """Whether the leader may have been unseated since the last query."""
        return self.total > self.bound + self._doubt

    def change(self, row: int, change: Floats) -> None:
        """Add ``change`` (K,) to the costs of a row."""
        if row >= len(self.costs):
            self.grow()
        self.costs[row] += change
        over = self._over[row]
        self.bound -= float(over.min())
        over += change
        self.bound += float(over.min())
        if self.number:
            self._totals += change[self._labels[row]]
            own = float(change[self.actions[row]])
            self.total += own
            self.harms += own > float(change.min())

    def update(self, foreseen: Foreseen) -> None:
        """Prove the leader to be a cheapest policy, or find its successor.

        ``foreseen(actions, time)`` returns the harm (m,) to the policy that plays ``actions`` (m,) that is expected on
        each row within some time, 0 or more, and no more in a shorter one.
        """
        self.grow()
        if self._order is None and self.number and self._totals.min(initial=np.inf) <= self.bound:
            self._follow(int(self._totals.argmin()))
        elif not (self.number and self._proves(foreseen)):
            self._ask_now()

    def leads_alone(self, row: int) -> bool:
        """Whether all cheapest policies are known to play the leader's action on the row."""
        over, action = self._over[row], self.actions[row]
        return self.bound - float(over.min()) + float(np.delete(over, action).min()) > self.total

    def first_by(self, ranks: Floats, row: int) -> int:
        """Return the action of least rank among those that cheapest policies play on the row; ``ranks`` is (K,)."""
        self.grow()
        order = ranks.argsort(kind="stable").tolist()
        equal = self._labels[row, self._totals == self.total]
        if order[0] in equal:
            return int(order[0])
        table = len(order) * self.costs
        table[row, order] += np.arange(len(order))
        found = self._ask_about_ties(table)
        return self.actions[row] if found is None else int(found[row])

    # ----------------------------------------------------------------- queries

    def _proves(self, foreseen: Foreseen) -> bool:
        if self.queries - self.ties >= self.harms:  # as many as there may be, with the one about the costs as they are
            return False
        reach, leader = min(4 * self._reach, FARTHEST), np.array(self.actions)
        gaps, differ = self._totals - self.total, self._labels != leader[:, None]
        if gaps.min(initial=0.0) < 0.0:
            return False
        allowance = foreseen(leader, reach)
        while reach and not (allowance @ differ <= gaps).all():
            reach //= 2
            allowance = foreseen(leader, reach)
        if not (allowance.any() and (allowance @ differ <= gaps).all()):
            return False
        raised = self.costs.copy()
        raised[self._rows, leader] += allowance
        proved = self._asks_about(raised)
        self._reach = max(NEAREST, reach if proved else reach // 4)
        return proved

    def _ask_now(self) -> None:
        proved = self._asks_about(self.costs)
        if len(self._totals) and self._totals.min() < self.total:
            self._follow(int(self._totals.argmin()))
            if self._order is not None and (proved or self.total <= self.bound):
                self.actions = self._first_of_equals(self._order(len(self.costs))).tolist()
        self._doubt = max(0.0, self.total - self.bound)

    def _follow(self, known: int) -> None:
        self.total, self.number = float(self._totals[known]), self.number + 1
        self.actions = self._labels[:, known].tolist()

    def _asks_about(self, table: Floats) -> bool:
        """Ask about a table; return whether that proves the leader, there and so at the costs as they are."""
        lower, _ = self._ask(table)
        over = self.costs - table
        bound = lower + float(over.min(axis=1).sum())
        if bound >= self.bound:
            self.bound, self._over = bound, over
        return self.total <= self.bound

    def _ask(self, table: Floats) -> tuple[float, Ints | None]:
        """Return what no policy costs less than in a table, and the labels (m,) of the best one found, if any."""
        answer = self._oracle.minimise(table)
        self.queries += 1
        lower = answer.lower if self._unproved else answer.value
        if answer.policy is None:
            return lower, None
        labels = np.asarray(answer.policy.predict(self._oracle.contexts), dtype=np.int64)
        self._keep(labels)
        return lower, labels

    def _ask_about_ties(self, table: Floats) -> Ints | None:
        self.ties += 1
        return self._ask(table)[1]

    def _keep(self, labels: Ints) -> None:
        if (self._labels == labels[:, None]).all(axis=0).any():
            return
        if self._labels.shape[1] == MOST_KEPT:
            kept = np.arange(MOST_KEPT) != self._totals.argmax()
            self._labels, self._totals = self._labels[:, kept], self._totals[kept]
        self._labels = np.column_stack([self._labels, labels])
        self._totals = np.append(self._totals, self._totals_of(labels[:, None]))

    # ----------------------------------------------------------------- of equals, the first

    def _first_of_equals(self, order: Floats) -> Ints:
        """Return the labels (m,) of the cheapest policy that comes first in the order; contexts are fixed by turns."""
        table = self.costs - self.costs.min(axis=1, keepdims=True)
        ranks = order[:, 1:].argsort(axis=1).argsort(axis=1)
        labels, left = np.array(self.actions), order[:, 0].argsort(kind="stable")
        n_actions = table.shape[1]
        while len(left) and self._has_equal(table, labels, left):
            room = LARGEST_WHOLE / (1.0 + float(table.sum()))
            chunk = left[: max(1, int(np.log(max(room, 2.0)) / np.log(n_actions)))]
            weights = float(n_actions) ** np.arange(len(chunk))[::-1]
            asked = table * n_actions ** len(chunk)
            asked[chunk] += weights[:, None] * ranks[chunk]
            found = self._ask_about_ties(asked)
            if (
                found is None or self._totals_of(found[:, None])[0] > self.total
            ):  # beyond what solvers separate, or can do in time
                break
            labels, left = found, left[len(chunk) :]
            table[chunk] += 1.0
            table[chunk, labels[chunk]] -= 1.0
        return labels

    def _has_equal(self, table: Floats, labels: Ints, left: Ints) -> bool:
        """Return whether a cheapest policy of a table differs from ``labels`` (m,), those of one, on rows ``left``."""
        asked = table * (len(left) + 1.0)  # whoever is one unit dearer pays more than all labels in common
        asked[left, labels[left]] += 1.0
        found = self._ask_about_ties(asked)
        return found is not None and bool((found != labels).any())

    # ----------------------------------------------------------------- totals, rows, state

    def _totals_of(self, labels: Ints) -> Floats:
        return np.asarray(self.costs[self._rows[:, None], labels].sum(axis=0))

    def grow(self) -> None:
        """Add the contexts that the oracle has received since, at costs of 0.

        There the leader plays, of the actions of policies with its labels, the first in the order.
        """
        old, new = len(self.costs), self._oracle.n_contexts - len(self.costs)
        if not new:
            return
        pad = ((0, new), (0, 0))
        self.costs, self._over = np.pad(self.costs, pad), np.pad(self._over, pad)
        self._rows = np.arange(old + new)
        self._labels, self._totals = np.zeros((old + new, 0), dtype=np.int64), np.zeros(0)
        if self.number:
            n_actions = self.costs.shape[1]
            table = np.full(self.costs.shape, float(new * n_actions))
            table[self._rows[:old], self.actions] = 0.0
            ranks = np.zeros((old + new, 1 + n_actions)) if self._order is None else self._order(old + new)
            table[old:] = ranks[old:, 1:].argsort(axis=1, kind="stable").argsort(axis=1)
            self.actions = cast("Ints", self._ask_about_ties(table)).tolist()

    def policy(self) -> FoundPolicy:
        """Return a policy that plays the leader's actions, by a query that is not counted."""
        table = np.ones_like(self.costs)
        table[self._rows, self.actions] = 0.0
        return self._oracle.minimise(table).policy

    def state(self) -> dict[str, Any]:
        """Return everything but the costs, as plain data (JSON-able)."""
        return {
            "actions": self.actions,
            "known": self._labels.T.tolist(),
            "over": self._over.tolist(),
            "bound": self.bound if np.isfinite(self.bound) else None,
            "doubt": self._doubt,
            "counts": [self.number, self.queries, self.ties, self.harms, self._reach],
        }

    def restore(self, state: dict[str, Any], costs: Floats) -> None:
        """Go on from a saved state, at the costs (m, K) of that moment."""
        self._labels = np.array(state["known"], dtype=np.int64).reshape(-1, len(costs)).T
        self.actions = [index("action", action, costs.shape[1]) for action in state["actions"]]
        self.number, self.queries, self.ties, self.harms, self._reach = state["counts"]
        self.replace(costs)
        self._over[:] = state["over"]
        self.bound = -np.inf if state["bound"] is None else float(state["bound"])
        self._doubt = float(state["doubt"])
