"""Contexts are let go of: of a million rows, each table that is kept by mistake is a quarter of a gigabyte."""

import gc
import weakref

import numpy as np
import pytest

from milpcb.oracles import open_oracle
from milpcb.plugins import registry
from milpcb.protocols import open_class
from tests.instances import instances

FIRST = {name: instances(name)[0] for name in registry.names("policies")}


@pytest.fixture
def _no_collection():
    """Cycles of references stay as they are: what is let go of only when garbage is collected is not let go of."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def answered(instance):
    """Return an oracle that has answered, on contexts of its own."""
    oracle = open_oracle(instance.policies, np.array(instance.contexts), kind="search")
    costs = np.random.default_rng(0).random((len(instance.contexts), oracle.n_actions))
    oracle.minimise(costs)
    oracle.profile(costs, 0)
    return oracle


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("name", FIRST)
def test_predict_keeps_no_contexts(name):
    """Nothing refers to the contexts after predict and apply, of any class."""
    instance = FIRST[name]
    opened = open_class(instance.policies, instance.contexts)
    policy = opened.draw(np.random.default_rng(0))
    contexts = np.array(instance.contexts, dtype=float)
    contexts.setflags(write=False)  # so that they are read as they are, not copied
    gone = weakref.ref(contexts)
    policy.predict(contexts)
    if hasattr(policy, "apply"):
        policy.apply(contexts)
    del contexts
    assert gone() is None


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("name", FIRST)
def test_an_oracle_keeps_no_contexts_once_it_is_dropped(name):
    """An oracle that has answered goes with the last name for it, and the contexts with it."""
    instance = FIRST[name]
    opened = open_class(instance.policies, instance.contexts)
    if "search" not in opened.capabilities:
        pytest.skip("the class has no search")
    answered(instance)  # the compiler, if it runs, keeps what it is called with
    gc.collect()
    oracle = answered(instance)
    gone = weakref.ref(oracle)
    del oracle
    assert gone() is None
