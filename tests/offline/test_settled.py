"""When a trial may end, by the definition, and how many rows it is planned to need, by trials that are simulated."""

from itertools import product
from math import log

import numpy as np
import pytest
from click.testing import CliRunner

from milpcb.commands.plan import plan as command
from milpcb.errors import InputError
from milpcb.offline import read_log, scores, settled
from milpcb.offline.planning import Design, SimulatedTrial, plan
from milpcb.offline.settled import INSIDE, STAKES, means_before
from milpcb.oracles.growing import GrowingOracle
from milpcb.rng import child
from policies import DecisionTrees

K = 3
STUMPS = DecisionTrees(K, depth=1, thresholds=[[0.5], [0.5]])
NAMED = DecisionTrees(K, depth=1, thresholds=[[0.5], [0.5]], action_names=["c", "a", "b"])
CHANCES = [0.5, 0.25, 0.25]


def trial(n, seed=0, worse=0.8):
    """Return features (n, 2), actions and costs of a trial in which the first feature should decide."""
    rng = np.random.default_rng(seed)
    X = rng.integers(2, size=(n, 2)).astype(float)
    action = rng.choice(K, size=n, p=CHANCES)
    return X, action, (rng.random(n) < np.where(action == X[:, 0], 0.2, worse)).astype(float)


def every_stump():
    """Yield what each stump plays on the four contexts (0, 0), (0, 1), (1, 0), (1, 1)."""
    yield from ((a, a, b, b) for a, b in product(range(K), repeat=2))
    yield from ((a, b, a, b) for a, b in product(range(K), repeat=2))


def evidence(X, action, cost, eps, expected, reach):
    """Return the logarithms (G, policies) of the definition, row by row, for the leader of all rows."""
    chance, floor = np.array(CHANCES)[action], min(CHANCES)
    table = expected.copy()
    for s, a in enumerate(action):
        table[s, a] += (cost[s] - expected[s, a]) / chance[s]
    place = (2 * X[:, 0] + X[:, 1]).astype(int)
    played = [np.array(stump)[place] for stump in every_stump()]
    rows = np.arange(len(cost))
    leader = min(played, key=lambda labels: table[rows, labels].sum())
    found = []
    for stake in STAKES:
        own = np.minimum(stake, INSIDE * floor / reach)
        more = [table[rows, labels] - table[rows, leader] for labels in played]
        found.append([np.log(1 + own * (each + eps)).sum() for each in more])
    return np.array(found)


@pytest.mark.parametrize("n", [40, 120, 300])
def test_evidence_is_that_of_the_definition(n):
    """All rivals are refuted where each is by some stake; rivals are the others; the least eps is where that turns."""
    X, action, cost = trial(n)
    expected = means_before(action, cost, K)
    for s in (0, 1, n - 1):
        for a in range(K):
            before = cost[:s][action[:s] == a]
            assert expected[s, a] == pytest.approx((before.sum() + 0.5) / (len(before) + 1))
    reach = np.maximum(expected.max(axis=1), 1 - expected.min(axis=1))
    enough = log(GrowingOracle(STUMPS).log_union and np.exp(GrowingOracle(STUMPS).log_union) * len(STAKES) / 0.05)
    for eps in (0.02, 0.1, 0.3, 0.9):
        most = evidence(X, action, cost, eps, expected, reach).max(axis=0)
        found = settled(read_log(X, action, cost=cost, propensity=CHANCES), STUMPS, eps)
        assert found.settled == (most.min() >= enough)
        left = {stump for stump, own in zip(every_stump(), most, strict=True) if own < enough}
        contexts = np.array([(0, 0), (0, 1), (1, 0), (1, 1)], dtype=float)
        assert {tuple(policy.predict(contexts).tolist()) for policy in found.rivals} == left
        if found.refuted_eps < np.inf:
            for factor, refuted in ((1.0, True), (0.985, False)):
                at = evidence(X, action, cost, factor * found.refuted_eps, expected, reach).max(axis=0)
                assert (at.min() >= enough) == refuted


def test_names_signs_and_units_do_not_matter():
    """Rewards of 10 to 30 for names in another order end as costs do; words state it in the unit of the outcome."""
    X, action, cost = trial(3000)
    one = settled(read_log(X, action, cost=cost, propensity=CHANCES), STUMPS, 0.1)
    names = np.array(["c", "a", "b"])[action]
    log = read_log(X, names, reward=30 - 20 * cost, propensity={"c": 0.5, "a": 0.25, "b": 0.25})
    other = settled(log, NAMED, 2.0, outcome_range=(10, 30))
    assert one.settled
    assert other.settled
    assert other.refuted_eps == pytest.approx(20 * one.refuted_eps)
    assert (other.policy.predict(X) == one.policy.predict(X)).all()
    assert "may end" in other.words()
    assert "go on" in settled(log, NAMED, 0.01, outcome_range=(10, 30)).words()
    assert "nothing is known" in settled(log.take(np.arange(20)), NAMED, 2.0, outcome_range=(10, 30)).words()


def test_a_better_expectation_ends_a_trial_sooner_and_a_wrong_one_does_not_hurt():
    """Costs that are expected as they are leave less noise."""
    X, action, _ = trial(1000)
    cost = np.where(action == X[:, 0], 0.3, 0.4)
    log = read_log(X, action, cost=cost, propensity=CHANCES)
    right = np.where(np.arange(K) == X[:, :1], 0.3, 0.4)
    least = [settled(log, STUMPS, 0.1, expected=table).refuted_eps for table in (right, 1 - right)]
    assert least[0] < 0.8 * least[1]


def test_treatment_costs_enter_by_scores():
    """The cost of an action beside its outcome is part of the comparison."""
    X, action, cost = trial(3000)
    log = read_log(X, action, cost=cost / 2, propensity=CHANCES)
    dear = scores(log, "ips", treatment_cost=[0.5, 0.5, 0.0])
    assert set(settled(dear, STUMPS, 0.1).policy.predict(X).tolist()) == {2}
    assert set(settled(log, STUMPS, 0.1).policy.predict(X).tolist()) == {0, 1}


def test_a_log_whose_chances_change_needs_its_floor():
    """With the floor of each row known before it, stakes follow it; rows of floor 0 prove nothing."""
    X, action, cost = trial(2000)
    rng = np.random.default_rng(1)
    full = np.where(rng.random((2000, 1)) < 0.5, CHANCES, [0.25, 0.25, 0.5])
    action = np.array([rng.choice(K, p=row) for row in full])
    cost = (rng.random(2000) < np.where(action == X[:, 0], 0.2, 0.8)).astype(float)
    log = read_log(X, action, cost=cost, propensity=full)
    with pytest.raises(InputError, match="give floor="):
        settled(log, STUMPS)
    with pytest.raises(InputError, match="below the floor of"):
        settled(log, STUMPS, floor=0.3)
    assert settled(log, STUMPS, 0.1, floor=0.25).settled
    only = read_log(X, action, cost=cost, propensity=full[np.arange(2000), action])
    assert settled(only, STUMPS, 0.1, floor=0.25).settled
    half = np.where(np.arange(2000) < 1000, 0.25, 0.0)
    first = settled(log.take(np.arange(1000)), STUMPS, 0.1, floor=0.25)
    assert settled(log, STUMPS, 0.1, floor=half).refuted_eps >= first.refuted_eps * 0.9


# ------------------------------------------------------------------- planned trials

TWO_STUMPS = DecisionTrees(2, depth=1, thresholds=[[0.5]] * 2)
DESIGN = Design(2, 2, effect=0.4, share=0.5)
OPTIONS = ["--features", "2", "--effect", "0.4", "--share", "0.5", "--eps", "0.1", "--depth", "1", "--trials", "20"]


def test_rows_have_the_law_that_is_planned_for():
    """The first feature is yes for the share, and decides which action costs less."""
    features, action, cost = Design(3, 3, effect=0.3, share=0.2, base=0.6).draw(60_000, child(0))
    assert features.mean(axis=0) == pytest.approx([0.2, 0.5, 0.5], abs=0.01)
    for x, a in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2)):
        own = cost[(features[:, 0] == x) & (action == a)]
        assert own.mean() == pytest.approx(0.3 if a == x else 0.6, abs=0.02)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_simulated_trial_ends_where_it_is_found_to(seed):
    """It may end after so many rows, and not after 2 % less; below a count of rows none does."""
    trial = SimulatedTrial(TWO_STUMPS, DESIGN, 0.95, child(seed, "plan", 0))
    n = trial.rows_needed(0.1, 10_000)
    assert plan(TWO_STUMPS, DESIGN, 0.1, trials=1, most=10_000, seed=seed).rows.tolist() == [n]
    assert trial.ends(int(n), 0.1)
    assert not trial.ends(int(n / 1.02), 0.1)
    assert not trial.ends(trial.fewest(0.1), 0.1)
    assert trial.rows_needed(0.1, int(n / 1.02)) == np.inf


def test_the_command_prints_a_table_and_writes_a_picture(tmp_path):
    """A row for each power, the one that is asked for in a sentence."""
    done = CliRunner().invoke(command, [*OPTIONS, "--power", "0.7", "--out", str(tmp_path / "p.svg")])
    assert done.exit_code == 0, done.output
    assert "70\u202f%" in done.stdout
    assert done.stdout.count("the trial ends with a chance of 70\u202f%") == 1  # it is simulated once
    assert done.stdout.count("simulated trials") == 1
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    few = CliRunner().invoke(command, [*OPTIONS, "--most", "50"])
    assert "In less than 80\u202f% of 20 simulated trials 50 rows are enough" in few.stdout
