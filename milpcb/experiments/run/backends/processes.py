"""Processes on this machine, one task at a time each; one that dies is replaced and its task tried again."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar, cast

from milpcb.experiments.run.backends import TRIES, WORKERS, WorkerDiedError, attempt, environment

T = TypeVar("T")
R = TypeVar("R")

# Not "fork": solvers and compiled code hold threads and locks that a forked copy would wait for.
METHOD = "forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn"
DIED = "its worker process died {} times (exit code {}): killed, or out of memory"


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
                    job, ended = worker.job, True
                    try:
                        result = ready.recv()
                    except (EOFError, OSError):  # the process died
                        team.remove(worker)
                        result = WorkerDiedError(DIED.format(job.tries, worker.stop(patience=5)))
                        worker = _Worker(work)
                        team.append(worker)
                        if job.tries < TRIES:
                            waiting.appendleft(job)
                            ended = False
                    if waiting:  # before the result is looked at, so that the worker need not wait for that
                        busy[worker.give(waiting.popleft())] = worker
                    if ended:
                        yield job.task, result
        finally:
            for worker in team:
                worker.stop()


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class _Job:
    task: Any
    tries: int = 0


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = mp.get_context(METHOD)
        if METHOD == "forkserver":
            context.set_forkserver_preload(["milpcb.experiments.run.task"])
        self._pipe, theirs = context.Pipe()
        # Every context has the class Process.
        self._process = context.Process(target=_serve, args=(theirs, work), daemon=True)  # type: ignore[attr-defined]
        with environment(WORKERS):
            self._process.start()
        theirs.close()
        self.job: _Job

    def give(self, job: _Job) -> Connection:
        """Send a job to the process; return the pipe, which can be read when the job has ended or the process died."""
        self.job = job
        job.tries += 1
        with contextlib.suppress(OSError):  # it died while idle; the answer shows it
            self._pipe.send(job.task)
        return self._pipe

    def stop(self, patience: float = 0) -> int | None:
        """End the process, whatever it is doing, if it does not end by itself soon; return its exit code."""
        self._process.join(timeout=patience)
        self._process.kill()
        self._process.join()
        self._pipe.close()
        return cast("int | None", self._process.exitcode)


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    """Answer one task after the other until the pipe is closed; end at once when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Control-C reaches the whole terminal; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(attempt(work, pipe.recv()))


def _end_with_parent() -> None:
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
