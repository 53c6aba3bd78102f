"""Wrong calls of the Python API: each must be refused with one line of a MilpcbError that names the wrong argument.

They are made from the registry, so that a new entry is covered. Raw errors from inside, and calls that are taken in
silence, must be 0.
"""

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from milpcb.errors import MilpcbError
from tests.stress.misuse_cases import GROUPS
from tests.stress.misuse_values import K, oracle

# Nouns that messages have in the place of an argument's name.
NOUNS = {
    "pool": ("the order lists", "a Sampler"), "template": ("cannot read",), "features": ("a table",),
    "contexts": ("a table", "rows"), "X": ("table", "column"), "y": ("costs",),
    "policies": ("the policy class", "costs"),
    "policy": ("actions", "probabilities"), "reward": ("outcomes",), "than": ("actions",), "procedure": ("actions",),
    "share": ("holdout",), "level": ("confidence", "contexts of all"), "folds": ("cv",), "options": ("option", "depth"),
    "columns": ("an order",), "where": ("condition",), "pairs": ("a pair",), "group": ("column",),
    "costs_a": ("costs",), "costs_b": ("costs",), "random_state": ("seed",), "entry": ("battery",),
    "sample_weight": ("Sample weights",), "n_actions": ("oracle",), "actions": ("one action",),
}  # fmt: skip


def outcome(call: Callable[[], object]) -> tuple[str, str]:
    """Make the call; return what happened, and the message."""
    try:
        call()
    except MilpcbError as error:
        return ("refused" if str(error).strip() and "\n" not in str(error) else "raw"), str(error)
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return "raw", f"{type(error).__name__}: {error}"
    return "accepted", ""


def names_the_argument(what: str, message: str) -> bool:
    """Return whether a message names the argument that is wrong in a call, or says that its value is no known name."""
    wrong = re.search(r"\((\w+) = ", what)
    words = (wrong[1][:6].rstrip("s"), *NOUNS.get(wrong[1], ())) if wrong else ("",)
    return any(word in message for word in ("unknown", "is no name", "is not registered", "cannot be loaded", *words))


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_wrong_calls_are_refused(group: Any) -> None:
    """None raises anything but a MilpcbError of one line that names it, and none is taken in silence."""
    calls = dict(group())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning from inside is no refusal
        found = [(what, *outcome(call)) for what, call in calls.items()]
    assert len(found) > 40
    assert [call for call in found if call[1] in ("raw", "accepted")] == []
    refused = [(what, message) for what, how, message in found if how == "refused"]
    assert [call for call in refused if not names_the_argument(*call)] == []


def test_outcomes_of_calls_are_seen() -> None:
    """A right call counts as accepted, an error that is not of milpcb as raw."""
    assert outcome(lambda: oracle().value([[0.0] * K] * 4))[0] == "accepted"
    assert outcome(lambda: [].index(5))[0] == "raw"
    assert not names_the_argument("search: value(costs = nan)", "rate must be a number, got nan")
