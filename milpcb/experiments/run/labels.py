"""The actions that a policy plays, kept in a record besides its rules."""

from __future__ import annotations

from milpcb.protocols import Policy
from milpcb.types import Floats

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
MOST_ROWS = 1000  # contexts whose actions a record holds; there may be thousands of records


def actions(policy: Policy, contexts: Floats) -> str | None:
    """Return the policy's actions on ``contexts`` (m, d), a base-36 digit each; None where that is too much to keep."""
    if len(contexts) > MOST_ROWS:
        return None
    labels = policy.predict(contexts).tolist()
    return "".join(DIGITS[label] for label in labels) if max(labels, default=0) < len(DIGITS) else None
