"""From constraints by names to LabelConstraints on the rows of a table."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from milpcb.constraints.by_names import NAMES, NamedConstraint
from milpcb.constraints.linear import LabelConstraint, NamedRows
from milpcb.core.checks import several
from milpcb.data.frames import named_rows, table_names
from milpcb.data.schema import read_columns
from milpcb.errors import InputError

Constraint = NamedConstraint | LabelConstraint  # what open_oracle takes, and what a name in a config leads to
EVERY_KIND = (NamedConstraint, LabelConstraint)


def listed(constraints: Any, kinds: tuple[type, ...] = (NamedConstraint,)) -> list[Any]:
    """Return one constraint of certain kinds or several as a list; raises InputError on what is none."""
    called = ", ".join([*NAMES, *(kind.__name__ for kind in kinds[1:])])
    return [constraints] if isinstance(constraints, kinds) else several("constraints", constraints, kinds, called)


def bind_all(constraints: Any, rows: NamedRows) -> list[LabelConstraint]:
    """Return the label constraints of all ``constraints``; raises InputError on what is none."""
    return [rule for constraint in listed(constraints) for rule in constraint.bind(rows)]


def bind_to(constraints: Any, contexts: Any, names: Sequence[str], actions: Sequence[Any]) -> list[LabelConstraint]:
    """Return the label constraints of all ``constraints`` on contexts (m, d), each once: a table or a data frame.

    ``names`` are those of the columns; without any they are x0, x1, ... A data frame has its own, and so have contexts
    that are mappings by names; what one of these has not is missing there. LabelConstraints stay as they are.
    """
    found = listed(constraints, EVERY_KIND)
    if not any(isinstance(each, NamedConstraint) for each in found):  # large contexts are not read for LabelConstraints
        return found
    rows = _rows_of(contexts, names, actions)
    return [rule for each in found for rule in ([each] if isinstance(each, LabelConstraint) else each.bind(rows))]


def bind_for(constraints: Any, policies: Any, contexts: Any) -> list[LabelConstraint]:
    """Return the label constraints on contexts, by the names that a policy class, opened or not, has for things."""
    settings = getattr(policies, "settings", policies)
    actions = getattr(settings, "action_names", None) or range(getattr(policies, "n_actions", 0))
    return bind_to(constraints, contexts, getattr(settings, "feature_names", None) or (), list(actions))


def _rows_of(contexts: Any, names: Sequence[str], actions: Sequence[Any]) -> NamedRows:
    columns, table = table_names(contexts) or tuple(names), contexts
    if rows := named_rows(contexts):
        columns = tuple(dict.fromkeys(chain.from_iterable(rows)))
        table = [{name: row.get(name) for name in columns} for row in rows]
    if not columns and len(shape := np.shape(contexts)) != 2:
        raise InputError(f"contexts must be a table (m, d) for constraints to read, got shape {shape}")
    columns = columns or tuple(f"x{i}" for i in range(np.shape(contexts)[1]))
    return NamedRows(read_columns(table, columns, columns), actions)
