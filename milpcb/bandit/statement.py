"""Statements on one bandit's decisions, in sentences that assume no knowledge of its algorithm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import ceil, floor
from typing import Any

from milpcb.bandit.groups import GroupSummary
from milpcb.bandit.saved import BanditParts
from milpcb.bandit.scale import COSTS, as_count, counted
from milpcb.blocks import ProvedChange
from milpcb.core.checks import check_confidence
from milpcb.errors import InputError

IN_TURN = 5  # policies, at most, that are compared with a single one


class BanditStatement(BanditParts):
    """The statement of a bandit; numbers that bound others are rounded so that they still do."""

    def by_group(self, confidence: float = 0.95) -> list[GroupSummary]:
        """Return cost, rates of actions and certificate of each of the bandit's ``groups``; print them.

        All of it holds at once, at all times, with the ``confidence``. Intervals are of means of expectations given all
        decisions before: of who comes, what is drawn, and what it costs. Raises InputError without ``groups``.
        """
        confidence = check_confidence(confidence)
        with self.lock:
            if not self._rounds.groups:
                raise InputError('name the groups beforehand, as in Bandit(..., groups=["region = north", "age > 60"])')
            return self._rounds.groups.summaries(self._rounds.allowed(), self._names, confidence, self._scale)

    def statement(self, confidence: float = 0.95) -> str:
        """Return in sentences what can be stated of this very bandit, in the unit of its costs or rewards.

        What was paid; how much more, at most, than the best policy of the class would have paid, or why that is not
        known yet; a proof that up to five policies in turn would have been better; a baseline's promise; decisions that
        are open, given up or overridden; the rule in force; groups.
        """
        confidence = check_confidence(confidence)
        with self.lock:
            n = self._rounds.counted()
            lines = [*(self._known(n, confidence) if n else self._nothing()), *self._others()]
            lines += self._rounds.log.sentences()
            lines += self._of_groups(confidence) if self._rounds.groups and n else ()
            self._stated = (n, self._rounds.learner.ledger.cost)
            return "\n".join(lines)

    @property
    def _words(self) -> tuple[str, str, str]:
        """The verb of an outcome, the word for worse, and what nothing is known of where the best may have had it."""
        if self._scale.rewards:
            return "earned", "less", "earned less than the most there is"
        return "cost", "more", "cost anything" if self._scale.best == 0 else "cost more than the least there is"

    @staticmethod
    def _nothing() -> Iterator[str]:
        yield "No decision is learnt yet, so there is nothing to state."

    def _known(self, n: int, confidence: float) -> Iterator[str]:
        """Yield the sentences on what was paid, and on what others would have paid."""
        learner, oracle, (done, worse, _) = self._rounds.learner, self._rounds.allowed(), self._words
        paid, sure = learner.ledger.cost, _percent(confidence)
        total = self._scale.total(n, paid)
        each = f" in all, {total / n:.4g} each" if n > 1 else ""
        yield f"{counted(n, 'decision')} {done} {as_count(total)}{each}."
        if self._stated is not None:
            yield self._since(n - self._stated[0], paid - self._stated[1])
        best = f"the best of all {self._compared()} would have {done} on {'them' if n > 1 else 'it'}"
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
        if (baseline := self._settings["baseline"]) is not None:
            yield from self._of_baseline(learner, baseline)

    def _compared(self) -> str:
        """Return what the policies of the class are called: "decision trees", and that they keep constraints."""
        words = re.findall(r"[A-Z][a-z]*|[A-Z]+(?![a-z])", type(self._policies).__name__)
        return " ".join(map(str.lower, words)) + (" that keep the constraints" if self._constraints else "")

    def _since(self, more: int, cost: float) -> str:
        if not more:
            return "Nothing was learnt since the last statement."
        total = as_count(self._scale.total(more, cost))
        return f"Since the last statement {counted(more, 'more decision')} {self._words[0]} {total}."

    def _reason(self, n: int, covered: float) -> str:
        """Return why nothing is known of the best policy, and when that may change."""
        if not covered:  # no more is certain than that no cost is below 0
            return f"nothing that was learnt shows that it would have {self._words[2]}"
        few = f"{counted(n, 'decision')} {'are' if n > 1 else 'is'} too few to rule out chance"
        enough = counted(ceil(n / min(covered, 1.0)), "decision")
        return f"{few}. If costs go on like this, about {enough} will be enough"

    def _of_change(self, change: ProvedChange) -> str:
        as_good = "earned as much" if self._scale.rewards else "cost as little"
        *others, last = map(as_count, change.after)
        then = f"{', '.join(others)} and {last}" if others else last
        in_turn = f"as {change.changes + 1} in turn, which change once {then} decisions were learnt"
        return f"no single one of them would have {as_good} {in_turn}: none is the best throughout."

    def _of_baseline(self, learner: Any, baseline: Mapping[str, Any]) -> Iterator[str]:
        """Yield the sentences on the baseline, in units of cost, of which the promise is made."""
        unit = "" if self._scale == COSTS else " (of costs from 0 to 1)"
        promise = f"at most {100 * baseline['loss']:g} % more than the baseline would have{unit}"
        if learner.deviations:
            n = as_count(learner.deviations)
            promise += f", and 1 for each decision that a person changed to something else ({n} so far)"
        sure, paid = _percent(baseline["confidence"]), as_count(learner.ledger.cost)
        yield f"With {sure} confidence all decisions so far, at every moment, cost {promise}."
        left = f"the baseline alone made {as_count(learner.rounds_of_baseline)} of all {as_count(self._made)} decisions"
        yield f"It would have cost at least {as_count(floor(learner.floor))}, and {paid} was paid; {left}."
        if learner.at_limit:
            unknown = f": each cost that is not known ({as_count(learner.unknown)}) counts as 1"
            waits = unknown if learner.unknown else ""
            yield f"The next decision is left to it too, as no more may be risked yet{waits}."

    @property
    def _made(self) -> int:
        return self._rounds.counted() + len(self._rounds.book.open) + self._rounds.book.given_up

    def _others(self) -> Iterator[str]:
        """Yield the sentences on decisions that the numbers before them do not count, and on how to read those."""
        book = self._rounds.book
        if self._logged:
            yield f"The log that it began with has {counted(self._logged, 'decision')} of these."
        if self._added:
            names = ", ".join(f"'{name}'" for name in self._added)
            yield f"Before {names} came, policies that name it are taken to play the first action instead."
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
