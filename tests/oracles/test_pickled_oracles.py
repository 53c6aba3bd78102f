"""Oracles go to other processes, as joblib and Dask send them: pickled as what they were opened from."""

import pickle
from copy import copy, deepcopy
from typing import Any

import numpy as np
import pytest

import milpcb
from milpcb import open_oracle
from milpcb.constraints.linear import LabelConstraint
from milpcb.errors import InputError
from milpcb.oracles.growing import GrowingOracle
from policies import DecisionTrees, MonotoneRules, RuleLists, ThresholdRules

CONTEXTS = np.array([[i, j] for i in range(3) for j in range(3)], dtype=float)
COSTS = np.random.default_rng(0).integers(-9, 9, (9, 2)).astype(float)
BUDGET = LabelConstraint(np.tile([0.0, 1.0], (9, 1)), 4.0)
CLASSES = [
    DecisionTrees(2, depth=2, thresholds=1),
    DecisionTrees(2, depth=2, max_features=1, thresholds=1),
    DecisionTrees(2, depth=4, thresholds=1),
    RuleLists(2, 2, thresholds=1),
    MonotoneRules(2),
]


def sent(oracle: Any) -> Any:
    """Return what another process gets."""
    return pickle.loads(pickle.dumps(oracle))  # noqa: S301 - our own bytes


def same(oracle: milpcb.oracles.Oracle, other: milpcb.oracles.Oracle) -> None:
    """Fail unless two oracles are alike, and answer alike."""
    assert type(other) is type(oracle)
    assert repr(other) == repr(oracle)
    assert other.calls == oracle.calls
    assert other.capabilities == oracle.capabilities
    assert other.value(COSTS) == oracle.value(COSTS)
    assert (other.profile(COSTS, 4) == oracle.profile(COSTS, 4)).all()
    assert (other.minimise(COSTS).policy.predict(CONTEXTS) == oracle.minimise(COSTS).policy.predict(CONTEXTS)).all()


@pytest.mark.parametrize("kind", ["search", "audited", "milp"])
@pytest.mark.parametrize("policies", CLASSES, ids=str)
def test_an_oracle_that_has_answered_can_be_pickled(policies, kind):
    """Also with a solver's model open, and under side constraints where the class holds them."""
    opened = policies.on(CONTEXTS)
    for constraints in ((), (BUDGET,)):
        if constraints and kind in {"search", "audited"} and "constraints" not in opened.capabilities:
            continue
        oracle = open_oracle(policies, CONTEXTS, kind, constraints=constraints)
        oracle.value(COSTS)
        if "action_weights" in oracle.capabilities:
            oracle.action_weights(COSTS, 1, 0.5)
        same(oracle, sent(oracle))


def test_a_list_of_all_policies_can_be_pickled():
    """Kind "enumeration" lists them again."""
    oracle = open_oracle(ThresholdRules(2), CONTEXTS, "enumeration", constraints=[BUDGET])
    same(oracle, sent(oracle))


def test_a_copy_is_an_oracle_of_its_own():
    """Queries to a copy are not counted by the original, and a closed oracle stays closed."""
    oracle = open_oracle(CLASSES[0], CONTEXTS, "search", constraints=[BUDGET])
    other = deepcopy(oracle)
    other.value(COSTS)
    assert (oracle.calls, other.calls) == (0, 1)
    oracle.close()
    with pytest.raises(InputError, match="was closed"):
        sent(oracle).value(COSTS)


def test_an_oracle_of_a_class_that_was_opened_before_can_be_pickled():
    """Where the class is known only as what was opened, that is pickled."""
    same(oracle := open_oracle(CLASSES[0].on(CONTEXTS), CONTEXTS, "milp"), sent(oracle))


def test_names_of_a_data_frame_are_kept():
    """A policy of an oracle that was opened on a data frame still reads its columns by name."""
    frame = pytest.importorskip("polars").DataFrame({"age": CONTEXTS[:, 0], "dose": CONTEXTS[:, 1]})
    here = open_oracle(ThresholdRules(2), frame, "search")
    policy = sent(here).minimise(COSTS).policy
    assert "x0" not in str(policy)
    assert policy.predict(frame).tolist() == here.minimise(COSTS).policy.predict(CONTEXTS).tolist()


def test_an_oracle_whose_contexts_arrive_can_be_pickled():
    """Its contexts, its constraints and the number of its queries are kept."""
    policies = ThresholdRules(2, thresholds=[[0.5, 1.5], [0.5, 1.5]])
    growing = GrowingOracle(policies, CONTEXTS, constrained=True)
    growing.hold([BUDGET])
    value = open_oracle(policies, CONTEXTS, "search", constraints=[BUDGET]).value(COSTS)
    assert growing.value(COSTS) == value
    other = sent(growing)
    assert (other.calls, other.n_contexts, other.log_union) == (growing.calls, 9, growing.log_union)
    assert other.value(COSTS) == value


def test_contexts_that_arrive_at_a_copy_do_not_arrive_at_the_original():
    """A shallow copy is an oracle of its own too: rows that one of the two gives are none of the other's."""
    growing = GrowingOracle(ThresholdRules(2, thresholds=[[0.5, 1.5], [0.5, 1.5]]), CONTEXTS[:2])
    other = copy(growing)
    assert other.extend(CONTEXTS).tolist() == list(range(9))
    assert growing.extend(CONTEXTS[[8]]).tolist() == [2]
    assert growing.contexts.tolist() == CONTEXTS[[0, 1, 8]].tolist()
    assert other.contexts.tolist() == CONTEXTS.tolist()
