"""The rule in force of a bandit, published, exported and logged; and why a decision was made, by the rule."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf, nextafter
from operator import itemgetter
from time import time
from typing import Any, NamedTuple

import numpy as np

from milpcb.bandit.contexts import MOST_VALUES, ContextReader
from milpcb.core.checks import whole
from milpcb.core.decimals import written
from milpcb.data.columns import Value, in_words, name_in_words
from milpcb.data.fields import kinds_of
from milpcb.errors import InputError
from milpcb.types import Floats, FoundPolicy


@dataclass(frozen=True)
class RuleInForce:
    """A rule that decisions follow; its number, and the decision ``since`` which it is in force, count from 1."""

    number: int
    since: int
    date: datetime  # of that decision
    exploration: float  # probability of each action that the rule does not play
    policy: FoundPolicy
    actions: tuple[Any, ...]

    def weights(self, action: int) -> dict[str, float]:
        """Return the probability of each action, by name, where the rule plays ``action``."""
        own = 1.0 - (len(self.actions) - 1) * self.exploration
        return {str(name): own if i == action else self.exploration for i, name in enumerate(self.actions)}

    def to_json(self) -> str:
        """Return number, date, and conditions (policies.exports.parts_of) and weights of each part, numbered from 0.

        Raises InputError for rules whose parts have no description.
        """
        leaves = [
            {"leaf": leaf, "when": part["when"], "weights": self.weights(part["action"])}
            for leaf, part in enumerate(self.policy.parts())
        ]
        head = {"rule": self.number, "since": self.since, "date": self.date.isoformat()}
        return json.dumps({**head, "exploration": self.exploration, "leaves": leaves}, ensure_ascii=False)

    def to_sql(self) -> str:
        """Return a CASE expression of the action that the rule plays; see Rule.to_sql."""
        return str(self.policy.to_sql(self.actions))

    def to_python(self, name: str = "decide") -> str:
        """Return the source of a function ``name(row)`` of the action that the rule plays; see Rule.to_python."""
        return str(self.policy.to_python(self.actions, name))


class RuleChange(NamedTuple):
    """A rule came into force with decision ``since``, at ``made`` (Unix time); it plays ``actions`` (m,)."""

    number: int
    since: int
    made: float
    actions: list[int]


class RuleLog:
    """The rules in force over time, by number; the oracle finds the policy of a rule by its actions on known rows."""

    def __init__(self, oracle: Any, learner: Any, reader: ContextReader) -> None:
        self._oracle, self._learner, self._reader = oracle, learner, reader
        self.changes: dict[int, RuleChange] = {}
        self._leaves: list[int | None] = []  # of the known contexts, under the rule in force

    def look(self, row: int) -> tuple[int | None, int | None]:
        """Return the number of the rule that the learner has just followed, if any, and the part of it with ``row``."""
        number = getattr(self._learner, "rule_number", None)
        if number is None:
            return None, None
        if number not in self.changes:
            rule = self._learner.rule()
            actions = np.asarray(rule.policy.predict(self._oracle.contexts)).tolist()
            self.changes[number] = RuleChange(number, rule.since, time(), actions)
            self._leaves = _leaves(rule.policy, self._oracle.contexts)
        return number, self._leaves[row]

    def rule(self, number: int | None = None) -> RuleInForce:
        """Return the rule in force, or an earlier one by its number; raises InputError where there is none."""
        change = self._change(number)
        date, policy = datetime.fromtimestamp(change.made, UTC), self._reader.show(self.policy(change.number))
        exploration = 1 / self._learner.scale
        return RuleInForce(change.number, change.since, date, exploration, policy, tuple(self._reader.actions))

    def policy(self, number: int | None) -> FoundPolicy:
        """Return the policy of a rule, as the class has it; raises InputError where there is no such rule."""
        table = np.ones((self._oracle.n_contexts, self._oracle.n_actions))
        table[np.arange(len(table)), self._change(number).actions] = 0.0
        return self._oracle.minimise(table).policy

    def _change(self, number: int | None) -> RuleChange:
        if not self.changes:
            raise InputError('no rule is in force: that is for learner="bistro_plus", future="once", noise="half"')
        last = max(self.changes)
        if number is not None and number not in self.changes:
            raise InputError(f"there is no rule {number}: rules 1 to {last} have been in force")
        return self.changes[last if number is None else number]

    def state(self) -> list[list[Any]]:
        """Return the log as plain data."""
        return [list(change) for change in self.changes.values()]

    def restore(self, state: list[list[Any]]) -> None:
        """Go on from a saved state."""
        self.changes = {whole("a rule", number, 1): RuleChange(number, *others) for number, *others in state}
        if self.changes:
            self._leaves = _leaves(self.policy(None), self._oracle.contexts)


def _leaves(policy: FoundPolicy, contexts: Floats) -> list[int | None]:
    apply = getattr(policy, "apply", None)
    return [None] * len(contexts) if apply is None else np.asarray(apply(contexts)).tolist()


_AS_GOOD = "policies that are as good up to chance play"


class FeatureChange(NamedTuple):
    """The least change of one feature for which the rule plays another action, ``steps`` of its cut points away."""

    feature: str
    words: str
    action: Any
    steps: int


@dataclass(frozen=True)
class Why:
    """The reasons of one decision: by the rule in force, or by the best policy at the time of asking."""

    action: Any
    probability: float
    by: str  # "rule"; "majority" or "exploration" against it; "baseline", which decided alone; or "no choice"
    rule: Any  # the action of the rule
    path: tuple[str, ...]  # tests on the way to the part of the rule that holds here; () for a policy of another kind
    nearest: FeatureChange | None  # the least change of one feature that would alter the rule's action
    rivals: Mapping[Any, float]  # by action, how much more the best policy that plays it here has cost, by estimates
    chance: float  # how much of that is within chance: the standard error of the best policy's total
    policy: Any  # the rule

    @property
    def disputed(self) -> tuple[Any, ...]:
        """The actions of other policies here that are, up to chance, as good as that of the best policy."""
        return tuple(action for action, more in self.rivals.items() if more <= self.chance)

    def __str__(self) -> str:
        reasons = {
            "rule": f"the rule plays {self.rule} here",
            "majority": f"most of the weight is on policies that play it here, and the best policy plays {self.rule}",
            "exploration": f"to explore: the rule plays {self.rule} here",
            "baseline": f"the baseline decided alone, and the rule plays {self.rule} here",
            "no choice": f"nothing else was available, and the rule plays {self.rule} here",
        }
        where = f" ({' and '.join(self.path)})" if self.path else ""
        lines = [f"{self.action} (probability {self.probability:.3g}): {reasons[self.by]}{where}."]
        it = "the best policy" if self.by == "majority" else "it"
        change = "No change of a single feature would alter that."
        if self.nearest is not None:
            change = f"With {self.nearest.words} {it} would play {self.nearest.action}."
        others = " or ".join(map(str, self.disputed))
        play = f"Other {_AS_GOOD} {others}" if self.disputed else f"All {_AS_GOOD} {self.rule}"
        return "\n".join([*lines, change, f"{play} here."])


def explained(made: Any, rounds: Any) -> Why:
    """Return the reasons of a decision of the rounds."""
    oracle, learner, reader = rounds.allowed(), rounds.learner, rounds.reader
    names, context = reader.actions, reader.read_row(made.context)
    numbers = np.array(context.numbers, dtype=float)
    row = int(rounds.oracle.rows(numbers)[0])
    policy, judged = learner.policy(oracle), learner.judged(oracle)
    if made.rule_number is not None:
        policy = rounds.in_force.policy(made.rule_number)
    every = learner.ledger.totals(oracle.n_contexts, oracle.n_actions)
    chance = learner.certificate_error(oracle) * np.sqrt(judged.sum() / every.sum() if every.any() else 1)
    profile = oracle.profile(judged, row)
    own = int(policy.predict(numbers)[0])
    if made.action == names[own]:
        by = "rule"
    elif sum(probability > 0 for probability in made.probabilities) == 1:
        hidden = "exploration" if learner.hides_law else ""  # what it explores is drawn before its law
        by = hidden or ("no choice" if rounds.settings["baseline"] is None else "baseline")
    else:
        by = "majority" if made.probability > 0.5 else "exploration"
    nearest = _nearest(policy, reader, context.features, own, oracle.contexts)
    more = {names[a]: float(v) for a, v in enumerate(profile - profile.min()) if a != own and np.isfinite(v)}
    shown = reader.show(policy)
    path = shown.ways().get(int(policy.apply(numbers)[0]), ()) if hasattr(shown, "ways") else ()
    return Why(made.action, made.probability, by, names[own], path, nearest, more, chance, shown)


def _nearest(
    policy: Any, reader: ContextReader, features: Sequence[Value], played: int, known: Any
) -> FeatureChange | None:
    """Return the least change of one feature for which a policy plays another action than ``played``."""
    found: list[FeatureChange] = []
    for i, value in enumerate(features):
        name = reader.names[i] if reader.names else f"x{i}"
        candidates = _candidates(value, reader.declared.get(name, ()), reader.cut_points(i, policy, known))
        tried = sorted(candidates, key=itemgetter(2, 3))
        rows = [reader.read_row([*features[:i], other, *features[i + 1 :]]).numbers for other, *_ in tried]
        actions = policy.predict(np.array(rows, dtype=float)[:, 0]).tolist() if rows else []
        for (_, words, steps, _), action in zip(tried, actions, strict=True):
            if action != played:
                found.append(FeatureChange(name, f"{name_in_words(name)} {words}", reader.actions[action], steps))
                break
    return min(found, key=lambda change: change.steps, default=None)


def _candidates(
    value: Value, declared: Sequence[Value], cuts: Sequence[float]
) -> Iterator[tuple[Value, str, int, float]]:
    """Yield values of one feature that may alter what the rule plays: each in words, with its steps and distance."""
    for other in declared:
        if other != value:
            # a number that is not known any more is farther than every other number
            far = MOST_VALUES if other is None and kinds_of([value]) == {"number"} else 1
            yield other, "is missing" if other is None else f"= {in_words(other)}", far, 0.0
    for place, cut in enumerate(cuts):
        above, below = nextafter(cut, inf), nextafter(cut, -inf)
        if value is None:
            yield above, f"> {written(cut)}", 1, float(place)
            yield cut, f"<= {written(cut)}", 1, float(place)
            continue
        here = float(value)
        steps = sum(min(here, cut) < each < max(here, cut) for each in cuts) + 1
        sides = ((cut, ">=", cut > here), (above, ">", cut >= here), (cut, "<=", cut < here), (below, "<", cut <= here))
        yield from ((other, f"{sign} {written(cut)}", steps, abs(other - here)) for other, sign, far in sides if far)
