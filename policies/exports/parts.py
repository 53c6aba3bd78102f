"""The parts of a rule as plain data, for programs in other languages: the conditions of each, and its action."""

from collections.abc import Iterator
from typing import Any

from milpcb.data.columns import HOLDS, Column, Membership, Number, Reached
from policies.exports.decisions import AllOf, AnyOf, Condition, Decision, If, Reaches, Term, Test
from policies.names import Names

OPPOSITE = {"<=": ">", ">": "<=", ">=": "<"}
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
    yield from parts_of(decision.yes, names, (*when, _stated(decision.condition, names, holds=True)))
    yield from parts_of(decision.no, names, (*when, _stated(decision.condition, names, holds=False)))


def _stated(condition: Condition, names: Names, *, holds: bool) -> dict[str, Any]:
    if isinstance(condition, Test):
        return _tested(names.column(condition.feature), condition, holds=holds)
    if isinstance(condition, (AllOf, AnyOf)):
        word = "all" if isinstance(condition, AllOf) else "any"
        stated: dict[str, Any] = {word: [_stated(part, names, holds=True) for part in condition.parts]}
    else:
        stated = _reached(condition, names)
    return stated if holds else {"not": stated}


def _tested(column: Column, test: Test, *, holds: bool) -> dict[str, Any]:
    if isinstance(column, Number):
        stated = {"column": column.name, "sign": test.sign if holds else OPPOSITE[test.sign], "cut": test.cut}
        if column.missing is not None:
            stated["missing"] = HOLDS[test.sign](column.missing, test.cut) == holds
        return stated
    inside = HOLDS[test.sign](column.inside, test.cut) == holds
    if isinstance(column, Reached):
        return {"column": column.name, "sign": ">=" if inside else "<", "cut": column.cut, "missing": not inside}
    return {"column": column.name, "in" if inside else "not_in": list(column.values)}


def _reached(condition: Reaches, names: Names) -> dict[str, Any]:
    return {"sum": [_term(term, names.column(term.feature)) for term in condition.terms], "at_least": condition.cut}


def _term(term: Term, column: Column) -> dict[str, Any]:
    stated: dict[str, Any] = {"weight": term.weight, "column": column.name}
    if isinstance(column, Membership):
        return stated | {"in" if column.inside else "not_in": list(column.values)}
    if isinstance(column, Reached):
        return stated | {"steps": [column.cut]}
    if column.missing is not None:
        stated["missing"] = column.missing
    return stated | ({} if term.steps is None else {"steps": list(term.steps)})
