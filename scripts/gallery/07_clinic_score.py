"""
A scoring system for a clinic
=============================

Doctors add up points. Which small integer points, for at most three findings, sort tumours best into benign
and malignant, and how good is that on patients that were not used to choose them?
"""

# %%
# The breast cancer data of scikit-learn: 569 patients, 30 measurements. A wrong "benign" counts four times.

import numpy as np
import polars as pl
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from milpcb.estimators import OptimalScoringRule

data = load_breast_cancer()
measured = pl.DataFrame(data.data, schema=data.feature_names.tolist())
people = measured.select("mean radius", "mean texture", "mean concavity", "worst area", "worst smoothness")
malignant = data.target == 0
costs = pl.DataFrame({"benign": 4.0 * malignant, "malignant": 1.0 * ~malignant})
train, test = train_test_split(np.arange(len(people)), random_state=0, stratify=malignant)

# %%
# The best points for at most three tests, proved.

rule = OptimalScoringRule(max_tests=3, max_weight=3, thresholds=4).fit(people[train], costs[train])
print(rule.policy_)
print("proved optimal:", rule.optimal_)

# %%
# On the other patients.

answers = rule.predict(people[test])
print(f"right: {(answers == np.where(malignant[test], 'malignant', 'benign')).mean():.1%}")
print(f"malignant ones missed: {(answers[malignant[test]] == 'benign').sum()} of {malignant[test].sum()}")
