"""Constraints of a service: budgets, second outcomes, parity and guard-rails, on contexts known or arriving."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milpcb
from milpcb import Bandit, open_oracle
from milpcb.errors import InfeasibleError
from milpcb.plugins import registry
from policies import DecisionTrees
from tests.inside import state_of
from tests.refused import refused

NAMES = {"feature_names": ["age", "member"], "action_names": ["call", "write", "wait"]}
TREES = DecisionTrees(3, 2, thresholds=[[30, 60], [0.5]], **NAMES)
AGES = np.repeat((20, 45, 70), 2)
CELLS = [(age, member) for age in (20, 45, 70) for member in (0, 1)]  # one context of each pattern


def labelings() -> Any:
    """Return what every tree plays on the cells, (N, 6)."""
    return open_oracle(TREES, np.array(CELLS, dtype=float), kind="enumeration").labelings


def played(bandit: Bandit, rounds: int, seed: int = 0) -> list[Any]:
    """Play on random contexts, more often young ones; return context, decision and cost of each round."""
    draws, made = np.random.default_rng(seed), []
    for _ in range(rounds):
        age, member = CELLS[draws.choice(6, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])]
        decision = bandit.act({"age": age, "member": member, "price": 10 * member})
        cost = float(draws.random() < (0.1 if decision.action == "call" else 0.8))
        bandit.learn(decision, cost=cost)
        made.append(((age, member), decision, cost))
    return made


def best_allowed(made: list[Any], allowed: Any) -> float:
    """Return paid - least total estimate of the labelings (N, 6) for which ``allowed(labels, counts)`` holds."""
    totals, counts, paid = np.zeros((6, 3)), np.zeros(6), 0.0
    for context, decision, cost in made:
        cell = CELLS.index(context)
        counts[cell] += 1
        totals[cell, NAMES["action_names"].index(decision.action)] += cost / decision.probability
        paid += cost
    kept = [labels for labels in labelings() if allowed(labels, counts)]
    return paid - min(totals[np.arange(6), labels].sum() for labels in kept)


CASES = {
    "share": (milpcb.share_at_most("call", 0.4), lambda labels, n: n[labels == 0].sum() <= 0.4 * n.sum() + 1e-6),
    "mean": (
        milpcb.mean_at_most({"call": "price", "write": 2}, 3.0),
        lambda labels, n: (
            sum(n[i] * (10 * CELLS[i][1] if labels[i] == 0 else 2 * (labels[i] == 1)) for i in range(6))
            <= 3.0 * n.sum() + 1e-6
        ),
    ),
    "weighted share": (
        milpcb.share_at_most("call", 0.4, weights="age"),
        lambda labels, n: (n * AGES)[labels == 0].sum() <= 0.4 * (n * AGES).sum() + 1e-6,
    ),
    "weighted mean of a table": (
        milpcb.mean_at_most([2, 1, 0], 0.8, weights="age"),
        lambda labels, n: (n * AGES * (2 - labels)).sum() <= 0.8 * (n * AGES).sum() + 1e-6,
    ),
    "parity": (
        milpcb.parity("call", "member", 0.5),
        lambda labels, n: (
            abs(n[1::2][labels[1::2] == 0].sum() / n[1::2].sum() - n[::2][labels[::2] == 0].sum() / n[::2].sum())
            <= 0.5 + 1e-6
        ),
    ),
    "never": (milpcb.never("call", "age <= 30 and member = 1"), lambda labels, _n: labels[1] != 0),
    "always": (milpcb.always("wait", "age > 60"), lambda labels, _n: (labels[4:] == 2).all()),
}


@pytest.mark.parametrize("case", CASES)
def test_the_certificate_is_against_the_policies_that_keep_it_on_the_contexts_so_far(case: str) -> None:
    """By the definition, over the list of all trees; the policy is one of them."""
    constraint, allowed = CASES[case]
    bandit = Bandit(TREES, seed=3, constraints=constraint)
    made = played(bandit, 150)
    assert bandit.certificate() == pytest.approx(best_allowed(made, allowed), rel=1e-9)
    counts = np.array([sum(context == cell for context, *_ in made) for cell in CELLS])
    assert allowed(bandit.policy().predict(np.array(CELLS, dtype=float)), counts)
    assert (bandit.guarantee(), np.isnan(bandit.bound())) == (np.inf, True)


def test_a_guard_rail_holds_for_every_single_decision() -> None:
    """Also where people on both sides of its condition are alike to every tree: from the first of them on."""
    bandit = Bandit(TREES, seed=0, constraints=[milpcb.never("call", "age <= 17"), milpcb.always("wait", "vip = 1")])
    draws = np.random.default_rng(0)
    for _ in range(200):
        person = {
            "age": int(draws.integers(10, 90)),
            "member": int(draws.integers(2)),
            "vip": int(draws.integers(50) == 0),
        }
        q = bandit.act(person).probabilities
        assert not (person["age"] <= 17 and q[0] > 0)
        assert not (person["vip"] and q[:2] != (0.0, 0.0))


def test_a_share_is_kept_by_what_is_played_where_contexts_follow_one_law() -> None:
    """Calling is best for everybody, and is done for the share that is allowed, up to chance."""
    bandit = Bandit(TREES, seed=1, constraints=milpcb.share_at_most("call", 0.4))
    made = played(bandit, 600)
    share = np.mean([decision.action == "call" for _, decision, _ in made[100:]])
    assert 0.25 < share < 0.4 + 3 * np.sqrt(0.24 / 500)


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("case", CASES)
def test_a_saved_bandit_goes_on_under_its_constraints(case: str, tmp_path: Path) -> None:
    """With the same laws, also between two renewals."""
    bandit = Bandit(TREES, seed=3, constraints=CASES[case][0])
    played(bandit, 37)
    bandit.save(tmp_path / "bandit.json")
    again = Bandit.load(tmp_path / "bandit.json")
    laws = [[decision.probabilities for _, decision, _ in played(one, 40, seed=5)] for one in (bandit, again)]
    assert laws[0] == laws[1]
    assert bandit.certificate() == again.certificate()


def test_constraints_on_known_contexts_are_those_of_the_oracle() -> None:
    """By names, with a column that is no feature; then bound and guarantee are there, and files keep all of it."""
    people = pd.DataFrame(CELLS, columns=["age", "member"]).assign(price=[0, 10, 0, 10, 0, 10])
    rules = [milpcb.share_at_most("call", 0.34), milpcb.mean_at_most({"write": "price"}, 4)]
    rules += [milpcb.never("call", rows=[5]), milpcb.never("wait", rows=[0])]
    rules += [milpcb.mean_at_most(np.eye(6, 3), 0.5, weights=[1, 2, 3, 4, 5, 6])]
    bandit = Bandit(TREES, horizon=500, contexts=people, constraints=rules)
    played(bandit, 60)
    for one in (bandit, copy.deepcopy(bandit)):
        labels = one.policy().predict(np.array(CELLS, dtype=float))
        assert (labels == 0).sum() <= 2
        assert people["price"][labels == 1].sum() / 6 <= 4
        assert (labels[5] != 0, labels[0] != 2) == (True, True)
        assert (labels[:3] == range(3)) @ [1, 2, 3] <= 0.5 * 21
        assert one.guarantee() < 500
        assert one.certificate() <= one.bound()


def test_constraints_that_nobody_keeps_are_named_and_no_decision_is_made() -> None:
    """The bandit goes on with the next context."""
    rules = [milpcb.never("call", "age > 60"), milpcb.never("write", "age > 60"), milpcb.never("wait", "age > 60")]
    bandit = Bandit(TREES, constraints=rules)
    first = bandit.act([20, 0])
    with pytest.raises(InfeasibleError, match="never"):
        bandit.act([70, 0])
    bandit.learn(first, cost=1.0)
    bandit.learn(bandit.act([45, 0]), cost=1.0)
    assert bandit.certificate() >= 0


def test_a_decision_that_cannot_be_made_counts_in_no_constraint() -> None:
    """A bandit goes on as one that was never asked for it, but for constraints that are bound anew."""
    asked, other = (Bandit(TREES, seed=3, horizon=3, constraints=milpcb.share_at_most("call", 0.4)) for _ in range(2))
    for bandit in (asked, other):
        for person in ([20, 0], [45, 1], [70, 0]):
            bandit.learn(bandit.act(person), cost=1.0)
    refused(lambda: asked.act([20, 0]), "horizon")
    state, untouched = (state_of(bandit)["so_far"] for bandit in (asked, other))
    assert state == untouched | {"bound_at": 0}


class Scarce(type(milpcb.share_at_most("call", 0.4))):  # type: ignore[misc]
    """A constraint of a file of its own, with a line in the registry."""

    word = "scarce"


def test_a_registered_constraint_is_saved_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A constraint that is not registered cannot be saved; the page of a log has a line for each."""
    bandit = Bandit(TREES, seed=3, constraints=Scarce("call", 0.4))
    refused(lambda: bandit.save(tmp_path / "bandit.json"), "a Scarce cannot be saved")
    monkeypatch.setitem(registry.BUILTIN["constraint"], "scarce", f"{__name__}:Scarce")
    monkeypatch.setattr(registry, "entries", registry.BUILTIN.__getitem__)
    bandit.save(tmp_path / "bandit.json")
    assert Bandit.load(tmp_path / "bandit.json").act([20, 0]).action in NAMES["action_names"]
