"""The exact chance that what is stated of policies in turn is ever wrong, against costs that react to what was played.

A sequence of policies that change at the ends of blocks labels pairs of a block and a context. So its total is that of
one labeling, and tests.theory.coins.confidence goes over all adversaries as it does for single policies. Statements 21
and 22 of milpcb/theory/changes.md prove that no adversary makes a wrong statement likelier than delta.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import log
from typing import Any

import numpy as np

from milpcb.bets import loss
from milpcb.blocks import Blocks
from milpcb.learners import Learner, Uniform
from milpcb.ledger import OWN, Ledger
from milpcb.types import Floats, Ints
from tests.theory.coins.confidence import Statement, optimistic, worst_chances
from tests.theory.coins.draws import Coins
from tests.theory.coins.games import ALL_FOUR, OPPOSITE, CoinGame
from tests.theory.coins.learners import exp4
from tests.theory.coins.slacks import Judged, Verdict, worst_of
from tests.theory.coins.trees import Node, tree


@dataclass(frozen=True)
class InTurnGame:
    """A game, the numbers of rounds after which blocks end, whether these are all there will be, and a statement."""

    game: CoinGame
    ends: tuple[int, ...]
    planned: bool
    statement: Statement


_FAIR = CoinGame(OPPOSITE, (0,) * 4, ((1.0, -1.0),))
IN_TURN_GAMES = (
    *(InTurnGame(_FAIR, (1, 2, 4), planned, Statement(0.95, 0.56)) for planned in (True, False)),
    InTurnGame(_FAIR, (1, 2, 3, 4), True, Statement(0.95, 0.3)),
    InTurnGame(CoinGame(ALL_FOUR, (0, 1, 0), ((0.0,) * 4,)), (1, 3), True, Statement(0.9, 0.8)),
)


def judge_in_turn(judged: Judged) -> Verdict:
    """Return the verdict over the games, up to the first in which something is wrong too often."""
    found: list[tuple[str, list[Fraction]]] = []
    for played in IN_TURN_GAMES:
        chances = in_turn_chances(judged, played)
        found.append((str(played), [chance - played.statement.allowed for chance in chances]))
        if max(found[-1][1]) > 0:
            break
    names = ("a sequence costs less than stated", "it costs more", "regret > certificate")
    return worst_of(names, found)


def in_turn_chances(judged: Judged, played: InTurnGame) -> list[Fraction]:
    """Return the worst chances that a sequence ever costs less, or more, than stated, and a certificate is wrong."""
    game, statement = played.game, played.statement
    oracle, coins, m, T = game.oracle(), game.coins(), len(game.labelings[0]), len(game.rows)
    block = np.searchsorted(played.ends[:-1], np.arange(T), side="right")
    n = int(block[-1]) + 1
    every, least = sequences_of(np.array(game.labelings), n)
    learner = judged.kind(oracle, T, coins)
    part = judged.part or Blocks
    kept = issubclass(part, Ledger)
    learner.ledger = (part if kept else Ledger)([statement.stake])
    learner.ledger.blocks = (Blocks if kept else part)(played.ends, planned=played.planned)
    prices = _prices(learner.ledger.blocks, len(game.labelings), n, statement)

    def proved(ledger: Ledger, place: int) -> Floats:
        tables = np.zeros((n, m, oracle.n_actions))
        tables[: ledger.count()] = ledger.by_block(place, m, oracle.n_actions)
        return np.asarray(tables.reshape(n * m, -1)[np.arange(n * m), every].sum(axis=1) - prices)

    def seen(learner: Learner) -> Any:
        """Return lower and upper bounds on each sequence (M,), and certificates by number of policies."""
        ledger = learner.ledger
        turns = ledger.in_turn(oracle, n, 1 - statement.delta)
        ceilings = ledger.rounds - proved(ledger, OWN + 1)
        return proved(ledger, OWN), ceilings, [ledger.cost - turn.total for turn in turns]

    root = tree(learner, game.rows, oracle, seen, coins)
    rows = (block * m + np.array(game.rows)).tolist()

    def floor_is_wrong(node: Node, totals: Ints) -> bool:
        return bool((node.seen[0] > totals).any())

    def ceiling_is_wrong(node: Node, totals: Ints) -> bool:
        return bool((node.seen[1] < totals).any())

    def certificate_is_wrong(node: Node, totals: Ints) -> bool:
        return any(node.paid - totals[least <= pieces].min() > stated for pieces, stated in enumerate(node.seen[2], 1))

    return worst_chances(root, rows, every, floor_is_wrong, ceiling_is_wrong, certificate_is_wrong)


def sequences_of(labelings: Ints, n: int) -> tuple[Ints, Ints]:
    """Return the labels of all sequences by block and context (M, n m), and the number of policies in turn (M,)."""
    which = np.array(list(product(range(len(labelings)), repeat=n)))
    return labelings[which].reshape(len(which), -1), 1 + (np.diff(which, axis=1) != 0).sum(axis=1)


def sequences(n_policies: int, n_blocks: int) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Yield the number of policies in turn, the policy of each block, and after which blocks the next one begins."""
    for pieces in range(1, n_blocks + 1):
        for after in combinations(range(1, n_blocks), pieces - 1):
            for policies in product(range(n_policies), repeat=pieces):
                yield pieces, tuple(np.repeat(policies, np.diff([0, *after, n_blocks])).tolist()), after


def _prices(blocks: Blocks, n_policies: int, n: int, statement: Statement) -> Floats:
    """Return the least price of each sequence (M,), of all ways in which it can be written."""
    found = dict.fromkeys(product(range(n_policies), repeat=n), np.inf)
    for pieces, which, after in sequences(n_policies, n):
        union = blocks.log_union(pieces, np.log(n_policies)) + sum(map(blocks.log_change, after))
        found[which] = min(found[which], union - np.log(statement.delta))
    return np.array(list(found.values())) / loss(statement.stake)


def uniform(oracle: Any, horizon: int, coins: Coins) -> Learner:
    """Return uniform play."""
    del horizon, coins
    return Uniform(oracle.n_actions)


IN_TURN = [Judged("uniform", uniform), Judged("exp4", exp4), Judged("exp4, optimistic", optimistic)]


# ------------------------------------------------------------------- with one thing wrong


class _OneNumber(Blocks):
    def log_union(self, pieces: int, log_size: float) -> float:
        return super().log_union(pieces, log_size) - log(pieces * (pieces + 1))


class _EndsAfterwards(Blocks):
    def log_change(self, block: int) -> float:
        del block
        return 0.0

    def log_union(self, pieces: int, log_size: float) -> float:
        return pieces * log_size


class _OfActions(Ledger):
    def add(self, row: int, action: int, cost: float, estimate: float, **more: Any) -> None:
        super().add(row, action, cost, estimate, **{**more, "begun": self.blocks.ends[action] - 1})


IN_TURN_MUTANTS = [
    Judged("in turn, any number for free", uniform, _OneNumber),
    Judged("in turn, ends chosen afterwards", uniform, _EndsAfterwards),
    Judged("in turn, blocks of actions", uniform, _OfActions),
]
