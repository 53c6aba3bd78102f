"""Progress: counts and time left are right, every mode shows what happened, news of other tasks are left aside."""

import io
import re
import time
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from milpcb.errors import InputError
from milpcb.experiments.run import progress as module
from milpcb.experiments.run.progress import Progress, open_progress, span

CONTROL = re.compile(r"\x1b\[[0-9?]*[A-Za-z]|\r")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the only clock that progress sees, a list of the time."""
    now = [1000.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


def make(mode: str, width: int = 100, height: int = 25) -> tuple[Progress, io.StringIO]:
    """Return a progress and what it writes; its console is a terminal for "live" only."""
    file, terminal = io.StringIO(), mode == "live"
    look: dict[str, Any] = {"force_terminal": terminal, "color_system": None, "markup": terminal, "highlight": False}
    return open_progress(mode, Console(file=file, width=width, height=height, **look)), file


def task(number: int, title: str = "[/bold] uniform [x], seed {}", horizon: int = 100) -> Any:
    """Return a task as progress sees it; titles may hold brackets."""
    return SimpleNamespace(key=f"k{number}", title=title.format(number), horizon=horizon)


def position(progress: Progress, key: str, round_: int, first: int = 0) -> None:
    """Report a cell's position, its cost being twice the round."""
    progress.note({"key": key, "round": round_, "cost": 2.0 * round_, "first": first})


def drawn(progress: Progress, file: io.StringIO) -> list[str]:
    """Return the lines of one drawing of the bars."""
    with progress._bars.live._lock:  # the thread that draws by itself waits
        file.truncate(0)
        file.seek(0)
        progress._bars.refresh()
        return [line.rstrip() for line in CONTROL.sub("", file.getvalue()).split("\n")]


@pytest.mark.parametrize(
    ("titles", "first"),
    [(["slow, seed 0", "slow, seed 1", "fast, seed 0", "fast, seed 1"], 2), (["slow"] * 9 + ["late"], 3)],
)
def test_no_time_left_is_shown_before_each_learner_has_played(
    clock: list[float], titles: list[str], first: int
) -> None:
    """A learner that comes late is not waited for once there are twice as many ended cells as learners."""
    quiet = Progress(Console(quiet=True))
    quiet.start(tasks := [task(i, title) for i, title in enumerate(titles)])
    known = []
    for each in tasks[:4]:
        clock[0] += 10
        quiet.done(each, None)
        known.append(quiet.seconds_left() is not None)
    assert known == [number >= first for number in range(4)]


Step = float | tuple[int, str | int, int]  # seconds that pass; or a task, and "done", "failed" or its round, and first


def done(*numbers: int) -> list[Step]:
    """Return steps that end tasks."""
    return [(number, "done", 0) for number in numbers]


HALF: list[Step] = [60.0, *done(0), 10.0, *done(1)]  # a minute of opening and compiling, within the first task
LEFT: dict[str, tuple[int, list[Step], float | None]] = {
    "nothing before the first task ends": (5, HALF[:1], None),
    "nor before a second of play": (5, HALF[:2], None),
    "100 rounds in 10 s, and 300 to come": (5, HALF, 30),
    "a cell halfway counts too": (5, [*HALF, (2, 50, 0)], 17),
    "a failed cell is neither played nor to come": (4, [*done(0), (1, "failed", 0), 10.0, *done(2)], 10),
    "nor are its rounds after a failure": (4, [*done(0), 10.0, (1, 50, 0), (1, "failed", 0)], 40),
    "the last cell has one worker only": (10, [*done(*range(1, 10)), 10.0, (0, 10, 0), 10.0, (0, 20, 0)], 80),
    "what is played first is timed from its start": (2, [60.0, (0, 10, 0), 2.0, (0, 30, 0)], 17),
    "a resumed cell is timed from where it went on": (2, [(0, 80, 80), 1.0, (0, 81, 80), 10.0, (0, 91, 80)], 109),
}


@pytest.mark.parametrize("case", LEFT)
def test_time_left_is_the_rounds_left_over_the_rounds_a_second(case: str, clock: list[float]) -> None:
    """After seconds that pass, tasks that end and tasks that report their rounds."""
    count, steps, expected = LEFT[case]
    quiet = Progress(Console(quiet=True))
    quiet.start(tasks := [task(number) for number in range(count)])
    for step in steps:
        if isinstance(step, float):
            clock[0] += step
        elif isinstance(step[1], int):
            position(quiet, f"k{step[0]}", step[1], step[2])
        else:
            quiet.done(tasks[step[0]], step[1] if step[1] == "failed" else None)
    assert quiet.seconds_left() == expected


def test_tasks_may_come_in_parts_and_news_of_others_are_left_aside(clock: list[float]) -> None:
    """Those of other runs, and of tasks that have ended, are no positions; tasks that are known later are added."""
    quiet = Progress(Console(quiet=True))
    quiet.start(tasks := [task(i) for i in range(3)])
    position(quiet, "stranger", 50)
    quiet.done(tasks[0], None)
    position(quiet, "k0", 60)
    assert not quiet._playing
    clock[0] += 10
    quiet.done(tasks[1], None)
    quiet.start([task(3, horizon=300)])
    assert (quiet.total, quiet.seconds_left()) == (4, 400 / 10)


def test_live_shows_every_playing_cell_and_ends_with_one_line(clock: list[float]) -> None:
    """Round, pace and cost of each playing cell under the count of all; when all is over only the count stays."""
    progress, file = make("live")
    with progress:
        progress.start(tasks := [task(i) for i in range(4)])
        progress.done(tasks[0], None)
        for round_ in (20, 50):
            clock[0] += 5
            position(progress, "k0", 99)
            position(progress, "k1", round_)
        head, first, *_ = drawn(progress, file)
        assert head.startswith("1/4 tasks")
        assert head.split()[-5:] == ["150/400", "5/s", "50", "s", "left"]
        assert first.startswith(tasks[1].title)
        assert first.split()[-4:] == ["50/100", "6/s", "cost", "100.0"]
        for each in tasks[1:]:
            progress.done(each, "no solver")
        file.truncate(0)
    assert "4/4 tasks, 3 failed" in file.getvalue()
    assert "in 10 s" in file.getvalue()
    assert "uniform" not in file.getvalue()


def test_live_draws_by_itself_and_nothing_where_nothing_is_played() -> None:
    """A cell's end shows without anyone asking for a drawing; a finished directory played again draws no empty bar."""
    progress, file = make("live")
    with progress:
        progress.start([])
        assert CONTROL.sub("", "".join(drawn(progress, file))).strip() == ""
        progress.start(tasks := [task(i) for i in range(2)])
        progress.done(tasks[0], None)
        deadline = time.monotonic() + 600
        while "1/2 tasks" not in file.getvalue() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert "1/2 tasks" in file.getvalue()


@pytest.mark.parametrize(("width", "height"), [(100, 25), (60, 10), (40, 6)])
def test_live_fits_the_terminal(clock: list[float], width: int, height: int) -> None:
    """Thirty playing cells: no line is too long or too many; each has its rounds and its pace, whatever its title."""
    progress, file = make("live", width, height)
    with progress:
        progress.start([task(i, "long " * 30 + "seed {}") for i in range(30)])
        for round_ in (25, 50):
            clock[0] += 5
            for i in range(30):
                position(progress, f"k{i}", round_)
        lines = drawn(progress, file)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert all("…" in line and " 50/100" in line and " 5/s" in line for line in lines[1:-1])
    assert ("cost" in lines[1]) == (width >= 80)


def test_plain_writes_at_most_one_line_a_second(clock: list[float]) -> None:
    """Of 64 cells, sixteen a second, every sixteenth is a line, and the last."""
    progress, file = make("plain")
    with progress:
        progress.start(tasks := [task(i) for i in range(64)])
        for each in tasks:
            progress.done(each, None)
            clock[0] += 1 / 16
    lines = file.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["1/64", "17/64", "33/64", "49/64", "64/64"]
    assert lines[1] == f"17/64 {tasks[16].title} (3 s of play left)"
    assert lines[-1] == f"64/64 {tasks[63].title}"


def test_plain_shows_the_first_failures_at_once(clock: list[float]) -> None:
    """Ten failures are written within the second they happen in, whole and uncut; the others are not."""
    reason = "the solver 'scip' is missing: " + "x" * 200
    progress, file = make("plain")
    with progress:
        progress.start(tasks := [task(i) for i in range(50)])
        for each in tasks[:40]:
            progress.done(each, reason)
    lines = file.getvalue().splitlines()
    assert lines == [f"{i + 1}/50 {tasks[i].title}: FAILED: {reason}" for i in range(10)]
    assert clock == [1000.0]


def test_modes_are_chosen_by_name() -> None:
    """Quiet writes nothing; off a terminal bars would fill a log file; an unknown mode is told all there are."""
    progress, file = make("quiet")
    with progress:
        progress.start([task(0)])
        progress.done(task(0), "no solver")
    assert file.getvalue() == ""
    console = Console(file=io.StringIO(), force_terminal=False)
    assert type(open_progress("live", console)) is module.Plain
    with pytest.raises(InputError, match=r"unknown progress 'fancy'.* live, plain, quiet"):
        open_progress("fancy", console)


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0.2, "1 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599.4, "59 min 59 s"), (7260, "2 h 1 min"), (1e5, "1 d 3 h")],
)
def test_a_span_is_given_in_its_two_greatest_units(seconds: float, written: str) -> None:
    """Seconds, minutes, hours and days, rounded once."""
    assert span(seconds) == written
