"""Replay of a log: rounds that count have the law of rounds online, whatever law the log was made with."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import milpcb
from milpcb.offline import LoggedRounds, read_log
from policies import DecisionTrees

TREES = DecisionTrees(n_actions=2, depth=1, thresholds=((0.5,),))
BITS = np.array([[0.0], [1.0]])


def made_log(n, chance, seed=0):
    """Return a log of one bit; action 1 is taken with probability chance[bit], and costs 0.2 where it is the bit."""
    rng = np.random.default_rng(seed)
    bit = rng.integers(0, 2, n)
    share = np.asarray(chance)[bit]
    action = (rng.random(n) < share).astype(int)
    cost = (rng.random(n) < np.where(action == bit, 0.2, 0.7)).astype(float)
    return read_log(bit[:, None].astype(float), action, cost=cost, propensity=np.where(action, share, 1 - share))


def replayed(rounds, choose, n):
    """Return the bits and costs of the rounds of ``n`` rows that count."""
    counted = []
    for _ in range(n):
        bit = int(rounds.context()[0])
        cost = rounds.cost(choose(bit))
        if cost is not None:
            counted.append((bit, cost))
    return np.array(counted).reshape(-1, 2)


def test_where_all_actions_were_equally_likely_every_match_counts():
    """Then there is nothing to reject."""
    log = made_log(500, (0.5, 0.5))
    counted = replayed(LoggedRounds(log), lambda bit: 1 - bit, 500)
    matches = log.action != log.features[:, 0]
    assert counted[:, 1].tolist() == log.outcome[matches].tolist()


@pytest.mark.parametrize("flipped", [0, 1])
def test_rounds_that_count_have_the_law_of_rounds_online(flipped):
    """Both bits come equally often and cost what they cost, though the log took the actions 9 and 3 times of 10."""
    log = made_log(40_000, (0.9, 0.3))
    rounds = LoggedRounds(log)
    counted = replayed(rounds, lambda bit: bit ^ flipped, 40_000)
    n = len(counted)
    assert abs(n - rounds.expected_rounds) <= 4 * np.sqrt(n)
    assert abs(counted[:, 0].mean() - 0.5) <= 4 * 0.5 / np.sqrt(n)
    assert abs(counted[:, 1].mean() - (0.7 if flipped else 0.2)) <= 4 * 0.5 / np.sqrt(n)


def test_learners_play_a_log_from_its_start():
    """Each learner and each call begin with the first row: same seeds, same numbers; Exp4 learns what is right."""
    rounds = LoggedRounds(made_log(3_000, (0.6, 0.4)))
    options = {"horizon": 900, "policies": TREES, "contexts": BITS, "seeds": [3]}
    both = milpcb.play(rounds, ["exp4", "uniform"], **options)
    alone = milpcb.play(rounds, ["uniform"], **options)
    exp4, uniform = (row["cumulative_cost"] for row in both.rows if row["round"] == 900)
    assert uniform == alone.rows[-1]["cumulative_cost"]
    assert exp4 < 0.35 * 900 < 0.4 * 900 < uniform


def test_rewards_become_costs():
    """The greatest reward costs 0."""
    log = read_log([[0.0], [1.0]], [0, 1], reward=[5.0, 10.0], propensity=[0.5, 0.5])
    rounds = LoggedRounds(log, outcome_range=(0, 10))
    assert replayed(rounds, lambda bit: bit, 2)[:, 1].tolist() == [0.5, 0.0]


def test_strings_and_booleans_become_columns():
    """Each string is a column of 0 and 1, from a frame and from an array; that one is missing is a test of its own."""
    region, member = np.array(["north", None, "south", "west"] * 10, dtype=object), np.array([True, False] * 20)
    names = ("north", "south", "west", None)
    by_hand = np.column_stack([*(region == name for name in names), member]).astype(float)
    frame = pd.DataFrame({"region": region, "member": member})
    for features in (frame, frame.to_numpy()):
        log = read_log(features, np.array([0, 1] * 20), cost=np.full(40, 0.5), propensity=np.full(40, 0.5))
        rounds = LoggedRounds(log)
        assert np.array_equal(rounds.contexts, by_hand)
    named = LoggedRounds(replace(log, features=frame)).feature_names
    assert named == ("region = north", "region = south", "region = west", "region is missing", "member = true")


def test_rare_actions_count_whether_or_not_they_were_logged():
    """Half of the people cost 1 whatever is done, so every learner pays 0.5; by what was done only it was 0.4."""
    counted = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        half = rng.integers(0, 2, 24)
        table = np.where(half[:, None] == 1, [0.05, 0.45, 0.5], [0.3, 0.3, 0.4])
        action = (rng.random(24)[:, None] > table.cumsum(axis=1)).sum(axis=1)
        action[:3] = 0, 1, 2  # each is there
        log = read_log(half[:, None].astype(float), action, cost=half.astype(float), propensity=table)
        counted += replayed(LoggedRounds(log, seed=seed), lambda _bit: 2, 24)[:, 1].tolist()
    assert abs(np.mean(counted) - 0.5) <= 4 * 0.5 / np.sqrt(len(counted))
    log = read_log([[0.0], [1.0]], [0, 1], cost=[0, 1], propensity=[0.9, 0.4])
    assert LoggedRounds(log).expected_rounds == pytest.approx(0.2)  # of two actions the other has the rest
