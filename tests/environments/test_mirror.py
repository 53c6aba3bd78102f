"""The mirror: costs that follow what copies of a learner are likeliest to play, computed once and kept."""

import json
import sys
import tomllib

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.environments import mirror
from milpcb.environments.mirror import Mirror
from milpcb.experiments.results.store import RunDirectory
from milpcb.experiments.run.player import Tally, play
from milpcb.experiments.run.runner import run
from milpcb.experiments.study import worlds
from milpcb.experiments.study.config import parse_config
from milpcb.learners import ExploreThenCommit, Uniform
from milpcb.plugins import local_classes, registry
from milpcb.protocols import open_class
from milpcb.rng import child
from milpcb.testing.environments import transcript
from policies import DecisionTrees

TREES = DecisionTrees(3, depth=1)
SMALL = {"n_contexts": 12, "n_features": 3}

OWN = '''
"""Learners whose mirror is known by hand."""

import numpy as np
from milpcb.learners import Learner


class Stubborn(Learner):
    """Plays one action until it has cost something, then the next."""

    kept = ("paid",)

    def __init__(self, *, n_actions: int):
        super().__init__(n_actions=n_actions)
        self.paid = 0

    def _act(self, row):
        return np.eye(self.n_actions)[self.paid % self.n_actions]

    def _learn(self, row, action, cost, probability):
        self.paid += int(cost)


class ByRow(Stubborn):
    """Leans to action 2 on even rows; on odd rows actions 1 and 2 are alike but for the last bits of a float."""

    def _act(self, row):
        return np.array([0.3, 0.3, 0.4]) if row % 2 == 0 else np.array([0.2, 0.4 - 1e-12, 0.4 + 1e-12])


class Draws(Stubborn):
    """Plays for sure what its seed gives."""

    def __init__(self, *, n_actions: int, seed: int):
        super().__init__(n_actions=n_actions)
        self.actions = np.random.default_rng(seed).integers(n_actions, size=100)

    def _act(self, row):
        return np.eye(self.n_actions)[self.actions[self.played]]
'''


@pytest.fixture
def own(tmp_path):
    """Write learners of one's own into a folder that names are looked up in."""
    (tmp_path / "mirrored.py").write_text(OWN)
    local_classes.look_in(tmp_path)
    yield
    local_classes.look_in(None)
    sys.modules.pop("mirrored", None)


def costly(environment, horizon=300, seed=3, policies=TREES, **more):
    """Return the stream, and the action that costs in each round (T,), after checking that it alone does."""
    stream = environment.open(policies, horizon, seed, **more)
    _, costs = transcript(stream, np.arange(horizon))
    assert (costs.sum(axis=1) == 1).all()
    return stream, costs.argmax(axis=1)


def paid(learner, stream, horizon, seed=5):
    """Return the mean cost of a learner on a stream."""
    tally = Tally()
    play(learner, stream, tally, horizon, child(seed, "actions"))
    return tally.cost / horizon


# --------------------------------------------------------------------------- by hand


@pytest.mark.usefixtures("own")
def test_who_is_certain_pays_in_every_round():
    """Copies that play one action for sure pay for it, learn that, and pay for the next; so does the learner itself."""
    stream, actions = costly(Mirror("mirrored:Stubborn", **SMALL), 90)
    assert actions.tolist() == [0, 1, 2] * 30
    assert paid(registry.load("learner", "mirrored:Stubborn")(n_actions=3), stream, 90) == 1.0


@pytest.mark.usefixtures("own")
def test_what_differs_by_the_last_bits_is_a_tie():
    """On even rows the likeliest action costs; on odd rows the first of two that are alike up to rounding."""
    stream, actions = costly(Mirror("mirrored:ByRow", **SMALL), 60)
    rows = np.array([stream.reveal(t) for t in range(60)])
    assert (actions == np.where(rows % 2 == 0, 2, 1)).all()


@pytest.mark.usefixtures("own")
def test_a_learner_that_draws_within_act_counts_by_its_frequency():
    """Copies that put all mass on what they drew: the action that most of them drew costs, the first of several."""
    environment = Mirror("mirrored:Draws", copies=4, **SMALL)
    stream, actions = costly(environment, 80)
    copies = environment._copies(open_class(TREES, stream.contexts), stream.contexts, 80, 3)
    drawn = np.array([copy.actions[:80] for copy in copies])
    assert (actions == (drawn[:, :, None] == np.arange(3)).sum(axis=0).argmax(axis=1)).all()
    assert len(set(actions.tolist())) == 3


# --------------------------------------------------------------------------- what it does to learners


def test_a_fresh_explore_then_commit_pays_where_uniform_pays_a_third():
    """After its exploration a fresh run, with other coins than the copies, pays in nearly all rounds."""
    policies, horizon = DecisionTrees(3, depth=2), 1500
    stream, _ = costly(Mirror("explore_then_commit", {"rounds": 200}, **SMALL), horizon, policies=policies)
    oracle = open_oracle(policies, stream.contexts, kind="search")
    assert paid(Uniform(n_actions=3), stream, horizon) == pytest.approx(1 / 3)
    assert paid(ExploreThenCommit(oracle, horizon=horizon, rounds=200), stream, horizon) > 0.75


# --------------------------------------------------------------------------- the same bytes, computed once


STUDY = """\
[experiment]
name = "mirrors"
horizon = 60
checkpoints = 3

[environment]
name = "mirror"
learner = "epsilon_greedy"
options = { scale = 0.5 }
oracle = { kind = "enumeration" }
n_contexts = 8
n_features = 3

[policies]
name = "decision_trees"
depth = 1

[oracle]
kind = "search"

[[learners]]
name = "uniform"
"""


def test_a_study_computes_the_costs_once_and_keeps_them(tmp_path, monkeypatch):
    """One file for both tasks of the world; a later learner reads it, and a damaged one is computed again."""
    real, plays = mirror.costly_actions, []

    def counted(*given):
        plays.append(given)  # when the first round is asked for
        yield from real(*given)

    monkeypatch.setattr(mirror, "costly_actions", counted)

    def go(text):
        worlds._open.clear()
        config = parse_config(tomllib.loads(text), text)
        assert run(config, RunDirectory(tmp_path / "out"), "serial") == []

    go(STUDY)
    (file,) = (tmp_path / "out/costs").iterdir()
    content = file.read_bytes()
    assert len(plays) == 1
    go(STUDY + '\n[[learners]]\nname = "epsilon_greedy"\n')
    assert len(plays) == 1
    assert file.read_bytes() == content
    file.write_bytes(content.replace(b"0, 0", b"0, 1", 1))
    go(STUDY + '\n[[learners]]\nname = "explore_then_commit"\n')
    assert len(plays) == 2
    assert file.read_bytes() == content
    monkeypatch.undo()
    environment = Mirror("epsilon_greedy", {"scale": 0.5}, {"kind": "enumeration"}, n_contexts=8, n_features=3)
    assert json.loads(content)["data"] == costly(environment, 60, 0)[1].tolist()
