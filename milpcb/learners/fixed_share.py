"""Fixed share over starts: exponential weights that follow changes of the world, with a bound on every path."""

from __future__ import annotations

from math import exp, log, log1p, sqrt
from typing import Any, ClassVar, get_args

import numpy as np

from milpcb.core.checks import check_confidence, choice, whole
from milpcb.learners.base import Learner
from milpcb.learners.exp4 import WeighingOracle, path_gap
from milpcb.learners.needs import require
from milpcb.learners.optimism import Estimates, Optimism
from milpcb.types import Floats, Ints

FALL = 1.05  # the rate falls by this factor at least
LEAST = 1e-300  # of what is left of a weight


class FixedShare(Learner):
    """Exponential weights over policies and the time from which they are judged.

    Setting: nothing is assumed, costs are oblivious. Rounds are divided into blocks, five in each block of the
    certificates (milpcb/theory/changes.md). At the start of block k a new *start* receives the share alpha of all
    weight: Exp4 on the costs from then on. Start 0 lives for ever, start k for 4 lowbit(k) blocks, lowbit(k) the
    largest power of 2 that divides k; so some 2 log2(n) are awake, and whenever the world changed, one of about the
    right age is among them. Play mixes the starts awake by their weights u, which fall as those of policies do: with
    p_j(a) the weight of the policies of start j that play a, and x the estimate of the cost of the action y,

        q(a) = sum_j u_j p_j(a),    u_j <- u_j (1 - p_j(y) (1 - exp(-eta x))), as parts of their sum.

    The rate is min(0.09, C / Delta), Delta = d_1 + ... + d_t with the d of Exp4. C is 1.5 log(W / alpha) for each start
    that came to have the most weight when a block ended, up to 12 log(W / alpha): where the world is not seen to change
    the rate falls soon, and where it changes it stays. It falls in steps of 5 %, and u is then raised to the power eta'
    / eta. No horizon, and no number of changes, need be known. With W the number of derivations, n blocks, J starts
    awake and R pieces, each of which one start plays, 1 + log_4 n at most for each policy after the first, on every
    path (statement 23 of milpcb/theory/changes.md)

        certificate(changes=S - 1) <= bound(changes=S - 1)
            = [R log W + (R - 1) log 1/alpha + (n - R) log 1/(1 - alpha) + log J] / eta_t + d_1 + ... + d_t.

    No sqrt(S T) is claimed for all S at once: the rate does not know S. Where nothing changes it costs more than Exp4.
    Any class with action weights can be played; trees by one compiled call a round for all starts, other classes by one
    query for each. What is learnt in another block than it was played in counts in full in the bound.

    Parameters
    ----------
    oracle : the policy class; kinds "search" and "audited" (for most classes) and "enumeration" have action weights
    horizon : number of rounds T, or None for no end; it plans the blocks, and makes ``guarantee()`` a number
    seed : not used
    estimates : "unbiased", c / q; or "optimistic" (see Exp4), which explores more and can be surer of more

    """

    delayed = True
    plays_policies = True
    parts: ClassVar[int] = 5  # of each block of the certificates
    share: ClassVar[float] = 0.016  # alpha, what a new start gets of all weight
    each: ClassVar[float] = 1.5  # C for each start that came to lead, in units of what a change costs at the rate 1
    ahead: ClassVar[float] = 12.0  # C at most, in the same units
    first: ClassVar[float] = 0.09  # the rate of the first round
    bolder: ClassVar[float] = 1.5  # than Exp4's, the stakes of optimistic estimates: there is more to be certain of
    oracle: WeighingOracle
    kept = ("block", "_gaps", "_unsure", "rate", "_starts", "_logs", "_leader", "_led", "_tables")

    def __init__(
        self,
        oracle: WeighingOracle,
        *,
        horizon: int | None = None,
        seed: int = 0,
        estimates: Estimates = "unbiased",
    ) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require("fixed_share", oracle, "action_weights")
        self._log_count = max(0.0, oracle.log_derivations)
        self._change = self._log_count - log(self.share)  # what one costs at the rate 1
        self._ends = _parts(self.ledger.blocks.ends, self.parts)
        self._tables = oracle.table(noise=None).several()
        self._tables.begin(0)
        self._starts = [0]  # the block in which each table began
        self._logs = np.zeros(1)  # of their weights u
        self._others = 1.0 - np.eye(self.n_actions)
        self._leader, self._led = 0, 1  # the start that had most weight when a block ended, and how many there were
        self.block = 0
        self._gaps = 0.0  # Delta, the sum of the d
        self._unsure = 0.0  # estimates of rounds that were learnt in another block than they were played in
        self.rate = self.first
        self._optimism: Optimism | None = None
        if choice("estimates", estimates, get_args(Estimates)) == "optimistic":
            self._optimism = Optimism(self._log_count, self.n_actions, horizon, self.bolder)
            self.ledger.bet(*self._optimism.stakes)
        self._asked: tuple[int, Floats] | None = None  # a row and what each table plays there (J, K)

    def _act(self, row: int) -> Floats:
        """Return the weight of the starts' policies that play each action (K,)."""
        return self._mixed(self._played(row))

    def _mixed(self, played: Floats) -> Floats:
        q: Floats = np.exp(self._logs) @ played
        return np.asarray(q / q.sum())

    def _played(self, row: int) -> Floats:
        if self._asked is None or self._asked[0] != row:
            self._asked = row, self._tables.action_weights(row, self.rate)
        return self._asked[1]

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Charge policies and starts, and make the rate and the starts of the next round."""
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
        if self._gaps * self.rate > FALL * (ahead := self._ahead()):
            self._lower(ahead / self._gaps)
        if self.played + 1 == self._ends[self.block]:
            self._start(self.block + 1)

    def _charge(self, played: Floats, action: int, estimate: float) -> None:
        """Take off each start's weight what those of its policies lose that play the action; ``played`` is (J, K)."""
        others = played @ self._others[action]  # 1 less the share would be rounded to nothing
        self._logs += np.log(np.maximum(others + played[:, action] * exp(-self.rate * estimate), LEAST))
        self._normalise()

    def _ahead(self) -> float:
        """Return C of the rounds so far; it never falls."""
        return self._change * min(self.ahead, self.each * self._led)

    def starts(self) -> list[tuple[int, float]]:
        """Return the starts awake: the block in which each began, and the logarithm of its weight u."""
        return list(zip(self._starts, self._logs.tolist(), strict=True))

    def _lower(self, rate: float) -> None:
        """Lower the rate: weights as they are would count what starts paid at the old one too much."""
        self._logs *= rate / self.rate
        self.rate, self._asked = rate, None
        self._normalise()

    def _start(self, block: int) -> None:
        """Begin a block, with a start in the place of the one that has lived its time."""
        leader = self._starts[int(self._logs.argmax())]
        self._leader, self._led = leader, self._led + (leader != self._leader)
        over = [j for j, start in enumerate(self._starts) if start and start + 4 * (start & -start) == block]
        place = over[0] if over else len(self._starts)
        if over:  # its policies go on in the table that began next
            heir = min((start, j) for j, start in enumerate(self._starts) if start > self._starts[place])[1]
            self._logs[heir] = np.logaddexp(self._logs[heir], self._logs[place])
        self._starts[place : place + 1] = [block]
        self._tables.begin(place)
        self._logs = np.append(self._logs, 0.0)[: len(self._starts)]
        self._logs += log1p(-self.share)
        self._logs[place] = log(self.share)
        self.block, self._asked = block, None
        self._normalise()

    def _normalise(self) -> None:
        top = self._logs.max()
        self._logs -= top + log(np.exp(self._logs - top).sum())

    def _began(self) -> int:
        return int(self._ends[self.block - 1]) if self.block else 0

    def guarantee(self, *, changes: int = 0) -> float:
        """Return the bound on expected regret after T rounds to the best policies in turn.

        It is infinite without a horizon, and for optimistic estimates, of which nothing is claimed beforehand; else
        price / 0.09 + (price / C_1 + 1) (1/2 + sqrt(1/4 + 1.05 C_2 K T)), with the price of ``bound`` after T rounds,
        and C_1 and C_2 the least and the greatest C there can be.
        """
        if self.horizon is None or self._optimism is not None:
            return np.inf
        if self._log_count == 0:
            return 0.0
        price = self._price(changes, int(np.searchsorted(self._ends, self.horizon)) + 1)
        sum_of_d = 0.5 + sqrt(0.25 + FALL * self._change * self.ahead * self.n_actions * self.horizon)
        return price / self.first + (price / (self._change * min(self.ahead, self.each)) + 1) * sum_of_d

    def bound(self, confidence: float | None = None, *, changes: int = 0) -> float:
        """Return what ``certificate(changes=changes)`` never exceeds (class's docstring); 0 before round 1.

        With a ``confidence``, what ``certificate(confidence=..., changes=changes)`` never exceeds: NaN where there is
        no horizon, or estimates are not optimistic.
        """
        if not self.played:
            return 0.0
        price = self._price(changes, self.block + 1) if self._log_count else 0.0
        bound = price / self.rate + self._gaps + self._unsure
        return bound if confidence is None else bound + self._sure(check_confidence(confidence), changes)

    def _sure(self, confidence: float, changes: int) -> float:
        """Return the price, in the ledger, of the largest stake that is at most every stake of the run."""
        if self._optimism is None or self.horizon is None:
            return np.nan
        stake = max(stake for stake in self.ledger.stakes if stake <= self._optimism.stake(self.played))
        return self.ledger.price(stake, self.ledger.blocks.log_union(changes + 1, self.oracle.log_union), confidence)

    def _price(self, changes: int, n: int) -> float:
        pieces, tables = self._pieces(changes, n), 1 + 2 * n.bit_length()
        return (
            pieces * (self._log_count - log(self.share))
            + log(self.share)
            - (n - pieces) * log1p(-self.share)
            + log(tables)
        )

    def _pieces(self, changes: int, n: int) -> int:
        return min(n, 1 + whole("changes", changes, 0) * (1 + (n.bit_length() - 1) // 2))

    def _restore(self, state: dict[str, Any]) -> None:
        self._tables = self.oracle.table(noise=None).several()
        self._logs, self._asked = np.zeros(len(state["logs"])), None
        super()._restore(state)
        self._ends = _parts(self.ledger.blocks.ends, self.parts)


def _parts(ends: tuple[int, ...], n: int) -> Ints:
    begins = np.array([0, *ends[:-1]])
    return np.setdiff1d([begins + (np.array(ends) - begins) * part // n for part in range(1, n + 1)], [0])
