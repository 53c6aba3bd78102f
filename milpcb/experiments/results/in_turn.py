"""The column of regret to policies in turn: its name, such as regret_to_4 for 3 changes, and what it means in words."""

from __future__ import annotations

from collections.abc import Iterable

PREFIX = "regret_to_"


def column_of(changes: int) -> str:
    """Return the name of the column of regret to the best policies in turn that change so often at most."""
    return f"{PREFIX}{changes + 1}"


def column_in(columns: Iterable[str]) -> str | None:
    """Return that column; None without one."""
    return next((name for name in columns if name.startswith(PREFIX)), None)


def heading(column: str) -> str:
    """Return the words for a column."""
    return f"regret to {column.removeprefix(PREFIX)} in turn"


def name(column: str) -> str:
    """Return what regret in a column is against."""
    return f"best {column.removeprefix(PREFIX)} in turn"


def meaning(column: str) -> str:
    """Return the sentence that stands where these regrets are shown."""
    number = column.removeprefix(PREFIX)
    return f"Against the best {number} policies in turn in hindsight, which change at the ends of 20 equal blocks."
