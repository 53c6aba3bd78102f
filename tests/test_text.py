"""The one rule on text of others: which characters are shown as they are, and which become escapes."""

import re
import sys
import unicodedata
from pathlib import Path

import pytest

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


def test_characters_of_a_layout_are_kept() -> None:
    """Lines that our own output is made of stay lines."""
    assert escaped("one\n\ttwo\x07", kept="\n\t") == "one\n\ttwo\\x07"


def test_no_other_file_has_a_rule_of_its_own() -> None:
    """Unicode categories and escapes of characters are in one file; the gate asks what may be the name of a file."""
    sources = [path for package in ("milpcb", "policies") for path in (ROOT / package).rglob("*.py")]
    own = re.compile(r"unicodedata|unicode_escape|isprintable")
    assert {path.name for path in sources if own.search(path.read_text())} == {"text.py", "gate.py"}
