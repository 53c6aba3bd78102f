"""Captions of figures and reports: names and numbers as people write them, and fixed sentences on their meaning."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from milpcb.constraints.by_names import called
from milpcb.core.decimals import THIN, number, spaced
from milpcb.core.text import escaped, listed
from milpcb.experiments.results import (
    RECOVERY,
    confident_in,
    confident_meaning,
    percent_of,
    turns_heading,
    turns_in,
    turns_meaning,
)
from milpcb.experiments.results.curves import mean_interval
from milpcb.experiments.results.figures.results import MANY_SEEDS, Final, Results, void

FEW_PANELS = 4  # so many are named in a sentence
FREE = "\u2020"  # marks learners that need not keep the side constraints
PAIRED = "(95\u202f% intervals of paired differences over the seeds)"

# The sentence that explains certificates, once a page.
CERTIFICATES = (
    "A certificate is a bound that a run computes about itself, from nothing but what its learner was shown: "
    "the mean of the certificates bounds mean regret, and one run's regret may lie above its own certificate."
)

RECOVERED = (
    "Mean number of rounds after a change of the best policies in turn until regret to them grows, from one checkpoint "
    "to another, at most at a quarter of the pace of random choice."
)


def legible(name: str, most: int = 60) -> str:
    """Return a name as it can be drawn: control characters escaped, the middle of a long one left out."""
    name = escaped(name)
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}\u2026{name[-half:]}"


def count(n: int, noun: str) -> str:
    """Return '1 seed' or '5 seeds'."""
    return f"{spaced(n)} {noun}{'' if n == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share as integer per cents, but never 0 of something."""
    return f"{100 * share:.0f}{THIN}%" if share >= 0.005 else f"less than 1{THIN}%"


def sentences(*parts: str) -> str:
    """Return the sentences that are not empty as one paragraph."""
    return " ".join(part for part in parts if part)


def verdict(results: Results) -> str:
    """Return a sentence on who has the lowest regret in each panel after the most rounds.

    Learners that know the costs beforehand, those that need not keep the side constraints, and those that are left out
    at the longest horizon are not compared.
    """
    ends = _compared(results)
    horizon = max(final.horizon for final in ends)
    panels: dict[str, list[Final]] = {}
    for final in sorted(ends, key=lambda final: final.regret):
        if final.horizon == horizon:
            panels.setdefault(final.panel, []).append(final)
    one, few, lone = len(panels) == 1, len(panels) <= FEW_PANELS, "One seed: no spread is known." * (results.seeds < 2)
    places: dict[tuple[str, str], list[str]] = {}
    for name, ranked in panels.items():
        rivals = _rivals(ranked) if few else "the next" * bool(_rivals(ranked))
        doubt = f", not significantly lower than {rivals}" if rivals and not lone else ""
        places.setdefault((f"{legible(ranked[0].learner)} {_lowest(ranked, one=one)}", doubt), []).append(legible(name))
    found = []
    for (lowest, doubt), names in sorted(places.items(), key=lambda place: place[0][1] != ""):
        where = listed(names) if few else f"{len(names)} of {len(panels)} panels"
        found.append(f"{lowest}{'' if one else f' in {where}'}{doubt}")
    paired = f" {PAIRED}" if any(doubt for _, doubt in places) else ""
    return sentences(f"After {spaced(horizon)} rounds {'; '.join(found)}{paired}.", lone)


def _lowest(ranked: Sequence[Final], *, one: bool) -> str:
    best = ranked[0]
    part = f", {percent(best.share)} of its guarantee {number(best.guarantee)}" if best.share > 0 and one else ""
    if len(ranked) == 1:
        return f"has a regret of {number(best.regret)}{part}"
    return f"has the lowest regret{f', {number(best.regret)}{part}' if one else ''}"


def _rivals(panel: Sequence[Final]) -> str:
    names = [legible(other.learner) for other in panel[1:] if not distinguished(panel[0], other)]
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} others"


def distinguished(best: Final, other: Final) -> bool:
    """Return whether the 95 % interval of the paired difference over the seeds excludes 0; not so with one seed."""
    _, mine, theirs = np.intersect1d(best.columns["seed"], other.columns["seed"], return_indices=True)
    if len(mine) < 2:
        return False
    mean, half = mean_interval((other.columns["regret"][theirs] - best.columns["regret"][mine])[:, None])
    return bool(abs(mean[0]) > half[0])


def against_guarantees(results: Results) -> str:
    """Return a sentence on how the mean regrets compare with the guarantees."""
    found = _compared(results)
    bounded = [final for final in found if np.isfinite(final.share)]
    if not bounded:
        return "No learner here has a guarantee."
    nearest = max(bounded, key=lambda final: final.share)
    where = f" in {legible(nearest.panel)}" if len({final.panel for final in found}) > 1 and nearest.panel else ""
    numbers = f"{legible(nearest.learner)}{where} with {number(nearest.regret)} of {number(nearest.guarantee)}"
    above = sum(final.regret > final.guarantee for final in bounded)
    if above:
        lie = "lies above its guarantee" if above == 1 else "lie above their guarantees"
        return f"{count(above, 'mean regret')} {lie}; the farthest is {numbers}."
    return f"Every mean regret is below its guarantee; the nearest to it is {numbers}."


def _compared(results: Results) -> list[Final]:
    out = {*results.comparators(), *results.unconstrained}
    found = [final for panel in results.final_panels for final in panel.finals.values()]
    return [final for final in found if final.learner not in out] or found


def void_words(results: Results) -> str:
    """Return a sentence on the guarantees that are omitted, as they do not apply; "" where there are none."""
    frame = results.frame
    rows = frame.filter(void(results.settings))
    if rows.is_empty():
        return ""
    learners = rows["learner"].unique(maintain_order=True).to_list()
    several = frame["environment"].n_unique() > 1
    where = f" in {listed(rows['environment'].unique(maintain_order=True).to_list())}" if several else " here"
    return f"The guarantees of {listed(learners)} assume i.i.d. costs; they do not apply{where} and are omitted."


def glossary(results: Results) -> Iterator[tuple[str, str]]:
    """Yield terms and their meaning, in the order in which they are read."""
    finals = results.finals
    yield "regret", f"What a learner paid more than {results.against}; below 0, it paid less."
    if turns := turns_in(finals.columns):
        yield turns_heading(turns), turns_meaning(turns)
        if RECOVERY in finals.columns:
            yield "rounds to recover", RECOVERED
    if results.seeds > 1:
        interval = f"Half the 95{THIN}% interval of the mean over the seeds"
        yield "\u00b1", f"{interval}; of a certificate, two standard errors."
    if np.isfinite(finals["certificate"].to_numpy()).any():
        yield "certificate", CERTIFICATES
    confident = confident_in(finals.columns)
    if confident is not None:
        yield f"{percent_of(confident)}{THIN}% certificate", confident_meaning(confident)
    omitted = void_words(results)
    if np.isfinite(finals["guarantee"].to_numpy()).any() or omitted:
        yield "guarantee", sentences("A bound on mean regret that was known before the start.", omitted)
    if np.isfinite(finals["bound"].to_numpy()).any():
        yield "own bound", "What the learner's own analysis proves of the run, from what it saw; a mean over the seeds."
    best = "The best cost is the best policy's in hindsight."
    yield "mean cost", f"Per round: the error rate, where costs are 0 or 1. {best}"
    if results.unconstrained:
        yield FREE, "Need not keep the side constraints, as it asks no oracle."


def band(results: Results) -> str:
    """Return a sentence on what lines and bands of the curves are."""
    if results.seeds == 1:
        return "One seed."
    reach = (
        "reach from the least to the largest" if results.seeds < MANY_SEEDS else f"are 95{THIN}% intervals of the mean"
    )
    return f"Means over {results.seeds} seeds; bands and bars {reach}."


def at_their_longest(results: Results) -> str:
    """Return a sentence on which horizons are shown; empty for a study of one horizon."""
    return "Every learner is shown at its longest horizon." if len(results.horizons) > 1 else ""


def constraint_words(settings: Mapping[str, Any]) -> str:
    """Return what the side constraints of the study ask of a policy, in words; "" where there are none."""
    return listed([_rule(table) for table in settings.get("constraints", [])])


def _rule(table: Mapping[str, Any]) -> str:
    options = {key: value for key, value in table.items() if key not in {"name", "label"}}
    name, action = str(table.get("name")), called(options.get("action"))
    if name == "share_at_most":
        return f"{action} on at most {100 * options['share']:g}{THIN}% of the contexts"
    if name == "mean_at_most":
        return f"a second cost of at most {options['bound']:g} on average"
    if name == "parity":
        group = options["group"]
        of = "" if isinstance(group, list) else f" of {group if isinstance(group, str) else f'column {group}'}"
        return f"rates of {action} that differ by at most {options['delta']:g} between the groups{of}"
    if name in {"never", "always"}:
        rows = options.get("rows", ())
        n = sum(rows) if rows and isinstance(rows[0], bool) else len(rows)
        where = f"on {n} of the contexts" if rows else f"where {options['where']}"
        return f"{name} {action} {where}"
    return f"{name} ({', '.join(f'{key} = {value}' for key, value in options.items())})"
