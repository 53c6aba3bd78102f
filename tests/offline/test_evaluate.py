"""Values of fixed and drawn policies, and of logs of learners, by their definitions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm

from milpcb.offline import evaluate, read_log, scores
from milpcb.offline.compressed import EntryRanges
from milpcb.offline.evaluate import FORGETS, adapted
from milpcb.offline.intervals import IntervalEstimate
from policies import DecisionTrees
from tests.offline.cases import best, close, mean_of

N = 80


def drawn(seed=0, **options):
    """Return a log with three actions, features of 0 and 1, and known propensities."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(N, 3)).astype(float)
    action = np.append(rng.integers(0, 3, size=N - 3), [0, 1, 2])
    y = X[:, 0] * action + rng.normal(size=N)
    return read_log(X, action, **({"reward": y, "propensity": [1 / 3] * 3} | options))


@pytest.fixture(scope="module")
def table():
    """Return scores of the log."""
    return scores(drawn(), "snips")


def test_every_number_is_a_mean(table):
    """Value, constants, gains and what was done are means of entries, with their textbook errors."""
    assigned = np.arange(N) % 3
    own = table.table[np.arange(N), assigned]
    found = evaluate(table, assigned)
    assert close(found.value, mean_of(own))
    assert close(found.logged, mean_of(table.log.outcome))
    assert close(found.gain_over_logged, mean_of(own - table.log.outcome))
    for k, name in enumerate("012"):
        assert close(found.constants[name], mean_of(table.table[:, k]))
        assert close(found.gain_over[name], mean_of(own - table.table[:, k]))
    assert found.best_constant == max(found.constants, key=lambda name: found.constants[name].estimate)
    assert evaluate(table, np.full(N, 2)).gain_over["2"] == IntervalEstimate(0.0, 0.0, 0.0, 0.0)
    for gain, sentence in ((0.5, "It is better than"), (0.0, "There is no evidence"), (-0.5, "It is worse than")):
        shown = replace(found, gain_over_logged=IntervalEstimate(gain, 0.2, gain - 0.4, gain + 0.4))
        assert shown.words()[-1].startswith(sentence)


@pytest.mark.parametrize("n_actions", [2, 6])
def test_the_gain_over_the_best_covers_whichever_is_best(n_actions):
    """The least lower end over all constants, and the least upper end of as many that hold at once."""
    rng = np.random.default_rng(0)
    log = read_log(np.zeros((240, 1)), np.arange(240) % n_actions, reward=rng.normal(size=240), propensity="randomised")
    found = evaluate(scores(log, "ips"), np.repeat([0, 1], 120))
    gains, reach = list(found.gain_over.values()), norm.ppf(1 - 0.05 / 2 / n_actions)
    assert found.gain.lower == min(gain.lower for gain in gains)
    assert found.gain.upper == pytest.approx(min(gain.estimate + reach * gain.standard_error for gain in gains))
    assert found.gain.estimate == min(gain.estimate for gain in gains)


def test_costs_gain_where_rewards_lose():
    """The same numbers as costs turn every gain around, and no value."""
    up, down = (
        evaluate(scores(drawn(**{"reward": None, kind: drawn().outcome}), "ips"), np.arange(N) % 2)
        for kind in ("reward", "cost")
    )
    assert close(up.value, down.value)
    for name in "012":
        assert up.gain_over[name].estimate == pytest.approx(-down.gain_over[name].estimate)
        assert up.gain_over[name].lower == pytest.approx(-down.gain_over[name].upper)
    assert not down.maximise


def test_parts_add_up_to_the_whole(table):
    """Shares sum to 1, shares times values to the value; in a part the estimate is that of its rows alone."""
    tree = best(DecisionTrees(3, depth=2), table.log.features, table.costs)
    found = evaluate(table, tree)
    assert len(found.leaves) == len(tree.leaf_actions) == 3
    assert sum(leaf.share for leaf in found.leaves) == pytest.approx(1)
    assert sum(leaf.share * leaf.value.estimate for leaf in found.leaves) == pytest.approx(found.value.estimate)
    assert sum(leaf.share * leaf.gain.estimate for leaf in found.leaves) == pytest.approx(found.gain.estimate)
    for leaf in found.leaves:
        inside = tree.apply(table.log.features) == leaf.part
        alone = mean_of(table.table[inside, leaf.action])
        assert leaf.name == str(leaf.action)
        assert leaf.value.estimate == pytest.approx(alone.estimate)
        assert leaf.value.standard_error == pytest.approx(alone.standard_error, rel=0.05)


def test_a_policy_that_draws_its_actions_has_the_mean_of_the_mixed_scores(table):
    """Value, gains and standard errors by the definition sum_k p_jk Gamma_jk, on every row."""
    draws = np.random.default_rng(0).dirichlet([1, 1, 1], N)
    found, own = evaluate(table, draws), (draws * table.table).sum(axis=1)
    assert close(found.value, mean_of(own))
    assert close(found.gain_over_logged, mean_of(own - table.log.outcome))
    for k, name in enumerate("012"):
        assert close(found.gain_over[name], mean_of(own - table.table[:, k]))
    assert found.leaves == ()


def test_probabilities_are_matched_by_name(table):
    """Frames of pandas and polars, mappings to columns, and a mapping to numbers that hold for all."""
    draws = np.random.default_rng(0).dirichlet([1, 1, 1], N)
    columns = {name: draws[:, int(name)] for name in "201"}
    for given in (columns, pd.DataFrame(columns), pl.DataFrame(columns), draws.tolist()):
        assert close(evaluate(table, given).value, evaluate(table, draws).value)
    lottery = evaluate(table, {"2": 0.5, "0": 0.5, "1": 0})
    assert lottery.value.estimate == pytest.approx(table.table[:, [0, 2]].mean())


def test_weights_repeat_rows():
    """Weights of 2 give the value of the doubled rows, and a row of weight 0 is none."""
    weight = np.arange(N) % 3
    once = scores(drawn(), "ips", sample_weight=weight)
    again = scores(drawn(), "ips").take(np.repeat(np.arange(N), weight))
    assigned = np.arange(N) % 2
    value = evaluate(once, assigned).value
    assert value.estimate == pytest.approx(evaluate(again, np.repeat(assigned, weight)).value.estimate)
    assert value.standard_error > evaluate(again, np.repeat(assigned, weight)).value.standard_error


def test_ranges_hold_what_can_happen():
    """Scores m + 1[a = k] (y - m) / e reach the ends of their range, and differences of two of a row theirs."""
    for outcomes, known in (((-1.0, 3.0), (0.5, 2.0)), ((-3.0, 1.0), (-2.0, -0.5))):
        played = [m + 3 * (y - m) for m in known for y in outcomes]
        found = EntryRanges.between(outcomes, known, 1 / 3)
        assert found.entry == pytest.approx(np.ptp([*known, *played]))
        assert found.difference == pytest.approx(2 * np.abs(np.subtract.outer([*known, *played], known)).max())
    assert EntryRanges.between((0.0, 1.0), (0.0, 1.0), 0.0) == (np.inf, np.inf)


# ------------------------------------------------------------------- logs of learners


def greedy_log(rng, n=400):
    """Return the log of a learner of two actions, equally good, that plays the one that looks better, with a floor."""
    paid, law, action, cost = np.zeros(2), np.empty((n, 2)), np.empty(n, dtype=int), np.empty(n)
    for t in range(n):
        least = 0.5 * min(1.0, (t + 1) ** (-1 / 3))
        law[t] = least
        law[t, paid.argmin()] = 1 - least
        action[t] = int(rng.random() < law[t, 1])
        cost[t] = float(rng.random() < 0.5)
        paid[action[t]] += cost[t] / law[t, action[t]]
    return read_log(np.zeros((n, 1)), action, cost=cost, propensity=law, actions=[0, 1])


def test_scores_and_weights_are_by_earlier_rows_as_the_definition_has_them():
    """Row by row, in plain loops; later rows have no part in them."""
    log = greedy_log(np.random.default_rng(1), 120)
    assigned = np.random.default_rng(0).integers(2, size=120)
    made = adapted(scores(log, method="ips"), assigned)
    lately = 1.0
    for t in range(120):
        earlier = [(log.action[s], log.outcome[s]) for s in range(t)]
        every = np.mean([y for _, y in earlier]) if earlier else 0.0
        for k in (0, 1):
            own = [y for a, y in earlier if a == k]
            mean = (sum(own) + every) / (len(own) + 1)
            residual = (log.outcome[t] - mean) / log.propensity[t, k] if log.action[t] == k else 0.0
            assert made.table[t, k] == pytest.approx(mean + residual)
        assert made.weight[t] == pytest.approx(lately**-0.5)
        lately += max(1 / FORGETS, 1 / (t + 1)) * (1 / log.propensity[t, assigned[t]] - lately)
    part = np.arange(60)
    first = adapted(scores(log.take(part), method="ips"), assigned[:60])
    assert first.table == pytest.approx(made.table[:60])
    assert first.weight == pytest.approx(made.weight[:60])


def test_the_standard_error_is_at_least_that_of_the_known_probabilities():
    """By its definition in plain loops; in some logs the squares of the scores fall short of it, in others not."""
    short = []
    for seed in range(6):
        log, assigned = greedy_log(np.random.default_rng(seed), 200), np.full(200, seed % 2)
        made = adapted(scores(log, method="ips"), assigned)
        h, own, q = made.weight, made.table[:, seed % 2], log.propensity[:, seed % 2]
        value, followed = h @ own / h.sum(), log.action == seed % 2
        seen = sum(h[t] ** 2 * (own[t] - value) ** 2 for t in range(200))
        spread = np.mean([(log.outcome[t] - made.regression[t, seed % 2]) ** 2 for t in np.flatnonzero(followed)])
        known = sum(h[t] ** 2 / max(q[t], 200**-0.5) for t in range(200)) * spread
        found = evaluate(scores(log, method="ips"), assigned, interval="adaptive").value
        assert found.standard_error == pytest.approx(np.sqrt(max(seen, known)) / h.sum())
        short.append(seen < known)
    assert 0 < sum(short) < 6


def test_what_was_done_counts_alike_in_all_rows():
    """It changed as the learner learnt; and charges enter as they do elsewhere."""
    log = greedy_log(np.random.default_rng(3))
    free, priced = (
        evaluate(scores(log, method="ips", treatment_cost=price), np.ones(400, dtype=int), interval="adaptive")
        for price in (None, {"1": 0.25})
    )
    assert free.logged.estimate == pytest.approx(log.outcome.mean())
    assert priced.value.estimate == pytest.approx(free.value.estimate + 0.25)
    assert priced.value.upper - priced.value.lower == pytest.approx(free.value.upper - free.value.lower)
