"""How far scores can be trusted: sizes, calibration and events by their definitions, and a line for each trouble."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from milpcb.errors import LogWarning
from milpcb.estimators import LoggedPolicyTree
from milpcb.offline import State, inference, read_log, scores
from milpcb.offline.diagnostics import EVENTS, _events
from milpcb.rng import child

ROWS = 2000


def drawn(n=400, K=3, seed=0):
    """Return features, actions drawn evenly, and an outcome that nothing changes."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.integers(0, K, n), rng.normal(size=n)


def known_of(X, action, outcome, propensity="randomised", method="snips", **options):
    """Return the diagnostics of a log."""
    return scores(read_log(X, action, reward=outcome, propensity=propensity), method, **options).diagnostics


def test_sizes_and_calibration_by_hand():
    """Effective sizes and calibration are what they are called; in a good trial there is no line."""
    X, action, outcome = drawn(1000)
    chance = np.random.default_rng(1).dirichlet(np.full(3, 5.0), size=1000)
    found, weights = known_of(X, action, outcome, chance), (action == 1) / chance[:, 1]
    assert found.effective_size[1] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert found.calibration[1] == pytest.approx(weights.mean())
    assert found.least_propensity[1] == chance[:, 1].min()
    assert known_of(X, action, outcome, method="dr").words() == []
    for times in (1.9, 2.1):  # standard errors, of which 2 are a warning
        off = replace(found, calibration=1 - times * found.calibration_error)
        assert any("do not fit the log" in line for line in off.words()) == (times > 2)


def test_propensities_that_do_not_fit_come_first_and_decide_nothing(recwarn):
    """Those of one action, given for all rows: a warning whose first line names the mend, and no claim; else none."""
    X, _, earned = drawn(ROWS, seed=2)
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    done = np.where(np.random.default_rng(3).random(ROWS) < chance, "t", "c")
    for given, wrong in ((chance, True), (np.where(done == "t", chance, 1 - chance), False)):
        recwarn.clear()
        tree = LoggedPolicyTree(max_depth=1, method="ips").fit(X, done, reward=earned, propensity=given)
        found, words = tree.scores_.diagnostics, tree.scores_.diagnostics.words()
        assert [type(each.message) for each in recwarn.list] == [LogWarning] * bool(words)
        mends = [place for place, line in enumerate(words) if "Give the probability of what was done" in line]
        assert mends == [0] * wrong
        assert found.fits == (not wrong)
        problem = tree.problem(X)
        claims = inference(problem.policies, problem.contexts, tree.scores_, draws=20)
        assert ("the propensities do not fit the log" in claims.verdict()) == wrong
        assert not (wrong and claims.state != State.EARLY)


def test_a_trial_that_is_none_is_found_out():
    """Said to be randomised, the shares of the log do not fit the rows where the treatment was possible."""
    X, treated, outcome = drawn(1200, 2)
    treated[X[:, 0] < 0] = 0
    assert known_of(X[:, 1:], treated, outcome).fits
    assert not known_of(X, treated, outcome).fits


def test_few_groups_are_few_rows():
    """Chance is measured between groups, so that it is their number that counts."""
    X, action, outcome = drawn(400, 2)
    log = read_log(X, action, reward=outcome, propensity=[0.5, 0.5], group=np.arange(400) // 40)
    found = scores(log, "snips", cv=2).diagnostics
    assert (found.rows, found.grouped) == (10, True)
    assert any("only 10 groups of rows" in line for line in found.words())
    assert not any("groups of rows" in line for line in replace(found, rows=30).words())


def test_what_is_rare_depends_on_the_number_of_actions():
    """Of 25 actions drawn evenly none is called hardly ever taken; of two, one with a chance of 0.04 is."""
    X, action, outcome = drawn(5000, 25)
    rare = (np.random.default_rng(0).random(5000) < 0.04).astype(np.int64)
    for done, warned in ((action, False), (rare, True)):
        assert any("hardly ever" in text for text in known_of(X, done, outcome).words()) == warned


def test_events_by_definition():
    """(sum x^2)^3 / (sum x^3)^2, least over all differences of two columns, and over the columns; groups add up."""
    rng = child(0, "events")
    rows = rng.normal(size=(300, 3)) ** 3
    members = rng.integers(0, 120, size=300)
    sums = np.array([rows[members == group].sum(axis=0) for group in range(120)])

    def events(x):
        return float(np.square(x).sum() ** 3 / (x**3).sum() ** 2)

    expected = (
        min(events(sums[:, a] - sums[:, b]) for a, b in combinations(range(3), 2)),
        min(events(column) for column in sums.T),
    )
    assert _events(members, 1e200 * rows) == pytest.approx(expected)
    assert _events(members, 0.0 * rows) == (np.inf, np.inf)


@pytest.mark.parametrize(("losses", "both"), [(4, False), (12, False), (40, False), (4, True), (12, True)])
def test_equal_losses_are_as_many_events(losses, both):
    """Under one action they are all the noise; under both they cancel in gains, which may be claimed."""
    rng = child(losses, "rare losses")
    action = np.arange(ROWS) % 2
    reward = rng.normal(size=ROWS)
    for k in (0, 1) if both else (1,):
        reward[np.flatnonzero(action == k)[:losses]] -= 100.0
    known = known_of(rng.normal(size=(ROWS, 1)), action, reward, [0.5, 0.5])
    words = [line for line in known.words() if "rare, large" in line]
    assert known.enough_events == (both or losses > EVENTS)
    assert ["dominate: values" in line for line in words] == [both] * (losses < EVENTS)
    if both:
        assert known.value_events < EVENTS
    else:
        assert [known.events, known.value_events] == pytest.approx([losses, losses], rel=0.35)
