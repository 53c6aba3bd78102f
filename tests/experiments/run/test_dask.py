"""The Dask backend: the same results as serial whatever happens to workers, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

import psutil  # distributed needs it
from distributed import Client

from milpcb.errors import InputError, MilpcbError
from milpcb.experiments.run.backends import Serial, WorkerDiedError, dask, listening
from milpcb.experiments.run.backends.dask import Dask
from tests.processes import alive, until

# What the workers do; each call first leaves a file <task>.<pid>.<time> in its folder.
WORK = """\
import os
import signal
import time
from pathlib import Path

from milpcb.plugins import registry
from milpcb.errors import SolverMissingError
from milpcb.experiments.run.backends import report
from milpcb.experiments.run.runner import Outcome


def begin(folder, task):
    Path(folder, f"{task}.{os.getpid()}.{time.time_ns()}").touch()


def square(folder, task):
    begin(folder, task)
    time.sleep(0.03)
    return task * task


def die_of_three(folder, task):
    begin(folder, task)
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return task * task


def sleep(folder, seconds):
    begin(folder, seconds)
    end = time.time() + seconds
    while time.time() < end:
        time.sleep(0.01)
        Path(folder, f"alive_{os.getpid()}_{seconds:.0f}").write_text(str(time.time_ns()))
    return seconds


def variable(folder, name):
    begin(folder, name)
    return os.environ.get(name)


def either(folder, task):
    return variable(folder, task) if isinstance(task, str) else sleep(folder, task)


def announce(task):
    report({"task": task})
    return task


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def fail(folder, how):
    if how == "value":
        raise ValueError("boom")
    if how == "solver":
        raise SolverMissingError("solver 'scip' is missing")
    if how == "package":
        import no_such_package
    if how == "name":
        registry.load("learner", "hedgehog")
    if how == "failure":
        return Outcome({}, "cannot play", "the trace")
    if how == "odd":
        raise Odd("strange", 2)
    return how
"""
# Three tries, and no task waits at a worker, to be blamed for another's crash.
SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "1.0",
}
# A shell starts what runs in its background with Ctrl-C ignored, and children inherit that.
INTERRUPTED = """\
from functools import partial
import signal
import sys
import work_of_workers
from milpcb.experiments.run.backends.dask import Dask
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        dask = Dask(scheduler=sys.argv[2]) if sys.argv[2] else Dask(workers=2)
        for task, _ in dask.map(partial(work_of_workers.sleep, sys.argv[1]), [0.01, 60.0, 61.0]):
            print(task, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for schedulers and workers as long as a machine under load may need."""
    monkeypatch.setattr(dask, "SECONDS", 600)


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder on the path of this process and of its children, where the workers' module is."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "work_of_workers.py").write_text(WORK, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder))
        yield folder


@pytest.fixture(scope="module")
def work(modules: Path) -> Any:
    """Return the workers' module."""
    del modules
    import work_of_workers

    return work_of_workers


@pytest.fixture(scope="module")
def scheduler(modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a scheduler with two workers; it cannot import the workers' module."""
    folder = tmp_path_factory.mktemp("cluster")
    file, quiet = folder / "scheduler.json", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    options = ["--nworkers", "2", "--nthreads", "1", "--local-directory", str(folder), "--host", "127.0.0.1"]
    own_ports = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
    commands = [
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *common, *own_ports],
        [sys.executable, "-m", "distributed.cli.dask_worker", *common, *options],
    ]
    with contextlib.ExitStack() as stack:
        for command, path in zip(commands, ["", str(modules)], strict=True):
            process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path, **SETTINGS}, cwd=folder, **quiet)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        until(file.is_file)
        until(file.read_text)
        address = str(json.loads(file.read_text())["address"])
        with Client(address, timeout=600, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=600)
        yield address


def pids(folder: Path, task: object = "*") -> list[int]:
    """Return the processes that have begun a task, once for every time they began it."""
    return [int(path.name.split(".")[-2]) for path in folder.glob(f"{task}.*.*")]


def results(backend: Any, work: Callable[[Any], Any], tasks: list[Any]) -> dict[Any, Any]:
    """Return what a backend makes of the tasks; each comes once."""
    found = list(backend.map(work, tasks))
    assert sorted(task for task, _ in found) == sorted(tasks)
    return dict(found)


def test_a_worker_killed_in_the_middle_costs_no_result(scheduler: str, work: Any, tmp_path: Path) -> None:
    """Thirty tasks on two workers, one of them killed while it works: all results are those of serial."""
    tasks, found, victim = list(range(30)), {}, 0
    for task, result in Dask(scheduler=scheduler).map(partial(work.square, str(tmp_path)), tasks):
        found[task] = result
        if len(found) == 8:
            victim = pids(tmp_path)[-1]
            os.kill(victim, signal.SIGKILL)
    until(lambda: not alive(victim))
    assert os.getpid() not in pids(tmp_path)
    assert found == results(Serial(), partial(work.square, str(tmp_path)), tasks)


def test_exceptions_are_results_and_name_the_worker_they_may_come_from(scheduler: str, work: Any) -> None:
    """Ours and those of missing packages name the worker; others stay as they are; one that cannot travel is a line."""
    tasks = ["value", "solver", "package", "name", "failure", "odd", "fine"]
    found = results(Dask(scheduler=scheduler), partial(work.fail, ""), tasks)
    assert found["fine"] == "fine"
    assert (type(found["value"]), str(found["value"])) == (ValueError, "boom")
    assert (type(found["odd"]), str(found["odd"])) == (MilpcbError, "Odd: strange")
    for task, line in {
        "solver": "solver 'scip' is missing",
        "package": "No module named 'no_such_package'",
        "name": "unknown learner 'hedgehog'; did you mean 'hedge'?",
    }.items():
        assert str(found[task]).startswith(f"{line} (on worker tcp://127.0.0.1:"), found[task]
    assert found["failure"].failure.startswith("cannot play (on worker tcp://127.0.0.1:")
    assert found["failure"].trace == "the trace"


def test_news_travel_through_an_open_scheduler_which_is_named(
    scheduler: str, work: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """News of a task reach this process, which shares no folder with the workers; without TLS others may read them."""
    heard: list[dict[str, Any]] = []
    with listening(heard.append):
        stream = Dask(scheduler=scheduler).map(work.announce, [1])
        assert next(stream) == (1, 1)
        until(lambda: heard)
        assert list(stream) == []
    assert [news["task"] for news in heard] == [1]
    assert caplog.messages == [dask.OPEN_SCHEDULER % scheduler]


def test_closing_early_stops_what_workers_are_playing(scheduler: str, work: Any, tmp_path: Path) -> None:
    """A task in the middle is stopped although the cluster lives on, and the cluster takes the next tasks."""
    stream = Dask(scheduler=scheduler).map(partial(work.sleep, str(tmp_path)), [0.01, *map(float, range(60, 80))])
    assert next(stream) == (0.01, 0.01)
    until(lambda: list(tmp_path.glob("alive_*_60")))
    stream.close()
    playing = {path: path.read_text() for path in tmp_path.glob("alive_*_6?")}
    assert results(Dask(scheduler=scheduler), partial(work.square, str(tmp_path)), [5]) == {5: 25}
    assert playing
    assert {path: path.read_text() for path in tmp_path.glob("alive_*_6?")} == playing


def test_another_version_is_refused(scheduler: str) -> None:
    """A worker of another version plays nothing."""
    with Client(scheduler, set_as_default=False) as client:
        error = client.submit(dask._on_worker, pickle.dumps(partial(int, 3)), "9.9").result()
    assert isinstance(error, InputError)
    assert re.match(r"worker tcp://\S+ has milpcb \S+, this run 9\.9: install the same", str(error))


def test_a_task_that_kills_its_workers_is_given_up(scheduler: str, work: Any, tmp_path: Path) -> None:
    """All others give what serial gives; the line says how often it was tried."""
    found = results(Dask(scheduler=scheduler), partial(work.die_of_three, str(tmp_path)), list(range(12)))
    error = found.pop(3)
    assert found == {task: task * task for task in range(12) if task != 3}
    assert isinstance(error, WorkerDiedError)
    assert "died 3 times" in str(error)
    assert len(pids(tmp_path, 3)) == 3


def test_workers_that_are_started_here(work: Any, tmp_path: Path) -> None:
    """They give what serial gives, but for a task that kills its worker three times, and are gone then."""
    before = [os.environ.get(name) for name in dask.ENVIRONMENT]
    found = results(Dask(workers=2), partial(work.die_of_three, str(tmp_path)), list(range(12)))
    assert not any(map(alive, pids(tmp_path)))
    error = found.pop(3)
    assert found == {task: task * task for task in range(12) if task != 3}
    assert isinstance(error, WorkerDiedError)
    assert len(pids(tmp_path, 3)) == 3
    assert [os.environ.get(name) for name in dask.ENVIRONMENT] == before


def listening_at() -> set[tuple[str, int]]:
    """Return the addresses and ports at which this process and its children listen."""
    own = psutil.Process()
    every = [each for process in (own, *own.children(recursive=True)) for each in process.net_connections("tcp")]
    return {tuple(each.laddr) for each in every if each.status == psutil.CONN_LISTEN}


def test_only_a_key_opens_them_and_they_end_with_the_results(
    work: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler speaks TLS, nothing listens beyond 127.0.0.1, and a task in the middle of a minute is ended."""
    before, addresses, started = listening_at(), [], Dask._started

    @contextlib.contextmanager
    def spy(self: Dask) -> Iterator[Any]:
        with started(self) as cluster:
            addresses.append(cluster.scheduler_address)
            yield cluster

    monkeypatch.setattr(Dask, "_started", spy)
    stream = Dask(workers=2).map(partial(work.either, str(tmp_path)), ["NUMBA_NUM_THREADS", 60.0, 61.0, 62.0])
    assert next(stream) == ("NUMBA_NUM_THREADS", "1")
    opened = listening_at() - before
    assert len(opened) >= 3
    assert {address for address, _ in opened} == {"127.0.0.1"}
    assert addresses[0].startswith("tls://127.0.0.1:")
    until(lambda: len(pids(tmp_path, "6?.0")) == 2)
    stream.close()
    assert not any(map(alive, pids(tmp_path, "6?.0")))
    assert [message for message in caplog.messages if "uses no TLS" in message] == []


@pytest.mark.parametrize("here", [False, True])
def test_ctrl_c_stops_what_is_played_and_leaves_no_log(
    here: bool, scheduler: str, modules: Path, tmp_path: Path
) -> None:
    """SIGINT to the whole group, as a terminal sends it: one line of our own, no task goes on."""
    (modules / "interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    command = [sys.executable, str(modules / "interrupted.py"), str(tmp_path), "" if here else scheduler]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        until(lambda: len(pids(tmp_path, "6?.0")) == 2)
        os.killpg(process.pid, signal.SIGINT)
        written, logged = process.communicate(timeout=600)
    assert written.removeprefix("0.01\n") == "interrupted\n"
    assert logged.splitlines() == ([] if here else [dask.OPEN_SCHEDULER % scheduler])
    until(lambda: not any(map(alive, pids(tmp_path, "6?.0"))))


def test_a_study_has_the_curves_of_a_serial_one(
    scheduler: str, tiny: str, play_into: Any, finished: Any, untimed: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """A run on a cluster: curves.csv is that of serial, apart from the seconds.

    The workers have another working directory than this process, whose run directory is a relative path.
    """
    monkeypatch.chdir(tmp_path)
    text = tiny.replace("horizon = 40", "horizon = 40\nseeds = [0, 1]")
    play_into(f'{text}\n[run]\nscheduler = "{scheduler}"\nsave_seconds = 1e-9\n', Path("dask"), "dask")
    assert untimed(Path("dask")) == untimed(finished(text))
    assert len(untimed(Path("dask"))) > 2 * 5


@pytest.mark.parametrize(
    ("call", "missing", "message"),
    [
        (lambda: Dask(scheduler="127.0.0.1"), None, "'127.0.0.1' is not an address like tcp://host:8786: missing port"),
        (lambda: Dask(scheduler=""), None, "'' is not an address like tcp://host:8786"),
        (lambda: Dask(scheduler="http://here:80"), None, "'http://here:80' is not an address like .* scheme 'http'"),
        (lambda: Dask(scheduler="tcp://h:1", workers=2), None, "leave workers out: a Dask scheduler has the workers"),
        *(
            (lambda address=address: next(Dask(scheduler=address).map(abs, [1])), None, message)
            for address, message in (
                (
                    "tcp://127.0.0.1:9",
                    r"cannot connect to the Dask scheduler at tcp://127\.0\.0\.1:9: .*; start one with",
                ),
                (
                    "tls://127.0.0.1:9",
                    r"cannot connect to the Dask scheduler at tls://127\.0\.0\.1:9: .*distributed\.comm\.tls",
                ),
            )
        ),
        *(
            (Dask, package, rf"dask backend is missing .*{package}.*: pip install '\.\[dask\]'")
            for package in ("distributed", "cryptography")
        ),
    ],
)
def test_what_cannot_be_reached_is_one_line(
    call: Callable[[], object], missing: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mistakes and packages before anything is started; how to start a scheduler, and where to name the key."""
    monkeypatch.setattr(dask, "SECONDS", 0.3)
    if missing:
        monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=message):
        call()
