"""Backends: every task has its result, whatever happens to the worker that computes it."""

import os
import subprocess
import sys
from contextlib import closing
from functools import partial

import pytest

from milpcb.experiments.run.backends import ONE_THREAD, TRIES, Processes, Serial, WorkerDiedError, listening
from tests.processes import alive, until

# Workers import it by its name, so it stands in a file of its own.
WORK = '''\
"""Work for backends."""

import os
import signal
import time
from pathlib import Path

from milpcb.experiments.run.backends import report


def square(task):
    return task * task


def announce(task):
    report({"task": task})
    return task


def fail_on_odd(task):
    if task % 2:
        raise ValueError(f"{task} is odd")
    return task


class PickyError(Exception):
    """Cannot be made again from what pickle keeps of it."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def fail_pickily(task):
    raise PickyError(task, task)


def begin(folder, task):
    """Note that the task was begun; return how often it was before."""
    times = len(list(Path(folder).glob(f"{task}.*")))
    begun = Path(folder) / f"{task}.new"
    begun.write_text(str(os.getpid()))
    begun.rename(Path(folder) / f"{task}.{times}")
    return times


def die(task, folder, deaths):
    """Kill the own process in the first tries of some tasks."""
    if begin(folder, task) < deaths.get(task, 0):
        os.kill(os.getpid(), signal.SIGKILL)
    return task, os.getpid()


def linger(task, folder):
    """Take a minute for all tasks but the first."""
    begin(folder, task)
    time.sleep(60 if task else 0)
'''


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Return the module of work, which workers can import too."""
    (tmp_path / "work_for_backends.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "work_for_backends", raising=False)
    import work_for_backends

    return work_for_backends


@pytest.fixture(params=[Serial(), Processes(workers=2)], ids=["serial", "processes"])
def backend(request):
    """Return each backend, with two workers."""
    return request.param


def test_every_task_comes_back_with_its_result(backend, work):
    """Each task once, whatever the order; none is fine too."""
    assert sorted(backend.map(work.square, range(20))) == [(n, n * n) for n in range(20)]
    assert list(backend.map(work.square, [])) == []


def test_news_of_tasks_reach_who_listens(backend, work):
    """News of a task that is computed arrive before its result, and are no result."""
    heard = []
    with listening(heard.append):
        assert sorted(backend.map(work.announce, range(6))) == [(n, n) for n in range(6)]
    assert sorted(news["task"] for news in heard) == list(range(6))
    assert list(backend.map(work.announce, [7])) == [(7, 7)]
    assert len(heard) == 6


def test_an_exception_is_a_result(backend, work):
    """A task that raises stops no other; its exception arrives with kind and text, or if pickle cannot, with text."""
    results = dict(backend.map(work.fail_on_odd, range(6)))
    assert [results[task] for task in (0, 2, 4)] == [0, 2, 4]
    assert [repr(results[task]) for task in (1, 3, 5)] == [f"ValueError('{task} is odd')" for task in (1, 3, 5)]
    ((_, error),) = backend.map(work.fail_pickily, [7])
    assert isinstance(error, Exception)
    assert "7 and 7" in str(error)


def tries(folder, task):
    """Return how often a task was begun."""
    return len(list(folder.glob(f"{task}.*")))


def test_a_killed_worker_is_replaced_and_its_task_tried_again(work, tmp_path):
    """Tasks that kill once or twice come back with their result; one that always does is an error in one line."""
    deaths = {1: 99, 3: 1, 5: TRIES - 1}
    found = list(Processes(workers=2).map(partial(work.die, folder=str(tmp_path), deaths=deaths), range(8)))
    assert len(found) == 8
    results = dict(found)
    error = results.pop(1)
    assert isinstance(error, WorkerDiedError)
    assert str(error) == f"its worker process died {TRIES} times (exit code -9): killed, or out of memory"
    assert {task: result[0] for task, result in results.items()} == {task: task for task in (0, 2, 3, 4, 5, 6, 7)}
    assert [tries(tmp_path, task) for task in range(8)] == [1, TRIES, 1, 2, 1, TRIES, 1, 1]


def test_a_single_worker_that_dies_last_is_replaced(work, tmp_path):
    """The only worker dying on the only task is no end of the run."""
    ((task, result),) = Processes(workers=1).map(partial(work.die, folder=str(tmp_path), deaths={0: 1}), [0])
    assert result[0] == task == 0


def test_closing_early_stops_all_work(work, tmp_path):
    """When the results are closed, workers are gone at once, whatever they were doing."""
    with closing(Processes(workers=2).map(partial(work.linger, folder=str(tmp_path)), range(10))) as results:
        assert next(results) == (0, None)
        until(lambda: all((tmp_path / f"{task}.0").exists() for task in (1, 2)))
        busy = [int((tmp_path / f"{task}.0").read_text()) for task in (1, 2)]
    assert not any(map(alive, busy))


def test_workers_import_nothing_from_the_current_folder_and_use_one_thread(tmp_path):
    """Python would look there even for its own modules, as it starts the processes that start the workers.

    Workers find one thread set for every numerical library; the own process keeps what it had. In a process of its own:
    whoever else began the server that forks workers gave it an environment.
    """
    for name in ("multiprocessing", "pickle", "signal"):
        (tmp_path / f"{name}.py").write_text("import os; os.mkdir('ran')")
    program = (
        "import sys; del sys.path[0]\n"
        "import os\n"
        "from milpcb.experiments.run.backends import ONE_THREAD, Processes\n"
        "found = [each for _, each in Processes(workers=1).map(os.getenv, list(ONE_THREAD))]\n"
        "print(found, set(ONE_THREAD.values()), os.environ['OMP_NUM_THREADS'])"
    )
    setting = os.environ | {"OMP_NUM_THREADS": "7"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=setting, capture_output=True, text=True, check=True)
    assert done.stdout == f"{['1'] * len(ONE_THREAD)} {{'1'}} 7\n"
    assert not (tmp_path / "ran").exists()
