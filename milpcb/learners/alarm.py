"""An alarm for costs that rise: a bettor on that, who begins anew whenever everything is lost."""

from __future__ import annotations

from math import log, log1p
from typing import ClassVar

from milpcb.learners.kept import SavedPart


class Alarm(SavedPart):
    """Evidence that costs are higher than their mean was.

    After a round of cost c the evidence grows by log(1 + lambda (c - m)), lambda = 1/4, and is put to 0 where it is
    below. Here m is the mean of the costs before it since the last alarm, with ten rounds of cost 1 among them. It
    rings where the evidence is above ``calm`` + log t after t rounds. While m is no less than what is to be expected of
    the next cost, the sums that begin in round s ever reach z with probability exp(-z) at most (Ville): so in T rounds
    it rings at all with probability exp(-calm) (1 + log T) at most, 8 % for T = 1e5 and ``calm`` = 5.

    """

    kept = ("_evidence", "_paid", "_rounds")
    stake: ClassVar[float] = 0.25  # lambda
    before: ClassVar[float] = 10.0  # rounds of cost 1

    def __init__(self, calm: float) -> None:
        self._calm = calm
        self.begin()

    def begin(self) -> None:
        """Forget what was before, after an alarm."""
        self._evidence, self._paid, self._rounds = 0.0, self.before, self.before

    def rings(self, cost: float, rounds: int) -> bool:
        """Take in the cost of a round, the last of so many ``rounds``, and return whether costs have risen."""
        self._evidence = max(0.0, self._evidence + log1p(self.stake * (cost - self._paid / self._rounds)))
        self._paid, self._rounds = self._paid + cost, self._rounds + 1
        return self._evidence > self._calm + log(rounds)
