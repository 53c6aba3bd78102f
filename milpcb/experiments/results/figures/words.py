"""Captions of figures and reports: names and numbers as people write them, and fixed sentences on their meaning."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from milpcb.core.decimals import THIN, number, spaced
from milpcb.core.text import escaped, listed
from milpcb.experiments.results import CONFIDENT, RECOVERY, TURNS, asked_for, confident_meaning
from milpcb.experiments.results.curves import mean_interval
from milpcb.experiments.results.figures.results import MANY_SEEDS, Final, Results, void

FEW_PANELS = 4  # so many are named in a sentence
PAIRED = "(95\u202f% intervals of paired differences over the seeds)"

# The sentence that explains certificates, once a page.
CERTIFICATES = (
    "A certificate is a bound on regret that is computed from the observations of the run alone: "
    "the mean of the certificates bounds mean regret, and one run's regret may lie above its own certificate."
)

RECOVERED = (
    "Mean number of rounds, after a change of the best policies in turn, until regret to them grows at most a quarter "
    "as fast as that of random choice, between two checkpoints."
)


def legible(name: str, most: int = 60) -> str:
    """Return a name as it can be drawn: control characters escaped, the middle of a long one left out."""
    name = escaped(name)
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}\u2026{name[-half:]}"


def count(n: int, noun: str) -> str:
    """Return '1 seed' or '5 seeds'."""
    return f"{spaced(n)} {noun}{'' if n == 1 else 's'}"


def sentences(*parts: str) -> str:
    """Return the sentences that are not empty as one paragraph."""
    return " ".join(part for part in parts if part)


def verdict(results: Results) -> str:
    """Return a sentence on who has the lowest regret after the most rounds, for each of the first panels.

    Learners that know the costs beforehand, those that need not keep the side constraints, and those that are left out
    at the longest horizon are not compared.
    """
    out = {*results.comparators(), *results.unconstrained}
    every = [(panel.name, final) for panel in results.panels for final in panel.finals.values()]
    ends = [(name, final) for name, final in every if final.learner not in out] or every
    horizon = max(final.horizon for _, final in ends)
    panels: dict[str, list[Final]] = {}
    for name, final in sorted(ends, key=lambda end: end[1].regret):
        if final.horizon == horizon:
            panels.setdefault(name, []).append(final)
    found = [_lowest(name, finals) for name, finals in list(panels.items())[:FEW_PANELS]]
    paired = f" {PAIRED}" if any("significantly" in each for each in found) else ""
    more = f" {len(panels) - FEW_PANELS} more panels are in the table." if len(panels) > FEW_PANELS else ""
    lone = " One seed: no spread is known." if results.seeds < 2 else ""
    return f"After {spaced(horizon)} rounds {'; '.join(found)}{paired}.{more}{lone}"


def _lowest(panel: str, finals: Sequence[Final]) -> str:
    best, *others = finals
    where, name = f" in {legible(panel)}" if panel else "", legible(best.learner)
    if not others:
        return f"{name} has a regret of {number(best.regret)}{where}"
    near = [legible(other.learner) for other in others if best.seeds > 1 and not distinguished(best, other)]
    near = near if len(near) <= 3 else [*near[:2], f"{len(near) - 2} others"]
    doubt = f", not significantly lower than {listed(near)}" if near else ""
    return f"{name} has the lowest regret{where}, {number(best.regret)}{doubt}"


def distinguished(best: Final, other: Final) -> bool:
    """Return whether the 95 % interval of the paired difference over the seeds excludes 0; not so with one seed."""
    _, mine, theirs = np.intersect1d(best.columns["seed"], other.columns["seed"], return_indices=True)
    if len(mine) < 2:
        return False
    mean, half = mean_interval((other.columns["regret"][theirs] - best.columns["regret"][mine])[:, None])
    return bool(abs(mean[0]) > half[0])


def void_words(results: Results) -> str:
    """Return a sentence on the guarantees that are omitted, as they do not apply; "" where there are none."""
    rows = results.frame.filter(void(results.settings))
    if rows.is_empty():
        return ""
    learners, worlds = (rows[axis].unique(maintain_order=True).to_list() for axis in ("learner", "environment"))
    what = f"The guarantees of {listed(learners)} assume i.i.d. costs"
    return f"{what}; they do not apply in {listed(worlds)} and are omitted."


def glossary(results: Results) -> Iterator[tuple[str, str]]:
    """Yield terms and their meaning, in the order in which they are read."""
    finals = results.finals
    yield "regret", f"The cost of a learner minus that of {results.against}."
    _, turns = asked_for(finals.columns, TURNS)
    if turns:
        best = f"Against the best {turns} policies in turn in hindsight"
        yield f"regret to {turns} in turn", f"{best}, which change at the ends of 20 equal blocks."
        if RECOVERY in finals.columns:
            yield "rounds to recover", RECOVERED
    if results.seeds > 1:
        yield (
            "\u00b1",
            f"Half the 95{THIN}% interval of the mean over the seeds; of a certificate, two standard errors.",
        )
    yield "certificate", CERTIFICATES
    _, level = asked_for(finals.columns, CONFIDENT)
    if level:
        yield f"{level}{THIN}% certificate", confident_meaning(level)
    yield "guarantee", sentences("A bound on mean regret that was known before the start.", void_words(results))
    yield "own bound", "A bound on mean regret by the learner's own analysis of the run; a mean over the seeds."
    best = "The best cost is that of the best policy in hindsight."
    yield "mean cost", f"Per round: the error rate, where costs are 0 or 1. {best}"


def band(results: Results, *, of_longest: bool = True) -> str:
    """Return a sentence on lines and bands, and another where they are ``of_longest`` of several horizons."""
    several = of_longest and len(results.horizons) > 1
    longest = "Every learner is shown at its longest horizon." if several else ""
    if results.seeds == 1:
        return sentences("One seed.", longest)
    reach = (
        "reach from the least to the largest" if results.seeds < MANY_SEEDS else f"are 95{THIN}% intervals of the mean"
    )
    return sentences(f"Means over {results.seeds} seeds; bands and bars {reach}.", longest)


def constraint_words(settings: Mapping[str, Any]) -> str:
    """Return the side constraints of the study as the config has them; "" where there are none."""
    rules = []
    for table in settings.get("constraints", []):
        options = (f"{key} = {legible(str(value))}" for key, value in table.items() if key not in {"name", "label"})
        rules.append(f"{table.get('name')} ({', '.join(options)})")
    return listed(rules)
