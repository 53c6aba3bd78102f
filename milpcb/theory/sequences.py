"""Every sequence of contexts and of costs in {0, 1}: condition (2), and the largest expected regret.

A *plan* chooses, before the first round, the cost vector of every round and context. Numbers are whole *parts*,
numerators over a common denominator that is also called parts, as Fractions are several times slower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from itertools import compress, product, starmap
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np

from milpcb.theory.exact import COSTS, ExactRun
from milpcb.theory.player import Totals


class Move(NamedTuple):
    """What follows from a past, a context and a cost vector, in parts of the round.

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
