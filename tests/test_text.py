"""Text of others, which is escaped by one rule, and numbers as people read them."""

import math
import re
import sys
import unicodedata
from pathlib import Path

import pytest

from milpcb.core.decimals import THIN, estimate, number
from milpcb.core.text import escaped

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("age <= 27", "age <= 27"),
        ("größe\u202f°\u00a0年齢", "größe\u202f°\u00a0年齢"),  # spaces of any width only show
        ("a\x1b[2J\r\n\t", "a\\x1b[2J\\r\\n\\t"),
        ("\u202eevil\u200b", "\\u202eevil\\u200b"),  # right-to-left, a space without width
        ("\u2028\u2029\x85", "\\u2028\\u2029\\x85"),  # line ends beyond ASCII
        ("\ud800\ue000\U000e0fff", "\\ud800\\ue000\\U000e0fff"),  # half a pair, private use, no character at all
    ],
)
def test_what_only_shows_stays_and_the_rest_becomes_escapes(text: str, shown: str) -> None:
    """One example for each Unicode category that is escaped."""
    assert escaped(text) == shown


def test_every_character_is_escaped_by_its_category() -> None:
    """All code points: nothing of the categories C*, Zl and Zp is left over, and everything else is."""
    shown, steering = [], []
    for char in map(chr, range(sys.maxunicode + 1)):
        kind = unicodedata.category(char)
        (steering if kind.startswith("C") or kind in {"Zl", "Zp"} else shown).append(char)
    assert escaped("".join(shown)) == "".join(shown)
    found = escaped("".join(steering))
    assert found.isascii()
    assert found.isprintable()
    assert found.count("\\") == len(steering)


def test_no_other_file_has_a_rule_of_its_own() -> None:
    """Unicode categories and escapes of characters are in one file; the gate asks what may be the name of a file."""
    sources = [path for package in ("milpcb", "policies") for path in (ROOT / package).rglob("*.py")]
    own = re.compile(r"unicodedata|unicode_escape|isprintable")
    assert {path.name for path in sources if own.search(path.read_text())} == {"text.py", "gate.py"}


INTERVALS = {
    "shares": ((0.4879, 0.4487, 0.5272), "0.49 (0.45 to 0.53)"),
    "dollars": ((10_213.0, 2_923.0, 17_504.0), "10 210 (2 920 to 17 500)"),
    "few digits": ((0.3098, 0.2346, 0.386), "0.31 (0.23 to 0.39)"),
    "below zero": ((-0.0011, -0.0304, 0.0282), "\u22120.001 (\u22120.030 to 0.028)"),
    "tiny": ((4.3e-7, 4.1e-7, 4.5e-7), "0.000000430 (0.000000410 to 0.000000450)"),
    "large": ((-1_637.4, -1_790.0, -1_485.0), "\u22121 637 (\u22121 790 to \u22121 485)"),
    "exact": ((0.5, 0.5, 0.5), "0.500 (0.500 to 0.500)"),
}
NUMBERS = {
    0.0: "0",
    -3e-12: "0",
    3e-12: "0",
    0.0123456: "0.0123",
    0.5: "0.500",
    0.99961: "1.00",
    5.9e2: "590",
    -12.345: "\u221212.3",
    99.96: "100.0",
    1234567.8: "1 234 568",
    math.inf: "none",
    math.nan: "none",
}


@pytest.mark.parametrize("name", INTERVALS)
def test_digits_come_from_the_standard_error(name):
    """An interval's ends have the digits of its value, which are those that its standard error leaves."""
    given, wanted = INTERVALS[name]
    assert estimate(*given).replace(THIN, " ") == wanted


@pytest.mark.parametrize("value", NUMBERS)
def test_a_number_alone_has_no_exponent(value):
    """Whole from 100 on, one decimal from 1 on, three digits below; thousands apart, and no minus before nothing."""
    assert number(value) == NUMBERS[value].replace(" ", THIN)


@pytest.mark.parametrize("error", [1e-7, 0.003, 0.4, 7.0, 2500.0, 1e7])
@pytest.mark.parametrize("value", [0.0, 0.0567, 3.3, -871.0, 123_456.0, 9.9e9])
def test_rounding_is_small_beside_the_error(value, error):
    """The number written is at most a quarter of a standard error away from the value."""
    written = float(number(value, error).replace(THIN, "").replace("\u2212", "-"))
    assert abs(written - value) <= error / 4 + 1e-12
