"""What a long command writes of how far it is."""

import io

import pytest
from rich.console import Console

from milpcb.commands import console as steps
from milpcb.experiments.run import progress
from milpcb.logs.learning import foreseen

Lines = steps._Lines


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that tests set, and no waiting: each wait of the writer is a turn of the test's own."""
    now = [0.0]
    monkeypatch.setattr(steps, "monotonic", lambda: now[0])
    return now


class _Turns:
    """An event that is over after so many waits."""

    def __init__(self, turns):
        self.left, self.waits = turns, []

    def wait(self, seconds):
        self.waits.append(seconds)
        self.left -= 1
        return self.left < 0


def test_lines_in_a_pipe_show_what_is_done_and_what_is_left(clock):
    """The first after two seconds, then ever fewer, then how long it took."""
    console = Console(file=io.StringIO(), width=200)
    lines = Lines(console, "the band")
    lines.over = turns = _Turns(2)
    clock[0] = 10.0  # before the first, which is of no pace
    lines.tick(1, 1000)
    clock[0] = 30.0
    lines.tick(201, 1000)
    lines.write()
    lines.end()
    written = console.file.getvalue().splitlines()
    assert written == ["the band: 20 %, 1 min 20 s left"] * 2 + ["the band: done in 30 s"]
    assert turns.waits == [2.0, 10.0, 20.0]


def test_a_count_that_begins_anew_has_its_own_pace(clock):
    """A step of two parts: what is left of the second does not go by how fast the first was."""
    console = Console(file=io.StringIO(), width=200)
    lines = Lines(console, "the band")
    lines.tick(100, 100)
    clock[0] = 2.0
    lines.tick(1, 100)
    clock[0] = 12.0
    lines.tick(21, 100)
    lines.over = _Turns(1)
    lines.write()
    lines.end()
    assert console.file.getvalue().splitlines() == ["the band: 21 %, 40 s left", "the band: done in 12 s"]


def test_what_has_passed_since_the_last_count_is_not_left(clock):
    """Where counts are far apart the time left goes down between them."""
    console = Console(file=io.StringIO(), width=200)
    lines = Lines(console, "the band")
    lines.tick(1, 5)
    clock[0] = 20.0
    lines.tick(2, 5)
    clock[0] = 30.0
    lines.over = _Turns(1)
    lines.write()
    assert console.file.getvalue().splitlines() == ["the band: 40 %, 50 s left"]


def test_what_is_said_beside_a_step_is_said_once(clock):
    """The time left is measured from what is done, and the option that leaves the step out is not repeated."""
    console = Console(file=io.StringIO(), width=200)
    lines = Lines(console, foreseen("its stability", "--resamples", 1000))
    lines.over = _Turns(2)
    lines.tick(0, 1000)
    clock[0] = 5.0
    lines.tick(250, 1000)
    lines.write()
    assert console.file.getvalue().splitlines() == [
        "its stability, 1\u202f000 searches (--resamples 0 leaves it out): 25 %, 15 s left",
        "its stability: 25 %, 15 s left",
    ]


def test_a_step_that_calls_nobody_back_shows_that_it_goes_on(clock):
    """Without a count there is no time left, but the time so far."""
    console = Console(file=io.StringIO(), width=200)
    lines = Lines(console, "reading log.csv")
    lines.over = _Turns(1)
    clock[0] = 12.0
    lines.write()
    assert console.file.getvalue() == "reading log.csv: 12 s so far\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_short_step_leaves_nothing_behind(terminal):
    """Neither a bar on a terminal, nor a line in a pipe."""
    console = Console(file=io.StringIO(), width=100, force_terminal=terminal)
    with steps.step(console, "reading log.csv") as tick:
        tick(1, 2)
    assert console.file.getvalue().endswith("\x1b[1A\x1b[2K" if terminal else "")
    if not terminal:
        assert not console.file.getvalue()


def test_a_step_that_fails_ends_its_thread_and_passes_the_error_on():
    """No line claims that it was done."""
    console = Console(file=io.StringIO())
    with pytest.raises(ValueError, match="broken"), steps.step(console, "the band"):
        raise ValueError("broken")
    assert not console.file.getvalue()


def test_a_dumb_terminal_has_lines_and_no_bar(monkeypatch):
    """A bar would leave an empty line for each step there."""
    monkeypatch.setenv("TERM", "dumb")
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with steps.step(console, "the band") as tick:
        tick(1, 2)
    assert console.file.getvalue() == ""
    assert isinstance(progress.open_progress("live", console), progress.Plain)
