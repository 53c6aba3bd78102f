"""Answers as files: JSON that policies are read back from, and pictures."""

import json

import numpy as np
import pytest

import policies
from milpcb import open_oracle
from milpcb.commands.solve import answer_json, save_answer
from milpcb.core import gate
from milpcb.experiments.results.figures.drawing import draw_policy
from milpcb.types import Answer, Stop
from policies import BoxRules, DecisionTrees, RuleLists, ThresholdRules

CONTEXTS = np.random.default_rng(0).normal(size=(20, 2))
COSTS = np.random.default_rng(1).integers(0, 9, (20, 3)).astype(float)


class Text:
    """A policy of somebody else's: it predicts and prints."""

    def predict(self, contexts):
        """Play 0."""
        return np.zeros(len(contexts), dtype=np.int64)

    def __str__(self):
        return "play $0"


@pytest.mark.parametrize("cls", [BoxRules, DecisionTrees, RuleLists, ThresholdRules])
def test_a_saved_answer_is_read_back_as_its_policy(cls, tmp_path):
    """``policies.from_json`` reads the file of an answer, names included."""
    named = cls(3, feature_names=["a", "b"], action_names=["stay", "left", "right"])
    answer = open_oracle(named, CONTEXTS).minimise(COSTS)
    path = save_answer(answer, tmp_path / "answer.json")
    again = policies.from_json(path.read_text())
    assert again == answer.policy
    assert str(again) == str(answer.policy)
    document = json.loads(path.read_text())
    assert (document["upper"], document["stop"], document["policy"]["rules"]) == (answer.value, "optimal", str(again))


def test_policies_of_others_are_written_as_text():
    """Class and rules of a policy that is none of ours; null for no policy, and for a bound that is not known."""
    written = json.loads(answer_json(Answer(0.0, 0.0, Text(), Stop.OPTIMAL, 0.0)))["policy"]
    assert written == {"class": "Text", "rules": "play $0"}
    text = answer_json(Answer(-3.0, np.inf, None, Stop.TIME_LIMIT, 0.0))  # JSON has no infinity
    assert gate.read_json(text) == {"lower": -3.0, "upper": None, "stop": "time_limit", "seconds": 0.0, "policy": None}


def test_every_policy_has_a_picture():
    """Rules are drawn with what their leaves hold, policies of others by their own drawing or as text."""

    class Drawn(Text):
        def draw(self, axes):
            axes.text(0, 0, "mine")

    rule = open_oracle(DecisionTrees(3), CONTEXTS).minimise(COSTS).policy
    with_leaves, without = draw_policy(rule, rule.leaves(CONTEXTS, COSTS)), draw_policy(rule)
    assert with_leaves["svg"].count(b"% of contexts") == len(rule.leaf_actions)
    assert b"mean cost" in with_leaves["svg"]
    assert b"% of contexts" not in without["svg"]
    assert b"mine" in draw_policy(Drawn())["svg"]
    assert b"play $0" in draw_policy(Text())["svg"]
