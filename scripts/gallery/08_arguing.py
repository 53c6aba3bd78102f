"""
Rules that do as well, and what forbidding costs
================================================

The best rule is one of many that the data hardly distinguish. What does it cost to do without a feature, or to have
one leaf less? Each is one exact question.
"""

# %%
# A table of costs, and the best tree.

import numpy as np

import milpcb
from milpcb.constraints import never, parity
from milpcb.offline.restrictions import Question, prices
from milpcb.policies import DecisionTrees

rng = np.random.default_rng(0)
n = 800
people = np.column_stack([rng.integers(18, 80, n), rng.integers(0, 2, n), rng.integers(0, 10, n)]).astype(float)
age, member, visits = people.T
right = np.where(visits > 5, np.where(age > 45, 1, 0), 0)  # call the old who come often, write to all others
costs = rng.normal(0.4 + 0.3 * (np.arange(2) != right[:, None]), 0.3)

names = ["age", "member", "visits"]
trees = DecisionTrees(
    2, depth=2, thresholds=[[30, 45, 60], [0.5], [2, 5]], feature_names=names, action_names=["write", "call"]
)
best = milpcb.open_oracle(trees, people, kind="search").minimise(costs)
print(f"total cost {best.value:.1f}")
best.policy

# %%
# Prices: how much more the cheapest rule costs that keeps a restriction, a person on average. Restrictions that cost
# next to nothing may be imposed; the others show what the rule lives on.

last_year = np.where(age <= 45, 0, 1)
question = Question(trees, people)
restrictions = {
    "without age": question.without(0),
    "without membership": question.without(1),
    "without visits": question.without(2),
    "two leaves only": question.with_options(max_leaves=2),
    "members as last year": question.under([never(k, rows=(member == 1) & (last_year != k)) for k in (0, 1)]),
    "alike rates for members and others": question.under(parity(1, member, 0.02)),
}
for price in prices(question, costs, restrictions):
    print(f"{price.name:40s} {price.price / n:.4f}")
