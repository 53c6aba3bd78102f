"""Scores are the formula, by hand; no model predicts what it has seen; costs, weights and clipping do what they say."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression

from milpcb.estimators import LoggedPolicyTree
from milpcb.offline import read_log, scores


def drawn(n=60, K=3, seed=0):
    """Return features, actions, outcomes and propensities (n, K)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    e = rng.dirichlet(np.full(K, 5.0), size=n)
    action = np.array([rng.choice(K, p=row) for row in e])
    return X, action, X[:, 0] + action * X[:, 1] + rng.normal(size=n), e


def log_of(**options):
    """Return a log with known propensities."""
    X, action, y, e = drawn()
    return read_log(X, action, **({"reward": y, "propensity": e} | options))


def test_dr_is_the_regression_plus_the_weighted_residual():
    """Every entry, by a loop over folds, actions and rows."""
    log = log_of()
    found = scores(log, model_outcome=LinearRegression(), cv=4, seed=3)
    for fold in range(4):
        for k in range(3):
            train = (found.fold != fold) & (log.action == k)
            model = LinearRegression().fit(log.features[train], log.outcome[train])
            for j in np.flatnonzero(found.fold == fold):
                m = model.predict(log.features[[j]])[0]
                e = log.propensity[j, k]
                assert found.table[j, k] == pytest.approx(m + (log.action[j] == k) * (log.outcome[j] - m) / e)


def test_the_other_methods_are_parts_of_it():
    """Ips leaves out the regression, dm the residual; snips of a constant is the Hajek mean."""
    log = log_of()
    rows, chance = np.arange(60), log.propensity[np.arange(60), log.action]
    ips = scores(log, "ips").table
    assert np.allclose(ips[rows, log.action], log.outcome / chance)
    assert np.count_nonzero(ips) == 60
    dr, dm = (scores(log, method, model_outcome=LinearRegression()) for method in ("dr", "dm"))
    assert np.array_equal(dm.table, dr.regression)
    snips = scores(log, "snips").table
    for k in range(3):
        weights = (log.action == k) / chance
        assert snips[:, k].mean() == pytest.approx(weights @ log.outcome / weights.sum())


class Remembers(RegressorMixin, ClassifierMixin, BaseEstimator):
    """A model that fails if it predicts a row it was fitted to; the first feature is the number of the row."""

    def fit(self, X, y):
        """Remember the rows."""
        self.seen_, self.classes_ = set(X[:, 0]), np.unique(y)
        return self

    def predict(self, X):
        """Return 0 for rows that were not seen."""
        assert not self.seen_ & set(X[:, 0])
        return np.zeros(len(X))

    def predict_proba(self, X):
        """Return equal chances for rows that were not seen."""
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_)) + self.predict(X)[:, None]


class RemembersRegression(Remembers):
    """The same, as a regressor only."""

    __sklearn_tags__ = RegressorMixin.__sklearn_tags__


def test_no_model_predicts_what_it_has_seen():
    """Both models are fitted without the fold they predict, and with all others."""
    _, action, y, _ = drawn()
    log = read_log(np.column_stack([np.arange(60), np.ones(60)]), action, reward=y)
    found = scores(log, model_outcome=RemembersRegression(), model_propensity=Remembers())
    assert np.allclose(found.table[np.arange(60), action], y * 3)


@pytest.mark.parametrize("cv", [2, 5, 7])
def test_folds_are_dealt_by_action(cv):
    """Sizes of folds differ by one at most, and so do the rows of an action in them."""
    log = log_of()
    fold = scores(log, "ips", cv=cv).fold
    assert np.ptp(np.bincount(fold, minlength=cv)) <= 1
    for k in range(3):
        assert np.ptp(np.bincount(fold[log.action == k], minlength=cv)) <= 1


def test_folds_of_one_s_own_are_taken_as_they_are():
    """By whatever numbers: the scores are those of the same folds that were dealt, also of an estimator."""
    log = log_of()
    dealt = scores(log, model_outcome=LinearRegression(), seed=3)
    given = scores(log, model_outcome=LinearRegression(), cv=10 - 3 * dealt.fold)
    assert np.array_equal(given.table, dealt.table)
    assert np.array_equal(given.fold, 10 - 3 * dealt.fold)
    tree = LoggedPolicyTree(model_outcome=LinearRegression(), cv=dealt.fold)
    tree.fit(log.features, log.action, reward=log.outcome, propensity=log.propensity)
    assert np.array_equal(tree.scores_.table, dealt.table)


def test_same_seed_same_bytes():
    """Folds and default models follow the seed, with missing features too."""
    X, action, y, _ = drawn()
    X[::7, 0] = np.nan
    log = read_log(X, action, reward=y)
    told = []
    one, again = (scores(log, cv=2, progress=lambda *now: told.append(now)).table for _ in range(2))
    assert told == 2 * [(1, 3), (2, 3), (3, 3)]
    other = scores(log, cv=2, seed=1).table
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_costs_mirror_rewards():
    """A cost is a reward with its sign turned, and what the treatment costs makes both worse."""
    X, action, y, e = drawn()
    price = [0.0, 1.0, 2.5]
    model = {"model_outcome": LinearRegression(), "treatment_cost": price}
    up = scores(read_log(X, action, reward=y, propensity=e), **model)
    down = scores(read_log(X, action, cost=-y, propensity=e), **model)
    assert np.allclose(up.table, -down.table)
    assert np.allclose(up.costs, down.costs)
    assert np.allclose(up.gains, up.table)
    plain = scores(read_log(X, action, reward=y, propensity=e), model_outcome=LinearRegression())
    assert np.allclose(plain.table - up.table, price)
    assert np.allclose(up.logged, y - np.array(price)[action])


def test_small_propensities_are_raised_and_counted():
    """Below min_propensity the weight is 1 / min_propensity; the diagnostics count and mention it."""
    log = log_of()
    chance = log.propensity[np.arange(60), log.action]
    found = scores(log, "ips", min_propensity=0.3)
    assert found.diagnostics.clipped == (chance < 0.3).sum() > 0
    assert np.allclose(found.table[np.arange(60), log.action], log.outcome / np.maximum(chance, 0.3))
    assert any(f"{found.diagnostics.clipped} propensities below 0.3" in line for line in found.diagnostics.words())


def test_a_small_trial_takes_means_and_a_large_one_boosting():
    """The mean of each action, without its own fold, is the regression of a small randomised trial."""
    X, action, y, _ = drawn()
    found = scores(read_log(X, action, reward=y, propensity="randomised"))
    train = (found.fold != found.fold[0]) & (action == 2)
    assert found.regression[0, 2] == pytest.approx(y[train].mean())
    X, action, y, _ = drawn(300)
    assert len(np.unique(scores(read_log(X, action, reward=y), cv=2).regression[:, 0])) > 2


def test_a_column_that_is_missing_in_a_whole_fold_is_no_error():
    """Boosting would refuse it; nothing can be learnt from it, and the scores are those without it."""
    X, action, y, _ = drawn(40)
    alone, more = (
        scores(read_log(features, action, reward=y), "dr", cv=2).table
        for features in (X, np.column_stack([X, np.full(40, np.nan)]))
    )
    assert np.array_equal(alone, more)


@pytest.mark.parametrize("known", [{"propensity": [0.5, 0.5]}, {}], ids=["outcomes", "and propensities"])
def test_strings_are_read_by_their_place_in_the_alphabet(known):
    """Also where a fold lacks one of them, and where one is missing."""
    texts = ["b", None, "c", "a"] * 9 + ["b", None, "c", "d"]
    codes = [{"a": 0.0, "b": 1.0, "c": 2.0, "d": 3.0}.get(text, np.nan) for text in texts]
    read, by_hand = (
        scores(read_log(features[:, None], np.arange(40) % 2, reward=np.arange(40) % 7 * 1.0, **known), "dr").table
        for features in (np.array(texts, dtype=object), np.array(codes))
    )
    assert np.array_equal(read, by_hand)


def test_a_classifier_gives_the_mean_of_a_binary_outcome():
    """Its probabilities, not its labels, are the regression."""
    X, action, y, e = drawn(200)
    log = read_log(X, action, reward=(y > 0).astype(float), propensity=e)
    regression = scores(log, model_outcome=LogisticRegression()).regression
    assert ((regression > 0) & (regression < 1)).all()
