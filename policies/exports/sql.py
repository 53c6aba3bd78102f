"""Decisions as an SQL expression, in the subset that all databases know."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

from milpcb.core.checks import LARGEST, MOST
from milpcb.data.columns import Value
from milpcb.data.fields import NULLS, Field
from milpcb.errors import InputError
from policies.exports.decisions import Decision, If, stated, steps_of, tested
from policies.names import Names

TRUE, FALSE = ("1", "1.0", "true"), ("0", "0.0", "false")  # as databases write it
WIDEST = 64  # binary digits of the widest floats of processors
LARGEST_POWER = 2**62  # of two, among 64-bit integers
SMALL = 2**24  # integers below it are the same in every type of number


def sql_expression(decision: Decision, names: Names, actions: Sequence[Value]) -> str:
    """Return a CASE expression, see Rule.to_sql, after comments on the columns.

    It is NULL too for a string that differs from a known one in case and outer blanks alone.
    """
    fields = {names.column(i).name: names.field(i) for i in sorted(tested(decision))}
    lines = _Writer(names, fields, actions).decision(decision)
    if wrong := [test for field in fields.values() for test in _wrong(field)]:
        lines[1:1] = [f"  WHEN {' OR '.join(wrong)} THEN NULL"]
    return "\n".join([*(f"-- {field.words()}" for field in fields.values() if names.fields), *lines])


def _wrong(field: Field) -> Iterator[str]:
    """Yield the conditions of a value that ``predict`` refuses, as far as SQL can test it."""
    if not field.missing:
        yield f"{_known(field)} IS NULL"
    if field.is_number:  # NaN is in no range either, or beyond all numbers
        yield f"{_known(field)} NOT BETWEEN -{LARGEST:g} AND {LARGEST:g}"
    if field.kind == "boolean":
        yield f"{_word(_known(field))} NOT IN ({_listed((*TRUE, *FALSE))})"
    if known := [value for value in field.values if isinstance(value, str) and "\0" not in value]:
        spelt = sorted({*NULLS, *(value.strip().lower() for value in known)} - {""})
        yield f"(LOWER(TRIM({_known(field)})) IN ({_listed(spelt)}) AND {_known(field)} NOT IN ({_listed(known)}))"


def _listed(values: Iterable[Value]) -> str:
    return ", ".join(map(literal, values))


def _word(name: str) -> str:
    """Return truth as text: databases have it as a type of its own, as an integer, or as a float."""
    return f"CAST({name} AS VARCHAR)"


def _known(field: Field) -> str:
    """Return the value of a column, NULL where it is a mark of a missing one, which is a number among numbers only."""
    known = _quoted(field.name, '"')
    for mark in field.marks if field.kind != "boolean" else ():
        if isinstance(mark, str) if field.texts else not isinstance(mark, str) and abs(cast("float", mark)) <= LARGEST:
            known = f"NULLIF({known}, {literal(mark)})"
    return known


def _after(head: str, lines: list[str]) -> list[str]:
    return [f"{head} {lines[0]}"] if len(lines) == 1 else [head, *(f"    {line}" for line in lines)]


class _Writer:
    """Writes conditions that are true where they hold; elsewhere they are false or NULL, which WHEN takes alike."""

    def __init__(self, names: Names, fields: Mapping[str, Field], actions: Sequence[Value]) -> None:
        self._names, self._fields, self._actions = names, fields, actions

    def decision(self, decision: Decision) -> list[str]:
        """Return a literal, or a CASE with a line for each of a chain of conditions.

        Lines are indented before they are joined: a name or category may hold line breaks of its own.
        """
        if isinstance(decision, int):
            return [literal(self._actions[decision])]
        lines = ["CASE"]
        while isinstance(decision, If):
            head = f"  WHEN {self._condition(stated(decision.condition, self._names))} THEN"
            lines += _after(head, self.decision(decision.yes))
            decision = decision.no
        return [*lines, *_after("  ELSE", self.decision(decision)), "END"]

    def _condition(self, found: Mapping[str, Any]) -> str:
        if "sum" in found:
            score = " + ".join(self._term(term) for term in found["sum"])
            return f"{score} >= {literal(float(found['at_least']))}"
        if "sign" in found:
            known = _known(self._fields[found["column"]])
            test = _compared(known, found["sign"], found["cut"])
            return f"({test} OR {known} IS NULL)" if found.get("missing") else test
        if "column" in found:
            return self._among(found)
        ((word, every),) = found.items()
        parts = [self._condition(part) for part in every]
        return parts[0] if len(parts) == 1 else f"({(' AND ' if word == 'all' else ' OR ').join(parts)})"

    def _among(self, found: Mapping[str, Any]) -> str:
        word, values = ("IN", found["in"]) if "in" in found else ("NOT IN", found["not_in"])
        known = _known(self._fields[found["column"]])
        listed = [value for value in values if value is not None]
        if not listed:
            return f"{known} IS {'' if word == 'IN' else 'NOT '}NULL"
        if None not in values:  # then a mark is like any other value
            known = _quoted(found["column"], '"')
        among = known
        if all(isinstance(value, bool) for value in listed):
            among, listed = _word(known), [text for value in listed for text in (TRUE if value else FALSE)]
        among = f"{among} {word} ({_listed(listed)})"
        return f"({among} OR {known} IS NULL)" if (None in values) == (word == "IN") else among

    def _term(self, term: Mapping[str, Any]) -> str:
        """Return weight * points as floats, so that small types of integers do not overflow."""
        if "in" in term or "not_in" in term:
            points = f"CASE WHEN {self._among(term)} THEN 1 ELSE 0 END"
        elif "steps" in term:
            tests = (self._condition(step) for step in steps_of(term))
            points = " + ".join(f"CASE WHEN {test} THEN 1 ELSE 0 END" for test in tests)
        else:
            number = _known(self._fields[term["column"]])
            if "missing" in term:
                number = f"COALESCE({number}, {literal(term['missing'])})"
            points = f"CAST({number} AS DOUBLE PRECISION)"
        return f"{literal(float(term['weight']))} * ({points})"


def _compared(number: str, sign: str, cut: float) -> str:
    number = number if abs(cut) < MOST else f"CAST({number} AS DOUBLE PRECISION)"
    return f"{number} {sign} {literal(float(cut))}"


def literal(value: Value) -> str:
    """Return a value in SQL: strings quoted, truth as 1 and 0, numbers so that they are read as exactly this float."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return _quoted(value, "'")
    if isinstance(value, int):
        return str(int(value))
    if value == int(value) and abs(value) < SMALL:
        return str(int(value))
    if not _read_alike(value):
        return _quotient(value)
    text = repr(value)  # with an exponent it is a float: without, databases would compare decimals, or exact integers
    return text if "e" in text else f"{text}e0"


def _read_alike(value: float) -> bool:
    """Return whether SQLite too, which rounds twice, to 64 digits and then to 53, reads a decimal as this float."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    del sign
    if not isinstance(exponent, int) or abs(exponent) > 22:
        return False
    exact = Fraction(int("".join(map(str, digits)))) * Fraction(10) ** exponent
    shift = WIDEST - exact.numerator.bit_length() + exact.denominator.bit_length()
    wide = round(exact * Fraction(2) ** shift)
    if wide.bit_length() > WIDEST:
        shift -= 1
        wide = round(exact * Fraction(2) ** shift)
    return float(Fraction(wide) / Fraction(2) ** shift) == abs(value)


def _quotient(value: float) -> str:
    """Return a float as an integer times or over powers of two, each of which every database reads exactly."""
    number, below = value.as_integer_ratio()
    above = number & -number
    number //= above
    return f"({number}e0{_by(' * ', above)}{_by(' / ', below)})"


def _by(sign: str, power: int) -> str:
    largest, left = divmod(power.bit_length() - 1, LARGEST_POWER.bit_length() - 1)
    factors = [LARGEST_POWER] * largest + [2**left] * (left > 0)
    return "".join(f"{sign}{factor}e0" for factor in factors)


def _quoted(text: str, quote: str) -> str:
    if "\0" in text:
        raise InputError("a name or category has a zero character, which SQL cannot hold; rename it")
    return f"{quote}{text.replace(quote, quote * 2)}{quote}"
