"""The search that runs, by question and by counted work.

| question | depth | limits of size | search | where |
| --- | --- | --- | --- | --- |
| few cuts a feature | any | any | states, totals by products: p^2 / 2 sums over contexts | search.py |
| many cuts | any | any | the same, totals by codes: d^2 / 2 passes, then p^2 / 2 pairs of cuts | search.py |
| more than fits memory, a time limit | from 2 | any | root cuts: some tens a feature, each d passes | every_cut.py |
| side constraints on these | any | but max_features | states with labels, totals as above | constrained.py |
| leaf totals, with noise or not | any | none | paths; under side constraints with labels | terms.py, constrained.py |
| all trees within a bound | any | none | lists on both sides of a test, by states | terms.py |

Over d features with p cuts together; a pass is over the contexts. Each further level multiplies the work of states by
p, by codes by d, and that of root cuts by some tens a feature. Root cuts have no action weights: these are sums over
states. limits.py has a table of where each limit is kept.
"""

from enum import StrEnum
from math import comb

import numpy as np

from milpcb.core.decimals import beyond, spaced
from policies.literals import Literals
from policies.trees.limits import TreesOn
from policies.trees.sets import MOST_NUMBERS, fits

# Measured in steps of a product of literals, for one context and action: what a step of a pair of codes takes.
FEATURE_STEP = 20
# Pairs of cuts that take as long as all passes over one context do for one pair of features in the search by root cuts.
ROOT_STEP = 20
# Entries (contexts, literals) of 4 or 8 bytes: beyond them products need too much memory.
MOST_ENTRIES = 2**26
# The same at more depth, for steps of a pass over one context and feature.
ROOT_PASSES = 2.7
# Root cuts of a feature that are evaluated where the costs have nothing to do with the features, the hardest case: at
# the root, and at the last level, where a pass over the contexts below evaluates one.
ROOT_CUTS, LAST_CUTS = 35, 20
# Passes that take as long as what an evaluated root cut of depth 3 or more takes besides them.
ASKING = 40_000
# Seconds of a pass over one context and feature, for each action but the first; and the most that a search may take.
PASS_SECONDS = 5e-9
MOST_SECONDS = 3 * 3600
MOST_PAIRS = 4 * 10**7  # of nodes under side constraints: 160 MB


class Route(StrEnum):
    """The searches to choose from."""

    LITERALS = "products of literals"
    FEATURES = "codes of features"
    ROOTS = "root cuts"


def route(trees: TreesOn) -> Route:
    """Return the route of least counted work among those that fit into memory."""
    literals, depth = trees.literals, trees.depth
    p, d, g = len(literals), len(literals.features), len(literals.contexts)
    levels = min(depth, 3)
    few = p**levels <= FEATURE_STEP * d**levels and p * g <= MOST_ENTRIES
    by_states = Route.LITERALS if few else Route.FEATURES
    if depth < 2:
        return by_states
    if depth == 2:
        quick = p**2 > ROOT_STEP * g * d**2
    else:
        quick = ROOT_PASSES * p**3 * (2 * p) ** (depth - 3) > root_passes(literals, depth)
    return Route.ROOTS if quick or no_states(trees, by_states) else by_states


def no_states(trees: TreesOn, by: Route) -> str:
    """Return why the states of trees do not fit into memory, "" if they do; totals by codes need places too."""
    p, n_actions, least = len(trees.literals), trees.n_actions, trees.asked[0]
    planes = n_actions - 1 + len(least) + (by is not Route.LITERALS)
    if fits(p, trees.depth, n_actions, planes, trees.most_leaves if trees.limits else None):
        return ""
    return (
        f"the states of trees of depth {trees.depth} over {spaced(p)} cut points are more than {spaced(MOST_NUMBERS)} "
        "numbers; use less depth or fewer thresholds"
    )


def root_passes(literals: Literals, depth: int) -> float:
    """Return the rough number of contexts times features that root cuts pass for a value, in the hardest case."""
    cuts, d = np.diff(literals.first), len(literals.features)
    at_root, last = (float(np.minimum(cuts, most).sum()) for most in (ROOT_CUTS, LAST_CUTS))
    return at_root ** (depth - 2) * (last * d * len(literals.contexts) + (ASKING if depth > 2 else 0))


def root_seconds(trees: TreesOn) -> float:
    """Return the rough number of seconds of one core for a value by root cuts, in the hardest case."""
    d, depth = len(trees.literals.features), trees.depth
    most = trees.limits.features_of(d, depth)
    share = comb(d, most) * (most / d) ** depth  # one search for each set of features
    return PASS_SECONDS * (trees.n_actions - 1) * share * root_passes(trees.literals, depth)


def too_slow(trees: TreesOn) -> str:
    """Return why a search by root cuts is refused, "" if it is not."""
    seconds, literals, depth = root_seconds(trees), trees.literals, trees.depth
    if seconds <= MOST_SECONDS:
        return ""
    g, d, p = (spaced(len(each)) for each in (literals.contexts, literals.features, literals))
    return (
        f"the best tree of depth {depth} over {p} cut points of {d} features on {g} contexts would take about "
        f"{spaced(seconds / 3600, '.0f')} hours, and {MOST_SECONDS / 3600:.0f} are the most: use fewer thresholds "
        f"(31 a feature are seconds to minutes), depth {depth - 1}, fewer features, or a part of the rows"
    )


def fewest_pairs(p: int, depth: int) -> int:
    """Return the number of pairs of nodes (usage.py) under a budget on one action: other rules may have more."""
    pairs = 0
    for k in range(1, depth):
        nodes = 2 if k == depth - 1 else 2 * p + 2
        pairs += comb(p, k) * 2**k * ((p - k) * nodes**2 + k * nodes)
    return pairs


def too_many_pairs(n_pairs: int) -> str:
    """Return why so many pairs of nodes are too many for side constraints; "" when they are not."""
    counted = "under side constraints the search lists the class by {} numbers"
    return beyond(n_pairs, MOST_PAIRS, counted, "use oracle kind 'milp', or a smaller class")
