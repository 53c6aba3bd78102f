"""Whether a run of BISTRO+ does what was verified, and whether a relaxation states no less than its Rel.

A run draws its noise by another function than the exact verification reads, asks an oracle, and keeps its own totals;
and the guarantee is a closed form. So the learner itself is played here on small games:

stated : the guarantee less Rel(empty), which it must not be below, at every horizon
futures : how often a run draws each future, beside its probability, in standard errors
answers : q for each drawn future, beside the exact one
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from milpcb.contexts import FinitePool
from milpcb.learners import BistroPlus
from milpcb.learners.bistro_plus import Queries
from milpcb.oracles import open_oracle
from milpcb.plugins import registry
from milpcb.relaxations.base import Relaxation
from milpcb.relaxations.game import mix
from milpcb.theory.exact import ExactRun, Player, Variant
from milpcb.theory.games import SKEWED, Game, Verdict
from milpcb.theory.verdicts import variants

DRAWS = 800
FEWEST = 20  # expected draws of an outcome; rarer ones are counted together
MOST_ERRORS = 6.0  # standard errors
ROUNDING = 1e-9
NAMES = ("guarantee - Rel(empty)", "futures", "answers")


@dataclass(frozen=True)
class Run:
    """A variant as it is asked of an oracle, by BISTRO+ or a mutant of it."""

    variant: Variant
    queries: Queries = "all"
    learner: type[BistroPlus] = BistroPlus

    @property
    def name(self) -> str:
        """The name of the variant, and how it asks."""
        return f"{self.variant.name}: {self.queries}"


class RunSlacks(NamedTuple):
    """The least of what is stated less Rel(empty), and the largest differences of the others (see the module)."""

    stated: float
    futures: float
    answers: float


def runs(name: str) -> list[Run]:
    """Return the ways to run a registered relaxation: all of its variants, and all ways to ask."""
    first, *others = variants(name)
    ways: tuple[Queries, ...] = ("all", "profile")
    asked = [Run(first, queries) for queries in ways if queries in first.relaxation.queries]
    if "argmin" in first.relaxation.queries:
        asked += [Run(variant, "argmin") for variant in others if variant.leftover == "leader"]
    return asked + [Run(other, "profile" if other.leftover == "leader" else "all") for other in others]


def judge_run(run: Run, games: Iterable[Game]) -> Verdict[RunSlacks]:
    """Return the verdict on a run: what is stated on all ``games``, the rest on two of its own."""
    relaxation, least = run.variant.relaxation, run.variant.relaxation.least_scale
    stated = [
        _stated(run.variant, game) for game in [*games, *_long_games(relaxation)] if game.scale >= least(game.n_actions)
    ]
    found = np.array([_played(run, game) for game in _played_games(relaxation)])
    slacks = RunSlacks(min(stated), *found.max(axis=0).tolist())
    excess = (-slacks.stated - ROUNDING, slacks.futures - MOST_ERRORS, slacks.answers - ROUNDING)
    wrong = [f"{NAMES[i]}: {slack:.4g}" for i, slack in enumerate(slacks) if excess[i] > 0]
    return Verdict(run.name, slacks, wrong)


def _long_games(relaxation: Relaxation) -> list[Game]:
    least = [Fraction(relaxation.least_scale(K)) for K in (2, 3)]
    return [Game(((0,), (1,)), (Fraction(1),), 2, scale, 24) for scale in (least[0], 4 * least[0])] + [
        Game(((0,), (1,), (2,)), (Fraction(1),), 3, 2 * least[1], 8)
    ]


def _played_games(relaxation: Relaxation) -> list[Game]:
    two, three = (Fraction(max(4, relaxation.least_scale(K))) for K in (2, 3))
    return [Game(((0, 0), (0, 1), (1, 1)), SKEWED, 2, two, 3), Game(((0, 1), (1, 2), (2, 0)), SKEWED, 3, three, 3)]


def _stated(variant: Variant, game: Game) -> float:
    run = ExactRun(Player(variant, game.n_actions, game.scale), game)
    setting = game.n_actions, log(len(set(game.labelings)))
    horizons = range(1, game.horizon + 1)
    guarantees = [variant.relaxation.guarantee(float(game.scale), T, *setting) for T in horizons]
    slacks = [guarantee - float(run.rel(run.empty, T)) for guarantee, T in zip(guarantees, horizons, strict=True)]
    return min(slacks)


def _played(run: Run, game: Game) -> tuple[float, float]:
    """Return how far a first round's futures are from their law, and its q from the exact ones."""
    labelings = np.array(game.labelings)
    contexts = np.arange(float(labelings.shape[1]))[:, None]
    noise: Any = run.variant.relaxation
    learner = run.learner(
        open_oracle(registry.load("policies", "finite_class")(labelings, game.n_actions), contexts, kind="enumeration"),
        FinitePool(contexts, weights=[float(p) for p in game.law]),
        horizon=game.horizon,
        noise=noise,
        scale=float(game.scale),
        queries=run.queries,
        leftover=run.variant.leftover,
        estimator=run.variant.estimator,
    )
    exact = ExactRun(Player(run.variant, game.n_actions, game.scale), game)
    policies, rows = np.arange(labelings.shape[1]), exact.contexts
    seen: Counter[Hashable] = Counter()
    differences = []
    for draw in range(DRAWS):
        row = rows[draw % len(rows)]
        q = learner._act(row)  # noqa: SLF001 - one round again and again, with a fresh future
        totals = learner.totals()[policies, labelings].sum(axis=1)
        seen[tuple(totals.tolist())] += 1
        profile = tuple(totals[list(those)].min() if those else inf for those in game.playing[row])
        expected = exact.player.reply(tuple(v if v == inf else int(v) for v in profile)).q
        if run.queries == "argmin" and not learner.relaxation.even_ties:  # any minimiser's action will do
            followed = [
                np.array(mix(np.eye(len(q))[a], learner.scale)) for a in np.flatnonzero(profile == min(profile))
            ]
            differences.append(min((q - one for one in followed), key=lambda gap: float(np.abs(gap).max())))
        else:
            differences.append(q - np.array(expected, dtype=float))
    future, parts = exact.future(game.horizon - 1)
    law = {tuple(map(float, noise)): Fraction(weight, parts) for noise, weight in future.items()}
    gaps = np.array(differences)
    if run.queries == "argmin" and learner.relaxation.even_ties:  # one leader at a time, evenly
        mean, error = np.abs(gaps.mean(axis=0)), gaps.std(axis=0) / sqrt(DRAWS)
        return _errors(seen, law), float(np.where(mean > MOST_ERRORS * error + ROUNDING, mean, 0.0).max())
    return _errors(seen, law), float(np.abs(gaps).max())


def _errors(seen: Mapping[Hashable, int], law: Mapping[Any, Any]) -> float:
    """Return the largest difference of a frequency from its probability, in standard errors; rare outcomes are one."""
    n = sum(seen.values())
    if any(not law.get(outcome) for outcome in seen):
        return inf
    rare = {outcome for outcome, p in law.items() if p * n < FEWEST}
    pairs = [(seen.get(outcome, 0), float(p)) for outcome, p in law.items() if outcome not in rare]
    pairs.append((sum(seen.get(outcome, 0) for outcome in rare), float(sum(law[outcome] for outcome in rare))))
    errors = [abs(count - n * p) / max(1.0, sqrt(n * p * (1 - p))) for count, p in pairs]
    return max(errors)
