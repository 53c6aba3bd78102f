"""Arguments with new names: the old ones work for one version, with a line, wherever options are given."""

from __future__ import annotations

import tomllib
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import milpcb
from milpcb.core.renamed import by_new_names
from milpcb.errors import InputError
from milpcb.experiments.study.config import parse_config
from milpcb.learners import ContextualFTPL
from milpcb.plugins import injection
from policies import DecisionTrees

LINE = r"noise in {} is called noise_on now; its old name works until 0\.2"
TREES = DecisionTrees(2, depth=1, thresholds=[[0.5]])
ADAPTIVE: dict[str, Any] = {"seed": 0, "epsilon": "adaptive"}
STUDY = """\
[experiment]
name = "old"
horizon = 20

[environment]
name = "planted"
n_contexts = 8

[policies]
name = "decision_trees"
depth = 1

[oracle]
kind = "search"

[[learners]]
name = "ftpl"
epsilon = "adaptive"
noise_on = "columns"
"""


def test_names_that_are_new_are_left_alone():
    """Without an old name among them nothing changes, and there is no line."""
    assert by_new_names({"a": 1, "b": 2}, {"old": "a"}, "here") == {"a": 1, "b": 2}


def test_a_constructor_takes_an_old_name_with_a_line():
    """Called by the old name a learner is the same as by the new one; the line names its class and both names."""
    oracle = milpcb.open_oracle(TREES, np.array([[0.0], [1.0]]), kind="search")
    new = ContextualFTPL(oracle, noise_on="columns", **ADAPTIVE)
    with pytest.warns(FutureWarning, match=LINE.format("ContextualFTPL")):
        old = ContextualFTPL(oracle, noise="columns", **ADAPTIVE)  # type: ignore[call-arg]
    assert repr(old) == repr(new)
    assert (old.act(0) == new.act(0)).all()


def test_both_names_are_refused():
    """An argument by its old and its new name is one too many."""
    oracle = milpcb.open_oracle(TREES, np.array([[0.0], [1.0]]), kind="search")
    with pytest.raises(InputError, match="noise is the old name of noise_on in ContextualFTPL; leave it out"):
        ContextualFTPL(oracle, noise="columns", noise_on="columns", **ADAPTIVE)  # type: ignore[call-arg]


def test_options_of_a_bandit_and_of_a_play_take_an_old_name():
    """Options by name go through one gate: the same learner, and the line."""
    with pytest.warns(FutureWarning, match=LINE.format("ContextualFTPL")):
        bandit = milpcb.Bandit(TREES, "ftpl", epsilon="adaptive", noise="columns")
    assert bandit.act([0.0]).action in {0, 1}
    learner = {"name": "ftpl", "epsilon": "adaptive", "noise": "columns"}
    with pytest.warns(FutureWarning, match=LINE.format("learner 'ftpl'")):
        milpcb.play("planted", [learner], 10, policies=DecisionTrees(n_actions=3, depth=1))


def test_a_config_takes_an_old_option_with_its_line(caplog):
    """The line has the place of the old name; numbers and the names of records are those of the new one."""
    text = STUDY.replace("noise_on", "noise")
    new = parse_config(tomllib.loads(STUDY), STUDY)
    assert not caplog.messages
    assert parse_config(tomllib.loads(text), text) == new
    number = text.splitlines().index('noise = "columns"') + 1
    assert caplog.messages == [
        f"config, line {number}: noise in [[learners]] is called noise_on now; its old name works until 0.2"
    ]


def test_both_names_in_a_config_are_refused():
    """The message has the line of one of the two."""
    text = STUDY + 'noise = "columns"\n'
    with pytest.raises(InputError, match=r"line \d+: noise is the old name of noise_on in \[\[learners\]\]"):
        parse_config(tomllib.loads(text), text)


def test_old_names_are_no_arguments():
    """No learner of ours has an argument that is the old name of another, and new names are arguments."""
    old = injection.old_names(ContextualFTPL)
    assert old == MappingProxyType({"noise": "noise_on"})
    assert not old.keys() & injection.arguments(ContextualFTPL).keys()
    assert {*old.values()} <= injection.arguments(ContextualFTPL).keys()
