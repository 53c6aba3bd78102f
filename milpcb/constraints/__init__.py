"""Side constraints on the policy, which every oracle keeps: one vocabulary by names, and one linear form below it.

``share_at_most``, ``parity``, ``mean_at_most``, ``never`` and ``always`` are what ``open_oracle``, ``Bandit``,
estimators and ``[[constraints]]`` of a config take. Any other rule is a LabelConstraint, a table of weights on the
rows, or a NamedConstraint of your own.

Reading order: ``linear`` (the form), ``by_names`` (the vocabulary), ``rows`` (what constraints are bound to),
``binding`` (from one to the other), ``arguments`` (what may be written).
"""

from milpcb.constraints.binding import Constraint, bind_for, bind_to
from milpcb.constraints.by_names import NamedConstraint, always, mean_at_most, never, parity, share_at_most
from milpcb.constraints.linear import LabelConstraint, SideConstraint, conflict
from milpcb.constraints.rows import NamedRows

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
