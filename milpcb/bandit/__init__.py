"""Decisions one by one, as a service or a simulator makes them: contexts come in, actions go out, costs come later."""

from milpcb.bandit.decisions import Decision
from milpcb.bandit.service import Bandit

__all__ = ["Bandit", "Decision"]
