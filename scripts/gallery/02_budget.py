"""
A budget
========

Calls are expensive: at most a fifth of the customers may be called. What is the best rule that keeps to that, and
what would a larger budget bring?
"""

# %%
# A table of costs: what each action costs for each person, here with noise.

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from milpcb.estimators import OptimalPolicyTree, parity, share_at_most

rng = np.random.default_rng(1)
n = 1500
people = pl.DataFrame(
    {"age": rng.integers(18, 80, n), "sex": rng.choice(["f", "m"], n), "visits": rng.integers(0, 12, n)}
)
gain = 0.1 * (people["visits"] - 3) + 0.3 * (people["sex"] == "f")
costs = pl.DataFrame({"letter": np.ones(n), "call": 1 - gain + rng.normal(0, 0.5, n)})

# %%
# The best tree without limits, and the best one that calls a fifth at most, women and men equally often up to 5
# points. Both are optimal among all trees of depth 2: a search proves it, and any solver can check it.

free = OptimalPolicyTree(max_depth=2, thresholds=8).fit(people, costs)
limits = [share_at_most("call", 0.2), parity("call", group="sex", delta=0.05)]
kept = OptimalPolicyTree(max_depth=2, thresholds=8, constraints=limits).fit(people, costs)
print(f"without limits: mean cost {free.policy_value_:.3f}, calls {(free.predict(people) == 'call').mean():.0%}")
print(f"with limits:    mean cost {kept.policy_value_:.3f}, calls {(kept.predict(people) == 'call').mean():.0%}")
kept.policy_

# %%
# What each further customer called brings.

shares = [0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8]
trees = [
    OptimalPolicyTree(max_depth=2, thresholds=8, constraints=[share_at_most("call", share)]).fit(people, costs)
    for share in shares
]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(shares, [tree.policy_value_ for tree in trees], marker="o")
axes.set(xlabel="share that may be called", ylabel="mean cost of the best tree")
plt.show()
