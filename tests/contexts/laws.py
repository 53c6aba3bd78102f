"""Counted outcomes beside the law that they should have."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import chisquare


def has_law(seen: Mapping[Any, int], law: Mapping[Any, Any], least: float = 8.0) -> bool:
    """Return whether outcomes have a law, by chi-square; those expected ``least`` times or less are counted together.

    An outcome that cannot be is enough for a no.
    """
    n = sum(seen.values())
    if any(not law.get(outcome) for outcome in seen):
        return False
    common = [outcome for outcome, p in law.items() if n * float(p) > least]
    observed = [seen.get(outcome, 0) for outcome in common]
    expected = [n * float(law[outcome]) for outcome in common]
    if n - sum(expected) > least:
        observed, expected = [*observed, n - sum(observed)], [*expected, n - sum(expected)]
    if len(observed) == 1:
        return True
    return bool(chisquare(observed, np.array(expected) * sum(observed) / sum(expected)).pvalue > 1e-4)
