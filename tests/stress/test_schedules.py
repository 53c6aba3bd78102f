"""A service's everyday life in random order, beside a plain ledger that everything certain is computed from anew.

With a guard-rail and a share, with a baseline, or free.
"""

import copy
import json
import pickle
import random
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from milpcb import Bandit, never, share_at_most
from milpcb.bandit.decisions import Book
from milpcb.bandit.rounds import DecisionRounds
from milpcb.errors import InputError, MilpcbError
from policies import DecisionTrees
from tests.inside import rounds_of
from tests.stress.schedules_ledger import (
    CUTS,
    LOSS,
    MEANS,
    NAMES,
    PATTERNS,
    SHARE,
    SURE,
    MadeDecision,
    PlainLedger,
    labelings,
)


class DayByDay:
    """One random schedule; ``run`` returns what went wrong, "" where nothing did."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng, self.world = random.Random(seed), np.random.default_rng(seed)  # noqa: S311 - not to hide anything
        self.path = folder / "schedule.json"
        self.ruled, self.promised = seed % 3 == 1, seed % 3 == 2
        names = {"feature_names": ["young", "member"], "action_names": NAMES[:2]}
        rules = [never("call", "vip = 1"), share_at_most("call", SHARE)] if self.ruled else []
        options: dict[str, Any] = {"baseline": "call", "loss": LOSS, "confidence": SURE} if self.promised else {}
        self.bandit = Bandit(
            DecisionTrees(2, 1, thresholds=CUTS, **names), seed=seed, constraints=rules, keep_log=True, **options
        )
        self.made: dict[str, MadeDecision] = {}  # of every history
        self.now, self.lost = PlainLedger(), dict[str, MadeDecision]()
        self.save()
        self.counts, self.wrong = Counter[str](), ""

    @property
    def book(self) -> Book:
        """The record of the bandit: what its learner drew stands nowhere else."""
        return rounds_of(self.bandit).book  # type: ignore[no-any-return]

    def run(self, steps: int) -> str:
        """Take so many steps; return what went wrong first."""
        weights = {
            self.act: 10,
            self.learn: 9,
            self.give_up: 1,
            self.give_up_old: 0.2,
            self.override: 1,
            self.add_action: 0.2,
            self.save: 1,
            self.crash: 0.8,
            self.copy: 0.4,
            self.hand_in_again: 0.7,
            self.forge: 0.7,
        }
        for _ in range(steps):
            (step,) = self.rng.choices(list(weights), weights=list(weights.values()))
            step()
            self.counts[step.__name__] += 1
            if self.rng.random() < 0.1:
                self.compare()
            if self.wrong:
                return self.wrong
        self.compare()
        return self.wrong

    def act(self) -> None:
        """Ask for a decision, at times among some actions; where there is a promise, hand in what was lost first."""
        if self.promised:
            for name in list(self.lost):
                self.end(name, give_up=self.rng.random() < 0.3)
        row, vip = self.rng.randrange(4), self.rng.random() < 0.1
        every = list(range(self.now.n_actions))
        offered = [action for action in every if self.rng.random() < 0.8] if self.rng.random() < 0.3 else every
        context = {"young": PATTERNS[row, 0], "member": PATTERNS[row, 1], "vip": int(vip)}
        costs = (self.world.random(4) < MEANS[row]).astype(float) * self.world.choice([0.5, 1.0])
        try:
            listed = None if offered == every and self.rng.random() < 0.5 else [NAMES[action] for action in offered]
            decision = self.bandit.act(context, available=listed)
        except InputError as error:
            if offered and not (self.ruled and vip and offered[0] == 0):
                self.wrong = f"no decision: {error}"
            return
        law = decision.probabilities
        forbidden = sum(law[action] for action in range(len(law)) if action not in offered)
        if forbidden or (self.ruled and vip and law[0] > 0) or decision.id in self.made or len(law) != len(every):
            self.wrong = f"{decision} where {offered} may be played"
        known = self.book.open[decision.id]
        made = MadeDecision(decision, row, vip, costs, offered, known.action, known.aside.q[known.action])
        self.made[decision.id] = self.now.open[decision.id] = made
        self.now.asked.append(made)

    def learn(self) -> None:
        """Hand in the cost of a decision that is open."""
        if self.now.open:
            self.end(self.rng.choice(list(self.now.open)), give_up=False)

    def give_up(self) -> None:
        """Give up one that is open."""
        if self.now.open:
            self.end(self.rng.choice(list(self.now.open)), give_up=True)

    def give_up_old(self) -> None:
        """Give up all that are open."""
        if self.bandit.give_up(older_than=timedelta(0)) != len(self.now.open):
            self.wrong = "not all that were open are given up"
        self.now.given_up += len(self.now.open)
        self.now.ended |= set(self.now.open)
        self.now.open = {}

    def override(self) -> None:
        """Have a person, who sees all costs, do something else than an open decision, or one that was lost, is."""
        known = [name for name in (*self.now.open, *self.lost) if name not in self.now.overridden]
        if not known:
            return
        made, lost = self.made[name := self.rng.choice(known)], name not in self.now.open
        action = self.rng.choice([a for a in range(self.now.n_actions) if a != made.action] or [made.action])
        if self.rng.random() < 0.5:  # the worst for the certificate
            action = max(range(self.now.n_actions), key=lambda each: (each != made.action, made.costs[each]))
        given = made.decision.to_json() if lost or self.rng.random() < 0.5 else name
        try:
            self.bandit.override(given, NAMES[action], by="AB", reason="she knows him")
        except MilpcbError as error:
            self.counts["refused"] += 1
            if not (lost and len(made.decision.probabilities) > self.now.n_actions):
                self.wrong = f"refused: {error}"
            return
        if lost:
            self.now.asked.append(self.lost.pop(name))
            self.now.open[name] = made
        self.now.overridden[name] = action

    def hand_in_again(self) -> None:
        """Hand in any decision of any history: one that was lost is taken, whole, and one that ended is refused."""
        if self.made:
            self.end(self.rng.choice([*list(self.made)[-20:], *self.lost]), give_up=self.rng.random() < 0.2)

    def forge(self) -> None:
        """Hand in a decision with something changed: it is refused."""
        if not self.made:
            return
        decision, other = (self.made[self.rng.choice(list(self.made))].decision for _ in range(2))
        changes: list[dict[str, Any]] = [
            {"action": "write" if decision.action == "call" else "call"},
            {"probability": decision.probability / 2},
            {"probabilities": (*decision.probabilities[::-1], 0.0)},
            {"context": (*decision.context[:1], 7.0)},
            {"seal": "0" * 64},
            {"id": other.id if other.id != decision.id else f"{other.id}0"},
        ]
        try:
            self.bandit.learn(replace(decision, **self.rng.choice(changes)), cost=0.5)
        except MilpcbError as error:
            self.wrong = f"refused: {error}" if "\n" in str(error) else ""
        else:
            self.wrong = f"a forged {decision} was taken"

    def end(self, name: str, *, give_up: bool) -> None:
        """Learn a decision, or give it up; note whether it is taken as it should be."""
        made, known = self.made[name], name in self.now.open
        decision = made.decision
        way = self.rng.randrange(4)
        given = (name, decision, decision.to_json(), json.loads(decision.to_json()))[way]
        whole = way > 0 and name not in self.now.ended and len(decision.probabilities) <= self.now.n_actions
        try:
            if give_up:
                self.bandit.give_up(given)
            else:
                self.bandit.learn(given, cost=self.cost(made, False))
        except MilpcbError as error:
            self.counts["refused"] += 1
            if known or whole or "\n" in str(error):
                self.wrong = f"refused: {error}"
            return
        if not (known or whole):
            self.wrong = f"{given} was taken"
        if not known:
            self.now.asked.append(made)
            self.counts["lost ones taken"] += 1
        self.now.open.pop(name, None)
        self.lost.pop(name, None)
        self.now.ended.add(name)
        self.now.given_up += give_up
        if not give_up and name in self.now.overridden:
            self.now.paid_by_others += self.cost(made, False)
            self.now.others.append(made)
        elif not give_up:
            drawn = (made.drawn, made.q) if known else (made.action, decision.probability)
            self.now.learnt.append((made, self.now.n_actions, *drawn))

    def add_action(self) -> None:
        """Add an action, up to four."""
        if self.now.n_actions < len(NAMES):
            self.bandit.add_action(NAMES[self.now.n_actions])
            self.now.n_actions += 1

    def save(self) -> None:
        """Save, and keep what the ledger knows."""
        self.bandit.save(self.path)
        self.saved = self.now.copied()

    def crash(self) -> None:
        """Go on from the file; what is not in it is lost until it is handed in."""
        self.compare()
        self.bandit, before = Bandit.load(self.path), self.now
        self.now = self.saved.copied()
        mine = {made.decision.id for made in self.now.asked}
        self.lost = {made.decision.id: made for made in before.asked if made.decision.id not in mine}
        while self.promised and self.now.n_actions < before.n_actions:
            self.add_action()

    def copy(self) -> None:
        """Go on with a copy."""
        pickled = pickle.dumps(self.bandit)
        self.bandit = copy.deepcopy(self.bandit) if self.rng.random() < 0.5 else pickle.loads(pickled)  # noqa: S301 - ours

    def compare(self) -> None:
        """Compare all that is certain with the ledger."""
        now = self.now
        if (set(self.book.open), self.book.given_up) != (set(now.open), now.given_up):
            self.wrong = "other decisions are open, or given up, than in the ledger"
        overrides = [(each.decision, each.instead) for each in self.bandit.overrides()]
        if overrides != [(name, NAMES[action]) for name, action in now.overridden.items()]:
            self.wrong = "others were overridden than in the ledger"
        if not now.learnt:
            return
        estimated, kept = now.estimated(), now.allowed() if self.ruled else slice(None)
        certificate, right = self.bandit.certificate(), now.paid - estimated[kept].min()
        if not self.promised and abs(certificate - right) > 1e-9 * max(1.0, now.paid):
            self.wrong = f"certificate {certificate}, by the ledger {right}"
        labels = self.bandit.policy().predict(PATTERNS)
        if self.ruled and not (labelings(now.n_actions)[kept] == labels).all(axis=1).any():
            self.wrong = f"policy() plays {labels}, which breaks a constraint"
        regret = now.paid - now.true()[kept].min()
        if regret > self.bandit.certificate(confidence=SURE):
            self.wrong = f"regret {regret} is above the certificate with confidence"
        if self.promised:
            paid, usual = (sum(self.cost(made, usual) for made in now.asked) for usual in (False, True))
            if paid > (1 + LOSS) * usual + self.now.changed() + 1e-9:
                self.wrong = f"{paid} was paid, and the baseline would have paid {usual}"
        self.compare_log()
        self.counts["compared"] += 1

    def compare_log(self) -> None:
        """Compare the lines of the log with the decisions learnt: context, action, cost and the law of each."""
        learnt = [made for made, *_ in self.now.learnt]
        if {made.action for made in learnt} != set(range(self.now.n_actions)):
            return  # there is no log of an action that was never taken
        log = self.bandit.log()
        lines = zip(log.features.rows(), log.action, log.outcome, log.propensity, strict=True)
        found = [(features, log.actions[action], cost, tuple(law)) for features, action, cost, law in lines]
        laws = [(made.decision.probabilities + (0.0,) * 4)[: len(log.actions)] for made in learnt]
        expected = [
            (tuple(PATTERNS[made.row]), made.decision.action, made.costs[made.action], law)
            for made, law in zip(learnt, laws, strict=True)
        ]
        if sorted(found) != sorted(expected):
            self.wrong = "the log credits a cost to another decision"

    def cost(self, made: MadeDecision, usual: bool) -> float:
        """Return what a decision cost, or what the baseline, calling or what replaces it, would have."""
        played = self.now.overridden.get(made.decision.id, made.action)
        action = played if not usual else 0 if 0 in made.offered else made.offered[0]
        return float(made.costs[action])


def try_schedules(count: int, seed: int, folder: Path, steps: int = 60) -> tuple[list[str], Counter[str]]:
    """Return what went wrong in so many schedules, and how often what happened."""
    wrong, counts = [], Counter[str]()
    for number in range(seed, seed + count):
        with sessions(number):
            schedule = DayByDay(number, folder)
            if problem := schedule.run(steps):
                wrong.append(f"schedule {number}: {problem}")
        counts += schedule.counts
    return wrong, counts


def sessions(seed: int) -> AbstractContextManager[Any]:
    """Name sessions by a seed, so that the same happens again."""
    drawn = random.Random(seed)  # noqa: S311 - not to hide anything
    return patch("secrets.token_hex", lambda size: drawn.randbytes(size).hex())


@pytest.mark.cases(12)
def test_all_that_is_certain_is_as_the_ledger_has_it(numbers: range, tmp_path: Path) -> None:
    """Certificates, policies, promises and counts, without constraints, with them, and with a baseline."""
    wrong, counts = try_schedules(len(numbers), numbers.start, tmp_path)
    assert wrong == []
    happened = ("compared", "lost ones taken", "refused", "add_action", "give_up", "give_up_old", "override", "crash")
    assert len(numbers) < 12 or all(counts[each] > 2 for each in (*happened, "forge"))


def test_a_fault_that_is_put_back_is_found(tmp_path: Path) -> None:
    """Contexts of decisions that a crash lost, which enter no constraint."""
    with patch.object(DecisionRounds, "_enter_unbound", lambda *_given: None):
        assert len(try_schedules(1, 1, tmp_path, steps=120)[0]) == 1
