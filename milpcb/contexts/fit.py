"""Checks that a model of the contexts and an oracle mean the same by their row numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.types import Floats


def check_same_contexts(oracle: Any, contexts: Floats) -> None:
    """Raise InputError unless the oracle was opened on ``contexts`` (m, d), in this order."""
    if oracle.n_contexts != len(contexts):
        raise InputError(
            f"the oracle was opened on {oracle.n_contexts} contexts, but the pool has {len(contexts)}; use the same"
        )
    if np.array_equal(oracle.contexts, contexts):
        return
    if oracle.contexts.shape != contexts.shape:
        raise InputError(
            f"the oracle's contexts have {oracle.contexts.shape[1]} columns, the pool's {contexts.shape[1]}; "
            "use the same"
        )
    row = int(np.flatnonzero((oracle.contexts != contexts).any(axis=1))[0])
    raise InputError(
        f"the oracle and the pool hold different contexts, row {row} is the first; "
        "a row number must mean the same in both"
    )
