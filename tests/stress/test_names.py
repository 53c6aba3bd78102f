"""Conclusions from logs with odd names against plain definitions, and printed tests read back.

Each log has names of actions that are numbers, strings or booleans in any order, columns of propensities in any
order, groups and categories that print alike, quotes, line breaks, and strings such as "missing". Learning, side
constraints, conditions and exports are compared with loops over the rows (names_logs.py).
"""

# ruff: noqa: S608 - the SQL is ours, in a database of its own

import random
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpcb import estimators
from milpcb.data.columns import Membership, Number
from milpcb.data.conditions import holds
from milpcb.estimators import LoggedPolicyTree, OptimalPolicyTree
from tests.stress import names_logs as plain
from tests.stress.names_logs import RandomLog

CLOSE = 1e-9
Found = Iterator[tuple[str, bool]]  # what was compared, and whether it agrees


def table_of(log: RandomLog) -> Any:
    """Return the features as a data frame."""
    x, g = log.columns
    groups = pd.Series(log.g, dtype=object)
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in log.groups):
        groups = groups.astype(float)
    return pd.DataFrame({x: pd.Series(log.x, dtype=float), g: groups})


def done_of(log: RandomLog) -> Any:
    return np.array([log.names[a] for a in log.done])


def propensity_of(log: RandomLog, rng: random.Random) -> Any:
    """Return the chances as a data frame called by the actions, whose columns are in any order."""
    order = rng.sample(range(log.n_actions), log.n_actions)
    return pd.DataFrame({named(log.names[k]): [row[k] for row in log.chances] for k in order})


def named(action: Any) -> str:
    return str(int(action)) if isinstance(action, float) and action == int(action) else str(action)


def close(one: float, other: float) -> bool:
    """Return whether two numbers differ by rounding at most."""
    return abs(one - other) <= CLOSE * max(1.0, abs(other))


# ------------------------------------------------------------------- what is compared


def learning(log: RandomLog, rng: random.Random) -> Found:
    """The best tree of depth 1 has the best value there is, is valued so, and plays by name."""
    X, done, chances = table_of(log), done_of(log), propensity_of(log, rng)
    tree = LoggedPolicyTree(max_depth=1, thresholds="all", method="ips", min_propensity=1e-6, cv=2)
    tree.fit(X, done, reward=log.earned, propensity=chances)
    yield "learn", close(tree.policy_value_, max(plain.value(log, played) for played in plain.trees(log)))
    played = [log.names.index(name) for name in tree.predict(X).tolist()]
    yield "predict of what was learnt", close(plain.value(log, played), tree.policy_value_)
    worth = tree.evaluate(X, done, reward=log.earned, propensity=chances)
    yield "evaluate what was learnt", close(worth.value.value, plain.value(log, played))
    yield from exports(log, tree, X, played)


def exports(log: RandomLog, tree: Any, X: Any, played: list[int]) -> Found:
    """SQL, Python and JSON play what ``predict`` plays; the printed test, read back, divides the rows as the rule."""
    expected = [log.names[a] for a in played]
    rows = [[None if pd.isna(entry) else entry for entry in row] for row in X.itertuples(index=False)]
    base = sqlite3.connect(":memory:")
    quoted = ['"' + name.replace('"', '""') + '"' for name in X.columns]
    base.execute(f"CREATE TABLE t ({', '.join(quoted)})")
    base.executemany("INSERT INTO t VALUES (?, ?)", rows)
    yield "SQL", [answer for (answer,) in base.execute(f"SELECT {tree.to_sql()} FROM t")] == expected
    base.close()
    scope: dict[str, Any] = {}
    exec(tree.to_python(), scope)  # noqa: S102 - it is what is compared
    yield "Python", [scope["decide"](dict(zip(X.columns, row, strict=True))) for row in rows] == expected
    yield "JSON", estimators.from_json(tree.to_json()).predict(X).tolist() == expected
    graph = tree.policy_.graph()
    if graph.out_degree(0):
        yes = tree.apply(X) == 0
        yield "the printed test", bool((holds(graph.nodes[0]["label"], values_of(log)) == yes).all())


def values_of(log: RandomLog) -> dict[str, Any]:
    """Return the columns as conditions read them."""
    X = table_of(log)
    x, g = log.columns
    column: Any = X[g].to_numpy() if X[g].dtype == float else np.empty(len(X), dtype=object)
    if column.dtype == object:
        column[:] = log.g
    return {x: X[x].to_numpy(), g: column}


def constraining(log: RandomLog, rng: random.Random) -> Found:
    """Under parity, a share, and a condition as a rule prints it, the best tree that keeps it is found."""
    X, action = table_of(log), rng.randrange(log.n_actions)
    table = pd.DataFrame(log.scores, columns=[named(name) for name in log.names])
    share, delta = rng.choice([0.1, 0.25, 0.5]), rng.choice([0.0, 0.2, 0.4])
    forbidden, where = condition(log, rng)
    name = named(log.names[action])
    cases: list[tuple[str, Any, Callable[[list[int]], bool]]] = [
        (
            "parity",
            estimators.parity(name, group=log.columns[1], delta=delta),
            lambda played: max(r := plain.rates(log, played, action)) - min(r) <= delta + CLOSE,
        ),
        (
            "a share",
            estimators.share_at_most(rng.choice([name, log.names[action]]), share),
            lambda played: played.count(action) <= share * len(played) + CLOSE,
        ),
        (
            "never, where a printed test holds",
            estimators.never(name, where=where),
            lambda played: not any(a == action and here for a, here in zip(played, forbidden, strict=True)),
        ),
    ]
    for kind, rule, keeps in cases:
        tree = OptimalPolicyTree(max_depth=1, thresholds="all", maximise=True, constraints=[rule]).fit(X, table)
        best = max(plain.value(log, played) for played in plain.trees(log) if keeps(played))
        yield f"the best under {kind}", close(tree.policy_value_, best)
        found = [[named(each) for each in log.names].index(each) for each in tree.predict(X).tolist()]
        yield f"{kind} is kept", keeps(found)


def condition(log: RandomLog, rng: random.Random) -> tuple[list[bool], str]:
    """Return where a test of the groups holds, and the test as rules print it."""
    column, values = log.columns[1], values_of(log)[log.columns[1]]
    if values.dtype == object:
        chosen = rng.choice(log.groups)
        return [value == chosen for value in log.g], Membership(column, (chosen,)).words(holds=True)
    cut = sorted(log.groups)[1]
    return [value <= cut for value in log.g], Number(column).test("<=", float(cut))


# ------------------------------------------------------------------- all of it


@pytest.mark.cases(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [learning, constraining])
def test_logs_agree_with_their_definitions(kind: Callable[[RandomLog, random.Random], Found], numbers: range) -> None:
    """Values, best trees with and without constraints, and exports."""
    for seed in numbers:
        wrong = [what for what, agrees in kind(plain.draw(seed), random.Random(seed)) if not agrees]  # noqa: S311
        assert wrong == [], seed
