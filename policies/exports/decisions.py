"""A rule as nested decisions, the common form from which plain data, SQL and Python source are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from milpcb.core.decimals import written
from milpcb.data.columns import HOLDS, Column, Membership, Number, Reached, name_in_words
from policies.names import Names


@dataclass(frozen=True)
class Test:
    """The comparison of a feature with a number; ``sign`` is "<=", ">" or ">=", ``binary``: the feature is 0 or 1."""

    feature: int
    sign: str
    cut: float
    binary: bool = False


@dataclass(frozen=True)
class AllOf:
    """All of the conditions hold; there is at least one of them."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf:
    """At least one of the conditions holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Term:
    """``weight`` times a feature, or times the number of ``steps`` at or below it."""

    weight: float
    feature: int
    steps: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Reaches:
    """The sum of the terms is ``cut`` or more."""

    terms: tuple[Term, ...]
    cut: float


Condition = Test | AllOf | AnyOf | Reaches


@dataclass(frozen=True)
class If:
    """One decision where a condition holds, another elsewhere."""

    condition: Condition
    yes: Decision
    no: Decision


Decision = If | int  # an int is the number of the action that is played


def chain_of(conditions: Sequence[Condition], actions: Sequence[int]) -> Decision:
    """Return "if condition 0: action 0, else if condition 1: action 1, ..., else: the last action"."""
    decision: Decision = actions[-1]
    for condition, action in zip(reversed(conditions), reversed(actions[:-1]), strict=True):
        decision = If(condition, action, decision)
    return decision


def in_words(condition: Condition, names: Names) -> str:
    """Return a condition in words, two bounds of a feature as one; sums have none."""
    if isinstance(condition, Test):
        return names.column(condition.feature).test(condition.sign, condition.cut, binary=condition.binary)
    if not isinstance(condition, AllOf):
        return "\nor ".join(in_words(part, names) for part in condition.parts)  # type: ignore[union-attr]
    texts = []
    for feature, bounds in groupby(condition.parts, attrgetter("feature")):
        low, *high = bounds
        texts.append(names.between(feature, low.cut, high[0].cut) if high else in_words(low, names))  # type: ignore[union-attr]
    return " and ".join(texts)


def tested(decision: Decision) -> frozenset[int]:
    """Return the features that a decision depends on."""
    return frozenset(cut_points(decision))


def cut_points(decision: Decision) -> dict[int, tuple[float, ...] | None]:
    """Return the numbers that each feature is compared with, sorted; None for a feature whose value itself counts."""
    found: dict[int, set[float] | None] = {}
    for feature, cuts in _compared(decision):
        known = found.setdefault(feature, set())
        found[feature] = None if known is None or cuts is None else known.union(cuts)
    return {feature: None if cuts is None else tuple(sorted(cuts)) for feature, cuts in found.items()}


def _compared(part: Decision | Condition) -> Iterator[tuple[int, tuple[float, ...] | None]]:
    if isinstance(part, Test):
        yield part.feature, (part.cut,)
    elif isinstance(part, Reaches):
        yield from ((term.feature, term.steps) for term in part.terms)
    elif not isinstance(part, int):
        for each in (part.condition, part.yes, part.no) if isinstance(part, If) else part.parts:
            yield from _compared(each)


OPPOSITE = {"<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True)
class WayStep:
    """A condition on the way to a part, in words; ``bound`` is (column, sign, cut) if missing values fail it."""

    words: str
    bound: tuple[str, str, float] | None = None

    def implies(self, other: WayStep) -> bool:
        """Return whether one bound implies another of the same column: above 7 implies above 6."""
        if self.bound is None or other.bound is None or self.bound[:2] != other.bound[:2]:
            return False
        _, sign, cut = self.bound
        return cut <= other.bound[2] if sign == "<=" else cut >= other.bound[2]


def ways_of(decision: Decision, names: Names, way: tuple[WayStep, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the conditions on the way to each part, in words, without those that a later one implies."""
    if not isinstance(decision, If):
        yield tuple(step.words for step in way)
        return
    for below, holds in ((decision.yes, True), (decision.no, False)):
        step = step_of(decision.condition, names, holds=holds)
        yield from ways_of(below, names, (*(earlier for earlier in way if not step.implies(earlier)), step))


def step_of(condition: Condition, names: Names, *, holds: bool) -> WayStep:
    """Return the step that a condition holds, or fails."""
    if isinstance(condition, (AllOf, AnyOf)) and len(condition.parts) == 1:
        return step_of(condition.parts[0], names, holds=holds)
    words = in_words(condition, names)
    if not isinstance(condition, Test):
        return WayStep(words if holds else f"not ({words})")
    column, sign = names.column(condition.feature), condition.sign if holds else OPPOSITE[condition.sign]
    if isinstance(column, Number) and sign in ("<=", ">") and not condition.binary:
        words = f"{name_in_words(column.name)} {'up to' if sign == '<=' else 'above'} {written(condition.cut)}"
        if column.missing is not None and HOLDS[sign](column.missing, condition.cut):
            return WayStep(f"{words} or missing")
        return WayStep(words, (column.name, sign, condition.cut))
    name, equals, value = words.rpartition(" = ")
    return WayStep(words if holds else f"{name} other than {value}" if equals else f"not ({words})")


Part = tuple[list[dict[str, Any]], int]


def parts_of(decision: Decision, names: Names, when: tuple[dict[str, Any], ...] = ()) -> Iterator[Part]:
    """Yield the conditions that all hold in a part, and its action, in the order in which rules are printed.

    A condition is one of ``{"column", "sign", "cut"}``, with ``"missing"``, whether it holds where the number is
    missing, if one may be; ``{"column", "in"}`` or ``{"column", "not_in"}`` with values, null being missing;
    ``{"all"}`` or ``{"any"}`` of several; ``{"not"}`` of one; ``{"sum", "at_least"}`` of terms ``{"weight", "column",
    "steps"}``: a weight times a number, or times how many ``steps`` are at or below it.
    """
    if not isinstance(decision, If):
        yield list(when), decision
        return
    yield from parts_of(decision.yes, names, (*when, stated(decision.condition, names)))
    yield from parts_of(decision.no, names, (*when, stated(decision.condition, names, holds=False)))


def stated(condition: Condition, names: Names, *, holds: bool = True) -> dict[str, Any]:
    """Return a condition of columns, or its negation, as plain data; see ``parts_of``."""
    if isinstance(condition, Test):
        return _tested(names.column(condition.feature), condition, holds=holds)
    if isinstance(condition, Reaches):
        terms = [_term(term, names.column(term.feature)) for term in condition.terms]
        found: dict[str, Any] = {"sum": terms, "at_least": condition.cut}
    else:
        word = "all" if isinstance(condition, AllOf) else "any"
        found = {word: [stated(part, names) for part in condition.parts]}
    return found if holds else {"not": found}


def _tested(column: Column, test: Test, *, holds: bool) -> dict[str, Any]:
    if isinstance(column, Number):
        found = {"column": column.name, "sign": test.sign if holds else OPPOSITE[test.sign], "cut": test.cut}
        if column.missing is not None:
            found["missing"] = HOLDS[test.sign](column.missing, test.cut) == holds
        return found
    inside = HOLDS[test.sign](column.inside, test.cut) == holds
    if isinstance(column, Reached):
        return {"column": column.name, "sign": ">=" if inside else "<", "cut": column.cut, "missing": not inside}
    return {"column": column.name, "in" if inside else "not_in": list(column.values)}


def _term(term: Term, column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {"weight": term.weight, "column": column.name}
    if isinstance(column, Membership):
        return found | {"in" if column.inside else "not_in": list(column.values)}
    if isinstance(column, Reached):
        return found | {"steps": [column.cut]}
    if column.missing is not None:
        found["missing"] = column.missing
    return found | ({} if term.steps is None else {"steps": list(term.steps)})


def steps_of(term: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the comparisons that a term with ``steps`` counts."""
    for step in term["steps"]:
        missing = {"missing": HOLDS[">="](term["missing"], step)} if "missing" in term else {}
        yield {"column": term["column"], "sign": ">=", "cut": step, **missing}
