"""Rare, large losses: how many events decide, by Cochran's rule, of differences and of values apart."""

from itertools import combinations

import numpy as np
import pytest

from milpcb.offline import Scores, read_log, scores
from milpcb.offline.diagnostics import EVENTS, _events
from milpcb.rng import child

ROWS = 2000


def of_trial(losses: int, *, both: bool) -> Scores:
    """Return the scores of a trial with so many losses under action 1, and with as many under action 0 if ``both``."""
    rng = child(losses, "rare losses")
    action = np.arange(ROWS) % 2
    reward = rng.normal(size=ROWS)
    for k in (0, 1) if both else (1,):
        reward[np.flatnonzero(action == k)[:losses]] -= 100.0
    return scores(read_log(rng.normal(size=(ROWS, 1)), action, reward=reward, propensity=[0.5, 0.5]), "snips")


def test_events_by_definition() -> None:
    """(sum x^2)^3 / (sum x^3)^2, least over all differences of two columns, and over the columns; groups add up."""
    rng = child(0, "events")
    rows = rng.normal(size=(300, 3)) ** 3
    members = rng.integers(0, 120, size=300)
    sums = np.array([rows[members == group].sum(axis=0) for group in range(120)])

    def events(x: np.ndarray) -> float:
        return float(np.square(x).sum() ** 3 / (x**3).sum() ** 2)

    expected = (
        min(events(sums[:, a] - sums[:, b]) for a, b in combinations(range(3), 2)),
        min(events(column) for column in sums.T),
    )
    assert _events(members, 1e200 * rows) == pytest.approx(expected)
    assert _events(members, 0.0 * rows) == (np.inf, np.inf)


@pytest.mark.parametrize("losses", [4, 12, 40])
def test_losses_under_one_action_are_counted(losses: int) -> None:
    """Equal losses that are all the noise are as many events, of the difference and of the value."""
    known = of_trial(losses, both=False).diagnostics
    assert known.events == pytest.approx(losses, rel=0.35)
    assert known.value_events == pytest.approx(losses, rel=0.35)
    assert known.enough_events == (losses > EVENTS)
    assert any("rare, large" in words for words in known.words()) == (losses < EVENTS)


@pytest.mark.parametrize("losses", [4, 12])
def test_losses_under_both_actions_balance_in_differences(losses: int) -> None:
    """Then gains may be claimed, and the warning is on values alone."""
    known = of_trial(losses, both=True).diagnostics
    assert known.enough_events
    assert known.value_events < EVENTS
    (words,) = [words for words in known.words() if "rare, large" in words]
    assert words.startswith("The values rest on a few")
