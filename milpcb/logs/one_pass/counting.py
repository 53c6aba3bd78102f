"""The pass: each file is added up by itself, here or by workers, and the sums of the files are put together.

Sums of floats depend on their order. So files are put together as a tree whose shape follows from their number alone,
and each file by itself is added up from its first row to its last: the sums are the same to the last bit whoever adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from milpcb.data.tables import parquet_pieces
from milpcb.errors import InputError
from milpcb.estimators.layout import Layout
from milpcb.estimators.sample import LoggedBatch, LoggedColumns
from milpcb.experiments.run.backends import Backend
from milpcb.logs.digest import mixed
from milpcb.logs.one_pass.files import PIECE, LogFiles, Tick, placed
from milpcb.offline.moments import Moments
from milpcb.plugins import registry
from milpcb.types import Bools

Parts = tuple[Moments, Moments | None]  # of the rows to learn from, and of those kept aside
Block = tuple[int, Parts]  # the sums of 2^level files


@dataclass(frozen=True)
class Counter:
    """What is counted of a file.

    ``aside`` is the share of rows that are kept aside, by their place in the log and the ``seed``.
    """

    layout: Layout
    columns: LoggedColumns
    min_propensity: float
    aside: float
    seed: int

    def of_file(self, file: tuple[int, Path]) -> Parts:
        """Return the sums over the rows of a file, which has a number; raises InputError with its name."""
        number, path = file
        learnt, other, start = self.layout.empty(), self.layout.empty() if self.aside else None, 0
        names = dict.fromkeys([*self.columns.names, *(column.name for column in self.layout.columns)])
        for piece in parquet_pieces(path, list(names), PIECE):
            with placed(path, start):
                batch = LoggedBatch.of(piece, self.columns, self.layout)
                codes = self.layout.codes(batch.values)
            aside = self._aside(number, start, len(piece))
            for sums, rows in ((learnt, ~aside), (other, aside)):
                if sums is not None:
                    here = codes if rows.all() else np.ascontiguousarray(codes[:, rows])
                    known = (batch.action[rows], batch.outcome[rows], batch.propensity[rows])
                    sums.add_rows(here, *known, self.min_propensity)
            start += len(piece)
        return learnt, other

    def _aside(self, number: int, start: int, n: int) -> Bools:
        """Return which rows (n,) are kept aside: by a hash of their place, not of what they hold."""
        if not self.aside:
            return np.zeros(n, dtype=bool)
        place = np.uint64((self.seed % 2**16) << 48 | number << 32) + np.arange(start, start + n, dtype=np.uint64)
        with np.errstate(over="ignore"):
            bits = mixed(mixed(place + np.uint64(0x9E3779B97F4A7C15)))
        return np.asarray((bits >> np.uint64(11)) * 2.0**-53 < self.aside)


def count(
    counter: Counter,
    files: LogFiles,
    backend: Backend,
    done: list[Block],
    keep: Callable[[int, list[Block]], None],
    tick: Tick,
) -> Parts:
    """Return the sums over all files.

    ``done`` are blocks of the first files that an earlier pass counted; ``keep`` is called after each further file, in
    their order, with the number of files counted and the blocks. Raises InputError with the name of a damaged file.
    """
    blocks, total = list(done), sum(files.rows)
    counted = sum(2**level for level, _ in blocks)
    tick(sum(files.rows[:counted]), total)
    for number, parts in _in_order(counter, files, backend, counted):
        _push(blocks, (0, parts))
        keep(number + 1, blocks)
        tick(sum(files.rows[: number + 1]), total)
    while len(blocks) > 1:
        last = blocks.pop()
        blocks[-1] = (blocks[-1][0], _added(blocks[-1][1], last[1]))
    return blocks[0][1]


def open_backend(name: str, workers: int | None, scheduler: str | None) -> Backend:
    """Return the backend that adds up the files: "serial", "processes" or "dask"."""
    return cast("Backend", registry.load("backend", name)(workers=workers, scheduler=scheduler))


def _in_order(counter: Counter, files: LogFiles, backend: Backend, first: int) -> Iterator[tuple[int, Parts]]:
    """Yield the sums of the files from ``first`` on in their order, however they finish; raises what a file raised."""
    tasks = list(enumerate(files.paths))[first:]
    waiting: dict[int, Parts] = {}
    played: Any = backend.map(partial(Counter.of_file, counter), tasks)
    with closing(played) as results:
        for (number, path), result in results:
            if isinstance(result, InputError):
                raise result
            if isinstance(result, Exception):
                raise InputError(f"{path} could not be added up: {result}") from result
            waiting[number] = result
            while first in waiting:
                yield first, waiting.pop(first)
                first += 1


def _push(blocks: list[Block], block: Block) -> None:
    """Put a block behind the others, and put together those of the same size, as a binary counter carries."""
    while blocks and blocks[-1][0] == block[0]:
        level, before = blocks.pop()
        block = (level + 1, _added(before, block[1]))
    blocks.append(block)


def _added(one: Parts, other: Parts) -> Parts:
    aside = None if one[1] is None or other[1] is None else one[1] + other[1]
    return one[0] + other[0], aside
