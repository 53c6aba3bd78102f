"""The best allowed way that does not look at people: against grids of lotteries, and what claims over it say."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint, bind_to, mean_at_most, never, parity, share_at_most
from milpcb.offline import best_reference, read_log, scores
from milpcb.offline.reference import _lottery, lotteries

N = 60


def table(K=3, seed=0, n=N, **options):
    """Return scores of a randomised trial in which action k gives k."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, 3)).astype(float)
    action = np.append(rng.integers(0, K, size=n - K), np.arange(K))
    y = action + rng.normal(size=n)
    return scores(read_log(X, action, reward=y, propensity=np.full(K, 1 / K)), "snips", **options)


def grid(K, step=0.05):
    """Return all lotteries on a grid."""
    shares = np.arange(0, 1 + step / 2, step)
    found = [(*p, 1 - sum(p)) for p in product(shares, repeat=K - 1) if sum(p) <= 1 + 1e-9]
    return np.clip(found, 0, 1)


BUDGETS = {
    "a budget": [share_at_most(2, 0.3)],
    "two budgets": [share_at_most(a, 0.3) for a in (1, 2)],
    "a budget for each": [share_at_most(a, 0.5) for a in range(3)],
    "a second outcome": [mean_at_most({1: 1.0, 2: 3.0}, 0.9)],
    "at least": [LabelConstraint(np.tile([-1.0, 0.0, 0.0], (N, 1)), -0.25 * N)],
    "all": [share_at_most(2, 0.3), mean_at_most({1: 1.0, 2: 1.5}, 0.6), parity(2, np.arange(N) % 2, 0.1)],
}


@pytest.mark.parametrize("name", BUDGETS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_lottery_is_that_of_a_grid(name, weighted):
    """No allowed lottery of a grid is better, and the best of the listed vertices is the program's."""
    scored = table(sample_weight=1.0 + np.arange(N) % 3 if weighted else None)
    found, rules = best_reference(scored, BUDGETS[name]), bind_to(BUDGETS[name], scored.log.features, (), range(3))
    weight = scored.weight / scored.weight.sum()
    means = weight @ scored.gains
    allowed = [
        p for p in grid(3) if all((np.asarray(rule.weights).sum(axis=0) @ p) <= rule.upper + 1e-9 * N for rule in rules)
    ]
    assert found.value == pytest.approx(max(p @ means for p in allowed))
    assert found.value == pytest.approx(weight @ found.played(scored.table))
    vertices = found.ways.vertices()
    assert max(p[0] @ means for p in vertices) == pytest.approx(found.value)
    assert any(np.allclose(p, found.lottery) for p in vertices)
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert found.constant is None
    assert found.name.startswith("a lottery (")


def test_without_constraints_it_is_the_best_constant():
    """Every vertex is a constant; parity, which treating all alike keeps, changes nothing."""
    scored = table()
    plain = best_reference(scored)
    even = best_reference(scored, parity(2, np.arange(N) % 2, 0.0))
    assert plain.name == even.name == "always '2'"
    assert plain.constant == "2"
    assert plain.value == pytest.approx(scored.table[:, 2].mean())
    assert plain.ways.vertices().tolist() == [[[1, 0, 0]], [[0, 1, 0]], [[0, 0, 1]]]


def test_a_guard_rail_makes_strata_that_are_each_treated_alike():
    """Action 2 is best and forbidden to some: they get action 1, all others 2."""
    scored, forbidden = table(), np.arange(N) < 20
    rule = never(2, rows=forbidden)
    found = best_reference(scored, [rule])
    best = np.where(forbidden, 1, 2)
    assert np.allclose(found.played(scored.table), scored.table[np.arange(N), best])
    assert found.probabilities == pytest.approx({"2": 2 / 3, "1": 1 / 3})
    assert found.name == "'2' where it is allowed, else '1'"
    assert len(found.ways.vertices()) == 6
    budget = share_at_most(2, 0.5)
    assert best_reference(scored, [rule, budget]).probabilities["2"] == pytest.approx(0.5)


def test_guard_rails_make_it_an_order_of_actions():
    """Each row gets the first action in turn that is allowed there; where there is no such order, shares are named."""
    scored = table()
    X = scored.log.features == 1
    found = best_reference(scored, [never(2, rows=X[:, 0]), never(1, rows=X[:, 1])])
    assert found.name == "'2' where it is allowed, else '1', else '0'"
    lots = replace(found, lottery=np.full(found.lottery.shape, 1 / 3))
    assert lots.name.startswith("the best lottery over the actions allowed to each")


def test_a_lottery_of_next_to_one_action_is_that_action():
    """Probabilities below a millionth are roundings of a linear program."""
    assert _lottery(np.array([[1 - 2.9e-9, 2.9e-9], [0.25, 0.75]])).tolist() == [[1.0, 0.0], [0.25, 0.75]]


def test_constraints_that_only_targeting_keeps():
    """Then no lottery is allowed, which is said; gains are over one that breaks the constraints."""
    scored = table(2)
    weights = np.zeros((N, 2))
    weights[:30, 1], weights[30:, 0] = 1.0, 1.0  # at most 10 of the first half get 1, and of the second half 0
    found = best_reference(scored, [LabelConstraint(weights, 10.0)])
    assert not found.allowed
    assert "No way that treats all alike keeps the constraints" in found.words()


def test_vertices_that_are_too_many_are_not_listed():
    """500 actions and a budget: the linear program answers."""
    ways = lotteries(bind_to(share_at_most(3, 0.25), np.zeros((9, 1)), (), range(500)), 9, 500)
    values = np.zeros((1, 500))
    values[0, [3, 8]] = 4.0, 1.0
    assert ways.vertices() is None
    assert (ways.best(values) * values).sum() == pytest.approx(0.25 * 4 + 0.75)
