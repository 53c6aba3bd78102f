"""The base classes of readable policies: they predict, print, are drawn, and go to JSON and back."""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence, Set
from dataclasses import replace
from html import escape
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milpcb.core.checks import cost_array, several
from milpcb.core.decimals import in_32_bits, snapped, written
from milpcb.data.columns import Column, Value
from milpcb.data.schema import Schema
from milpcb.errors import InputError, LogWarning, clipped, needs, shown
from milpcb.types import Floats, Ints
from policies.documents import FORMAT, check_sound, plain, read, read_fields
from policies.drawing import LeafSummary, draw_tree, drawn, fan, figure, svg
from policies.exports.decisions import (
    Condition,
    Decision,
    chain_of,
    cut_points,
    in_words,
    parts_of,
    tested,
    ways_of,
)
from policies.exports.python import python_source
from policies.exports.sql import sql_expression
from policies.names import Names

if TYPE_CHECKING:
    import networkx as nx


class Rule(ABC):
    """A policy that divides contexts into parts, numbered in the order of printing, with an action for each.

    A subclass is a frozen dataclass with a field ``names``; its other fields are numbers, strings, None and dataclasses
    and tuples of them (see ``read``), or it overrides ``_plain`` and ``_from_plain``.
    """

    names: Names

    @property
    @abstractmethod
    def leaf_actions(self) -> tuple[int, ...]:
        """The action of each part."""

    @property
    def n_features(self) -> int:
        """The least number of columns that contexts must have."""
        return 1 + max(tested(self._written()), default=0)

    @abstractmethod
    def _leaf(self, contexts: Floats) -> Ints:
        """Return the number of the part (n,) that each context (n, d) is in."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the rule in words: read literally, it gives every context the action that ``predict`` gives it."""

    def graph(self, leaves: Sequence[LeafSummary] | None = None) -> nx.DiGraph:
        """Return the rule as a rooted networkx graph with labels; leaves have ``action`` and ``part``."""
        if self._fan is not None:
            return fan(*self._fan, self.leaf_actions, self.names, leaves)
        return drawn(self._written(), self.names, leaves, lines=isinstance(self, ChainRule))

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,) numbers; of a data frame, the columns the rule names."""
        return np.array(self.leaf_actions, dtype=np.int64)[self.apply(contexts)]

    def predict_names(self, contexts: Any) -> list[str]:
        """Return the name of the action of each context; "action 0" and so on where actions were given no names."""
        given = self.names.actions
        return [given[a] if given else self.names.action(a) for a in self.predict(contexts).tolist()]

    def apply(self, contexts: Any) -> Ints:
        """Return the number of the part (n,) that each context (n, d) is in; ``leaf_actions`` has its action."""
        table = self._table(contexts)
        parts = self._leaf(table)
        if not (isinstance(contexts, np.ndarray) and contexts.dtype == np.float64):
            self._warn_of_rounded(table, parts)
        return parts

    def leaves(self, contexts: Any, costs: Any = None, counts: Any = None) -> list[LeafSummary]:
        """Return action, share and mean cost of each part, of ``costs`` (n, K); ``counts`` (n,) weigh contexts."""
        array = self._table(contexts)
        part, often = self._leaf(array), _often(counts, len(array))
        sizes = np.bincount(part, often, minlength=len(self.leaf_actions))
        means: list[float | None] = [None] * len(sizes)
        if costs is not None:
            width = np.shape(costs)[-1] if np.ndim(costs) else 0
            table = cost_array(costs, len(array), max(1 + max(self.leaf_actions), width))
            paid = table[np.arange(len(array)), np.array(self.leaf_actions)[part]]
            totals = np.bincount(part, often * paid, minlength=len(sizes))
            means = [
                total / size if size else None for total, size in zip(totals.tolist(), sizes.tolist(), strict=True)
            ]
        return [
            LeafSummary(action, self.names.action(action), size / often.sum(), mean)
            for action, size, mean in zip(self.leaf_actions, sizes.tolist(), means, strict=True)
        ]

    def decision(self) -> Decision | None:
        """Return the rule as nested decisions, from which source and drawing are made; None where it has none."""
        return None

    @property
    def _fan(self) -> tuple[str, list[str]] | None:
        """A title, and what holds in each part, of a rule that is drawn so; None for one of nested decisions."""
        return None

    def to_sql(self, actions: Sequence[Value] | None = None) -> str:
        """Return a CASE expression whose value is the action of a row: its name, or its number where it has none.

        NULL is a missing value; the action is NULL where a value is missing that never was, NaN or infinite. Numbers
        must be stored as numbers, and strings as strings. ``actions`` are other values to return, one for each action.
        """
        return sql_expression(self._written(), self.names, self._values(actions))

    def cut_points(self) -> dict[int, tuple[float, ...] | None] | None:
        """Return the numbers that each feature is compared with, None if its value counts; None without decisions."""
        decision = self.decision()
        return None if decision is None else cut_points(decision)

    def to_python(self, actions: Sequence[Value] | None = None, name: str = "decide") -> str:
        """Return the source of ``name(row)``, for a mapping, without imports; ValueError where ``predict`` raises."""
        return python_source(self._written(), self.names, self._values(actions), name)

    def parts(self) -> list[dict[str, Any]]:
        """Return each part as plain data, ``{"when": [conditions that all hold], "action": number}``, in their order.

        See policies.exports.decisions.parts_of for the conditions. Raises InputError where a part has several.
        """
        found = [{"when": when, "action": action} for when, action in parts_of(self._written(), self.names)]
        if tuple(part["action"] for part in found) != self.leaf_actions:
            raise InputError(f"the parts of a {type(self).__name__} have no single description each; take to_sql")
        return found

    def ways(self) -> dict[int, tuple[str, ...]]:
        """Return for each part the tests on the way to it, in words, without those that a later one implies."""
        ways = ways_of(self._written(), self.names) if self._fan is None else ((test,) for test in self._fan[1])
        return dict(enumerate(ways))

    @property
    def schema(self) -> Schema:
        """Kind of each column of the tables that the rule reads: ``print`` it; see milpcb.data.schema."""
        return self.names.schema

    def with_columns(self, schema: Schema, columns: Sequence[Column], actions: Sequence[str] = ()) -> Self:
        """Return the rule in a form that reads tables of a schema, from which ``columns`` are made."""
        names = Names(schema.names, tuple(actions), tuple(columns), schema.fields)
        return replace(self, names=names)  # type: ignore[type-var]  # every subclass is a dataclass

    def draw(self, axes: Any, leaves: Sequence[LeafSummary] | None = None) -> None:
        """Draw the rule on matplotlib axes; ``leaves`` adds shares and mean costs."""
        draw_tree(self.graph(leaves), axes)

    def figure(self, leaves: Sequence[LeafSummary] | None = None) -> Any:
        """Return a matplotlib figure of the necessary size, with the rule drawn on it; see ``draw``."""
        with needs("studies", "drawing a policy"):
            return figure(self.graph(leaves))

    def to_json(self) -> str:
        """Return the rule as JSON that ``policies.from_json`` reads."""
        return json.dumps(self.document(), ensure_ascii=False)

    def document(self) -> dict[str, Any]:
        """Return the content of ``to_json`` as plain data."""
        head = {"milpcb_policy": FORMAT, "class": type(self).__name__, "rules": str(self)}
        return {**head, "names": plain(self.names), "fields": self._plain()}

    def _values(self, actions: Sequence[Value] | None) -> Sequence[Value]:
        if actions is None:
            return self.names.actions or range(max(self.leaf_actions) + 1)
        listed = several("actions", actions, object, "values, one for each action, 0, 1, ...")
        given = [value.item() if isinstance(value, np.generic) else value for value in listed]
        last = max(self.leaf_actions)
        if len(given) <= last or not all(map(_is_written, given)) or isinstance(actions, Set):
            raise InputError(
                f"actions must be a value for each action, 0 to {last}, got {shown(actions)}; give a list of strings, "
                "booleans or finite numbers"
            )
        return given

    def _written(self) -> Decision:
        decision = self.decision()
        if decision is None:
            raise InputError(
                f"a {type(self).__name__} cannot be written as SQL or Python so that it always agrees with predict; "
                "take to_json, or another class of rules"
            )
        return decision

    def _table(self, contexts: Any) -> Floats:
        """Return the numbers that the rule reads; where they are made of columns, only those that it depends on."""
        decision = self.decision() if self.names.columns else None
        return self.names.table(contexts, self.n_features, None if decision is None else tested(decision))

    def _warn_of_rounded(self, table: Floats, parts: Ints) -> None:
        """Warn where numbers (n, d) of 32 bits lie on the other side of a cut, of which they are the nearest."""
        meant = snapped(table, self.cut_points() or {})
        if meant is not table and (rows := np.flatnonzero(self._leaf(meant) != parts)).size:
            feature = int(np.flatnonzero(meant[rows[0]] != table[rows[0]])[0])
            what = f"column '{clipped(self.names.column(feature).name)}' in row {rows[0]}"
            warnings.warn(in_32_bits(what, table[rows[0], feature], meant[rows[0], feature]), LogWarning, stacklevel=4)

    def _plain(self) -> dict[str, Any]:
        return {name: entry for name, entry in plain(self).items() if name != "names"}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the rule of ``document``; raises KeyError, TypeError or ValueError on other documents."""
        names = read(Names, document["names"])
        rule = cls._from_plain(document["fields"], names)
        check_sound(rule)
        if str(rule) != document["rules"]:
            raise ValueError("its text in 'rules' is not that of its other entries")
        return rule

    @classmethod
    def _from_plain(cls, data: dict[str, Any], names: Names) -> Self:
        return cls(**read_fields(cls, data, but="names"), names=names)  # type: ignore[call-arg]  # every rule has names

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>\n{self}"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>{svg(self.graph())}"


class ChainRule(Rule):
    """Play the action of the first test that holds, and the last action where none does."""

    @property
    @abstractmethod
    def _conditions(self) -> Sequence[Condition]:
        """The tests; there is one action more."""

    def decision(self) -> Decision:
        return chain_of(self._conditions, self.leaf_actions)

    def __str__(self) -> str:
        *plays, last = (f"play {self.names.action(action)}" for action in self.leaf_actions)
        if not plays:
            return last
        tests = [in_words(condition, self.names) for condition in self._conditions]
        rules = (f"if {test}:\n    {play}\n" for test, play in zip(tests, plays, strict=True))
        return "el".join(rules) + f"else:\n    {last}"


class ScoreRule(Rule):
    """Play the action whose number is that of the ``cuts`` (K-1,), increasing, at or below the score.

    Where no feature has a weight the score is 0. Scores are added up in float64. The parts of ``leaves`` are the ranges
    of the score that are not empty, as printed.
    """

    weights: tuple[float, ...]
    cuts: tuple[float, ...]
    names: Names

    @property
    def _used(self) -> list[int]:
        """The features that the score depends on."""
        return [i for i, weight in enumerate(self.weights) if weight]

    @property
    def _formula(self) -> list[str]:
        """Formula of the score, in lines: "score = +2*age -1*smoker"."""
        terms = ((self.weights[i], self._factor(i)) for i in self._used)
        parts = (f"{'-' if weight < 0 else '+'}{written(abs(weight))}*{factor}" for weight, factor in terms)
        return [f"score = {' '.join(parts)}"]

    def _factor(self, i: int) -> str:
        return self.names.feature(i)

    def decision(self) -> Decision | None:
        return None if self._used else self.leaf_actions[0]

    def _points(self, contexts: Floats) -> Floats:
        return contexts[:, : len(self.weights)]

    @property
    def n_features(self) -> int:
        return len(self.weights)

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        """The action of each range: of two the upper one first, of more from low to high."""
        cuts = self.cuts
        if not self._used:
            return (sum(cut <= 0 for cut in cuts),)
        if len(cuts) == 1:
            return (1, 0)
        return (0, *(a for a, (low, high) in enumerate(pairwise(cuts), 1) if low != high), len(cuts))

    def _leaf(self, contexts: Floats) -> Ints:
        scores = self._points(contexts) @ np.array(self.weights, dtype=float)
        actions = self.leaf_actions
        part = np.zeros(len(self.cuts) + 1, dtype=np.int64)
        part[list(actions)] = np.arange(len(actions))
        return np.asarray(part[np.searchsorted(self.cuts, scores, side="right")])

    def _range(self, action: int) -> str:
        cuts = [written(cut) for cut in self.cuts]
        if action == 0:
            return f"score < {cuts[0]}"
        return f"score >= {cuts[-1]}" if action == len(cuts) else f"{cuts[action - 1]} <= score < {cuts[action]}"

    def __str__(self) -> str:
        plays = [f"play {self.names.action(action)}" for action in self.leaf_actions]
        if not self._used:
            return plays[0]
        if len(self.cuts) == 1:
            return "\n".join([*self._formula, f"{plays[0]} if {self._range(1)}, else {plays[1]}"])
        ranges = map(self._range, self.leaf_actions)
        return "\n".join([*self._formula, *(f"{play} if {where}" for play, where in zip(plays, ranges, strict=True))])

    @property
    def _fan(self) -> tuple[str, list[str]] | None:
        return ("\n".join(self._formula), [self._range(a) for a in self.leaf_actions]) if self._used else None


def _often(counts: Any, n_contexts: int) -> Floats:
    often = np.ones(n_contexts) if counts is None else np.asarray(counts, dtype=float)
    if often.shape != (n_contexts,) or not (np.isfinite(often).all() and (often >= 0).all() and often.any()):
        raise InputError(f"counts must be {n_contexts} numbers, one a context, none negative and not all 0")
    return often


def _is_written(value: Any) -> bool:
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and isfinite(value))
