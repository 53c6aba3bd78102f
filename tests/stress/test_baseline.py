"""How often a learner with a baseline breaks its promise, and what the promise costs.

Drifting: the right actions change three times, those of the baseline among them. After every round the total cost is at
most (1 + loss) times that of the baseline, which plays one action, or a tree that is not the best.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest

from milpcb.learners import Conservative
from milpcb.rng import child
from tests.learners.rounds import one_round
from tests.stress.known_truths import rare
from tests.stress.test_confidence import CONTEXTS, LEARNERS, K, fixed, reacting

KINDS = ("one law", "drifting", "reacting", "mirror")
ROUNDS, LOSS, CONFIDENCE = 2_000, 0.05, 0.95
FEW = 600  # rounds where there is one run
FREE = 50  # runs without a baseline, of which only a mean is wanted


class Run(NamedTuple):
    """Whether the promise was ever broken, what was gained over the baseline, and its rounds alone, a round."""

    broken: bool
    gain: float
    alone: float


def usual(kind: str, contexts: Any) -> list[int]:
    """Return what the baseline plays on each context: one action, or another feature's tree."""
    return [0] * len(contexts) if kind in ("one law", "mirror") else np.where(contexts[:, 1] > 0.5, 1, 0).tolist()


def world(kind: str, rounds: int, seed: int, rng: Any) -> tuple[Any, Any, Any]:
    """Return an oracle on the contexts, the row of each round, and costs (K,) of a round, its row and last q there."""
    if kind == "mirror":
        oracle, rows, costs = fixed(seed % 20, rounds)
        return oracle, rows, lambda t, _row, _q: costs[t]
    oracle, chances = fixed(None, rounds)[0], rng.random((rounds, K))
    contexts, rows = oracle.contexts, rng.integers(CONTEXTS, size=rounds).tolist()
    if kind == "reacting":
        return oracle, rows, reacting(contexts, chances)
    right = np.array([np.where(contexts[:, f] > 0.5, 1 + f % 2, 2 - f % 2) for f in (0, 1, 2, 3)])
    worse = np.where(np.arange(K) == right[..., None], 0.35, 0.5)
    phases = 1 if kind == "one law" else len(right)
    return oracle, rows, lambda t, row, _q: chances[t] < worse[t * phases // rounds, row]


def play(kind: str, name: str, loss: float | None, rounds: int, confidence: float, seed: int) -> Run:
    """Play once, without a baseline where ``loss`` is None."""
    rng = child(seed, "baseline", kind)
    oracle, rows, costs = world(kind, rounds, seed, rng)
    learner, today = LEARNERS[name](oracle, seed, rounds), usual(kind, oracle.contexts)
    if loss is not None:
        learner = Conservative(oracle, inner=learner, baseline=today, loss=loss, confidence=confidence, seed=seed)
    paid, due, broken = 0.0, 0.0, False
    last = np.full((CONTEXTS, K), 1 / K)
    for t, row in enumerate(rows):
        shown = costs(t, row, last[row])
        action, last[row] = one_round(learner, row, shown, rng)
        paid += shown[action]
        due += shown[today[row]]
        broken |= loss is not None and paid > (1 + loss) * due + 1e-9
    alone = getattr(learner, "rounds_of_baseline", 0) / rounds
    return Run(bool(broken), float(due - paid) / rounds, alone)


@pytest.mark.cases(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LEARNERS)
def test_the_promise_is_kept(name: str, kind: str, runs: int, record_property: Any) -> None:
    """In 95 of 100 runs, by two standard errors."""
    rounds = ROUNDS if runs > 1 else FEW
    kept = [play(kind, name, LOSS, rounds, CONFIDENCE, seed) for seed in range(runs)]
    compared = range(min(runs, FREE)) if runs > 1 else []
    free = np.mean([play(kind, name, None, rounds, CONFIDENCE, seed).gain for seed in compared] or [np.nan])
    broken, gain, alone = np.mean(kept, axis=0)
    line = f"broken in {broken:.1%}; gain {gain:.4f}, without {free:.4f}; baseline alone {alone:.3f}"
    record_property("figure", line)
    assert broken <= rare(1 - CONFIDENCE, runs)


def test_a_long_run_keeps_most_of_the_gain() -> None:
    """Two thirds after 20 000 rounds; nine tenths after 100 000."""
    kept, free = (play("one law", "exp4", loss, 20_000, CONFIDENCE, 0).gain for loss in (LOSS, None))
    assert kept >= 2 / 3 * free
