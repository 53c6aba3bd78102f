"""Results of a study: files, curves, tables, figures, the report; here the columns of curves that a config asks for."""

from collections.abc import Iterable

CONFIDENT, ERROR, TURNS = "certificate_", "certificate_error", "regret_to_"  # the first and the last begin a name
RECOVERY = "recovery"


def confident_column(confidence: float) -> str:
    """Return the name of the column of certificates that hold with this confidence: certificate_95 for 0.95."""
    return f"{CONFIDENT}{100 * confidence:.10g}"


def asked_for(columns: Iterable[str], start: str) -> tuple[str, str]:
    """Return the column that begins so, and the number at its end: per cents CONFIDENT, or policies in TURNS.

    Both are "" where there is none, and where there are several levels.
    """
    found = [name for name in columns if name.startswith(start) and name != ERROR]
    return (found[0], found[0].removeprefix(start)) if len(found) == 1 else ("", "")


def confident_meaning(level: str) -> str:
    """Return the sentence shown beside certificates that hold with so many per cent confidence."""
    return (
        f"A {level}\u202f% certificate is about one run: with probability {level}\u202f% it is above the regret of the "
        "actions played, at all rounds at once, even if costs react to the play. (Curves show expected costs, from "
        "which the costs of the actions drawn differ by chance.)"
    )
