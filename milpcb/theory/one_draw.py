"""One draw against fresh draws in rational arithmetic: the law of play in every round of games that can be enumerated.

What is played, how costs are estimated and how noise is distributed are the functions that a run calls. The law of the
actions of every round is compared with that of fresh draws: they must be equal where the order of ties is fixed. And
where a leader is kept through ties, expected regret must not be above Rel(0, T). See milpcb/theory/one_draw.md.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from math import prod
from operator import add
from typing import Any, Literal, NamedTuple

import numpy as np

from milpcb.plugins import registry
from milpcb.relaxations.base import Relaxation
from milpcb.relaxations.game import mix
from milpcb.theory.games import Verdict
from milpcb.theory.player import Player, Totals, Variant, int_if_whole

Taken = Literal["first", "in turn", "at random", "second half", "last action", "after a cost"]


@dataclass(frozen=True)
class Scheme:
    """How futures are drawn and taken, and how costs are estimated and chosen.

    Attributes
    ----------
    relaxation : its name
    taken : which of two futures a round takes
    drawn : whether estimates are; else they are c / q
    past_noise : rounds whose noise is counted though they are over: 0, or 1 for the current one
    kept : whether the leader is kept while it is one, and whether a rule that is none is (None)
    reacts : whether the action played last costs 1 and the other 0, whatever the plan

    """

    name: str
    relaxation: str = "half"
    taken: Taken = "first"
    drawn: bool = True
    past_noise: int = 0
    kept: bool | None = False
    reacts: bool = False


class DrawSetting(NamedTuple):
    """Policies as labelings of contexts, the contexts ``rows`` of all rounds, L, and what is known of the contexts.

    ``known`` is whether they are known in order; else imagined rounds show each context with the same chance. ``past``
    (N,) is what the first policies have been estimated to cost before, in units; the others nothing.
    """

    labelings: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]
    scale: Fraction
    known: bool = True
    past: Totals = ()


class Moment(NamedTuple):
    """State of play between two rounds: totals of the estimates by policy, and what was seen."""

    base: Totals
    leader: int = 0
    last: int = 0
    paid: bool = False


Law = dict[Totals, Fraction]  # of noise by policy
State = tuple[Any, Moment]  # the futures that were drawn, () where they are drawn afresh, and what was seen
Costs = tuple[int, ...]  # 0 or 1, of one round


class Turn(NamedTuple):
    """One way that a round may go: its chance, the state before, the leader and q (K,)."""

    chance: Fraction
    state: State
    leader: int
    q: tuple[Fraction, ...]


class Enumerated:
    """A scheme in a setting, played through every future, every coin and all costs 0 and 1.

    ``games`` counts the costs of whole games, ``difference`` is the largest between the mean cost of a round with one
    draw and with fresh draws, ``slack`` the least of Rel(past, T) less expected regret with one draw.
    """

    def __init__(self, scheme: Scheme, setting: DrawSetting) -> None:
        relaxation: Relaxation = registry.load("relaxation", scheme.relaxation)()
        self._scheme, self._setting = scheme, setting
        self._actions = range(1 + max(map(max, setting.labelings)))
        variant = Variant(scheme.name, relaxation, "bernoulli" if scheme.drawn else "ips")
        self._player = Player(variant, len(self._actions), setting.scale)
        self._even = relaxation.even_ties and scheme.kept is False
        scale: Any = setting.scale  # goes where a float is declared and a Fraction is kept
        ones = np.eye(len(self._actions), dtype=int) + Fraction(0)
        self._followed = [tuple(mix(one, scale)) for one in ones]
        self._nothing: Totals = (0,) * len(setting.labelings)
        self._past = setting.past + self._nothing[len(setting.past) :]
        self._noise = [_relative(self._noise_of(t)) for t in range(len(setting.rows))]
        self._q = cache(self._response)
        self._rel = self._relaxed()
        self.games, self.difference, self.slack = 0, Fraction(0), self._rel
        start = Moment(self._past)
        once = {(futures, start): p for futures, p in self._futures()}
        self._visit((), once, {((), start): Fraction(1)}, Fraction(0))

    def _visit(
        self, plan: tuple[Costs, ...], once: dict[State, Fraction], fresh: dict[State, Fraction], paid: Fraction
    ) -> None:
        """Go on after the rounds of ``plan`` with all costs of the next; ``paid`` is the mean cost so far."""
        t, rows, labelings = len(plan), self._setting.rows, self._setting.labelings
        if t == len(rows):
            best = min(
                before * self._player.unit + sum(costs[labels[x]] for costs, x in zip(plan, rows, strict=True))
                for labels, before in zip(labelings, self._past, strict=True)
            )
            self.games, self.slack = self.games + 1, min(self.slack, self._rel - (paid - best))
            return
        turns, others = (list(self._turns(t, law)) for law in (once, fresh))
        for costs in product((0, 1), repeat=len(self._actions)):
            now, of_fresh = (self._paid(t, ways, costs) for ways in (turns, others))
            self.difference = max(self.difference, abs(now - of_fresh))
            self._visit((*plan, costs), self._after(t, turns, costs), self._after(t, others, costs), paid + now)

    def _turns(self, t: int, law: dict[State, Fraction]) -> Iterator[Turn]:
        """Yield how round ``t`` may go."""
        for (futures, moment), p in law.items():
            for left, share in self._left(t, futures, moment):
                leader, q = self._q(tuple(map(add, moment.base, left)), self._setting.rows[t], moment.leader)
                yield Turn(p * share, (futures, moment), leader, q)

    def _paid(self, t: int, turns: list[Turn], costs: Costs) -> Fraction:
        """Return the mean cost of round ``t``."""
        return sum(
            (
                turn.chance * turn.q[action] * self._cost(t, turn, action, costs)
                for turn, action in product(turns, self._actions)
            ),
            Fraction(0),
        )

    def _cost(self, t: int, turn: Turn, action: int, costs: Costs) -> int:
        """Return the cost of an action."""
        return int(t > 0 and action == turn.state[1].last) if self._scheme.reacts else costs[action]

    def _after(self, t: int, turns: list[Turn], costs: Costs) -> dict[State, Fraction]:
        """Return the law of the state after round ``t`` with these costs."""
        law: defaultdict[State, Fraction] = defaultdict(Fraction)
        playing = [[labels[self._setting.rows[t]] for labels in self._setting.labelings]] * len(self._actions)
        for turn, action in product(turns, self._actions):
            futures, moment = turn.state
            cost = self._cost(t, turn, action, costs)
            counted, step = self._player.estimate(cost, turn.q[action])
            watched = self._scheme.taken in {"last action", "after a cost"} or self._scheme.reacts
            last, paid = (action, moment.paid or cost == 1) if watched else (0, False)
            seen = Moment(moment.base, turn.leader, last, paid)
            law[futures, seen] += turn.chance * (turn.q[action] - counted)
            pairs = zip(moment.base, playing[action], strict=True)
            raised = _apart(tuple(int_if_whole(total + step * (label == action)) for total, label in pairs))
            law[futures, seen._replace(base=raised)] += turn.chance * counted
        return {state: p for state, p in law.items() if p}

    def _left(self, t: int, futures: Any, moment: Moment) -> Iterator[tuple[Totals, Fraction]]:
        """Yield the noise to come in the futures that round ``t`` may take, each with its chance; all, where fresh."""
        if not futures:
            yield from self._to_come(t + 1).items()
            return
        taken = {
            "first": (0,),
            "in turn": (t % 2,),
            "at random": (0, 1),
            "second half": (int(t > 0),),
            "last action": (moment.last,),
            "after a cost": (int(moment.paid),),
        }[self._scheme.taken]
        for number in taken:
            to_come = futures[number][t + 1 - self._scheme.past_noise :]
            yield tuple(map(sum, zip(self._nothing, *to_come, strict=True))), Fraction(1, len(taken))

    def _to_come(self, first: int) -> Law:
        """Return the law of the noise of all rounds from ``first`` on."""
        return reduce(_sum, self._noise[first:], {self._nothing: Fraction(1)})

    def _futures(self) -> Iterator[tuple[Any, Fraction]]:
        """Yield one or two independent futures with their chance. The first round's noise is drawn where used."""
        used = 1 - self._scheme.past_noise
        rounds = [{self._nothing: Fraction(1)}] * used + self._noise[used:]
        each = [
            (tuple(noise for noise, _ in drawn), prod((p for _, p in drawn), start=Fraction(1)))
            for drawn in product(*(law.items() for law in rounds))
        ]
        for several in product(each, repeat=1 if self._scheme.taken == "first" else 2):
            yield tuple(noise for noise, _ in several), prod((p for _, p in several), start=Fraction(1))

    def _relaxed(self) -> Fraction:
        """Return Rel(0, T) in units of cost."""
        law: Law = reduce(_sum, map(self._noise_of, range(len(self._noise))), {self._past: Fraction(1)})
        mean = sum((p * min(noise) for noise, p in law.items()), Fraction(0))
        return len(self._noise) * self._player.price - self._player.unit * mean

    def _response(self, totals: Totals, row: int, leader: int) -> tuple[int, tuple[Any, ...]]:
        """Return the policy that leads from now on, and q (K,)."""
        labelings, least = self._setting.labelings, min(totals)
        if self._even:
            profile = tuple(
                min(
                    (total for total, labels in zip(totals, labelings, strict=True) if labels[row] == a), default=np.inf
                )
                for a in self._actions
            )
            return 0, self._player.reply(profile).q
        stays = self._scheme.kept is None or (self._scheme.kept and totals[leader] == least)
        leader = leader if stays else totals.index(least)
        return leader, self._followed[labelings[leader][row]]

    def _noise_of(self, t: int) -> Law:
        """Return the law of the noise (N,) of round ``t``, by policy."""
        rows = sorted(set(self._setting.rows))
        shown = [self._setting.rows[t]] if self._setting.known else rows
        law: defaultdict[Totals, Fraction] = defaultdict(Fraction)
        for row in shown:
            for noise, p in self._player.noise.items():
                law[tuple(noise[labels[row]] for labels in self._setting.labelings)] += p / len(shown)
        return dict(law)


class DrawSlacks(NamedTuple):
    """Costs of whole games, the largest difference of the mean cost of a round, the least of Rel less regret."""

    games: int
    difference: Fraction
    slack: Fraction


def judge_draw(scheme: Scheme, settings: Sequence[DrawSetting]) -> Verdict[DrawSlacks]:
    """Return the verdict on a scheme, over all costs 0 and 1 in each of the settings."""
    runs = [Enumerated(scheme, setting) for setting in settings]
    differences = [run.difference for run in runs] if scheme.kept is False else [Fraction(0)]
    found = DrawSlacks(sum(run.games for run in runs), max(differences), min(run.slack for run in runs))
    wrong = [f"the mean cost of a round differs by {found.difference}"] if found.difference else []
    return Verdict(scheme.name, found, wrong + ([f"expected regret is {-found.slack} above Rel"] * (found.slack < 0)))


def _sum(one: Law, other: Law) -> Law:
    """Return the law of the sum of two independent noises."""
    law: defaultdict[Totals, Fraction] = defaultdict(Fraction)
    for (noise, p), (more, share) in product(one.items(), other.items()):
        law[tuple(map(add, noise, more))] += p * share
    return dict(law)


def _relative(law: Law) -> Law:
    """Return the law of the differences of the policies' noise, which are all that play depends on."""
    apart: defaultdict[Totals, Fraction] = defaultdict(Fraction)
    for noise, p in law.items():
        apart[_apart(noise)] += p
    return dict(apart)


def _apart(totals: Totals) -> Totals:
    least = min(totals)
    return tuple(total - least for total in totals)


CONSTANTS = ((0,), (1,))
THREE = ((0, 0), (0, 1), (1, 1))
FOUR = ((0, 0), (0, 1), (1, 0), (1, 1))
CLASSES = ((CONSTANTS, (0, 0, 0)), (THREE, (0, 1, 0)), (FOUR, (1, 0, 0)))
SETTINGS = [DrawSetting(labelings, rows, Fraction(L)) for labelings, rows in CLASSES for L in (4, 5, 6)]
GUESSED = [DrawSetting(labelings, rows, Fraction(4), known=False) for labelings, rows in CLASSES[1:]]
SHORT = [DrawSetting(CONSTANTS, (0, 0, 0), Fraction(4)), DrawSetting(THREE, (0, 1), Fraction(5))]
ONE_ROUND = [DrawSetting(CONSTANTS, (0,), Fraction(5))]
BEHIND = [DrawSetting(CONSTANTS, (0, 0), Fraction(4), past=(2,)), DrawSetting(THREE, (1, 0), Fraction(5), past=(1, 3))]

SCHEMES = [
    *((Scheme(name, name), [*SETTINGS, *GUESSED]) for name in ("paper", "half", "coordinate")),
    (Scheme("signed", "signed"), SHORT),
    *(
        (Scheme(f"{name}, a leader kept", name, kept=True), [*SETTINGS, *BEHIND])
        for name in ("paper", "half", "coordinate")
    ),
    *((Scheme(f"half, two futures {how}", taken=how), SHORT) for how in ("in turn", "at random")),
    (Scheme("half, redrawn after round 1", taken="second half"), SHORT),
]
DRAW_MUTANTS = [
    (Scheme("c / q", drawn=False), SHORT),
    (Scheme("noise of this round kept", past_noise=1), SHORT),
    (Scheme("costs that react", reacts=True), SHORT),
    (Scheme("redrawn after a cost", taken="after a cost"), SHORT),
    (Scheme("future by the last action", taken="last action"), SHORT),
    (Scheme("a leader kept that is none", kept=None), BEHIND),
    (Scheme("signed, a leader kept", "signed", kept=True), ONE_ROUND),
]
