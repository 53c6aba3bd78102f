"""Decisions as the source of a Python function that needs no import."""

from collections.abc import Mapping, Sequence
from keyword import iskeyword
from math import inf
from typing import Any

from milpcb.core.checks import LARGEST
from milpcb.core.text import identifier
from milpcb.data.columns import Value
from milpcb.data.fields import NOTHING, NULLS, Field
from milpcb.errors import InputError
from policies.exports.decisions import Decision, stated, steps_of, tested
from policies.names import Names

HEAD = '''\
def {name}(row):
    """Return the action of one row, a mapping from names of columns to values; None, NaN, NA and marks are missing.

    Raises ValueError on what cannot be a value of its column, and where one is missing that never was. A string that is
    not known is like any other, unless only case or blanks make it differ from a known one or from a mark.
    """

    def plain(text):
        return " ".join(text.split()).casefold()

    def read(column, kind, missing, marks=(), known=()):
        value = row[column]
        lost = type(value).__name__ in {nothing}
        value = value.item() if hasattr(value, "item") and not lost else value
        if lost or value is None or value != value or value in marks:
            fits, value = missing, None
        elif kind == "text":
            fits = isinstance(value, str)
            if fits and value not in known and plain(value) in [*{nulls}, *[plain(text) for text in known]]:
                raise ValueError(f"column {{column!r}} is {{value!r}}, another spelling of a known string or of none")
        else:
            fits = hasattr(value, "__float__") and (kind not in ("number", "code") or not isinstance(value, bool))
            value = float(value) if fits and kind != "code" else value
            most = 2**53 - 1 if kind == "code" and isinstance(value, float) else {largest}
            fits = fits and (value in (0, 1) if kind == "truth" else abs(value) <= most)
        if not fits:
            raise ValueError(f"column {{column!r}} is {{value!r}}, which is no {{kind}} as when the policy was learnt")
        return value

'''
INFINITE = {inf: "1e999", -inf: "-1e999"}  # which have no name in Python without an import
# By the source itself, or by Python.
USED = ("__debug__", "abs", "bool", "float", "hasattr", "isinstance", "str", "type", "ValueError")


def python_source(decision: Decision, names: Names, actions: Sequence[Value], name: str = "decide") -> str:
    """Return the source of a function, see Rule.to_python; raises InputError where ``name`` cannot be its name."""
    if not (isinstance(name, str) and name.isidentifier()) or iskeyword(name) or identifier(name) in USED:
        raise InputError(f"name must be one that a Python function can have, got {name!r}")
    fields = {names.column(i).name: names.field(i) for i in sorted(tested(decision))}
    variables = {column: f"x{i}" for i, column in enumerate(fields)}
    lines = [HEAD.format(name=name, largest=repr(LARGEST), nothing=NOTHING, nulls=["", *sorted(NULLS)])]
    lines += [f"    {variables[column]} = {_reading(field)}  # {field.words()}\n" for column, field in fields.items()]
    lines += _Writer(names, fields, actions, variables).lines(decision, "    ")
    return "".join(lines)


def _reading(field: Field) -> str:
    options = {"marks": field.marks, "known": tuple(v for v in field.values if v is not None) if field.texts else ()}
    given = "".join(f", {option}=({_listed(values)},)" for option, values in options.items() if values)
    return f"read({field.name!r}, {_kind(field)!r}, {field.missing!r}{given})"


def _listed(values: Sequence[Value]) -> str:
    return ", ".join(INFINITE[value] if value in INFINITE else repr(value) for value in values)


def _kind(field: Field) -> str:
    if field.kind == "boolean":
        return "truth"
    if not field.is_number:
        return "text" if field.texts else "code"
    return "number or truth" if field.takes_truth else "number"


class _Writer:
    def __init__(
        self, names: Names, fields: Mapping[str, Field], actions: Sequence[Value], variables: Mapping[str, str]
    ) -> None:
        self._names, self._fields, self._actions, self._variables = names, fields, actions, variables

    def lines(self, decision: Decision, indent: str) -> list[str]:
        """Return the statements of a decision."""
        if isinstance(decision, int):
            return [f"{indent}return {self._actions[decision]!r}\n"]
        head = f"{indent}if {self._condition(stated(decision.condition, self._names))}:\n"
        return [head, *self.lines(decision.yes, indent + "    "), *self.lines(decision.no, indent)]

    def _condition(self, found: Mapping[str, Any]) -> str:
        if "sum" in found:
            score = " + ".join(self._term(term) for term in found["sum"])
            return f"{score} >= {found['at_least']!r}"
        if "column" in found:
            return self._test(found)
        ((word, parts),) = found.items()
        return f"({(' and ' if word == 'all' else ' or ').join(self._condition(part) for part in parts)})"

    def _test(self, found: Mapping[str, Any]) -> str:
        x = self._variables[found["column"]]
        if "sign" in found:
            test = f"{x} {found['sign']} {found['cut']!r}"
            if found.get("missing"):
                return f"({x} is None or {test})"
            return f"({x} is not None and {test})" if self._fields[found["column"]].missing else test
        word, values = ("", found["in"]) if "in" in found else ("not ", found["not_in"])
        return f"{x} is {word}None" if values == [None] else f"{x} {word}in {tuple(values)!r}"

    def _term(self, term: Mapping[str, Any]) -> str:
        if "in" in term or "not_in" in term:
            points = self._test(term)
        elif "steps" in term:
            points = " + ".join(f"({self._test(step)})" for step in steps_of(term))
        else:
            x = self._variables[term["column"]]
            points = f"({term['missing']!r} if {x} is None else {x})" if "missing" in term else x
        return f"{term['weight']!r} * ({points})"
