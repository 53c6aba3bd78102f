"""A world for classes of every depth: the tree that is right has depth 3, whatever the class that learns."""

from dataclasses import dataclass

from milpcb.environments.planted import Planted
from milpcb.environments.stream import BernoulliStream
from milpcb.protocols import PolicyClass
from policies import DecisionTrees


@dataclass(frozen=True)
class PlantedTree(Planted):
    """As ``Planted``, but the policy that is right is one of the trees of depth 3, not one of the class.

    A class of depth 2 does not hold it; the regret is against the best policy of the class, as everywhere.
    """

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> BernoulliStream:
        """Return the stream of one seed."""
        return super().open(DecisionTrees(policies.n_actions, depth=3), horizon, seed)
