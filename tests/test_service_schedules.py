"""A service's life in random order, beside a plain ledger; the faults that it is there to find are put back in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts" / "checks"


@pytest.fixture(scope="module")
def schedules() -> Iterator[Any]:
    """Yield the script that tries much more than is tried here."""
    sys.path.insert(0, str(SCRIPTS))
    yield import_module("schedules")
    sys.path.remove(str(SCRIPTS))


def test_all_that_is_certain_is_as_the_ledger_has_it(schedules: Any, tmp_path: Path) -> None:
    """Certificates, policies, promises and counts, without constraints, with them, and with a baseline."""
    wrong, counts = schedules.try_schedules(12, 0, tmp_path, steps=60)
    assert wrong == []
    happened = (
        "compared",
        "lost ones taken",
        "refused",
        "add_action",
        "give_up",
        "give_up_old",
        "override",
        "crash",
        "copy",
    )
    assert all(counts[each] > 2 for each in happened)


def test_contexts_that_enter_no_constraint_are_found(schedules: Any, tmp_path: Path) -> None:
    """Those of decisions that a crash lost."""
    with schedules.without("entering"):
        wrong, _ = schedules.try_schedules(1, 1, tmp_path)
    assert len(wrong) == 1


def test_certificates_hold_for_each_of_two_that_go_on_from_one(schedules: Any, tmp_path: Path) -> None:
    """By a file, a pickle and a copy; with the draws of one session for both, none of them does."""
    assert schedules.try_pairs(3, 0, tmp_path) == []
    with schedules.without("parting"):
        assert len(schedules.try_pairs(3, 0, tmp_path)) == 3
