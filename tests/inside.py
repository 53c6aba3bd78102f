"""The few private parts that several tests look at, in one place."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from milpcb import Bandit
from milpcb.errors import EXTRAS
from milpcb.plugins import registry


def rounds_of(bandit: Bandit) -> Any:
    """Return everything of a bandit that changes from decision to decision."""
    return bandit._rounds


def learner_of(bandit: Bandit) -> Any:
    """Return the learner that a bandit asks."""
    return rounds_of(bandit).learner


def open_decisions(bandit: Bandit) -> Any:
    """Return the decisions of which no cost is known yet, by their names."""
    return rounds_of(bandit).book.open


def numbers_of(bandit: Bandit, row: Any) -> Any:
    """Return the numbers (d,) by which a bandit knows a row."""
    return np.ravel(rounds_of(bandit).reader.read(row).numbers).astype(float)


def state_of(bandit: Bandit) -> Any:
    """Return all that a file of a bandit holds."""
    return bandit._state()


def missing_extras() -> set[str]:
    """Return the extras whose packages are not all installed here."""
    return {extra for extra, modules in EXTRAS.items() if not all(map(find_spec, modules))}


def find_plug_ins_again() -> None:
    """Let the registry look for entry points anew."""
    registry._table.cache_clear()
