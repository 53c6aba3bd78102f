"""Are decisions those of the rule in force? Replayed from exported JSON, SQL and Python, and from the log of changes.

A bandit with one draw of the future decides about people whose age or region may be missing; half way through it is
saved and loaded. Then each decision is made once more from three exports of the rule that the log says was in force:
the leaf, the rule's action, and the probabilities that were logged.
"""

import json
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import milpcb
from milpcb.policies import DecisionTrees

ACTIONS = ["mail", "call", "wait"]
REGIONS = ["north", "south", "west", None]
SIGNS = {"<=": float.__le__, ">": float.__gt__}


def people(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return 200 people; some have no age, some no region."""
    ages = [None if i % 9 == 0 else int(rng.integers(18, 80)) for i in range(200)]
    return [{"age": age, "region": REGIONS[i % 4]} for i, age in enumerate(ages)]


def decided(decisions: int, seed: int) -> tuple[milpcb.Bandit, list[milpcb.Decision]]:
    """Return a bandit and its decisions: calls are right for the old in the south, mail for others."""
    rng = np.random.default_rng(seed)
    everyone = people(rng)
    trees = DecisionTrees(
        3, depth=2, thresholds=[[30, 45, 60], []], feature_names=["age", "region"], action_names=ACTIONS
    )
    values = {"region": ["north", "south", "west", None], "age": [None]}
    bandit = milpcb.Bandit(
        trees,
        learner="bistro_plus",
        contexts=everyone,
        values=values,
        horizon=decisions,
        noise="half",
        future="once",
        seed=seed,
    )
    made = []
    for t in range(decisions):
        if t == decisions // 2:
            with TemporaryDirectory() as folder:
                bandit.save(Path(folder) / "bandit.json")
                bandit = milpcb.Bandit.load(Path(folder) / "bandit.json")
        person = everyone[int(rng.integers(len(everyone)))]
        decision = bandit.act(person)
        right = "call" if (person["age"] or 0) > 45 and person["region"] == "south" else "mail"
        bandit.learn(decision, cost=float(rng.random() < (0.2 if decision.action == right else 0.6)))
        made.append(decision)
    return bandit, made


def holds(condition: dict[str, Any], person: dict[str, Any]) -> bool:
    value = person[condition["column"]]
    if "in" in condition:
        return value in condition["in"]
    if "not_in" in condition:
        return value not in condition["not_in"]
    return bool(condition["missing"]) if value is None else SIGNS[condition["sign"]](float(value), condition["cut"])


def from_sql(rule: Any, persons: list[dict[str, Any]]) -> list[str]:
    """Return the actions of the exported CASE expression, by SQLite."""
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE people (id, age, region)")
        rows = [(i, person["age"], person["region"]) for i, person in enumerate(persons)]
        database.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
        return [action for (action,) in database.execute(f"SELECT {rule.to_sql()} FROM people ORDER BY id")]  # noqa: S608


def wrong(rule: Any, made: list[milpcb.Decision]) -> int:
    """Return how many of the decisions of a rule differ from what its exports say."""
    document, scope = json.loads(rule.to_json()), {}
    exec(rule.to_python(), scope)  # noqa: S102 - source that we have just written
    persons = [dict(zip(("age", "region"), decision.context, strict=True)) for decision in made]
    count = 0
    for decision, person, by_sql in zip(made, persons, from_sql(rule, persons), strict=True):
        [leaf] = [each for each in document["leaves"] if all(holds(condition, person) for condition in each["when"])]
        weights = leaf["weights"]
        action = max(weights, key=weights.get)
        right = scope["decide"](person) == by_sql == action and leaf["leaf"] == decision.leaf
        right = right and np.allclose(list(weights.values()), decision.probabilities, rtol=1e-12)
        count += not (right and np.isclose(weights[decision.action], decision.probability, rtol=1e-12))
    return count


@pytest.mark.cases(1_000)
def test_decisions_are_those_of_the_rule_in_force(runs: int) -> None:
    """By the log of changes, and by each export of the rule."""
    bandit, made = decided(runs, 0)
    log = bandit.rules()
    assert len(log) > 1
    in_force = np.searchsorted([rule.since for rule in log], np.arange(1, len(made) + 1), "right")
    assert [decision.rule_number for decision in made] == in_force.tolist()
    for rule in log:
        assert not wrong(rule, [made[t] for t in np.flatnonzero(in_force == rule.number)])
