"""The rule in force of a bandit, its exports and the log of its changes; and why a decision was made."""

import copy
import json
import pickle
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milpcb
from milpcb.policies import DecisionTrees, LinearRules
from tests.refused import refused

NAMES = ["mail", "call", "wait"]
RNG = np.random.default_rng(3)
REGIONS = ["north", "south", "west", None]
PEOPLE: list[dict[str, Any]] = [
    {"age": None if i % 9 == 0 else int(RNG.integers(18, 80)), "region": REGIONS[i % 4]} for i in range(60)
]
TREES = DecisionTrees(
    n_actions=3, depth=2, thresholds=[[30, 45, 60], []], feature_names=["age", "region"], action_names=NAMES
)


def bandit(**options: Any) -> milpcb.Bandit:
    """Return a bandit on 60 people, whose ages and regions may be missing."""
    settings: dict[str, Any] = {"noise": "half", "future": "once", "seed": 0, "horizon": 400} | options
    values = {"region": ["north", "south", None], "age": [None]}
    return milpcb.Bandit(TREES, learner="bistro_plus", contexts=PEOPLE, values=values, **settings)


def decide(service: milpcb.Bandit, rounds: range) -> list[milpcb.Decision]:
    """Decide and learn: calls are right in the south, mail elsewhere."""
    made = []
    for t in rounds:
        rng = np.random.default_rng([5, t])
        decision = service.act(PEOPLE[int(rng.integers(len(PEOPLE)))])
        right = "call" if decision.context[1] == "south" else "mail"
        service.learn(decision, cost=float(rng.random() < (0.1 if decision.action == right else 0.7)))
        made.append(decision)
    return made


def person_of(decision: milpcb.Decision) -> dict[str, Any]:
    """Return the columns of a decision's context."""
    return dict(zip(("age", "region"), decision.context, strict=True))


@pytest.fixture(scope="module")
def played() -> tuple[milpcb.Bandit, list[milpcb.Decision]]:
    """Return a bandit after 400 decisions, and these."""
    service = bandit()
    return service, decide(service, range(400))


@pytest.mark.skipif(shutil.which("node") is None, reason="the reader of the gallery is a JavaScript program")
def test_a_program_in_javascript_reads_the_rule(played, tmp_path):
    """It finds the leaf and the probabilities of every person."""
    service, made = played
    (tmp_path / "rule.json").write_text(service.rule().to_json(), encoding="utf-8")
    reader = Path(__file__).parents[1] / "scripts" / "gallery" / "rule_in_force.js"
    last = [decision for decision in made if decision.rule_number == service.rule().number]
    people = json.dumps([person_of(decision) for decision in last])
    command = ["node", str(reader), str(tmp_path / "rule.json")]
    done = subprocess.run(command, input=people, capture_output=True, text=True, check=True)
    for line, decision in zip(done.stdout.splitlines(), last, strict=True):
        leaf, action, weights = json.loads(line)
        assert leaf == decision.leaf
        assert action in NAMES
        assert list(weights.values()) == pytest.approx(decision.probabilities)


def test_a_restart_changes_neither_rules_nor_numbers(tmp_path):
    """Exports, log and leaves are the same in the loaded bandit, and its next decision follows the same rule."""
    service = bandit()
    decide(service, range(150))
    service.save(tmp_path / "bandit.json")
    loaded = milpcb.Bandit.load(tmp_path / "bandit.json")
    assert loaded.rules() == service.rules()
    assert [rule.to_json() for rule in loaded.rules()] == [rule.to_json() for rule in service.rules()]
    one, other = (each.act(PEOPLE[7]) for each in (service, loaded))
    assert (one.rule_number, one.leaf, one.probabilities) == (other.rule_number, other.leaf, other.probabilities)
    assert milpcb.Decision.from_json(other.to_json()) == other


def test_no_rule_is_in_force_with_other_learners():
    """Nor before the first decision; decisions then have no number, and an unknown number is refused."""
    service = milpcb.Bandit(TREES, values={"region": ["north", "south"], "age": [None]})
    assert service.act(PEOPLE[0]).rule_number is None
    for each in (service, bandit(), bandit(noise="signed")):
        assert each.rules() == []
        refused(each.rule, "no rule is in force")
    service = bandit()
    decide(service, range(3))
    refused(lambda: service.rule(99), "no rule 99")


CALLS = ["call", "write", "wait"]
VISITS = DecisionTrees(
    3, depth=2, thresholds=[[30, 45, 60], [2, 5, 10], []], feature_names=["age", "visits", "region"], action_names=CALLS
)


def trained(**options: Any) -> milpcb.Bandit:
    """Return a bandit that has learnt: north, call up to 45, else write; south, wait."""
    bandit = milpcb.Bandit(VISITS, seed=0, values={"region": ["north", "south"], "age": [None]}, **options)
    rng = np.random.default_rng(0)
    for _ in range(1_500):
        age, region = int(rng.integers(18, 80)), ["north", "south"][rng.integers(2)]
        right = "wait" if region == "south" else "call" if age <= 45 else "write"
        made = bandit.act({"age": age, "visits": int(rng.integers(20)), "region": region})
        bandit.learn(made, cost=0.1 if made.action == right else 0.9)
    return bandit


def test_the_nearest_change_alters_the_rule_and_nothing_nearer_does() -> None:
    """By the rule's own predictions, on people of all ages and both regions, missing ages among them."""
    bandit = trained()
    rule = bandit.policy()
    for age in (20, 45, 45.5, 46, 70, None):
        for region in ("north", "south"):
            person = {"age": age, "visits": 4, "region": region}
            made = bandit.act(person)
            why = made.why()
            plays = rule.predict_names([person])[0]
            assert (why.rule, why.probability) == (plays, made.probability)
            assert why.by == (
                "rule" if made.action == plays else "majority" if made.probability > 0.5 else "exploration"
            )
            other = rule.predict_names([person | {"region": "south" if region == "north" else "north"}])[0]
            sides = {rule.predict_names([person | {"age": other_age}])[0] for other_age in (20, 45, 46, 70)} - {plays}
            assert (why.nearest is None) == (not sides and other == plays)
            if why.nearest is not None:
                assert why.nearest.action in ({other} if why.nearest.feature == "region" else sides)
                assert why.nearest.steps == 1 or other == plays
            assert str(plays) in str(why)
    seen = bandit.act({"age": 70, "visits": 4, "region": "north"}).why()
    assert any("region" in condition for condition in seen.path)
    assert set(seen.rivals) == {"call", "wait"}
    assert not seen.disputed


def test_what_nobody_knows_yet_is_disputed() -> None:
    """Before anything is learnt all policies are as good, and no cost divides them."""
    bandit = milpcb.Bandit(VISITS, seed=0, values={"region": ["north"]})
    why = bandit.act({"age": 1, "visits": 1, "region": "north"}).why()
    assert set(why.rivals.values()) == {0.0}
    assert len(why.disputed) == 2


def test_who_decided() -> None:
    """The baseline, where it did so alone; nobody, where there was no choice."""
    people = {"age": 20, "visits": 4, "region": "north"}
    promised = milpcb.Bandit(VISITS, seed=0, values={"region": ["north"]}, baseline="wait")
    assert promised.act(people).why().by == "baseline"
    free = trained()
    assert free.act(people, available=["wait"]).why().by == "no choice"


def test_where_a_decision_finds_its_bandit(tmp_path: Path) -> None:
    """A decision as text, a copy's, and those of a bandit that is gone: the one that goes on from it is asked."""
    bandit = trained()
    person = {"age": 70, "visits": 4, "region": "north"}
    made = bandit.act(person)
    again = milpcb.Decision.from_json(made.to_json())
    assert str(again.why()) == str(bandit.why(made.id)) == str(made.why())
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 - ours; a decision does not carry its bandit along
    other = copy.deepcopy(bandit)
    theirs = other.act(person)
    assert theirs.why().rule == other.why(theirs).rule
    refused(lambda: other.why("nothing"), "'nothing' is not known here")
    bandit.save(tmp_path / "bandit.json")
    del bandit
    refused(made.why, "bandit.why")
    assert milpcb.Bandit.load(tmp_path / "bandit.json").why(made).rule == "write"


def test_the_rule_in_force_and_classes_without_parts() -> None:
    """The rule by which it was made, not that of today; linear rules have the test of their score, and changes."""
    grid = [[i, j] for i in range(5) for j in range(5)]
    bandit = milpcb.Bandit(
        DecisionTrees(2, 1, thresholds=[[0, 1, 2, 3], [0, 1, 2, 3]]),
        learner="bistro_plus",
        contexts=grid,
        horizon=500,
        noise="half",
        future="once",
        seed=0,
    )
    first = bandit.act([2, 2])
    before = bandit.why(first)
    bandit.learn(first, cost=0.5)
    for i in range(400):
        made = bandit.act(grid[i % 25])
        bandit.learn(made, cost=float((grid[i % 25][0] > 1) == (made.action == 1)))
    assert first.rule_number == 1 < bandit.rule().number
    assert str(bandit.why(first).policy) == str(before.policy)
    linear = milpcb.Bandit(LinearRules(2, max_weight=2), contexts=grid, seed=0)
    for i in range(300):
        made = linear.act(grid[i % 25])
        linear.learn(made, cost=float((grid[i % 25][0] > grid[i % 25][1]) == (made.action == 0)))
    why = linear.act([1, 2]).why()
    rule = linear.policy()
    assert [test.split()[0] for test in why.path] == ["score"]
    assert why.nearest is not None
    assert rule.predict(np.array([[i, 2.0] for i in range(5)])).tolist() != [why.rule] * 5
