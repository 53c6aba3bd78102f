"""Time of a decision of `Bandit` while contexts arrive one by one, and whether that grows.

12 yes/no features, none of the contexts known in advance, depth-2 trees, K = 3, Exp4. Printed for each block of 10 000
decisions: contexts seen so far (at most 4 096 differ), microseconds of CPU a decision (act and learn), the same of the
learner without Bandit, on all 4 096 contexts opened in advance, and the peak of what Python holds since the bandit was
made. CPU time leaves out what other programs took. Run with one thread:

    python scripts/benchmarks/bandit.py [--decisions 100000]
"""

import argparse
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import product
from time import process_time

import bench
import numpy as np

from milpcb import Bandit, open_oracle
from milpcb.core.decimals import spaced
from milpcb.learners import Exp4
from milpcb.rng import draw_action
from policies import DecisionTrees

N_FEATURES, N_ACTIONS, BLOCK = 12, 3, 10_000
TREES = DecisionTrees(n_actions=N_ACTIONS, depth=2, thresholds=[[0.5]] * N_FEATURES)
Decide = Callable[[int, list[float], np.ndarray], None]


def main() -> None:
    """Feed both the same rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=100_000)
    decisions = parser.parse_args().decisions
    pool = np.array(list(product((0.0, 1.0), repeat=N_FEATURES)))
    rows = np.random.default_rng(0).integers(len(pool), size=decisions)
    with_bandit = list(blocks(through_bandit(), pool, rows))
    alone = list(blocks(without_bandit(pool), pool, rows))
    memory = peaks(pool, rows)
    bench.show(
        "decisions while contexts arrive",
        [
            {
                "decisions": spaced(min(number * BLOCK, decisions)),
                "contexts": spaced(len(set(rows[: number * BLOCK].tolist()))),
                "CPU us": ours,
                "learner alone": bare,
                "ratio": ours / bare,
                "peak MB": memory[number - 1],
            }
            for number, (ours, bare) in enumerate(zip(with_bandit, alone, strict=True), 1)
        ],
    )


def through_bandit() -> Decide:
    """Return what decides and learns through a Bandit that knows no context."""
    bandit = Bandit(TREES, "exp4", seed=0)

    def decide(_row: int, context: list[float], costs: np.ndarray) -> None:
        decision = bandit.act(context)
        bandit.learn(decision, cost=float(costs[int(decision.action)]))

    return decide


def without_bandit(pool: np.ndarray) -> Decide:
    """Return what decides and learns by the learner itself, which knows all contexts."""
    learner = Exp4(open_oracle(TREES, pool, kind="search"))
    actions = np.random.default_rng(0)

    def decide(row: int, _context: list[float], costs: np.ndarray) -> None:
        q = learner.act(row)
        action = draw_action(q, actions)
        learner.learn(row, action, float(costs[action]), float(q[action]))

    return decide


def blocks(decide: Decide, pool: np.ndarray, rows: np.ndarray) -> Iterator[float]:
    """Yield microseconds a decision, block by block; costs are 0 or 1, of a tree that is right."""
    draw = np.random.default_rng(1)
    decide(int(rows[0]), pool[rows[0]].tolist(), np.zeros(N_ACTIONS))  # compiles or loads the search
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        right = np.where(pool[block, 0] == 1, pool[block, 1], 2 * pool[block, 2]).astype(int)
        chances = np.where(np.arange(N_ACTIONS) == right[:, None], 0.3, 0.6)
        costs = (draw.random(chances.shape) < chances).astype(float)
        contexts = pool[block].tolist()
        start = process_time()
        for row, context, cost in zip(block.tolist(), contexts, costs, strict=True):
            decide(row, context, cost)
        yield 1e6 * (process_time() - start) / len(block)


def peaks(pool: np.ndarray, rows: np.ndarray) -> list[float]:
    """Return the peak megabytes so far at the end of each block, from a run of its own, since counting takes time."""
    tracemalloc.start()
    found = [tracemalloc.get_traced_memory()[1] / 1e6 for _ in blocks(through_bandit(), pool, rows)]
    tracemalloc.stop()
    return found


if __name__ == "__main__":
    main()
