"""The column of certificates with confidence: its name, such as certificate_95, and what it means in words."""

from __future__ import annotations

from collections.abc import Iterable

PREFIX, ERROR = "certificate_", "certificate_error"


def column_of(confidence: float) -> str:
    """Return the name of the column of certificates that hold with this confidence: certificate_95 for 0.95."""
    return f"{PREFIX}{100 * confidence:.10g}"


def column_in(columns: Iterable[str]) -> str | None:
    """Return the column of certificates with confidence; None without one, and where there are several levels."""
    found = [name for name in columns if name.startswith(PREFIX) and name != ERROR]
    return found[0] if len(found) == 1 else None


def percent_of(column: str) -> str:
    """Return the per cents of a column's confidence, such as 95."""
    return column.removeprefix(PREFIX)


def meaning(column: str) -> str:
    """Return the sentence that stands wherever these certificates are shown."""
    level = percent_of(column)
    return (
        f"A {level}\u202f% certificate is about one run: the chance that the regret of the actions that the run played "
        f"exceeds it, at any of all rounds, is at most {100 - float(level):.10g}\u202f%, even if costs react to the "
        "play. (Curves count the cost expected of each draw, from which the cost of what was drawn differs by chance.)"
    )
