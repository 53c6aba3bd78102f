"""Libraries that people learn policies with today: each is given costs by action, and returns what chooses the actions.

pystreed    optimal trees over 9 or more cuts a feature, given as binary columns; ``pip install pystreed``
sklearn     DecisionTreeClassifier on the cheapest actions, weighted by dearest less cheapest; greedy
econml      PolicyTree on rewards, greedy; ``pip install econml``
"""

from collections.abc import Callable
from importlib import import_module
from typing import cast

import numpy as np

from milpcb.types import Floats, Ints
from policies.literals import Literals

Chooses = Callable[[Floats], Ints]  # contexts (m, d) -> actions (m,)


def streed(contexts: Floats, costs: Floats, depth: int, cuts: int = 9) -> Chooses:
    """Return STreeD's tree, on costs that are shifted to begin at 0."""
    tree = import_module("pystreed").STreeDInstanceCostSensitiveClassifier(max_depth=depth)
    literals = Literals.of(contexts, cuts)
    tested = np.repeat(literals.features, np.diff(literals.first))
    tree.fit((contexts[:, tested] <= literals.cuts).astype(np.intc), costs - costs.min(axis=1, keepdims=True))
    return lambda rows: cast("Ints", tree.predict((rows[:, tested] <= literals.cuts).astype(np.intc)))


def scikit_learn(contexts: Floats, costs: Floats, depth: int) -> Chooses:
    tree = import_module("sklearn.tree").DecisionTreeClassifier(max_depth=depth, random_state=0)
    tree.fit(contexts, costs.argmin(axis=1), sample_weight=costs.max(axis=1) - costs.min(axis=1))
    return cast("Chooses", tree.predict)


def econml(contexts: Floats, costs: Floats, depth: int) -> Chooses:
    """Return econml's tree, grown on all rows."""
    tree = import_module("econml.policy").PolicyTree(max_depth=depth, honest=False, random_state=0)
    tree.fit(contexts, -costs)
    return lambda rows: cast("Ints", tree.predict(rows).astype(int))
