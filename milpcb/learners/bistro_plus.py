"""BISTRO+ (Syrgkanis, Luo, Krishnamurthy & Schapire 2016, Algorithms 1 and 2): one loop for every relaxation."""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from milpcb import rng
from milpcb.core.checks import choice, flag, real, whole
from milpcb.errors import InputError
from milpcb.learners.base import Learner
from milpcb.learners.needs import check_pool, played_on, require
from milpcb.learners.one_draw import FutureLaw, OneDraw
from milpcb.plugins import registry
from milpcb.protocols import ContextModel, ValueOracle
from milpcb.relaxations.base import Estimator, Relaxation, mix, psi_from_profile, tightened
from milpcb.relaxations.value import Estimate, Setting
from milpcb.types import Floats, FoundPolicy

Queries = Literal["all", "profile", "argmin"]
Leftover = Literal["uniform", "descending", "leader"]
Futures = Literal["fresh", "once"]


class CurrentRule(NamedTuple):
    """The rule in force, since round ``since`` (from 1), and the probability ``exploration`` of each other action."""

    policy: FoundPolicy
    number: int
    since: int
    exploration: float


class BistroPlus(Learner):
    """BISTRO+: regret against the best policy in hindsight is bounded whatever the costs.

    Setting: contexts i.i.d. from a law the learner knows, or known in advance; costs in [0, 1] chosen obliviously.
    Guarantee: E[regret] <= 2 sqrt(2 T K L log N) + T K / L for the noise of the paper (equation (8)). Totals are
    integers in units of L (other relaxations have other units), so every exact oracle gives the same run, bit for bit.

    Parameters
    ----------
    oracle : the policy class, opened on the contexts of ``pool``
    pool : FinitePool, Transductive, Empirical, or a Sampler with a GrowingOracle
    horizon, seed : as of every learner
    scale : L >= K; None takes the minimiser of the guarantee; "relaxation" the minimiser of Rel(empty) itself,
        estimated once for this class on these contexts; ``estimated_guarantee`` is then that estimate with its 95 %
        interval
    noise : a registered relaxation: "paper", "centred", "half", "coordinate", "signed" or "bistro"
    queries : "all" asks K + 1 values as in the paper; "profile" asks one profile, the answers are the same; "argmin"
        asks for one policy; None takes "all", and "argmin" with ``future="once"``
    leftover : who gets the mass that Algorithm 2 distributes arbitrarily: "uniform" over all actions; "descending", the
        same after going through the actions by phi, largest first, as anytime play does; "leader", over the actions
        that some minimiser plays (``queries="profile"``) or that the minimiser found plays (``"argmin"``). All are
        optimal; "signed" and "bistro" leave nothing over
    estimator : "bernoulli" estimates c_t by L X e_y with X ~ Bernoulli(c / (L q)) as in the paper; "ips" by (c / q)
        e_y, which has less variance ("signed": c - 1/2 for c); None takes the relaxation's own
    draws : number of fresh futures whose q is averaged in each round, with as many times the queries
    anytime : play by the bounds that an oracle with a time or gap limit can give; ``oracle_error()`` bounds the regret
        that this may add. Without it an unproved answer is an error
    future : "fresh" draws a future in each round, as published; "once" before the first round: one ``rule()`` is in
        force at any time, but nothing is promised where costs react to the play (milpcb/theory/one_draw.md)
    futures : with "once", the number of futures drawn, of which each round uses one at random: regret varies less
    redraw : with "once", all futures are drawn anew after every so many rounds

    """

    kept = ("_oracle_error", "_pool", "_past", "_future_rng", "_estimate_rng", "one_draw")
    oracle: ValueOracle
    horizon: int

    def __init__(
        self,
        oracle: ValueOracle,
        pool: ContextModel,
        *,
        horizon: int,
        seed: int = 0,
        scale: float | Literal["relaxation"] | None = None,
        noise: str = "paper",
        queries: Queries | None = None,
        leftover: Leftover | None = None,
        estimator: Estimator | None = None,
        draws: int = 1,
        anytime: bool = False,
        future: Futures = "fresh",
        futures: int = 1,
        redraw: int | None = None,
    ) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        check_pool(pool)
        once = choice("future", future, get_args(Futures)) == "once"
        given: Any = noise  # a relaxation of one's own need not have a name
        self.relaxation: Relaxation = given if isinstance(given, Relaxation) else registry.load("relaxation", noise)()
        if queries is None:
            queries = "argmin" if once else "all"
        choice("queries", queries, get_args(Queries))
        if leftover is None:
            leftover = "leader" if queries == "argmin" else "uniform"
        if estimator is None:
            estimator = self.relaxation.estimator
        choice("leftover", leftover, get_args(Leftover))
        choice("estimator", estimator, get_args(Estimator))
        self._queries, self._leftover_rule, self._estimator = queries, leftover, estimator
        self._anytime, self._draws = flag("anytime", anytime), whole("draws", draws, 1)
        self._check(noise, pool, once=once)
        asked = "minimise" if queries == "argmin" or anytime else "value" if queries == "all" else "profile"
        require(type(self).__name__, oracle, asked)
        pool.attach(oracle, horizon)
        K = self.n_actions
        self._pool = pool
        self.estimated_guarantee: Estimate | None = None
        self.scale = self._choose_scale(scale, seed)
        self._reply = {"all": self._ask_all, "profile": self._ask_profile, "argmin": self._ask_argmin}[queries]
        self._oracle_error = 0.0
        self._past = np.zeros((oracle.n_contexts, K))
        self._costs = np.zeros_like(self._past)
        self._rate = self.relaxation.rate(self.scale, K)
        self._future_rng = rng.child(seed, "learner", "future")
        self._estimate_rng = rng.child(seed, "learner", "estimate")
        self._everyone = np.full(K, 1.0 / K)
        self.one_draw: OneDraw | None = None
        if once:
            futures, redraw = whole("futures", futures, 1), None if redraw is None else whole("redraw", redraw, 1)
            room = self._with_room
            law = FutureLaw(oracle, pool, self.relaxation, horizon, self.scale, seed, redraw, anytime, past=room)
            self.one_draw = OneDraw(law, futures)
            self._past = self._with_room()
            self._mixed = [mix(one, self.scale) for one in np.eye(K)]
        elif whole("futures", futures, 1) != 1 or redraw is not None:
            raise InputError('futures and redraw are for one draw: set future = "once" too')

    def totals(self) -> Floats:
        """Return past estimates plus the last drawn future (m, K), in the relaxation's units."""
        return self._costs.copy() if self.one_draw is None else self.one_draw.taken.left()

    @property
    def queries(self) -> int:
        """The number of queries to the oracle: with fresh futures K + 1, or one, in each round."""
        if self.one_draw is not None:
            return sum(kept.queries for kept in self.one_draw.leaders)
        return self.played * self._draws * (self.n_actions + 1 if self._queries == "all" else 1)

    @property
    def rule_changes(self) -> int | None:
        """The number of times the rule in force has changed; None with fresh futures, where no rule is in force."""
        return None if self.one_draw is None else sum(max(0, kept.number - 1) for kept in self.one_draw.leaders)

    @property
    def rule_number(self) -> int | None:
        """The number of the rule in force; None where there is none."""
        only = None if self.one_draw is None else self.one_draw.only
        return None if only is None else only.kept.number or None

    def rule(self) -> CurrentRule:
        """Return the rule in force; raises InputError where there is none."""
        only = None if self.one_draw is None else self.one_draw.only
        if only is None:
            raise InputError(
                'no single rule is in force: that takes future = "once", futures = 1 and a noise other than "signed", '
                'such as "half"'
            )
        if not only.kept.number:
            raise InputError("no rule is in force before the first round")
        return CurrentRule(only.kept.policy(), only.kept.number, only.since, 1 / self.scale)

    @property
    def least_chance(self) -> float:
        return 1.0 / self.scale

    def _act(self, row: int) -> Floats:
        self._pool.observe(self.played, row)
        if self.one_draw is not None:
            action = self.one_draw.play(self.played, row)
            if self._anytime:
                self._oracle_error += (1 - self.n_actions / self.scale) * self.one_draw.taken.excess()
            return (self._everyone if action is None else self._mixed[action]).copy()
        self._draw_totals()
        q_star, excess = self._reply(row)
        for n in range(2, self._draws + 1):  # means so far
            self._draw_totals()
            own, lost = self._reply(row)
            q_star, excess = q_star + (own - q_star) / n, excess + (lost - excess) / n
        if self._anytime:
            self._oracle_error += (1 - self.n_actions / self.scale) * excess
        return mix(q_star, self.scale)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        chance, units = self.relaxation.estimate(cost, probability, self.scale)
        if self._estimator == "ips":
            self._past[row, action] += units * chance
        elif self._estimate_rng.random() < chance:
            if row >= len(self._past):
                self._past = self._with_room()
            self._past[row, action] += units
            if self.one_draw is not None:
                self.one_draw.count(row, action, units)

    def guarantee(self) -> float:
        """Return the bound on expected regret at this T, K, L and class; infinite where the pool is a guess."""
        if not self._pool.known:
            return np.inf
        return float(self.relaxation.guarantee(self.scale, self.horizon, self.n_actions, self.oracle.log_size))

    def oracle_error(self) -> float:
        return self._oracle_error

    def _restore(self, state: dict[str, Any]) -> None:
        self._pool.restore(state["pool"])
        m, rows = self.oracle.n_contexts, len(state["past"])
        if rows != m and not (rows < m and hasattr(self.oracle, "extend")):  # a GrowingOracle's contexts arrive in play
            raise InputError(f"the state is of {rows} contexts, the oracle of {m}")
        self._past, self._costs = np.zeros((rows, self.n_actions)), np.empty((rows, self.n_actions))
        super()._restore(state)

    def _check(self, noise: str, pool: ContextModel, *, once: bool) -> None:
        queries, leftover, drawn = self._queries, self._leftover_rule, self._estimator == "bernoulli"
        even, anytime = self.relaxation.even_ties, self._anytime
        wrong = {
            f'leftover = "{leftover}" does not go with queries = "{queries}": values alone know no leader, and one '
            "minimiser knows no psi": queries == ("all" if leftover == "leader" else "argmin"),
            f'noise = "{noise}" needs psi, not a policy: set queries = "profile" or "all"': (
                queries not in self.relaxation.queries
            ),
            f'noise = "{noise}" with queries = "argmin" needs integer totals: set estimator = "bernoulli" or queries = '
            '"profile"': queries == "argmin" and even and not drawn,
            'anytime play needs queries "all" or "argmin", and a certified noise; got '
            f'queries "{queries}", noise "{noise}"': (
                anytime and (queries == "profile" or not self.relaxation.certified)
            ),
            'future = "once" keeps one minimiser of drawn estimates: leave queries, estimator and draws out': once
            and (queries != "argmin" or not drawn or self._draws > 1),
            'anytime play with future = "once" needs a noise other than "signed", such as "half"': (
                once and anytime and even
            ),
            'future = "once" draws the contexts of all rounds before the first one, so it needs their law: a '
            "FinitePool, Transductive or Sampler": once and not pool.known,
        }
        for message, holds in wrong.items():
            if holds:
                raise InputError(message)

    def _choose_scale(self, scale: float | str | None, seed: int) -> float:
        T, K = self.horizon, self.n_actions
        if isinstance(scale, str) and scale == "relaxation":
            draws = rng.child(seed, "theory", "relaxation_value")
            self.estimated_guarantee = Setting(self.relaxation, self.oracle, self._pool, T).value(draws).best
            return self.estimated_guarantee.scale
        if scale is None:
            scale = self.relaxation.best_scale(T, K, self.oracle.log_size)
        least = self.relaxation.least_scale(K)
        wanted = f'finite and at least {least:g} for K = {K}, or "relaxation"'
        return real("scale (L)", scale, wanted, lambda number: number >= least)

    def _with_room(self) -> Floats:
        return np.pad(self._past, ((0, self.oracle.n_contexts - len(self._past)), (0, 0)))

    def _draw_totals(self) -> None:
        counts = self._pool.future(self.played, self.horizon, self._rate, self._future_rng)
        if len(counts) > len(self._past):  # a sampler has brought new contexts
            self._past = self._with_room()
            self._costs = np.empty_like(self._past)
        noise = self.relaxation.noise(counts, self.n_actions, self._future_rng)
        np.add(self._past, noise, out=self._costs)

    def _ask_all(self, row: int) -> tuple[Floats, float]:
        probe, costs = self.relaxation.probe, self._costs
        psi = np.empty((self.n_actions + 1, 2))  # lower and upper bound of each
        psi[0] = self._bounds()
        for i in range(self.n_actions):
            costs[row, i] += probe
            psi[i + 1] = self._bounds()
            costs[row, i] -= probe
        lower, upper = psi.T
        if self._anytime:
            lower, upper = tightened(lower, upper, probe)
        descending = self._anytime or self._leftover_rule == "descending"
        q_star = self.relaxation.respond(upper, self._everyone, descending=descending)
        return q_star, self.relaxation.excess(lower, upper, q_star) if self._anytime else 0.0

    def _ask_profile(self, row: int) -> tuple[Floats, float]:
        profile = self.oracle.profile(self._costs, row)
        leftover = self._everyone
        if self._leftover_rule == "leader":
            leaders = profile == profile.min()
            leftover = leaders / leaders.sum()
        return self.relaxation.respond(psi_from_profile(profile, self.relaxation.probe), leftover), 0.0

    def _ask_argmin(self, row: int) -> tuple[Floats, float]:
        """Follow one minimiser: where minimisers disagree on ``row`` every q* is optimal, or an even mixture."""
        costs = self._costs
        if self.relaxation.even_ties:  # totals are whole, so the ranks only choose among minimisers
            costs = self.n_actions * costs
            costs[row] += self._future_rng.permutation(self.n_actions)
        answer = self.oracle.minimise(costs)
        gap = answer.upper - (answer.lower if self._anytime else answer.value)
        if answer.policy is None:
            return self._everyone, 1.0
        q_star = np.zeros(self.n_actions)
        q_star[played_on(answer.policy, self.oracle.contexts, row)] = 1.0
        return q_star, min(1.0, gap / self.relaxation.hit)

    def _bounds(self) -> tuple[float, float]:
        if not self._anytime:
            value = self.oracle.value(self._costs)
            return value, value
        answer = self.oracle.minimise(self._costs)
        return answer.lower, min(answer.upper, float(self._costs.max(axis=1).sum()))
