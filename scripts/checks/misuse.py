"""Wrong calls of the Python API: each must be refused with one line that says what is wrong.

    python scripts/checks/misuse.py [--verbose] [--only GROUP]

The calls are made from the registry (every policy class, learner, environment, relaxation and solver), so a new entry
is covered without a line here; those of estimators, logs and arguing are listed in misuse_offline.py. A call counts as
refused when it raises a MilpcbError whose message is one line. Reported beside it: calls that Python itself refuses
because they do not fit the signature (an argument that is not there), raw errors from inside, and calls that were taken
in silence. The last two must be 0; the exit code is 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter

from misuse_cases import GROUPS
from misuse_values import Case

from milpcb.errors import MilpcbError

LEAST = 2_000


def outcome(case: Case) -> tuple[str, str]:
    """Make the call; return what happened, and the message."""
    try:
        case.call()
    except MilpcbError as error:
        message = str(error)
        return (
            ("refused", message)
            if message.strip() and "\n" not in message
            else ("raw", f"{type(error).__name__} of several lines or none: {message!r}")
        )
    except TypeError as error:
        by_python = error.__traceback__ is not None and error.__traceback__.tb_next is None
        return ("by python" if by_python else "raw"), f"TypeError: {error}"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return "raw", f"{type(error).__name__}: {error}"
    return "accepted", ""


def tried(only: str | None = None) -> list[tuple[Case, str, str]]:
    """Make every wrong call, each once; return it with what happened and the message."""
    every: dict[tuple[str, str], Case] = {}
    for group in GROUPS:
        if only in (None, group.__name__):
            every |= {(case.group, case.what): case for case in group()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning from inside is no refusal
        return [(case, *outcome(case)) for case in every.values()]


def main() -> int:
    """Print the summary, and what is not as it should be; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verbose", action="store_true", help="print every call with its message")
    parser.add_argument("--only", choices=[group.__name__ for group in GROUPS], help="one group of calls")
    arguments = parser.parse_args()
    results = tried(arguments.only)
    for case, happened, message in results:
        if arguments.verbose or happened in ("raw", "accepted"):
            print(f"{happened:9} {case.group}: {case.what}: {message}")
    counts = Counter(happened for _, happened, _ in results)
    by_python, wrong_calls = counts["by python"], len(results) - counts["by python"]
    print(
        f"{wrong_calls} wrong calls: {counts['refused']} refused with one line, {counts['raw']} raw errors, "
        f"{counts['accepted']} silently accepted; beside them {by_python} refused by Python's signature"
    )
    enough = wrong_calls >= LEAST or arguments.only is not None
    return 0 if enough and not counts["raw"] and not counts["accepted"] else 1


if __name__ == "__main__":
    sys.exit(main())
