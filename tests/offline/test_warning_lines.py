"""Warnings on a log are a line for each kind of trouble, whatever the number of actions."""

import numpy as np

from milpcb.offline import read_log, scores


def test_many_actions_in_trouble_are_one_line_each_kind():
    """Twenty rare actions: the worst are named, the others counted, and what is advised can be done."""
    draw = np.random.default_rng(0)
    n, K = 100, 20
    action = np.concatenate([np.arange(K), np.arange(K), draw.integers(0, K, n - 2 * K)])
    log = read_log(draw.normal(size=(n, 2)), [f"a{k}" for k in action], reward=draw.normal(size=n), propensity=None)
    words = scores(log).diagnostics.words()
    by_kind = [line for line in words if line.startswith(("Hardly ever", "Little is known", "The regression"))]
    assert len(by_kind) == len({line.split()[0] for line in by_kind})
    assert any("more actions" in line for line in by_kind)
    assert all(line.count("'a") <= 3 for line in by_kind)
    assert not any("model_outcome" in line for line in words)
    scores(log, "snips")


def test_propensities_that_cannot_be_right_come_first():
    """Those of one action, given for all rows: a line that names the mend, which others by chance do not."""
    draw = np.random.default_rng(2)
    X = draw.normal(size=(2000, 2))
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    done = np.where(draw.random(2000) < chance, "t", "c")
    given = {True: chance, False: np.where(done == "t", chance, 1 - chance)}
    mends = {}
    for wrong, propensity in given.items():
        words = scores(read_log(X, done, reward=X[:, 1], propensity=propensity), "ips").diagnostics.words()
        assert len(words) > 2
        assert not any("\n" in line for line in words)
        mends[wrong] = [place for place, line in enumerate(words) if "Give the probability of what was done" in line]
    assert mends == {True: [0], False: []}


def test_a_log_without_trouble_has_no_line():
    """Two actions by lot, a thousand rows."""
    draw = np.random.default_rng(1)
    action = draw.integers(0, 2, 1000)
    log = read_log(draw.normal(size=(1000, 2)), action, reward=draw.normal(size=1000), propensity="randomised")
    assert scores(log).diagnostics.words() == []
