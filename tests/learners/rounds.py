"""Rounds that several files play or only look at, and the classes that BISTRO+ plays on in its tests."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from milpcb import open_oracle
from milpcb.learners import ContextualFTPL
from milpcb.protocols import PolicyClass
from milpcb.rng import draw_action
from milpcb.types import Floats
from policies import BoxRules, DecisionTrees, FiniteClass, LinearRules, MonotoneRules, RuleLists, ThresholdRules

CONTEXTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 1]], float)
CLASSES: dict[str, PolicyClass] = {
    "decision_trees": DecisionTrees(3, 2, thresholds=2),
    "threshold_rules": ThresholdRules(3, thresholds=2),
    "linear_rules": LinearRules(2, max_weight=1),
    "rule_lists": RuleLists(3, max_rules=2, thresholds=2),
    "box_rules": BoxRules(3, thresholds=2),
    "monotone_rules": MonotoneRules(3),
    "finite_class": FiniteClass([[0, 1, 2, 0, 1], [1, 1, 0, 0, 2], [2, 2, 2, 2, 2]], 3),
}
LABELINGS = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 1, 1]])


def listed(labelings: Any, n_actions: int | None = None, kind: str = "enumeration") -> Any:
    """Return an oracle of a list of policies, by their labelings (N, m) of contexts that are numbered."""
    table = np.array(labelings)
    policies = FiniteClass(table, int(table.max()) + 1 if n_actions is None else n_actions)
    return open_oracle(policies, np.arange(float(table.shape[1]))[:, None], kind=kind)


def perturbed(labelings: Any = LABELINGS, kind: str = "search", contexts: Any = None, **options: Any) -> Any:
    """Return a perturbed leader on a list of labelings of two actions."""
    table = np.array(labelings)
    given = np.arange(float(table.shape[1]))[:, None] if contexts is None else np.array(contexts)
    return ContextualFTPL(open_oracle(FiniteClass(table, 2), given, kind=kind), **{"seed": 0, **options})


def drawn(learner: Any, row: int) -> Floats:
    """Return q on a row from where the learner stands; the round is given up."""
    q: Floats = learner.act(row)
    learner.give_up()
    return q


def past(learner: Any) -> Floats:
    """Return the hits (m, K) that are the estimates of BISTRO+ so far."""
    return np.array(learner.state()["past"])


def with_past(learner: Any, row: Any, hits: Any) -> Any:
    """Return a learner of BISTRO+ with other hits as its estimates of a row, or of several."""
    hits_so_far = past(learner)
    hits_so_far[row] = hits
    learner.restore({**learner.state(), "past": hits_so_far.tolist()})
    return learner


def table_of(learner: Any) -> Floats:
    """Return q (m, K) on every row, of a learner that keeps it."""
    return np.array(learner._table)


def mass_of(learner: Any) -> Floats:
    """Return the mass (m, K) that the policies found give to actions, which q is made of."""
    return np.array(learner._mass)


def one_round(learner: Any, row: int, costs: Any, rng: np.random.Generator) -> tuple[int, Floats]:
    """Play a round of these costs (K,), and return the action drawn and q."""
    q: Floats = learner.act(row)
    action = draw_action(q, rng)
    learner.learn(row, action, float(costs[action]), float(q[action]))
    return action, q


def each_round(
    learner: Any, rounds: int, costs: Callable[[int, Any], Any], seed: int = 0, law: Any = None
) -> Iterator[tuple[int, int, float, Floats]]:
    """Play on rows drawn by ``law`` (m,), None for all alike; yield row, action, cost and q after each round.

    ``costs(row, rng)`` returns the costs (K,) of a round.
    """
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        row = int(rng.choice(learner.oracle.n_contexts, p=law))
        shown = costs(row, rng)
        action, q = one_round(learner, row, shown, rng)
        yield row, action, float(shown[action]), q


def play(learner: Any, T: int, mean: Floats, seed: int, labelings: Any = LABELINGS) -> tuple[list[Any], float]:
    """Play T rounds of Bernoulli costs of mean (m, K); every round, and regret of the expected costs."""
    rng, rounds = np.random.default_rng(seed), []
    suffered, totals = 0.0, np.zeros(len(labelings))
    for _ in range(T):
        row = int(rng.integers(len(mean)))
        costs = (rng.random() < mean[row]).astype(float)
        action, q = one_round(learner, row, costs, rng)
        rounds.append((row, action, float(costs[action]), q))
        suffered += float(q @ costs)
        totals += costs[labelings[:, row]]
    return rounds, suffered - float(totals.min())


def transcript(learner: Any, rounds: int) -> bytes:
    """Play against costs of which some are 1/2; return every q and the final estimates."""
    rng, seen = np.random.default_rng(0), []
    for _ in range(rounds):
        row = int(rng.integers(learner.oracle.n_contexts))
        q = learner.act(row)
        action = min(int(np.searchsorted(q.cumsum(), rng.random())), learner.n_actions - 1)
        learner.learn(row, action, float(rng.choice([0.0, 0.3, 0.5, 1.0])), q[action])
        seen.append(q)
    return np.array(seen).tobytes() + past(learner).tobytes()


def play_planted(learner: Any, rounds: int, seed: int, switch: int = 0) -> tuple[list[int], list[float], float]:
    """Play costs 0.1 / 0.9 of the second of LABELINGS, whose opposite is good before ``switch``.

    Returns the actions that a learner puts all mass on, its rates and its regret.
    """
    draws, actions, rates = np.random.default_rng(seed), [], []
    suffered, totals = 0.0, np.zeros(len(LABELINGS))
    for t in range(rounds):
        row, luck = int(draws.integers(4)), draws.random()
        right = (row + (t < switch)) % 2
        costs = (luck < np.where(np.arange(2) == right, 0.1, 0.9)).astype(float)
        rates.append(learner.epsilon)
        actions.append(int(learner.act(row).argmax()))
        learner.learn(row, actions[-1], float(costs[actions[-1]]), 1.0)
        suffered += costs[actions[-1]]
        totals += costs[LABELINGS[:, row]]
    return actions, rates, suffered - float(totals.min())


def tail(s: Any) -> Any:
    """Return P(X - Y > s) for independent Laplace variables of scale 1."""
    s = np.asarray(s, dtype=float)
    half = np.exp(-np.abs(s)) * (2 + np.abs(s)) / 4
    return np.where(s >= 0, half, 1 - half)
