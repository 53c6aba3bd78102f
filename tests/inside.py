"""The few private parts that several tests look at, in one place."""

from typing import Any

from milpcb import Bandit
from milpcb.plugins import registry


def learner_of(bandit: Bandit) -> Any:
    """Return the learner that a bandit asks."""
    return bandit._rounds.learner


def open_decisions(bandit: Bandit) -> Any:
    """Return the decisions of which no cost is known yet, by their names."""
    return bandit._rounds.book.open


def state_of(bandit: Bandit) -> Any:
    """Return all that a file of a bandit holds."""
    return bandit._state()


def find_plug_ins_again() -> None:
    """Let the registry look for entry points anew."""
    registry._table.cache_clear()
