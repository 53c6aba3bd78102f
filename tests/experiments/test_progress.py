"""Progress: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io

from rich.console import Console

from milpcb.experiments.progress import Bars

LABEL = "[/bold] uniform [x], seed 0"


def shown(terminal):
    """Return what one task of 1000 rounds writes."""
    console = Console(file=io.StringIO(), width=120, force_terminal=terminal, markup=False, color_system=None)
    with Bars(console) as bars:
        tick = bars.start(LABEL, 1000)
        for t in range(1000):
            tick(t + 1)
    return console.file.getvalue()


def test_outside_a_terminal_a_task_is_one_line():
    """Logs get one line a task, brackets in labels as they are."""
    assert shown(terminal=False) == f"{LABEL}: 1,000 rounds\n"


def test_on_a_terminal_a_bar_runs_to_its_end():
    """The last state of the bar has all rounds, brackets in labels as they are."""
    last = shown(terminal=True).split(LABEL)[-1]
    assert "1000/1000" in last
    assert "rounds/s" in last
