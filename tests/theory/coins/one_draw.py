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
from typing import Any, NamedTuple

import numpy as np

from milpcb.plugins import registry
from milpcb.relaxations.base import Relaxation, mix
from milpcb.theory.exact import Player, Totals, Variant, int_if_whole
from tests.theory.coins.slacks import Verdict, worst_of

Law = dict[Totals, Fraction]  # of noise by policy
Costs = tuple[int, ...]  # 0 or 1, of one round


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


CONSTANTS = ((0,), (1,))
THREE = ((0, 0), (0, 1), (1, 1))
LONG = (DrawSetting(CONSTANTS, (0, 0, 0), Fraction(4)), DrawSetting(THREE, (0, 1, 0), Fraction(5), known=False))
SHORT = (DrawSetting(CONSTANTS, (0, 0, 0), Fraction(4)), DrawSetting(THREE, (0, 1), Fraction(5)))
BEHIND = (DrawSetting(CONSTANTS, (0, 0), Fraction(4), past=(2,)), DrawSetting(THREE, (1, 0), Fraction(5), past=(1, 3)))


class Moment(NamedTuple):
    """State of play between two rounds: totals of the estimates by policy, and what was seen."""

    base: Totals
    leader: int = 0
    last: int = 0
    paid: bool = False


State = tuple[Any, Moment]  # the futures that were drawn, () where they are drawn afresh, and what was seen


class Turn(NamedTuple):
    """One way that a round may go: its chance, the state before, the leader and q (K,)."""

    chance: Fraction
    state: State
    leader: int
    q: tuple[Fraction, ...]


# The futures that round ``t`` may take, of two, by their numbers.
TAKEN = {
    "first": lambda _t, _seen: (0,),
    "in turn": lambda t, _seen: (t % 2,),
    "at random": lambda _t, _seen: (0, 1),
    "second half": lambda t, _seen: (int(t > 0),),
    "last action": lambda _t, seen: (seen.last,),
    "after a cost": lambda _t, seen: (int(seen.paid),),
}


@dataclass(frozen=True)
class Scheme:
    """How futures are drawn and taken, and how costs are estimated and chosen.

    ``taken`` is which of two futures a round takes, ``drawn`` whether estimates are; else they are c / q. Noise of
    ``past_noise`` rounds is counted though they are over: 0, or 1 for the current one. ``kept`` is whether the leader
    is kept while it is one, and whether a rule that is none is (None). If the world ``reacts``, the action played last
    costs 1 and the other 0, whatever the plan.
    """

    name: str
    relaxation: str = "half"
    taken: str = "first"
    drawn: bool = True
    past_noise: int = 0
    kept: bool | None = False
    reacts: bool = False
    settings: Sequence[DrawSetting] = SHORT


def judge_draw(scheme: Scheme) -> Verdict:
    """Return the verdict on a scheme, over all costs 0 and 1 in each of its settings."""
    runs = [(str(setting), Enumerated(scheme, setting)) for setting in scheme.settings]
    found = [(place, [run.difference if scheme.kept is False else Fraction(0), -run.slack]) for place, run in runs]
    return worst_of(("the mean cost of a round as of fresh draws", "E[regret] <= Rel"), found)


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
        self._followed = [tuple(mix(one, scale)) for one in np.eye(len(self._actions), dtype=int) + Fraction(0)]
        self._nothing: Totals = (0,) * len(setting.labelings)
        self._past = setting.past + self._nothing[len(setting.past) :]
        rounds = [self._noise_of(t) for t in range(len(setting.rows))]
        self._noise = [_law_of((_apart(noise), p) for noise, p in law.items()) for law in rounds]
        self._q = cache(self._response)
        mean = sum(
            (p * min(noise) for noise, p in reduce(_sum, rounds, {self._past: Fraction(1)}).items()), Fraction(0)
        )
        self._rel = len(rounds) * self._player.price - self._player.unit * mean
        self.games, self.difference, self.slack = 0, Fraction(0), self._rel
        start = Moment(self._past)
        once = {(futures, start): p for futures, p in self._futures()}
        self._visit((), once, {((), start): Fraction(1)}, Fraction(0))

    def _visit(
        self, plan: tuple[Costs, ...], once: dict[State, Fraction], fresh: dict[State, Fraction], paid: Fraction
    ) -> None:
        """Go on after the rounds of ``plan`` with all costs of the next; ``paid`` is the mean cost so far."""
        t, rows = len(plan), self._setting.rows
        if t == len(rows):
            best = min(
                before * self._player.unit + sum(costs[labels[x]] for costs, x in zip(plan, rows, strict=True))
                for labels, before in zip(self._setting.labelings, self._past, strict=True)
            )
            self.games, self.slack = self.games + 1, min(self.slack, self._rel - (paid - best))
            return
        turns, others = (list(self._turns(t, law)) for law in (once, fresh))
        for costs in product((0, 1), repeat=len(self._actions)):
            now, of_fresh = (self._paid(t, ways, costs) for ways in (turns, others))
            self.difference = max(self.difference, abs(now - of_fresh))
            self._visit((*plan, costs), self._after(t, turns, costs), self._after(t, others, costs), paid + now)

    def _turns(self, t: int, law: dict[State, Fraction]) -> Iterator[Turn]:
        for (futures, moment), p in law.items():
            for left, share in self._left(t, futures, moment):
                leader, q = self._q(tuple(map(add, moment.base, left)), self._setting.rows[t], moment.leader)
                yield Turn(p * share, (futures, moment), leader, q)

    def _paid(self, t: int, turns: list[Turn], costs: Costs) -> Fraction:
        ways = product(turns, self._actions)
        return sum((turn.chance * turn.q[a] * self._cost(t, turn, a, costs) for turn, a in ways), Fraction(0))

    def _cost(self, t: int, turn: Turn, action: int, costs: Costs) -> int:
        return int(t > 0 and action == turn.state[1].last) if self._scheme.reacts else costs[action]

    def _after(self, t: int, turns: list[Turn], costs: Costs) -> dict[State, Fraction]:
        """Return the law of the state after round ``t`` with these costs."""

        def ends() -> Iterator[tuple[State, Fraction]]:
            played = [labels[self._setting.rows[t]] for labels in self._setting.labelings]
            watched = self._scheme.taken in {"last action", "after a cost"} or self._scheme.reacts
            for turn, action in product(turns, self._actions):
                futures, moment = turn.state
                cost = self._cost(t, turn, action, costs)
                counted, step = self._player.estimate(cost, turn.q[action])
                last, paid = (action, moment.paid or cost == 1) if watched else (0, False)
                seen = Moment(moment.base, turn.leader, last, paid)
                yield (futures, seen), turn.chance * (turn.q[action] - counted)
                pairs = zip(moment.base, played, strict=True)
                raised = _apart(tuple(int_if_whole(total + step * (label == action)) for total, label in pairs))
                yield (futures, seen._replace(base=raised)), turn.chance * counted

        return {state: p for state, p in _law_of(ends()).items() if p}

    def _left(self, t: int, futures: Any, moment: Moment) -> Iterator[tuple[Totals, Fraction]]:
        """Yield the noise to come in the futures that round ``t`` may take, each with its chance; all, where fresh."""
        if not futures:
            yield from reduce(_sum, self._noise[t + 1 :], {self._nothing: Fraction(1)}).items()
            return
        taken = TAKEN[self._scheme.taken](t, moment)
        for number in taken:
            to_come = futures[number][t + 1 - self._scheme.past_noise :]
            yield tuple(map(sum, zip(self._nothing, *to_come, strict=True))), Fraction(1, len(taken))

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

    def _response(self, totals: Totals, row: int, leader: int) -> tuple[int, tuple[Any, ...]]:
        """Return the policy that leads from now on, and q (K,)."""
        labelings, least = self._setting.labelings, min(totals)
        if self._even:
            by_action: list[list[Any]] = [[np.inf] for _ in self._actions]
            for total, labels in zip(totals, labelings, strict=True):
                by_action[labels[row]].append(total)
            return 0, self._player.reply(tuple(map(min, by_action)))[0]
        stays = self._scheme.kept is None or (self._scheme.kept and totals[leader] == least)
        leader = leader if stays else totals.index(least)
        return leader, self._followed[labelings[leader][row]]

    def _noise_of(self, t: int) -> Law:
        """Return the law of the noise (N,) of round ``t``, by policy."""
        shown = [self._setting.rows[t]] if self._setting.known else sorted(set(self._setting.rows))
        return _law_of(
            (tuple(noise[labels[row]] for labels in self._setting.labelings), p / len(shown))
            for row, (noise, p) in product(shown, self._player.noise.items())
        )


def _law_of(outcomes: Any) -> dict[Any, Fraction]:
    law: defaultdict[Any, Fraction] = defaultdict(Fraction)
    for outcome, p in outcomes:
        law[outcome] += p
    return dict(law)


def _sum(one: Law, other: Law) -> Law:
    """Return the law of the sum of two independent noises."""
    pairs = product(one.items(), other.items())
    return _law_of((tuple(map(add, noise, more)), p * share) for (noise, p), (more, share) in pairs)


def _apart(totals: Totals) -> Totals:
    """Return the differences to the least total, which are all that play depends on."""
    least = min(totals)
    return tuple(total - least for total in totals)


NAMES = ("paper", "half", "coordinate")
DRAWN = [
    *(Scheme(name, name, settings=LONG) for name in NAMES),
    Scheme("signed", "signed"),
    *(Scheme(f"{name}, a leader kept", name, kept=True, settings=(LONG[0], *BEHIND)) for name in NAMES),
    *(Scheme(f"half, two futures {how}", taken=how) for how in ("in turn", "at random")),
    Scheme("half, redrawn after round 1", taken="second half"),
]
DRAW_MUTANTS = [
    Scheme("c / q", drawn=False, settings=SHORT[:1]),
    Scheme("noise of this round kept", past_noise=1, settings=SHORT[:1]),
    Scheme("costs that react", reacts=True, settings=SHORT[:1]),
    Scheme("redrawn after a cost", taken="after a cost", settings=SHORT[:1]),
    Scheme("future by the last action", taken="last action", settings=SHORT[:1]),
    Scheme("a leader kept that is none", kept=None, settings=BEHIND[:1]),
    Scheme("signed, a leader kept", "signed", kept=True, settings=(DrawSetting(CONSTANTS, (0,), Fraction(5)),)),
]
