"""Wrong calls of the Python API are refused with one line: the script that makes thousands of them, group by group."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts" / "checks"


def _script(name: str) -> Any:
    sys.path.insert(0, str(SCRIPTS))  # as where it is run
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(SCRIPTS))


misuse, cases, values = (_script(name) for name in ("misuse", "misuse_cases", "misuse_values"))


@pytest.mark.parametrize("group", [group.__name__ for group in cases.GROUPS])
def test_wrong_calls_are_refused(group: str) -> None:
    """None raises anything but a MilpcbError of one line, and none is taken in silence."""
    results = misuse.tried(group)
    bad = [
        f"{happened}: {case.what}: {message}" for case, happened, message in results if happened in ("raw", "accepted")
    ]
    assert len(results) > 40
    assert bad == []


@pytest.mark.parametrize(
    ("happened", "call"),
    [
        ("accepted", lambda: values.oracle().value([[0.0] * values.K] * 4)),
        ("refused", lambda: values.oracle().value("abc")),
        ("raw", lambda: values.oracle()._policies.index(5)),
        ("raw", lambda: values.learner(1 / 0)),
    ],
)
def test_what_happened_is_seen(happened: str, call: Any) -> None:
    """The script itself has teeth: what is right counts as accepted, what is no error of milpcb as raw."""
    assert misuse.outcome(values.Case("", "", call))[0] == happened
