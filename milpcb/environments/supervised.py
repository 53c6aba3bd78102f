"""Supervised: a classification set as a bandit; the cost is 1 for a wrong label and 0 for the right one."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from milpcb.core.checks import choice, context_array
from milpcb.core.extras import needs
from milpcb.environments.stream import BernoulliStream, Steps, check_opening
from milpcb.protocols import PolicyClass
from milpcb.types import Floats, Ints

DATA_SETS = ("breast_cancer", "digits", "iris", "wine")


@dataclass(frozen=True)
class Supervised:
    """Real contexts, whose features are correlated and where no policy of a small class is always right.

    Shows what the best interpretable policy costs on data, and how near a learner comes to it.

    Parameters
    ----------
    data : ``"breast_cancer"``, ``"digits"``, ``"iris"`` or ``"wine"``, as scikit-learn ships them

    """

    data: str = "breast_cancer"

    def __post_init__(self) -> None:
        choice("data set", self.data, DATA_SETS)

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
        chances = Steps.of_labels(np.zeros(1, dtype=np.int64), data.labels[None, :], self.n_actions, 0.0, 1.0)
        return BernoulliStream(data.contexts, chances, self.n_actions, horizon=horizon, seed=seed)


class _DataSet(NamedTuple):
    contexts: Floats
    labels: Ints
    feature_names: tuple[str, ...]
    action_names: tuple[str, ...]


@cache
def _load(name: str) -> _DataSet:
    with needs("studies", "the environment 'supervised'"):
        from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    labels = np.array(bunch.target, dtype=np.int64)
    names = (tuple(map(str, found)) for found in (bunch.feature_names, bunch.target_names))
    return _DataSet(context_array(bunch.data), labels, *names)
