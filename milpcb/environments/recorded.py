"""Environments of data that are there: one's own rounds with all their costs, and classification sets as bandits."""

from __future__ import annotations

import logging
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from milpcb.core.checks import choice, context_array, cost_array, whole
from milpcb.data.tables import read_table, remarks
from milpcb.environments.stream import BernoulliStream, TableStream, check_opening
from milpcb.errors import InputError, needs
from milpcb.protocols import PolicyClass
from milpcb.rng import check_seed, child
from milpcb.types import Floats, Ints

DATA_SETS = ("breast_cancer", "digits", "iris", "wine")
_log = logging.getLogger(__name__)


class _Data(NamedTuple):
    contexts: Floats  # (m, d)
    costs: Floats  # (n, K)
    feature_names: tuple[str, ...]
    action_names: tuple[str, ...]
    rows: Ints  # (n,) of the contexts that the costs are of


@dataclass(frozen=True)
class _Recorded:
    n_actions: int = field(init=False)
    feature_names: tuple[str, ...] = field(init=False)
    action_names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        data = self._load()
        names = {"feature_names": data.feature_names, "action_names": data.action_names}
        vars(self).update(n_actions=data.costs.shape[1], **names)  # which are frozen

    @abstractmethod
    def _load(self) -> _Data: ...


@dataclass(frozen=True)
class Replay(_Recorded):
    """Rounds that happened: line t of both files is round t. Anything in them may be adversarial.

    Shows the costs that a learner would have had on one's own history. A run has at most as many rounds as the files.

    Parameters
    ----------
    contexts : CSV or Parquet file of the contexts (T, d), with or without a header of feature names
    costs : file of the costs (T, K) in [0, 1] of all actions, with or without a header of action names
    order : "file", or "shuffled" by the seed, which makes drifting costs look i.i.d.

    """

    file_options: ClassVar[tuple[str, ...]] = ("contexts", "costs")  # what is in these files decides the numbers

    contexts: str
    costs: str
    order: Literal["file", "shuffled"] = "file"

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> TableStream:
        """Return the rounds in their order; raises InputError when the horizon is longer than the files."""
        check_opening(self.n_actions, policies, horizon)
        data = self._load()
        if horizon > len(data.rows):
            there = f"{self.contexts} has {len(data.rows)} rounds"
            raise InputError(f"the horizon is {horizon}, but {there}; lower the horizon")
        rng, every = child(check_seed(seed), "environment", "order"), np.arange(len(data.rows))
        rounds = (every if self.order == "file" else rng.permutation(every))[:horizon]
        return TableStream(data.contexts, data.rows[rounds], lambda: data.costs[rounds], known=True)

    def _load(self) -> _Data:
        choice("order", self.order, ("file", "shuffled"))
        paths = Path(self.contexts), Path(self.costs)
        return _read(*paths, *(path.stat().st_mtime_ns if path.exists() else 0 for path in paths))


@dataclass(frozen=True)
class Supervised(_Recorded):
    """Real contexts, whose features are correlated and where no policy of a small class is always right.

    Shows the cost of the best interpretable policy on data, and how near a learner comes to it. A classification set is
    a bandit in which a wrong label costs 1, and the right one nothing.

    Parameters
    ----------
    data : ``"breast_cancer"``, ``"digits"``, ``"iris"`` or ``"wine"``, as scikit-learn ships them
    permute_every : rounds, >= 1, after which the names of the labels are permuted anew, never twice running alike, so
        that every fixed policy pays as much as a guess; None never does

    """

    data: str = "breast_cancer"
    permute_every: int | None = None

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> BernoulliStream:
        """Return the stream of one seed; nothing is planted. Raises InputError."""
        check_opening(self.n_actions, policies, horizon)
        data, every = self._load(), self.permute_every or horizon
        names = _permutations(-(-horizon // every), self.n_actions, child(seed, "environment", "names"))

        def chances(rounds: Ints, rows: Ints) -> Floats:
            return np.asarray(data.costs[rows[:, None], names[rounds // every]])

        return BernoulliStream(data.contexts, chances, self.n_actions, horizon=horizon, seed=seed)

    def _load(self) -> _Data:
        whole("permute_every", 1 if self.permute_every is None else self.permute_every, 1)
        return _labelled(choice("data set", self.data, DATA_SETS))


def _permutations(n: int, k: int, rng: np.random.Generator) -> Ints:
    """Return (n, k) permutations, the first the identity, each drawn among those that differ from the one before."""
    found = [np.arange(k)]
    while len(found) < n:
        drawn = rng.permutation(k)
        found += [drawn] * bool((drawn != found[-1]).any())
    return np.array(found)


@cache
def _labelled(name: str) -> _Data:
    with needs("studies", "the environment 'supervised'"):
        from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    features, labels = (tuple(map(str, found)) for found in (bunch.feature_names, bunch.target_names))
    costs = 1.0 - np.eye(len(labels))[bunch.target]
    return _Data(context_array(bunch.data), costs, features, labels, np.arange(len(costs)))


@lru_cache(maxsize=4)
def _read(contexts: Path, costs: Path, *_written: int) -> _Data:
    features, table = read_table(contexts)
    actions, prices = read_table(costs)
    for line in remarks(contexts, costs):
        _log.warning(line)
    whole(f"the number of columns of {costs}", prices.shape[1], 2)
    if len(table) != len(prices):
        both = f"{contexts} has {len(table)} rounds, {costs} has {len(prices)}"
        raise InputError(f"{both}; give one line a round in both")
    cost_array(prices, *prices.shape)
    outside = np.argwhere((prices < 0) | (prices > 1))
    if len(outside):
        t, action = outside[0]
        raise InputError(
            f"{costs}, round {t + 1}, column {action + 1} is {prices[t, action]:g}; "
            "costs must lie in [0, 1]: rescale them"
        )
    distinct, rows = np.unique(context_array(table), axis=0, return_inverse=True)
    return _Data(distinct, prices, features, actions, rows.reshape(-1).astype(np.int64))
