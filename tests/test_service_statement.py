"""The sentences in which a bandit states what it cost: numbers as they are, for costs and rewards, with a baseline."""

import re
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from milpcb import Bandit, share_at_most
from milpcb.offline import read_log
from policies import DecisionTrees, ThresholdRules
from tests.inside import learner_of

TREES = DecisionTrees(2, depth=1, thresholds=[[30.0]], feature_names=["age"], action_names=["call", "write"])


def served(rounds: int, policies: Any = TREES, **options: Any) -> Bandit:
    """Return a bandit after some decisions that alternate between the costs 0.5 and 1 (rewards 5 and 0)."""
    bandit = Bandit(policies, seed=3, **options)
    for i in range(rounds):
        paid = {"reward": 5.0 * (i % 2)} if "reward_range" in options else {"cost": 1 - 0.5 * (i % 2)}
        bandit.learn(bandit.act([20 + 20 * (i % 3 == 0)]), **paid)
    return bandit


RULES = ThresholdRules(2, thresholds=[[30.0]], action_names=["call", "write"], feature_names=["age"])
MORE = "With 90 % confidence that is at most {} than the best of all"


@pytest.mark.parametrize(
    ("rounds", "policies", "options", "paid", "best", "unit"),
    [
        (400, TREES, {}, "400 decisions cost 300 in all, 0.75 each.", "decision trees would have cost", 1),
        (
            1000,
            RULES,
            {"reward_range": (0, 10), "constraints": share_at_most("call", 0.5)},
            "1 000 decisions earned 2 500 in all, 2.5 each.",
            "threshold rules that keep the constraints would have earned",
            10,
        ),
    ],
    ids=["costs", "rewards"],
)
def test_outcomes_and_the_certificate_are_stated(
    rounds: int, policies: Any, options: Any, paid: str, best: str, unit: int
) -> None:
    """By the numbers that they are, in their own unit, at the confidence asked for; thousands are set apart."""
    bandit = served(rounds, policies, **options)
    bandit.act([20])
    most = f"{ceil(unit * bandit.certificate(confidence=0.9)):,} {'less' if unit > 1 else 'more'}".replace(",", " ")
    assert bandit.statement(confidence=0.9).splitlines() == [
        paid,
        f"{MORE.format(most)} {best} on them.",
        "The cost of 1 more decision is not known yet, and not counted here.",
    ]


def test_limits_are_rounded_to_the_side_where_they_hold() -> None:
    """Upper ones up, lower ones down, and a confidence is not rounded to all; loss and confidence have defaults."""
    bandit = served(400)
    assert 76 < bandit.certificate(confidence=0.9) < 76.5
    assert "at most 77 more" in bandit.statement(confidence=0.9)
    assert "With 99.99999 % confidence" in bandit.statement(confidence=0.9999999)
    bandit = served(280, baseline="write", loss=0.1, confidence=0.8)
    learner: Any = learner_of(bandit)
    assert 192.5 < learner.floor < 193
    assert "cost at least 192, and" in bandit.statement()
    promise = served(20, baseline="write").statement().splitlines()[2]
    assert promise.startswith("With 95 % confidence all decisions so far, at every moment, cost at most 2 % more than")


def test_a_limit_that_says_nothing_is_not_stated() -> None:
    """Where the certificate is all that was paid it is said why, and after how many decisions it may be less."""
    bandit = served(12)
    assert bandit.certificate(confidence=0.95) == 9.0
    first, unknown = bandit.statement().splitlines()
    assert first == "12 decisions cost 9 in all, 0.75 each."
    reason = re.fullmatch(
        "It is not known yet with 95 % confidence how much the best of all decision trees would have cost on them: 12 "
        r"decisions cannot rule out chance\. If costs go on like this, about (\d+) decisions will do\.",
        unknown,
    )
    assert reason is not None
    enough = int(reason[1])
    assert served(enough // 2).certificate(confidence=0.95) == pytest.approx(0.75 * (enough // 2), abs=0.5)
    later = served(2 * enough)
    assert later.certificate(confidence=0.95) < 1.5 * enough
    assert "more than the best of all decision trees" in later.statement()


@pytest.mark.parametrize("given", [{"cost": 0.0}, {"reward": 1}])
def test_before_anything_is_known_of_the_best_the_reason_is_stated(given: dict[str, float]) -> None:
    """A decision alone has cost nothing yet; where the best has cost nothing no number of decisions makes a limit."""
    bandit = Bandit(TREES)
    decision = bandit.act([20])
    assert bandit.statement().splitlines() == [
        "No decision is learnt yet, so there is nothing to state.",
        "The cost of 1 more decision is not known yet, and not counted here.",
    ]
    bandit.learn(decision, **given)
    assert bandit.statement().endswith(": no outcome that was learnt bounds it.")


def test_what_came_since_the_last_statement_is_stated(tmp_path: Path) -> None:
    """In decisions and in costs, also by a bandit that was saved in between; each statement is a new last one."""
    bandit = served(100, reward_range=(0, 10))
    assert "Since" not in bandit.statement()
    for reward in (10, 4):
        bandit.learn(bandit.act([20]), reward=reward)
    bandit.save(tmp_path / "b.json")
    bandit = Bandit.load(tmp_path / "b.json")
    assert bandit.statement().splitlines()[:2] == [
        "102 decisions earned 264 in all, 2.588 each.",
        "Since the last statement 2 more decisions earned 14.",
    ]
    assert "Since" not in bandit.statement()


def test_every_decision_is_counted_once() -> None:
    """Those learnt, open and given up are all that were made, and of these some were left to the baseline."""
    bandit = served(60, baseline="write", loss=0.5)
    late = [bandit.act([20]) for _ in range(15)]
    for decision in late[:5]:
        bandit.give_up(decision)
    learner: Any = learner_of(bandit)
    lines = bandit.statement().splitlines()
    assert lines[0] == "60 decisions cost 45 in all, 0.75 each."
    assert f"it alone made {learner.rounds_of_baseline} of all 75 decisions." in lines[3]
    assert lines[-2:] == [
        "The cost of 10 more decisions is not known yet, and not counted here.",
        (
            "The cost of 5 more decisions will never be known: "
            "this holds if giving up depended neither on cost nor on action."
        ),
    ]


def test_why_the_baseline_still_decides_is_stated() -> None:
    """As much as may be risked is at risk already: with costs that are not known, each of which counts as 1."""
    bandit = served(400, baseline="write", loss=0.5)
    learner: Any = learner_of(bandit)
    assert not learner.at_limit
    assert "left to it too" not in bandit.statement()
    while not learner.at_limit:
        bandit.act([20])
    waits = f"each cost that is not known ({learner.unknown}) counts as 1"
    assert f"The baseline makes the next decision too, as no more may be risked yet: {waits}." in bandit.statement()
    assert bandit.act([20]).probabilities == (0.0, 1.0)


def test_a_statement_says_what_stands_for_a_new_action_and_what_came_from_a_log() -> None:
    """Both change what the numbers are of."""
    log = read_log([[20.0], [40.0]], ["call", "write"], cost=[0.5, 1.0], propensity=[0.5, 0.5])
    bandit = Bandit.from_log(TREES, log)
    bandit.add_action("visit")
    assert bandit.statement().splitlines()[-1:] == [
        "Before 'visit' came, policies that play it count as playing the first action."
    ]
