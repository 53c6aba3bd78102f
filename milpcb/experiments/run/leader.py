"""What a learner would stay with: the policy of least estimated cost at the end of its play."""

from __future__ import annotations

from milpcb.errors import MilpcbError
from milpcb.experiments.study.cells import Cell
from milpcb.experiments.study.worlds import World
from milpcb.oracles.base import Oracle
from milpcb.protocols import Learner, Policy
from milpcb.types import Floats

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
MOST_ROWS = 1000  # contexts whose actions a record holds; there may be thousands of records


def leader(cell: Cell, world: World, learner: Learner, oracle: Oracle | None) -> Policy | None:
    """Return the policy of least estimated cost; None where the learner keeps no estimates or nothing finds it.

    An oracle with a time limit may answer with a policy that is not proved best. ``oracle`` is the learner's own: its count
    and clock go on, so the record must be complete.
    """
    estimates = learner.estimates()
    if cell.oracle is None or oracle is None or estimates is None:
        return None
    try:
        if cell.oracle.options["kind"] == "milp":  # of equal minima a solver picks one by what it was asked before
            oracle = world.search_or(cell.oracle.options, cell.constraints)
        return oracle.minimise(estimates).policy
    except MilpcbError:
        return None


def actions(policy: Policy, contexts: Floats) -> str | None:
    """Return the policy's actions on ``contexts`` (m, d), a digit in base 36 each; None where that is too much to keep."""
    if len(contexts) > MOST_ROWS:
        return None
    labels = policy.predict(contexts).tolist()
    return "".join(DIGITS[label] for label in labels) if max(labels, default=0) < len(DIGITS) else None
