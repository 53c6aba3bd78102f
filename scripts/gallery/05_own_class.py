"""
A policy class of your own
==========================

A class is a list of policies: the exact search, the mixed-integer program and all learners are made from it. Here:
"treat if the value lies within a band". (The command milpcb new class writes a file like this, with a study of it.)
"""

# %%
# One policy, and the class that lists them.

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

import milpcb
from milpcb import testing
from milpcb.policies import ListedRules
from milpcb.testing.instances import Instance
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class Band:
    """Play 1 between two cuts of the first feature, 0 outside."""

    low: float
    high: float

    def predict(self, contexts: Floats) -> Ints:
        value = np.asarray(contexts)[:, 0]
        return ((self.low < value) & (value <= self.high)).astype(int)

    def __str__(self) -> str:
        return f"if the value is above {self.low:.2g} and at most {self.high:.2g}: play 1, else play 0"


class Bands(ListedRules):
    """All bands between cuts."""

    def __init__(self, n_actions: int = 2, cuts: tuple[float, ...] = tuple(np.linspace(0, 1, 21))) -> None:
        super().__init__(n_actions)
        self.cuts = cuts

    def policies(self, contexts: Floats) -> Iterator[Band]:
        for low, high in combinations(self.cuts, 2):
            yield Band(low, high)


# %%
# The checks that every class must pass compare program, search and list with each other on random costs.

rng = np.random.default_rng(0)
contexts = rng.random((60, 1))
for skipped in testing.run_all("policies", Instance("bands", Bands(), contexts[:8])):
    print("not applicable:", skipped)

# %%
# The cheapest band for a table of costs, by search and by a solver: the same value.

costs = np.stack([np.full(60, 0.5), np.where(abs(contexts[:, 0] - 0.5) < 0.2, 0.2, 0.9)], axis=1)
for kind in ("search", "milp"):
    answer = milpcb.open_oracle(Bands(), contexts, kind=kind).minimise(costs)
    print(f"{kind}: {answer.value:.2f}, {answer.policy}")

# %%
# And a bandit over them, without another line of code.

bandit = milpcb.Bandit(Bands(), contexts=contexts, seed=0)
for row in rng.integers(60, size=2000):
    decision = bandit.act(contexts[row])
    bandit.learn(decision, cost=float(rng.random() < costs[row, decision.action]))
print(bandit.policy())
print(bandit.statement())
