"""A bandit with a baseline: the promise through late costs, files and crashes; what it takes, and what it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milpcb import Bandit, Decision, never, share_at_most
from milpcb.errors import InputError
from milpcb.learners import Conservative
from policies import DecisionTrees
from tests.inside import learner_of, open_decisions, state_of

NAMES = {"feature_names": ["age", "region"], "action_names": ["call", "write", "wait"]}
TREES = DecisionTrees(3, depth=1, thresholds=[[30, 60], []], **NAMES)
NUMBERS = DecisionTrees(2, depth=1, thresholds=[[30.0], [0.5]])


def cost(person: dict[str, Any], action: str | int, rng: Any) -> float:
    """The world: the young should be written to, the others left alone."""
    return float(rng.random() < (0.2 if action == ("write" if person["age"] <= 30 else "wait") else 0.6))


def serve(bandit: Bandit, rounds: int, seed: int) -> tuple[float, list[Decision]]:
    """Decide and learn, up to eight decisions late; return what was paid, and what is still open."""
    rng, late, paid = np.random.default_rng(seed), [], 0.0
    for _ in range(rounds):
        person = {"age": int(rng.integers(18, 80)), "region": str(rng.choice(["north", "south"]))}
        decision = bandit.act(person)
        late.append((decision, cost(person, decision.action, rng)))
        while len(late) > 8:
            known, due = late.pop(int(rng.integers(len(late))))
            bandit.learn(known, cost=due)
            paid += due
    return paid, [known for known, _ in late]


def today() -> Any:
    """Return a policy that was found elsewhere, with cut points of its own."""
    bandit = Bandit(DecisionTrees(3, depth=1, thresholds=[[45], []], **NAMES), seed=1, values={"region": ["north"]})
    for age, action in [(20, "call"), (70, "wait")] * 60:
        decision = bandit.act({"age": age, "region": "north"})
        bandit.learn(decision, cost=float(decision.action != action))
    return bandit.policy()


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("baseline", ["call", today()], ids=["an action", "a policy"])
def test_a_saved_bandit_keeps_its_promise_and_goes_on_alike(baseline: Any, tmp_path: Path) -> None:
    """With decisions open when it is saved; the baseline reads contexts as they come, not by the class's cut points."""
    bandit = Bandit(TREES, seed=2, values={"region": ["north"]}, baseline=baseline, loss=0.2, confidence=0.9)
    serve(bandit, 600, seed=3)
    bandit.save(tmp_path / "b.json")
    again = Bandit.load(tmp_path / "b.json")
    assert state_of(again)["book"]["open"] == state_of(bandit)["book"]["open"]
    assert serve(bandit, 200, seed=4)[0] == serve(again, 200, seed=4)[0]
    learner = learner_of(again)
    assert isinstance(learner, Conservative)
    assert learner.played == 784
    assert 0 < learner.rounds_of_baseline < 800
    assert learner.ledger.cost <= 1.2 * learner.floor + 1


def test_what_it_plays_alone_is_the_baseline_at_the_context() -> None:
    """At the beginning nothing can be risked: each decision is that of the baseline's own cut point."""
    bandit = Bandit(TREES, seed=2, values={"region": ["north"]}, baseline=today())
    for age in (18, 44, 45, 46, 59, 79):
        decision = bandit.act({"age": age, "region": "north"})
        assert (decision.action, decision.probability) == ("call" if age <= 45 else "wait", 1.0)


@pytest.mark.parametrize("contexts", [None, [[20, "north"], [50, "south"], [70, "north"]]], ids=["arriving", "known"])
def test_the_learner_keeps_constraints_and_the_promise(contexts: Any) -> None:
    """A budget of no calls, where calls are the best: only the baseline calls, and all it does is within the loss."""
    limits = [share_at_most("wait", 0.0), never("write", "age > 60")]
    options = {"values": {"region": ["north", "south"]}, "contexts": contexts, "constraints": limits}
    bandit = Bandit(TREES, seed=2, baseline="call", loss=0.3, **options)
    draws, played = np.random.default_rng(3), []
    for _ in range(800):
        age, region = [(20, "north"), (50, "south"), (70, "north")][draws.integers(3)]
        decision = bandit.act([age, region])
        bandit.learn(decision, cost=cost({"age": age}, decision.action, draws))
        played.append((age, decision.action))
    assert {action for _, action in played} == {"call", "write"}
    assert (70, "write") not in played
    learner = learner_of(bandit)
    assert 0 < learner.rounds_of_baseline < 800
    assert learner.ledger.cost <= 1.3 * learner.floor + 1
    assert {"call", "write"} >= set(bandit.policy().predict_names([[20, "north"], [50, "south"], [70, "north"]]))


def test_a_guard_rail_that_the_baseline_breaks_is_noticed() -> None:
    """At the decision that it forbids; no decision is made."""
    bandit = Bandit(TREES, values={"region": ["north"]}, baseline="call", constraints=never("call", "age > 30"))
    bandit.learn(bandit.act([20, "north"]), cost=0.5)
    with pytest.raises(InputError, match="a guard-rail forbids 'call' for this context, and the baseline plays it"):
        bandit.act([50, "north"])
    assert len(open_decisions(bandit)) == 0
    bandit.learn(bandit.act([20, "north"]), cost=0.5)
