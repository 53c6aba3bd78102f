"""Wrong calls of the Python API: each must be refused with one line of a MilpcbError.

They are made from the registry, so that a new entry is covered. Python itself may refuse what does not fit a signature;
raw errors from inside, and calls that are taken in silence, must be 0.
"""

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from milpcb.errors import MilpcbError
from tests.stress.misuse_cases import GROUPS
from tests.stress.misuse_values import K, learner, oracle


def outcome(call: Callable[[], object]) -> tuple[str, str]:
    """Make the call; return what happened, and the message."""
    try:
        call()
    except MilpcbError as error:
        return ("refused" if str(error).strip() and "\n" not in str(error) else "raw"), str(error)
    except TypeError as error:
        by_python = error.__traceback__ is not None and error.__traceback__.tb_next is None
        return ("by python" if by_python else "raw"), f"TypeError: {error}"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return "raw", f"{type(error).__name__}: {error}"
    return "accepted", ""


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_wrong_calls_are_refused(group: Any) -> None:
    """None raises anything but a MilpcbError of one line, and none is taken in silence."""
    calls = dict(group())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning from inside is no refusal
        found = [(what, *outcome(call)) for what, call in calls.items()]
    assert len(found) > 40
    assert [call for call in found if call[1] in ("raw", "accepted")] == []


@pytest.mark.parametrize(
    ("happened", "call"),
    [
        ("accepted", lambda: oracle().value([[0.0] * K] * 4)),
        ("refused", lambda: oracle().value("abc")),
        ("raw", lambda: [].index(5)),
        ("raw", lambda: learner(1 / 0)),
    ],
)
def test_outcomes_of_calls_are_seen(happened: str, call: Any) -> None:
    """A right call counts as accepted, an error that is not of milpcb as raw."""
    assert outcome(call)[0] == happened
