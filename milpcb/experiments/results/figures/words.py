"""Captions of figures: names and numbers as people write them, and sentences on what the numbers mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from milpcb.core.decimals import THIN, number
from milpcb.core.text import escaped, listed
from milpcb.experiments.results.columns import (
    confident_in,
    confident_meaning,
    percent_of,
    turns_heading,
    turns_in,
    turns_meaning,
)
from milpcb.experiments.results.figures.meaning import against_what, comparators, unconstrained, void_words
from milpcb.experiments.results.figures.results import (
    MANY_SEEDS,
    Panel,
    Results,
    guarantee,
    longest,
    most_rounds,
    regrets,
    spread,
)
from milpcb.experiments.results.slopes import mean_interval

FEW_PANELS = 4  # so many are named in a sentence
FREE = "\u2020"  # marks learners that need not keep the side constraints
PAIRED = "(95\u202f% intervals of paired differences over the seeds)"

# The sentence that explains certificates, once a page.
CERTIFICATES = (
    "A certificate is a bound that a run computes about itself, from nothing but what its learner was shown: "
    "the mean of the certificates bounds mean regret, and one run's regret may lie above its own certificate."
)


@dataclass(frozen=True)
class Final:
    """The mean final regret of a learner in a panel after ``horizon`` rounds, and the regret of each seed.

    ``low`` and ``high`` are the ends of its spread; ``certificate`` is the mean of its certificates, ``sure`` that of
    those with confidence (NaN where there are none), and ``guarantee`` its guarantee, inf without one.
    """

    learner: str
    panel: str
    horizon: int
    regret: float
    low: float
    high: float
    certificate: float
    sure: float
    guarantee: float
    by_seed: Mapping[int, float]

    @property
    def share(self) -> float:
        """The regret as a share of the guarantee; NaN without a guarantee, or where the guarantee is 0."""
        return self.regret / self.guarantee if 0 < self.guarantee < np.inf else np.nan


def legible(name: str, most: int = 60) -> str:
    """Return a name as it can be drawn: control characters escaped, the middle of a long one left out."""
    name = escaped(name)
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}\u2026{name[-half:]}"


def with_separators(n: int) -> str:
    """Return an integer as text, with narrow spaces between thousands."""
    return f"{n:,}".replace(",", THIN)


def count(n: int, noun: str) -> str:
    """Return '1 seed' or '5 seeds'."""
    return f"{with_separators(n)} {noun}{'' if n == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share as whole per cents, but never 0 of something."""
    return f"{100 * share:.0f}{THIN}%" if share >= 0.005 else f"less than 1{THIN}%"


def verdict(results: Results) -> str:
    """Return a sentence on who has the least regret after the most rounds.

    Learners that know the costs beforehand, those that need not keep the side constraints, and those that are left out
    at the longest horizon are not compared.
    """
    ends = _compared(results)
    horizon = max(final.horizon for final in ends)
    found = [final for final in ends if final.horizon == horizon]
    panels = list(dict.fromkeys(result.panel for result in found))
    by_panel = [sorted((r for r in found if r.panel == panel), key=lambda r: r.regret) for panel in panels]
    return _winner(results, horizon, by_panel)


def against_guarantees(results: Results) -> str:
    """Return a sentence on how the mean regrets compare with the guarantees."""
    found = _compared(results)
    bounded = [result for result in found if np.isfinite(result.share)]
    if not bounded:
        return "No learner here has a guarantee."
    nearest = max(bounded, key=lambda r: r.share)
    where = f" in {nearest.panel}" if len({result.panel for result in found}) > 1 and nearest.panel else ""
    numbers = f"{nearest.learner}{where} with {number(nearest.regret)} of {number(nearest.guarantee)}"
    above = sum(result.regret > result.guarantee for result in bounded)
    if above:
        lie = "lies above its guarantee" if above == 1 else "lie above their guarantees"
        return f"{count(above, 'mean regret')} {lie}; the farthest is {numbers}."
    return f"Every mean regret is below its guarantee; the nearest to it is {numbers}."


def glossary(results: Results) -> Iterator[tuple[str, str]]:
    """Yield terms and what they mean, in the order in which they are read."""
    finals, settings = results.finals, results.settings
    yield "regret", f"What a learner paid more than {against_what(settings)}; below 0, it paid less."
    if turns := turns_in(finals.columns):
        yield turns_heading(turns), turns_meaning(turns)
    if results.seeds > 1:
        yield (
            "\u00b1",
            f"Half the 95{THIN}% interval of the mean over the seeds; of a certificate, two standard errors.",
        )
    if np.isfinite(finals["certificate"].to_numpy()).any():
        yield "certificate", CERTIFICATES
    confident = confident_in(finals.columns)
    if confident is not None:
        yield f"{percent_of(confident)}{THIN}% certificate", confident_meaning(confident)
    void = void_words(results.frame, settings)
    if np.isfinite(finals["guarantee"].to_numpy()).any() or void:
        yield "guarantee", f"A bound on mean regret that was known before the start. {void}".rstrip()
    if np.isfinite(finals["bound"].to_numpy()).any():
        yield "own bound", "What the learner's own analysis proves of the run, from what it saw; a mean over the seeds."
    yield (
        "mean cost",
        "Per round: the error rate, where costs are 0 or 1. The best cost is the best policy's in hindsight.",
    )
    if unconstrained(results.frame, settings):
        yield FREE, "Need not keep the side constraints, as it asks no oracle."


def _compared(results: Results) -> list[Final]:
    """Return the means of the learners that may be compared; of all where there are no others."""
    out = {legible(name) for name in (*comparators(results.settings), *unconstrained(results.frame, results.settings))}
    panels = results.panels(longest(results.finals))
    found = [final for panel in panels for final in finals_of(panel).values()]
    return [final for final in found if final.learner not in out] or found


def distinguished(best: Final, other: Final) -> bool:
    """Return whether the 95 % interval of the paired difference over the seeds excludes 0; not so with one seed."""
    seeds = best.by_seed.keys() & other.by_seed.keys()
    differences = np.array([[other.by_seed[seed] - best.by_seed[seed]] for seed in sorted(seeds)])
    if len(differences) < 2:
        return False
    mean, half = mean_interval(differences)
    return bool(abs(mean[0]) > half[0])


def band(results: Results) -> str:
    """Return a sentence on what lines and bands of the curves are."""
    if results.seeds == 1:
        return "One seed."
    if results.seeds < MANY_SEEDS:
        return f"Means over {results.seeds} seeds; bands and bars reach from the least to the largest."
    return f"Means over {results.seeds} seeds; bands and bars are 95{THIN}% intervals of the mean."


def at_their_longest(results: Results) -> str:
    """Return a sentence on which horizons are shown; empty for a study of one horizon."""
    return "Every learner is shown at its longest horizon." if len(results.horizons) > 1 else ""


def sentences(*parts: str) -> str:
    """Return the sentences that are not empty as one paragraph."""
    return " ".join(part for part in parts if part)


def finals_of(panel: Panel) -> dict[str, Final]:
    """Return the mean final regret and more of every learner of a panel of final rows, by label."""
    found = {}
    for learner in panel.learners:
        own = panel.frame.filter(pl.col("learner") == learner)
        values = regrets(own, learner)
        low, high = (float(end[0]) for end in spread(values[:, None]))
        certificate, sure = (
            float(own[column].cast(pl.Float64).to_numpy().mean()) if column else np.nan
            for column in ("certificate", confident_in(own.columns))
        )
        by_seed = dict(zip(own["seed"].to_list(), own["regret"].to_list(), strict=True))
        where, rounds, promised = legible(panel.name), int(most_rounds(own)), guarantee(own, learner)
        shown = (float(values.mean()), low, high, certificate, sure, promised)
        found[learner] = Final(legible(learner), where, rounds, *shown, by_seed)
    return found


def _winner(results: Results, horizon: int, by_panel: Sequence[Sequence[Final]]) -> str:
    """Return who has the least regret of each panel, sorted by regret, where it is significant over the seeds."""
    rounds = f"After {with_separators(horizon)} rounds"
    if len(by_panel) == 1:
        return _only_winner(rounds, by_panel[0])
    if results.seeds < 2:
        return f"{rounds}: one seed, so no spread is known, and who has the least regret may be chance."
    if max(map(len, by_panel)) == 1:
        return f"{rounds} {listed([f'{of.learner} has {number(of.regret)} in {of.panel}' for (of,) in by_panel])}."
    if len(by_panel) <= FEW_PANELS:
        return f"{rounds} {'; '.join(_by_winner(by_panel))} {PAIRED}."
    clear = [panel[0].learner for panel in by_panel if len(panel) > 1 and not _rivals(panel)]
    if not clear:
        return (
            f"{rounds} the least regret is not significantly lower than the next in any of {len(by_panel)} panels "
            f"{PAIRED}."
        )
    wins = Counter(clear)
    (first, most), *others = wins.most_common()
    shares = ", ".join([f"{first} has the least regret in {most}", *(f"{learner} in {n}" for learner, n in others)])
    rest = len(by_panel) - len(clear)
    unclear = f"; in {rest} the least is not significantly lower than the next" if rest else ""
    return f"{rounds}, of {len(by_panel)} panels, {shares}{unclear} {PAIRED}."


def _by_winner(by_panel: Sequence[Sequence[Final]]) -> Iterator[str]:
    """Yield for each learner where it has the least regret, then where that is not significant, and against whom."""
    places: dict[tuple[str, str], list[str]] = {}
    for panel in by_panel:
        places.setdefault((panel[0].learner, _few(_rivals(panel))), []).append(panel[0].panel)
    for (learner, rivals), panels in sorted(places.items(), key=lambda place: place[0][1] != ""):
        doubt = f", not significantly less than {rivals}" if rivals else ""
        yield f"{learner} has the least regret in {listed(panels)}{doubt}"


def _only_winner(rounds: str, panel: Sequence[Final]) -> str:
    best, most = panel[0], panel[-1]
    part = f", {percent(best.share)} of its guarantee {number(best.guarantee)}" if best.share > 0 else ""
    if len(panel) == 1:
        return f"{rounds} {best.learner} has a regret of {number(best.regret)}{part}."
    rivals = _rivals(panel)
    if len(best.by_seed) < 2:
        doubt = " One seed: no spread is known."
    else:
        doubt = f" {best.learner} is not significantly below {_few(rivals)} {PAIRED}." if rivals else ""
    least = f"{rounds} {best.learner} has the least regret, {number(best.regret)}{part}"
    return f"{least}; {most.learner} has the most, {number(most.regret)}.{doubt}"


def _rivals(panel: Sequence[Final]) -> list[str]:
    """Return the learners whose mean is not significantly above that of the first, the least."""
    return [other.learner for other in panel[1:] if not distinguished(panel[0], other)]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} others"
