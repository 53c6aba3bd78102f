"""Side constraints on the policy, which every oracle keeps: one vocabulary by names, and one linear form below it.

Any rule without a name of its own is a LabelConstraint, a table of weights on the rows, or a NamedConstraint of yours.
Read linear, by_names.
"""

from milpcb.constraints.by_names import (
    Constraint,
    always,
    bind_for,
    bind_to,
    mean_at_most,
    never,
    parity,
    share_at_most,
)
from milpcb.constraints.linear import LabelConstraint, NamedConstraint, NamedRows, SideConstraint, conflict

__all__ = [
    "Constraint",
    "LabelConstraint",
    "NamedConstraint",
    "NamedRows",
    "SideConstraint",
    "always",
    "bind_for",
    "bind_to",
    "conflict",
    "mean_at_most",
    "never",
    "parity",
    "share_at_most",
]
