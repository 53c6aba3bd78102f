"""Which search runs, by what is asked and by counted work.

| question | depth | limits of size | search | where |
| --- | --- | --- | --- | --- |
| few cuts a feature | any | to depth 6 | states, totals by products: p^2 / 2 sums over contexts | search.py |
| many cuts | any | to depth 6 | the same, totals by codes: d^2 / 2 passes, then p^2 / 2 pairs of cuts | search.py |
| every cut, a time limit | from 2 | any | root cuts with bounds: some tens a feature, each d passes | every_cut.py |
| side constraints on these | any | but max_features | states with labels, totals as above | constrained.py |
| leaf totals, with noise or not | any | none | paths; under side constraints with labels | terms.py, constrained.py |
| all trees within a bound | any | none | lists on both sides of a test, by states | near.py |

Over d features with p cuts together; a pass is over the contexts. Each further level multiplies the work of states by
p, by codes by d, and that of root cuts by some tens a feature. Where states do not fit into memory, search.py goes
through the roots one by one. Root cuts have no action weights: these are sums over states. limits.py has a table of
where each limit is kept.
"""

from enum import StrEnum
from math import comb

import numpy as np

from milpcb.core.decimals import spaced
from policies.literals import Literals
from policies.trees.sets import n_sets

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
# Costs of contexts that are added in the time of one sum of two weights, a logarithm.
CONTEXTS_AT_ONCE = 16
DEEPEST = 4  # each level more takes some tens of times a feature as long
# Passes that take as long as what an evaluated root cut of depth 3 or more takes besides them.
ASKING = 40_000
# Seconds of a pass over one context and feature, for each action but the first; and the most that a search may take.
PASS_SECONDS = 5e-9
MOST_SECONDS = 3 * 3600
MOST_CUTS = 10**11  # pairs of cuts at depth 2, triples at depth 3: hours
MOST_CELLS = 2**23  # of a pair of features
MOST_PAIRS = 4 * 10**7  # of nodes under side constraints: 160 MB
MOST_SETS = 2**25  # of the table of totals by codes: beyond it root cuts answer


class Route(StrEnum):
    """Routes of the search."""

    LITERALS = "products of literals"
    FEATURES = "codes of features"
    ROOTS = "root cuts"


def route(literals: Literals, depth: int) -> Route:
    """Return the route of least counted work for trees of a depth."""
    p, d, g = len(literals), len(literals.features), len(literals.contexts)
    if depth == 2 and p**2 > ROOT_STEP * g * d**2:
        return Route.ROOTS
    if 2 < depth <= DEEPEST and ROOT_PASSES * p**3 * (2 * p) ** (depth - 3) > root_passes(literals, depth):
        return Route.ROOTS
    levels = min(depth, 3)
    if p**levels <= FEATURE_STEP * d**levels and p * g <= MOST_ENTRIES:
        return Route.LITERALS
    return Route.FEATURES if not 2 <= depth <= DEEPEST or n_sets(p, depth) <= MOST_SETS else Route.ROOTS


def root_passes(literals: Literals, depth: int) -> float:
    """Return about how many contexts and features the search by root cuts passes for a value, in the hardest case."""
    cuts, d = np.diff(literals.first), len(literals.features)
    at_root, last = (float(np.minimum(cuts, most).sum()) for most in (ROOT_CUTS, LAST_CUTS))
    return at_root ** (depth - 2) * (last * d * len(literals.contexts) + (ASKING if depth > 2 else 0))


def too_slow(seconds: float, literals: Literals, depth: int) -> str:
    """Return why a search by root cuts of so many ``seconds`` is refused, or nothing if it is not."""
    if seconds <= MOST_SECONDS:
        return ""
    g, d, p = (spaced(len(each)) for each in (literals.contexts, literals.features, literals))
    return (
        f"the best tree of depth {depth} over {p} cut points of {d} features on {g} contexts would take about "
        f"{spaced(seconds / 3600, '.0f')} hours, and {MOST_SECONDS / 3600:.0f} are the most: use fewer thresholds "
        f"(31 a feature are seconds to minutes), depth {depth - 1}, fewer features, or a part of the rows"
    )


def root_seconds(literals: Literals, depth: int, n_actions: int) -> float:
    """Return about how many seconds of one core a value by root cuts takes where it takes longest."""
    return PASS_SECONDS * (n_actions - 1) * root_passes(literals, depth)


def too_many_cuts(literals: Literals, depth: int) -> str:
    """Return why trees of a depth are too many to go through by codes, or nothing if they are not."""
    p, most = len(literals), int(np.diff(literals.first).max(initial=0))
    ways = p**3 * (2 * p) ** (depth - 3) if depth > 2 else p**depth
    if depth < 2 or (ways <= MOST_CUTS and most**2 <= MOST_CELLS):
        return ""
    return (
        f"trees of depth {depth} over {spaced(p)} cut points, {spaced(most)} of one feature, are too many to go "
        f"through (at most {MOST_CUTS:.0e} choices of {min(depth, 3)}, and {spaced(int(MOST_CELLS**0.5))} of a "
        "feature); use less depth or fewer thresholds"
    )


def weight_steps(literals: Literals, depth: int, n_actions: int) -> tuple[float, float]:
    """Return how many numbers a sum over all trees of a depth adds up: from costs, and from leaf totals that are kept.

    From costs: at the last test of every set of tests with its outcomes, and for those the contexts, which go
    CONTEXTS_AT_ONCE at a time. From leaf totals: each of them, and each path.
    """
    p, g, inner = len(literals), len(literals.contexts), max(0, depth - 1)
    states = comb(p, inner) * 2**inner * p * 2 * n_actions
    sums = comb(p, depth) * (n_actions - 1) * g / (CONTEXTS_AT_ONCE * 2 ** max(0, depth - 2))
    return states + sums, (2 * p) ** depth * (n_actions + 0.5)


def fewest_pairs(p: int, depth: int) -> int:
    """Return how many pairs of nodes (usage.py) there are under a budget on one action: other rules may have more."""
    pairs = 0
    for k in range(1, depth):
        nodes = 2 if k == depth - 1 else 2 * p + 2
        pairs += comb(p, k) * 2**k * ((p - k) * nodes**2 + k * nodes)
    return pairs


def too_many_pairs(n_pairs: int) -> str:
    """Return why so many pairs of nodes are too many for side constraints, or nothing when they are not."""
    if n_pairs <= MOST_PAIRS:
        return ""
    return (
        f"under side constraints the search lists the class by {spaced(n_pairs)} numbers, more than "
        f"{spaced(MOST_PAIRS)}; use oracle kind 'milp', or a smaller class"
    )
