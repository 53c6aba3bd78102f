"""Decisions as an SQL expression, in the subset that all databases know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from milpcb.core.checks import MOST
from milpcb.data.columns import HOLDS, Column, Indicator, Number, Reached, Value
from milpcb.data.fields import Field
from milpcb.errors import InputError
from policies.exports.decisions import AllOf, Condition, Decision, If, Reaches, Term, Test, tested
from policies.names import Names

ALWAYS, NEVER = "1 = 1", "1 = 0"
TRUE, FALSE = ("1", "1.0", "true"), ("0", "0.0", "false")  # as databases write it
WIDEST = 64  # binary digits of the widest floats of processors
LARGEST_POWER = 2**62  # of two, among 64-bit integers
SMALL = 2**24  # integers below it are the same in every type of number


def sql_expression(decision: Decision, names: Names, actions: Sequence[Value]) -> str:
    """Return a CASE expression whose value is the action of a row, one of ``actions``.

    Columns are quoted and named as in the tables that the policy reads; NULL is a missing value. Where a value is
    missing that never was when the policy was learnt, or is neither true nor false where it must be, the answer is
    NULL, as ``predict`` raises there. Databases convert types by their own rules: numbers must be stored as numbers,
    and strings as strings.
    """
    fields = dict.fromkeys(names.field(i) for i in sorted(tested(decision)))
    lines = _decision(decision, names, actions)
    if wrong := [test for field in fields for test in _wrong(field)]:
        lines = ["CASE", f"  WHEN {' OR '.join(wrong)} THEN NULL", "  ELSE", *(f"    {line}" for line in lines), "END"]
    return "\n".join(lines)


def _wrong(field: Field) -> Iterator[str]:
    """Yield the conditions of a value that ``predict`` refuses, as far as SQL can test it."""
    name = _quoted(field.name, '"')
    if not field.missing:
        yield f"{name} IS NULL"
    if field.kind == "boolean":
        yield f"{_word(name)} NOT IN ({', '.join(map(literal, (*TRUE, *FALSE)))})"


def _word(name: str) -> str:
    """Return truth as text: databases have it as a type of its own, as an integer, or as a float."""
    return f"CAST({name} AS VARCHAR)"


def _decision(decision: Decision, names: Names, actions: Sequence[Value]) -> list[str]:
    """Return a literal, or a CASE with a line for each of a chain of conditions.

    Lines are indented before they are joined: a name or category may hold line breaks of its own.
    """
    if isinstance(decision, int):
        return [literal(actions[decision])]
    lines = ["CASE"]
    while isinstance(decision, If):
        head = f"  WHEN {_condition(decision.condition, names)} THEN"
        lines += _after(head, _decision(decision.yes, names, actions))
        decision = decision.no
    return [*lines, *_after("  ELSE", _decision(decision, names, actions)), "END"]


def _after(head: str, lines: list[str]) -> list[str]:
    return [f"{head} {lines[0]}"] if len(lines) == 1 else [head, *(f"    {line}" for line in lines)]


def _condition(condition: Condition, names: Names) -> str:
    """Return a condition that is true where it holds; elsewhere it is false or NULL, which WHEN takes alike."""
    if isinstance(condition, Test):
        return _test(names.column(condition.feature), condition.sign, condition.cut)
    if isinstance(condition, Reaches):
        score = " + ".join(_term(term, names.column(term.feature)) for term in condition.terms)
        return f"{score} >= {literal(float(condition.cut))}"
    parts = [_condition(part, names) for part in condition.parts]
    word = " AND " if isinstance(condition, AllOf) else " OR "
    return parts[0] if len(parts) == 1 else f"({word.join(parts)})"


def _test(column: Column, sign: str, cut: float) -> str:
    if not isinstance(column, Number):
        inside, outside = HOLDS[sign](column.inside, cut), HOLDS[sign](1 - column.inside, cut)
        return _holds(column, holds=inside) if inside != outside else ALWAYS if inside else NEVER
    test = _compared(column, sign, cut)
    holds = column.missing is not None and HOLDS[sign](column.missing, cut)
    return f"({test} OR {_name(column)} IS NULL)" if holds else test


def _compared(column: Column, sign: str, cut: float) -> str:
    """Return the comparison of a number with a cut, as floats where integers would be compared exactly."""
    name = _name(column) if abs(cut) < MOST else f"CAST({_name(column)} AS DOUBLE PRECISION)"
    return f"{name} {sign} {literal(float(cut))}"


def _holds(column: Indicator, *, holds: bool) -> str:
    """Return the condition of a column, or its opposite; see ``_condition``."""
    name, word = _name(column), "IN" if holds else "NOT IN"
    if isinstance(column, Reached):
        return (
            _compared(column, ">=", column.cut)
            if holds
            else f"({_compared(column, '<', column.cut)} OR {name} IS NULL)"
        )
    listed = [value for value in column.values if value is not None]
    if not listed:
        return f"{name} IS {'' if holds else 'NOT '}NULL"
    if all(isinstance(value, bool) for value in listed):
        name_in, listed = _word(name), [text for value in listed for text in (TRUE if value else FALSE)]
    else:
        name_in = name
    among = f"{name_in} {word} ({', '.join(map(literal, listed))})"
    return f"({among} OR {name} IS NULL)" if (None in column.values) == holds else among


def _term(term: Term, column: Column) -> str:
    """Return weight * points as floats, so that small types of integers do not overflow."""
    if not isinstance(column, Number):
        points = f"CASE WHEN {_holds(column, holds=column.inside == 1)} THEN 1 ELSE 0 END"
    elif term.steps is not None:
        points = " + ".join(f"CASE WHEN {_test(column, '>=', step)} THEN 1 ELSE 0 END" for step in term.steps)
    else:
        number = _name(column) if column.missing is None else f"COALESCE({_name(column)}, {literal(column.missing)})"
        points = f"CAST({number} AS DOUBLE PRECISION)"
    return f"{literal(float(term.weight))} * ({points})"


def _name(column: Column) -> str:
    return _quoted(column.name, '"')


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
    """Return whether a decimal is read as this float by those too that round it twice, to 64 digits and then to 53.

    SQLite divides the digits by a power of ten in the processor's widest floats, where powers up to 10^22 are exact.
    """
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
    """Return the factors of a power of two, each after ``sign``."""
    largest, left = divmod(power.bit_length() - 1, LARGEST_POWER.bit_length() - 1)
    factors = [LARGEST_POWER] * largest + [2**left] * (left > 0)
    return "".join(f"{sign}{factor}e0" for factor in factors)


def _quoted(text: str, quote: str) -> str:
    if "\0" in text:
        raise InputError("a name or category has a zero character, which SQL cannot hold; rename it")
    return f"{quote}{text.replace(quote, quote * 2)}{quote}"
