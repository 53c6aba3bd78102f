"""Contextual bandits of other packages as learners, for comparison: Vowpal Wabbit, and contextualbandits."""

from typing import Any

import numpy as np

from milpcb import rng
from milpcb.core.checks import context_array, index, whole
from milpcb.errors import InputError, clipped, did_you_mean, needs, shown
from milpcb.learners.base import Learner
from milpcb.types import Floats, Ints

# Those of VW's options that decide what is learnt and played. Options that read or write files are left out on purpose:
# a config may come from somebody else.
FLAGS = {
    "--adaptive", "--cb_explore_adf", "--coin", "--elim", "--ftrl", "--greedify", "--invariant", "--noconstant",
    "--normalized", "--nounif", "--regcb", "--regcbopt", "--sgd", "--softmax", "--squarecb", "--synthcover",
}  # fmt: skip
WITH_VALUE = {
    "--bag", "--bit_precision", "--cb_max_cost", "--cb_min_cost", "--cb_type", "--cover", "--cubic", "--epsilon",
    "--first", "--gamma_exponent", "--gamma_scale", "--ignore", "--ignore_linear", "--initial_t", "--interactions",
    "--l1", "--l2", "--lambda", "--learning_rate", "--loss_function", "--mellowness", "--power_t", "--psi",
    "--quadratic", "--rnd", "-b", "-l", "-q",
}  # fmt: skip


class VW(Learner):
    """Online regression of costs with exploration, by Vowpal Wabbit (https://vowpalwabbit.org, version 9.11).

    Setting: i.i.d. costs, given context and action; no guarantee is computed. Every round is a multi-line example:
    a shared line with the features of the context that are not 0, ``|x 0:1.0 3:0.5``, and a line for each action, ``|a
    2``. Saved models of VW do not go on bit-identically, so ``restore`` learns all rounds again.

    Parameters
    ----------
    contexts, n_actions, horizon, seed : as of every learner
    arguments : VW's command line, with --cb_explore_adf; options that read or write files are refused

    """

    kept = ("_rounds",)

    def __init__(
        self,
        contexts: Floats,
        n_actions: int,
        *,
        horizon: int | None = None,
        seed: int = 0,
        arguments: str = "--cb_explore_adf --squarecb -q xa --interactions xxa",
    ) -> None:
        super().__init__(n_actions=n_actions, horizon=horizon, seed=seed)
        self._contexts = context_array(contexts)
        _check(arguments)
        self._command = f"{arguments} --random_seed {rng.child(seed, 'learner', 'vw').integers(2**31)} --quiet"
        self._actions = [f"|a {action}" for action in range(n_actions)]
        self._rounds: list[list[float]] = []  # row, action, cost, probability
        self._open()

    def _act(self, row: int) -> Floats:
        q = np.array(self._vw.predict([self._shared(row), *self._actions]), dtype=np.float64)
        return np.asarray(q / q.sum())

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        lines = [self._shared(row), *self._actions]
        lines[action + 1] = f"0:{cost!r}:{probability!r} {lines[action + 1]}"
        self._vw.learn(lines)
        self._rounds.append([row, action, cost, probability])

    def _restore(self, state: dict[str, Any]) -> None:
        self._open()
        self._rounds = []
        for row, action, cost, probability in state["rounds"]:
            self._learn(row, whole("action", action, 0, self.n_actions - 1), cost, probability)

    def _open(self) -> None:
        with needs("vw", "the learner 'vw'"):
            from vowpalwabbit import Workspace

        try:
            self._vw = Workspace(self._command)
        except RuntimeError as error:
            raise InputError(f"VW does not take its arguments: {clipped(str(error))}") from error

    def _shared(self, row: int) -> str:
        """Return the line of a context; raises InputError on a row that is none."""
        features = self._contexts[index("row", row, len(self._contexts))].tolist()
        return "shared |x " + " ".join(f"{j}:{value!r}" for j, value in enumerate(features) if value)


def _check(arguments: str) -> None:
    if not isinstance(arguments, str):
        raise InputError(f"arguments must be VW's command line as one string, got {shown(arguments)}")
    words = iter(arguments.split())
    for word in words:
        if word in WITH_VALUE:
            next(words, None)
        elif word not in FLAGS:
            raise InputError(
                f"arguments: VW's option '{clipped(word)}' is refused{did_you_mean(word, FLAGS | WITH_VALUE)}"
            )
    if "--cb_explore_adf" not in arguments.split():
        raise InputError("arguments must have --cb_explore_adf: with it VW returns a probability for each action")


class ContextualBandits(Learner):
    """BootstrappedUCB of contextualbandits 0.3.30 (Cortes 2018) over trees of scikit-learn, refitted in batches.

    Setting: i.i.d. costs, given context and action; no guarantee is computed. The first ``refit`` rounds are
    uniform; then a policy is fitted to all rounds so far, again and again, and played on every context until the next
    one. A cost c is learnt as 1 with probability c, as classifiers take rewards of 0 and 1. The package does not return
    the probability of what it plays: q is 1 for its action, so that certificates hold, but are weak.

    Parameters
    ----------
    contexts, n_actions, horizon, seed : as of every learner
    depth : greatest depth of a tree
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
        depth: int = 3,
        refit: int = 50,
    ) -> None:
        super().__init__(n_actions=n_actions, horizon=horizon, seed=seed)
        self._contexts = context_array(contexts)
        self._depth = whole("depth", depth, 1)
        self._refit = whole("refit", refit, 1)
        self._rounds: list[list[int]] = []  # row, action, reward
        self._fitted = 0  # rounds that the policy fitted last was made from
        self._plays: Ints | None = None  # (m,) its actions
        self._modules()

    def _act(self, row: int) -> Floats:
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
        base = tree(max_depth=self._depth, random_state=seeds[0])
        policy = online.BootstrappedUCB(base, self.n_actions, random_state=seeds[1], njobs_arms=1)
        policy.fit(self._contexts[rows], actions, rewards)
        self._plays = np.asarray(policy.predict(self._contexts), dtype=np.int64)

    def _modules(self) -> tuple[Any, Any]:
        with needs("contextualbandits", "the learner 'contextualbandits'"):
            from contextualbandits import online
            from sklearn.tree import DecisionTreeClassifier
        return online, DecisionTreeClassifier

    def _child(self, *names: str | int) -> np.random.Generator:
        return rng.child(self.seed, "learner", "contextualbandits", *names)
