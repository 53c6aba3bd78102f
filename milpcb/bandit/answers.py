"""The questions that a bandit answers: its policy, its certificates and statement, its log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from milpcb.bandit.decisions import Decision, Override
from milpcb.bandit.rule import RuleInForce, Why, explained
from milpcb.bandit.statement import BanditStatement
from milpcb.blocks import Changes
from milpcb.core.checks import ROUNDING, real
from milpcb.data.schema import Schema
from milpcb.errors import InputError
from milpcb.protocols import FoundPolicy

if TYPE_CHECKING:
    from milpcb.offline import Log, Settled


class BanditAnswers(BanditStatement):
    """The questions that a bandit answers, in any thread, without changing what it does."""

    @property
    def schema(self) -> Schema:
        """The columns of a context that the bandit reads: ``print`` it; see milpcb.data.schema."""
        return self._reader.schema

    def policy(self) -> FoundPolicy:
        """Return the best policy so far: of least total estimated cost; see the learner's ``policy``."""
        with self.lock:
            best: FoundPolicy = self._reader.show(self._rounds.learner.policy(self._rounds.allowed()))
            return best

    def rule(self, number: int | None = None) -> RuleInForce:
        """Return the rule in force, or an earlier one by its number; decisions have their ``rule_number``.

        One is in force with ``learner="bistro_plus"``, ``future="once"``, one future and a noise other than "signed".
        Whoever publishes it invites costs that react to it, for which there is no guarantee; certificates with a
        confidence hold. Raises InputError where no rule is in force, and on a number that none has had.
        """
        with self.lock:
            return self._rounds.log.rule(number, self._reader.show, tuple(self._names))

    def rules(self) -> list[RuleInForce]:
        """Return all rules that have been in force, in their order: each until the next one's ``since``."""
        with self.lock:
            log = self._rounds.log
            return [log.rule(number, self._reader.show, tuple(self._names)) for number in log.rules()]

    def why(self, decision: Decision | str) -> Why:
        """Return why a decision of this bandit was made; print it.

        That is by the rule that was in force, where one is (see ``rule``), else by ``policy()`` as it is now: ask
        before the next cost is learnt. A decision is given whole, or while it is open by its id. Raises InputError on
        others, and what ``policy`` raises.
        """
        with self.lock:
            alone = "no choice" if self._settings["baseline"] is None else "baseline"
            if self._rounds.learner.hides_law:  # what it explores is drawn before its law
                alone = "exploration"
            return explained(self._rounds.book.made(decision), self._rounds, self._reader, self._names, alone)

    def overrides(self) -> list[Override]:
        """Return the decisions that a person overrode, in that order, with who, why, and what it cost if known."""
        with self.lock:
            return list(self._rounds.book.overridden.values())

    def certificate(self, *, confidence: float | None = None, changes: int | None = None) -> float:
        """Return a number whose mean bounds the mean regret of the decisions learnt so far; see Learner.certificate.

        With a ``confidence`` such as 0.95, a number that the regret of this very bandit stays at or below, at all times
        at once, with that chance, even if costs react to earlier decisions and come late: regret over all decisions is
        at most this plus 1 for each whose cost is not known yet. ``changes``: see ``changes``.
        """
        with self.lock:
            return self._rounds.learner.certificate(self._rounds.allowed(), confidence=confidence, changes=changes)

    def changes(self, *, confidence: float | None = None, most: int = 9) -> Changes:
        """Return certificates against the best policies in turn, with 0, ..., ``most`` changes; see Learner.changes.

        Print it. With a ``confidence``, and where it can be had, there is a proof that no single policy would do.
        """
        with self.lock:
            return self._rounds.learner.changes(self._rounds.allowed(), confidence=confidence, most=most)

    def certificate_error(self) -> float:
        """Return the standard error of ``certificate()``."""
        with self.lock:
            return self._rounds.learner.certificate_error(self._rounds.allowed())

    def guarantee(self) -> float:
        """Return the bound on expected regret after ``horizon`` decisions that are learnt at once; see Learner.

        Infinite where the learner has none, under constraints on contexts that arrive, once an action was added or a
        decision overridden, and where the bandit began with a log. Learners that must know the law of contexts
        (``bistro_plus``, ``policy_elimination``) take it to be even over the rows of ``contexts``.
        """
        with self.lock:
            others = self._rounds.changing or self._added or self._logged or self._rounds.book.overridden
            return np.inf if others else self._rounds.learner.guarantee()

    def bound(self, confidence: float | None = None) -> float:
        """Return a bound on mean regret so far that the algorithm's analysis gives of this run; see Learner.bound.

        NaN where the learner has none, under constraints on contexts that arrive, and once an action was added. What
        was paid where a person overrode a decision counts in full.
        """
        with self.lock:
            if self._rounds.changing or self._added:
                return np.nan
            learner = self._rounds.learner
            return learner.bound(confidence) + learner.ledger.others

    def settled(self, eps: float, confidence: float = 0.95) -> Settled:
        """Return whether enough is known to end: no policy is better than the best-looking one by ``eps`` or more.

        That holds with the ``confidence`` however often one asks, if contexts and costs are i.i.d., and late costs come
        no sooner for some actions or outcomes; see milpcb.offline.settled. ``eps`` is in the unit of costs, or rewards.

        Raises InputError without ``keep_log=True``, with a learner that does not give every action a chance on every
        context, under constraints, once an action was added or was not available, and what milpcb.offline.settled does.
        """
        from milpcb.offline import settled  # it needs more than a service does

        eps = real("eps", eps, "above 0 and finite, in the unit of costs or rewards", lambda value: value > 0)
        log = self.log()
        with self.lock:
            if self._constraints or self._added:
                raise InputError("settled is for one class of policies: without constraints, and without new actions")
            lines = (self._log or [])[: len(log)]
            reader, width = self._reader, self._scale.unit
        floor = np.array([line[4] for line in lines])
        if not floor.any():
            raise InputError(
                "settled needs a learner that gives every action a chance on every context, known beforehand: "
                "'uniform', 'epsilon_greedy', 'bistro_plus' or 'guarded'"
            )
        if any(min(chances) < least * (1 - ROUNDING) for *_, chances, least in lines):
            raise InputError("settled is for decisions in which all actions were available")
        contexts = np.array([np.ravel(reader.read_row(line[0]).numbers) for line in lines])
        found = settled(log, reader.policies, eps / width, confidence, contexts=contexts, floor=floor)
        own: dict[str, Any] = {"policy": reader.show(found.policy), "rivals": tuple(map(reader.show, found.rivals))}
        return replace(found, **own, eps=eps, refuted_eps=width * found.refuted_eps)

    def log(self) -> Log:
        """Return the decisions learnt, in that order, with their costs in [0, 1] and the probability of every action.

        It is what milpcb.offline reads; features that have names are a polars data frame. There are no probabilities of
        learners that draw within ``act``, such as ``ftpl``: milpcb.offline estimates them. An action that was not
        available has the probability 0: the method "ips" knows of no replacement. Raises InputError unless the bandit
        was made with ``keep_log=True``, and while some action has never been played; ExtraMissingError.
        """
        from milpcb.offline import read_log  # it needs more than a service does

        with self.lock:
            if not self._log:
                reason = "no decision is learnt yet" if self._log == [] else "the bandit was made without keep_log=True"
                raise InputError(f"there is no log: {reason}")
            features, played, costs, chances, _ = zip(*self._log, strict=True)
            full = [[*law, *[0.0] * (len(self._names) - len(law))] for law in chances]  # of actions that came later
            law = None if self._rounds.learner.hides_law else np.array(full)
        taken = [self._names[action] for action in played]
        return read_log(self._reader.table(features), taken, cost=costs, propensity=law, actions=self._names)
