"""
All rules that do nearly as well
================================

The tree that looks best is one of many. Which features do all of them need, for whom do they differ, and what would
it cost to forbid a feature? The answers are exact: no rule of the class is left out.
"""

# %%
# 400 people, three features and two messages. Who should be called goes by age alone; membership goes along with age,
# and the number of visits has nothing to do with it.

import numpy as np

import milpcb
from milpcb.policies import DecisionTrees

rng = np.random.default_rng(1)
n = 400
age = rng.integers(18, 80, n)
member = (rng.random(n) < np.where(age > 45, 0.8, 0.2)).astype(int)
visits = rng.integers(0, 10, n)
people = np.column_stack([age, member, visits]).astype(float)
right = np.where(age <= 45, 0, 1)  # write to the young, call the others
costs = rng.normal(0.4 + 0.3 * (np.arange(2) != right[:, None]), 0.3)

trees = DecisionTrees(
    2,
    depth=2,
    thresholds=[[25, 35, 45, 55, 65], [0.5], [2, 5]],
    feature_names=["age", "member", "visits"],
    action_names=["write", "call"],
)
oracle = milpcb.open_oracle(trees, people, kind="search")

# %%
# All trees that cost at most 0.01 a person more than the best one. They are counted by what they do: trees that treat
# everybody alike count once, however they are written.

slack = 0.01 * n
near = oracle.near_best(costs, slack)
print(f"{near.count} rules cost at most {slack:g} more than the best, which costs {near.value:.1f}")
print(f"all of them agree on {near.agreed.mean():.0%} of the people")

# %%
# For whom do they differ? Mostly just above the age at which the best tree changes its mind; for nobody above 55.

contested = ~near.agreed
for low, high in ((18, 35), (36, 45), (46, 55), (56, 80)):
    here = (age >= low) & (age <= high)
    print(f"age {low} to {high}: contested for {contested[here].mean():.0%}")

# %%
# What it costs a person to forbid a feature. Age is needed: every rule that does nearly as well reads it. Membership
# can be forbidden at no cost, although it goes along with the right message; so can the number of visits.

for name, price in near.features.items():
    print(f"without {name:8s}{price / n:.4f}{', needed' if name in near.needed else ''}")

# %%
# Three of the rules side by side: the best, and those that differ most from it. If they look unlike each other, do not
# read much into the one that happens to be the best.

for rule in near.different(3):
    print(rule, end="\n\n")

# %%
# More slack, more rules: how fast their number grows shows how little a log of this size decides.

for share in (0.0, 0.005, 0.01, 0.02):
    found = oracle.near_best(costs, share * n)
    print(f"{share:5.3f} a person: {found.count:6,} rules, alike for {found.agreed.mean():.0%}, needed {found.needed}")
