"""The exact chance that a run's confident statements are ever wrong, against costs that react to what was played.

The adversary knows the learner, sees every action, and chooses costs 0 and 1 so as to make a wrong statement as likely
as it can. On games small enough to enumerate that is a recursion over all histories (``worst_chance``); statement 16 of
milpcb/theory/confidence.md proves that it cannot make it likelier than delta.

Nothing is rounded on the way to the verdict: a chance is a sum of products of fractions (tests.theory.coins.trees),
totals of costs 0 and 1 are whole, and the floats that a learner states are compared with them as they are.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log1p
from typing import Any, NamedTuple

import numpy as np

from milpcb.learners import Exp4, Learner
from milpcb.ledger import OWN, Ledger
from milpcb.types import Floats, Ints
from tests.theory.coins.draws import Coins
from tests.theory.coins.games import CoinGame
from tests.theory.coins.learners import LEARNERS, CoinLearner, exp4, late_exp4
from tests.theory.coins.mutants import OfAnother, OvershootingExp4
from tests.theory.coins.slacks import Verdict, worst_of
from tests.theory.coins.trees import Node, tree


@dataclass(frozen=True)
class Statement:
    """With the one ``stake``, nothing that is stated is ever wrong, but with probability ``delta``."""

    stake: float
    delta: float

    @property
    def allowed(self) -> Fraction:
        """The chance that the float 1 - delta leaves for being wrong."""
        return 1 - Fraction(1 - self.delta)


# In a few rounds only bold stakes and large chances of being wrong prove anything; these come near to what is allowed.
STATEMENTS = (Statement(0.95, 0.27), Statement(0.95, 0.5), Statement(0.9, 0.4), Statement(0.9, 0.8))


@dataclass(frozen=True)
class Confident:
    """A learner whose confident statements are judged; ``ledger`` makes the one that it is judged by."""

    name: str
    learner: CoinLearner
    ledger: Callable[[Sequence[float]], Ledger] = Ledger


class WorstChances(NamedTuple):
    """The worst chance that a policy ever costs less than is stated, and that regret ever exceeds its certificate."""

    floor: Fraction
    certificate: Fraction


class _Stated(NamedTuple):
    """Statement of a learner at a node: the least that each policy has cost (N,), and its certificate."""

    floors: Floats
    certificate: float


def judge_confident(judged: Confident, games: Iterable[CoinGame]) -> Verdict:
    """Return the verdict on the chances of being wrong, over ``games`` and STATEMENTS."""
    found = (
        (f"{statement}, {game}", [chance - statement.allowed for chance in chances(judged, game, statement)])
        for game, statement in product(games, STATEMENTS)
    )
    return worst_of(judged.name, ("a policy costs less than stated", "regret > certificate"), found)


def chances(judged: Confident, game: CoinGame, statement: Statement) -> WorstChances:
    """Return the worst chances of one learner in one game."""
    oracle, coins = game.oracle(), game.coins()
    learner = judged.learner.make(oracle, len(game.rows), coins)
    getattr(learner, "behind", learner).ledger = judged.ledger([statement.stake])
    root = tree(learner, game.rows, oracle, lambda seen: _stated(seen, oracle, statement), coins)
    labelings = np.array(game.labelings)

    def floor_is_wrong(node: Node, totals: Ints) -> bool:
        return bool((node.seen.floors > totals).any())

    def certificate_is_wrong(node: Node, totals: Ints) -> bool:
        return bool(node.paid - totals.min() > node.seen.certificate)

    wrongs = (floor_is_wrong, certificate_is_wrong)
    return WorstChances(*(worst_chance(root, game.rows, labelings, wrong) for wrong in wrongs))


def worst_chance(root: Node, rows: Sequence[int], labelings: Ints, wrong: Callable[[Node, Ints], bool]) -> Fraction:
    """Return the largest chance, over all adversaries, that ``wrong(node, totals (N,))`` holds after some round."""
    every = np.array(list(product((0, 1), repeat=int(labelings.max()) + 1)))
    known: dict[tuple[int, Node, bytes], Fraction] = {}

    def chance(t: int, node: Node, totals: Ints) -> Fraction:
        if wrong(node, totals):
            return Fraction(1)
        if t == len(rows):
            return Fraction(0)
        key = (t, node, totals.tobytes())
        if key not in known:
            known[key] = max(after(t, node, totals, costs) for costs in every)
        return known[key]

    def after(t: int, node: Node, totals: Ints, costs: Ints) -> Fraction:
        paid = totals + costs[labelings[:, rows[t]]]
        return sum(
            (
                weight * chance(t + 1, following, paid)
                for (action, cost), successors in node.after.items()
                if cost == costs[action]
                for weight, following in successors
            ),
            start=Fraction(0),
        )

    return chance(0, root, np.zeros(len(labelings), dtype=np.int64))


def _stated(learner: Learner, oracle: Any, statement: Statement) -> _Stated:
    """Return what is stated of the policies that ``oracle`` lists, and of regret against them."""
    knows = getattr(learner, "behind", learner)  # of one that learns late; each cost that it does not know may be 1
    m, ledger, confidence = oracle.n_contexts, knows.ledger, 1 - statement.delta
    sums = ledger.sums(OWN, m, oracle.n_actions)
    proved = sums[np.arange(m), oracle.labelings].sum(axis=1)
    floors = proved - ledger.price(statement.stake, oracle.log_union, confidence)
    return _Stated(floors, ledger.confident(oracle, confidence) + learner.played - knows.played)


def optimistic(oracle: Any, horizon: int, coins: Coins) -> Learner:
    """Return Exp4 with optimistic estimates."""
    del coins
    return Exp4(oracle, horizon=horizon, rate="certified", estimates="optimistic")


CONFIDENT = [
    *(Confident(learner.name, learner) for learner in LEARNERS),
    Confident("exp4, optimistic", CoinLearner("exp4, optimistic", optimistic)),
    Confident("exp4, one round late", CoinLearner("exp4, one round late", late_exp4)),
]


# ------------------------------------------------------------------- with one thing wrong


class StakeForLoss(Ledger):
    """Divides by the stake, not by what a cost of 1 takes off the logarithm."""

    def bet(self, *stakes: float) -> None:
        """Keep 1 / lambda in the place of 1 / l."""
        super().bet(*stakes)
        self._bets = [(stake, 1 / stake) for stake in self.stakes]


class EstimateForExcess(Ledger):
    """Bets on estimates, not on what they exceed costs by."""

    def add(self, row: int, action: int, cost: float, estimate: float) -> None:
        """Add log(1 + lambda e) in the place of log(1 + lambda (e - c))."""
        super().add(row, action, cost, estimate)
        for place, (stake, inverse) in enumerate(self._bets if cost else (), OWN):
            change = log1p(stake * estimate) - log1p(stake * (estimate - cost))
            self._cells[row, action][place] += change * inverse


class CostTwice(Ledger):
    """Counts the cost of the action played twice."""

    def add(self, row: int, action: int, cost: float, estimate: float) -> None:
        """Add the cost once more."""
        super().add(row, action, cost, estimate)
        for place in range(OWN, OWN + len(self._bets) if cost else OWN):
            self._cells[row, action][place] += cost


class OnePolicy(Ledger):
    """Forgets that there are several policies."""

    def price(self, stake: float, log_size: float, confidence: float) -> float:
        """Return too little."""
        del log_size
        return super().price(stake, 0.0, confidence)


class NoChance(Ledger):
    """Forgets delta."""

    def price(self, stake: float, log_size: float, confidence: float) -> float:
        """Return too little."""
        del confidence
        return super().price(stake, log_size, 0.0)


class HalfThePrice(Ledger):
    """Takes half of it."""

    def price(self, stake: float, log_size: float, confidence: float) -> float:
        """Return too little."""
        return super().price(stake, log_size, confidence) / 2


_EXP4 = CoinLearner("exp4", exp4)
CONFIDENT_MUTANTS = [
    Confident("bets, stake for loss", _EXP4, StakeForLoss),
    Confident("bets, e for e - c", _EXP4, EstimateForExcess),
    Confident("bets, cost twice", _EXP4, CostTwice),
    Confident("bets, one policy", _EXP4, OnePolicy),
    Confident("bets, no delta", _EXP4, NoChance),
    Confident("bets, half the price", _EXP4, HalfThePrice),
    Confident("bets, estimates doubled", CoinLearner("", lambda o, h, c: exp4(o, h, c, kind=OvershootingExp4))),
    Confident("bets, probability of another", CoinLearner("", lambda o, h, c: exp4(o, h, c, kind=OfAnother))),
]
