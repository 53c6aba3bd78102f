"""The policies of the package contextualbandits over decision trees, as learners, for comparison."""

from typing import Any

import numpy as np

from milpcb import rng
from milpcb.core.checks import choice, context_array, index, whole
from milpcb.core.extras import needs
from milpcb.learners.base import Learner
from milpcb.types import Floats, Ints

# The policies that are made from a classifier and the number of actions, and how each is kept to one thread.
POLICIES = {
    "AdaptiveGreedy": {"njobs": 1},
    "BootstrappedTS": {"njobs_arms": 1},
    "BootstrappedUCB": {"njobs_arms": 1},
    "EpsilonGreedy": {"njobs": 1},
    "SoftmaxExplorer": {"njobs": 1},
}


class ContextualBandits(Learner):
    """A policy of contextualbandits 0.3.30 (Cortes 2018) over scikit-learn's decision trees, refitted in batches.

    Setting: costs of one law, given context and action; no guarantee is computed. The first ``refit`` rounds are
    uniform. Then, and again and again, a new policy is fitted to all rounds so far, and asked for an action on every
    context; these are played until the next one. So a policy that draws numbers while it predicts draws once a batch
    for each context. Its classifiers take rewards of 0 and 1: a cost c is learnt as 1 with probability c.

    The package does not return the probability of what it plays: q is 1 for its action. Given the past the action may
    have been random, but the estimate e = c that follows from q = 1 has e 1[y = a] <= c_a whatever was drawn, so
    certificates hold (see milpcb.ledger). They are weak: a policy is charged only where it agrees with the play.

    Parameters
    ----------
    contexts, n_actions, horizon, seed : as of every learner
    policy : name of its class in contextualbandits.online
    depth : greatest depth of a tree
    leaf : least number of rounds in a leaf of a tree
    refit : rounds between two fits; a tenth of those so far where that is more

    """

    hides_law = True
    kept = ("_rounds", "_fitted")

    def __init__(
        self,
        contexts: Floats,
        n_actions: int,
        *,
        horizon: int | None = None,
        seed: int = 0,
        policy: str = "BootstrappedUCB",
        depth: int = 3,
        leaf: int = 1,
        refit: int = 50,
    ) -> None:
        super().__init__(n_actions=n_actions, horizon=horizon, seed=seed)
        self._contexts = context_array(contexts)
        self._policy = choice("policy", policy, POLICIES)
        self._tree = {"max_depth": whole("depth", depth, 1), "min_samples_leaf": whole("leaf", leaf, 1)}
        self._refit = whole("refit", refit, 1)
        self._rounds: list[list[int]] = []  # row, action, reward
        self._fitted = 0  # rounds that the policy fitted last was made from
        self._plays: Ints | None = None  # (m,) its actions
        self._modules()

    def _act(self, row: int) -> Floats:
        """Return 1 for the action of the policy fitted last (K,), or 1/K for all before there is one."""
        row = index("row", row, len(self._contexts))
        if self._plays is None:
            return np.full(self.n_actions, 1.0 / self.n_actions)
        q = np.zeros(self.n_actions)
        q[self._plays[row]] = 1.0
        return q

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        del probability
        drawn = cost if cost in (0.0, 1.0) else self._child("cost", self.played).random() < cost
        self._rounds.append([row, action, 1 - int(drawn)])
        if len(self._rounds) >= self._fitted + max(self._refit, self._fitted // 10):
            self._fit(len(self._rounds))

    def _restore(self, state: dict[str, Any]) -> None:
        """Fit the policy again: it follows from the rounds and the seed."""
        super()._restore(state)
        self._fit(whole("fitted", self._fitted, 0, len(self._rounds)))

    def _fit(self, rounds: int) -> None:
        self._fitted, self._plays = rounds, None
        if not rounds:
            return
        online, tree = self._modules()
        rows, actions, rewards = np.array(self._rounds[:rounds]).T
        seeds = self._child("fit", rounds).integers(1, 2**31, size=2).tolist()  # the package refuses a seed of 0
        base = tree(**self._tree, random_state=seeds[0])
        policy = getattr(online, self._policy)(base, self.n_actions, random_state=seeds[1], **POLICIES[self._policy])
        policy.fit(self._contexts[rows], actions, rewards)
        self._plays = np.asarray(policy.predict(self._contexts), dtype=np.int64)

    def _modules(self) -> tuple[Any, Any]:
        with needs("contextualbandits", "the learner 'contextualbandits'"):
            from contextualbandits import online
            from sklearn.tree import DecisionTreeClassifier
        return online, DecisionTreeClassifier

    def _child(self, *names: str | int) -> np.random.Generator:
        return rng.child(self.seed, "learner", "contextualbandits", *names)
