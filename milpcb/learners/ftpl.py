"""Contextual-FTPL (Syrgkanis, Krishnamurthy & Schapire 2016): follow the leader of perturbed estimates."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from milpcb import rng
from milpcb.core.checks import choice, whole
from milpcb.errors import InputError
from milpcb.learners.adaptive_noise import AdaptiveNoise
from milpcb.learners.fixed_noise import FixedNoise
from milpcb.learners.needs import require, require_contexts
from milpcb.learners.noise_laws import LAWS, Noise, spread
from milpcb.learners.optimism import Estimates, Optimism
from milpcb.learners.queries import Minimisers, Profiles
from milpcb.protocols import Learner, ValueOracle
from milpcb.types import Floats

Queries = Literal["profile", "argmin"]
Place = Literal["contexts", "columns"]
OPTIMISM = 0.5  # of the stakes of Exp4: redraws are noisier than c / q, so that more of it is left out


class ContextualFTPL(Learner):
    """Every round, the policy that is best on past estimates plus fresh noise.

    Setting: contexts and costs are both adversarial and fixed in advance; nothing is i.i.d.
    Estimates: J c e_y, where J counts redraws of the noise until the same action comes out again (geometric resampling,
    at most M redraws): a query for the play and, where it cost something, one for each redraw.

    A fixed ``epsilon`` is the published algorithm. Either all contexts that can occur are known (transductive, in its
    set version: the noise is on every distinct context of the oracle), or a separator is: rows on which any two
    distinct policies differ, and then the noise is on these alone.
    Guarantee: E[regret] <= 2 eps kappa K T + (2 sqrt(d log N) + log N) / eps + K T / (e M) for noise on d contexts,
    where kappa = 1 transductively and kappa = d with a separator. The algorithm is published; this bound is derived for
    this project. Its rates are no worse than those of the paper's abstract, O(T^(3/4) (K log N)^(1/2)) transductively
    and O(T^(2/3) d^(3/4) K (log N)^(1/2)) with a separator of size d.

    ``epsilon = "adaptive"`` (derived for this project) needs no horizon. The noise grows with what the run itself has
    seen, and ``bound()`` is what it proves about itself: spread / eps_t plus what every round cost beyond what its
    estimate added to the perturbed minimum, which one more query a round measures. For Laplace noise

        E[regret] <= spread / 2 + 2 sqrt(2 S (K - 1/2) T spread) + 3 sqrt((2 K - 1) T) + (4 / 2.718) sqrt(K T) + 2,

    spread = E max over policies of minus their noise at eps = 1, estimated twice when the learner is made, each time by
    30 to 200 pairs of cheapest policies; S = 1 with noise on contexts, and the number of columns that a cost touches
    with noise on columns. For a fixed number of contexts or columns that is the square root of T. Proofs:
    milpcb.learners.adaptive_noise.

    Parameters
    ----------
    oracle : the policy class, opened on all contexts that will occur
    horizon : number of rounds T that may be played. A fixed epsilon is made from it; "adaptive" does without: no end,
        and no ``guarantee()``
    seed : non-negative integer
    epsilon : eps > 0, the noise is Laplace of scale 1 / eps; None takes the minimiser of the guarantee; "adaptive" is
        above
    noise_on : with "adaptive", where the noise is: "contexts" is on each context, those that every policy labels alike
        counted once; "columns" is on the columns of the class's program, so that a round costs the same however many
        contexts there are. (``noise`` is its old name, until 0.2)
    law : with "adaptive", the law of the noise: "laplace", "normal", or "whole": integers, times integers 1 /
        eps. Then, if costs are 0 or 1, all totals are whole, and with queries = "profile" all exact oracles lead to the
        same play bit for bit. "laplace" alone has a guarantee in advance
    cap : M, the most redraws of a round; None takes the square root of K T, rounded up, and with "adaptive" that of K t
        in round t
    separator : row numbers of a separator; None for the transductive version. An oracle that lists its policies is
        asked whether it is one; otherwise that is taken on trust, and the guarantee rests on it
    estimates : "unbiased", c J; or with "adaptive" "optimistic", c + log(1 + lambda (J - 1) c) / l in its place, for
        lambda = 2 sqrt(log N / (K T)) or 0.75 sqrt(log N / (K t)) without a horizon, and l = -log(1 - lambda): what was
        seldom played is tried again, at the price of some regret, so that certificates with confidence are far lower
        after many rounds. ``bound()`` holds as it is (statement 19 of milpcb/theory/confidence.md); ``guarantee()``
        adds what is left out, so it grows with sqrt(T K log N) too
    queries : "profile" asks for one profile and plays the action where it is least, which is the action of the only
        minimiser (continuous noise has no ties, but with probability 0) and builds no policy; "argmin" asks for the
        minimiser itself. The actions are the same; with oracle kind "milp" a profile takes K solves and a minimiser one

    """

    plays_policies = True
    hides_law = True
    oracle: ValueOracle

    def __init__(
        self,
        oracle: ValueOracle,
        *,
        horizon: int | None = None,
        seed: int = 0,
        epsilon: float | Literal["adaptive"] | None = None,
        noise_on: Place = "contexts",
        law: str = "laplace",
        cap: int | None = None,
        separator: list[int] | None = None,
        estimates: Estimates = "unbiased",
        queries: Queries = "profile",
    ) -> None:
        choice("queries", queries, get_args(Queries))
        choice("noise_on", noise_on, get_args(Place))
        choice("law", law, LAWS)
        optimistic = choice("estimates", estimates, get_args(Estimates)) == "optimistic"
        require(type(self).__name__, oracle, "minimise", *(["profile"] if queries == "profile" else []))
        self.n_actions = whole("n_actions", oracle.n_actions, 2)
        cap = None if cap is None else whole("cap", cap, 1)
        self._leader: AdaptiveNoise | FixedNoise
        if isinstance(epsilon, str):
            choice("epsilon", epsilon, ("adaptive",))
            if separator is not None:
                raise InputError('a separator is for a fixed epsilon; leave it out, or epsilon = "adaptive"')
            optimism = self._optimism(oracle, horizon) if optimistic else None
            self._leader = self._adaptive(seed, noise_on, law, cap, queries, optimism)
        else:
            if horizon is None:
                raise InputError(
                    "ContextualFTPL with a fixed epsilon needs a horizon; "
                    'give one, or set epsilon = "adaptive", which needs none'
                )
            if (noise_on, law) != ("contexts", "laplace"):
                raise InputError(f'noise_on = "{noise_on}" and law = "{law}" are for epsilon = "adaptive"; set it too')
            if optimistic:
                raise InputError('estimates = "optimistic" are for epsilon = "adaptive"; set it too')
            require_contexts(
                "ContextualFTPL with a fixed epsilon", oracle, ', or set epsilon = "adaptive" and noise_on = "columns"'
            )
            self._leader = FixedNoise(
                oracle, horizon=horizon, seed=seed, epsilon=epsilon, cap=cap, separator=separator, queries=queries
            )

    @property
    def epsilon(self) -> float:
        """The rate of the round to come."""
        return self._leader.epsilon

    def _act(self, row: int) -> Floats:
        """Return all mass on the action of a freshly drawn policy (K,): the draw is the learner's own."""
        q = np.zeros(self.n_actions)
        q[self._leader.play(row)] = 1.0
        return q

    def _learn(self, row: int, action: int, cost: float, probability: float) -> float:
        """Count redraws, and return the estimate J c."""
        del probability  # it draws its policy itself: every q is 0 but for one action
        return self._leader.learn(row, action, cost, self.played)

    def guarantee(self) -> float:
        """Return the bound on expected regret of the class's docstring, infinite where it does not hold."""
        return self._leader.guarantee(self.horizon)

    def bound(self, confidence: float | None = None) -> float:
        """Return what an adaptive run proves about itself, NaN at a fixed epsilon; its mean bounds mean regret.

        There is none with a ``confidence``: NaN.
        """
        return self._leader.bound() if confidence is None else np.nan

    def estimates(self) -> Floats | None:
        """Return the estimates J c e_y, summed by context (m, K), without noise."""
        return self.ledger.totals(self.oracle.n_contexts, self.n_actions)

    def _state(self) -> dict[str, Any]:
        """Return the leader's state."""
        return self._leader.state()

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._leader.restore(state)

    def _optimism(self, oracle: ValueOracle, horizon: int | None) -> Optimism:
        """Return how estimates are made optimistic, by the ledger's stake too where there is one."""
        if np.isnan(oracle.log_union):
            raise InputError(
                'estimates = "optimistic" needs the number of policies before all contexts are known; hand in all '
                'contexts, or take a class with explicit cut points and kind "search"'
            )
        made = Optimism(oracle.log_union, self.n_actions, horizon, OPTIMISM)
        self.ledger.bet(*made.stakes)
        return made

    def _adaptive(
        self, seed: int, noise_on: Place, law: str, cap: int | None, queries: Queries, optimism: Optimism | None
    ) -> AdaptiveNoise:
        """Return the leader of epsilon = "adaptive", on an empty table of the oracle."""
        table = self.oracle.table(noise_on)
        asked = Profiles(table) if queries == "profile" else Minimisers(table, self.oracle)
        for_rates, for_bound, for_play = (
            Noise(LAWS[law], table.n_noisy, rng.child(seed, "learner", name))
            for name in ("spread for rates", "spread for bound", "noise")
        )

        def least(vector: Floats) -> float:
            return table.minimise(vector).value

        first = spread(for_rates, least)
        second = spread(for_bound, least, first.draws)
        spreads = first, second
        return AdaptiveNoise(asked, for_play, spreads, cap=cap, n_actions=self.n_actions, optimism=optimism)
