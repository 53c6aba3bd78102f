"""Supervised: a classification set as a bandit; the cost is 1 for a wrong label and 0 for the right one."""

from dataclasses import dataclass, field
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
    n_actions: int = field(init=False)
    feature_names: tuple[str, ...] = field(init=False)
    action_names: tuple[str, ...] = field(init=False)  # the labels

    def __post_init__(self) -> None:
        data = _load(choice("data set", self.data, DATA_SETS))
        names = {"feature_names": data.feature_names, "action_names": data.action_names}
        vars(self).update(n_actions=len(data.action_names), **names)  # which are frozen

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
