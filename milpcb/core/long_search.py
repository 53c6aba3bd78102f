"""A search that takes long: a line with its bounds now and then, and a time limit for the best policy so far."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Self

FIRST = 2.0  # seconds before the first line
EVERY = 10.0  # seconds between two lines; of a body that does not look up, to the second, then twice as long each time


class LongSearch:
    """Entered around a search that calls ``look`` with its bounds as often as it likes.

    Once ``time_limit`` seconds have passed ``look`` ends the body without an exception, and ``timed_out`` is true.
    """

    def __init__(self, what: str, *, time_limit: float | None = None) -> None:
        self.timed_out = False
        self._what, self._began = what, monotonic()
        self._end = self._began + (inf if time_limit is None else time_limit)
        self._next = self._began + FIRST

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        self.timed_out = isinstance(error, _TimeLimitError)
        pressed = error
        while isinstance(pressed, SystemError):  # from a call of compiled code Ctrl-C comes out in these
            pressed = pressed.__cause__
        if isinstance(pressed, KeyboardInterrupt) and pressed is not error:
            raise pressed
        return self.timed_out

    def look(self, lower: float = -inf, upper: float = inf) -> None:
        """Take the bounds so far on the least total cost; write a line, or end, if it is time."""
        now = monotonic()
        if now >= self._end:
            raise _TimeLimitError
        if now < self._next:
            return
        self._next = now + EVERY
        known = (
            f": least total cost between {lower:.6g} and {upper:.6g}, gap {upper - lower:.3g}" if upper < inf else ""
        )
        write(f"milpcb: {self._what}, {now - self._began:.0f} s{known}")


@contextmanager
def waiting(what: str | Callable[[], str]) -> Iterator[None]:
    """Write a line on ``what`` now and then while the body goes on, for a search that reports no bounds."""
    began = monotonic()
    with repeated(lambda: write(f"milpcb: {what() if callable(what) else what}, {monotonic() - began:.0f} s")):
        yield


@contextmanager
def repeated(write: Callable[[], object]) -> Iterator[None]:
    """Call a function after some seconds, and then ever less often, from a thread, until the body is over."""
    over = Event()

    def work() -> None:
        pause, later = FIRST, EVERY
        while not over.wait(pause):
            write()
            pause, later = later, 2 * later

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class _TimeLimitError(Exception):
    pass


def write(line: str) -> None:
    """Write a line to standard error; where there is none, or it is closed, the work goes on."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return
