"""The pass: each file is added up by itself, here or by workers, and the sums of the files are put together.

Sums of floats depend on their order. So files are put together as a tree whose shape follows from their number alone,
and each file by itself is added up from its first row to its last: the sums are the same to the last bit whoever adds.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from milpcb.core.files import digest, sealed, write_file
from milpcb.data.tables import parquet_pieces
from milpcb.errors import InputError
from milpcb.estimators.row_counter import RowCounter
from milpcb.experiments.run.backends import Backend
from milpcb.logs.folder import KEPT, check_sums, read_sums
from milpcb.logs.one_pass.files import PIECE, LogFiles, Tick, placed
from milpcb.logs.read import cleaned
from milpcb.offline.hashing import uniforms
from milpcb.offline.sufficient_statistics import Statistics
from milpcb.plugins import registry
from milpcb.types import Bools, Floats, Ints

Parts = tuple[Statistics, Statistics | None]  # of the rows to learn from, and of those kept aside
Block = tuple[int, Parts]  # the sums of 2^level files


@dataclass(frozen=True)
class Counter:
    """Counts of a file.

    ``starts`` are the numbers in the log of the first rows of the files. ``aside`` is the share of rows that are kept
    aside, by their place in the log and the ``seed``. ``missing`` are the marks of a missing value.
    """

    rows: RowCounter
    starts: tuple[int, ...]
    aside: float
    seed: int
    missing: tuple[str, ...]

    def empty(self) -> Parts:
        """Return the sums over no rows."""
        return self.rows.layout.empty(), self.rows.layout.empty() if self.aside else None

    def of_file(self, file: tuple[int, Path]) -> Parts:
        """Return the sums over the rows of a file, which has a number; raises InputError with its name."""
        number, path = file
        (learnt, other), start = self.empty(), 0
        for whole in parquet_pieces(path, list(self.rows.names), PIECE):
            piece, _ = cleaned(whole, self.missing)
            with placed(path, start):
                codes, known = self.rows.read(piece, self.starts[number] + start)
            aside = self.is_aside(number, start + np.arange(len(piece)))
            for sums, rows in ((learnt, ~aside), (other, aside)):
                if sums is not None and rows.all():
                    self.rows.add(sums, codes, known)
                elif sums is not None:
                    self.rows.add(sums, np.ascontiguousarray(codes[:, rows]), known.part(rows))
            start += len(piece)
        return learnt, other

    def is_aside(self, file: int | Ints, rows: Ints) -> Bools:
        """Return which rows (n,) of a file are kept aside: by a hash of their place, not of what they hold."""
        if not self.aside:
            return np.zeros(len(rows), dtype=bool)
        place = np.uint64((self.seed % 2**16) << 48) | (np.asarray(file).astype(np.uint64) << np.uint64(32))
        return np.asarray(uniforms(place + rows.astype(np.uint64)) < self.aside)

    def sampled_aside(self, numbers: Ints) -> Bools:
        """Return which rows (n,) of the whole log are kept aside, by their numbers in it."""
        file = np.searchsorted(self.starts, numbers, side="right") - 1
        return self.is_aside(file, numbers - np.array(self.starts)[file])


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


class KeptSums:
    """The sums of the first files of a log, in a folder."""

    def __init__(self, folder: Path, counter: Counter, files: LogFiles) -> None:
        self._path, self._counter = folder / KEPT, counter
        self._of = digest(repr((files.stamps(), counter)).encode())

    def blocks(self) -> list[Block]:
        """Return what was counted of these very files in this very way; [] where nothing was."""
        kept = read_sums(self._path)
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
        check_sums(self._path)
        plain = [{"level": level, "parts": [_plain(sums) for sums in parts if sums]} for level, parts in blocks]
        write_file(self._path, sealed({"of": self._of, "blocks": plain}))

    def _parts(self, plain: list[str]) -> Parts:
        """Return sums; raises ValueError where they are not as many as there should be."""
        if len(plain) != 1 + bool(self._counter.aside):
            raise ValueError(len(plain))
        learnt, *aside = (self._statistics(text) for text in plain)
        return learnt, aside[0] if aside else None

    def _statistics(self, text: str) -> Statistics:
        found = self._counter.rows.layout.empty()
        arrays = (found.cells, found.outcomes, found.ends, found.barred)
        numbers = np.frombuffer(b64decode(text, validate=True), dtype="<f8").astype(float)
        pieces = np.split(numbers, np.cumsum([array.size for array in arrays])[:-1])
        for array, piece in zip(arrays, pieces, strict=True):
            array[...] = piece.reshape(array.shape)
        return found


def _plain(sums: Statistics) -> str:
    numbers: Floats = np.concatenate([sums.cells.ravel(), sums.outcomes.ravel(), sums.ends, sums.barred.ravel()])
    return b64encode(numbers.astype("<f8").tobytes()).decode()
