"""How often regret exceeds the certificate with confidence after any of all rounds of a run.

Costs of four kinds: of one law; reacting, where the action that was likeliest on this context when it was last shown
pays most; vanishing, where an action that was unlikely then costs nothing; and mirror, costs written down beforehand to
the harm of epsilon-greedy. Costs know all rounds before, and nothing of the action of their own round.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, open_oracle
from milpcb.environments.mirror import Mirror
from milpcb.learners import BistroPlus, ContextualFTPL, EpsilonGreedy, Exp4
from milpcb.rng import child
from policies import DecisionTrees
from tests.learners.rounds import one_round
from tests.stress.known_truths import rare

K, FEATURES, CONTEXTS = 3, 6, 64
ROUNDS, CONFIDENCE = 1_000, 0.95
TREES = DecisionTrees(n_actions=K, depth=1, thresholds=[[0.5]] * FEATURES)

LEARNERS: dict[str, Callable[[Any, int, int], Any]] = {
    "exp4": lambda oracle, _seed, _T: Exp4(oracle),
    "exp4, optimistic": lambda oracle, _seed, T: Exp4(oracle, horizon=T, rate="certified", estimates="optimistic"),
    "exp4, optimistic, no horizon": lambda oracle, _seed, _T: Exp4(oracle, estimates="optimistic"),
    "epsilon-greedy": lambda oracle, _seed, T: EpsilonGreedy(oracle, horizon=T),
    "adaptive leader": lambda oracle, seed, _T: ContextualFTPL(
        oracle, seed=seed, epsilon="adaptive", noise_on="columns"
    ),
    "signed noise": lambda oracle, seed, T: BistroPlus(
        oracle, FinitePool(oracle.contexts), horizon=T, seed=seed, noise="signed", queries="profile"
    ),
}

Costs = Callable[[int, int, Any], Any]  # of a round, its row and the last q (K,) there: costs (K,)


def one_law(contexts: Any, chances: Any) -> Costs:
    """Return costs that are least where a tree of depth 1 is followed."""
    right = np.where(contexts[:, 0] > 0.5, 1, 2)
    worse = np.where(np.arange(K) == right[:, None], 0.3, 0.6)
    return lambda t, row, _q: chances[t] < worse[row]


def reacting(_contexts: Any, chances: Any) -> Costs:
    """Return costs of which the action that was likeliest has the highest."""
    worse = np.where(np.eye(K, dtype=bool), 0.8, 0.3)
    return lambda t, _row, q: chances[t] < worse[q.argmax()]


def vanishing(_contexts: Any, chances: Any) -> Costs:
    """Return costs that are nothing where an action was unlikely."""
    return lambda t, _row, q: (chances[t] < 0.5) & (q >= 0.2)


DRAWN = {"one law": one_law, "reacting": reacting, "vanishing": vanishing}
KINDS = (*DRAWN, "mirror")


@cache
def fixed(seed: int | None, rounds: int) -> tuple[Any, Any, Any]:
    """Return an oracle, and the rows and costs (T, K) that were fixed beforehand; none of those without a seed."""
    if seed is None:
        contexts = child(0, "contexts").integers(0, 2, (CONTEXTS, FEATURES)).astype(float)
        return open_oracle(TREES, contexts, kind="search"), None, None
    stream = Mirror(copies=2, n_actions=K, n_contexts=CONTEXTS, n_features=FEATURES).open(TREES, rounds, seed)
    return (
        open_oracle(TREES, np.asarray(stream.contexts), kind="search"),
        [stream.reveal(t) for t in range(rounds)],
        np.array([stream.costs(t) for t in range(rounds)], dtype=float),
    )


def world(kind: str, rounds: int, seed: int, rng: Any) -> tuple[Any, Any, Costs]:
    """Return an oracle on the contexts, the row of each round, and costs."""
    if kind == "mirror":
        oracle, rows, costs = fixed(seed % 20, rounds)
        return oracle, rows, lambda t, _row, _q: costs[t]
    oracle = fixed(None, rounds)[0]
    return oracle, rng.integers(CONTEXTS, size=rounds).tolist(), DRAWN[kind](oracle.contexts, rng.random((rounds, K)))


class Watch:
    """Sees whether regret was above the certificate after any round, and asks for both only where it may have been.

    Regret is above where the best policy has paid less than ``floor``, what it must have paid by the certificate.
    Neither ever falls, and the floor grows in a round by the estimate at most, so there are many rounds to go.
    """

    def __init__(self, oracle: Any, learner: Any, confidence: float) -> None:
        self._oracle, self._learner, self._confidence = oracle, learner, confidence
        self.totals = np.zeros((oracle.n_contexts, K))
        self._least = self._most = 0.0  # what the best policy has paid is not less, the floor is not more
        self.above = False

    def after(self, row: int, costs: Any) -> None:
        """Take in the costs (K,) of a round that was learnt."""
        self.totals[row] += costs
        self._most += self._learner.ledger.last
        if self._most > self._least:
            regret, certificate = self.ask()
            self.above |= regret > certificate

    def ask(self) -> tuple[float, float]:
        """Return regret and its certificate."""
        paid = self._learner.ledger.cost
        certificate = self._learner.certificate(confidence=self._confidence)
        self._least, self._most = self._oracle.value(self.totals), paid - certificate
        return paid - self._least, certificate


def run(name: str, kind: str, rounds: int, confidence: float, seed: int) -> tuple[bool, float, float]:
    """Play once; return whether regret was ever above its certificate, and both at the end."""
    rng = child(seed, "coverage", kind)
    oracle, rows, costs = world(kind, rounds, seed, rng)
    learner = LEARNERS[name](oracle, seed, rounds)
    watch = Watch(oracle, learner, confidence)
    last = np.full((CONTEXTS, K), 1 / K)
    for t, row in enumerate(rows):
        shown = costs(t, row, last[row])
        _, last[row] = one_round(learner, row, shown, rng)
        watch.after(row, shown)
    return watch.above, *watch.ask()


@pytest.mark.cases(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LEARNERS)
def test_regret_stays_below_its_certificate_after_every_round(
    name: str, kind: str, runs: int, record_property: Any
) -> None:
    """In 95 of 100 runs, by two standard errors."""
    above, regret, certificate = np.mean([run(name, kind, ROUNDS, CONFIDENCE, seed) for seed in range(runs)], axis=0)
    record_property("figure", f"above in {above:.1%}; regret {regret:.0f}, certificate {certificate:.0f} on average")
    assert above <= rare(1 - CONFIDENCE, runs)
