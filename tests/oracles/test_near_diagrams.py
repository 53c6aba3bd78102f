"""Near-best scoring and monotone rules: exact counts from diagrams of labelings, far beyond what questions find."""

from functools import cache

import numpy as np
import pytest

from milpcb.oracles import open_oracle
from milpcb.oracles.near_best import NearBest
from milpcb.protocols import open_class
from milpcb.types import Floats, Ints
from policies import LinearRules, MonotoneRules
from policies.linear import search_tables
from policies.paths import walks

RNG = np.random.default_rng(0)
BINARY = RNG.integers(0, 2, (40, 6)).astype(float)
GRID = RNG.integers(0, 3, (40, 3)).astype(float)
# A class and its contexts, and a slack that 30 to 900 labelings are within.
POOLS = {
    "three of six": (LinearRules(2, max_weight=2, max_features=3), BINARY, 30.0),
    "one of three, three actions": (LinearRules(3, max_weight=1, max_features=1), GRID, 60.0),
    "monotone": (MonotoneRules(2), GRID, 12.0),
    "monotone, three actions": (MonotoneRules(3), GRID[:, :2], 40.0),
}
EVERY_POOL = pytest.mark.parametrize("name", POOLS)


def costs_of(name: str) -> Floats:
    """Whole costs of a pool, the same at every call."""
    policies, contexts, _ = POOLS[name]
    return np.random.default_rng(1).integers(0, 9, (len(contexts), policies.n_actions)).astype(float)


@cache
def labelings_of(name: str) -> Ints:
    """All labelings (N, m) of the class, by its definition."""
    policies, contexts, _ = POOLS[name]
    return open_class(policies, contexts).labelings()


def within(labelings: Ints, costs: Floats, slack: float) -> list[float]:
    """The total costs, in order, of those labelings that are within the slack of the least."""
    totals = np.sort(costs[np.arange(len(costs)), labelings].sum(axis=1))
    return [float(total) for total in totals if total <= totals[0] + slack]


def totals_of(found: NearBest, contexts: Floats, costs: Floats) -> list[float]:
    """The total costs of near-best policies, as they are played."""
    return [float(costs[np.arange(len(costs)), policy.predict(contexts)].sum()) for policy in found.policies()]


@EVERY_POOL
def test_beyond_what_is_kept_it_is_the_cheapest(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each labeling within the slack is listed once; of more than a list may have it is those of a lower bound."""
    policies, contexts, slack = POOLS[name]
    costs = costs_of(name)
    oracle = open_oracle(policies, contexts, "search")
    expected = within(labelings_of(name), costs, slack)
    every = oracle.near_best(costs, slack)
    assert (every.listed, every.exact, every.count) == (True, True, len(expected))
    assert every.count >= 30
    assert totals_of(every, contexts, costs) == expected
    monkeypatch.setattr(search_tables, "MOST_KEPT", len(expected) // 3)
    monkeypatch.setattr(search_tables, "ROOM", 8)
    monkeypatch.setattr(walks, "MOST_LISTED", len(expected) // 3)
    found = oracle.near_best(costs, slack)
    assert not found.exact
    assert 0 < found.count < len(expected)
    assert totals_of(found, contexts, costs) == expected[: found.count]


def test_ties_beyond_what_is_kept_are_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all policies cost the same, as many are listed as a list may have."""
    monkeypatch.setattr(search_tables, "MOST_KEPT", 20)
    monkeypatch.setattr(walks, "MOST_LISTED", 20)
    for name in ("three of six", "monotone"):
        policies, contexts, _ = POOLS[name]
        found = open_oracle(policies, contexts, "search").near_best(np.zeros((len(contexts), 2)), 0)
        assert (found.count, found.exact) == (20, False)
