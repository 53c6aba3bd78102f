"""Long searches: lines on standard error now and then, and what Ctrl-C means before and after the first."""

from collections.abc import Iterator
from contextlib import nullcontext
from threading import Event

import pytest

from milpcb.core import long_search
from milpcb.core.long_search import FIRST, LongSearch, interrupts_end_everything, waiting


class Clock:
    """A clock that goes on by some seconds at each look at it."""

    def __init__(self, *steps: float) -> None:
        self._steps: Iterator[float] = iter(steps)
        self._now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        self._now += next(self._steps)
        return self._now


def test_a_line_comes_after_two_seconds_and_then_every_ten(capsys: pytest.CaptureFixture[str]) -> None:
    """A search that ends sooner writes nothing; a line has the time, both bounds and the gap."""
    with LongSearch("trees", now=Clock(0.0, 1.0, 1.5, 5.0, 5.0)) as search:
        search.look(1.0, 9.0)
        assert capsys.readouterr().err == ""
        search.look(2.0, 8.0)
        search.look(3.0, 7.0)
        search.look(4.0, 6.5)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "milpcb: trees, 2 s: least total cost between 2 and 8, gap 6",
        "milpcb: trees, 12 s: least total cost between 4 and 6.5, gap 2.5",
    ]


def test_an_interrupt_ends_the_search_alone_once_that_was_offered(capsys: pytest.CaptureFixture[str]) -> None:
    """The body is left without an exception, and the line says beforehand what Ctrl-C does."""
    with LongSearch("trees", best_so_far=True, now=Clock(0.0, 3.0)) as search:
        search.look(0.0, 1.0)
        raise KeyboardInterrupt
    assert search.interrupted
    assert "Ctrl-C ends the search with the best so far" in capsys.readouterr().err


class Terminated(KeyboardInterrupt):
    """The exception that a command makes of the signal that ends the process."""


@pytest.mark.parametrize(
    ("seconds", "error", "offered"),
    [(1.0, KeyboardInterrupt, True), (3.0, KeyboardInterrupt, False), (3.0, Terminated, True), (3.0, ValueError, True)],
)
def test_other_interrupts_end_everything(seconds: float, error: type[BaseException], *, offered: bool) -> None:
    """Before the first line, where nobody reads bounds, and where the process is to end."""
    search = LongSearch("trees", best_so_far=offered, now=Clock(0.0, seconds))
    with pytest.raises(error):
        _broken_off(search, error())
    assert not search.interrupted


def test_within_a_play_an_interrupt_ends_the_play() -> None:
    """A search of thousands of queries says so, and none of them swallows Ctrl-C."""
    with interrupts_end_everything():
        search = LongSearch("trees", best_so_far=True, now=Clock(0.0, 3.0))
        with pytest.raises(KeyboardInterrupt):
            _broken_off(search, KeyboardInterrupt())
    again = LongSearch("trees", best_so_far=True, now=Clock(0.0, 3.0))
    _broken_off(again, KeyboardInterrupt())
    assert again.interrupted


@pytest.mark.parametrize("seconds", [1.0, 3.0])
def test_an_interrupt_within_compiled_code_is_one(seconds: float) -> None:
    """Numba makes a SystemError of it: that ends the search alone, or is raised as the interrupt that it was."""
    search, error = LongSearch("trees", best_so_far=True, now=Clock(0.0, seconds)), SystemError()
    error.__cause__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt) if seconds < FIRST else nullcontext():
        _broken_off(search, error)
    assert search.interrupted == (seconds > FIRST)


def _broken_off(search: LongSearch, error: BaseException) -> None:
    with search:
        search.look(0.0, 1.0)
        raise error


def test_a_line_comes_while_a_body_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that does not look up is seen to be at work."""
    lines: list[str] = []
    written = Event()
    monkeypatch.setattr(long_search, "FIRST", 0.0)
    monkeypatch.setattr(long_search, "EVERY", 0.0)
    monkeypatch.setattr(long_search, "write", lambda line: (lines.append(line), written.set()))
    with waiting("a query to solver highs"):
        assert written.wait(60.0)
    assert lines[0] == "milpcb: a query to solver highs, 0 s"


def test_a_time_limit_ends_the_body_at_the_next_look() -> None:
    """The body is left without an exception; one that ends sooner is not timed out."""
    with LongSearch("trees", time_limit=3.0, now=Clock(0.0, 1.0, 1.5, 1.0)) as search:
        for _ in range(3):
            search.look(1.0, 9.0)
        pytest.fail("the time was over")
    assert search.timed_out
    assert not search.interrupted
    with LongSearch("trees", time_limit=3.0, now=Clock(0.0, 1.0)) as search:
        search.look(1.0, 9.0)
    assert not search.timed_out
