"""Row numbers of contexts: contexts that every policy labels alike share one."""

from typing import Any

import numpy as np

from milpcb.core.checks import context_array
from milpcb.errors import InputError
from milpcb.protocols import PolicyClass
from milpcb.types import Floats, Ints


class KnownRows:
    """Numbers contexts: one for all that policies of a ``fixed`` class label alike; without a class, for equal ones."""

    def __init__(self, fixed: PolicyClass | None) -> None:
        self._fixed = fixed
        self._rows: dict[bytes, int] = {}
        self._n_columns: int | None = None

    def read(self, contexts: Any) -> Floats:
        """Return contexts as an array (n, d); raises InputError where it has not the columns of those before."""
        array = context_array(contexts) if self._fixed is None else self._fixed.read(contexts)
        if self._n_columns not in (None, array.shape[1]):
            raise InputError(f"contexts have {array.shape[1]} columns, those before had {self._n_columns}")
        return array

    @property
    def count(self) -> int:
        """How many numbers were given."""
        return len(self._rows)

    def add(self, contexts: Floats) -> Ints:
        """Return the row (n,) of each of ``contexts`` (n, d); one that is new gets the next number, from 0 up."""
        rows = [self._rows.setdefault(key, len(self._rows)) for key in self._keys(contexts)]
        self._n_columns = contexts.shape[1]
        return np.array(rows, dtype=np.int64)

    def find(self, contexts: Any) -> Ints:
        """Return the row (n,) of each of ``contexts`` (n, d); raises InputError where one is unknown."""
        rows = [self._rows.get(key, -1) for key in self._keys(self.read(contexts))]
        if -1 in rows:
            raise InputError(
                f"context {rows.index(-1)} is none of those that the oracle was opened on; "
                "where contexts arrive later, ask a GrowingOracle (milpcb.oracles.growing)"
            )
        return np.array(rows, dtype=np.int64)

    def _keys(self, contexts: Floats) -> list[bytes]:
        patterns = np.asarray(contexts if self._fixed is None else self._fixed.patterns(contexts))
        if patterns.dtype != np.int64:
            patterns = patterns + 0  # so that -0.0 is 0.0
        return [pattern.tobytes() for pattern in patterns]
