"""Parts of checks on logs of known truth: the people that logs are drawn from, and bounds for shares."""

import numpy as np

FEATURES = 8
EVERYONE = np.array(np.meshgrid(*[[0.0, 1.0]] * FEATURES)).reshape(FEATURES, -1).T  # all contexts, equally likely


def least(share: float, runs: int) -> float:
    """Return the share that so many runs show at least, where it is ``share``: 2 standard errors and a run below."""
    return share - 2 * float(np.sqrt(share * (1 - share) / runs)) - 1 / runs


def most(share: float, runs: int) -> float:
    """Return the share that so many runs show at most, where it is ``share``."""
    return 1 - least(1 - share, runs)


def rare(share: float, runs: int) -> float:
    """Return the share that so many runs show at most of what has at most that chance; of few runs none."""
    return most(share, runs) if runs >= 100 else 0.0
