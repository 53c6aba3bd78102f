"""The plain ledger of schedules.py: what is certain of a bandit, computed from all its decisions by the definition."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from milpcb import Decision, open_oracle
from policies import DecisionTrees

PATTERNS = np.array([[i & 1, i >> 1] for i in range(4)], dtype=float)
CUTS = [[0.5], [0.5]]
NAMES = ["call", "write", "wait", "visit"]
MEANS = np.array([[0.3, 0.6, 0.5, 0.2], [0.7, 0.3, 0.6, 0.5], [0.2, 0.8, 0.4, 0.6], [0.6, 0.5, 0.2, 0.3]])
SHARE, LOSS, SURE = 0.4, 0.5, 0.999


@cache
def labelings(n_actions: int) -> Any:
    """Return what every tree plays on the patterns, (N, 4)."""
    return open_oracle(DecisionTrees(n_actions, 1, thresholds=CUTS), PATTERNS, kind="enumeration").labelings


@dataclass(frozen=True)
class MadeDecision:
    """A decision, and what only the world knows: the row, whether it is a vip, all costs, what could be played.

    ``drawn`` is what the learner drew with the chance ``q``, before a replacement.
    """

    decision: Decision
    row: int
    vip: bool
    costs: Any
    offered: list[int]
    drawn: int
    q: float

    @property
    def action(self) -> int:
        """The number of what was played."""
        return NAMES.index(str(self.decision.action))


@dataclass
class PlainLedger:
    """Plain ledger of one bandit."""

    n_actions: int = 2
    asked: list[MadeDecision] = field(default_factory=list)  # all whose contexts count
    open: dict[str, MadeDecision] = field(default_factory=dict)
    learnt: list[tuple[MadeDecision, int, int, float]] = field(default_factory=list)  # actions then, drawn, its chance
    ended: set[str] = field(default_factory=set)
    given_up: int = 0
    overridden: dict[str, int] = field(default_factory=dict)  # what a person did instead
    others: list[MadeDecision] = field(default_factory=list)  # overridden, and their costs known
    paid_by_others: float = 0.0

    def copied(self) -> PlainLedger:
        """Return a copy."""
        return PlainLedger(**{name: copy(value) for name, value in vars(self).items()})

    @property
    def paid(self) -> float:
        """Costs of the decisions learnt."""
        return float(sum(made.costs[made.action] for made, *_ in self.learnt)) + self.paid_by_others

    def changed(self) -> int:
        """Return how many decisions a person overrode, other than with the baseline's action where it was offered."""
        calls = {made.decision.id for made in self.asked if 0 in made.offered}
        return sum(action != 0 or name not in calls for name, action in self.overridden.items())

    def estimated(self) -> Any:
        """Return the estimated total of each tree (N,): actions that came later stand for the first."""
        policies = labelings(self.n_actions)
        totals = np.zeros(len(policies))
        for made, known, drawn, q in self.learnt:
            played = np.where(policies[:, made.row] < known, policies[:, made.row], 0)
            totals += (played == drawn) * made.costs[made.action] / q
        return totals

    def true(self) -> Any:
        """Return what each tree (N,) would have paid on the decisions learnt, by all costs."""
        policies = labelings(self.n_actions)
        totals = np.zeros(len(policies))
        for made in [made for made, *_ in self.learnt] + self.others:
            there = np.isin(policies[:, made.row], made.offered)
            totals += made.costs[np.where(there, policies[:, made.row], made.offered[0])]
        return totals

    def allowed(self) -> Any:
        """Return which trees (N,) keep guard-rail and share on all contexts so far."""
        calls = labelings(self.n_actions) == 0
        counts = np.bincount([made.row for made in self.asked], minlength=4)
        vip = np.bincount([made.row for made in self.asked if made.vip], minlength=4) > 0
        return ~(calls & vip).any(axis=1) & (calls @ counts <= SHARE * counts.sum() + 1e-6)
