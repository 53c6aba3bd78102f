"""A progress line for long calls, on standard error; nothing for calls of less than two seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import Self

FIRST = 2.0  # seconds before anything is shown
EVERY = {True: 0.25, False: 10.0}  # seconds between two updates, on a terminal and elsewhere


class ProgressLine:
    """Shows one line at a time: on a terminal it is written over, elsewhere a new one comes now and then."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._due = monotonic() + FIRST
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away from a terminal."""
        if self._terminal and self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def ticker(self, what: str, horizon: int) -> Callable[[int], None]:
        """Return a function of how many of ``horizon`` rounds are done, which shows that when it is time."""

        def tick(done: int) -> None:
            if monotonic() >= self._due:
                self._show(f"milpcb: {what}: {done:,} of {horizon:,} rounds")

        return tick

    def _show(self, line: str) -> None:
        self._due = monotonic() + EVERY[self._terminal]
        sys.stderr.write(f"\r{line:<{self._width}}" if self._terminal else f"{line}\n")
        sys.stderr.flush()
        self._width = len(line)
