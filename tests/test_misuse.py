"""Wrong calls of the Python API are refused with one line: the script that makes thousands of them, group by group."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "checks" / "misuse.py"


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("misuse", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


misuse = _script()


@pytest.mark.parametrize("group", [group.__name__ for group in misuse.GROUPS])
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
        ("accepted", lambda: misuse.oracle().value([[0.0] * misuse.K] * 4)),
        ("refused", lambda: misuse.oracle().value("abc")),
        ("raw", lambda: misuse.oracle()._policies.index(5)),
        ("raw", lambda: misuse.learner(1 / 0)),
    ],
)
def test_what_happened_is_seen(happened: str, call: Any) -> None:
    """The script itself has teeth: what is right counts as accepted, what is no error of milpcb as raw."""
    assert misuse.outcome(misuse.Case("", "", call))[0] == happened
