"""A small share of scripts/checks/names.py: odd names against plain definitions, and printed tests read back."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts" / "checks"


@pytest.fixture(scope="module")
def script():
    """The script as a module; what it imports is beside it."""
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module("names")
    sys.path.remove(str(SCRIPTS))


def test_logs_agree_with_their_definitions(script):
    """Values, best trees with and without constraints, and exports of 12 logs; some of all kinds is compared."""
    compared, wrong, _ = script.wrong_logs(script.KINDS, range(12))
    assert not wrong
    assert compared > 12 * 15


def test_the_commands_agree_with_the_definitions(script):
    """``milpcb learn`` and ``evaluate`` of a log whose columns of propensities are in another order."""
    compared, wrong, _ = script.wrong_logs((script.commands,), script._plain_names(range(9), 1))
    assert not wrong
    assert compared == 2


def test_printed_tests_are_read_back(script):
    """Tests of 500 tables with odd names and categories hold where the rule's tests do."""
    wrong, examples = script.wrong_tests(range(500))
    assert not wrong, examples
