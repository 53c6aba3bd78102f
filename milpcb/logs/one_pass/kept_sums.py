"""What an interrupted pass leaves in its folder, so that the next one goes on after the last whole file.

The file is sealed, and it holds a digest of all that the sums depend on: the files with their sizes and times, cut
points and settings. Sums of anything else are never used.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from milpcb.core.files import contents, digest, remove, sealed, unsealed, write_file
from milpcb.errors import RunError
from milpcb.experiments.results.schemas import Counted, checked
from milpcb.logs.folder import KEPT
from milpcb.logs.one_pass.counting import Block, Counter, Parts
from milpcb.logs.one_pass.files import LogFiles
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
