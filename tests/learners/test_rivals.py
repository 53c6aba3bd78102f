"""Learners of other packages: what they are given and return, what they refuse, and that a play goes on bit by bit."""

import json
import sys
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

from milpcb.errors import EXTRAS, ExtraMissingError, InputError
from milpcb.learners import VW, ContextualBandits

CONTEXTS = np.indices((2, 2, 2)).reshape(3, -1).T.astype(float)
RIGHT = (CONTEXTS[:, 0] != CONTEXTS[:, 1]).astype(int)  # no linear rule plays so


def needs(module: str) -> pytest.MarkDecorator:
    """Skip where the package is absent."""
    return pytest.mark.skipif(find_spec(module) is None, reason=f"the package {module} is not installed")


def play(learner, rounds, seed=0, start=0):
    """Play with costs 0.1 and 0.9, shown as 0 or 1; return all q (rounds, 2) and the actions."""
    rng = np.random.default_rng(seed)
    draws = rng.random((start + rounds, 3))[start:]
    rows = (draws[:, 0] * len(CONTEXTS)).astype(int)
    qs, actions = [], []
    for row, (_, action_draw, cost_draw) in zip(rows.tolist(), draws, strict=True):
        q = learner.act(row)
        action = int(action_draw >= q[0])
        learner.learn(row, action, float(cost_draw < (0.1 if action == RIGHT[row] else 0.9)), float(q[action]))
        qs.append(q)
        actions.append(action)
    return np.array(qs), np.array(actions), rows


def vw(arguments):
    """Return a maker of VW learners, as a parameter."""
    make = partial(VW, CONTEXTS, 2, arguments=f"--cb_explore_adf {arguments}")
    return pytest.param(make, id=arguments, marks=needs("vowpalwabbit"))


MADE = [
    *map(vw, ("--regcbopt -q xa", "--squarecb -q xa", "--bag 3 -q xa", "--cover 3 -q xa", "--rnd 3 --epsilon 0.1")),
    pytest.param(partial(ContextualBandits, CONTEXTS, 2, refit=10), id="trees", marks=needs("contextualbandits")),
]


@pytest.mark.parametrize("make", MADE)
def test_a_play_goes_on_bit_by_bit(make):
    """Restored from its state as JSON, a learner plays what it would have played; the same seed gives the same play."""
    whole, _, _ = play(make(), 90)
    first = make()
    play(first, 55)
    second = make()
    second.restore(json.loads(json.dumps(first.state())))
    np.testing.assert_array_equal(play(second, 35, start=55)[0], whole[55:])
    np.testing.assert_array_equal(play(make(), 90)[0], whole)


@needs("vowpalwabbit")
def test_vw_learns_pairs_of_features_only_where_it_is_given_them():
    """The right action is an exclusive or: with interactions VW finds it, without it plays at chance."""
    late = {}
    for name, arguments in {"pairs": "-q xa --interactions xxa", "alone": "-q xa"}.items():
        _, actions, rows = play(VW(CONTEXTS, 2, arguments=f"--cb_explore_adf --squarecb {arguments}"), 1500)
        late[name] = (actions[-500:] == RIGHT[rows[-500:]]).mean()
    assert late["pairs"] > 0.9
    assert late["alone"] < 0.7


@needs("contextualbandits")
def test_trees_that_are_refitted_find_the_right_actions():
    """The exclusive or of two features is a tree of depth 2."""
    _, actions, rows = play(ContextualBandits(CONTEXTS, 2, depth=2), 600)
    assert (actions[-200:] == RIGHT[rows[-200:]]).mean() > 0.9


@needs("vowpalwabbit")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--cb_explore_adf --squarcb", "'--squarcb' is refused; did you mean '--squarecb'"),
        ("--cb_explore_adf -f model", "'-f' is refused"),
        ("--squarecb", "must have --cb_explore_adf"),
        ("--cb_explore_adf --epsilon x", "VW does not take its arguments: .*x"),
        (3, "one string, got 3"),
    ],
)
def test_arguments_that_are_none_are_refused_in_one_line(arguments, message):
    """Options that VW does not know, and those that would read or write files."""
    with pytest.raises(InputError, match=message) as refused:
        VW(CONTEXTS, 2, arguments=arguments)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("cls", "extra"), [(VW, "vw"), (ContextualBandits, "contextualbandits")])
def test_an_absent_package_is_one_line(cls, extra, monkeypatch):
    """The line names the learner and how to install what it needs."""
    for module in EXTRAS[extra]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ExtraMissingError, match=rf"the learner '{extra}' needs the extra '{extra}': pip install '\.\[{extra}\]'"
    ):
        cls(CONTEXTS, 2)
