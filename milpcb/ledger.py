"""The universal certificate: a bound on a run's mean regret, from nothing but what its learner was shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from milpcb.checks import LARGEST, whole
from milpcb.errors import InputError
from milpcb.types import Answer, Floats, FoundPolicy, Stop


class Certificate(NamedTuple):
    """What one minimisation proves about the rounds so far.

    ``value`` is a random number whose mean bounds mean regret (see ``Ledger``), ``error`` its standard error (NaN where
    no policy was found), ``policy`` the one of least total estimate, None where none was found in time.
    """

    value: float
    error: float
    policy: FoundPolicy


class Minimiser(Protocol):
    """What the certificate asks of an oracle."""

    n_contexts: int
    n_actions: int

    @property
    def contexts(self) -> Floats:
        """Return the contexts (n_contexts, d)."""
        ...

    def minimise(self, costs: Floats) -> Answer:
        """Return bounds on the least total cost and a policy; ``costs`` is (m, K)."""
        ...


class Ledger:
    """Played costs, and estimates of all costs by context and action: all that a certificate is computed from.

    In round s the cost c of the action y was shown, and e >= 0 estimates it: for every action a, the mean of e 1[y = a]
    given the past is at most the cost of a. Where y was drawn with the probability q, e = c / q is such an estimate.
    With L(pi) = sum_s e_s 1[pi(x_s) = y_s] and costs that do not react to the play (derived for this project)

        E[regret] = E[sum_s c_s] - min_pi sum_s c_s(pi) <= E[sum_s c_s] - min_pi E[L(pi)] <= E[C],   C = sum_s c_s -
        min_pi L(pi),

    after every fixed number of rounds (statement 9 of milpcb/theory/README.md): the mean of a minimum is at most the
    minimum of the means. C is the certificate. Its mean bounds mean regret; the regret of one run may lie above its own
    certificate. Where costs do react to the play, E[C] bounds max over pi of E[sum_s c_s - c_s(pi)]. A lower bound on
    the minimum will do, as it makes C larger; and as no estimate is negative, 0 is one.

    The standard error: for a fixed policy, X_s = c_s - e_s 1[pi(x_s) = y_s] has the mean <q_s, c_s> - c_s(pi) given the
    past where estimates are unbiased, so the sum of X_s^2 estimates, without bias, an upper bound on the sum of the
    conditional variances. X_s^2 is (e - c)^2 where pi plays y, and c^2 elsewhere: two sums for each cell. Its root is
    taken at the minimiser, and that this one was chosen by the same numbers is left out of account: the optimism of
    that choice is the mean gap between certificate and regret, and only makes C larger.
    """

    def __init__(self) -> None:
        self.cost = 0.0  # of all actions played
        self.last = 0.0  # the estimate of the last round
        self._cells: dict[tuple[int, int], list[float]] = {}  # by row and action: sums of e, (e - c)^2, c^2

    def add(self, row: int, action: int, cost: float, estimate: float) -> None:
        """Take in a round: the cost of the action played, and its estimate; this is on the path of every round."""
        self.last = estimate
        if cost == 0.0:
            return
        self.cost += cost
        more = estimate - cost
        cell = self._cells.get((row, action))
        if cell is None:
            self._cells[row, action] = [estimate, more * more, cost * cost]
            return
        cell[0] += estimate
        cell[1] += more * more
        cell[2] += cost * cost

    def totals(self, n_contexts: int, n_actions: int) -> Floats:
        """Return the sums of estimates (n_contexts, n_actions), cut off where an oracle would.

        Less is still no overestimate.
        """
        table = np.zeros((n_contexts, n_actions))
        for place, cell in self._cells.items():
            table[place] = min(cell[0], LARGEST)
        return table

    def certify(self, oracle: Minimiser) -> Certificate:
        """Return the certificate against the policies of the oracle, whose rows are the play's: one minimisation."""
        rows = max((row for row, _ in self._cells), default=-1) + 1
        if rows > oracle.n_contexts:
            raise InputError(
                f"the play was on row {rows - 1}, and the oracle has {oracle.n_contexts} contexts; "
                "hand in one that is opened on the contexts of the play"
            )
        answer = oracle.minimise(self.totals(oracle.n_contexts, oracle.n_actions))
        value = self.cost - (answer.upper if answer.stop is Stop.OPTIMAL else max(0.0, answer.lower))
        if answer.policy is None:
            return Certificate(value, np.nan, None)
        labels = np.asarray(answer.policy.predict(oracle.contexts)).tolist() if self._cells else []
        squares = sum(cell[1 if labels[row] == action else 2] for (row, action), cell in self._cells.items())
        return Certificate(value, float(np.sqrt(squares)), answer.policy)

    def state(self) -> list[Any]:
        """Return everything that ``restore`` needs, as plain data."""
        return [self.cost, [[row, action, *cell] for (row, action), cell in self._cells.items()]]

    def restore(self, state: Iterable[Any]) -> None:
        """Go on from a saved state."""
        cost, cells = state
        self.cost, self.last = float(cost), 0.0
        self._cells = {
            (whole("row", row, 0), whole("action", action, 0)): [float(total), float(played), float(other)]
            for row, action, total, played, other in cells
        }
