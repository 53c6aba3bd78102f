"""Results of a study: files, curves, tables, figures, the report; here the columns of curves that a config asks for."""

from collections.abc import Iterable

CONFIDENT, ERROR, TURNS = "certificate_", "certificate_error", "regret_to_"  # the first and the last begin a name
RECOVERY = "recovery"


def confident_column(confidence: float) -> str:
    """Return the name of the column of certificates that hold with this confidence: certificate_95 for 0.95."""
    return f"{CONFIDENT}{100 * confidence:.10g}"


def confident_in(columns: Iterable[str]) -> str | None:
    """Return the column of certificates with confidence; None without one, and where there are several levels."""
    found = [name for name in columns if name.startswith(CONFIDENT) and name != ERROR]
    return found[0] if len(found) == 1 else None


def percent_of(column: str) -> str:
    """Return the per cents of a column's confidence, such as 95."""
    return column.removeprefix(CONFIDENT)


def confident_meaning(column: str) -> str:
    """Return the sentence that stands wherever these certificates are shown."""
    level = percent_of(column)
    return (
        f"A {level}\u202f% certificate is about one run: the chance that the regret of the actions that the run played "
        f"exceeds it, at any of all rounds, is at most {100 - float(level):.10g}\u202f%, even if costs react to the "
        "play. (Curves count the cost expected of each draw, from which the cost of what was drawn differs by chance.)"
    )


def turns_in(columns: Iterable[str]) -> str | None:
    """Return the column of regret to policies in turn, such as regret_to_4; None without one."""
    return next((name for name in columns if name.startswith(TURNS)), None)


def turns_number(column: str) -> str:
    """Return how many policies there are in turn."""
    return column.removeprefix(TURNS)
