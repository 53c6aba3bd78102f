"""Text that somebody else may have written, as it is shown: the one rule on characters that would do more than show."""

from __future__ import annotations

from unicodedata import category


def escaped(text: str, kept: str = "") -> str:
    """Return text that does nothing to a terminal, page or picture but show: of characters only those of ``kept`` may.

    Control and format characters (such as right-to-left), half pairs, characters without a meaning (Unicode categories
    C*), and line ends (Zl, Zp) become escapes, a backslash and letters.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if char not in kept and _steers(char) else char for char in text
    )


def _steers(char: str) -> bool:
    kind = category(char)
    return kind[0] == "C" or kind in {"Zl", "Zp"}
