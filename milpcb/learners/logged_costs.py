"""Base of learners for i.i.d. rounds: importance-weighted costs, and the best policy on them so far."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from milpcb.core.checks import whole
from milpcb.learners.needs import played_on, require
from milpcb.protocols import Policy, ValueOracle
from milpcb.protocols.oracles import table_for
from milpcb.types import Floats


class LoggedCosts:
    """Estimated costs of played actions, and the policy last trained on them.

    The costs go into a table that the oracle keeps (milpcb.protocols.oracles), those of all rounds since a training at
    once when the next one asks. The policy is asked for the action on a row when that row is shown, None before the
    first training. So a round costs the same however many contexts there are, if that is so of the table's queries,
    and contexts may arrive. Costs are never negative: sums of them lose no digits, however long they are kept.
    ``log_size`` is log N, taken as at least log 2: a class of one policy is treated as a class of two.
    """

    def __init__(self, learner: str, oracle: ValueOracle) -> None:
        require(learner, oracle, "minimise")
        self.n_actions = whole("n_actions", oracle.n_actions, 2)
        self.log_size = max(oracle.log_size, float(np.log(2)))
        self.trained = False
        self._oracle = oracle
        self._table = oracle.table(noise=None)
        self._cells: dict[tuple[int, int], float] = {}  # what was added so far, by row and action
        self._new: list[tuple[int, int, float]] = []  # what the table does not hold yet
        self._policy: Policy | None = None
        self._actions: dict[int, int] = {}  # of the policy, on the rows that it was asked about
        self._trained_on: Any = None  # the totals that the policy is best on, where rows may still arrive

    def add(self, row: int, action: int, amount: float) -> None:
        """Add to the estimated cost of an action at a context."""
        if amount:
            self._cells[row, action] = self._cells.get((row, action), 0.0) + amount
            self._new.append((row, action, amount))

    def train(self) -> None:
        """Take a policy of least estimated cost (one minimiser); raises OracleInexact unless it is proved."""
        if self._new:
            self._table.add_all(*zip(*self._new, strict=True))
            self._new = []
        answer = self._table.minimise()
        _ = answer.value  # raises unless the minimum is proved
        self._policy = answer.policy  # and then some policy attains it
        self._actions, self.trained = {}, True
        self._trained_on = self._table.state() if hasattr(self._oracle, "extend") else None

    def play(self, row: int, epsilon: float) -> Floats:
        """Return q (K,): uniform with probability ``epsilon``, or before any training, else the policy's action."""
        if not self.trained:
            return np.full(self.n_actions, 1.0 / self.n_actions)
        q = np.full(self.n_actions, epsilon / self.n_actions)
        q[self._action(row)] += 1.0 - epsilon
        return q

    def totals(self) -> Floats:
        """Return the estimated costs, summed by context (m, K)."""
        totals = np.zeros((self._oracle.n_contexts, self.n_actions))
        for cell, amount in self._cells.items():
            totals[cell] = amount
        return totals

    def labels(self) -> list[int] | None:
        """Return the policy's actions on all contexts (m,), None before the first training."""
        if self._policy is None:
            return list(self._actions.values()) if self.trained else None
        labels: list[int] = self._policy.predict(self._oracle.contexts).tolist()
        return labels

    def state(self) -> dict[str, Any]:
        """Return costs, table and policy: its labels of all contexts there are, and what it was trained on."""
        return {
            "cells": [[*cell, amount] for cell, amount in self._cells.items()],
            "new": [list(each) for each in self._new],
            "table": self._table.state(),
            "labels": self.labels(),
            "trained_on": self._trained_on,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._cells = {(row, action): amount for row, action, amount in state["cells"]}
        self._new = [(row, action, amount) for row, action, amount in state["new"]]
        labels, self._trained_on = state["labels"], state["trained_on"]
        self.trained = labels is not None
        self._policy, self._actions = None, dict(enumerate(labels or []))
        self._table = table_for(self._oracle, state["table"])
        if self._trained_on is not None:
            self._table.restore(self._trained_on)
            self._policy = self._table.minimise().policy  # for the rows that are still to arrive
        self._table.restore(state["table"])

    def _action(self, row: int) -> int:
        action = self._actions.get(row)
        if action is None:
            policy = cast("Policy", self._policy)  # there is one once it is trained
            action = self._actions[row] = played_on(policy, self._oracle.contexts, row)
        return action


def luck(horizon: int, log_size: float) -> float:
    """Return sqrt(T log N / 2): what the best policy in hindsight gains, at most, on the best one in expectation.

    Bounds for i.i.d. rounds compare with the policy pi* of least expected cost R. The best in hindsight costs less, in
    expectation by at most E max_pi (T R(pi) - cost of pi), a maximum over N sums of T centred variables of range 1.
    """
    return float(np.sqrt(horizon * log_size / 2))


def deviation(second_moment: Floats | float, log_size: float, weight: Floats | float) -> Floats:
    """Return a bound on E[R(pi^)] - R(pi*) for the policy pi^ of least sum of estimates (derived for this project).

    The estimates Y_s(pi) >= 0 have means w_s R(pi) given the past, and ``weight`` is the sum of the w_s;
    ``second_moment`` bounds the sum of the E[Y_s(pi)^2]. As exp(-u) <= 1 - u + u^2 / 2 for u >= 0, the lower tail of a
    sum of such estimates is sub-Gaussian with that sum as its variance, whatever their range. So the largest of N
    shortfalls is at most sqrt(2 second_moment log N) in expectation, and the excess of pi* has mean 0.
    """
    return np.asarray(np.sqrt(2 * np.asarray(second_moment) * log_size) / weight)
