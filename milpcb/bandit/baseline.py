"""The baseline of a bandit, what is done today: one action, or a policy that reads contexts as they arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from milpcb.bandit.contexts import Context, ContextReader
from milpcb.data.actions import place, played
from milpcb.errors import InputError, shown
from milpcb.plugins import registry


def as_document(baseline: Any, names: Sequence[Any]) -> dict[str, Any]:
    """Return an action, or a policy of ours, as plain data; raises InputError on anything else."""
    if hasattr(baseline, "document") and hasattr(baseline, "predict"):
        return {"policy": baseline.document()}
    if hasattr(baseline, "predict") or callable(baseline) or isinstance(baseline, (list, tuple, dict, np.ndarray)):
        raise InputError(
            f"baseline must be an action, or a policy with to_json such as milpcb's own, got {shown(baseline)}; "
            "for rules of another kind take milpcb.learners.Conservative, which takes any function"
        )
    if isinstance(baseline, Path) or (str(baseline).endswith(".json") and str(baseline) not in map(str, names)):
        raise InputError(
            f"baseline must be an action or a policy, and not a file: read {shown(str(baseline))}, as in "
            "baseline=milpcb.policies.from_json(Path('policy.json').read_text())"
        )
    return {"action": place("action of the baseline", baseline, list(map(str, names)))}


class Today:
    """The baseline of ``as_document``: ``look`` at a context, then call it for the number of its action.

    Raises InputError where the policy reads a feature that the class has not, or plays actions of other names.
    """

    def __init__(self, document: Mapping[str, Any], reader: ContextReader, names: Sequence[Any]) -> None:
        self._action = int(document["action"]) if "action" in document else -1
        self._policy: Any = None
        self._reader, self._names = reader, list(map(str, names))
        if self._action < 0:
            written = document["policy"]
            self._policy = registry.load("policy", str(written["class"])).from_document(written)
            self._places = _places(self._policy, reader.names)

    def __repr__(self) -> str:
        return repr(self._names[self._action]) if self._policy is None else type(self._policy).__name__

    def look(self, context: Context) -> None:
        """Take the action for a context, which is what is returned until the next one."""
        if self._policy is not None:
            values = context.features
            if self._places is not None:
                values = tuple(0.0 if i is None else values[i] for i in self._places)
            table = np.empty((1, len(values)), dtype=object if self._reader.declared else float)
            table[0] = values
            self._action = int(played(self._policy, table, self._names)[0])

    def __call__(self, row: int) -> int:
        """Return the action at the context that was looked at, whose row this is."""
        del row
        return self._action


def _places(policy: Any, names: Sequence[str]) -> list[int | None] | None:
    """Return where each column of the policy's tables is among ``names``; None for a column that no test of it reads.

    None for the whole list where either has no names: columns then go by their position. Raises InputError.
    """
    own = policy.names.features
    if not own or not names:
        return None
    missing = [name for name in _read_by(policy) if name not in names]
    if missing:
        raise InputError(
            f"the baseline reads {', '.join(map(shown, missing))}, and the class has only the features {list(names)}: "
            "add what is missing to its feature_names, with [] as its cut points where rules need not test it"
        )
    return [names.index(name) if name in names else None for name in own]


def _read_by(policy: Any) -> list[str]:
    """Return the features that the policy's tests read, all of them where it cannot be written as tests."""
    cuts = policy.cut_points() if hasattr(policy, "cut_points") else None
    if cuts is None:
        return list(policy.names.features)
    columns = [column.name for column in policy.names.columns] or policy.names.features
    return list(dict.fromkeys(columns[i] for i in cuts))
