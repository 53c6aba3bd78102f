"""Names that programs outside this repository call: each is there, and gives what its comment in the READMEs says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import milpcb
from milpcb import FinitePool, LabelConstraint, open_oracle
from milpcb.errors import InputError
from milpcb.estimators import LoggedPolicyTree, OptimalPolicyTree
from milpcb.learners import BistroPlus, ContextualFTPL, Exp4, FixedShare, Learner
from policies import DecisionTrees, FiniteClass, LinearRules, ThresholdRules, from_json

RNG = np.random.default_rng(0)
X, COSTS = RNG.integers(0, 2, (30, 4)).astype(float), RNG.integers(0, 5, (30, 3)).astype(float)
TREES = DecisionTrees(n_actions=3, depth=2)
AGES = DecisionTrees(2, depth=1, thresholds=[[45]], feature_names=["age"], action_names=["call", "write"])
FEATURES = RNG.normal(size=(300, 3))
DONE = RNG.integers(0, 2, 300)
EARNED = RNG.normal(size=300) + ((FEATURES[:, 0] > 0) == DONE)


def played(learner: Learner, rounds: int = 20) -> Learner:
    """Play the likeliest action, whose cost is 1."""
    for row in range(rounds):
        q = learner.act(row)
        learner.learn(row, int(q.argmax()), 1.0, float(q.max()))
    return learner


@pytest.mark.parametrize("kind", ["milp", "search", "enumeration", "audited"])
def test_an_oracle(kind: str) -> None:
    """Answers, profiles, near-best policies and an explanation; action weights by kinds that sum."""
    oracle = open_oracle(TREES, X, kind=kind, constraints=())
    answer = oracle.minimise(COSTS)
    assert answer.lower == answer.value == answer.upper == oracle.value(COSTS)
    assert (answer.stop, answer.seconds >= 0, answer.policy.predict(X).shape) == ("optimal", True, (30,))
    assert oracle.profile(COSTS, row=3).min() == answer.value
    if kind in ("search", "enumeration"):
        assert oracle.action_weights(COSTS, 3, 0.1).sum() == pytest.approx(1.0)
    near = oracle.near_best(COSTS, 2)
    assert near.count == len(list(near.policies()))
    assert (near.agreed.shape, near.actions.shape, near.exact) == ((30,), (30, 3), True)
    assert near.features is not None
    assert oracle.explain()


def test_a_learner() -> None:
    """BISTRO+ with every noise, one draw, certificates of all kinds; the others with their options."""
    oracle, pool = open_oracle(TREES, X, kind="search"), FinitePool(X, weights=None)
    for noise in ("paper", "centred", "half", "coordinate", "signed", "bistro"):
        fresh = played(BistroPlus(oracle, pool, horizon=50, seed=0, scale=None, noise=noise, queries="profile"))
        assert np.isfinite(
            [fresh.guarantee(), fresh.certificate(), fresh.certificate_error(), fresh.oracle_error()]
        ).all()
    once = BistroPlus(oracle, pool, horizon=50, noise="half", future="once", leftover="leader", redraw=10)
    played(once)
    rule = once.rule()
    assert (rule.number >= 1, rule.exploration < 1, once.queries > 0, once.rule_changes >= 0) == (True,) * 4
    assert once.certificate(changes=3) >= once.certificate()
    assert once.certificate(confidence=0.95, changes=3) <= 20.0
    assert str(once.changes(confidence=0.95))
    for learner in (
        Exp4(oracle, horizon=None, rate="certified"),
        ContextualFTPL(oracle, horizon=None, seed=0, epsilon="adaptive"),
        FixedShare(oracle, horizon=None),
    ):
        assert played(learner).policy() is not None
    assert np.isfinite(Exp4(oracle, horizon=9, rate="certified", estimates="optimistic").bound(confidence=0.95))
    assert open_oracle(TREES, X, kind="search", constraints=[LabelConstraint(np.ones((30, 3)), upper=30)])


def test_a_bandit(tmp_path: Path) -> None:
    """Decisions, late costs, files, people, and exports of its policy; a table is decided as a whole."""
    bandit = milpcb.Bandit(AGES, learner="exp4", seed=0, horizon=None, contexts=None)
    first, *others = bandit.act_all(pd.DataFrame({"age": [30, 50, 60]}), available=[["call"], ["write"], ["call"]])
    assert [first.action, *(each.action for each in others)] == ["call", "write", "call"]
    assert first.probability == 1.0
    assert len(bandit.act_all(iter([[30], [50]]))) == 2
    for wrong in ([[1], ["x"]], 5, "age", {"age": [1]}):
        with pytest.raises(InputError):
            bandit.act_all(wrong)
    assert repr(bandit).endswith("5 open>")
    bandit.learn(first, cost=0.3)
    bandit.save(tmp_path / "bandit.json")
    bandit = milpcb.Bandit.load(tmp_path / "bandit.json")
    decision = bandit.act([1])
    assert str(decision.why())
    bandit.override(decision, {"call": "write", "write": "call"}[decision.action], by="me", reason="known better")
    bandit.learn(decision, cost=0.2)
    bandit.give_up(others[0])
    bandit.add_action("visit")
    assert len(bandit.act([2]).probabilities) == 3
    assert bandit.statement()
    policy = bandit.policy()
    assert from_json(policy.to_json()) == policy
    assert all((policy.to_python(), policy.to_sql(), policy.predict_names([[30.0]])))
    with pytest.raises(InputError, match="one context at a time"):
        milpcb.Bandit(AGES, "epsilon_greedy").act_all([[20], [50]])


def test_a_log() -> None:
    """Scores, values with ends, inference, a trial's end, and estimators."""
    log = milpcb.offline.read_log(FEATURES, DONE, reward=EARNED, propensity="randomised")
    scores = milpcb.offline.scores(log, method="dr")
    assert scores.table.shape == (300, len(scores.actions))
    value = milpcb.offline.evaluate(scores, DONE, interval="normal").value
    assert value.lower < value.estimate < value.upper
    assert milpcb.offline.evaluate(scores, np.full((300, 2), 0.5)).value.known
    found = milpcb.offline.inference(DecisionTrees(2, depth=1), FEATURES, scores, draws=100)
    assert found.lower <= found.gain
    assert 0 <= found.p_value <= 1
    costs = milpcb.offline.read_log(FEATURES, DONE, cost=DONE.astype(float), propensity=[0.5, 0.5])
    stumps = DecisionTrees(2, depth=1, thresholds=[[0]] * 3)
    trial = milpcb.offline.settled(costs, stumps, eps=0.5, confidence=0.95)
    assert (trial.settled, trial.refuted_eps <= 0.5, trial.policy is not None) == (True, True, True)
    tree = OptimalPolicyTree(max_depth=2, thresholds="all", min_samples_leaf=1, constraints=(), maximise=False)
    assert tree.fit(X, COSTS).score(X, COSTS) <= 0
    logged = LoggedPolicyTree(max_depth=2, method="dr").fit(FEATURES, DONE, reward=EARNED, propensity=np.full(300, 0.5))
    assert set(logged.predict(FEATURES)) <= {0, 1}


def test_classes() -> None:
    """Constructors as the READMEs write them."""
    assert milpcb.policies.DecisionTrees is DecisionTrees
    assert TREES.log_size(X) > 0
    assert ThresholdRules(n_actions=2, max_cuts=1, thresholds=3).log_size(X) > 0
    assert FiniteClass([[0] * 30, [1] * 30], n_actions=2).log_size(X) == pytest.approx(np.log(2))
    assert open_oracle(LinearRules(2, max_features=5), X, kind="search").value(COSTS[:, :2]) >= 0
    deep = DecisionTrees(2, depth=3, thresholds="all")
    assert open_oracle(deep, FEATURES[:30], kind="search").value(COSTS[:, :2]) >= 0
