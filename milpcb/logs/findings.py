"""Findings from a log: the best policy, its value, the claims about it, its stability, and its budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import nan
from typing import Any

from milpcb.logs.limits import Kept, Limit
from milpcb.logs.sections import PageSection, Unit
from milpcb.logs.source import ScoredRows, Source
from milpcb.offline import Claim, Evaluation, Inference, IntervalEstimate, NoWorseThan, Reference, Stability, State
from milpcb.offline.compressed import CompressedLog
from milpcb.offline.restrictions import Price
from milpcb.types import Ints

Step = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]  # what is done; yields tick(done, total)


@dataclass(frozen=True)
class Asked:
    """The options of the questions."""

    level: float = 0.95  # how often intervals and lower bounds hold
    # draws, resamples: searches of the band and of the stability; 0 leaves the question out
    draws: int = 1000
    resamples: int = 100
    budget: str | None = None  # name of the action whose share is limited in the curve of values; None for no curve
    holdout: float = 0.0  # share (0..1) of the rows held out: nothing is learnt from them
    seed: int = 0  # of everything that is drawn
    limits: tuple[Limit, ...] = ()  # on other outcomes, which the rule keeps with the confidence ``level``
    restrictions: Mapping[str, Any] = field(default_factory=dict)  # texts that are priced, and their constraint or None
    front: str = ""  # a second outcome, and which way is better; "" for none
    # how much less a rule may look worth to do as well as the best; None: it goes by the band
    near: float | None = None
    unit: str = ""  # what outcomes are in, such as "$"; "" for no word
    sensitive: tuple[str, ...] = ()  # columns that the first sheet names, read by the rule or not
    # what a score card calls columns and actions, pairs of their names and these words
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Claims:
    """Claims about the rule after the search, and about all rules of its class."""

    value: IntervalEstimate  # of the rule, by what holds for all rules of the class at once
    gain: IntervalEstimate  # over the reference, in the same way
    most: float  # no rule of the class gains more than this over the reference
    small: float  # the gain up to which differences are called small
    state: State  # the verdict by these claims alone
    words: tuple[str, ...] = ()  # how they are made, a sentence each
    enough: bool = True  # whether enough rows carry the noise for the claims to hold
    # band, learning: the claims on this rule, and on learning such rules; None after one pass, which has no p-values
    band: Claim | None = None
    learning: Claim | None = None
    log_size: float = nan  # the natural logarithm of the number of rules, by which claims of one pass hold

    @classmethod
    def of(cls, found: Inference, *, by_estimates: bool) -> Claims:
        """Return the claims of rows in memory; claims on other rules and learning are there only ``by_estimates``."""
        gain = IntervalEstimate(found.gain, nan, found.lower, found.upper)
        words = tuple(found.words()[1:] if by_estimates else found.words()[-2:])
        learning = found.cross_fitted if by_estimates else None
        claims = found.value, gain, found.most, found.small, found.state, words
        return cls(*claims, found.diagnostics.enough_events, found.band, learning)


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of an analysis; after one pass those that need the rows again are None, or ()."""

    # source, questions: what was asked of what; of several files the source is a sample
    source: Source
    questions: Asked
    estimator: Any  # fitted
    unit: Unit  # of amounts
    # learnt, aside: rows the policy was learnt from, and hold-out rows, None for none
    learnt: ScoredRows | CompressedLog
    aside: ScoredRows | CompressedLog | None
    played: Ints  # what the policy plays in the rows that it was learnt from, or in the contexts that stand for them
    evaluation: Evaluation  # of the policy on the rows that it was learnt from, so its own values are too good
    held_out: Evaluation | None  # of the policy on the hold-out rows; None without them
    claims: Claims | None  # what can be claimed of it nevertheless; None where it was not asked
    files: int = 0  # how many were added up in one pass; 0 where the rows were in memory
    stability: Stability | None = None  # None where it was not asked
    asked: tuple[Kept, ...] = ()  # what was asked of the policy and whether it is kept in the rows learnt from
    # what it would cost to have the rule otherwise; () where it is not the best by the estimates
    prices: tuple[Price, ...] = ()
    # sections that were asked for: "near", "front", "budget"
    sections: Mapping[str, PageSection] = field(default_factory=dict)

    @property
    def actions(self) -> tuple[str, ...]:
        """The K names of the actions."""
        return self.learnt.diagnostics.actions

    @property
    def reference(self) -> Reference:
        """The best allowed way to treat all alike; every gain is over this one."""
        return self.evaluation.reference

    @property
    def n(self) -> int:
        """The number of rows of the log."""
        return self.learnt.n + (0 if self.aside is None else self.aside.n)

    @property
    def state(self) -> State | None:
        """The verdict of the claims; None without claims."""
        claims = self.claims
        if claims is None:
            return None
        sound = claims.enough and self.sound and self.kept_surely
        if self.own_way and claims.state != State.ALIKE:
            return State.TARGET if self.proved and sound else State.EARLY
        shown = not self.own_way and self.learning_gains is not False and self.shown_aside
        return State.TARGET if sound and shown else claims.state

    @property
    def own_way(self) -> bool:
        """Whether the rule is not the best by the estimates: claims on learning do not cover it then."""
        return bool(self.questions.limits or self.estimator.monotone) or self.estimator.objective != "value"

    @property
    def learning_gains(self) -> bool | None:
        """Whether learning such rules is shown to gain, by its p-value; None where there is none."""
        if self.claims is None or self.claims.learning is None:
            return None
        return self.claims.enough and self.claims.learning.p_value <= 1 - self.questions.level

    @property
    def sound(self) -> bool:
        """Whether intervals hold: the given propensities fit the log, and those of other outcomes do too."""
        return self.learnt.diagnostics.fits

    @property
    def kept_surely(self) -> bool:
        """Whether all other outcomes have enough events to claim that their limits are kept."""
        return all(guard.enough_events for guard in self.guards)

    @property
    def guards(self) -> list[NoWorseThan]:
        """The limits on other outcomes."""
        return [rule for rule in self.estimator.constraints if isinstance(rule, NoWorseThan)]

    @property
    def same(self) -> bool:
        """Whether the rule plays like the reference, which treats all alike, in every row that it was learnt from."""
        return self.reference.is_played(self.played)

    @property
    def shown_aside(self) -> bool:
        """Whether the hold-out rows show that this very policy gains."""
        return self.held_out is not None and self.held_out.gain.lower > 0

    @property
    def proved(self) -> bool:
        """Whether the gain of this very policy is shown to be above 0, by the band or by the hold-out rows."""
        return self.shown_aside or (self.claims is not None and self.claims.gain.lower > 0)
