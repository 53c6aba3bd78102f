"""Plays one perturbed leader over the search and over HiGHS, and compares every round bit for bit.

    python scripts/checks/same_play.py [--rounds 20000]

Depth-2 trees over five yes/no features, costs 0 and 1, noise on columns and on contexts. With noise of integers
(law = "whole") every total is an integer, so what each round played, its estimate, the rate and the bound must be
the same to the last bit, and with them the regret; exit code 1 if they are not. With Laplace noise the two round
differently: the first rounds are printed in which a number and the play differ, and nothing is asked of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from milpcb import open_oracle
from milpcb.environments.planted import Planted
from milpcb.learners import ContextualFTPL
from milpcb.protocols import Stream
from policies import DecisionTrees

WORLD = Planted(n_actions=2, n_contexts=32, n_features=5)
TREES = DecisionTrees(n_actions=2, depth=2)
SEED = 0


class Round(NamedTuple):
    """What is compared after each round; all floats, compared exactly."""

    q: list[float]
    estimate: float
    epsilon: float
    bound: float


class Comparison(NamedTuple):
    """The first rounds in which anything and in which q differs (None: in none), the rounds played, both costs."""

    numbers: int | None
    play: int | None
    played: int
    costs: tuple[float, float]


def compare(noise: Any, law: str, rounds: int) -> Comparison:
    """Play both until their play differs, or to the end."""
    stream = WORLD.open(TREES, rounds, seed=SEED)
    plays = [play(kind, noise, law, stream, rounds) for kind in ("search", "milp")]
    numbers, costs = None, [0.0, 0.0]
    for t, (search, milp) in enumerate(zip(*plays, strict=True), 1):
        costs = [
            total + float(np.dot(one.q, stream.costs(t - 1))) for total, one in zip(costs, (search, milp), strict=True)
        ]
        if numbers is None and search != milp:
            numbers = t
        if search.q != milp.q:
            return Comparison(numbers, t, t, (costs[0], costs[1]))
    return Comparison(numbers, None, rounds, (costs[0], costs[1]))


def play(kind: str, noise: Any, law: str, stream: Stream, rounds: int) -> Iterator[Round]:
    """Yield what is compared of each round."""
    oracle = open_oracle(TREES, stream.contexts, kind=kind)
    learner = ContextualFTPL(oracle, seed=SEED, epsilon="adaptive", noise_on=noise, law=law, queries="profile")
    for t in range(rounds):
        row = stream.reveal(t)
        q = learner.act(row)
        action = int(q.argmax())  # the learner has drawn it itself
        learner.learn(row, action, float(stream.costs(t)[action]), float(q[action]))
        yield Round(q.tolist(), learner.ledger.last, learner.epsilon, learner.bound())


def main() -> None:
    """Compare both places of the noise under both laws, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    rounds = parser.parse_args().rounds
    table = Table(
        "law", "noise on", "rounds", "cost, search", "cost, HiGHS", "numbers differ first in", "play differs first in"
    )
    failed = False
    for law in ("whole", "laplace"):
        for noise in ("columns", "contexts"):
            found = compare(noise, law, rounds)
            failed |= law == "whole" and found.numbers is not None
            first = (f"{number:,}" if number else "no round" for number in (found.numbers, found.play))
            table.add_row(law, noise, f"{found.played:,}", *(f"{cost:g}" for cost in found.costs), *first)
    Console(width=120).print(table)
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
