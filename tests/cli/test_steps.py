"""Lines of a long command on its progress."""

import io

import pytest
from rich.console import Console

from milpcb.commands import console as steps
from milpcb.experiments.run import progress
from milpcb.logs.learning import foreseen


@pytest.mark.parametrize(
    ("what", "ticks", "now", "lines"),
    [
        # the first count is of no pace; at the end how long it took
        (
            "the band",
            [(10.0, 1, 1000), (30.0, 201, 1000)],
            30.0,
            ["the band: 20 %, 1 min 20 s left"] * 2 + ["the band: done in 30 s"],
        ),
        # a count that begins anew has its own pace
        (
            "the band",
            [(0.0, 100, 100), (2.0, 1, 100), (12.0, 21, 100)],
            12.0,
            ["the band: 21 %, 40 s left"] * 2 + ["the band: done in 12 s"],
        ),
        # what has passed since the last count is not left
        (
            "the band",
            [(0.0, 1, 5), (20.0, 2, 5)],
            30.0,
            ["the band: 40 %, 50 s left"] * 2 + ["the band: done in 30 s"],
        ),
        # what is said beside a step is said once
        (
            foreseen("its stability", "--resamples", 1000),
            [(0.0, 0, 1000), (5.0, 250, 1000)],
            5.0,
            [
                "its stability, 1\u202f000 searches (--resamples 0 leaves it out): 25 %, 15 s left",
                "its stability: 25 %, 15 s left",
                "its stability: done in 5 s",
            ],
        ),
        # without a count there is no time left, but the time so far
        ("reading log.csv", [], 12.0, ["reading log.csv: 12 s so far"] * 2 + ["reading log.csv: done in 12 s"]),
        ("a short step", [], 1.0, ["a short step: 1 s so far"] * 2),
    ],
)
def test_lines_in_a_pipe_show_what_is_done_and_what_is_left(what, ticks, now, lines, monkeypatch):
    """The clock is set by the test; lines are written twice."""
    clock, console = [0.0], Console(file=io.StringIO(), width=200)
    monkeypatch.setattr(steps, "monotonic", lambda: clock[0])
    written = steps._Lines(console, what)
    for clock[0], done, total in ticks:
        written.tick(done, total)
    clock[0] = now
    for _ in range(2):
        written.write()
    written.end()
    assert console.file.getvalue().splitlines() == lines


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
