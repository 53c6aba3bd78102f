"""From files to findings: a sample for cut points, the pass, the search, and what follows."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from milpcb.core.checks import real
from milpcb.core.files import contents, digest, remove, sealed, unsealed, write_file
from milpcb.errors import InputError, RunError
from milpcb.estimators.layout import Layout
from milpcb.estimators.row_counter import RowCounter
from milpcb.estimators.row_models import MODEL_ROWS
from milpcb.estimators.sample import Sample
from milpcb.experiments.results.schemas import Counted, checked
from milpcb.experiments.run.backends import Backend
from milpcb.logs.folder import KEPT, policy_files, write_files
from milpcb.logs.one_pass.counting import Block, Counter, Parts, count
from milpcb.logs.one_pass.files import LogFiles, Tick, named_columns, sampled
from milpcb.logs.one_pass.finding import OnePass, aside_of, claims_of, parts_of
from milpcb.logs.one_pass.page import page, rule_pictures
from milpcb.logs.origin import Origin, as_logged
from milpcb.logs.source import Columns, Source, make_source
from milpcb.offline.moments import Moments
from milpcb.types import Floats


class KeptSums:
    """The sums of the first files of a log, in a folder."""

    def __init__(self, folder: Path, counter: Counter, files: LogFiles) -> None:
        self._path, self._counter = folder / KEPT, counter
        self._of = digest(repr((files.stamps(), counter)).encode())

    def blocks(self) -> list[Block]:
        """Return what was counted of these very files in this very way; [] where nothing was."""
        kept = _read(self._path)
        if kept is None or kept["of"] != self._of:
            return []
        with suppress(ValueError):
            blocks = [(block["level"], self._parts(block["parts"])) for block in kept["blocks"]]
            levels = [level for level, _ in blocks]
            if levels == sorted(set(levels), reverse=True):
                return blocks
        return []

    def keep(self, blocks: list[Block]) -> None:
        """Write what is counted so far; raises RunError where a file of that name is not such a file."""
        check_own(self._path)
        plain = [{"level": level, "parts": [_plain(sums) for sums in parts if sums]} for level, parts in blocks]
        write_file(self._path, sealed({"of": self._of, "blocks": plain}))

    def _parts(self, plain: list[str]) -> Parts:
        """Return sums; raises ValueError where they are not as many as there should be."""
        if len(plain) != 1 + bool(self._counter.aside):
            raise ValueError(len(plain))
        learnt, *aside = (self._moments(text) for text in plain)
        return learnt, aside[0] if aside else None

    def _moments(self, text: str) -> Moments:
        found = self._counter.rows.layout.empty()
        arrays = (found.cells, found.outcomes, found.ends, found.barred)
        numbers = np.frombuffer(b64decode(text, validate=True), dtype="<f8").astype(float)
        pieces = np.split(numbers, np.cumsum([array.size for array in arrays])[:-1])
        for array, piece in zip(arrays, pieces, strict=True):
            array[...] = piece.reshape(array.shape)
        return found


def check_own(path: Path) -> None:
    """Raise RunError where there is a file, or a link, that no pass wrote."""
    if (path.is_symlink() or path.exists()) and _read(path) is None:
        raise RunError(f"{path} is not as milpcb learn wrote it; move it away, or choose another folder with --out")


def forget(folder: Path) -> None:
    """Remove what a pass left, once it is over."""
    check_own(folder / KEPT)
    remove(folder / KEPT)


def _read(path: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError):
        return dict(checked(Counted, unsealed(contents(path))))
    return None


def _plain(sums: Moments) -> str:
    numbers: Floats = np.concatenate([sums.cells.ravel(), sums.outcomes.ravel(), sums.ends, sums.barred.ravel()])
    return b64encode(numbers.astype("<f8").tobytes()).decode()


Step = Callable[[str], AbstractContextManager[Tick]]


@dataclass(frozen=True)
class PassQuestions:
    """How one pass is asked.

    level : how often intervals hold
    holdout : share (0..1) of the rows that are kept aside
    seed : of which these are
    model_rows : to how many rows of the sample the models of the method "dr" are fitted
    unit : what outcomes are in, such as "$"; "" for no word
    """

    level: float = 0.95
    holdout: float = 0.0
    seed: int = 0
    model_rows: int = MODEL_ROWS
    unit: str = ""


@dataclass(frozen=True, eq=False)
class SampledLog:
    """A sample of the rows of a log, and the same as a log that was checked."""

    sample: Sample
    source: Source


def sample_of(files: LogFiles, columns: Columns, tick: Tick) -> SampledLog:
    """Return a sample of the rows of a log, checked; raises InputError, UnknownNameError."""
    if columns.group:
        raise InputError("--group needs the rows of a group together, which one pass does not have; leave it out")
    sample, missing = sampled(files, columns, tick)
    source = make_source(files.name, sample.table, replace(columns, leave_out=()), missing)  # these were not read
    return SampledLog(sample, replace(source, columns=columns))


def learn_in_one_pass(
    files: LogFiles,
    found: SampledLog,
    estimator: Any,
    questions: PassQuestions,
    backend: Backend,
    folder: Path,
    step: Step,
) -> OnePass:
    """Add up the files, and learn from the sums.

    An interrupted pass leaves a file in ``folder``, by which the next goes on after the last whole file of the log.
    Raises InputError with the name of a damaged file.
    """
    if questions.holdout:
        real("holdout", questions.holdout, "between 0 and 1 (0.3 is usual)", lambda value: 0 < value < 1)
    source = found.source
    layout: Layout = estimator.layout(source.frame, source.log.actions)
    with step("models of the outcome, by the sample") if layout.scored else nullcontext():
        counter = counter_of(files, found, layout, estimator, questions)
        layout = counter.rows.layout
    kept = KeptSums(folder, counter, files)

    def keep(number: int, blocks: list[Block]) -> None:
        if number < len(files.paths):
            kept.keep(blocks)

    with step(f"adding up {sum(files.rows):,} rows of {len(files.paths):,} files") as tick:
        parts = count(counter, files, backend, kept.blocks(), keep, tick)
    with step("the best rule"):
        return _found(files, source, estimator, questions, layout, parts)


def counter_of(files: LogFiles, found: SampledLog, layout: Layout, estimator: Any, questions: PassQuestions) -> Counter:
    """Return what is counted of each file; models of outcomes are fitted to rows that are not kept aside."""
    starts = (0, *accumulate(files.rows[:-1]))
    asked = found.source.columns
    columns = named_columns(asked).by(layout.actions, listed=bool(asked.actions))
    rows = RowCounter(layout, columns, estimator.min_propensity)
    place = Counter(rows, starts, questions.holdout, questions.seed, asked.missing)
    aside = place.sampled_aside(found.sample.numbers)
    return replace(place, rows=estimator.row_counter(layout, found.sample, columns, questions.model_rows, aside))


def _found(
    files: LogFiles, source: Source, estimator: Any, questions: PassQuestions, layout: Layout, parts: Parts
) -> OnePass:
    columns, (learnt, other) = source.columns, parts
    how = {"maximise": columns.maximise, "randomised": columns.randomised}
    estimator.fit_moments(layout, learnt, **how)
    as_logged(estimator, source)
    contexts = layout.contexts(estimator.stand_in_.codes)
    aside = None if other is None else estimator.stand_in(layout, other, **how)
    value, gain = (None, None) if aside is None else aside_of(estimator, layout, aside, questions.level)
    (y, yy), (least, most) = learnt.outcomes.sum(axis=0)[:2], learnt.outcome_range
    zero_one = least >= 0 and most <= 1 and y == yy  # y^2 is at most y, and y only at 0 and 1
    return OnePass(
        files.name,
        columns,
        estimator,
        questions.level,
        bool(zero_one and not any((estimator.treatment_cost or {}).values())),
        source.notes,
        source.warnings,
        len(files.paths),
        len(source.log),
        questions.model_rows,
        estimator.stand_in_,
        aside,
        value,
        gain,
        claims_of(estimator, contexts, questions.level),
        parts_of(estimator, contexts),
        questions.unit,
    )


def write_pass(found: OnePass, source: Source, folder: Path, command: str) -> Path:
    """Write policy and page into the folder, and remove what the pass left there; return the page.

    ``source`` is the sample of the log.
    """
    n = found.learnt.n + (0 if found.aside is None else found.aside.n)
    kept = replace(Origin.of(source, found.unit, whole=False), rows=n)
    path = write_files(policy_files(found.estimator, kept, page(found, command), rule_pictures(found)), folder)
    forget(folder)
    return path
