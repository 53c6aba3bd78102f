"""The policies of the package contextualbandits over decision trees, as learners: what others use today, to be compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb import rng
from milpcb.checks import choice, context_array, index, whole
from milpcb.extras import needs
from milpcb.protocols import Learner
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
    """A policy of the package contextualbandits (Cortes 2018, version 0.3.30) over scikit-learn's decision trees, refitted in batches.

    Setting: costs of one law, given context and action; no guarantee is computed. The first ``refit`` rounds are uniform. After
    each ``refit`` rounds a new policy is fitted to all rounds so far, and asked for an action on every context; these are
    played until the next one. So a policy that draws numbers while it predicts draws once a batch for each context. Its
    classifiers take rewards of 0 and 1: a cost c between them is learnt as 1 with probability c, which has the same mean.

    The package does not return the probability of what it plays: q is 1 for its action. Given the past the action may have been
    random, but the estimate e = c that follows from q = 1 has e 1[y = a] <= c_a whatever was drawn, so certificates hold (see
    milpcb.ledger). They are weak: a policy of the class is charged only where it agrees with the play.

    Parameters
    ----------
    contexts : (m, d), what rows are numbers of
    n_actions : K
    seed : of the policy's numbers, those of its trees and of the costs that are learnt
    policy : name of its class in contextualbandits.online
    depth : greatest depth of a tree
    refit : rounds between two fits, >= 1

    Raises
    ------
    UnknownNameError (policy), InputError, ExtraMissingError (the package is not installed)

    """

    def __init__(
        self,
        contexts: Floats,
        n_actions: int,
        *,
        seed: int = 0,
        policy: str = "BootstrappedUCB",
        depth: int = 6,
        refit: int = 100,
    ) -> None:
        self.n_actions = whole("n_actions", n_actions, 2)
        self._contexts = context_array(contexts)
        self._policy = choice("policy", policy, POLICIES)
        self._depth, self._refit = whole("depth", depth, 1), whole("refit", refit, 1)
        self._seed = seed
        self._rounds: list[list[int]] = []  # row, action, reward
        self._plays: Ints | None = None  # (m,) actions of the policy fitted last
        self._fit()

    def _act(self, row: int) -> Floats:
        """Return 1 for the action of the policy fitted last (K,), or 1/K for all before there is one."""
        row = index("row", row, len(self._contexts))
        if self._plays is None:
            return np.full(self.n_actions, 1.0 / self.n_actions)
        q = np.zeros(self.n_actions)
        q[self._plays[row]] = 1.0
        return q

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Note the reward, and fit a policy when it is time."""
        del probability
        drawn = cost if cost in (0.0, 1.0) else self._child("cost", self.played).random() < cost
        self._rounds.append([row, action, 1 - int(drawn)])
        if len(self._rounds) % self._refit == 0:
            self._fit()

    def _state(self) -> dict[str, Any]:
        """Return all rounds learnt: what is fitted follows from them and the seed."""
        return {"rounds": [list(played) for played in self._rounds]}

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state: fit the policy of its last batch."""
        self._rounds = [[int(number) for number in played] for played in state["rounds"]]
        self._fit()

    def _fit(self) -> None:
        """Fit a policy to the full batches so far, and ask it for its actions."""
        with needs("contextualbandits", "the learner 'contextualbandits'"):
            from contextualbandits import online
            from sklearn.tree import DecisionTreeClassifier

        batches = len(self._rounds) // self._refit
        if not batches:
            self._plays = None
            return
        rows, actions, rewards = np.array(self._rounds[: batches * self._refit]).T
        fit, tree = self._child("fit", batches).integers(1, 2**31, size=2).tolist()  # the package refuses a seed of 0
        base = DecisionTreeClassifier(max_depth=self._depth, random_state=tree)
        fitted = getattr(online, self._policy)(base, self.n_actions, random_state=fit, **POLICIES[self._policy])
        fitted.fit(self._contexts[rows], actions, rewards)
        self._plays = np.asarray(fitted.predict(self._contexts), dtype=np.int64)

    def _child(self, *names: str | int) -> np.random.Generator:
        return rng.child(self._seed, "learner", "contextualbandits", *names)
