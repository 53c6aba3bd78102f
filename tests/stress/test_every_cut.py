"""Trees of depth 2, 3 and 4 on every cut against the definition, and searches that are interrupted at a random moment.

Tables have up to 14 rows and 3 columns with ties and repeated rows; costs are whole or real, in units from 1e-250 to
1e250; limits on leaves, columns, rows of a leaf and rows of each action in a leaf come and go. The definition is a
recursion over raw rows, which knows no bounds. Whole costs must be equal to the last bit. An interrupted search must
leave bounds with the minimum between them, and a tree within the limits that attains the upper one.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from threading import Timer
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from milpcb.core import long_search
from milpcb.oracles import open_oracle
from milpcb.rng import child
from milpcb.types import Floats, Stop
from policies import DecisionTrees
from policies.trees import every_cut, policy_class
from policies.trees.limits import Limits
from policies.trees.routes import Route


@pytest.mark.cases(60)
def test_every_table_is_answered_as_by_definition(numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """By root cuts, although the tables are small."""
    monkeypatch.setattr(policy_class, "route", lambda *_: Route.ROOTS)
    outcomes = [outcome for number in numbers for outcome in table(number)]
    assert [outcome for outcome in outcomes if outcome.startswith("WRONG")] == []
    assert any(outcome.startswith("depth") for outcome in outcomes)


@pytest.mark.cases(3)
def test_an_interrupted_search_leaves_bounds(numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the signal comes: it is drawn."""
    monkeypatch.setattr(policy_class, "route", lambda *_: Route.ROOTS)
    monkeypatch.setattr(long_search, "FIRST", -np.inf)  # every search offers at once what Ctrl-C does
    monkeypatch.setattr(every_cut, "SLICE", 1e5)  # and looks up often
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    outcomes = [outcome for number in numbers for outcome in interrupt(number)]
    signal.signal(signal.SIGINT, handler)
    assert [outcome for outcome in outcomes if outcome.startswith("WRONG")] == []


def table(number: int) -> Iterator[str]:
    """Yield what came out of one table."""
    rng = child(number, "every cut")
    depth, n_actions = int(rng.choice([2, 3, 3, 3, 4])), int(rng.integers(2, 4))
    m, d = int(rng.integers(2, 15 if depth < 4 else 8)), int(rng.integers(1, 4 if depth < 4 else 3))
    contexts = np.column_stack([rng.integers(0, kind, m) for kind in rng.choice([2, 3, 1000], d)]).astype(float)
    if (contexts == contexts[0]).all():
        contexts[0, 0] += 1.0
    trees, kept = drawn_limits(rng, m, n_actions, depth)
    whole = bool(rng.integers(2))
    costs = rng.integers(-9, 10, (m, n_actions)).astype(float) if whole else rng.normal(size=(m, n_actions))
    unit, row = 2.0 ** int(rng.choice([-830, -60, 0, 60, 830])), int(rng.integers(m))
    logged = np.array(trees.logged_actions if trees.logged_actions is not None else [0] * m)
    least = by_definition(contexts, costs, logged, depth, kept)
    if least == np.inf:
        yield "no tree keeps the limits"
        return
    oracle = open_oracle(trees, contexts, "search")
    answer = oracle.minimise(costs * unit)
    profile = oracle.profile(costs * unit, row) / unit
    policy: Any = answer.policy
    labels = policy.predict(contexts)
    others = [costs.copy() for _ in range(n_actions)]
    for action, priced in enumerate(others):
        priced[row] += 1e4
        priced[row, action] -= 1e4
    expected = [by_definition(contexts, priced, logged, depth, kept) for priced in others]
    near = 0.0 if whole else 1e-9
    kind = f"depth {depth}, {'whole' if whole else 'real'} costs, {'limits' if kept else 'no limit'}"
    right = (
        abs(oracle.value(costs * unit) / unit - least) <= near
        and abs(answer.upper / unit - least) <= near
        and abs(costs[np.arange(m), labels].sum() - least) <= near
        and np.allclose(profile, expected, rtol=0.0, atol=near)
        and (not kept or kept.allow(policy.root, contexts, counts_of(logged, n_actions, kept)))
    )
    yield kind if right else f"WRONG {kind}: table {number}"


def drawn_limits(rng: np.random.Generator, m: int, n_actions: int, depth: int) -> tuple[DecisionTrees, Limits]:
    """Return trees with limits that come and go, and the limits."""
    options: dict[str, Any] = {}
    if rng.random() < 0.6:
        options["max_leaves"] = int(rng.integers(depth + 1, 2**depth)) if rng.random() < 0.4 else None
        options["max_features"] = int(rng.integers(1, 3)) if rng.random() < 0.3 else None
        options["min_leaf_size"] = int(rng.integers(1, max(2, m // 3))) if rng.random() < 0.5 else None
        if rng.random() < 0.3 and m >= 2 * n_actions:
            options["min_action_rows"] = int(rng.integers(1, 3))
            options["logged_actions"] = rng.permutation(np.arange(m) % n_actions).tolist()
    trees = DecisionTrees(n_actions, depth=depth, thresholds="all", **options)
    return trees, trees.limits


def counts_of(logged: Any, n_actions: int, kept: Limits) -> Floats:
    """Return (m, 1 or 1 + K): the counts of each row."""
    rows = np.ones((len(logged), 1))
    return rows if kept.min_action_rows is None else np.hstack([rows, np.eye(n_actions)[logged]])


def by_definition(contexts: Floats, costs: Floats, logged: Any, depth: int, kept: Limits) -> float:
    """Return the least total cost of the trees within the limits, by trying all."""
    n_actions, n_features = costs.shape[1], contexts.shape[1]
    most = n_features if kept.max_features is None else min(n_features, kept.max_features)
    counts = counts_of(logged, n_actions, kept)

    def best(features: Sequence[int]) -> float:
        @cache
        def below(rows: tuple[int, ...], height: int, leaves: int) -> float:
            here = list(rows)
            small = bool(kept.too_small(counts[here].sum(axis=0)))
            least = np.inf if small else float(costs[here].sum(axis=0).min())
            if height == 0 or leaves == 1:
                return least
            for f in features:
                for value in np.unique(contexts[here, f])[:-1]:
                    yes = tuple(j for j in rows if contexts[j, f] <= value)
                    no = tuple(j for j in rows if contexts[j, f] > value)
                    for i in range(1, leaves):
                        least = min(least, below(yes, height - 1, i) + below(no, height - 1, leaves - i))
            return least

        return below(tuple(range(len(contexts))), depth, min(kept.max_leaves or 2**depth, 2**depth))

    return min(best(features) for features in combinations(range(n_features), most))


def interrupt(number: int) -> Iterator[str]:
    """Yield what came out of a search that a signal ends at a random moment."""
    rng = child(number, "interrupted")
    depth, m = (3, 150) if number % 3 else (2, 4000)
    contexts, costs = rng.normal(size=(m, 4)), rng.integers(-99, 100, (m, 3)).astype(float)
    trees = DecisionTrees(3, depth=depth, thresholds="all", min_leaf_size=5 if number % 2 else None)
    oracle = open_oracle(trees, contexts, "search")
    start = perf_counter()
    least = oracle.value(costs)
    seconds = perf_counter() - start
    timer = Timer(float(rng.random()) * seconds, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        answer = oracle.minimise(costs)
        timer.join()
    except KeyboardInterrupt:
        yield f"depth {depth}: interrupted before the first cut, or when it was done"
        return
    labels = answer.policy.predict(contexts)
    attained = costs[np.arange(m), labels].sum() == answer.upper
    large = np.bincount(answer.policy.apply(contexts)).min() >= (5 if number % 2 else 1)
    if not (answer.lower <= least <= answer.upper and attained and large):
        yield f"WRONG bounds of an interrupted search: {number}"
    elif answer.stop == Stop.INTERRUPTED:
        yield f"depth {depth}: interrupted on the way, the bounds hold"
    else:
        yield f"depth {depth}: done before the interrupt"
