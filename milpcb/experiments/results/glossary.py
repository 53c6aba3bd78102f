"""What the words and numbers of a report mean, a line each, for those that the study has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from milpcb.core.decimals import THIN
from milpcb.experiments.results.confident import column_in, meaning, percent_of
from milpcb.experiments.results.figures.meaning import against_what, unconstrained, void_words
from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.figures.words import CERTIFICATES
from milpcb.experiments.results.report_table import FREE


def glossary(results: Results) -> list[tuple[str, str]]:
    """Return terms and what they mean, in the order in which they are read."""
    return list(_terms(results))


def _terms(results: Results) -> Iterator[tuple[str, str]]:
    finals, settings = results.finals, results.settings
    yield "regret", f"What a learner paid more than {against_what(settings)}; below 0, it paid less."
    if results.seeds > 1:
        yield (
            "\u00b1",
            f"Half the 95{THIN}% interval of the mean over the seeds; of a certificate, two standard errors.",
        )
    if np.isfinite(finals["certificate"].to_numpy()).any():
        yield "certificate", CERTIFICATES
    confident = column_in(finals.columns)
    if confident is not None:
        yield f"{percent_of(confident)}{THIN}% certificate", meaning(confident)
    if np.isfinite(finals["guarantee"].to_numpy()).any() or void_words(results.frame, settings):
        void = void_words(results.frame, settings)
        yield "guarantee", f"A bound on mean regret that was known before the start. {void}".rstrip()
    if np.isfinite(finals["bound"].to_numpy()).any():
        yield "own bound", "What the learner's own analysis proves of the run, from what it saw; a mean over the seeds."
    yield (
        "mean cost",
        "Per round: the error rate, where costs are 0 or 1. The best cost is the best policy's in hindsight.",
    )
    if unconstrained(results.frame, settings):
        yield FREE, "Need not keep the side constraints, as it asks no oracle."
