"""One decision at a time: the same play as the learner's own, late costs, names, files, threads and mistakes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from milpcb import Bandit, Decision, rng
from milpcb.core.files import sealed
from milpcb.errors import OracleInexact
from milpcb.estimators import LoggedPolicyTree
from milpcb.learners import Exp4
from milpcb.offline import LoggedRounds, evaluate, scores
from milpcb.oracles import open_oracle
from policies import DecisionTrees
from tests.inside import learner_of, open_decisions, state_of
from tests.refused import refused

BITS = np.array([[i >> j & 1 for j in range(3)] for i in range(8)], dtype=float)
CUTS = [[0.5]] * 3
TREES = DecisionTrees(
    3, 2, thresholds=CUTS, feature_names=["age", "visits", "member"], action_names=["call", "write", "wait"]
)
NUMBERED = DecisionTrees(3, 1, thresholds=CUTS)
OLD = sealed({"format": 2})


def cost_of(context: Any, action: int) -> float:
    """The world: the right action costs nothing."""
    return float(action != int(context[0] + context[2]))


def alike(first: Decision, second: Decision) -> bool:
    """Return whether two bandits decided alike; ids and seals are each one's own."""
    return replace(first, id="", seal="") == replace(second, id="", seal="")


# ------------------------------------------------------------------- play


@pytest.mark.parametrize("arrive", [False, True])
def test_it_plays_as_the_learner_on_the_known_pool(arrive: bool) -> None:
    """Whether contexts are given or arrive, once all were seen at the start."""
    bandit = Bandit(NUMBERED, seed=3, contexts=None if arrive else BITS)
    oracle = open_oracle(NUMBERED, BITS, kind="search")
    learner, actions, draws = Exp4(oracle), rng.child(3, "actions"), np.random.default_rng(0)
    for row in [*range(8), *draws.integers(8, size=300).tolist()]:
        decision, q = bandit.act(BITS[row]), learner.act(row)
        action = rng.draw_action(q, actions)
        assert (decision.action, decision.probability) == (action, float(q[action]))
        bandit.learn(decision, cost=cost_of(BITS[row], action))
        learner.learn(row, action, cost_of(BITS[row], action), float(q[action]))
    assert bandit.certificate() == pytest.approx(learner.certificate(), rel=1e-12)  # sums in another order
    assert bandit.certificate_error() == pytest.approx(learner.certificate_error(), rel=1e-12)
    assert (bandit.policy().predict(BITS) == learner.policy().predict(BITS)).all()


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("learner", ["epsilon_greedy", "epoch_greedy"])
def test_contexts_may_arrive_at_learners_that_train(learner: str, tmp_path: Path) -> None:
    """They play as on contexts known from the start; a saved one knows its policy on contexts that come later."""
    arriving, known = Bandit(NUMBERED, learner, seed=1), Bandit(NUMBERED, learner, seed=1, contexts=BITS)
    order = [0, 3, 0, 0, 5, 3, *np.random.default_rng(0).permutation(np.tile(BITS, (20, 1)).shape[0]).tolist()]
    for t, number in enumerate(order):
        context = BITS[number % 8]
        first, second = arriving.act(context), known.act(context)
        assert alike(first, second)
        for bandit, decision in ((arriving, first), (known, second)):
            bandit.learn(decision, cost=cost_of(context, int(decision.action)))
        if t in (0, 1, 5, 50):
            arriving.save(tmp_path / "bandit.json")
            arriving = Bandit.load(tmp_path / "bandit.json")
            again = Bandit.load(tmp_path / "bandit.json")
            assert state_of(again) == state_of(arriving)
    assert arriving.certificate() == pytest.approx(known.certificate(), rel=1e-12)


def test_contexts_between_the_same_cuts_are_one() -> None:
    """Memory grows with the patterns that the cuts tell apart: 8 of these, however many numbers come."""
    bandit, draws = Bandit(NUMBERED), np.random.default_rng(0)
    for _ in range(200):
        bandit.learn(bandit.act(draws.random(3)), cost=0.5)
    saved = state_of(bandit)
    assert len(saved["contexts"]) == 8
    assert len({(row, action) for _, row, action, *_ in saved["learner"]["ledger"][3]}) <= 8 * 3


# ------------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("options", "paid", "total"),
    [
        ({"reward_range": (-2, 8)}, lambda cost: {"reward": 8 - 10 * cost}, "earned"),
        ({"cost_range": (-100, 300)}, lambda cost: {"cost": 400 * cost - 100}, "cost"),
    ],
    ids=["rewards", "costs"],
)
def test_outcomes_have_a_unit_of_their_own(options: Any, paid: Any, total: str, tmp_path: Path) -> None:
    """The learner and the log see costs from 0 to 1, and it plays alike; statement and a saved file keep the unit."""
    plain, other = Bandit(NUMBERED, contexts=BITS), Bandit(NUMBERED, contexts=BITS, keep_log=True, **options)
    sums, costs = 0.0, []
    for t in range(100):
        first, second = plain.act(BITS[t % 8]), other.act(BITS[t % 8])
        assert alike(first, second)
        cost = cost_of(BITS[t % 8], int(first.action))
        plain.learn(first, cost=cost)
        other.learn(second, **paid(cost))
        sums += sum(paid(cost).values())
        costs.append(cost)
    assert plain.certificate() == pytest.approx(other.certificate())
    other.save(tmp_path / "other.json")
    for bandit in (other, Bandit.load(tmp_path / "other.json")):
        assert bandit.log().outcome.tolist() == costs
        assert f"100 decisions {total} {sums:,.0f} in all".replace(",", " ") in bandit.statement()


# ------------------------------------------------------------------- files


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("contexts", [None, BITS])
def test_a_saved_bandit_goes_on_as_if_nothing_had_happened(tmp_path: Path, contexts: Any) -> None:
    """With a decision open, in plain JSON."""
    bandit = Bandit(TREES if contexts is None else NUMBERED, seed=5, contexts=contexts, rate="adaptive", horizon=500)
    draws = np.random.default_rng(0)
    for _ in range(50):
        bandit.learn(bandit.act(BITS[draws.integers(8)]), cost=float(draws.integers(2)))
    waiting = bandit.act(BITS[2])
    bandit.save(tmp_path / "bandit.json")
    again = Bandit.load(tmp_path / "bandit.json")
    assert [path.name for path in tmp_path.iterdir()] == ["bandit.json"]
    for one in (bandit, again):
        one.learn(waiting, cost=1.0)
    for t in range(50):
        assert alike(bandit.act(BITS[t % 8]), again.act(BITS[t % 8]))
    first, second = state_of(bandit), state_of(again)
    assert first.pop("book").keys() == second.pop("book").keys()
    assert json.dumps(first) == json.dumps(second)


def test_what_is_no_saved_bandit_is_refused(tmp_path: Path) -> None:
    """Another file, an older one, none, a folder; and a class that the file does not describe."""
    path = tmp_path / "bandit.json"
    for content, reason in ((b"{}", "no file that Bandit.save wrote"), (b"[", "no file"), (OLD, "has format 2")):
        path.write_bytes(content)
        refused(lambda: Bandit.load(path), reason)
    refused(lambda: Bandit.load(tmp_path / "none.json"), "No such file")
    refused(lambda: Bandit(NUMBERED).save(tmp_path / "no" / "folder.json"), "cannot write")

    class Own(DecisionTrees):
        pass

    Bandit(Own(2, 1, thresholds=CUTS)).save(path)
    refused(lambda: Bandit.load(path), "Bandit.load(path, policies=...)")
    loaded = Bandit.load(path, Own(2, 1, thresholds=CUTS))
    assert loaded.act(BITS[0]).probabilities == (0.5, 0.5)
    assert list(tmp_path.iterdir()) == [path]  # a refusal writes nothing


# ------------------------------------------------------------------- threads and mistakes


@pytest.mark.parametrize("learner", ["exp4", "epsilon_greedy"])
def test_a_bandit_goes_on_after_its_learner_failed(learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle that stops early in the middle of learn costs this decision, and no other."""
    bandit = Bandit(TREES, learner, seed=0)
    inside = learner_of(bandit)
    first = bandit.act([0, 0, 0])
    with monkeypatch.context() as patched:
        patched.setattr(type(inside), "_learn", Mock(side_effect=OracleInexact("stopped")))
        with pytest.raises(OracleInexact):
            bandit.learn(first, cost=0.5)
    refused(lambda: bandit.learn(first, cost=0.5), "is not open")
    bandit.learn(bandit.act([1, 0, 0]), cost=0.5)
    assert inside.played == 1
    assert inside.state()["aside"] == len(open_decisions(bandit)) == 0


# ------------------------------------------------------------------- the log


def test_the_log_keeps_names_strings_and_what_is_missing(tmp_path: Path) -> None:
    """Scores by models, estimators, replay and another bandit read it; a saved bandit goes on with it."""
    values: dict[str, list[Any]] = {"region": ["east", "west", None]}
    cuts: list[list[float]] = [[], [0.5]]
    trees = DecisionTrees(2, 1, thresholds=cuts, feature_names=["region", "age"], action_names=["a", "b"])
    bandit = Bandit(trees, "uniform", seed=0, keep_log=True, values=values)
    shown = [(values["region"][t % 3], t % 7 / 7) for t in range(210)]
    for region, age in shown:
        decision = bandit.act({"age": age, "region": region})
        bandit.learn(decision, cost=float((decision.action == "b") != (region == "east")))
    bandit.save(tmp_path / "bandit.json")
    for log in (bandit.log(), Bandit.load(tmp_path / "bandit.json").log()):
        assert log.features.rows() == shown
        rule = bandit.policy()
        assert evaluate(scores(log, "dr"), rule, contexts=log.features).value.estimate == pytest.approx(0, abs=0.05)
        done = np.array(log.actions)[log.action]
        tree = LoggedPolicyTree(max_depth=1).fit(log.features, done, cost=log.outcome, propensity=log.propensity)
        assert str(tree.policy_) == str(rule) == "if region = east:\n    play b\nelse:\n    play a"
        assert str(Bandit.from_log(trees, log, values=values).policy()) == str(rule)
        assert LoggedRounds(log).feature_names == ("region = east", "region = west", "region is missing", "age")


@pytest.mark.parametrize("options", [{}, {"baseline": "a", "loss": 1.0}], ids=["alone", "around a baseline"])
def test_the_log_of_a_learner_that_hides_its_law_has_no_probabilities(options: dict[str, Any]) -> None:
    """A leader's q is 1 for the action drawn: weighed by it, its own choices would pass for everybody's."""
    trees = DecisionTrees(2, depth=1, thresholds=[[0.5]], action_names=["a", "b"])
    leader = {"epsilon": "adaptive", "noise_on": "columns"}
    bandit = Bandit(trees, "ftpl", seed=0, keep_log=True, **leader, **options)
    for t in range(300):
        decision = bandit.act([float(t % 2)])
        bandit.learn(decision, cost=0.25 if decision.action == "b" else 0.75)
    log = bandit.log()
    assert set(log.action) == {0, 1}
    assert log.propensity is None
