"""Progress: counts and time left are right, every mode says what happened, news of other tasks are left aside."""

import io
import json
import re
import time
from dataclasses import dataclass
from typing import Any

import pytest
from rich.console import Console

from milpcb.errors import InputError
from milpcb.experiments.run import progress as module
from milpcb.experiments.run.progress import Progress, open_progress, span

CONTROL = re.compile(r"\x1b\[[0-9?]*[A-Za-z]|\r")


@dataclass(frozen=True)
class Cell:
    """The task as progress sees it."""

    key: str
    title: str
    horizon: int


class Clock:
    """A clock that the test sets; it serves as monotonic and as wall time."""

    now = 1000.0

    def __call__(self) -> float:
        """Return the time that was set."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the only clock that progress sees."""
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    monkeypatch.setattr(module, "time", clock)
    return clock


def position(progress: Progress, key: str, round_: int, started: float, first: int = 0) -> None:
    """Report a cell's position, its cost being twice the round."""
    progress.note({"key": key, "round": round_, "cost": 2.0 * round_, "started": started, "first": first})


def make(mode: str, width: int = 100, height: int = 25) -> tuple[Progress, io.StringIO]:
    """Return a progress and what it writes; its console is a terminal for "live" only."""
    file, terminal = io.StringIO(), mode == "live"
    look: dict[str, Any] = {"force_terminal": terminal, "color_system": None, "markup": terminal, "highlight": False}
    return open_progress(mode, Console(file=file, width=width, height=height, **look)), file


def cells(count: int, horizon: int = 100) -> list[Any]:
    """Return cells k0, k1, ... whose titles hold brackets."""
    return [Cell(f"k{i}", f"[/bold] uniform [x], seed {i}", horizon) for i in range(count)]


def drawn(progress: Progress, file: io.StringIO) -> list[str]:
    """Return the lines of one drawing of the live table."""
    with progress._refresh._lock:  # the thread that draws by itself waits
        file.truncate(0)
        file.seek(0)
        progress._refresh.refresh()
        return [line.strip() for line in CONTROL.sub("", file.getvalue()).split("\n")]


@pytest.mark.parametrize(
    ("titles", "first"),
    [(["slow, seed 0", "slow, seed 1", "fast, seed 0", "fast, seed 1"], 2), (["slow"] * 9 + ["late"], 3)],
)
def test_no_time_left_is_said_before_each_learner_has_played(clock: Clock, titles: list[str], first: int) -> None:
    """A learner that comes late is not waited for once there are twice as many ended cells as learners."""
    quiet = Progress(Console(quiet=True))
    quiet.start(tasks := [Cell(f"k{i}", title, 100) for i, title in enumerate(titles)])
    said = []
    for task in tasks[:4]:
        clock.now += 10
        quiet.done(task, None)
        said.append(quiet.seconds_left([]) is not None)
    assert said == [number >= first for number in range(4)]


def done(number: int) -> tuple[str, int, str | None]:
    """Return the step that a task ends."""
    return "done", number, None


def at(number: int, round_: int, seconds: float, first: int = 0) -> tuple[str, int, int, float, int]:
    """Return the step that a task is at a round after so many seconds of play."""
    return "at", number, round_, seconds, first


LAST = [done(number) for number in range(1, 10)]
HALF = [60.0, done(0), 10.0, done(1)]  # a minute of opening and compiling, within the first task
LEFT = {
    "nothing is said before the first task ends": (5, 100, HALF[:1], None),
    "nor before a second of play": (5, 100, HALF[:2], None),
    "100 rounds in 10 s, and 300 to come": (5, 100, HALF, 300 / 10),
    "a cell halfway counts too": (5, 100, [*HALF, at(2, 50, 5)], 250 / 15),
    "a failed cell is neither played nor to come": (4, 100, [done(0), ("done", 1, "no"), 10.0, done(2)], 100 / 10),
    "the last cell has one worker only": (10, 100, [*LAST, 10.0, at(0, 10, 10)], 90),
    "a cell that has hardly begun has no pace": (10, 1000, [*LAST, 10.0, at(0, 1, 10)], 999 * 10 / 8001),
    "opening is no play": (2, 100, [60.0], None),
    "what is played first is timed from its start": (2, 100, [60.0, 2.0, at(0, 20, 2)], 18),
    "and no longer when it has ended": (2, 100, [60.0, 2.0, at(0, 20, 2), 8.0, done(0)], 10),
    "a resumed cell is timed from where it went on": (2, 100, [10.0, at(0, 90, 10, 80)], 110),
}


@pytest.mark.parametrize("case", LEFT)
def test_time_left_is_the_rounds_left_over_the_rounds_a_second(case: str, clock: Clock) -> None:
    """After seconds that pass, tasks that end and tasks that report where they are."""
    count, horizon, steps, expected = LEFT[case]
    quiet, began = Progress(Console(quiet=True)), clock.now
    quiet.start(tasks := cells(count, horizon))
    for step in steps:
        if isinstance(step, float):
            clock.now += step
        elif step[0] == "done":
            quiet.done(tasks[step[1]], step[2])
        else:
            position(quiet, f"k{step[1]}", step[2], started=clock.now - step[3], first=step[4])
            assert quiet.positions()[0].pace == pytest.approx((step[2] - step[4]) / step[3])
        left = quiet.seconds_left(quiet.positions())
    assert left == (None if expected is None else pytest.approx(expected))
    assert quiet.began == began


def test_news_of_tasks_that_do_not_play_are_left_aside() -> None:
    """Tasks of other runs, and those that have ended, have no position."""
    quiet = Progress(Console(quiet=True))
    quiet.start(tasks := cells(2))
    position(quiet, "stranger", 50, started=0.0)
    for key in ("k1", "k0"):
        position(quiet, key, 50, started=0.0)
    assert [found.task.key for found in quiet.positions()] == ["k0", "k1"]
    quiet.done(tasks[0], None)
    position(quiet, "k0", 60, started=0.0)
    assert [found.task.key for found in quiet.positions()] == ["k1"]


def test_live_shows_every_playing_cell_and_ends_with_one_line(clock: Clock) -> None:
    """Round, pace and cost of each playing cell under the count of all; when all is over only the count stays."""
    progress, file = make("live")
    with progress:
        progress.start(tasks := cells(4))
        progress.done(tasks[0], None)
        clock.now += 10
        position(progress, "k0", 99, started=clock.now)
        position(progress, "k1", 50, started=clock.now - 5)
        position(progress, "k2", 25, started=clock.now - 5)
        head, first, second, *_ = drawn(progress, file)
        assert head.startswith("1/4 tasks")
        assert head.endswith("30 s left")
        assert first.split() == [*tasks[1].title.split(), "50/100", "10/s", "cost", "100.0"]
        assert second.split() == [*tasks[2].title.split(), "25/100", "5/s", "cost", "50.0"]
        for task in tasks[1:]:
            progress.done(task, "no solver")
        file.truncate(0)
    assert file.getvalue().count("tasks") == 1
    assert "4/4 tasks" in file.getvalue()
    assert "in 10 s  3 failed" in file.getvalue()
    assert "uniform" not in file.getvalue()


def test_live_draws_by_itself() -> None:
    """A cell's end shows without anyone asking for a drawing."""
    progress, file = make("live")
    with progress:
        progress.start(tasks := cells(2))
        progress.done(tasks[0], None)
        deadline = time.monotonic() + 600
        while "1/2 tasks" not in file.getvalue() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert "1/2 tasks" in file.getvalue()


@pytest.mark.parametrize(("width", "height"), [(100, 25), (60, 10), (40, 6)])
def test_live_fits_the_terminal(clock: Clock, width: int, height: int) -> None:
    """Thirty playing cells: no line is cut off or too long, the rest is counted, the end of each title is seen."""
    progress, file = make("live", width, height)
    with progress:
        progress.start([Cell(f"k{i}", f"{'long ' * 30}seed {i}", 100) for i in range(30)])
        clock.now += 10
        for i in range(30):
            position(progress, f"k{i}", 50, started=clock.now - 5)
        lines = drawn(progress, file)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert lines[-1] == f"and {30 - len(lines[1:-1])} more"
    assert all("…" in line and f"seed {i}  50/100  10/s" in line for i, line in enumerate(lines[1:-1]))
    assert ("cost" in lines[1]) == (width >= 70)


def test_a_run_with_nothing_to_play_shows_nothing() -> None:
    """A finished directory played again draws no empty table."""
    progress, file = make("live")
    with progress:
        progress.start([])
    assert CONTROL.sub("", file.getvalue()).strip() == ""


def test_plain_writes_at_most_one_line_a_second(clock: Clock) -> None:
    """Of 64 cells, sixteen a second, every sixteenth is a line, and the last."""
    progress, file = make("plain")
    with progress:
        progress.start(tasks := cells(64))
        for task in tasks:
            progress.done(task, None)
            clock.now += 1 / 16
    lines = file.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["1/64", "17/64", "33/64", "49/64", "64/64"]
    assert lines[1] == f"17/64 {tasks[16].title} (3 s of play left)"
    assert lines[-1] == f"64/64 {tasks[63].title}"


def test_plain_tells_the_first_failures_at_once(clock: Clock) -> None:
    """Ten failures are written within the second they happen in, whole and uncut; the others are not."""
    reason = "the solver 'scip' is missing: " + "x" * 200
    progress, file = make("plain")
    with progress:
        progress.start(tasks := cells(50))
        for task in tasks[:40]:
            progress.done(task, reason)
    lines = file.getvalue().splitlines()
    assert lines == [f"{i + 1}/50 {tasks[i].title}: FAILED: {reason}" for i in range(10)]
    assert clock.now == 1000.0


def test_json_is_one_object_a_line() -> None:
    """Every cell is written, with its reason when it failed, between ``started`` and ``done``."""
    progress, file = make("json", width=20)
    with progress:
        progress.start(tasks := cells(3))
        progress.done(tasks[1], None)
        progress.done(tasks[0], "no\nsolver")
    started, finished, failed, done = map(json.loads, file.getvalue().splitlines())
    assert started == {"event": "started", "tasks": 3, "rounds": 300, "ended": 0, "failures": 0}
    assert finished == {
        "event": "finished", "key": "k1", "title": tasks[1].title, "horizon": 100, "ended": 1, "failures": 0,
    }  # fmt: skip
    assert (failed["event"], failed["key"], failed["failure"], failed["failures"]) == ("failed", "k0", "no\nsolver", 1)
    assert done | {"seconds": 0} == {
        "event": "done", "tasks": 3, "ended": 2, "failures": 1, "complete": True, "seconds": 0,
    }  # fmt: skip


def test_json_says_that_it_was_interrupted() -> None:
    """The lines say that the run did not end by itself."""
    progress, file = make("json")
    with pytest.raises(KeyboardInterrupt), progress:
        raise KeyboardInterrupt
    assert json.loads(file.getvalue().splitlines()[-1])["complete"] is False


def test_quiet_writes_nothing() -> None:
    """Not even a failure."""
    progress, file = make("quiet")
    with progress:
        progress.start(tasks := cells(2))
        progress.done(tasks[0], "no solver")
    assert file.getvalue() == ""


def test_modes_are_chosen_by_name() -> None:
    """Off a terminal a live table, drawn over itself, would fill a log file; an unknown mode is told all there are."""
    console = Console(file=io.StringIO(), force_terminal=False)
    assert type(open_progress("live", console)) is module.Plain
    with pytest.raises(InputError, match=r"unknown progress 'fancy'.* live, plain, quiet, json"):
        open_progress("fancy", console)


def test_tasks_may_come_in_parts(clock: Clock) -> None:
    """Tasks that are known later are added to the count; the clock runs on."""
    quiet = Progress(Console(quiet=True))
    quiet.start(first := cells(3))
    quiet.done(first[0], None)
    clock.now += 10
    quiet.done(first[1], None)
    quiet.start([Cell("late", first[0].title, 300)])
    assert quiet.total == 4
    assert quiet.seconds_left([]) == pytest.approx(400 / 10)


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0.2, "1 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599.4, "59 min 59 s"), (7260, "2 h 1 min"), (1e5, "1 d 3 h")],
)
def test_a_span_is_given_in_its_two_greatest_units(seconds: float, written: str) -> None:
    """Seconds, minutes, hours and days, rounded once."""
    assert span(seconds) == written
