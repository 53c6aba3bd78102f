"""Replay: one's own rounds, with the cost of every action in each of them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from milpcb.core.checks import context_array, cost_array, whole
from milpcb.data.tables import read_table, remarks
from milpcb.environments.stream import TableStream, check_opening
from milpcb.errors import InputError
from milpcb.protocols import PolicyClass
from milpcb.rng import check_seed
from milpcb.types import Floats, Ints

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Replay:
    """Rounds that happened: line t of both files is round t. Whatever is in them may be adversarial.

    Shows what a learner would have paid on one's own history. A run has at most as many rounds as the files.

    Parameters
    ----------
    contexts : CSV or Parquet file of the contexts (T, d), with or without a header of feature names
    costs : file of the costs (T, K) in [0, 1] of all actions, with or without a header of action names

    """

    file_options: ClassVar[tuple[str, ...]] = ("contexts", "costs")  # what is in these files decides the numbers

    contexts: str
    costs: str
    n_actions: int = field(init=False)
    feature_names: tuple[str, ...] = field(init=False)  # the headers
    action_names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        data = self._load()
        names = {"feature_names": data.feature_names, "action_names": data.action_names}
        vars(self).update(n_actions=data.costs.shape[1], **names)  # which are frozen

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> TableStream:
        """Return the rounds, the same of every seed; raises InputError when the horizon is longer than the files."""
        check_opening(self.n_actions, policies, horizon)
        data = self._load()
        if horizon > len(data.rows):
            raise InputError(
                f"the horizon is {horizon}, but {self.contexts} has {len(data.rows)} rounds; lower the horizon"
            )
        check_seed(seed)
        return TableStream(data.contexts, data.rows[:horizon], lambda: data.costs[:horizon], known=True)

    def _load(self) -> _History:
        paths = Path(self.contexts), Path(self.costs)
        return _read(*paths, *(path.stat().st_mtime_ns if path.exists() else 0 for path in paths))


class _History(NamedTuple):
    contexts: Floats  # (m, d), the distinct ones
    rows: Ints  # (T,), their numbers round by round
    costs: Floats
    feature_names: tuple[str, ...]
    action_names: tuple[str, ...]


@lru_cache(maxsize=4)
def _read(contexts: Path, costs: Path, *_written: int) -> _History:
    features, table = read_table(contexts)
    actions, prices = read_table(costs)
    for line in remarks(contexts, costs):
        _log.warning(line)
    whole(f"the number of columns of {costs}", prices.shape[1], 2)
    if len(table) != len(prices):
        raise InputError(
            f"{contexts} has {len(table)} rounds, {costs} has {len(prices)}; give one line a round in both"
        )
    cost_array(prices, *prices.shape)
    outside = np.argwhere((prices < 0) | (prices > 1))
    if len(outside):
        t, action = outside[0]
        raise InputError(
            f"{costs}, round {t + 1}, column {action + 1} is {prices[t, action]:g}; "
            "costs must lie in [0, 1]: rescale them"
        )
    return _History(*distinct_rows(table), prices, features, actions)


def distinct_rows(table: Any) -> tuple[Floats, Ints]:
    """Return the distinct contexts (m, d) of a table of rounds, read-only, and the number (T,) of each round's."""
    distinct, rows = np.unique(context_array(table), axis=0, return_inverse=True)
    distinct.setflags(write=False)
    return distinct, rows.reshape(-1).astype(np.int64)
