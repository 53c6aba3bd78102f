"""How often the statements of a run on policies in turn are wrong, and how often a change of the world is proved.

Another tree is right in each part; or the right one fades into another; or the likeliest action costs most. Truth is
the total of the best of each sequence, by the same recursion on the true costs.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.blocks import Changes, least_in_turn
from milpcb.learners import EpsilonGreedy, Exp4, FixedShare, Uniform
from milpcb.rng import child
from policies import DecisionTrees
from tests.learners.rounds import one_round
from tests.stress.known_truths import rare

K, FEATURES, CONTEXTS, LOOKS, MOST = 3, 6, 64, 5, 5
ROUNDS, FEW, CONFIDENCE = 1_000, 300, 0.95  # a few rounds where there is one run
GOOD, BAD = 0.2, 0.6  # chances of a cost
CHANGES = {"no change": 0, "one change": 1, "four changes": 4, "ten changes": 10, "drifting": 1, "reacting": 0}
LEARNERS: dict[str, Callable[[Any, int], Any]] = {
    "exp4": lambda oracle, T: Exp4(oracle, horizon=T, rate="certified"),
    "exp4, optimistic": lambda oracle, T: Exp4(oracle, horizon=T, rate="certified", estimates="optimistic"),
    "exp4, no horizon": lambda oracle, _T: Exp4(oracle),
    "fixed share": lambda oracle, T: FixedShare(oracle, horizon=T),
    "fixed share, optimistic": lambda oracle, T: FixedShare(oracle, horizon=T, estimates="optimistic"),
    "epsilon-greedy": lambda oracle, T: EpsilonGreedy(oracle, horizon=T),
    "uniform": lambda _oracle, T: Uniform(K, horizon=T),
}


class Outcome(NamedTuple):
    """Result of one run."""

    above: bool
    proved: bool
    wrong: bool
    certificates: tuple[float, ...]


@cache
def trees() -> Any:
    contexts = np.array([[row >> bit & 1 for bit in range(FEATURES)] for row in range(CONTEXTS)], dtype=float)
    return open_oracle(DecisionTrees(n_actions=K, depth=1, thresholds=[[0.5]] * FEATURES), contexts, kind="search")


def right(count: int, rng: Any) -> Any:
    """Return the right action (count, m) in each part: that of a tree other than the one before."""
    found: list[Any] = []
    while len(found) < count:
        feature, actions = rng.integers(FEATURES), rng.permutation(K)[:2]
        labels = actions[trees().contexts[:, feature].astype(int)]
        if not found or (labels != found[-1]).mean() > 0.7:
            found.append(labels)
    return np.array(found)


def world(kind: str, rounds: int, rng: Any) -> Callable[[int, int, Any], Any]:
    """Return the chances of costs (K,) of a round, its row and the q (K,) there when it was last shown."""
    if kind == "reacting":
        return lambda _t, _row, q: np.where(np.arange(K) == q.argmax(), 0.8, 0.3)
    labels, every = right(CHANGES[kind] + 1, rng), np.arange(K)
    if kind == "drifting":
        one, other = (np.where(every == labels[part][:, None], GOOD, BAD) for part in (0, 1))
        return lambda t, row, _q: one[row] * (1 - t / rounds) + other[row] * t / rounds
    return lambda t, row, _q: np.where(every == labels[t * len(labels) // rounds][row], GOOD, BAD)


def run(name: str, kind: str, rounds: int, confidence: float, seed: int) -> Outcome:
    """Play once."""
    rng = child(seed, "changes", kind)
    oracle, chances, rows = trees(), world(kind, rounds, rng), rng.integers(CONTEXTS, size=rounds).tolist()
    learner = LEARNERS[name](oracle, rounds)
    ends, block = learner.ledger.blocks.ends, 0
    truth, last, above, wrong = [np.zeros((CONTEXTS, K))], np.full((CONTEXTS, K), 1 / K), False, False
    for t, row in enumerate(rows):
        if t == ends[block]:
            truth.append(np.zeros((CONTEXTS, K)))
            block += 1
        costs = (rng.random(K) < chances(t, row, last[row])).astype(float)
        _, last[row] = one_round(learner, row, costs, rng)
        truth[-1][row] += costs
        if (t + 1) % (rounds // LOOKS) == 0:
            found = learner.changes(oracle, confidence=confidence, most=MOST)
            best = np.array(best_in_turn(truth))
            above |= bool((learner.ledger.cost - best[: len(found.certificates)] > found.certificates).any())
            wrong |= is_wrong(found, best)
    return Outcome(above, found.proof is not None, wrong, found.certificates)


def best_in_turn(truth: list[Any]) -> list[float]:
    totals = least_in_turn(
        lambda j, k: trees().value(np.sum(truth[j:k], axis=0)), len(truth), MOST + 1, lambda _block: 0.0
    )
    return [turn.total for turn in totals]


def is_wrong(found: Changes, best: Any) -> bool:
    """Return whether a proof states what is not so."""
    if found.proof is None:
        return False
    return bool(best[0] < found.proof.single or best[found.proof.changes] > found.proof.in_turn)


@pytest.mark.cases(1)
@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("name", LEARNERS)
def test_statements_on_policies_in_turn_are_true(name: str, kind: str, runs: int, record_property: Any) -> None:
    """In 95 of 100 runs, by two standard errors, for all numbers of policies at once, and of proofs of a change."""
    found = [run(name, kind, ROUNDS if runs > 1 else FEW, CONFIDENCE, seed) for seed in range(runs)]
    above, proved, wrong = (np.mean([getattr(each, what) for each in found]) for what in Outcome._fields[:3])
    means = " ".join(f"{mean:.0f}" for mean in np.mean([each.certificates for each in found], axis=0))
    line = f"above in {above:.1%}, a change proved in {proved:.1%}, wrongly in {wrong:.1%}; certificates {means}"
    record_property("figure", line)
    assert max(above, wrong) <= rare(1 - CONFIDENCE, runs)


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", ["no change", "one change", "four changes"])
def test_a_change_of_the_world_is_proved(kind: str, runs: int, record_property: Any) -> None:
    """By optimistic fixed share, in at least 60 of 100 runs of 10 000 rounds; where nothing changed in at most 5."""
    proved = np.mean([run("fixed share, optimistic", kind, 10_000, CONFIDENCE, seed).proved for seed in range(runs)])
    record_property("figure", f"a change proved in {proved:.1%}")
    assert proved >= 0.6 if CHANGES[kind] else proved <= rare(1 - CONFIDENCE, runs)
