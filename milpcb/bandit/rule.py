"""The rule in force of a bandit: what it plays where it does not explore, published, exported and logged."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from time import time
from typing import Any

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.types import Floats, FoundPolicy


@dataclass(frozen=True)
class RuleInForce:
    """A rule that decisions follow, but where they explore: there each other action has the same probability.

    Attributes
    ----------
    number : 1 for the first rule, and 1 more for each that followed
    since : the number of the first decision, counted from 1, and ``date``, its time
    exploration : the probability of each other action
    policy : the rule itself
    actions : the names of the actions

    """

    number: int
    since: int
    date: datetime
    exploration: float
    policy: FoundPolicy
    actions: tuple[Any, ...]

    def weights(self, action: int) -> dict[str, float]:
        """Return the probability of each action, by name, where the rule plays ``action``."""
        own = 1.0 - (len(self.actions) - 1) * self.exploration
        return {str(name): own if i == action else self.exploration for i, name in enumerate(self.actions)}

    def to_json(self) -> str:
        """Return what a front end needs: number, date, and conditions and weights of each part, numbered from 0.

        See policies.exports.parts for the conditions. Raises InputError for rules whose parts have no description.
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


@dataclass(frozen=True)
class RuleChange:
    """An entry of the log: a rule came into force with decision ``since``, at ``made`` (Unix time).

    ``actions`` are what it plays on each of the known contexts.
    """

    number: int
    since: int
    made: float
    actions: list[int]


class RuleLog:
    """Which rule was in force when. It asks the oracle for a policy by what it plays on the known contexts."""

    def __init__(self, oracle: Any, learner: Any) -> None:
        self._oracle, self._learner = oracle, learner
        self._changes: list[RuleChange] = []
        self._leaves: list[int | None] = []  # of the known contexts, under the rule in force

    def look(self, row: int) -> tuple[int, int | None] | None:
        """Return the number of the rule that the learner has just followed, and the part that ``row`` is in."""
        number = getattr(self._learner, "rule_number", None)
        if number is None:
            return None
        if not self._changes or self._changes[-1].number != number:
            rule = self._learner.rule()
            actions = np.asarray(rule.policy.predict(self._oracle.contexts)).tolist()
            self._changes.append(RuleChange(number, rule.since, time(), actions))
            self._leaves = _leaves(rule.policy, self._oracle.contexts)
        return number, self._leaves[row]

    def rules(self) -> list[int]:
        """Return the numbers of all rules so far."""
        return [change.number for change in self._changes]

    def rule(self, number: int | None, show: Any, names: tuple[Any, ...]) -> RuleInForce:
        """Return the rule in force, or an earlier one by its number; raises InputError where there is none."""
        if not self._changes:
            raise InputError(
                'no rule is in force: make the bandit with learner="bistro_plus", future="once", noise="half" and '
                "contexts=..., and let it decide"
            )
        known = {change.number: change for change in self._changes}
        change = known.get(self._changes[-1].number if number is None else number)
        if change is None:
            raise InputError(f"there is no rule {number}: rules 1 to {self._changes[-1].number} have been in force")
        date = datetime.fromtimestamp(change.made, UTC)
        policy = show(self._policy_of(change))
        return RuleInForce(change.number, change.since, date, 1 / self._learner.scale, policy, names)

    def sentences(self) -> list[str]:
        """Return one sentence on the rule in force, none where there is none."""
        if not self._changes:
            return []
        last, other = self._changes[-1], 1 / self._learner.scale
        own = 1 - (self._oracle.n_actions - 1) * other
        since = f"{last.since:,}".replace(",", " ")
        words = f"its action is taken with probability {own:.3g}, each other one with {other:.3g}"
        return [f"Rule {last.number} is in force since decision {since}: {words}."]

    def state(self) -> list[dict[str, Any]]:
        """Return the log as plain data."""
        return [asdict(change) for change in self._changes]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Go on from a saved state."""
        self._changes = [RuleChange(**entry) for entry in state]
        for change in self._changes:
            whole("a rule", change.number, 1)
        if self._changes:
            self._leaves = _leaves(self._policy_of(self._changes[-1]), self._oracle.contexts)

    def _policy_of(self, change: RuleChange) -> FoundPolicy:
        table = np.ones((self._oracle.n_contexts, self._oracle.n_actions))
        table[np.arange(len(table)), change.actions] = 0.0
        return self._oracle.minimise(table).policy


def _leaves(policy: FoundPolicy, contexts: Floats) -> list[int | None]:
    """Return the part (m,) of each context; None for a policy of somebody's own that has no parts."""
    apply = getattr(policy, "apply", None)
    return [None] * len(contexts) if apply is None else np.asarray(apply(contexts)).tolist()
