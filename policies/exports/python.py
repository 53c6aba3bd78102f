"""Decisions as the source of a Python function that needs no import."""

from collections.abc import Sequence
from keyword import iskeyword
from math import inf

from milpcb.core.checks import LARGEST
from milpcb.core.text import identifier
from milpcb.data.columns import HOLDS, Column, Indicator, Number, Reached, Value
from milpcb.data.fields import NOTHING, NULLS, Field
from milpcb.errors import InputError
from policies.exports.decisions import AllOf, Condition, Decision, Reaches, Term, Test, tested
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
    fields = dict.fromkeys(names.field(i) for i in sorted(tested(decision)))
    variables = {field.name: f"x{i}" for i, field in enumerate(fields)}
    lines = [HEAD.format(name=name, largest=repr(LARGEST), nothing=NOTHING, nulls=["", *sorted(NULLS)])]
    lines += [f"    {variables[field.name]} = {_reading(field)}  # {field.words()}\n" for field in fields]
    lines += _Writer(names, actions, variables).lines(decision, "    ")
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
    def __init__(self, names: Names, actions: Sequence[Value], variables: dict[str, str]) -> None:
        self._names, self._actions, self._variables = names, actions, variables

    def lines(self, decision: Decision, indent: str) -> list[str]:
        """Return the statements of a decision."""
        if isinstance(decision, int):
            return [f"{indent}return {self._actions[decision]!r}\n"]
        head = f"{indent}if {self._condition(decision.condition)}:\n"
        return [head, *self.lines(decision.yes, indent + "    "), *self.lines(decision.no, indent)]

    def _condition(self, condition: Condition) -> str:
        if isinstance(condition, Test):
            return self._test(self._names.column(condition.feature), condition.sign, condition.cut)
        if isinstance(condition, Reaches):
            score = " + ".join(self._term(term) for term in condition.terms)
            return f"{score} >= {condition.cut!r}"
        word = " and " if isinstance(condition, AllOf) else " or "
        return f"({word.join(self._condition(part) for part in condition.parts)})"

    def _test(self, column: Column, sign: str, cut: float) -> str:
        x = self._variables[column.name]
        if not isinstance(column, Number):
            inside, outside = HOLDS[sign](column.inside, cut), HOLDS[sign](1 - column.inside, cut)
            return self._holds(column, holds=inside) if inside != outside else str(inside)
        test = f"{x} {sign} {cut!r}"
        if column.missing is None:
            return test
        return f"({x} is None or {test})" if HOLDS[sign](column.missing, cut) else f"({x} is not None and {test})"

    def _holds(self, column: Indicator, *, holds: bool) -> str:
        x = self._variables[column.name]
        if isinstance(column, Reached):
            reached = f"({x} is not None and {x} >= {column.cut!r})"
            return reached if holds else f"not {reached}"
        if column.values == (None,):
            return f"{x} is {'' if holds else 'not '}None"
        return f"{x} {'in' if holds else 'not in'} {column.values!r}"

    def _term(self, term: Term) -> str:
        column = self._names.column(term.feature)
        if not isinstance(column, Number):
            points = self._holds(column, holds=column.inside == 1)
        elif term.steps is not None:
            points = " + ".join(f"({self._test(column, '>=', step)})" for step in term.steps)
        else:
            x = self._variables[column.name]
            points = x if column.missing is None else f"({column.missing!r} if {x} is None else {x})"
        return f"{term.weight!r} * ({points})"
