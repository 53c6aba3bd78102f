"""The verdict on a relaxation: for each inequality of the proof, by how much it holds at its worst place.

In go small games that can be enumerated and a way to play (a Variant); out comes, for each inequality, its least slack
(the side that must be larger minus the other) over all games, pasts and contexts. A negative slack is a violation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import NamedTuple, get_args

from milpcb.errors import InputError
from milpcb.plugins import registry
from milpcb.relaxations.base import Estimator, Relaxation
from milpcb.theory.exact import ExactRun
from milpcb.theory.games import Game
from milpcb.theory.player import Leftover, Player, Variant
from milpcb.theory.sequences import Sequences


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


@dataclass(frozen=True)
class Verdict:
    """The least slacks of a variant, and for each of them a game and a horizon that attain it."""

    variant: Variant
    slacks: Slacks
    places: tuple[tuple[Game, int], ...]

    @property
    def name(self) -> str:
        """The name of the variant."""
        return self.variant.name

    @property
    def passes(self) -> bool:
        """Whether nothing is violated."""
        return min(self.slacks) >= 0

    def violations(self) -> list[str]:
        """Return what is violated and where, one line each."""
        return [
            f"{name} is {slack} for {game}, T = {horizon}"
            for name, slack, (game, horizon) in zip(NAMES, self.slacks, self.places, strict=True)
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
    least = [min(found, key=lambda entry: entry[0][column]) for column in range(len(NAMES))]
    return Verdict(
        variant,
        Slacks(*(entry[0][column] for column, entry in enumerate(least))),
        tuple(place for _, place in least),
    )
