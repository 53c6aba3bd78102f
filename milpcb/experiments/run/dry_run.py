"""A dry run: which cells a config makes, which of them are finished, and about how long the others take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from milpcb.experiments.results.store import RunDirectory
from milpcb.experiments.run.backends import cores
from milpcb.experiments.run.progress import span
from milpcb.experiments.run.runner import backend_name
from milpcb.experiments.run.task import CellPlayer
from milpcb.experiments.study.cells import Cell, Study, build_study
from milpcb.experiments.study.sections import Config
from milpcb.experiments.study.worlds import open_world

MOST_LISTED = 40  # cells; more are counted by learner
ROUNDS, SECONDS = 300, 0.3  # of play to measure a pace by


def dry_run(config: Config, path: Path, backend: str | None = None) -> Iterator[Table | str]:
    """Yield what --dry-run prints, tables and lines: the config's cells, how many are finished, the time for the rest.

    Nothing is written, and no more than a few rounds of each kind of cell are played.
    """
    study, directory = build_study(config), RunDirectory(path)
    held = directory.held(study.cells)
    finished = held.finished
    yield from held.remarks
    yield _list(study, finished) if len(study.cells) <= MOST_LISTED else _counts(study, finished)
    yield from study.left_out
    missing = [cell for cell in study.cells if cell.key not in finished]
    name = backend_name(config, backend, len(missing))
    workers = 1 if name == "serial" else config.run.workers or cores()
    where = f" in {path}" if finished else ""
    yield f"{len(study.cells)} cells, of which {len(finished)} are finished{where}"
    if missing:
        yield f"beside them the best policy in hindsight, {len(study.comparators)} times, each a step of the run too"
        seconds = estimated_seconds(missing, workers)
        yield f"estimate: {span(seconds)} with backend {name}, {workers} worker{'s' if workers > 1 else ''}"


def estimated_seconds(cells: list[Cell], workers: int) -> float:
    """Return about how many seconds the cells take, by the first rounds of each kind; hindsight is not counted."""
    paces: dict[str, float] = {}
    needed = [cell.horizon / _pace(cell, paces) for cell in cells]
    return max(sum(needed) / workers, *needed)


def _pace(cell: Cell, known: dict[str, float]) -> float:
    kind = repr((cell.learner.label, cell.environment.label, cell.policies.label, cell.labels["oracle"]))
    if kind not in known:
        world = open_world(cell)
        known[kind] = _measure(CellPlayer(cell, world, lambda: np.zeros(len(world.stream.contexts), dtype=np.int64)))
    return known[kind]


def _measure(player: CellPlayer) -> float:
    """Play for a moment; return the rounds a second, without the slowest tenth: those that compile what they call."""
    seconds = [_timed_round(player)]
    while player.tally.round < min(player.cell.horizon, ROUNDS) and sum(seconds) - max(seconds) < SECONDS:
        seconds.append(_timed_round(player))
    quick = sorted(seconds)[: ceil(0.9 * len(seconds))]
    return len(quick) / sum(quick)


def _timed_round(player: CellPlayer) -> float:
    start = perf_counter()
    player.advance(1)
    return perf_counter() - start


def _list(study: Study, finished: set[str]) -> Table:
    table = Table("cell", "rounds", "", box=SIMPLE_HEAD)
    for cell in study.cells:
        table.add_row(cell.title, f"{cell.horizon:,}", "finished" if cell.key in finished else "")
    return table


def _counts(study: Study, finished: set[str]) -> Table:
    table = Table("learner", "cells", "finished", "rounds", box=SIMPLE_HEAD)
    cells, done, rounds = Counter[str](), Counter[str](), Counter[str]()
    for cell in study.cells:
        label = cell.learner.label
        cells[label] += 1
        done[label] += cell.key in finished
        rounds[label] += cell.horizon
    for label, count in cells.items():
        table.add_row(label, f"{count:,}", f"{done[label]:,}", f"{rounds[label]:,}")
    return table
