"""Long searches: lines on standard error now and then, time limits, and interrupts."""

from collections.abc import Iterator
from threading import Event

import pytest

from milpcb.core import long_search
from milpcb.core.long_search import LongSearch, waiting


class Clock:
    """A clock that goes on by some seconds at each look at it."""

    def __init__(self, *steps: float) -> None:
        self._steps: Iterator[float] = iter(steps)
        self._now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        self._now += next(self._steps)
        return self._now


def test_a_line_comes_after_two_seconds_and_then_every_ten(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that ends sooner writes nothing; a line has the time, both bounds and the gap."""
    monkeypatch.setattr(long_search, "monotonic", Clock(0.0, 1.0, 1.5, 5.0, 5.0))
    with LongSearch("trees") as search:
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


@pytest.mark.parametrize("within", [False, True])
def test_an_interrupt_ends_everything(within: bool) -> None:
    """Also within compiled code, of which numba makes a SystemError."""
    error: BaseException = KeyboardInterrupt()
    if within:
        error, error.__cause__ = SystemError(), error
    with pytest.raises(KeyboardInterrupt), LongSearch("trees"):
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


def test_a_time_limit_ends_the_body_at_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The body is left without an exception; one that ends sooner is not timed out."""
    monkeypatch.setattr(long_search, "monotonic", Clock(0.0, 1.0, 1.5, 1.0, 0.0, 1.0))
    with LongSearch("trees", time_limit=3.0) as search:
        for _ in range(3):
            search.look(1.0, 9.0)
        pytest.fail("the time was over")
    assert search.timed_out
    with LongSearch("trees", time_limit=3.0) as search:
        search.look(1.0, 9.0)
    assert not search.timed_out
