"""The verdict on a relaxation: for each inequality of the proof, its least slack over small games, pasts and contexts.

The slack is the side that must be larger minus the other; a negative one is a violation.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import lcm
from typing import Any, NamedTuple, get_args

import numpy as np

from milpcb.errors import InputError
from milpcb.plugins import registry
from milpcb.relaxations.base import Estimator, Relaxation
from milpcb.theory.exact import COSTS, ExactRun, Game, Leftover, Player, Totals, Variant


def sequences(run: ExactRun, horizon: int) -> tuple[Fraction, Fraction]:
    """Return the least slack of condition (2), and the largest E[regret], over every x_{1:T} and c_{1:T}.

    Condition (2) is E Rel(x_{1:T}, chat_{1:T}) + min_pi sum c >= 0, with c less the player's shift. Regret is that
    against the worst of all plans that choose the costs by round and context.
    """
    labelings, every = run.game.labelings, list(product(COSTS, repeat=run.game.n_actions))
    regrets = np.zeros([len(run.contexts), len(every)] * horizon, dtype=object)
    slacks: list[Fraction] = []

    @cache
    def move(past: Totals, n: int, x: int, costs: tuple[int, ...]) -> tuple[Fraction, Fraction, dict[Totals, Fraction]]:
        """Return the mean cost of a round, and the mean least total and the law of its end."""
        law: Counter[Totals] = Counter({past: Fraction(1)})
        for i, cost in enumerate(costs):
            counted = run.outcomes(past, n, x, i, cost)
            law.update(counted)
            law[past] -= sum(counted.values())  # type: ignore[assignment]
        lost = sum((loss * cost for loss, cost in zip(run.round(past, n, x).loss, costs, strict=True)), Fraction(0))
        ends: Any = {after: p for after, p in law.items() if p}
        return lost, sum((p * min(after) for after, p in ends.items()), Fraction(0)), ends

    def walk(place: tuple[int, ...], pasts: dict[Totals, Fraction], lost: Fraction, paid: Totals) -> None:
        """Go on after the rounds of ``place``: numbers of context and costs; ``paid`` (N,) is each policy's cost."""
        n = horizon - 1 - len(place) // 2
        for (j, x), (number, costs) in product(enumerate(run.contexts), enumerate(every)):
            moves = [(p, *move(past, n, x, costs)) for past, p in pasts.items()]
            lost_now = lost + sum(p * more for p, more, *_ in moves)
            paid_now = tuple(total + costs[labels[x]] for total, labels in zip(paid, labelings, strict=True))
            if n == 0:
                regrets[(*place, j, number)] = lost_now - min(paid_now)
                slacks.append(min(paid_now) - run.player.unit * sum(p * least for p, _, least, _ in moves))
                continue
            after: defaultdict[Totals, Fraction] = defaultdict(Fraction)
            for p, *_, law in moves:
                for base, share in law.items():
                    after[base] += p * share
            walk((*place, j, number), after, lost_now, paid_now)

    walk((), {run.empty: Fraction(1)}, Fraction(0), run.empty)
    parts, shares = lcm(*(each.denominator for each in regrets.flat)), lcm(*(p.denominator for p in run.likely))
    worst = worst_plan(regrets * parts // 1, [int(p * shares) for p in run.likely])  # integers are added faster
    return min(slacks) - horizon * run.player.shift, worst * Fraction(1, parts * shares**horizon)


def worst_plan(regrets: Any, likely: Sequence[Any]) -> Any:
    """Return the largest expectation of ``regrets`` over contexts, whose axes are contexts and cost vectors in turn.

    A plan chooses for every round the costs by the context alone; ``likely`` is their law, times any number.
    """
    if regrets.ndim == 2:  # the choices of the last round do not touch one another
        return sum(p * max(row) for p, row in zip(likely, regrets, strict=True))
    plans = product(range(regrets.shape[1]), repeat=len(likely))
    return max(worst_plan(sum(p * regrets[j, plan[j]] for j, p in enumerate(likely)), likely) for plan in plans)


class Slacks(NamedTuple):
    """Least slacks by the columns of ``milpcb verify``, in units of cost: 0 or more where the proof holds."""

    game: Fraction
    first: Fraction
    second: Fraction
    bias: Fraction
    regret: Fraction


NAMES = ("game", "condition (1)", "condition (2)", "minus the bias", "Rel(empty) - E[regret]")


class Verdict(NamedTuple):
    """The least slacks of a variant, and the violations with their places, one line each."""

    name: str
    slacks: Slacks
    violations: list[str]

    @property
    def passes(self) -> bool:
        """Whether there are no violations."""
        return not self.violations


def violations(slacks: Slacks, places: Iterable[tuple[Game, int]]) -> list[str]:
    """Return which slacks are negative, each with a game and a horizon that attain it, one line each."""
    return [
        f"{name} is {slack} for {game}, T = {horizon}"
        for name, slack, (game, horizon) in zip(NAMES, slacks, places, strict=True)
        if slack < 0
    ]


def variants(name: str) -> list[Variant]:
    """Return the ways to play a registered relaxation: its own estimator with every leftover rule; the other one."""
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
    final, regret = sequences(run, horizon)
    return Slacks(
        game=min(run.round(*place).slack for place in places),
        first=min(run.condition(past, n) for past, n in rounds),
        second=final,
        bias=-max(run.bias(*place) for place in places),
        regret=run.rel(run.empty, horizon) - regret,
    )


def judge(variant: Variant, games: Iterable[Game], tick: Callable[[], None] = lambda: None) -> Verdict:
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
