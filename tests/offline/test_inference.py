"""The band against lists of all policies, the cross-fitted claim by hand, and both on trials whose truth is known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from milpcb import share_at_most
from milpcb.errors import InputError
from milpcb.offline import Claim, State, inference, read_log, scores
from milpcb.offline.band import REACH, SHAPE, UPPER
from milpcb.rng import child
from policies import DecisionTrees
from tests.offline.cases import labelings, learnt_elsewhere

N = 120
STUMPS, TREES = DecisionTrees(2, depth=1), DecisionTrees(2, depth=2)


def drawn(K=2, seed=0, effect=0.0, n=N, features=3, **options):
    """Return a randomised trial with features of 0 and 1; ``effect`` times x0 is what action 1 adds."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, features)).astype(float)
    action = np.append(rng.integers(0, K, size=n - K), np.arange(K))
    y = X[:, -1] + effect * (action == 1) * (2 * X[:, 0] - 1) + rng.normal(size=n)
    return scores(read_log(X, action, reward=y, propensity=np.full(K, 1 / K)), **options)


def claims_of(table, policies=STUMPS, **options):
    """Return the claims of a class on the features of a table."""
    return inference(policies, table.log.features, table, **{"draws": 20} | options)


def by_hand(table, policies, draws, seed, level=0.95):
    """Return the band's claim over each constant from a list of all labelings."""
    n, K = table.table.shape
    labels = labelings(policies, table.log.features)
    mine = (table.weight * table.gains[np.arange(n), labels]).sum(axis=1).argmax()
    rng, u = child(seed, "offline", "band"), table.weight / table.weight.sum()
    counts = np.array([np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(draws)])
    centred = counts - (counts @ u)[:, None]
    tables, mosts = [], []
    for k in range(K):
        d = table.gains - table.gains[:, [k]]
        own = u * d[np.arange(n), labels]
        slope = REACH / (2 * SHAPE * np.sqrt((u[:, None] ** 2 * d**2).max(axis=1).sum()))
        value, penalty = own.sum(axis=1), slope * (own**2).sum(axis=1)
        noise, penalties = centred @ own.T, slope * (counts @ own.T**2)
        up, down = (noise - penalties).max(axis=1), (-noise - penalties).max(axis=1)
        tail = (1 + (up >= (value - penalty).max()).sum()) / (1 + draws)
        tables.append((value[mine], penalty[mine], up, down, tail))
        tops = np.sqrt((u[:, None] ** 2 * d**2).max(axis=1).sum()) * np.array([1, 1 / 2, 1 / 4, 1 / 8])
        z = norm.ppf(1 - (1 - level) / K)
        mosts.append(min((value + z / 2 * (top + (own**2).sum(axis=1) / top)).max() for top in tops))
    values, penalties, plain, down, tails = map(np.array, zip(*tables, strict=True))
    place = int(np.ceil(level * (draws + 1))) - 1
    reaches = np.sort(np.maximum(plain, UPPER * down.max(axis=0)), axis=1)[:, place]
    widest = reaches.max() / UPPER
    lower, upper = (values - penalties - reaches).min(), (values + penalties).min() + widest
    return values.min(), lower, upper, tails.max(), min(mosts)


@pytest.mark.parametrize(
    ("K", "n", "policies"), [(2, N, TREES), (3, N, DecisionTrees(3, depth=2)), (14, 200, DecisionTrees(14, 1))]
)
def test_the_band_is_what_a_list_of_all_policies_gives(K, n, policies):
    """One query a draw finds the same maxima, quantile and p-value as every policy of the class one by one."""
    table = drawn(K, n=n, effect=1.0, sample_weight=np.arange(n) % 4 + 1.0)
    found = claims_of(table, policies, draws=60, seed=5)
    expected = by_hand(table, policies, 60, 5)
    claim = found.band
    assert (claim.gain, claim.lower, claim.upper, claim.p_value, found.most) == pytest.approx(expected)


def test_the_cross_fitted_claim_is_a_test_on_rows_not_learnt_from():
    """Against each constant, the least favourable counts; the policy of a fold is that of the other folds."""
    table = drawn(effect=0.6)
    found = claims_of(table).cross_fitted
    played = learnt_elsewhere(STUMPS, table.log.features, table.costs, table.fold)
    gains = table.gains[np.arange(N), played][:, None] - table.gains
    mean, error = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(N)
    lower = (mean - norm.ppf(0.95) * error).min()
    assert (found.gain, found.lower) == pytest.approx((mean.min(), lower))
    assert norm.sf(mean / error).max() < 0.05
    assert found.p_value == 1 / 21  # none of 20 draws with random signs is as good: no less can be known


@pytest.mark.parametrize("seed", [5, 9, 11])
def test_the_p_value_is_how_often_learning_with_random_signs_gains_as_much(seed):
    """Over each constant, up to the tenth draw with as many standard errors; never below that of the normal law."""
    table = drawn(effect=0.3, seed=seed)
    rng = child(0, "offline", "signs")

    def learnt(gains):
        return gains[np.arange(N), learnt_elsewhere(STUMPS, table.log.features, -gains, table.fold)]

    own = [table.gains - table.gains[:, [k]] for k in (0, 1)]
    normal = max(norm.sf(gain.mean() / gain.std(ddof=1) * np.sqrt(N)) for gain in map(learnt, own))

    def share(gains):
        reached = 0
        for draw in range(1, 26):
            found = learnt((rng.integers(0, 2, size=N) * 2.0 - 1.0)[:, None] * gains / N)
            reached += found.sum() >= norm.isf(normal) * np.sqrt((found**2).sum())
            if reached == 10:
                return 10 / draw
        return (1 + reached) / 26

    assert claims_of(table, draws=25).cross_fitted.p_value == max(normal, *map(share, own))


def test_claims_over_too_many_lotteries_are_refused():
    """Where they cannot be listed, as those of twenty actions under four budgets."""
    rules = [share_at_most(action, 0.5) for action in range(4)]
    with pytest.raises(InputError, match="too many ways to treat all alike"):
        claims_of(drawn(20, n=300), DecisionTrees(20, depth=0), constraints=rules)


def test_a_constant_that_is_chosen_gains_nothing_for_sure():
    """Its gain over itself is 0, without a doubt; nothing is claimed for the class."""
    table = drawn(effect=0.0)
    table.table[:, 1] = table.table[:, 0] + 1
    found = claims_of(table)
    assert (found.gain, found.band.lower, found.band.upper) == (0.0, 0.0, 0.0)
    assert found.p_value == found.band.p_value == 1.0
    assert found.reference.constant == "1"


def test_signs_seeds_and_lists_of_rows():
    """Costs are rewards with their sign turned, draws follow the seed, and a list of rows is as good as an array."""
    table = drawn(effect=1.0)
    log, X = table.log, table.log.features
    turned = scores(read_log(X, log.action, cost=-log.outcome, propensity=[0.5, 0.5]))
    found, other, again, seeded = (
        inference(STUMPS, rows, each, draws=20, seed=seed)
        for rows, each, seed in ((X, table, 0), (X, turned, 0), (X.tolist(), table, 0), (X, table, 1))
    )
    assert found.band == other.band == again.band != seeded.band
    assert found.cross_fitted.p_value == pytest.approx(other.cross_fitted.p_value)
    assert str(found.policy) == str(other.policy)


def test_progress_is_told_after_every_draw():
    """First of the band, then of the signs, over both constants, until enough of them are as good."""
    seen = []
    claims_of(drawn(effect=1.0), draws=19, progress=lambda *count: seen.append(count))
    assert seen == [(draw + 1, 19) for draw in range(19)] + [(draw + 1, 38) for draw in range(38)]


@pytest.mark.parametrize(
    ("crossed", "band", "most", "allowed", "enough", "state"),
    [
        (0.04, 0.04, 9.0, True, True, State.TARGET),
        (0.04, 0.30, 9.0, True, True, State.TARGET),  # the band points the same way
        (0.04, 0.60, 9.0, True, True, State.EARLY),  # it does not
        (0.06, 0.01, 9.0, True, True, State.EARLY),  # the band alone is no evidence
        (0.06, 0.60, 0.5, True, True, State.ALIKE),
        (0.06, 0.60, 0.5, False, True, State.EARLY),
        (0.04, 0.04, 9.0, True, False, State.EARLY),
    ],
)
def test_the_state_of_two_claims(crossed, band, most, allowed, enough, state):
    """Evidence is that of policies learnt on other rows; the band must not point the other way."""
    first, second = (Claim(0.0, 0.0, 0.0, p) for p in (crossed, band))
    reference, known = SimpleNamespace(allowed=allowed), SimpleNamespace(enough_events=enough, fits=True)
    given = {"cross_fitted": first, "band": second, "most": most, "reference": reference, "diagnostics": known}
    assert replace(claims_of(drawn()), small=1.0, **given).state == state
