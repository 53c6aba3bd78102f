"""Fixed share over starts: exponential weights that follow changes of the world, with a bound on every path."""

from bisect import bisect_left, bisect_right
from math import exp, log, log1p, sqrt
from typing import Any, ClassVar

import numpy as np

from milpcb.bets import Estimates
from milpcb.core.checks import whole
from milpcb.core.kept import SavedPart
from milpcb.learners.exp4 import FIRST, Weighing, path_gap
from milpcb.ledger import Minimiser
from milpcb.types import Floats, FoundPolicy

FALL = 1.05  # the rate falls by this factor at least
LEAST = 1e-300  # of what is left of a weight


class Alarm(SavedPart):
    """Evidence that costs are higher than their mean was.

    After a round of cost c the evidence grows by log(1 + lambda (c - m)), lambda = 1/4, and is put to 0 where it is
    below; m is the mean of the costs before it since the last alarm, with ten rounds of cost 1 among them. It rings
    above ``calm`` + log t after t rounds. While m is no less than the mean of the next cost, it rings in T rounds with
    probability exp(-calm) (1 + log T) at most (Ville): 8 % for T = 1e5 and ``calm`` = 5.

    ``rung`` is the number of rounds after which it rang last, and ``gaps`` the sum of the d of FixedShare then.
    """

    kept = ("_evidence", "_paid", "_rounds", "rung", "gaps")
    stake, before = 0.25, 10.0  # lambda, and rounds of cost 1

    def __init__(self, calm: float) -> None:
        self._calm = calm
        self.begin(-1, 0.0)

    def begin(self, rounds: int, gaps: float) -> None:
        """Begin anew, without evidence, after so many ``rounds``; ``gaps`` is the sum of d until then."""
        self._evidence, self._paid, self._rounds = 0.0, self.before, self.before
        self.rung, self.gaps = rounds, gaps

    def rings(self, cost: float, rounds: int) -> bool:
        """Take in the cost of the last of so many ``rounds``, and return whether costs have risen."""
        self._evidence = max(0.0, self._evidence + log1p(self.stake * (cost - self._paid / self._rounds)))
        self._paid, self._rounds = self._paid + cost, self._rounds + 1
        return self._evidence > self._calm + log(rounds)


class FixedShare(Weighing):
    """Exponential weights over pairs of a policy and the time since which its costs count.

    Setting: nothing is assumed, costs are oblivious. At the end of each block of the certificates, and at an alarm, a
    new *start* receives the share alpha of all weight: Exp4 on the costs from then on. Play mixes the starts awake.
    Algorithm and bounds are those of statement 23 of milpcb/theory/changes.md; C is log(W / alpha), and the rate min(1,
    C / Delta), Delta the sum of the d since the last alarm, falls in steps of 5 %. Alarms (see Alarm) count once in a
    block. Trees are played by one recursion a round for all starts, other classes by one query for each.

    Parameters
    ----------
    oracle, horizon, seed : as of every learner; the horizon plans the blocks too
    estimates : "unbiased", c / q; or "optimistic" (see Exp4), which explores more, and whose bounds may be smaller

    """

    share: ClassVar[float] = 0.016  # alpha, what a new start gets of all weight
    calm: ClassVar[float] = 5.0  # of the alarm
    bolder: ClassVar[float] = 3.0  # than Exp4's, the stakes of optimistic estimates: there is more to be certain of
    kept = ("block", "_gaps", "_unsure", "rate", "_least", "_risen", "_starts", "_since", "_logs", "_tables", "_alarm")

    def __init__(
        self, oracle: Any, *, horizon: int | None = None, seed: int = 0, estimates: Estimates = "unbiased"
    ) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed, estimates=estimates)
        self._change = self._log_count - log(self.share)  # C
        self._tables = oracle.table(noise=None).several()
        self._tables.begin(0)
        self._starts = [0]  # the number of the start of each table
        self._since = [0]  # after how many rounds it was born
        self._logs = np.zeros(1)  # of their weights u
        self._others = 1.0 - np.eye(self.n_actions)
        self.block = 0  # the number of the last start
        self._gaps = 0.0  # the sum of all d
        self._alarm = Alarm(self.calm)
        self._unsure = 0.0  # estimates of rounds that were learnt in another block than they were played in
        self.rate = self._least = FIRST
        self._risen = 0.0  # rho
        self._asked: tuple[int, Floats] | None = None  # a row and what each table plays there (J, K)

    def _act(self, row: int) -> Floats:
        return self._mixed(self._played(row))

    def _mixed(self, played: Floats) -> Floats:
        q: Floats = np.exp(self._logs) @ played
        return np.asarray(q / q.sum())

    def _played(self, row: int) -> Floats:
        if self._asked is None or self._asked[0] != row:
            self._asked = row, self._tables.action_weights(row, self.rate)
        return self._asked[1]

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        if cost:
            estimate = cost / probability
            if self._optimism is not None:
                estimate = self._optimism.estimate(cost, estimate, self.played + 1)
            played = self._played(row)
            mass = float(self._mixed(played)[action]) if self.late else probability
            self._gaps += path_gap(cost, mass, estimate, self.rate)
            if self.late and self._before < self._began():
                self._unsure += estimate
            self._tables.add(row, action, estimate)
            self._charge(played, action, estimate)
            self._asked = None
        if (self._gaps - self._alarm.gaps) * self.rate > FALL * self._change:
            self._set_rate(self._change / (self._gaps - self._alarm.gaps))
        rounds = self.played + 1
        if self._alarm.rings(cost, rounds) and self._counts(rounds):
            self._alarm.begin(rounds, self._gaps)
            self._set_rate(FIRST)
            self._start(self.block + 1)
        elif self._began(rounds) == rounds:
            self._start(self.block + 1)

    def _counts(self, rounds: int) -> bool:
        """Return whether an alarm counts: the first in its block, while rates were not too high for too long."""
        return self._alarm.rung < self._began() and self._gaps**2 <= 2 * self._change * self.n_actions * rounds

    def _charge(self, played: Floats, action: int, estimate: float) -> None:
        others = played @ self._others[action]  # 1 less the share would be rounded to nothing
        self._logs += np.log(np.maximum(others + played[:, action] * exp(-self.rate * estimate), LEAST))
        self._normalise()

    def starts(self) -> list[tuple[int, float]]:
        """Return the starts awake: the number of each, and the logarithm of its weight u."""
        return list(zip(self._starts, self._logs.tolist(), strict=True))

    def _set_rate(self, rate: float) -> None:
        self._logs *= rate / self.rate
        self._risen += max(0.0, 1 / self.rate - 1 / rate)
        self._least = min(self._least, rate)
        self.rate, self._asked = rate, None
        self._normalise()

    def _start(self, number: int) -> None:
        """Begin a start, in the place of the one that has lived its time."""
        over = [j for j, start in enumerate(self._starts) if start and start + 4 * (start & -start) == number]
        place = over[0] if over else len(self._starts)
        if over:  # its policies go on in the table that began next
            heir = min((start, j) for j, start in enumerate(self._starts) if start > self._starts[place])[1]
            self._logs[heir] = np.logaddexp(self._logs[heir], self._logs[place])
        self._starts[place : place + 1] = [number]
        self._since[place : place + 1] = [self.played + 1]
        self._tables.begin(place)
        self._logs = np.append(self._logs, 0.0)[: len(self._starts)]
        self._logs += log1p(-self.share)
        self._logs[place] = log(self.share)
        self.block, self._asked = number, None
        self._normalise()

    def _normalise(self) -> None:
        top = self._logs.max()
        self._logs -= top + log(np.exp(self._logs - top).sum())

    def _began(self, rounds: int | None = None) -> int:
        """Return after how many rounds the block of the certificates began that the next round is in."""
        ends = self.ledger.blocks.ends
        place = bisect_right(ends, self.played if rounds is None else rounds)
        return ends[place - 1] if place else 0

    def judged(self, oracle: Minimiser) -> Floats:
        """Return the sums of estimates (m, K) over the blocks since the start with the most weight was born."""
        first = bisect_right(self.ledger.blocks.ends, self._since[int(self._logs.argmax())])
        return np.asarray(self.ledger.by_block(0, oracle.n_contexts, oracle.n_actions)[first:].sum(axis=0))

    def policy(self, oracle: Minimiser | None = None) -> FoundPolicy:
        """Return the best policy since the start with the most weight was born; raises what ``certificate`` raises."""
        asked = self._compared(oracle)
        best = asked.minimise(self.judged(asked)).policy
        return super().policy(oracle) if best is None else best

    def guarantee(self, *, changes: int = 0) -> float:
        """Return the bound of statement 23 on mean regret; infinite without a horizon, and for optimistic estimates."""
        if self.horizon is None or self._optimism is not None:
            return np.inf
        if self._log_count == 0:
            return 0.0
        n = 3 + 2 * bisect_left(self.ledger.blocks.ends, self.horizon)
        C, price, V = self._change, self._price(changes, n), self._change * self.n_actions * self.horizon
        before, after = sqrt(2 * V), 0.5 + sqrt(0.25 + FALL * V)
        return price / FIRST + (price / C + 1) * (before + after) + self._log_rise(n) * before / C

    def bound(self, confidence: float | None = None, *, changes: int = 0) -> float:
        """Return an upper bound on ``certificate(changes=changes)`` (class's docstring); 0 before round 1.

        With a ``confidence`` it is NaN where there is no horizon, or estimates are not optimistic.
        """
        if not self.played:
            return 0.0
        n = self.block + 1
        price, rise = (self._price(changes, n), self._log_rise(n)) if self._log_count else (0.0, 0.0)
        bound = price / self._least + rise * self._risen + self._gaps + self._unsure
        if confidence is None:
            return bound
        union = self.ledger.blocks.log_union(changes + 1, self.oracle.log_union) if self.horizon else np.nan
        return bound + self._sure(union, confidence)

    def _price(self, changes: int, n: int) -> float:
        """Return the price of policies in turn, ``n`` starts, at the rate 1."""
        pieces = self._pieces(changes, n)
        starts = -(pieces - 1) * log(self.share) - (n - pieces) * log1p(-self.share)
        return (pieces - 1) * self._log_count + starts + self._log_rise(n)

    def _log_rise(self, n: int) -> float:
        """Return log(W J), J the most that are awake of ``n`` starts."""
        return self._log_count + log(1 + 2 * n.bit_length())

    def _pieces(self, changes: int, n: int) -> int:
        return min(n, 1 + whole("changes", changes, 0) * (1 + (n.bit_length() - 1) // 2))

    def _restore(self, state: dict[str, Any]) -> None:
        self._tables = self.oracle.table(noise=None).several()
        self._logs, self._asked = np.zeros(len(state["logs"])), None
        super()._restore(state)
