"""Lines of a long command on its progress."""

import io
from contextlib import nullcontext

import pytest
from rich.console import Console

from milpcb.commands import console as steps


@pytest.mark.parametrize(
    ("what", "ticks", "now", "lines"),
    [
        # the first count is of no pace; at the end how long it took
        ("the band", [(10.0, 1), (30.0, 201)], 30.0, ["20 %, 1 min 20 s left"] * 2 + ["done in 30 s"]),
        # a count that begins anew has its own pace
        ("the band", [(0.0, 1000), (2.0, 1), (12.0, 201)], 12.0, ["20 %, 40 s left"] * 2 + ["done in 12 s"]),
        # what is written beside a step is written once
        (
            "its stability, 1\u202f000 searches (--resamples 0 leaves it out)",
            [(0.0, 1), (5.0, 251)],
            5.0,
            [", 1\u202f000 searches (--resamples 0 leaves it out): 25 %, 15 s left", "25 %, 15 s left", "done in 5 s"],
        ),
        # without a count there is no time left, but the time so far
        ("reading log.csv", [], 12.0, ["12 s so far"] * 2 + ["done in 12 s"]),
        ("a short step", [], 1.0, ["1 s so far"] * 2),
    ],
)
def test_lines_in_a_pipe_show_what_is_done_and_what_is_left(what, ticks, now, lines, monkeypatch):
    """The clock is set by the test, of a thousand counts; lines are written twice."""
    clock, console, writes = [0.0], Console(file=io.StringIO(), width=200), []
    monkeypatch.setattr(steps, "monotonic", lambda: clock[0])
    monkeypatch.setattr(steps.long_search, "repeated", lambda write: nullcontext(writes.append(write)))
    with steps.step(console, what) as tick:
        for clock[0], done in ticks:
            tick(done, 1000)
        clock[0] = now
        for _ in range(2):
            writes[0]()
    name = what.partition(",")[0]
    written = [f"{name}{line if line.startswith(',') else f': {line}'}" for line in lines]
    assert console.file.getvalue().splitlines() == written


@pytest.mark.parametrize("terminal", ["xterm", "dumb", None])
def test_a_short_step_leaves_nothing_behind(terminal, monkeypatch):
    """Neither a bar on a terminal, nor a line in a pipe, nor an empty line where a bar could not be taken away."""
    monkeypatch.setenv("TERM", terminal or "")
    console = Console(file=io.StringIO(), width=100, force_terminal=terminal is not None)
    with steps.step(console, "reading log.csv") as tick:
        tick(1, 2)
    written = console.file.getvalue()
    assert written.endswith("\x1b[1A\x1b[2K") if terminal == "xterm" else not written


def test_a_step_that_fails_ends_its_thread_and_passes_the_error_on():
    """No line claims that it was done."""
    console = Console(file=io.StringIO())
    with pytest.raises(ValueError, match="broken"), steps.step(console, "the band"):
        raise ValueError("broken")
    assert not console.file.getvalue()


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0.2, "1 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599.4, "59 min 59 s"), (7260, "2 h 1 min"), (1e5, "1 d 3 h")],
)
def test_a_span_is_given_in_its_two_greatest_units(seconds, written):
    """Seconds, minutes, hours and days, rounded once."""
    assert steps.span(seconds) == written
