"""Answers while a service runs: intervals by group, which hold at all times, and whether a trial may end."""

from math import exp, log1p
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milpcb
from milpcb import Bandit
from milpcb.bandit.sums import COSTS, Groups
from milpcb.bets import STAKES, RunningMean
from milpcb.constraints import NamedRows
from milpcb.ledger import Ledger
from milpcb.offline import settled
from policies import DecisionTrees, FiniteClass
from tests.inside import learner_of, numbers_of, rounds_of, state_of
from tests.refused import refused

TREES = DecisionTrees(2, depth=1, thresholds=[[45], []], feature_names=["age", "region"], action_names=["call", "mail"])
GROUPS = ["region = north", "age > 60", "branch = 3"]


def grouped(**options: Any) -> milpcb.Bandit:
    """Return a bandit with three groups, one of which reads what rules do not."""
    return milpcb.Bandit(TREES, seed=0, values={"region": ["north", "south"]}, groups=GROUPS, **options)


def test_sums_of_each_group_are_as_by_hand(tmp_path: Path) -> None:
    """Late costs, overrides, a saved bandit, and a decision that its file does not know."""
    bandit, rng = grouped(), np.random.default_rng(0)
    ledgers, played, paid = [Ledger() for _ in GROUPS], np.zeros((3, 2)), np.zeros(3)
    waiting: list[Any] = []
    for t in range(400):
        person = {"age": int(rng.integers(18, 80)), "region": ["north", "south"][t % 2], "branch": int(rng.integers(5))}
        waiting.append((person, bandit.act(person)))
        if t == 200:
            kept = tmp_path / "bandit.json"
            bandit.save(kept)
            waiting.append((person, bandit.act(person)))  # nobody's file knows of it
            bandit = milpcb.Bandit.load(kept)
        if t % 3 == 0:
            continue
        person, made = waiting.pop(int(rng.integers(len(waiting))))
        action = TREES.action_names.index(str(made.action)) if TREES.action_names else 0
        cost = float((person["age"] > 45) == (action == 0)) * 0.5
        over = t % 7 == 0
        if over:
            bandit.override(made.to_json(), ["mail", "call"][action], by="AB", reason="")
        bandit.learn(made, cost=cost)
        (row,) = learner_of(bandit).oracle.rows(numbers_of(bandit, made.context)[None]).tolist()
        members = [person["region"] == "north", person["age"] > 60, person["branch"] == 3]
        for i in np.flatnonzero(members):
            played[i, 1 - action if over else action] += 1
            paid[i] += cost
            if over:
                ledgers[i].pay(cost)
            else:
                ledgers[i].add(row, action, cost, cost / made.probability)
    found = bandit.by_group(0.9)
    assert [group.group for group in found] == GROUPS
    for i, group in enumerate(found):
        assert group.decisions == played[i].sum() > 20
        assert group.paid == pytest.approx(paid[i])
        assert [rate.value for rate in group.rates.values()] == pytest.approx(played[i] / played[i].sum())
        assert group.outcome.lower <= group.outcome.value <= group.outcome.upper
        own = ledgers[i].confident(rounds_of(bandit).allowed(), 1 - 0.1 / 3 / 4)
        assert group.certificate == pytest.approx(own)
    assert bandit.statement(0.9).count(" each\n    call") == 3
    bandit.add_action("wait")
    later = bandit.by_group(0.9)
    assert [group.rates["wait"].value for group in later] == [0.0] * 3
    assert [(group.decisions, group.paid) for group in later] == [(group.decisions, group.paid) for group in found]
    assert all(more.certificate >= group.certificate for more, group in zip(later, found, strict=True))


def test_the_chance_of_an_error_is_shared_by_all_statements_on_all_groups() -> None:
    """Two groups, of each the mean cost, two rates and the certificate: eight statements."""
    oracle = milpcb.open_oracle(FiniteClass([[0], [1]], 2), [[0.0]], kind="enumeration")
    groups, rng = Groups(["a = 1", "a = 0"], 2), np.random.default_rng(0)
    ledger, paid, rate = Ledger(), RunningMean(), RunningMean()
    for _ in range(2_000):
        action = int(rng.integers(2))
        cost = float(rng.random() < (0.6, 0.3)[action])
        groups.enter(groups.members(NamedRows({"a": np.ones(1)}, ["x", "y"])), 0, action, action, cost, 2 * cost)
        ledger.add(0, action, cost, 2 * cost)
        paid.add(cost)
        rate.add(float(action == 0))
    found = groups.summaries(oracle, ["x", "y"], 0.9, COSTS)[0]
    assert found.certificate == ledger.confident(oracle, 1 - 0.1 / 8) < found.paid
    assert tuple(found.outcome) == paid.within(0.1 / 8)
    assert tuple(found.rates["x"]) == rate.within(0.1 / 8)


def test_the_interval_of_a_running_mean() -> None:
    """Its factor's mean is at most 1, for numbers of two or three values; it holds in all runs, and is narrow."""
    for stake in STAKES:
        psi = -log1p(-stake) - stake
        for guess in np.linspace(0, 1, 11):
            for chances in np.random.default_rng(0).dirichlet([0.5, 0.5, 0.5], 30):
                values = np.array([0.0, 0.4, 1.0])
                for side in (values, 1 - values):
                    factor = [exp(stake * (x - chances @ side) - psi * (x - guess) ** 2) for x in side]
                    assert chances @ factor <= 1 + 1e-12
    rng, wrong, widths = np.random.default_rng(1), 0, []
    for _ in range(100):
        mean, expected = RunningMean(), 0.0
        level, outside = 0.3, False
        for t in range(1_000):
            x = float(rng.random() < level)
            expected += level
            level = 0.2 + 0.3 * x  # what comes next reacts to what came
            mean.add(x)
            if t % 50 == 49:
                _, lower, upper = mean.within(0.2)
                outside |= not lower <= expected / mean.count <= upper
        wrong += outside
        widths.append(upper - lower)
    assert wrong <= 20
    assert np.mean(widths) < 0.13
    assert RunningMean().within(0.1) == (0.0, 0.0, 1.0)


TRIAL = DecisionTrees(
    2, depth=1, thresholds=[[0.5], []], feature_names=["age", "region"], action_names=["letter", "call"]
)
VALUES: dict[str, list[Any]] = {"region": ["north", "south"]}


def played(learner: str, n: int, **options: Any) -> Bandit:
    """Return a bandit after n decisions; calls do well in the north, letters in the south."""
    bandit = Bandit(TRIAL, learner, seed=0, values=VALUES, keep_log=True, reward_range=(0, 10), **options)
    rng = np.random.default_rng(0)
    for _ in range(n):
        region = str(rng.choice(["north", "south"]))
        decision = bandit.act({"age": int(rng.integers(2)), "region": region})
        good = (decision.action == "call") == (region == "north")
        bandit.learn(decision, reward=10 * float(rng.random() < (0.8 if good else 0.2)))
    return bandit


@pytest.mark.parametrize("learner", ["uniform", "epsilon_greedy"])
def test_a_bandit_ends_when_its_log_does(learner: str, tmp_path: Path) -> None:
    """The least eps is that of the log with the floors of its learner, in units of reward; a file keeps the floors."""
    bandit = played(learner, 800)
    found = bandit.settled(3.0)
    assert found.settled
    assert found.rivals == ()
    assert 0 < found.refuted_eps <= 3.0
    assert "'north'" in str(found.policy) or "north" in str(found.policy)
    log = bandit.log()
    contexts = np.array([[age, region == "north"] for age, region in log.features.iter_rows()], dtype=float)
    cuts = DecisionTrees(2, depth=1, thresholds=[[0.5], [0.5]], action_names=["letter", "call"])
    floor = log.propensity.min(axis=1)
    other = settled(log, cuts, 0.3, contexts=contexts, floor=floor)
    assert 10 * other.refuted_eps == pytest.approx(found.refuted_eps, rel=0.1)  # of a class of about the same size
    bandit.save(tmp_path / "b.json")
    assert Bandit.load(tmp_path / "b.json").settled(3.0).refuted_eps == found.refuted_eps
    assert not bandit.settled(0.001).settled
    assert bandit.settled(0.001).rivals


def test_what_cannot_be_known_is_refused_in_one_line() -> None:
    """Learners without a floor, no log, constraints, actions that are not always there, an eps that is none."""
    short = Bandit(TRIAL, "uniform", values=VALUES)
    short.learn(short.act({"age": 0, "region": "north"}), cost=1)
    ruled = played("uniform", 20)
    for _ in range(3):
        ruled.learn(ruled.act({"age": 0, "region": "north"}, available=["letter"]), reward=1)
    grown = played("uniform", 20)
    grown.add_action("visit")
    before = [state_of(bandit) for bandit in (short, ruled, grown)]
    for wrong, line in [
        (lambda: played("exp4", 20).settled(1.0), "gives every action a chance"),
        (lambda: short.settled(0.1), "keep_log=True"),
        (lambda: ruled.settled(1.0), "all actions were available"),
        (lambda: grown.settled(1.0), "visit"),
        (lambda: played("exp4", 20, constraints=milpcb.share_at_most("call", 0.5)).settled(1.0), "without constraints"),
        (lambda: played("uniform", 20).settled("little"), "eps"),  # type: ignore[arg-type]
    ]:
        refused(wrong, line)
    assert [state_of(bandit) for bandit in (short, ruled, grown)] == before
