"""The words of captions: names and numbers as people write them, and sentences on what the numbers mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from milpcb.experiments.results.figures.results import Panel, Results, guarantee, longest, regrets
from milpcb.text import escaped

THIN = "\u202f"  # a narrow space that no line is broken at
YARDSTICKS = ("best_in_hindsight",)  # learners that know the costs beforehand are no winners
MANY_SEEDS = 5  # from so many on, an interval of the mean is more informative than the range


# The sentence that stands wherever certificates are shown.
CERTIFICATES = (
    "A certificate is a bound that a run computes about itself, from nothing but what its learner was shown: "
    "the mean of the certificates bounds mean regret, and one run's regret may lie above its own certificate."
)


@dataclass(frozen=True)
class Final:
    """The mean final regret of a learner in a panel, and its guarantee (inf without one)."""

    learner: str
    panel: str
    regret: float
    guarantee: float

    @property
    def share(self) -> float:
        """The regret as a share of the guarantee; NaN without a guarantee, or where the guarantee is 0."""
        return self.regret / self.guarantee if 0 < self.guarantee < np.inf else np.nan


def legible(name: str, most: int = 60) -> str:
    """Return a name as it can be drawn: control characters escaped, the middle of a long one left out."""
    name = escaped(name)
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}\u2026{name[-half:]}"


def number(value: float) -> str:
    """Return a number with narrow spaces between thousands: whole from 100 on, one decimal from 1 on, else 3 digits."""
    if not np.isfinite(value):
        return "none"
    size = abs(value)
    digits = "0" if value == 0 else f"{value:,.0f}" if size >= 100 else f"{value:,.1f}" if size >= 1 else f"{value:.3g}"
    return digits.replace(",", THIN).replace("-", "\u2212")


def with_separators(n: int) -> str:
    """Return a whole number as text, with narrow spaces between thousands."""
    return f"{n:,}".replace(",", THIN)


def count(n: int, noun: str) -> str:
    """Return '1 seed' or '5 seeds'."""
    return f"{with_separators(n)} {noun}{'' if n == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share as whole per cents, but never 0 of something."""
    return f"{100 * share:.0f}{THIN}%" if share >= 0.005 else f"less than 1{THIN}%"


def final_means(results: Results) -> list[Final]:
    """Return the mean final regret and the guarantee of every learner at its longest horizon, in every panel."""
    return list(_finals(results.panels(longest(results.finals))))


def verdict(results: Results) -> str:
    """Return sentences on who has the least regret, and on how the regrets compare with the guarantees."""
    found = final_means(results)
    found = [final for final in found if final.learner not in YARDSTICKS] or found
    panels = list(dict.fromkeys(result.panel for result in found))
    least = [min((r for r in found if r.panel == panel), key=lambda r: r.regret) for panel in panels]
    return f"{_winner(results, found, least)} {_against_guarantees(found, len(panels))}".strip()


def band(results: Results) -> str:
    """Return a sentence on what lines and bands of the curves are."""
    if results.seeds == 1:
        return "One seed."
    if results.seeds < MANY_SEEDS:
        return f"Lines are means over {results.seeds} seeds, bands reach from the least to the largest."
    return f"Lines are means over {results.seeds} seeds, bands are 95{THIN}% intervals of the mean."


def at_their_longest(results: Results) -> str:
    """Return a sentence on which horizons are shown; empty for a study of one horizon."""
    return "Every learner is shown at its longest horizon." if len(results.horizons) > 1 else ""


def sentences(*parts: str) -> str:
    """Return the sentences that are not empty as one paragraph."""
    return " ".join(part for part in parts if part)


def _finals(panels: Sequence[Panel]) -> Iterator[Final]:
    for panel in panels:
        for learner in panel.learners:
            mean = float(regrets(panel.frame, learner).mean())
            yield Final(legible(learner), legible(panel.name), mean, guarantee(panel.frame, learner))


def _winner(results: Results, found: Sequence[Final], least: Sequence[Final]) -> str:
    rounds = f"After {with_separators(results.horizons[-1])} rounds"
    if len(least) == 1:
        best, most = least[0], max(found, key=lambda r: r.regret)
        part = f", {percent(best.share)} of its guarantee {number(best.guarantee)}" if best.share > 0 else ""
        rest = f"; {most.learner} has the most, {number(most.regret)}" if len(found) > 1 else ""
        who = f"{best.learner} has the least regret" if len(found) > 1 else f"{best.learner} has a regret of"
        return f"{rounds} {who}{', ' if len(found) > 1 else ' '}{number(best.regret)}{part}{rest}."
    wins = Counter(final.learner for final in least)
    shares = ", ".join(f"of {learner} in {n}" for learner, n in wins.most_common())
    if len(wins) == 1:
        return f"{rounds} the least regret is that of {least[0].learner} in all {len(least)} panels."
    return f"{rounds} the least regret of {len(least)} panels is that {shares}."


def _against_guarantees(found: Sequence[Final], n_panels: int) -> str:
    bounded = [result for result in found if np.isfinite(result.share)]
    if not bounded:
        return "No learner here has a guarantee."
    nearest = max(bounded, key=lambda r: r.share)
    where = f" in {nearest.panel}" if n_panels > 1 and nearest.panel else ""
    numbers = f"{nearest.learner}{where} with {number(nearest.regret)} of {number(nearest.guarantee)}"
    above = sum(result.regret > result.guarantee for result in bounded)
    if above:
        lie = "lies above its guarantee" if above == 1 else "lie above their guarantees"
        return f"{count(above, 'mean regret')} {lie} (dotted); the farthest is {numbers}."
    return f"Every mean regret is below its guarantee (dotted); the nearest to it is {numbers}."
