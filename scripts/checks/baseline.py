"""How often a learner with a baseline breaks its promise, and what the promise costs.

    python scripts/checks/baseline.py [learner ...] [--runs 500] [--rounds 2000] [--loss 0.05] [--confidence 0.95]
    python scripts/checks/baseline.py --long 100000 --runs 5

Costs of four kinds: of one law; drifting, where the right actions change three times, the baseline's among them;
reacting, where the action that was likeliest on this context when it was last shown pays most; and mirror, costs
written down beforehand to the harm of epsilon-greedy. The baseline plays one action, or a tree that is not the best.
The promise: after every round, the total cost is at most (1 + loss) times what the baseline would have paid.

Prints, for each learner and kind, in how many runs the promise was ever broken, what was gained over the baseline a
round, with the promise and without it, and the share of rounds in which the baseline was alone; ends with 1 where it is
broken more often than one minus the confidence allows by two standard errors. With --long, rounds of one law alone:
ends with 1 where less than 0.9 of the gain without a baseline is left.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from confidence import CONTEXTS, LEARNERS, K, fixed, reacting

from milpcb.learners import Conservative
from milpcb.rng import child, draw_action

KINDS = ("one law", "drifting", "reacting", "mirror")
KEPT = 0.9  # of the gain, in long runs
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
        last[row] = q = learner.act(row)
        action = draw_action(q, rng)
        learner.learn(row, action, float(shown[action]), float(q[action]))
        paid += shown[action]
        due += shown[today[row]]
        broken |= loss is not None and paid > (1 + loss) * due + 1e-9
    alone = getattr(learner, "rounds_of_baseline", 0) / rounds
    return Run(bool(broken), float(due - paid) / rounds, alone)


def main() -> int:
    """Play all runs, print a line for each learner and kind of costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("learners", nargs="*", metavar="learner", help=f"of {', '.join(LEARNERS)}; all by default")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--loss", type=float, default=0.05)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--long", type=int, metavar="T")
    arguments = parser.parse_args()
    rounds, failed = arguments.long or arguments.rounds, False
    delta = 1 - arguments.confidence
    most = delta + 2 * np.sqrt(delta * (1 - delta) / arguments.runs)
    print(f"{'learner':30s} {'costs':10s} {'broken':>12s} {'gain':>8s} {'without':>8s} {'alone':>7s}")
    with ProcessPoolExecutor() as pool:
        for name in arguments.learners or (["exp4"] if arguments.long else LEARNERS):
            for kind in ("one law",) if arguments.long else KINDS:
                one = partial(play, kind, name, rounds=rounds, confidence=arguments.confidence)
                seeds = range(arguments.runs)
                kept = list(pool.map(partial(_with, one, arguments.loss), seeds, chunksize=5))
                free = list(pool.map(partial(_with, one, None), seeds[:FREE], chunksize=5))
                broken, gain, alone = (np.array(column, dtype=float) for column in zip(*kept, strict=True))
                without = float(np.mean([run.gain for run in free]))
                bad = bool(broken.mean() > most or (arguments.long and gain.mean() < KEPT * without))
                failed |= bad
                counted = f"{broken.sum():.0f} of {arguments.runs}"
                means = f"{gain.mean():8.4f} {without:8.4f} {alone.mean():7.3f}"
                print(f"{name:30s} {kind:10s} {counted:>12s} {means}{'   WRONG' * bad}", flush=True)
    return int(failed)


def _with(one: Any, loss: float | None, seed: int) -> Run:
    return one(loss=loss, seed=seed)  # type: ignore[no-any-return]


if __name__ == "__main__":
    sys.exit(main())
