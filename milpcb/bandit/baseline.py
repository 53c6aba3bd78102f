"""The baseline of a bandit, what is done today: one action, or a policy that reads contexts as they arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    return {"action": place("action of the baseline", baseline, list(map(str, names)))}


class Today:
    """The baseline of ``as_document``: ``look`` at a context, then call it for the number of its action.

    Raises InputError where the policy reads other features, or plays actions of other names.
    """

    def __init__(self, document: Mapping[str, Any], reader: ContextReader, names: Sequence[Any]) -> None:
        self._action = int(document["action"]) if "action" in document else -1
        self._policy: Any = None
        self._reader, self._names = reader, list(map(str, names))
        if self._action < 0:
            written = document["policy"]
            self._policy = registry.load("policy", str(written["class"])).from_document(written)
            own = tuple(self._policy.names.features)
            if own and reader.names and own != reader.names:
                raise InputError(f"the baseline reads the features {list(own)}, and the class {list(reader.names)}")

    def look(self, context: Context) -> None:
        """Take the action for a context, which is what is returned until the next one."""
        if self._policy is not None:
            table = np.empty((1, len(context.features)), dtype=object if self._reader.declared else float)
            table[0] = context.features
            self._action = int(played(self._policy, table, self._names)[0])

    def __call__(self, row: int) -> int:
        """Return the action at the context that was looked at, whose row this is."""
        del row
        return self._action
