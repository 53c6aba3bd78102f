"""The exact chance that a run's confident statements are ever wrong, against costs that react to what was played.

The adversary knows the learner, sees every action, and chooses costs 0 and 1 so as to make a wrong statement as likely
as it can. On games small enough to enumerate that is a recursion over all histories (``worst_chance``); statement 16 of
milpcb/theory/confidence.md proves that it cannot make it likelier than delta.

Nothing is rounded on the way to the verdict: a chance is a sum of products of fractions (tests.theory.coins.trees),
totals of costs 0 and 1 are whole, and the floats that a learner states are compared with them as they are.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from milpcb.bets import loss
from milpcb.learners import Exp4, Learner
from milpcb.ledger import OWN, Ledger
from milpcb.types import Floats, Ints
from tests.theory.coins.draws import Coins
from tests.theory.coins.games import CoinGame
from tests.theory.coins.learners import LEARNERS, exp4, late_exp4
from tests.theory.coins.mutants import OfAnother, OvershootingExp4
from tests.theory.coins.slacks import Judged, Verdict, worst_of
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


def judge_confident(judged: Judged, games: Iterable[CoinGame]) -> Verdict:
    """Return the verdict on the chances of being wrong, over ``games`` and STATEMENTS."""
    found = (
        (f"{statement}, {game}", [chance - statement.allowed for chance in chances(judged, game, statement)])
        for game, statement in product(games, STATEMENTS)
    )
    return worst_of(("a policy costs less than stated", "regret > certificate"), found)


def chances(judged: Judged, game: CoinGame, statement: Statement) -> list[Fraction]:
    """Return the worst chances that a policy ever costs less than stated, and that regret exceeds its certificate."""
    oracle, coins = game.oracle(), game.coins()
    learner = judged.kind(oracle, len(game.rows), coins)
    getattr(learner, "behind", learner).ledger = (judged.part or Ledger)([statement.stake])
    root = tree(learner, game.rows, oracle, lambda seen: _stated(seen, oracle, statement), coins)
    labelings = np.array(game.labelings)

    def floor_is_wrong(node: Node, totals: Ints) -> bool:
        floors, _ = node.seen
        return bool((floors > totals).any())

    def certificate_is_wrong(node: Node, totals: Ints) -> bool:
        _, certificate = node.seen
        return bool(node.paid - totals.min() > certificate)

    return worst_chances(root, game.rows, labelings, floor_is_wrong, certificate_is_wrong)


def worst_chances(root: Node, rows: Sequence[int], labelings: Ints, *wrongs: Callable[[Node, Ints], bool]) -> Any:
    """Return the largest chances, over all adversaries, that each ``wrong(node, totals (N,))`` holds after a round."""
    return [_worst_chance(root, rows, labelings, wrong) for wrong in wrongs]


def _worst_chance(root: Node, rows: Sequence[int], labelings: Ints, wrong: Callable[[Node, Ints], bool]) -> Fraction:
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


def _stated(learner: Learner, oracle: Any, statement: Statement) -> tuple[Floats, float]:
    """Return the least that each policy of ``oracle`` is stated to have cost (N,), and the certificate."""
    knows = getattr(learner, "behind", learner)  # of one that learns late; each cost that it does not know may be 1
    m, ledger, confidence = oracle.n_contexts, knows.ledger, 1 - statement.delta
    sums = ledger.sums(OWN, m, oracle.n_actions)
    proved = sums[np.arange(m), oracle.labelings].sum(axis=1)
    floors = proved - ledger.price(statement.stake, oracle.log_union, confidence)
    return floors, ledger.confident(oracle, confidence) + learner.played - knows.played


def optimistic(oracle: Any, horizon: int, coins: Coins) -> Learner:
    """Return Exp4 with optimistic estimates."""
    del coins
    return Exp4(oracle, horizon=horizon, rate="certified", estimates="optimistic")


CONFIDENT = [
    *(Judged(learner.name, learner.make) for learner in LEARNERS),
    Judged("exp4, optimistic", optimistic),
    Judged("exp4, one round late", late_exp4),
]


# ------------------------------------------------------------------- with one thing wrong


class _Another(Ledger):
    """Stakes prove something else of costs."""

    def _proved(self, costs: Floats, estimates: Floats, weights: Floats) -> Iterator[Floats]:
        for place, own in enumerate(super()._proved(costs, estimates, weights)):
            bet = OWN <= place < OWN + len(self.stakes)
            yield self.of_stake(costs, estimates, self.stakes[place - OWN]) if bet else own

    @abstractmethod
    def of_stake(self, costs: Floats, estimates: Floats, stake: float) -> Floats:
        """Return the costs that a stake proves, round by round."""


class _StakeForLoss(_Another):
    def of_stake(self, costs: Floats, estimates: Floats, stake: float) -> Floats:
        return costs + np.log1p(stake * (estimates - costs)) / stake


class _EstimateForExcess(_Another):
    def of_stake(self, costs: Floats, estimates: Floats, stake: float) -> Floats:
        return costs + np.log1p(stake * estimates) / loss(stake)


class _CostTwice(_Another):
    def of_stake(self, costs: Floats, estimates: Floats, stake: float) -> Floats:
        return 2 * costs + np.log1p(stake * (estimates - costs)) / loss(stake)


class _OnePolicy(Ledger):
    def price(self, stake: float, log_size: float, confidence: float) -> float:
        del log_size
        return super().price(stake, 0.0, confidence)


class _NoChance(Ledger):
    def price(self, stake: float, log_size: float, confidence: float) -> float:
        del confidence
        return super().price(stake, log_size, 0.0)


class _HalfThePrice(Ledger):
    def price(self, stake: float, log_size: float, confidence: float) -> float:
        return super().price(stake, log_size, confidence) / 2


CONFIDENT_MUTANTS = [
    Judged("bets, stake for loss", exp4, _StakeForLoss),
    Judged("bets, e for e - c", exp4, _EstimateForExcess),
    Judged("bets, cost twice", exp4, _CostTwice),
    Judged("bets, one policy", exp4, _OnePolicy),
    Judged("bets, no delta", exp4, _NoChance),
    Judged("bets, half the price", exp4, _HalfThePrice),
    Judged("bets, estimates doubled", partial(exp4, kind=OvershootingExp4)),
    Judged("bets, probability of another", partial(exp4, kind=OfAnother)),
]
