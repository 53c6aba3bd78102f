"""The questions that a bandit answers: its policy, its certificates and statement, its log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np

from milpcb.bandit.decisions import Decision, Override
from milpcb.bandit.rule import RuleInForce, Why, explained
from milpcb.bandit.saved import BanditParts
from milpcb.bandit.sums import COSTS, GroupSummary, as_count, counted
from milpcb.blocks import Changes, ProvedChange
from milpcb.core.checks import ROUNDING, check_confidence, real
from milpcb.data.schema import Schema
from milpcb.errors import InputError
from milpcb.protocols import FoundPolicy

if TYPE_CHECKING:
    from milpcb.offline import Log, Settled


IN_TURN = 5  # policies, at most, that a statement compares with a single one


class BanditAnswers(BanditParts):
    """The questions that a bandit answers, in any thread, without changing what it does."""

    @property
    def schema(self) -> Schema:
        """The columns of a context that the bandit reads: ``print`` it; see milpcb.data.schema."""
        return self._rounds.reader.schema

    def policy(self) -> FoundPolicy:
        """Return the best policy so far: of least total estimated cost; see the learner's ``policy``."""
        with self.lock:
            return self._rounds.reader.show(self._rounds.learner.policy(self._rounds.allowed()))

    def rule(self, number: int | None = None) -> RuleInForce:
        """Return the rule in force, or an earlier one by its number; raises InputError where there is none.

        A rule is in force for ``learner="bistro_plus"``, ``future="once"``, one future and a noise other than "signed".
        """
        with self.lock:
            return self._rounds.in_force.rule(number)

    def rules(self) -> list[RuleInForce]:
        """Return all rules that have been in force, each until the next one's ``since``."""
        with self.lock:
            return list(map(self._rounds.in_force.rule, self._rounds.in_force.changes))

    def why(self, decision: Decision | str) -> Why:
        """Return why a decision, given whole or while open by its id, was made; raises InputError on others."""
        with self.lock:
            return explained(self._rounds.book.find(decision, ended=True), self._rounds)

    def overrides(self) -> list[Override]:
        """Return the decisions that a person overrode, in order: by whom, why, and their cost where it is known."""
        with self.lock:
            return list(self._rounds.book.overridden.values())

    def certificate(self, *, confidence: float | None = None, changes: int | None = None) -> float:
        """Return a number whose mean bounds the mean regret of the decisions learnt so far; see Learner.certificate.

        With a ``confidence``, a bound on the regret of this very bandit, at all times at once, even if costs react to
        earlier decisions and come late: over all decisions add 1 for each whose cost is not known yet.
        """
        with self.lock:
            return self._rounds.learner.certificate(self._rounds.allowed(), confidence=confidence, changes=changes)

    def certificate_error(self) -> float:
        """Return the standard error of ``certificate()``."""
        with self.lock:
            return self._rounds.learner.certificate_error(self._rounds.allowed())

    def changes(self, *, confidence: float | None = None, most: int = 9) -> Changes:
        """Return certificates against the best policies in turn, with 0, ..., ``most`` changes; see Learner.changes."""
        with self.lock:
            return self._rounds.learner.changes(self._rounds.allowed(), confidence=confidence, most=most)

    def guarantee(self) -> float:
        """Return the bound on expected regret after ``horizon`` decisions that are learnt at once; see Learner.

        Infinite under constraints on contexts that arrive, once an action was added or a decision overridden, and where
        the bandit began with a log. Learners that know the law of contexts take it to be uniform over ``contexts``.
        """
        with self.lock:
            rounds = self._rounds
            others = rounds.changing or rounds.added or rounds.replayed or rounds.book.overridden
            return np.inf if others else rounds.learner.guarantee()

    def bound(self, confidence: float | None = None) -> float:
        """Return a bound on mean regret so far that the algorithm's analysis gives of this run; see Learner.bound.

        NaN under constraints on contexts that arrive, and once an action was added.
        """
        with self.lock:
            if self._rounds.changing or self._rounds.added:
                return np.nan
            learner = self._rounds.learner
            return learner.bound(confidence) + learner.ledger.others

    def settled(self, eps: float, confidence: float = 0.95) -> Settled:
        """Return whether no policy is better than the best-looking one by ``eps``, in the unit of costs or rewards.

        The answer holds with the ``confidence`` at any number of looks, if contexts and costs are i.i.d. and late costs
        come no sooner for some actions or outcomes. Raises as milpcb.offline.settled, InputError without a log, with
        a learner without a floor, under constraints, and once an action was added or was not available.
        """
        from milpcb.offline import settled  # it needs more than a service does

        eps = real("eps", eps, "above 0 and finite, in the unit of costs or rewards", lambda value: value > 0)
        log = self.log()
        with self.lock:
            if self._rounds.constraints or self._rounds.added:
                raise InputError("settled is for one class of policies: without constraints, and without new actions")
            lines = (self._rounds.log or [])[: len(log)]
            reader, width = self._rounds.reader, self._scale.unit
        floor = np.array([line[4] for line in lines])
        if not floor.any():
            raise InputError("settled needs a learner that gives every action a chance, such as 'uniform' or 'guarded'")
        if any(min(chances) < least * (1 - ROUNDING) for *_, chances, least in lines):
            raise InputError("settled is for decisions in which all actions were available")
        contexts = np.array([np.ravel(reader.read_row(line[0]).numbers) for line in lines])
        found = settled(log, reader.policies, eps / width, confidence, contexts=contexts, floor=floor)
        own: dict[str, Any] = {"policy": reader.show(found.policy), "rivals": tuple(map(reader.show, found.rivals))}
        return replace(found, **own, eps=eps, refuted_eps=width * found.refuted_eps)

    def log(self) -> Log:
        """Return the decisions learnt, in that order, as milpcb.offline reads them, with their costs in [0, 1].

        There are no probabilities for learners that draw within ``act``, such as ``ftpl``; actions that were not
        available have the probability 0. Raises InputError unless the bandit was made with ``keep_log=True``, and while
        some action has never been played; ExtraMissingError.
        """
        from milpcb.offline import read_log  # it needs more than a service does

        with self.lock:
            lines, names, reader = self._rounds.log, self._rounds.names, self._rounds.reader
            if not lines:
                reason = "no decision is learnt yet" if lines == [] else "the bandit was made without keep_log=True"
                raise InputError(f"there is no log: {reason}")
            features, played, costs, chances, _ = zip(*lines, strict=True)
            full = [[*law, *[0.0] * (len(names) - len(law))] for law in chances]  # of actions that came later
            law = None if self._rounds.learner.hides_law else np.array(full)
        taken = [names[action] for action in played]
        return read_log(reader.table(features), taken, cost=costs, propensity=law, actions=names)

    # ----------------------------------------------------------------- statement: limits are rounded to where they hold

    def by_group(self, confidence: float = 0.95) -> list[GroupSummary]:
        """Return cost, rates of actions and certificate of each of the bandit's ``groups``; print them.

        All of it holds at once, at all times, with the ``confidence``: see people.md. Raises InputError without groups.
        """
        confidence = check_confidence(confidence)
        with self.lock:
            if not self._rounds.groups:
                raise InputError('name the groups beforehand, as in Bandit(..., groups=["region = north", "age > 60"])')
            return self._rounds.groups.summaries(self._rounds.allowed(), self._rounds.names, confidence, self._scale)

    def statement(self, confidence: float = 0.95) -> str:
        """Return the statement of this bandit in sentences, in the unit of its costs or rewards."""
        confidence = check_confidence(confidence)
        with self.lock:
            n = self._rounds.counted()
            nothing = ["No decision is learnt yet, so there is nothing to state."]
            lines = [*(self._known(n, confidence) if n else nothing), *self._others()]
            lines += self._of_groups(confidence) if self._rounds.groups and n else ()
            self._stated = (n, self._rounds.learner.ledger.cost)
            return "\n".join(lines)

    @property
    def _words(self) -> tuple[str, str]:
        return ("earned", "less") if self._scale.rewards else ("cost", "more")

    def _known(self, n: int, confidence: float) -> Iterator[str]:
        learner, oracle, (done, worse) = self._rounds.learner, self._rounds.allowed(), self._words
        paid, sure = learner.ledger.cost, _percent(confidence)
        total = self._scale.total(n, paid)
        each = f" in all, {total / n:.4g} each" if n > 1 else ""
        yield f"{counted(n, 'decision')} {done} {as_count(total)}{each}."
        if self._stated is not None and n > self._stated[0]:
            more = counted(n - self._stated[0], "more decision")
            since = as_count(self._scale.total(n - self._stated[0], paid - self._stated[1]))
            yield f"Since the last statement {more} {done} {since}."
        best = f"the best of all {self._compared()} would have {done} on them"
        most = learner.certificate(oracle, confidence=confidence)
        if most < paid:
            amount = f"{as_count(ceil(self._scale.unit * most))} {worse}"
            yield f"With {sure} confidence that is at most {amount} than {best}."
            change = learner.ledger.change(oracle, IN_TURN, confidence)
            if change is not None:
                yield f"With {sure} confidence {self._of_change(change)}"
        else:
            reason = self._reason(n, learner.ledger.covered(oracle, confidence))
            yield f"It is not known yet with {sure} confidence how much {best}: {reason}."
        if self._rounds.settings["baseline"] is not None:
            yield from self._of_baseline(learner, **self._rounds.settings["promise"])

    def _compared(self) -> str:
        """Return what the policies of the class are called: "decision trees", and that they keep constraints."""
        words = re.findall(r"[A-Z][a-z]*|[A-Z]+(?![a-z])", type(self._rounds.reader.given).__name__)
        return " ".join(map(str.lower, words)) + (" that keep the constraints" if self._rounds.constraints else "")

    def _reason(self, n: int, covered: float) -> str:
        if not covered:  # no more is certain than that no cost is below 0
            return "no outcome that was learnt bounds it"
        enough = counted(ceil(n / min(covered, 1.0)), "decision")
        return f"{counted(n, 'decision')} cannot rule out chance. If costs go on like this, about {enough} will do"

    def _of_change(self, change: ProvedChange) -> str:
        as_good = "earned as much" if self._scale.rewards else "cost as little"
        *others, last = map(as_count, change.after)
        then = f"{', '.join(others)} and {last}" if others else last
        in_turn = f"as {change.changes + 1} in turn, which change once {then} decisions were learnt"
        return f"no single one of them would have {as_good} {in_turn}: none is the best throughout."

    def _of_baseline(self, learner: Any, loss: float, confidence: float) -> Iterator[str]:
        unit = "" if self._scale == COSTS else " (of costs from 0 to 1)"
        promise = f"at most {100 * loss:g} % more than the baseline would have{unit}"
        if learner.deviations:
            n = as_count(learner.deviations)
            promise += f", and 1 for each decision that a person changed to something else ({n} so far)"
        sure, paid = _percent(confidence), as_count(learner.ledger.cost)
        yield f"With {sure} confidence all decisions so far, at every moment, cost {promise}."
        left = f"it alone made {as_count(learner.rounds_of_baseline)} of all {as_count(self._made)} decisions"
        yield f"The baseline would have cost at least {as_count(floor(learner.floor))}, and {paid} was paid; {left}."
        if learner.at_limit:
            unknown = f": each cost that is not known ({as_count(learner.unknown)}) counts as 1"
            waits = unknown if learner.unknown else ""
            yield f"The baseline makes the next decision too, as no more may be risked yet{waits}."

    @property
    def _made(self) -> int:
        return self._rounds.counted() + len(self._rounds.book.open) + self._rounds.book.given_up

    def _others(self) -> Iterator[str]:
        book = self._rounds.book
        if self._rounds.added:
            names = ", ".join(f"'{name}'" for name in self._rounds.added)
            yield f"Before {names} came, policies that play it count as playing the first action."
        if book.overridden:
            of_all = f"Of {counted(self._made, 'decision')}, a person overrode {as_count(len(book.overridden))}"
            yield f"{of_all}; that cost counts in full."
        if book.open:
            yield f"The cost of {counted(len(book.open), 'more decision')} is not known yet, and not counted here."
        if book.given_up:
            depended = "this holds if giving up depended neither on cost nor on action"
            yield f"The cost of {counted(book.given_up, 'more decision')} will never be known: {depended}."

    def _of_groups(self, confidence: float) -> Iterator[str]:
        yield f"By group, with {_percent(confidence)} confidence for all that follows at once:"
        for group in self.by_group(confidence):
            yield str(group)
            if group.certificate < group.paid:
                most = as_count(ceil(self._scale.unit * group.certificate))
                yield f"    in all at most {most} {self._words[1]} than the best rule for this group alone"


def _percent(share: float) -> str:
    return f"{100 * share:.15g} %"  # of fewer digits 0.9999999 would be all
