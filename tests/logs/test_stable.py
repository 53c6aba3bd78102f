"""Sentences of a page on the stability of its rule are on this very rule."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from milpcb.estimators import LoggedPolicyTree
from milpcb.logs.findings import Asked
from milpcb.logs.learning import find
from milpcb.logs.source import Columns, make_source


@pytest.mark.parametrize("seed", [10, 55])
def test_of_several_rules_that_are_best_the_printed_one_is_asked_about(seed):
    """Also where a search by rows finds another of them, with more tests: what comes back are tests of its own."""
    rng = np.random.default_rng(seed)
    age, region = rng.integers(0, 4, 40), rng.choice(["north", "south"], 40)
    done, sold = rng.choice(["x", "y"], 40), rng.integers(0, 2, 40)
    frame = pl.DataFrame({"age": age, "region": region, "done": done, "sold": sold})
    source, tree = make_source("log.csv", frame, Columns("done", "sold", maximise=True, randomised=True)), learner()
    found = find(source, tree, Asked(draws=0, resamples=3), lambda _: nullcontext(lambda *_: None)).stability
    assert str(replace(found.policy, names=tree.policy_.names)) == str(tree.policy_)
    graph = tree.policy_.graph()
    assert set(found.tests) == {label for node, label in graph.nodes(data="label") if graph.out_degree(node)}


def learner():
    """Return a learner by scores that tie: those of actions that were not taken are 0."""
    return LoggedPolicyTree(method="ips")
