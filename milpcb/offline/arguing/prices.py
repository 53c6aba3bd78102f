"""Prices of wishes, in a table of costs or by a log, where they have intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np

from milpcb.checks import ROUNDING, check_confidence, cost_array
from milpcb.offline.arguing.question import Best, Granting, Question, granted
from milpcb.offline.arguing.wishes import Wish
from milpcb.offline.band import UPPER, Process, quantile
from milpcb.offline.intervals import drawn_again
from milpcb.offline.reference import Reference
from milpcb.offline.sampling import affordable, sampled_rows
from milpcb.offline.scores import Scores
from milpcb.rng import child
from milpcb.types import Floats


@dataclass(frozen=True)
class Price:
    """What a wish costs: ``price`` is in the unit of the costs, infinite where no policy grants it.

    Attributes
    ----------
    name : the wish in words
    price : the least total cost of the policies that grant it, less that of the class
    best : one of these policies, and its total cost; None where there is none
    lower, upper : where the price of means in the population lies, by the band; NaN where it was not asked

    """

    name: str
    price: float
    best: Best | None
    lower: float = field(default=float("nan"))
    upper: float = field(default=float("nan"))


def prices(question: Question, costs: Any, wishes: Sequence[Wish]) -> list[Price]:
    """Return the price of each wish by itself.

    Parameters
    ----------
    question : the class on n rows
    costs : (n, K), any sign
    wishes : ``Without``, ``Option``, ``Under``, ``keep``, ``alike``, ``Monotone``, ``First``

    Raises
    ------
    InputError (a wish that the class has no price for), OracleInexact

    """
    table = cost_array(costs, question.oracle.n_contexts, question.oracle.n_actions)
    least = question.best(table).value
    return [_price(wish, wish.of(question), table, least) for wish in wishes]


def price_intervals(
    question: Question,
    scores: Scores,
    reference: Reference,
    wishes: Sequence[Wish],
    *,
    level: float = 0.95,
    draws: int = 200,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Price]:
    """Return prices by a log, in the unit of the outcome per row, with ends that hold for all wishes at once.

    The band holds for all policies of the class, so the best of them is worth in truth between the greatest lower end
    and the greatest upper end, and so is the best of those that grant a wish; the price is between their differences,
    and not below 0. Without policies that grant it the price is infinite.

    Parameters
    ----------
    question : the class on the n rows of the log
    scores, reference : what is gained, and over what: any one is valid
    wishes : see ``prices``
    level : how often all ends hold
    draws : searches on resamples, two questions each
    seed : of the resamples
    progress : called as ``progress(done, total)`` after every draw

    """
    rng, group = child(seed, "offline", "prices"), scores.log.group
    kind, rules = question.kind, list(question.constraints)
    sampled = sampled_rows(question.policies, question.contexts, question.oracle, rules, kind, group, rng)
    shares = scores.weight / scores.weight.sum()
    base = reference.ways.mixed(reference.lottery, scores.gains)
    process = Process(question.oracle, sampled, scores.gains, shares, base)
    least = ceil(check_confidence(level) / (1 - level) - ROUNDING)
    times = affordable(draws, least, len(sampled.rows), question.oracle.n_actions, question.oracle.contexts.shape[1])
    noise = []
    for draw in range(times):
        up, down = process.greatest(drawn_again(rng, sampled.members, len(sampled.rows)))
        noise.append(max(up, UPPER * down, 0.0))
        if progress is not None:
            progress(draw + 1, times)
    reach, floors = quantile(np.array(noise), level), [-process.floor(sign) for sign in (1.0, -1.0)]
    costs = scores.costs / scores.weight.sum()

    def ends(asked: Granting) -> tuple[float, float]:
        low, high = (-asked.best(floor).value for floor in floors)
        return low - reach, high + reach / UPPER

    (lower, upper), of_class = ends(question), question.best(costs).value
    del process, sampled
    question.close()  # a million rows that are opened take a gigabyte: one class at a time
    found = []
    for wish in wishes:
        asked = wish.of(question)
        price = _price(wish, asked, costs, of_class)
        if price.best is not None:
            own_lower, own_upper = ends(asked)
            price = replace(price, lower=max(0.0, lower - own_upper), upper=max(0.0, upper - own_lower))
        found.append(price)
        del asked
    return found


def _price(wish: Wish, asked: Granting, costs: Floats, least: float) -> Price:
    """Return what a wish costs, of which ``asked`` are the policies; the class has the total cost ``least``."""
    best = granted(asked, costs)
    return Price(wish.name, np.inf if best is None else max(0.0, best.value - least), best)
