"""Strings that may mean numbers, or yes and no, and that no reader takes for these: "45%" is 0.45 to some."""

import re
from collections.abc import Iterable, Mapping

from milpcb.core.text import folded, is_currency
from milpcb.data.columns import as_number
from milpcb.errors import shown

# How programs, and people, write that a value is missing: a line names it where it is kept as a string. In lower case.
NULLS = {"na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "null", "none", "nil", "1.#ind", "-1.#ind",
    "1.#qnan", "-1.#qnan"}  # fmt: skip
MARKS = {*NULLS, "", "missing", "unknown", "-", "--", ".", "?"}
TRUTH = {
    "true", "false", "t", "f", "yes", "no", "y", "n", "ja", "nein", "j", "oui", "non", "si", "sí", "sì", "wahr",
    "falsch", "vrai", "faux", "on", "off", "1", "0", "1.0", "0.0",
}  # fmt: skip
BETWEEN = ".,'\u2019_ \u00a0\u2009\u202f"  # what people write behind thousands
NUMBER = re.compile(rf"[-+\u2212]?\d+(?:[{BETWEEN}]?\d+)*")  # in any digits, with signs between them
GROUPED = f"^[-+]?[0-9]{{1,3}}([{BETWEEN}]?[0-9]{{3}})*([.,][0-9]+)?$"  # a number with a sign behind its thousands
CURRENCY = re.compile("[A-Z]{3}")
FEWER = 50  # times as often as a string that may be a slip, its right spelling is there
LETTERS = 4  # of a string that may be a slip: shorter ones are codes, and near each other


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
    if len(known) > 2 and TRUTH.issuperset(known):
        named = ", ".join(map(shown, known.values()))
        return f"yes and no in several ways, {named}, each of which is a string of its own: write them in one way"
    return ""


def odd_one(counts: Mapping[str, int]) -> str:
    """Return in words which rare string may be a slip of a common one, by how often each is there; "" where none is."""
    common = [text for text in counts if len(text) >= LETTERS and counts[text] >= FEWER]
    for text in _known(sorted(counts)):
        if len(text) < LETTERS or not text.replace(" ", "").isalpha():
            continue
        for other in common:
            if counts[text] * FEWER <= counts[other] and _one_slip(text, other):
                often = f"{shown(other)} in {counts[other]}"
                return f"{shown(text)} in {counts[text]} of its rows and {often}: write them in one way if they are one"
    return ""


def _one_slip(text: str, other: str) -> bool:
    """Return whether one letter is missing, too many or wrong, or two neighbours have changed places."""
    same = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    a, b = text[same:], other[same:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


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
