"""The verdict on a relaxation: for each inequality of the proof, by how much it holds at its worst place.

In go small games that can be enumerated and a way to play (a Variant); out comes, for each inequality, its least slack
(the side that must be larger minus the other) over all games, pasts and contexts. A negative slack is a violation.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, partial
from itertools import compress, product, starmap
from math import lcm, prod
from typing import Any, NamedTuple, get_args

import numpy as np

from milpcb.errors import InputError
from milpcb.plugins import registry
from milpcb.relaxations.base import Estimator, Relaxation
from milpcb.theory.exact import COSTS, ExactRun
from milpcb.theory.games import Game, Verdict
from milpcb.theory.player import Leftover, Player, Totals, Variant


class Move(NamedTuple):
    """The parts of a round, for a past, a context and a cost vector.

    ``loss`` is the expected cost of the round, ``law`` the probability of each past after it, ``least`` the expectation
    of the smallest total in that past, times the number that makes totals whole.
    """

    loss: int
    law: dict[Totals, int]
    least: int


class Stage(NamedTuple):
    """One round: the move for every past, number of a context and number of a cost vector; ``parts`` of them make 1."""

    moves: dict[tuple[Totals, int, int], Move]
    parts: int


class Sequences:
    """A run of T rounds on every x_{1:T} and c_{1:T}.

    ``final`` is the least slack of condition (2): E Rel(x_{1:T}, chat_{1:T}) + min_pi sum c, with c less the player's
    shift. ``regret`` is the largest E[regret] of all plans that choose the costs by round and context.
    """

    def __init__(self, run: ExactRun, horizon: int) -> None:
        self._run = run
        self._costs = list(product(COSTS, repeat=run.game.n_actions))
        pasts = run.pasts(horizon)
        unit = lcm(*(total.denominator for past in pasts[-1] for total in past))
        self._least_total = {past: int(min(past) * unit) for past in pasts[-1]}
        self._stages = [self._stage(pasts[t], horizon - 1 - t) for t in range(horizon)]
        shape = [len(run.contexts), len(self._costs)] * horizon
        self._lost, self._least, self._best = (np.zeros(shape, dtype=object) for _ in range(3))
        self._walk((), {run.empty: 1}, 0, run.empty)
        parts = prod(stage.parts for stage in self._stages)
        least = self._least * (run.player.unit / (unit * parts))
        self.final = Fraction((self._best - least).min()) - horizon * run.player.shift
        self.regret = worst_plan(self._lost - self._best * parts, run.likely) / parts

    def _stage(self, pasts: list[Totals], n: int) -> Stage:
        """Return the moves of the round that ``n`` rounds follow, from each of ``pasts``."""
        run, choices = self._run, list(product(self._run.game.actions, COSTS))
        rounds = {
            (past, x): (run.round(past, n, x).loss, list(starmap(partial(run.outcomes, past, n, x), choices)))
            for past, x in product(pasts, run.contexts)
        }
        numbers = [
            number
            for loss, laws in rounds.values()
            for part in (loss, *(law.values() for law in laws))
            for number in part
        ]
        parts = lcm(*(number.denominator for number in numbers))
        moves = {}
        for (past, x), (loss, laws) in rounds.items():
            losses = [int(q * parts) for q in loss]
            counted = [{after: int(p * parts) for after, p in law.items()} for law in laws]
            by_choice = dict(zip(choices, counted, strict=True))
            for number, costs in enumerate(self._costs):
                seen = [by_choice[choice] for choice in enumerate(costs)]
                moves[past, x, number] = self._move(past, compress(losses, costs), seen, parts)
        return Stage(moves, parts)

    def _move(self, past: Totals, losses: Iterable[int], laws: Iterable[dict[Totals, int]], parts: int) -> Move:
        """Return the move, from the losses of the actions of cost 1 and what counting each action may lead to."""
        law = Counter({past: parts})
        for counted in laws:
            law.update(counted)
            law[past] -= sum(counted.values())
        return Move(sum(losses), law, sum(p * self._least_total[after] for after, p in law.items()))

    def _walk(self, place: tuple[int, ...], pasts: dict[Totals, int], lost: int, paid: Totals) -> None:
        """Fill the tables of costs for all sequences that begin with ``place``, by one call for each later round.

        ``place`` holds the numbers of the context and of the cost vector of each round so far. After these rounds,
        ``pasts`` is the law of the past and ``lost`` the learner's expected cost, both in parts; ``paid`` (N,) is each
        policy's cost.
        """
        stage, labelings = self._stages[len(place) // 2], self._run.game.labelings
        for (j, x), (number, costs) in product(enumerate(self._run.contexts), enumerate(self._costs)):
            now = (*place, j, number)
            moves = [(p, stage.moves[past, x, number]) for past, p in pasts.items()]
            lost_now = lost * stage.parts + sum(p * move.loss for p, move in moves)
            paid_now = tuple(total + costs[labels[x]] for total, labels in zip(paid, labelings, strict=True))
            if len(now) < self._lost.ndim:
                self._walk(now, _mixture(moves), lost_now, paid_now)
                continue
            self._lost[now], self._best[now] = lost_now, min(paid_now)
            self._least[now] = sum(p * move.least for p, move in moves)


def _mixture(moves: list[tuple[int, Move]]) -> dict[Totals, int]:
    """Return the law of the next past, where each move is made with its weight."""
    law: Counter[Totals] = Counter()
    for p, move in moves:
        for after, q in move.law.items():
            if q:
                law[after] += p * q
    return law


def worst_plan(regrets: Any, likely: list[Fraction]) -> Fraction:
    """Return the largest expectation of ``regrets`` over contexts, whose axes are contexts and cost vectors by turns.

    A plan chooses for every round the costs by the context alone; ``likely`` is the law of the contexts.
    """
    parts = lcm(*(p.denominator for p in likely))
    return Fraction(_worst(regrets, [int(p * parts) for p in likely]), parts ** (regrets.ndim // 2))


def _worst(regrets: Any, weights: list[int]) -> int:
    """Return what ``worst_plan`` does, for whole weights of the contexts."""
    if regrets.ndim == 2:  # the choices of the last round do not touch one another
        return sum(weight * max(row) for weight, row in zip(weights, regrets, strict=True))
    plans = product(range(regrets.shape[1]), repeat=len(weights))
    return max(_worst(sum(weight * regrets[j, plan[j]] for j, weight in enumerate(weights)), weights) for plan in plans)


class Slacks(NamedTuple):
    """The least slack of each inequality, in units of cost; 0 or more everywhere means that the proof holds.

    ``game`` : in one round, what the noise of one more future round adds to Rel, minus what q* loses against the worst
        estimate; exploration is left out. Least over every past and context
    ``first`` : condition (1) of admissibility (paper, section 2.1): Rel before a round, minus the largest expectation,
        over the costs of that round, of the cost paid plus Rel after it
    ``second`` : condition (2): the expectation of Rel after the last round plus the least total cost of any policy,
        least over every sequence of contexts and costs
    ``bias`` : minus the largest difference between the expectation of an estimate and the cost that it estimates
    ``regret`` : Rel before the first round, minus the largest expected regret of any costs of 0 and 1 that are chosen
        in advance by round and context
    """

    game: Fraction
    first: Fraction
    second: Fraction
    bias: Fraction
    regret: Fraction


NAMES = ("game", "condition (1)", "condition (2)", "minus the bias", "Rel(empty) - E[regret]")


def violations(slacks: Slacks, places: Iterable[tuple[Game, int]]) -> list[str]:
    """Return which slacks are negative, each with a game and a horizon that attain it, one line each."""
    return [
        f"{name} is {slack} for {game}, T = {horizon}"
        for name, slack, (game, horizon) in zip(NAMES, slacks, places, strict=True)
        if slack < 0
    ]


def variants(name: str) -> list[Variant]:
    """Return the ways to play a registered relaxation: its own estimator with every leftover rule, then the other."""
    relaxation: Relaxation = registry.load("relaxation", name)()
    own, rules = relaxation.estimator, get_args(Leftover)
    ways = [Variant(f"{name}, {rule}", relaxation, own, rule) for rule in rules if rule != "uniform"]
    others = [estimator for estimator in get_args(Estimator) if estimator != own]
    ways += [Variant(f"{name}, {estimator}", relaxation, estimator) for estimator in others]
    return [Variant(name, relaxation, own), *ways]


def slacks(run: ExactRun, horizon: int) -> Slacks:
    """Return the least slacks over all rounds, pasts and contexts of a run of ``horizon`` rounds."""
    rounds = [(past, horizon - 1 - t) for t, pasts in enumerate(run.pasts(horizon)[:-1]) for past in pasts]
    places = [(past, n, x) for (past, n), x in product(rounds, run.contexts)]
    sequences = Sequences(run, horizon)
    return Slacks(
        game=min(run.round(*place).slack for place in places),
        first=min(run.condition(past, n) for past, n in rounds),
        second=sequences.final,
        bias=-max(run.bias(*place) for place in places),
        regret=run.rel(run.empty, horizon) - sequences.regret,
    )


def judge(variant: Variant, games: Iterable[Game], tick: Callable[[], None] = lambda: None) -> Verdict[Slacks]:
    """Return the least slacks over ``games``, each at every horizon up to its own; ``tick`` is called after each game.

    Games with an L below the relaxation's least are passed over. Raises InputError when none is left, or when the
    relaxation does not compute exactly (see Player).
    """
    player = cache(lambda n_actions, scale: Player(variant, n_actions, scale))  # it keeps its answers from game to game
    found: list[tuple[Slacks, tuple[Game, int]]] = []
    for game in games:
        if game.scale >= variant.relaxation.least_scale(game.n_actions):
            run = ExactRun(player(game.n_actions, game.scale), game)
            found += [(slacks(run, horizon), (game, horizon)) for horizon in range(1, game.horizon + 1)]
        tick()
    if not found:
        raise InputError(f"{variant.name}: every game has an L below its least_scale(); there is nothing to verify")
    worst = [min(found, key=lambda entry: entry[0][column]) for column in range(len(NAMES))]
    least = Slacks(*(entry[0][column] for column, entry in enumerate(worst)))
    return Verdict(variant.name, least, violations(least, [place for _, place in worst]))
