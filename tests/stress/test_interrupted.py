"""Searches over trees on every cut that are interrupted at a random moment leave bounds, and a tree within limits."""

import os
import signal
from threading import Timer
from time import perf_counter

import numpy as np
import pytest

from milpcb.core import long_search
from milpcb.oracles import open_oracle
from milpcb.rng import child
from policies import DecisionTrees
from policies.trees import every_cut, policy_class
from policies.trees.routes import Route


@pytest.mark.cases(3)
def test_an_interrupted_search_leaves_bounds(numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the signal comes: the minimum lies between them, and the tree attains the upper one."""
    monkeypatch.setattr(policy_class, "route", lambda *_: Route.ROOTS)
    monkeypatch.setattr(long_search, "FIRST", -np.inf)  # every search offers at once what Ctrl-C does
    monkeypatch.setattr(every_cut, "SLICE", 1e5)  # and looks up often
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    assert [number for number in numbers if not leaves_bounds(number)] == []
    signal.signal(signal.SIGINT, handler)


def leaves_bounds(number: int) -> bool:
    """Return whether what a search leaves is right; one that is interrupted before its first cut leaves nothing."""
    rng, least_rows = child(number, "interrupted"), 5 if number % 2 else 1
    depth, m = (3, 150) if number % 3 else (2, 4000)
    contexts, costs = rng.normal(size=(m, 4)), rng.integers(-99, 100, (m, 3)).astype(float)
    trees = DecisionTrees(3, depth=depth, thresholds="all", min_leaf_size=least_rows if least_rows > 1 else None)
    oracle, start = open_oracle(trees, contexts, "search"), perf_counter()
    least = oracle.value(costs)
    timer = Timer(float(rng.random()) * (perf_counter() - start), os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        answer = oracle.minimise(costs)
        timer.join()
    except KeyboardInterrupt:
        return True
    attained = costs[np.arange(m), answer.policy.predict(contexts)].sum() == answer.upper
    large = np.bincount(answer.policy.apply(contexts)).min() >= least_rows
    return bool(answer.lower <= least <= answer.upper and attained and large)
