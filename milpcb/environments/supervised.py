"""Supervised: a classification set as a bandit; the cost is 1 for a wrong label and 0 for the right one."""

from dataclasses import dataclass
from functools import cache
from math import factorial
from typing import NamedTuple

import numpy as np

from milpcb.core.checks import choice, context_array, whole
from milpcb.core.extras import needs
from milpcb.environments.stream import BernoulliStream, check_opening
from milpcb.protocols import PolicyClass
from milpcb.rng import child
from milpcb.types import Floats, Ints

DATA_SETS = ("breast_cancer", "digits", "iris", "wine")


@dataclass(frozen=True)
class Supervised:
    """Real contexts, whose features are correlated and where no policy of a small class is always right.

    Shows what the best interpretable policy costs on data, and how near a learner comes to it. With ``permute_every``
    the labels change their names over and over, which breaks learners that predict costs from the past: over many
    phases every fixed policy pays about what a guess pays, and a learner that trusts the last phase may pay more.

    Parameters
    ----------
    data : ``"breast_cancer"``, ``"digits"``, ``"iris"`` or ``"wine"``, as scikit-learn ships them
    permute_every : rounds, >= 1, after which the names of the labels are permuted anew (never twice running alike);
        None = never. The first phase has the true names.

    Raises
    ------
    UnknownNameError (data), InputError (permute_every)

    """

    data: str = "breast_cancer"
    permute_every: int | None = None

    def __post_init__(self) -> None:
        choice("data set", self.data, DATA_SETS)
        if self.permute_every is not None:
            whole("permute_every", self.permute_every, 1)

    @property
    def n_actions(self) -> int:
        """Number of labels."""
        return len(self.action_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features in the data set."""
        return _load(self.data).feature_names

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the labels in the data set."""
        return _load(self.data).action_names

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> BernoulliStream:
        """Return the stream of one seed; nothing is planted. Raises InputError."""
        check_opening(self.n_actions, policies, horizon)
        data = _load(self.data)
        every = self.permute_every or horizon
        ranks = _ranks(-(-horizon // every), self.n_actions, child(seed, "environment", "names"))
        chances = Renaming(data.labels, self.n_actions, every, ranks)
        return BernoulliStream(data.contexts, chances, self.n_actions, horizon=horizon, seed=seed)


@dataclass(frozen=True)
class Renaming:
    """Labels (m,) whose names are permuted in each phase of ``every`` rounds; all actions but the named one cost 1.

    A phase keeps only the rank of its permutation in the lexicographic order, ``ranks`` (P,); the permutations
    themselves are made when their rounds are drawn.
    """

    labels: Ints
    n_actions: int
    every: int
    ranks: Ints

    def __call__(self, rounds: Ints, rows: Ints) -> Floats:
        """Return (n, K) chances of cost 1 on the context ``rows`` (n,) at the increasing ``rounds`` (n,)."""
        phase = rounds // self.every
        first, last = phase[0], phase[-1]
        names = permutations(self.ranks[first : last + 1], self.n_actions)
        return np.asarray(1.0 - np.eye(self.n_actions)[names[phase - first, self.labels[rows]]])


def permutations(ranks: Ints, k: int) -> Ints:
    """Return (n, k): the permutations of 0..k-1 with these ``ranks`` (n,) in lexicographic order, rank 0 the identity.

    Digit i of a rank in the factorial number system is the place of the next value among those not used yet.
    """
    every = np.arange(len(ranks))
    left = np.tile(np.arange(k), (len(ranks), 1))
    chosen = np.empty_like(left)
    for i in range(k):
        digit, ranks = np.divmod(ranks, factorial(k - 1 - i))
        chosen[:, i] = left[every, digit]
        left = left[np.arange(k - i) != digit[:, None]].reshape(len(every), k - i - 1)
    return chosen


def _ranks(n_phases: int, k: int, rng: np.random.Generator) -> Ints:
    """Return (n_phases,) ranks: the first 0, each later one uniform among those that differ from the one before."""
    steps = rng.integers(1, factorial(k), size=n_phases)
    steps[0] = 0
    return np.asarray(np.cumsum(steps) % factorial(k))


class _DataSet(NamedTuple):
    contexts: Floats
    labels: Ints
    feature_names: tuple[str, ...]
    action_names: tuple[str, ...]


@cache
def _load(name: str) -> _DataSet:
    """Return a data set of scikit-learn's own package; no download, read once."""
    with needs("studies", "the environment 'supervised'"):
        from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    labels: Ints = np.array(bunch.target, dtype=np.int64)
    labels.setflags(write=False)
    return _DataSet(
        context_array(bunch.data),
        labels,
        tuple(map(str, bunch.feature_names)),
        tuple(map(str, bunch.target_names)),
    )
