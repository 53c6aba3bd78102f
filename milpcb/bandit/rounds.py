"""The rounds of a bandit: the context, the available actions, the learner's distribution, the draw, later the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from milpcb import rng
from milpcb.bandit import builders, sums
from milpcb.bandit.contexts import Context, ContextReader
from milpcb.bandit.decisions import Book, Decision, Open, Override
from milpcb.bandit.rule import RuleLog
from milpcb.constraints import LabelConstraint, NamedConstraint, NamedRows
from milpcb.core.checks import index, probabilities, unit_cost
from milpcb.core.kept import restore_into, state_of
from milpcb.data.actions import place
from milpcb.data.columns import Value, Values
from milpcb.data.fields import plain
from milpcb.data.frames import named
from milpcb.errors import InputError, shown
from milpcb.oracles import open_oracle
from milpcb.oracles.growing import GrowingOracle
from milpcb.types import Aside, Floats

KEPT, DRAWN = ("_so_far", "book", "in_force", "groups", "added", "replayed"), ("learner", "draws")


class DecisionRounds:
    """The parts of a bandit, and its state; ``changing``: whether constraints are on contexts that arrive."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        reader: ContextReader,
        constraints: Sequence[NamedConstraint],
        contexts: Any,
        rules: Sequence[LabelConstraint],
    ) -> None:
        self.settings, self.reader, self.constraints, self.names = settings, reader, constraints, reader.actions
        for constraint in constraints:
            constraint.named(self.names)
        self.rules, self.changing = rules, settings["arrive"] and bool(constraints)
        contexts = np.asarray(contexts, dtype=float)
        self._so_far = sums.ContextsSoFar(constraints, reader.policies.n_actions)
        self.oracle: Any
        if settings["arrive"]:
            self.oracle = GrowingOracle(reader.policies, constrained=self.changing, **settings["oracle"])
            if len(contexts):
                self.oracle.rows(contexts)
            if rules:
                self.oracle.hold(rules)
        else:
            self.oracle = open_oracle(reader.policies, contexts, constraints=rules, **settings["oracle"])
        document = settings["baseline"]
        self._baseline = None if document is None else builders.baseline(document, reader)
        self._usual = -1  # the action of the baseline, if there is one, for the context of the round
        usual = None if document is None else lambda _row: self._usual
        self.learner = builders.learner(settings, self.oracle, bool(constraints), usual)
        self.book = Book()
        self.in_force = RuleLog(self.oracle, self.learner, reader)
        self.groups = sums.Groups(settings["groups"], len(self.names))
        self.added: list[str] = []  # actions that came later
        self.replayed = 0  # rounds of others
        # features, action (number), cost, law and least chance of each decision learnt
        self.log: list[list[Any]] | None = [] if settings["keep_log"] else None
        self.draws = rng.child(settings["seed"], "actions")

    # ----------------------------------------------------------------- decisions

    def act(self, contexts: Sequence[Context], available: Sequence[Any]) -> list[Decision]:
        """Return a decision for each context, among the actions ``available`` to it; if one cannot be made, none is."""
        self._check_turn(len(contexts))
        offered = [_offered_actions(each, self.names) for each in available]
        found: list[Decision] = []
        try:
            for context, own in zip(contexts, offered, strict=True):
                found.append(self._decide(context, own))
        except BaseException:
            for decision, context in reversed(list(zip(found, contexts, strict=False))):  # which stays among those seen
                taken_back = self.book.open.pop(decision.id).aside
                self.learner.take_up(taken_back)
                self.learner.give_up()
                if self.changing:
                    self._so_far.enter(taken_back.row, self._read(context, ruled=True)[0], bound=False, times=-1)
            self._so_far.bind_next()  # the rules may be bound with a decision that is not made
            raise
        return found

    def learn(self, given: object, cost: float) -> None:
        """Learn the cost of a decision; an error of the learner ends the decision."""
        floor = self.learner.least_chance  # as it was when the decision was made, see ``Bandit.settled``
        known = self._taken_up(given)
        decision, row, law = known.decision, known.aside.row, known.aside.q
        override = self.book.overridden.get(decision.id)
        try:
            if override is None:
                self.learner.learn(row, known.action, cost, law[known.action])
            else:
                self.learner.pay(cost)
                self.book.overridden[decision.id] = replace(override, cost=cost)
        except BaseException:
            self.book.close(decision.id, learnt=False)
            raise
        self.book.close(decision.id, learnt=True)
        action = self.names.index(decision.action if override is None else override.instead)
        estimate = self.learner.ledger.last if override is None else None
        self.groups.enter(known.groups, row, known.action, action, cost, estimate)
        if self.log is not None and override is None:
            self.log.append([list(decision.context), action, cost, list(decision.probabilities), floor])

    def give_up(self, given: object) -> None:
        """End a decision whose cost will never be known."""
        known = self._taken_up(given)
        if known.decision.id not in self.book.overridden:
            self.learner.give_up(played=True)
        self.book.close(known.decision.id, learnt=False)

    def override(self, given: object, action: object, by: str, reason: str) -> None:
        """Record that a person played ``action`` in place of a decision; its cost is still to be learnt."""
        number = place("action", action, list(map(str, self.names)))
        decision = self.book.find(given)
        if decision.id in self.book.overridden:
            raise InputError(f"decision '{decision.id}' was overridden already: learn what it cost")
        override = Override(decision.id, decision.action, self.names[number], by, reason)
        known = self._taken_up(given)
        there = decision.probabilities[number : number + 1] > (0.0,)  # else the baseline may have been replaced there
        self.learner.override(number if there else -1)
        self.book.override(known, override)

    def counted(self) -> int:
        """Return the number of decisions whose cost is known."""
        return self.learner.played + self.learner.ledger.overridden

    def replay(self, context: Context, action: int, cost: float, law: list[float]) -> None:
        """Learn the cost of an action that was drawn elsewhere, with the probabilities ``law`` (K,)."""
        row, groups = self._begin_elsewhere(context, law, self.learner.played)
        self.learner.learn(row, action, cost, law[action])
        self.groups.enter(groups, row, action, action, cost, self.learner.ledger.last)
        self.replayed += 1

    def with_action(self, name: Any) -> DecisionRounds:
        """Return these rounds for the class with a further action, to go on in their place; raises InputError."""
        reader = ContextReader(builders.with_action(self.reader.given, name), self.reader.declared)
        if self.rules and not self.changing:
            raise InputError("constraints are on contexts given in advance, so no action can be added")
        grown = DecisionRounds(self.settings, reader, self.constraints, self.oracle.contexts, ())
        grown.learner.go_on(self.learner)
        grown._so_far.go_on(self._so_far, reader.actions)
        grown.groups.go_on(self.groups)
        grown.book, grown.log, grown.draws = self.book, self.log, self.draws
        grown.added, grown.replayed = [*self.added, name], self.replayed
        return grown

    def allowed(self) -> Any:
        """Return the oracle of the policies that keep the constraints on all contexts so far."""
        if not self.changing or not self.oracle.n_contexts:
            return self.oracle
        return self.oracle.under(self._so_far.rules(self.oracle.n_contexts))

    # ----------------------------------------------------------------- saved and restored

    def state(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "contexts": self.oracle.contexts.tolist(),
            "rules": sums.as_plain(self.rules),
            "log": None if self.log is None else list(self.log),
            **state_of(self, (*KEPT, *DRAWN)),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state; raises MilpcbError, and the errors of data of another shape."""
        restore_into(self, KEPT, dict(state))
        self.log = _checked_log(state["log"], len(self.names))
        self.part({name: state[name] for name in DRAWN})

    def part(self, saved: Any = None) -> None:
        """Begin a session with its own ids and draws, distinct from others that go on from the same state."""
        self.book.begin_session()
        now = state_of(self, DRAWN)
        own = rng.parted(saved or now, self.book.session)
        restore_into(self, tuple(name for name in DRAWN if own[name] != now[name]), own)  # some learners play again

    # ----------------------------------------------------------------- inside

    def _check_turn(self, count: int) -> None:
        name, awaited = type(self.learner).__name__, None if self.learner.delayed else self.book.awaited()
        if awaited is not None:
            raise InputError(f"{name} takes costs in order: learn decision '{awaited}', or give it up, before the next")
        if count > 1 and not self.learner.delayed:
            raise InputError(f"{name} takes costs in order, so it decides for one context at a time, not {count}")

    def _decide(self, context: Context, offered: list[int] | None) -> Decision:
        row, (tables, groups, beside) = self._row(context), self._read(context, ruled=bool(self.constraints))
        renewed = self.changing and self._so_far.due(row, tables)
        if renewed:
            rules = self._so_far.rules(self.oracle.n_contexts, row, tables)
            self.oracle.hold(rules)  # where nobody keeps them, those of before stay
            self.rules = rules
        q = self.learner.act(row)
        law = q.tolist() if offered is None else _replaced(q.tolist(), offered)
        if self.constraints:
            self._check_allowed(np.array(law), tables)
        drawn = rng.draw_action(q, self.draws)
        action = drawn if offered is None or drawn in offered else offered[0]
        if self.changing:
            self._so_far.enter(row, tables, bound=renewed)
        aside = self.learner.set_aside() if self.learner.delayed else Aside(row, q.tolist(), self.learner.played)
        content = ("", self.names[action], law[action], tuple(law), context.features, beside, "")
        return self.book.enter(Decision(*content, *self.in_force.look(row)), drawn, aside, groups)

    def _row(self, context: Context) -> int:
        if self._baseline is not None:
            self._usual = self._baseline(context)
        numbers = np.array(context.numbers, dtype=float)
        numbers.setflags(write=False)  # so that it need not be copied
        return int(self.oracle.rows(numbers)[0])

    def _read(self, context: Context, *, ruled: bool) -> tuple[sums.Tables, list[int], tuple[tuple[str, Value], ...]]:
        """Return tables of constraints, if they count, and groups at a context, and what they read beside features."""
        if not (ruled or self.groups):
            return [], [], ()
        noted = _Noted(self.reader.columns(context))
        rows = NamedRows(noted, self.names)
        try:
            tables, groups = self._so_far.tables(rows) if ruled else [], self.groups.members(rows)
        except InputError as error:
            advice = self.reader.advice(context)
            if not advice:
                raise
            raise InputError(f"{error}; {advice}") from error
        others = sorted(noted.read - {*self.reader.names})
        return tables, groups, tuple((name, plain(noted[name][0])) for name in others)

    def _check_allowed(self, q: Floats, tables: sums.Tables) -> None:
        drawn = np.flatnonzero((q > 0.0) & self._so_far.forbidden(tables))
        if not len(drawn):
            return
        self.learner.give_up()
        forbids = f"a guard-rail forbids '{self.names[drawn[0]]}' for this context, and"
        if self._usual == drawn[0]:
            raise InputError(f"{forbids} the baseline plays it: give a baseline that keeps all guard-rails")
        raise InputError(f"{forbids} none of the contexts given in advance showed it: give some like this one")

    def _taken_up(self, given: object) -> Open:
        decision = self.book.find(given)
        known = self.book.open.get(decision.id)
        if known is None:
            return self._reopened(decision)
        if self.learner.delayed and decision.id not in self.book.overridden:
            self.learner.take_up(known.aside)
        return known

    def _reopened(self, decision: Decision) -> Open:
        """Return a decision that was made after this bandit was saved, with its round begun again."""
        if not self.learner.delayed:
            name = type(self.learner).__name__
            raise InputError(f"{name} takes costs in order: decision '{decision.id}', made after it was saved, is lost")
        if decision.action not in self.names or len(decision.probabilities) > len(self.names):
            raise InputError(f"decision '{decision.id}' was drawn with actions added later: add them first")
        context = replace(self.reader.read_row(decision.context), row=dict(decision.beside))
        law, finished = list(decision.probabilities), self.learner.played
        row, groups = self._begin_elsewhere(context, law, 0)
        return Open(decision, self.names.index(decision.action), Aside(row, law, finished), groups, made=0.0)

    def _begin_elsewhere(self, context: Context, law: list[float], begun: int) -> tuple[int, list[int]]:
        """Begin a round of a decision that was made elsewhere; return its row and groups."""
        row, (tables, groups, _) = self._row(context), self._read(context, ruled=self.changing)
        self.learner.take_over(row, law, begun)
        self._enter_unbound(row, tables)
        return row, groups

    def _enter_unbound(self, row: int, tables: sums.Tables) -> None:
        """Let a context that was decided on elsewhere enter the constraints; the next decision binds them anew."""
        if self.changing:
            self._so_far.enter(row, tables, bound=False)
            self._so_far.bind_next()


class _Noted(dict[str, Values]):
    def __init__(self, columns: Mapping[str, Values]) -> None:
        super().__init__(columns)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Values:
        self.read.add(name)
        return super().__getitem__(name)


def _checked_log(lines: Any, n_actions: int) -> list[list[Any]] | None:
    """Return the lines of a saved log: features, action (number), cost, law, floor; raises TypeError, ValueError."""
    for features, action, cost, law, floor in lines or ():
        index("action", action, len(law))
        unit_cost("the cost", cost)
        unit_cost("the floor of its law", floor)
        if not isinstance(features, list) or len(features) != len(lines[0][0]) or not 2 <= len(law) <= n_actions:
            raise ValueError("the log has a line that no bandit wrote")
        probabilities(np.array(law, dtype=float), len(law))
    return cast("list[list[Any]] | None", lines)


def _offered_actions(available: Any, names: Sequence[Any]) -> list[int] | None:
    """Return the numbers, in order, of the actions that are ``available``, by name if they have names; None for all."""
    if available is None:
        return None
    given = available.tolist() if isinstance(available, np.ndarray) else available
    in_order = type(given) in (list, tuple) and len(given) == len(names)
    mask = dict(zip(names, given, strict=True)) if in_order else named(given) or {}
    if {*mask} == {*names} and all(isinstance(there, (bool, np.bool_)) for there in mask.values()):
        given = [name for name, there in mask.items() if there]
    own = str if isinstance(names[0], str) else (str, int, np.integer)
    of_actions = isinstance(given, (list, tuple, set, frozenset)) and all(
        isinstance(each, own) and not isinstance(each, bool) for each in given
    )
    if not of_actions or not given:
        wanted = f"a list of actions, one at least, as {list(names)}, or a boolean for each of these"
        raise InputError(f"available must be {wanted}, got {shown(available)}")
    return sorted({place("action", each, list(map(str, names))) for each in given})


def _replaced(q: list[float], offered: Sequence[int]) -> list[float]:
    """Return the law (K,) of what is played where ``q`` is drawn from: the first that is offered, for what is not."""
    law = [0.0] * len(q)
    for action in offered:
        law[action] = q[action]
    law[offered[0]] = min(1.0, law[offered[0]] + sum(p for action, p in enumerate(q) if action not in offered))
    return law
