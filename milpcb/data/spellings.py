"""Strings that may mean numbers or each other, and that no reader takes for these: "45%" is 0.45 to some."""

import re
from collections.abc import Iterable

from milpcb.core.text import folded
from milpcb.data.columns import as_number
from milpcb.errors import shown

# How programs, and people, write that a value is missing: a line names it where it is kept as a string. In lower case.
NULLS = {"na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "null", "none", "nil", "1.#ind", "-1.#ind",
    "1.#qnan", "-1.#qnan"}  # fmt: skip
MARKS = {*NULLS, "", "missing", "unknown", "-", "--", ".", "?"}
BETWEEN = ".,'\u2019_ \u00a0\u2009\u202f"  # what people write behind thousands
NUMBER = re.compile(  # in any digits, with signs between them, behind a currency or before a unit
    rf"(?P<before>[A-Z]{{3}}|[$\u20ac\u00a3\u00a5\u20b9]?)\s*(?P<number>[-+\u2212]?\d+(?:[{BETWEEN}]?\d+)*)\s*"
    r"(?P<after>[^\W\d].*|[%\u2030\u00b0$\u20ac\u00a3\u00a5\u20b9]?)"
)
GROUPED = f"^[-+]?[0-9]{{1,3}}([{BETWEEN}]?[0-9]{{3}})*([.,][0-9]+)?$"  # a number with a sign behind its thousands


def odd_numbers(texts: Iterable[str]) -> str:
    """Return in words which numbers strings hold and how to write them; "" where some are none, or all are plain.

    They are odd with a unit, other digits or another minus, signs behind thousands, or a decimal comma.
    """
    found = [(text, NUMBER.fullmatch(text.strip())) for text in _known(texts)]
    units = {None if number is None else number["before"] + number["after"] for _, number in found}
    if len(units) != 1 or (unit := units.pop()) is None:
        return ""
    odd = next((text for text, _ in found if unit or _is_odd(text.strip())), None)
    if odd is None:
        return ""
    how = f"with {shown(unit)}" if unit else "in other signs than 0 to 9, - and ."
    return f"numbers {how}, such as {shown(odd)}, which are strings to a rule: write them as in 1234.5"


def odd_words(texts: Iterable[str]) -> str:
    """Return in words which strings may mean the same, and what to do; "" where none do."""
    known: dict[str, str] = {}
    for text in _known(texts):
        other = known.setdefault(folded(text), text)
        if other != text:
            return f"{shown(other)} and {shown(text)}, which are two strings to a rule: write them in one way"
    return ""


def _known(texts: Iterable[str]) -> Iterable[str]:
    return (text for text in texts if text.strip().lower() not in MARKS)


def _is_odd(number: str) -> bool:
    """Return whether a number is written with other signs than Python reads, or with some between its digits."""
    foreign = any(sign == "\u2212" or (sign.isdecimal() and not sign.isascii()) for sign in number)
    return foreign or (re.match(GROUPED, number) is not None and (as_number(number) is None or "_" in number))
