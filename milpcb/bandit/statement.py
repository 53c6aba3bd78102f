"""Statements on one bandit's decisions, in sentences that assume no knowledge of its algorithm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from milpcb.bandit.scale import COSTS, Scale, as_count, counted
from milpcb.blocks import ProvedChange

if TYPE_CHECKING:
    from milpcb.bandit.groups import GroupSummary
    from milpcb.bandit.rounds import DecisionRounds

Stated = tuple[int, float]  # decisions learnt, and what was paid for them, when a statement was made
IN_TURN = 5  # policies, at most, that are compared with a single one


@dataclass(frozen=True)
class Statement:
    """Figures of a bandit that can be stated; numbers that bound others are rounded so that they still do.

    Attributes
    ----------
    rounds : the decisions
    compared : the policies that they are compared with, in words
    baseline : its settings
    scale : of costs, or rewards
    added, logged : actions that came later, and the decisions of the log that it began with
    before : what was stated last

    """

    rounds: DecisionRounds
    confidence: float
    compared: str
    baseline: Mapping[str, Any] | None
    scale: Scale
    added: Sequence[str]
    logged: int
    before: Stated | None

    def lines(self) -> Iterator[str]:
        """Yield the sentences, but for those on the rule in force and on groups."""
        if not self.rounds.counted():
            yield "No decision is learnt yet, so there is nothing to state."
            yield from self._others()
            return
        learner, oracle = self.rounds.learner, self.rounds.allowed()
        n, paid, done, sure = self.rounds.counted(), learner.ledger.cost, self._done, _percent(self.confidence)
        total = self.scale.total(n, paid)
        each = f" in all, {total / n:.4g} each" if n > 1 else ""
        yield f"{counted(n, 'decision')} {done} {as_count(total)}{each}."
        yield from self._since(n, paid)
        best = f"the best of all {self.compared} would have {done} on {'them' if n > 1 else 'it'}"
        most = learner.certificate(oracle, confidence=self.confidence)
        if most < paid:
            amount = f"{as_count(ceil(self.scale.unit * most))} {self._more}"
            yield f"With {sure} confidence that is at most {amount} than {best}."
            yield from self._of_change(learner.ledger.change(oracle, IN_TURN, self.confidence))
        else:
            reason = self._reason(n, learner.ledger.covered(oracle, self.confidence))
            yield f"It is not known yet with {sure} confidence how much {best}: {reason}."
        if self.baseline is not None:
            yield from self._of_baseline(learner, self.baseline)
        yield from self._others()

    def of_groups(self, groups: Sequence[GroupSummary]) -> Iterator[str]:
        """Yield lines on each group, none where there are none."""
        if groups:
            yield f"By group, with {_percent(self.confidence)} confidence for all that follows at once:"
        for group in groups:
            yield str(group)
            if group.certificate < group.paid:
                most = as_count(ceil(self.scale.unit * group.certificate))
                yield f"    in all at most {most} {self._more} than the best rule for this group alone"

    @property
    def _done(self) -> str:
        return "earned" if self.scale.rewards else "cost"

    @property
    def _more(self) -> str:
        return "less" if self.scale.rewards else "more"

    def _since(self, n: int, paid: float) -> Iterator[str]:
        if self.before is None:
            return
        more, cost = n - self.before[0], paid - self.before[1]
        if more:
            total = as_count(self.scale.total(more, cost))
            yield f"Since the last statement {counted(more, 'more decision')} {self._done} {total}."
        else:
            yield "Nothing was learnt since the last statement."

    def _reason(self, n: int, covered: float) -> str:
        """Return why nothing is known of the best policy, and when that may change."""
        if not covered:  # no more is certain than that no cost is below 0
            free = "cost anything" if self.scale.best == 0 else "cost more than the least there is"
            worse = "earned less than the most there is" if self.scale.rewards else free
            return f"nothing that was learnt shows that it would have {worse}"
        few = f"{counted(n, 'decision')} {'are' if n > 1 else 'is'} too few to rule out chance"
        enough = counted(ceil(n / min(covered, 1.0)), "decision")
        return f"{few}. If costs go on like this, about {enough} will be enough"

    def _of_change(self, change: ProvedChange | None) -> Iterator[str]:
        if change is None:
            return
        as_good = "earned as much" if self.scale.rewards else "cost as little"
        *others, last = map(as_count, change.after)
        then = f"{', '.join(others)} and {last}" if others else last
        in_turn = f"as {change.changes + 1} in turn, which change once {then} decisions were learnt"
        none = f"no single one of them would have {as_good} {in_turn}: none is the best throughout."
        yield f"With {_percent(self.confidence)} confidence {none}"

    def _of_baseline(self, learner: Any, baseline: Mapping[str, Any]) -> Iterator[str]:
        """Yield the sentences on the baseline, in units of cost, of which the promise is made."""
        unit = "" if self.scale == COSTS else " (of costs from 0 to 1)"
        promise = f"at most {100 * baseline['loss']:g} % more than the baseline would have{unit}"
        if learner.deviations:
            n = as_count(learner.deviations)
            promise += f", and 1 for each decision that a person changed to something else ({n} so far)"
        sure, paid = _percent(baseline["confidence"]), as_count(learner.ledger.cost)
        yield f"With {sure} confidence all decisions so far, at every moment, cost {promise}."
        left = f"the baseline alone made {as_count(learner.rounds_of_baseline)} of all {as_count(self._made)} decisions"
        yield f"It would have cost at least {as_count(floor(learner.floor))}, and {paid} was paid; {left}."
        if learner.at_limit:
            waits = (
                f": each cost that is not known ({as_count(learner.unknown)}) counts as 1" if learner.unknown else ""
            )
            yield f"The next decision is left to it too, as no more may be risked yet{waits}."

    @property
    def _made(self) -> int:
        return self.rounds.counted() + len(self.rounds.book.open) + self.rounds.book.given_up

    def _others(self) -> Iterator[str]:
        """Yield the sentences on decisions that the numbers before them do not count, and on how to read those."""
        if self.logged:
            yield f"The log that it began with has {counted(self.logged, 'decision')} of these."
        if self.added:
            names = ", ".join(f"'{name}'" for name in self.added)
            yield f"Before {names} came, policies that name it are taken to play the first action instead."
        if overridden := len(self.rounds.book.overridden):
            of_all = f"Of {counted(self._made, 'decision')}, a person overrode {as_count(overridden)}"
            yield f"{of_all}; that cost counts in full."
        if waiting := len(self.rounds.book.open):
            yield f"The cost of {counted(waiting, 'more decision')} is not known yet, and not counted here."
        if given_up := self.rounds.book.given_up:
            depended = "this holds if giving up depended neither on cost nor on action"
            yield f"The cost of {counted(given_up, 'more decision')} will never be known: {depended}."


def in_words(policies: object, *, constrained: bool) -> str:
    """Return what the policies of a class are called: "decision trees", and that they keep constraints."""
    words = re.findall(r"[A-Z][a-z]*|[A-Z]+(?![a-z])", type(policies).__name__)
    return " ".join(map(str.lower, words)) + (" that keep the constraints" if constrained else "")


def _percent(share: float) -> str:
    return f"{100 * share:.15g} %"  # of fewer digits 0.9999999 would be all
