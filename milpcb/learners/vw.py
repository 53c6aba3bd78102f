"""Vowpal Wabbit's contextual bandits as a learner, for comparison."""

from typing import Any

import numpy as np

from milpcb import rng
from milpcb.core.checks import context_array, index, whole
from milpcb.core.extras import needs
from milpcb.errors import InputError, clipped, did_you_mean, shown
from milpcb.learners.base import Learner
from milpcb.types import Floats

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

    Setting: costs of one law, given context and action; no guarantee is computed. Every round is a multi-line example:
    a shared line with the features of the context that are not 0, ``|x 0:1.0 3:0.5`` (namespace x, features numbered
    from 0), and a line for each action, ``|a 2``. VW's regression is linear in the features, so what it can represent
    is decided by the interactions in ``arguments``: ``-q xa`` gives each action weights of its own,
    ``--interactions xxa`` also weights for each pair of features, which a decision tree of depth 2 needs.

    q are the probabilities that VW predicts, scaled to sum to 1 as it computes with 32 bits. Certificates hold, also
    where VW draws numbers of its own while it learns (``--bag``, ``--cover``, ``--rnd``).

    VW's saved models do not go on bit-identically under all options (``--bag``, ``--cover``, ``--rnd``, ``--sgd``), so
    the state is the list of all rounds played, and ``restore`` learns them again, in about the time that the play took.

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
        """Return the probabilities (K,) that VW predicts."""
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
    """Raise InputError unless these are options from above, each with its value, and ask for action probabilities."""
    if not isinstance(arguments, str):
        raise InputError(f"arguments must be VW's command line as one string, got {shown(arguments)}")
    words = iter(arguments.split())
    for word in words:
        if word in WITH_VALUE:
            next(words, None)
        elif word not in FLAGS:
            raise InputError(
                f"arguments: VW's option '{clipped(word)}' is not taken here{did_you_mean(word, FLAGS | WITH_VALUE)}"
            )
    if "--cb_explore_adf" not in arguments.split():
        raise InputError("arguments must have --cb_explore_adf: with it VW returns a probability for each action")
