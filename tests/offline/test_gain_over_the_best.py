"""The interval of a gain over the best constant, which constant that is being an estimate too."""

import numpy as np

from milpcb.offline import Evaluation, evaluate, read_log, scores
from milpcb.rng import child

LOGS, ROWS = 300, 200


def evaluated(i: int, n_actions: int) -> Evaluation:
    """Return what a fixed policy is worth in a trial in which no action changes anything."""
    rng = child(i, "gain over the best")
    X = rng.integers(0, 2, size=(ROWS, 1)).astype(float)
    log = read_log(
        X,
        np.arange(ROWS) % n_actions,
        reward=rng.normal(size=ROWS),
        propensity=np.full(n_actions, 1 / n_actions),
    )
    return evaluate(scores(log, "ips"), log.actions[0:1] * (ROWS // 2) + log.actions[1:2] * (ROWS // 2))


def test_a_gain_of_nothing_is_below_the_upper_end() -> None:
    """Of six equal constants the luckiest looks best: the gain over it alone was above its upper end in one log in ten.

    A two-sided 95 % interval may be too low in 2.5 % of the logs; 5 % are nearly three standard errors more.
    """
    found = [evaluated(i, 6) for i in range(LOGS)]
    assert sum(one.gain.upper < 0 for one in found) <= 0.05 * LOGS
    assert sum(one.gain.lower > 0 for one in found) <= 0.05 * LOGS
    alone = [one.gain_over[one.best_constant] for one in found]
    assert sum(one.upper < 0 for one in alone) > 0.06 * LOGS


def test_the_ends_by_definition() -> None:
    """The least lower end over both constants, and the least upper end of two that hold at once."""
    found = evaluated(0, 2)
    gains = list(found.gain_over.values())
    reach = 2.241402728  # the normal quantile at 1 - 0.05 / 4
    assert found.gain.lower == min(gain.lower for gain in gains)
    assert np.isclose(found.gain.upper, min(gain.value + reach * gain.standard_error for gain in gains))
    assert found.gain.value == min(gain.value for gain in gains)
