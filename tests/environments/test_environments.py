"""The built-in environments: what they show, how often, and that a seed fixes all of it."""

import warnings

import numpy as np
import pytest
from scipy import stats

from milpcb.environments.planted import AlternatingLeader, Planted, Seasonal, Switching
from milpcb.environments.recorded import Supervised
from milpcb.environments.stream import BLOCK
from milpcb.errors import InputError
from milpcb.plugins import registry
from milpcb.testing.environments import check_rereadable, check_rounds, check_same_seed, transcript
from policies.trees import DecisionTrees
from policies.trees.policy_class import OpenedTrees

HORIZON = 2 * BLOCK + 17  # no multiple of the block
BY_NAME = sorted(set(registry.names("environment")) - {"replay"})  # which needs files
DETERMINISTIC = {"cost_right": 0.0, "cost_wrong": 1.0}


def opened(environment, horizon=HORIZON, seed=7):
    """Open an environment against depth-2 trees."""
    return environment.open(DecisionTrees(environment.n_actions, depth=2), horizon, seed)


def right_actions(stream, rounds):
    """Return the rows shown and the actions of cost 0 where costs are deterministic."""
    rows, costs = transcript(stream, np.asarray(rounds))
    assert (costs.sum(axis=1) == costs.shape[1] - 1).all()
    return rows, costs.argmin(axis=1)


# --------------------------------------------------------------------------- every registered environment


@pytest.mark.parametrize("check", [check_rounds, check_same_seed, check_rereadable], ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "mirror"])  # which draws no blocks
def test_rounds_of_several_blocks(name, check):
    """The contract holds past the rounds that are drawn at once; all of it for few rounds in tests/testing."""
    environment = registry.load("environment", name)()
    check(environment, DecisionTrees(environment.n_actions, depth=2), BLOCK + 100, 3)


@pytest.mark.parametrize("name", BY_NAME)
def test_seeds_differ(name):
    """Two seeds show different rows and different costs."""
    environment = registry.load("environment", name)()
    one, other = (transcript(opened(environment, 200, seed), np.arange(200)) for seed in (0, 1))
    assert (one[0] != other[0]).any()
    assert (one[1] != other[1]).any()


@pytest.mark.parametrize(
    "environment", [Planted(), Supervised("iris", permute_every=50)], ids=["planted", "supervised"]
)
def test_a_longer_horizon_begins_alike(environment):
    """A longer horizon shows the same rounds first, across blocks."""
    rounds = np.arange(BLOCK + 50)
    short, long = (transcript(opened(environment, horizon), rounds) for horizon in (BLOCK + 50, HORIZON))
    assert (short[0] == long[0]).all()
    assert (short[1] == long[1]).all()


# --------------------------------------------------------------------------- how often


def test_rows_and_costs_are_drawn_independently_with_their_chances():
    """Chi-square and means with a fixed seed: rows alone and in pairs, costs by action, and costs of two actions."""
    stream = opened(Planted(n_contexts=4), 40_000)
    rows, costs = transcript(stream, np.arange(40_000))
    assert stats.chisquare(np.bincount(rows, minlength=4)).pvalue > 1e-3
    assert stats.chisquare(np.bincount(4 * rows[::2] + rows[1::2], minlength=16)).pvalue > 1e-3
    right = stream.planted[0].predict(stream.contexts)[rows]
    wrong = np.array([costs[right != action, action].mean() for action in range(3)])
    assert abs(costs[np.arange(40_000), right].mean() - 0.3) < 0.02
    assert (np.abs(wrong - 0.6) < 0.02).all()
    _, even = transcript(opened(Planted(cost_right=0.5, cost_wrong=0.5), 20_000), np.arange(20_000))
    assert np.abs(np.corrcoef(even.T) - np.eye(3)).max() < 0.03
    assert (costs[:100] != costs[BLOCK : BLOCK + 100]).any()  # blocks do not repeat


# --------------------------------------------------------------------------- planted and switching


@pytest.mark.parametrize("seed", range(3))
def test_the_planted_policy_is_right_and_no_constant_is_nearly_so(seed):
    """The pool is of 0 and 1; its labels use every action on at most half of the contexts."""
    stream = opened(Planted(**DETERMINISTIC), 100, seed)
    assert set(np.unique(stream.contexts)) == {0.0, 1.0}
    assert (stream.contexts != opened(Planted(), 10, seed + 1).contexts).any()
    labels = stream.planted[0].predict(stream.contexts)
    rows, right = right_actions(stream, range(100))
    assert (right == labels[rows]).all()
    share = np.bincount(labels, minlength=3) / 200
    assert share.max() <= 0.5
    assert share.min() > 0.1


def test_switching_follows_each_policy_in_turn():
    """Before and after each switch the policy of that phase is right, to the round; the policies differ."""
    stream = opened(Switching(**DETERMINISTIC, switch_at=(0.25, 0.75)), 1000)
    labels = [policy.predict(stream.contexts) for policy in stream.planted]
    rows, right = right_actions(stream, range(1000))
    assert len(labels) == 3
    for policy, (first, last) in zip(labels, [(0, 250), (250, 750), (750, 1000)], strict=True):
        assert (right[first:last] == policy[rows[first:last]]).all()
    assert (labels[0] != labels[1]).any()
    assert (labels[1] != labels[2]).any()


def test_switching_begins_as_planted():
    """Up to the switch, switching and planted show the same rounds for the same seed."""
    rounds = np.arange(HORIZON // 2)
    one, other = (transcript(opened(environment), rounds) for environment in (Planted(), Switching()))
    assert (one[0] == other[0]).all()
    assert (one[1] == other[1]).all()


def test_starts():
    """Phases start at the first round at or after the fraction, whatever floating point makes of the product."""
    assert Planted().starts(100).tolist() == [0]
    assert Switching(switch_at=[0.5]) == Switching()  # a list, as a config gives it
    assert Switching(switch_at=[0.07, 0.29, 0.995]).starts(100).tolist() == [0, 7, 29, 100]
    assert Switching().starts(1).tolist() == [0, 1]
    assert Seasonal(season=1, n_seasons=2).starts(3).tolist() == [0, 1, 2]
    assert AlternatingLeader(n_turns=22).starts(3000)[[1, 8, 14]].tolist() == [67, 1000, 1800]


def test_nothing_to_switch_to(monkeypatch):
    """A class whose draws all label alike cannot switch; the error says what to do."""
    draw, drawn = OpenedTrees.draw, []

    def same(opened, _):
        drawn.append(draw(opened, np.random.default_rng(0)))
        return drawn[-1]

    monkeypatch.setattr(OpenedTrees, "draw", same)
    with pytest.raises(InputError, match="nothing to switch to"):
        Switching().open(DecisionTrees(3), 10, 0)
    assert len(drawn) > 2  # it tried again before it gave up


# --------------------------------------------------------------------------- supervised


@pytest.mark.parametrize(("name", "m", "d", "k"), [
    ("breast_cancer", 569, 30, 2), ("digits", 1797, 64, 10), ("iris", 150, 4, 3), ("wine", 178, 13, 3),
])  # fmt: skip
def test_data_sets(name, m, d, k):
    """Every data set opens without a warning, with its size, its names and its own labels as the right actions."""
    from sklearn import datasets

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        environment = Supervised(name)
        stream = opened(environment, 500)
    target = getattr(datasets, f"load_{name}")().target
    rows, right = right_actions(stream, range(500))
    assert stream.contexts.shape == (m, d)
    assert (len(environment.feature_names), len(environment.action_names), environment.n_actions) == (d, k, k)
    assert stream.order is None  # rows are i.i.d.
    assert (right == target[rows]).all()
    assert stream.planted == ()


@pytest.mark.parametrize(("name", "every"), [("iris", 100), ("digits", 333), ("breast_cancer", 64), ("wine", 1)])
def test_phases_permute_the_labels(name, every):
    """In every phase one permutation of the labels is right, the first the identity, each unlike the one before."""
    from sklearn import datasets

    stream = opened(Supervised(name, permute_every=every), 2000)
    target = getattr(datasets, f"load_{name}")().target
    rows, right = right_actions(stream, range(2000))
    shown, before = [], None
    for first in range(0, 2000 - every, every):
        phase = slice(first, first + every)
        names = dict(zip(target[rows[phase]].tolist(), right[phase].tolist(), strict=True))
        assert right[phase].tolist() == [names[label] for label in target[rows[phase]].tolist()]
        assert len(set(names.values())) == len(names)
        assert names != before or every == 1  # one label shows one name
        assert before is not None or all(label == action for label, action in names.items())
        shown.append(before := names)
    _, other = right_actions(opened(Supervised(name, permute_every=every), 2000, seed=8), range(2000))
    assert len(shown) > 1
    assert (other != right).any()
