"""Actions that are not always there or come later, and a log to begin with; what is certain stays so."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import milpcb
from milpcb import Bandit, rng
from milpcb.offline import read_log
from milpcb.oracles import open_oracle
from policies import DecisionTrees, FiniteClass
from tests.inside import learner_of, open_decisions
from tests.refused import refused

LABELINGS = np.array([[0, 0], [1, 1], [2, 2], [0, 2], [2, 1]])
CONTEXTS = [[0.0], [1.0]]
NUMBERS = ["0", "1", "2"]
NAMED = DecisionTrees(3, depth=1, thresholds=[[0.5]], action_names=["a", "b", "c"])
UNNAMED = DecisionTrees(2, depth=1, thresholds=[[0.5]])


def bandit(learner: str = "exp4", **options: Any) -> Bandit:
    """Return a bandit over five labelings of two contexts."""
    return Bandit(FiniteClass(LABELINGS, 3), learner, contexts=CONTEXTS, oracle="enumeration", **options)


def instead(action: int, available: list[int]) -> int:
    """Return what is played for an action, by the definition."""
    return action if action in available else min(available)


def draws(monkeypatch: pytest.MonkeyPatch, action: int) -> None:
    """Make the next draws end in one action."""
    monkeypatch.setattr(rng, "draw_action", lambda _q, _generator: action)


@pytest.mark.parametrize("available", [[0, 2], [1, 2], [2], [0, 1, 2]], ids=str)
def test_estimates_are_those_of_the_costs_with_replacement(
    available: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By enumeration of the draws: the mean of what each policy is charged is what its replacement costs."""
    costs, means, chances = np.array([0.2, 0.9, 0.6]), np.zeros(3), np.zeros(3)
    for drawn in range(3):
        one = bandit()
        for action, paid in [(0, 0.3), (1, 0.8), (2, 0.1)]:
            draws(monkeypatch, action)
            one.learn(one.act([1.0]), cost=paid)
        before = learner_of(one).ledger.totals(2, 3)
        q = learner_of(one).act(1)
        learner_of(one).give_up()
        draws(monkeypatch, drawn)
        decision = one.act([1.0], available=available)
        played = int(decision.action)
        assert played == instead(drawn, available)
        assert decision.probabilities[played] == decision.probability
        one.learn(decision, cost=float(costs[played]))
        means += q[drawn] * (learner_of(one).ledger.totals(2, 3) - before)[1]
        chances[played] += q[drawn]
    assert means == pytest.approx([costs[instead(action, available)] for action in range(3)])
    assert chances == pytest.approx(decision.probabilities)
    assert not chances[[action for action in range(3) if action not in available]].any()


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        ("exp4", {"estimates": "optimistic"}),
        ("ftpl", {"epsilon": "adaptive"}),
        ("epsilon_greedy", {}),
        ("bistro_plus", {"horizon": 400, "queries": "profile", "noise": "half"}),
        ("uniform", {}),
        ("exp4", {"baseline": 1, "loss": 0.5}),
    ],
)
def test_every_learner_states_what_holds_of_the_policies_with_replacement(
    learner: str, options: dict[str, Any]
) -> None:
    """Regret against them stays below the certificate with confidence, and nothing is played that is not there."""
    one, random = bandit(learner, **options), np.random.default_rng(5)
    totals, paid = np.zeros(len(LABELINGS)), 0.0
    for t in range(400):
        row, available = int(random.integers(2)), sorted(random.permutation(3)[: random.integers(1, 4)].tolist())
        costs = (random.random(3) < [[0.7, 0.2, 0.5], [0.6, 0.7, 0.2]][row]).astype(float)
        decision = one.act([float(row)], available=[NUMBERS[action] for action in available])
        assert int(decision.action) in available
        assert max(decision.probabilities) <= 1
        one.learn(decision, cost=float(costs[int(decision.action)]))
        paid += costs[int(decision.action)]
        totals += [costs[instead(label, available)] for label in LABELINGS[:, row]]
        if t % 50 == 49 and learner != "uniform":
            assert paid - totals.min() <= one.certificate(confidence=0.99)


@pytest.mark.parametrize(
    "listed", [["c", "a"], ("a", "c"), {"c", "a"}, ["a", "c", "a"]], ids=["list", "tuple", "set", "twice"]
)
def test_the_actions_of_a_list_are_available(listed: Any) -> None:
    """By name, in any order; the other one has no chance."""
    law = Bandit(NAMED).act([0], available=listed).probabilities
    assert [chance > 0 for chance in law] == [True, False, True]
    assert Bandit(UNNAMED).act([0], available=[1, 0]).probabilities == (0.5, 0.5)


@pytest.mark.parametrize(
    "mask",
    [
        *([True, False, True], (True, False, True), np.array([True, False, True]), {"c": True, "b": False, "a": True}),
        *(pd.Series({"a": True, "c": True, "b": False}), {"a": np.True_, "b": np.False_, "c": np.True_}),
    ],
    ids=str,
)
def test_a_mask_leaves_the_actions_where_it_is_true(mask: Any) -> None:
    """In the order of the class, or by name in any order."""
    law = Bandit(NAMED).act([0], available=mask).probabilities
    assert [chance > 0 for chance in law] == [True, False, True]


@pytest.mark.parametrize(
    "each",
    [
        [["a", "b"], ["c"]],
        [[True, True, False], {"c"}],
        [{"a": True, "b": True, "c": False}, np.array([False, False, True])],
        np.array([[True, True, False], [False, False, True]]),
        pd.DataFrame([[False, True, True], [True, False, False]], columns=["c", "a", "b"]),
        pl.DataFrame({"c": [False, True], "b": [True, False], "a": [True, False]}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_each_row_may_have_actions_of_its_own(each: Any) -> None:
    """The first may get a or b, the second c only; one mask is for all rows, also where there are as many actions."""
    laws = [decision.probabilities for decision in Bandit(NAMED).act_all([[0.0], [1.0]], available=each)]
    assert [[chance > 0 for chance in law] for law in laws] == [[True, True, False], [False, False, True]]
    same = Bandit(NAMED).act_all([[0.0], [1.0], [1.0]], available=[False, True, True])
    assert [decision.probabilities[0] for decision in same] == [0.0] * 3


def test_a_table_is_decided_as_its_rows_one_by_one_or_not_at_all() -> None:
    """With the same draws; a row that is refused, or past the horizon, leaves nothing open and all laws as before."""
    rules = milpcb.share_at_most("a", 0.5)
    one, many, asked = (Bandit(NAMED, seed=3, horizon=3, constraints=rules) for _ in range(3))
    rows, available = [[0.0], [1.0], [0.0]], [["a", "b"], None, ["c"]]
    for wrong in ([["a", "b"], None, ["d"]], [["a"], None], [["a"], None, []]):
        refused(lambda wrong=wrong: asked.act_all(rows, available=wrong))
    refused(lambda: asked.act_all([[0.0], [1.0], ["x"]]))
    refused(lambda: asked.act_all([*rows, [0.0]]), "horizon")
    assert not open_decisions(asked)
    singly = [one.act(row, available=own) for row, own in zip(rows, available, strict=True)]
    found = many.act_all(rows, available=available)
    assert [(each.action, each.probabilities) for each in found] == [(e.action, e.probabilities) for e in singly]
    laws = [each.probabilities for each in asked.act_all(rows, available=available)]
    assert laws == [each.probabilities for each in singly]


@pytest.mark.parametrize("policies", [NAMED, UNNAMED])
@pytest.mark.parametrize(
    "available",
    [
        *([True], {"a": True}, [True, "a", "b"], [True, 1], pd.DataFrame({"a": [True], "b": [False]}), [["a"], ["b"]]),
        *({"a": True, "b": True, "d": False}, [False] * 3, [False] * 2, [], np.array(1), "a", 3, [1.0, 0.0], [None]),
        *([1, True], {1: 1, 2: 0}),
    ],
    ids=str,
)
def test_other_than_a_list_of_actions_or_a_mask_is_refused(policies: Any, available: Any) -> None:
    """Masks of a part, and numbers where actions have names; no decision is made."""
    one = Bandit(policies)
    refused(lambda: one.act([0], available=available), "available must be a list of actions, one at least")
    assert not open_decisions(one)


NAMES = ["call", "write", "wait"]
PATTERNS = np.array([[0.0, 0.0], [1, 0], [0, 1], [1, 1]])
TREES = DecisionTrees(2, depth=1, thresholds=[[0.5], [0.5]], feature_names=["young", "member"], action_names=NAMES[:2])
COSTS = np.array([[0.5, 0.9, 0.1], [0.6, 0.4, 0.8], [0.5, 0.9, 0.1], [0.6, 0.4, 0.8]])  # (context, action)


class Plain:
    """A ledger beside a bandit: (context, action drawn, cost, probability, number of actions then) of each round."""

    def __init__(self, seed: int) -> None:
        self.rounds: list[tuple[int, int, float, float, int]] = []
        self.draws = np.random.default_rng(seed)

    def play(self, bandit: Bandit, rounds: int) -> None:
        """Decide, and learn a cost of the world."""
        for _ in range(rounds):
            row = int(self.draws.integers(4))
            made = bandit.act(PATTERNS[row])
            action = NAMES.index(str(made.action))
            cost = float(self.draws.random() < COSTS[row, action])
            bandit.learn(made, cost=cost)
            self.rounds.append((row, action, cost, made.probability, len(made.probabilities)))

    def certificate(self, n_actions: int) -> float:
        """Return what was paid, less the least total of a policy whose new actions stand for the first one."""
        totals, trees = 0.0, DecisionTrees(n_actions, depth=1, thresholds=[[0.5], [0.5]])
        policies: Any = open_oracle(trees, PATTERNS, kind="enumeration").labelings  # type: ignore[attr-defined]
        for row, action, cost, probability, known in self.rounds:
            played = np.where(policies[:, row] < known, policies[:, row], 0)
            totals = totals + (played == action) * (cost / probability)
        return sum(cost for _, _, cost, *_ in self.rounds) - float(np.min(totals))


# ------------------------------------------------------------------- a new action


@pytest.mark.parametrize("arrive", [True, False])
@pytest.mark.parametrize("estimates", ["unbiased", "optimistic"])
def test_certificates_are_against_the_larger_class(arrive: bool, estimates: str, tmp_path: Path) -> None:
    """By the definition, before and after, also from a file; the new action stood for the first one before."""
    options: dict[str, Any] = {} if arrive else {"contexts": PATTERNS}
    bandit, plain = Bandit(TREES, seed=1, estimates=estimates, horizon=10_000, **options), Plain(0)
    plain.play(bandit, 200)
    assert bandit.certificate() == pytest.approx(plain.certificate(2))
    bandit.add_action("wait")
    assert bandit.certificate() == pytest.approx(plain.certificate(3))
    assert (np.isnan(bandit.bound()), bandit.guarantee()) == (True, np.inf)
    plain.play(bandit, 500)
    bandit.save(tmp_path / "b.json")
    again = Bandit.load(tmp_path / "b.json")
    for one in (bandit, again):
        assert one.certificate() == pytest.approx(plain.certificate(3))
        assert one.policy().predict(PATTERNS).tolist() == [2, 1, 2, 1]
        assert np.isnan(one.bound())
    plain.play(again, 50)
    assert again.certificate() == pytest.approx(plain.certificate(3))


def test_a_new_action_is_tried_and_what_was_known_is_kept() -> None:
    """At first as often as the best one of a context; what is bad there stays so."""
    bandit, plain = Bandit(TREES, seed=1), Plain(0)
    plain.play(bandit, 600)
    before = bandit.act(PATTERNS[0]).probabilities
    bandit.add_action("wait")
    q = bandit.act(PATTERNS[0]).probabilities
    assert before[0] > 0.9
    assert q[2] > 0.3
    assert q[1] < 0.1


def test_a_baseline_keeps_its_floor() -> None:
    """The lower bound on the cost of the baseline, and the rounds that it played alone, are as before."""
    bandit, plain = Bandit(TREES, seed=1, baseline="call", loss=0.1), Plain(0)
    plain.play(bandit, 100)
    before: Any = learner_of(bandit)
    bandit.add_action("wait")
    after: Any = learner_of(bandit)
    assert (after.floor, after.rounds_of_baseline) == (before.floor, before.rounds_of_baseline)
    assert before.floor > 0 < before.rounds_of_baseline


@pytest.mark.parametrize(
    ("constraint", "forbidden"),
    [
        (milpcb.always("write", "young = 1"), [1, 3]),
        (milpcb.never("call", "young = 1"), []),
        (milpcb.share_at_most("call", 0.3), []),
        (milpcb.mean_at_most({"call": 2, "write": 1}, 1.2), []),
    ],
)
def test_constraints_treat_it_as_an_action_they_do_not_name(constraint: Any, forbidden: list[int]) -> None:
    """On the contexts of earlier decisions too: always forbids it, and of a budget it takes nothing."""
    bandit, plain = Bandit(TREES, seed=1, constraints=constraint), Plain(0)
    plain.play(bandit, 100)
    bandit.add_action("wait")
    for row in range(4):
        assert (bandit.act(PATTERNS[row]).probabilities[2] == 0) == (row in forbidden)
    plain.play(bandit, 400)
    labels = bandit.policy().predict(PATTERNS)
    assert [row for row in range(4) if labels[row] == 2] == [row for row in (0, 2) if row not in forbidden]


def test_actions_without_names_are_counted_on() -> None:
    """The next number, as a number or as a string."""
    bandit = Bandit(UNNAMED)
    bandit.add_action(2)
    bandit.add_action("3")
    assert bandit.act([0]).probabilities == (0.25,) * 4
    assert bandit.act([0], available=[1, 3]).probabilities == (0, 0.75, 0, 0.25)


# ------------------------------------------------------------------- a log


def logged(n: int = 400, **options: Any) -> tuple[Any, Plain]:
    """Return a log with known chances, actions in another order than the class, and the ledger of its rounds."""
    draws, plain = np.random.default_rng(3), Plain(3)
    rows, actions = draws.integers(4, size=n), (draws.random(n) < 0.7).astype(int)
    costs = (draws.random(n) < COSTS[rows, actions]).astype(float)
    plain.rounds = [
        (int(row), int(action), float(cost), (0.3, 0.7)[action], 2)
        for row, action, cost in zip(rows, actions, costs, strict=True)
    ]
    table = pl.DataFrame({"member": PATTERNS[rows, 1], "else": rows, "young": PATTERNS[rows, 0]})
    paid = {"reward": 1 - costs} if options.pop("rewards", False) else {"cost": costs}
    done = np.array(NAMES)[actions]
    return read_log(table, done, propensity=[0.7, 0.3], actions=["write", "call"], **paid), plain


@pytest.mark.parametrize("rewards", [False, True])
def test_a_bandit_begins_with_the_rounds_of_a_log(rewards: bool, tmp_path: Path) -> None:
    """Columns and actions by name; certificates are over its rounds and the decisions since, and files keep that."""
    log, plain = logged(rewards=rewards)
    bandit = Bandit.from_log(TREES, log, seed=1)
    assert bandit.certificate() == pytest.approx(plain.certificate(2))
    assert bandit.policy().predict(PATTERNS).tolist() == [0, 1, 0, 1]
    assert bandit.act(PATTERNS[0]).probabilities[0] > 0.7
    bandit.save(tmp_path / "b.json")
    bandit = Bandit.load(tmp_path / "b.json")
    plain.play(bandit, 100)
    assert bandit.certificate() == pytest.approx(plain.certificate(2))
    assert bandit.certificate() <= bandit.bound()
    assert bandit.guarantee() == np.inf


def test_contexts_of_a_log_enter_constraints() -> None:
    """The policy keeps the share on them."""
    log, _ = logged()
    bandit = Bandit.from_log(TREES, log, constraints=milpcb.share_at_most("call", 0.2))
    counts = np.bincount([row for row, *_ in logged()[1].rounds], minlength=4)
    assert counts[bandit.policy().predict(PATTERNS) == 0].sum() <= 0.2 * 400
    assert bandit.act(PATTERNS[0]).probabilities[0] < 1
