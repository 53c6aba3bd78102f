"""Strings that may mean numbers or each other, and that no reader takes for these: "45%" is 0.45 to some."""

import re
from collections.abc import Iterable

from milpcb.core.text import folded, is_currency
from milpcb.data.columns import as_number
from milpcb.errors import shown

# How programs, and people, write that a value is missing: a line names it where it is kept as a string. In lower case.
NULLS = {"na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "null", "none", "nil", "1.#ind", "-1.#ind",
    "1.#qnan", "-1.#qnan"}  # fmt: skip
MARKS = {*NULLS, "", "missing", "unknown", "-", "--", ".", "?"}
BETWEEN = ".,'\u2019_ \u00a0\u2009\u202f"  # what people write behind thousands
NUMBER = re.compile(rf"[-+\u2212]?\d+(?:[{BETWEEN}]?\d+)*")  # in any digits, with signs between them
GROUPED = f"^[-+]?[0-9]{{1,3}}([{BETWEEN}]?[0-9]{{3}})*([.,][0-9]+)?$"  # a number with a sign behind its thousands
CURRENCY = re.compile("[A-Z]{3}")


def odd_numbers(texts: Iterable[str]) -> str:
    """Return in words which numbers strings hold and how to write them; "" where some are none, or all are plain.

    They are odd with a unit, other digits or another minus, signs behind thousands, or a decimal comma.
    """
    first, odd = None, ""
    for text in _known(texts):
        number = NUMBER.search(text)
        parts = None if number is None else (text[: number.start()].strip(), text[number.end() :].strip())
        first = first or parts
        if parts is None or parts != first:
            return ""
        odd = odd or (text if any(parts) or _is_odd(text.strip()) else "")
    if first is None or not odd or not (first == ("", "") or _is_unit(*first)):
        return ""
    how = f"with {shown(''.join(first))}" if any(first) else "in other signs than 0 to 9, - and ."
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


def _is_unit(before: str, after: str) -> bool:
    """Return whether what stands around a number may be its unit: a currency before it, or letters and % behind it."""
    if before:
        return not after and (CURRENCY.fullmatch(before) is not None or all(map(is_currency, before)))
    return after[0].isalpha() or after[0] in "%‰°" or is_currency(after[0])
