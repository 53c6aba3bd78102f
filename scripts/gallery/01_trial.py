"""
From a trial to a claim
=======================

A shop wrote to 2 000 customers: half of them, drawn by lot, got a phone call, the others a letter. Whom should it
call next time, and can that be claimed?
"""

# %%
# The log: what was known of each customer, what was done, and what came of it. Here we make one up, so that we know
# the truth: calls work for those who came often, letters for all others.

import numpy as np
import polars as pl

from milpcb import offline
from milpcb.policies import DecisionTrees

rng = np.random.default_rng(0)
n = 2000
people = pl.DataFrame(
    {"age": rng.integers(18, 80, n), "visits": rng.integers(0, 12, n), "member": rng.integers(0, 2, n)}
)
done = np.where(rng.random(n) < 0.5, "call", "letter")
right = np.where(people["visits"] > 6, "call", "letter")
bought = (rng.random(n) < np.where(done == right, 0.45, 0.25)).astype(float)

# %%
# What would each action have given in each row? ``scores`` estimates that from the log; the lot makes it fair.

log = offline.read_log(people, done, reward=bought, propensity="randomised")
scores = offline.scores(log)

# %%
# The best tree of depth 2, and what may be claimed of it although it was chosen because it looked best.

trees = DecisionTrees(n_actions=2, depth=2, thresholds=5, action_names=log.actions)
found = offline.inference(trees, people, scores, draws=200)
print(*found.words(), sep="\n")
found.policy

# %%
# The state is one of three: "target", "alike" (treat all alike), "early" (too early to decide). The interval holds
# for the very rule above, whichever rule was chosen and why.

print(found.state, found.lower, found.upper)
