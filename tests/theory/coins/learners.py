"""The learners whose coins are enumerated, each as it is played on a game."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from milpcb.contexts import FinitePool
from milpcb.learners import BistroPlus, ContextualFTPL, Doubling, EpsilonGreedy, Exp4, FixedShare, Learner
from milpcb.learners.adaptive_noise import AdaptiveNoise, Leaders, Spread
from milpcb.ledger import Minimiser
from milpcb.types import Aside, Floats
from tests.theory.coins.definitions import Definition, Make, of_fixed_share, of_leader
from tests.theory.coins.draws import Coins
from tests.theory.coins.paths import Steady


@dataclass(frozen=True)
class CoinLearner:
    """A learner by name: it is ``make(oracle, horizon, coins)``.

    ``minimiser`` returns whose minimum its certificate takes; None for the oracle's. ``definition`` gives the law of
    its action, ``stated`` the guarantee that it should state; None where it is left out.
    """

    name: str
    make: Make
    minimiser: Callable[[Any], Minimiser] | None = None
    definition: Definition | None = None


class FTPLOnCoins(ContextualFTPL):
    """The adaptive learner with noise drawn from ``coins``, whose spread is computed exactly."""

    def __init__(
        self, oracle: Any, *, coins: Coins, leader: type[AdaptiveNoise] = AdaptiveNoise, **options: Any
    ) -> None:
        self._coins, self._kind = coins, leader
        super().__init__(oracle, epsilon="adaptive", **options)

    def _adaptive(self, *settings: Any) -> AdaptiveNoise:
        del settings
        queries = Leaders(self.oracle.table())
        exact = Spread(-self._coins.mean(lambda n: queries.table.minimise(n).value), 0.0, len(self._coins.vectors))
        return self._kind(queries, self._coins, (exact, exact), cap=None, n_actions=self.n_actions)


def exp4(oracle: Any, horizon: int, coins: Coins, *, kind: type[Exp4] = Exp4, rate: Any = "certified") -> Learner:
    """Return Exp4, or a mutant of it."""
    del coins
    return kind(oracle, horizon=horizon, rate=rate)


def fixed_share(oracle: Any, horizon: int, coins: Coins, *, kind: type[FixedShare] = FixedShare) -> Learner:
    """Return fixed share, or a mutant of it."""
    del coins
    return kind(oracle, horizon=horizon)


def ftpl(oracle: Any, horizon: int, coins: Coins, *, leader: type[AdaptiveNoise] = AdaptiveNoise) -> Learner:
    """Return adaptive FTPL on coins, perhaps with a mutant of its leader."""
    del horizon
    return FTPLOnCoins(oracle, coins=coins, leader=leader)


def epsilon_greedy(oracle: Any, horizon: int, coins: Coins) -> Learner:
    """Return epsilon-greedy, which explores often enough to have something to decide in a few rounds."""
    del coins
    return EpsilonGreedy(oracle, horizon=horizon, scale=0.5)


def half_noise(oracle: Any, horizon: int, coins: Coins) -> Learner:
    """Return BISTRO+ with half noise, at a scale that leaves it something to decide."""
    del coins
    return BistroPlus(oracle, FinitePool(oracle.contexts), horizon=horizon, noise="half", scale=4)


INNER: dict[str, dict[str, Any]] = {"exp4": {"rate": "certified"}, "bistro_plus": {"noise": "half", "scale": 4}}


def doubling(oracle: Any, horizon: int, coins: Coins, *, inner: str = "exp4") -> Learner:
    """Return doubling from phases of one round on."""
    del coins
    return Doubling(oracle, FinitePool(oracle.contexts), horizon=horizon, inner=inner, options=INNER[inner], first=1)


class OneRoundLate(Learner):
    """Hands each cost to the learner that is ``behind`` when that of the next round is known."""

    kept = ("_waiting", "behind")

    def __init__(self, inner: Learner) -> None:
        super().__init__(n_actions=inner.n_actions)
        self.behind = inner
        self._waiting: list[list[Any]] = []  # rounds of the learner inside that were put aside, the actions and costs

    def _act(self, row: int) -> Floats:
        """Return the distribution (K,) of the learner inside, whose round is put aside."""
        q = self.behind.act(row)
        self.note = list(self.behind.set_aside())
        return q

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Let the learner inside learn the round before."""
        del row, probability
        self._waiting.append([self.note, action, cost])
        if len(self._waiting) == 2:
            aside, played, paid = self._waiting.pop(0)
            known = Aside(*aside)
            self.behind.take_up(known)
            self.behind.learn(known.row, played, paid, known.q[played])


def late_exp4(oracle: Any, horizon: int, coins: Coins) -> Learner:
    """Return Exp4, which learns each cost a round late."""
    return OneRoundLate(exp4(oracle, horizon, coins))


LEARNERS = [
    CoinLearner("exp4, certified", exp4),
    CoinLearner("exp4, adaptive", partial(exp4, rate="adaptive")),
    CoinLearner("exp4, anytime", partial(exp4, rate="anytime")),
    CoinLearner("exp4, fixed", partial(exp4, rate="fixed")),
    CoinLearner("fixed share", partial(fixed_share, kind=Steady), definition=of_fixed_share),
    CoinLearner("ftpl, adaptive", ftpl, definition=of_leader),
    CoinLearner("epsilon-greedy", epsilon_greedy),
    CoinLearner("half noise", half_noise),
    CoinLearner("doubling, exp4", doubling),
    CoinLearner("doubling, half noise", partial(doubling, inner="bistro_plus")),
]
