"""The search over leaf totals by the name of its old place."""

from milpcb.protocols import TermSearch

__all__ = ["TermSearch"]
