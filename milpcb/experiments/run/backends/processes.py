"""Processes on this machine, one task at a time each; one that dies is replaced and its task tried again."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar, cast

from milpcb.experiments.run.backends import TRIES, WORKERS, WorkerDiedError

T = TypeVar("T")
R = TypeVar("R")

# Not "fork": solvers and compiled code hold threads and locks that a forked copy would wait for.
METHOD = "forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn"


class Processes:
    """As many worker processes as there are cores, unless ``workers`` is given."""

    def __init__(self, workers: int | None = None, scheduler: str | None = None) -> None:
        del scheduler
        self._workers = workers or cores()

    def map(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Exception]]:
        """See Backend.map."""
        waiting = deque(map(_Job, tasks))
        team = [_Worker(work) for _ in range(min(self._workers, len(tasks)))]
        try:
            busy = {worker.give(waiting.popleft()): worker for worker in team}
            while busy:
                for ready in cast("list[Connection]", wait(list(busy))):
                    worker = busy.pop(ready)
                    job, result = worker.take()
                    if isinstance(result, _Died):
                        team.remove(worker)
                        worker.stop()
                        worker = _Worker(work)
                        team.append(worker)
                        if job.tries < TRIES:
                            waiting.appendleft(job)
                            result = None
                        else:
                            result = _Ended(WorkerDiedError(result.message(job.tries)))
                    if waiting:  # before the result is looked at, so that the worker need not wait for that
                        busy[worker.give(waiting.popleft())] = worker
                    if result is not None:
                        yield job.task, result.value
        finally:
            for worker in team:
                worker.stop()


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class _Job:
    """A task, and the number of times that a worker has begun it."""

    task: Any
    tries: int = 0


@dataclass
class _Ended:
    """The end of a task: ``value`` is what the work returned, or the exception that it raised."""

    value: Any


@dataclass
class _Died:
    """The end of a worker process: its exit code, None where it is not known."""

    code: int | None

    def message(self, tries: int) -> str:
        return f"its worker process died {tries} times (exit code {self.code}): killed, or out of memory"


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = mp.get_context(METHOD)
        if METHOD == "forkserver":
            context.set_forkserver_preload(["milpcb.experiments.run.task"])
        self._pipe, theirs = context.Pipe()
        # Every context has the class Process.
        self._process = context.Process(target=_serve, args=(theirs, work), daemon=True)  # type: ignore[attr-defined]
        with _in_their_environment():
            self._process.start()
        theirs.close()
        self._job: _Job

    def give(self, job: _Job) -> Connection:
        """Send a job to the process; return the pipe, which can be read when the job has ended or the process died."""
        self._job = job
        job.tries += 1
        with contextlib.suppress(OSError):  # it died while idle; the answer below shows it
            self._pipe.send(job.task)
        return self._pipe

    def take(self) -> tuple[_Job, _Ended | _Died | None]:
        """Return the job and how it ended, or how the process died."""
        try:
            return self._job, _Ended(self._pipe.recv())
        except (EOFError, OSError):
            self._process.join(timeout=5)
            return self._job, _Died(self._process.exitcode)

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    """Answer one task after the other until the pipe is closed; end at once when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Control-C reaches the whole terminal; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            task = pipe.recv()
            try:
                result = work(task)
            except Exception as error:  # noqa: BLE001 - whatever a task raises is its result
                result = _picklable(error)
            pipe.send(result)


def _end_with_parent() -> None:
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _picklable(error: Exception) -> Exception:
    """Return the error, or its text where it would not survive the way through a pipe."""
    try:
        return pickle.loads(pickle.dumps(error))  # type: ignore[no-any-return]  # noqa: S301 - its own bytes
    except Exception:  # noqa: BLE001 - constructors of errors may raise anything
        return RuntimeError(f"{type(error).__name__}: {error}")


@contextlib.contextmanager
def _in_their_environment() -> Iterator[None]:
    """Let the processes that start within have the environment variables of workers."""
    before = {name: os.environ.get(name) for name in WORKERS}
    os.environ.update(WORKERS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
