"""Untrusted text for display: the one rule on control characters, and legible ink."""

import re
from collections.abc import Sequence
from unicodedata import category, normalize

QUOTED = r'"(?:[^"\\]|\\.)*"'  # what ``quoted`` returns, as a regular expression
# Signs that old terminals lack, and others of the same width: tables stay in columns.
_PLAIN = str.maketrans("\u202f\u2212\u00b1\u00b5\u2020\u2013", " -~u*-")
_ACCENTS = re.compile("([A-Za-z])[\u0300-\u036f]+")  # elsewhere such signs may be letters
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)")


def escaped(text: str, kept: str = "") -> str:
    """Return text whose control characters, but those ``kept``, are escapes (Unicode categories C*, Zl and Zp)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if char not in kept and _steers(char) else char for char in text
    )


def identifier(name: str) -> str:
    """Return a name as Python reads it: letters that only look otherwise, such as ligatures, are the plain ones."""
    return normalize("NFKC", name)


def encodable(text: str, encoding: str) -> str:
    """Return text that an encoding can hold; where it cannot, thin spaces, minus signs and the like are plain ones."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode(encoding, "replace").decode(encoding)
    return text


def quoted(text: str) -> str:
    """Return any string in double quotes, on one line, without a character that steers; ``unquoted`` returns it."""
    return '"' + escaped(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def unquoted(text: str) -> str:
    """Return the text that ``quoted`` put in quotes."""
    return _ESCAPE.sub(_character, text[1:-1])


def listed(names: Sequence[str]) -> str:
    """Return 'a', 'a and b', or 'a, b and c'."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def folded(text: str) -> str:
    """Return a string without differences of spelling: case, blanks, signs of no width, accents of Latin letters."""
    seen = "".join(sign for sign in normalize("NFKD", text) if category(sign) != "Cf")
    return normalize("NFKC", " ".join(_ACCENTS.sub(r"\1", seen).split()).casefold())


def is_plain(text: str) -> bool:
    """Return whether a string can be read without quotes: nothing escaped, no quote, backslash or space around it."""
    return bool(text) and text == text.strip() == escaped(text) and not set(text) & {'"', "\\"}


def ink(colour: str) -> str:
    """Return a shade beside black or white, whichever has the greater contrast to a colour such as #0072B2 (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    light = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    return "#010101" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "#FEFEFE"


def _character(found: re.Match[str]) -> str:
    code = found[0][1:]
    if code[0] in "xuU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return {"n": "\n", "r": "\r", "t": "\t"}.get(code, code)


def _steers(char: str) -> bool:
    kind = category(char)
    return kind[0] == "C" or kind in {"Zl", "Zp"}
