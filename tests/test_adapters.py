"""Our learners in the experiments of coba: its own loop, its own processes, beside Vowpal Wabbit."""

import pickle
from collections import defaultdict

import pytest

from milpcb.adapters.coba import CobaLearner, numbers
from milpcb.bandit import Bandit
from milpcb.errors import InputError, UnknownNameError
from policies import DecisionTrees
from tests.refused import refused

TREES = DecisionTrees(2, depth=1, thresholds=[[0.5], [0.5]])


@pytest.mark.filterwarnings("default")  # those of coba and of its processes are its own
@pytest.mark.parametrize("processes", [1, 2])
def test_an_experiment_of_coba_runs_ours_beside_vw(processes):
    """Every learner plays all rounds of both environments; ours learns, and coba's copies begin anew."""
    coba = pytest.importorskip("coba", reason="the package coba is not installed")
    pytest.importorskip("vowpalwabbit", reason="the package vowpalwabbit is not installed")
    worlds = coba.Environments.from_lambda(200, context, actions, reward, seed=1) + coba.Environments.from_lambda(
        200, context, actions, reward, seed=2
    )
    ours = [CobaLearner(TREES, "exp4", rate="certified", seed=3), CobaLearner(TREES, "uniform")]
    rivals = [coba.VowpalLearner("--cb_explore_adf --squarecb --interactions xa --quiet")]
    result = coba.Experiment(worlds, [*ours, *rivals]).run(processes=processes, quiet=True)
    earned = defaultdict(list)
    for row in result.interactions:
        known = dict(zip(result.interactions.columns, row, strict=True))
        earned[known["learner_id"]].append(known["reward"])
    means = {learner: sum(rewards) / len(rewards) for learner, rewards in earned.items()}
    assert {learner: len(rewards) for learner, rewards in earned.items()} == {0: 400, 1: 400, 2: 400}
    assert means[0] > 0.8
    assert means[1] < 0.6


def context(t, rng):
    """Return two bits."""
    del t
    return rng.randints(2, 0, 1)


def actions(t, context, rng):
    """Return the same two names every round."""
    del t, context, rng
    return ["left", "right"]


def reward(t, context, action, rng):
    """Return 1 where the action is that of the first bit."""
    del t, rng
    return float(action == ["left", "right"][context[0]])


def test_rounds_one_by_one():
    """The action returned is the offered object itself, the bandit inside learns, and its certificate can be read."""
    learner, offered = CobaLearner(TREES, "uniform", seed=1), [("a", 1), ("b", 2)]
    for t in range(40):
        action, probability = learner.predict([t % 2, 0], offered)
        assert any(action is one for one in offered)
        assert probability == 0.5
        learner.learn([t % 2, 0], action, 0.25, probability)
    assert isinstance(learner.bandit, Bandit)
    assert learner.bandit.certificate() > 0
    assert learner.params == {
        "family": "milpcb uniform",
        "policies": str(TREES),
        "seed": 1,
        "reward_range": (0.0, 1.0),
        "horizon": None,
        "oracle": "search",
    }


@pytest.mark.filterwarnings("default")  # those of coba are its own
@pytest.mark.parametrize("size", [2, 7])
def test_batches_are_costs_that_come_late(size):
    """As many as there are actions, or more: every round is played and learnt, at the rewards of its own row."""
    coba = pytest.importorskip("coba", reason="the package coba is not installed")
    worlds = coba.Environments.from_lambda(210, context, actions, reward, seed=1).batch(size)
    result = coba.Experiment(worlds, [CobaLearner(TREES, "exp4", rate="certified", seed=3)]).run(quiet=True)
    rewards = [row[list(result.interactions.columns).index("reward")] for row in result.interactions]
    assert len(rewards) == 210
    assert sum(rewards[100:]) / len(rewards[100:]) > 0.75


def test_named_actions_are_those_offered():
    """A class with names of its own plays what coba offers, in order."""
    learner = CobaLearner(DecisionTrees(2, depth=1, thresholds=[[0.5]], action_names=("x", "y")), "uniform")
    for _ in range(20):
        action, probability = learner.predict([0], ["l", "r"])
        assert action in ("l", "r")
        learner.learn([0], action, 0.5, probability)


def test_an_unplayed_learner_is_pickled():
    """The copy plays what the original would have."""
    first = CobaLearner(TREES, "uniform", seed=5)
    second = pickle.loads(pickle.dumps(first))  # noqa: S301 - just written
    assert [first.predict([1, 0], ["l", "r"]), first.params] == [second.predict([1, 0], ["l", "r"]), second.params]


def test_what_cannot_be_is_refused():
    """Mistakes in the settings at once; other actions, a third one, and a learn before predict when they come."""
    refused(lambda: CobaLearner(TREES, "exp5"), "did you mean 'exp4'", error=UnknownNameError)
    refused(lambda: CobaLearner(TREES, "exp4", rat="certified"), "has no option 'rat'")
    learner = CobaLearner(TREES, "uniform")
    refused(lambda: learner.learn([0, 0], "l", 1.0, 0.5), "learn must follow predict in the same round")
    refused(lambda: learner.predict([0, 0], ["l", "r", "m"]), "must offer the same 2")
    learner = CobaLearner(TREES, "uniform")
    action, _ = learner.predict([0, 0], ["l", "r"])
    for context_, other in (([0, 0], "lr".replace(action, "")), ([1, 0], action)):
        with pytest.raises(InputError, match="learn must follow predict in the same round"):
            learner.learn(context_, other, 1.0, 0.5)
    learner.learn([0, 0], action, 1.0, 0.5)
    refused(lambda: learner.predict([0, 0], ["r", "l"]), "every round must offer the same 2")
    assert learner.predict([0, 0], ["l", "r"])[1] == 0.5  # no refusal ended the game


@pytest.mark.filterwarnings("default")  # those of coba are its own
@pytest.mark.parametrize("size", [1, 3])
def test_wide_rewards_are_played_as_those_of_the_range(size):
    """The same actions as by rewards of 0 and 1, one by one and in batches."""
    coba = pytest.importorskip("coba", reason="the package coba is not installed")
    played = []
    for rewards, given in ((reward, (0.0, 1.0)), (wide, (-3.0, 7.0))):
        worlds = coba.Environments.from_lambda(60, context, actions, rewards, seed=1).batch(size)
        learner = CobaLearner(TREES, "exp4", rate="certified", seed=3, reward_range=given)
        found = coba.Experiment(worlds, [learner]).run(quiet=True).interactions
        played.append([row[list(found.columns).index("action")] for row in found])
    assert len(played[0]) == 60
    assert played[0] == played[1]


def wide(t, context, action, rng):
    """Return the reward on a scale from -3 to 7."""
    return 10 * reward(t, context, action, rng) - 3


def test_contexts_are_flattened():
    """Nothing, a number and nested lists; strings, sparse contexts and anything else are refused."""
    contexts = [None, 3, [1, [2.0, (3,)]]]
    assert list(map(numbers, contexts)) == [[0.0], [3.0], [1.0, 2.0, 3.0]]
    for context in ("red", {"size": 1}, [1, "red"], object()):
        refused(lambda context=context: numbers(context), "contexts must be numbers")
