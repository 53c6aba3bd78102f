"""Intervals for logs of learners: scores by earlier rows alone, weights as by the definition, mistakes."""

from typing import Any

import numpy as np
import pytest

from milpcb.offline import evaluate, read_log, scores
from milpcb.offline.evaluate import FORGETS, adapted

RNG = np.random.default_rng(0)


def greedy_log(rng: Any, n: int = 400) -> Any:
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


def test_scores_and_weights_are_by_earlier_rows_as_the_definition_has_them() -> None:
    """Row by row, in plain loops; later rows have no part in them."""
    log = greedy_log(np.random.default_rng(1), 120)
    assigned = RNG.integers(2, size=120)
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


def test_the_standard_error_is_at_least_that_of_the_known_probabilities() -> None:
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


def test_what_was_done_counts_alike_in_all_rows() -> None:
    """It changed as the learner learnt; and charges enter as they do elsewhere."""
    log = greedy_log(np.random.default_rng(3))
    free, priced = (
        evaluate(scores(log, method="ips", treatment_cost=price), np.ones(400, dtype=int), interval="adaptive")
        for price in (None, {"1": 0.25})
    )
    assert free.logged.value == pytest.approx(log.outcome.mean())
    assert priced.value.value == pytest.approx(free.value.value + 0.25)
    assert priced.value.upper - priced.value.lower == pytest.approx(free.value.upper - free.value.lower)
