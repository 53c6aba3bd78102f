"""Trees under structure limits: the tables of the search, where paths may end early and leaves count.

A tree may have less than full depth, and its number of leaves is a second index. With the words of
policies/trees/search.py, and l the number of leaves,
    T_0[S, a, 1] = sum of costs[j, a] over j in S, infinite where S is too small for a leaf
    T_d[S, a, l] = T_0[S, a, l] (+) (+)_f (+)_{i + j = l} T_{d-1}[S on x's side of f, a, i] (x)
                                                          (+)_b T_{d-1}[S on the other side of f, b, j]
and the answer is the sum (+) over l = 1..max_leaves. So the derivations are the trees within the limits, each once: any
literal at each inner node, any action at each leaf; only siblings may be alike.

Which leaves are too small is read from their counts, which are added up beside the costs. ``max_features`` is a list of
sets of that many features: all tests of a tree are in one of them. The recursion is done for each set. A tree with
fewer features is in several sets, so there are no log weights.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from milpcb.types import Bools
from policies.literals import Literals
from policies.trees.limits import Limits

COMPILED_DEPTH = 3  # of the kernels that know limits


class Choice(NamedTuple):
    """A test, and how many leaves there may be where it holds and where it fails."""

    literal: int
    holds: int
    fails: int


def feature_sets(literals: Literals, limits: Limits, depth: int) -> Bools:
    """Return (n, p): which of the literals are in each set of tests that one tree may share."""
    d = len(literals.features)
    chosen = np.array(list(combinations(range(d), limits.features_of(d, depth))), dtype=np.int64)
    holds = np.zeros((len(chosen), d), bool)
    np.put_along_axis(holds, chosen, True, axis=1)
    return np.repeat(holds, np.diff(literals.first), axis=1)
