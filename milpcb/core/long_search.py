"""A search that takes long: a line with its bounds now and then; Ctrl-C or a time limit for the best policy so far."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Self

FIRST = 2.0  # seconds before the first line
EVERY = 10.0  # seconds between two lines; of one that does not look up, to the second, and then twice as long each time

_best_so_far: ContextVar[bool] = ContextVar("best_so_far", default=True)


@contextmanager
def interrupts_end_everything() -> Iterator[None]:
    """Let Ctrl-C within the body end the body, not a single search of it: for plays of thousands of searches."""
    token = _best_so_far.set(False)
    try:
        yield
    finally:
        _best_so_far.reset(token)


class LongSearch:
    """Entered around a search that calls ``look`` with its bounds as often as it likes.

    ``look`` ends the body without an exception once ``time_limit`` seconds have passed (``timed_out``), and so does
    Ctrl-C once a line on standard error has offered that (``interrupted``), if ``best_so_far``.
    """

    def __init__(
        self,
        what: str,
        *,
        best_so_far: bool = False,
        time_limit: float | None = None,
        now: Callable[[], float] | None = None,
    ) -> None:
        self.interrupted = self.timed_out = False
        self._what, self._now = what, now or monotonic
        self._offered = best_so_far and _best_so_far.get()
        self._began = self._now()
        self._end = self._began + (inf if time_limit is None else time_limit)
        self._next = self._began + FIRST
        self._lines = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        pressed = _pressed(error)
        # A subclass is somebody's signal to end the process, not a key that was pressed.
        self.interrupted = type(pressed) is KeyboardInterrupt and self._offered and self._lines > 0
        self.timed_out = isinstance(error, _TimeLimitError)
        if pressed is not None and pressed is not error and not self.interrupted:
            raise pressed
        return self.interrupted or self.timed_out

    def look(self, lower: float = -inf, upper: float = inf) -> None:
        """Take the bounds so far on the least total cost; write a line, or end, if it is time."""
        now = self._now()
        if now >= self._end:
            raise _TimeLimitError
        if now < self._next:
            return
        self._next = now + EVERY
        self._lines += 1
        offer = "; Ctrl-C ends the search with the best so far" if self._offered else ""
        known = (
            f": least total cost between {lower:.6g} and {upper:.6g}, gap {upper - lower:.3g}" if upper < inf else ""
        )
        write(f"milpcb: {self._what}, {now - self._began:.0f} s{known}{offer}")


@contextmanager
def waiting(what: str | Callable[[], str]) -> Iterator[None]:
    """Write a line now and then on ``what`` is done while the body goes on, for one that does not look up itself."""
    began = monotonic()
    with repeated(lambda: write(f"milpcb: {what() if callable(what) else what}, {monotonic() - began:.0f} s")):
        yield


@contextmanager
def repeated(write: Callable[[], object], over: Event | None = None) -> Iterator[None]:
    """Call a function after some seconds, and then ever less often, from a thread, until the body is ``over``."""
    over = over or Event()

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


def _pressed(error: BaseException | None) -> KeyboardInterrupt | None:
    """Return the interrupt that an error is, or was: from a call of compiled code it comes out in SystemErrors."""
    while isinstance(error, SystemError):
        error = error.__cause__
    return error if isinstance(error, KeyboardInterrupt) else None


def write(line: str) -> None:
    """Write a line to standard error; where there is none, or it is closed, the work goes on."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return
