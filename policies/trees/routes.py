"""Which kernels search the trees of a class, by counted work.

Over d features with p cuts together and g contexts, trees of depth 2 are found by

pairs of literals: p^2 / 2 sums over the contexts, many at a time; fastest while features have few cuts (kernels.py)
pairs of features: d^2 / 2 passes over the contexts, then p^2 / 2 pairs of cuts (feature_pairs.py)
root cuts: some tens of root cuts a feature, each d passes over the contexts, whatever p is (every_cut.py)

The first two go on to any depth, one factor p or d a level, and answer all questions; the last is of depth 2. All three
keep structure limits, which change the work little; the first two up to depth 3.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from policies.literals import Literals

# Measured in steps of a pair of literals, for one context and action: what a step of a pair of features takes.
FEATURE_STEP = 20
# Pairs of cuts that take as long as all passes over one context do for one pair of features in the search by root cuts.
ROOT_STEP = 20
# Entries (contexts, literals) of 4 or 8 bytes: beyond them pairs of literals need too much memory.
MOST_ENTRIES = 2**26
MOST_CUTS = 10**11  # pairs of cuts at depth 2, triples at depth 3: hours
MOST_CELLS = 2**23  # of the table of a pair of features


class Route(StrEnum):
    """What a search goes through."""

    LITERALS = "pairs of literals"
    FEATURES = "pairs of features"
    ROOTS = "root cuts"


def route(literals: Literals, depth: int) -> Route:
    """Return the route of least counted work for trees of a depth."""
    p, d, g = len(literals), len(literals.features), len(literals.contexts)
    if depth == 2 and p**2 > ROOT_STEP * g * d**2:
        return Route.ROOTS
    levels = min(depth, 3)
    if p**levels > FEATURE_STEP * d**levels or p * g > MOST_ENTRIES:
        return Route.FEATURES
    return Route.LITERALS


def too_many_cuts(literals: Literals, depth: int) -> str:
    """Return why trees of a depth are too many to go through by pairs of features, or nothing if they are not."""
    p, most = len(literals), int(np.diff(literals.first).max(initial=0))
    ways = p**3 * (2 * p) ** (depth - 3) if depth > 2 else p**depth
    if depth < 2 or (ways <= MOST_CUTS and most**2 <= MOST_CELLS):
        return ""
    return (
        f"trees of depth {depth} over {p:,} cut points, {most:,} of one feature, are too many to go through (at most "
        f"{MOST_CUTS:.0e} choices of {min(depth, 3)}, and {int(MOST_CELLS**0.5):,} of a feature); use less depth or "
        "fewer thresholds"
    )
