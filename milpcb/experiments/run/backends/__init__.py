"""Backends, which compute the tasks of a study: in this process, in others of this machine, or (dask.py) elsewhere."""

import multiprocessing as mp
import os
import pickle
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, TypeVar, cast

from milpcb.core.surroundings import CHILD
from milpcb.errors import MilpcbError

T = TypeVar("T")
R = TypeVar("R")

TRIES = 3  # how often a task is begun whose worker dies
# One thread a worker: the workers are the parallelism, and sums of floats then come in one order everywhere.
LIBRARIES = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMBA_NUM", "POLARS_MAX")
ONE_THREAD = {f"{library}_THREADS": "1" for library in LIBRARIES}
WORKERS = ONE_THREAD | CHILD  # the environment variables that they get
# Not "fork": solvers and compiled code hold threads and locks that a forked copy would wait for.
METHOD = "forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn"


News = dict[str, Any]  # plain data
listener: ContextVar[Callable[[News], None]] = ContextVar("listener", default=lambda _: None)


@contextmanager
def listening(to: Callable[[News], None]) -> Iterator[None]:
    """Pass the reports of tasks in the block on to a function, wherever a backend computes them."""
    token = listener.set(to)
    try:
        yield
    finally:
        listener.reset(token)


def report(news: News) -> None:
    """Report news of the task that is computed here, such as its position; without a listener they are lost."""
    listener.get()(news)


class WorkerDiedError(MilpcbError):
    """A task whose worker was killed, or ran out of memory, every time it was tried."""


class Backend(Protocol):
    """Computes tasks; its constructor may name ``workers``, None for one a core, and the address of a ``scheduler``."""

    def map(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Exception]]:
        """Yield every task with its result, in the order in which they finish; ``work`` can be pickled.

        An exception of ``work`` is a result, not a crash; a worker that dies is replaced, and its task tried again.
        Closing the iterator early stops all work.
        """
        ...


class Serial:
    """One task after the other, in this process: for a single task, for debuggers, and to compare others with."""

    def map(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Exception]]:
        """See Backend.map."""
        for task in tasks:
            yield task, attempt(work, task)


class Processes:
    """As many worker processes as there are cores, unless ``workers`` is given."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or cores()

    def map(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Exception]]:
        """See Backend.map."""
        waiting, tries = deque(range(len(tasks))), Counter[int]()
        team = [_Worker(work) for _ in range(min(self._workers, len(tasks)))]
        busy: dict[Connection, tuple[_Worker, int]] = {}

        def give(worker: _Worker) -> None:
            if waiting:
                busy[worker.pipe] = worker, (number := waiting.popleft())
                tries[number] += 1
                with suppress(OSError):  # it died while idle; the answer shows it
                    worker.pipe.send(tasks[number])

        try:
            for worker in team:
                give(worker)
            while busy:
                for ready in cast("list[Connection]", wait(list(busy))):
                    worker, number = busy[ready]
                    try:
                        ended, result = ready.recv()
                        if not ended:
                            report(result)
                            continue
                    except (EOFError, OSError):  # the process died
                        died = f"its worker process died {tries[number]} times (exit code {worker.stop(patience=5)})"
                        result = WorkerDiedError(f"{died}: killed, or out of memory")
                        team[team.index(worker)] = worker = _Worker(work)
                        ended = tries[number] == TRIES
                        waiting.extendleft([] if ended else [number])
                    del busy[ready]
                    give(worker)  # before the result is looked at, so that the worker need not wait for that
                    if ended:
                        yield tasks[number], result
        finally:
            for worker in team:
                worker.stop()


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Worker:
    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = mp.get_context(METHOD)
        if METHOD == "forkserver":
            context.set_forkserver_preload(["milpcb.experiments.run.runner"])
        self.pipe, theirs = context.Pipe()
        # Every context has the class Process.
        self._process = context.Process(target=_serve, args=(theirs, work), daemon=True)  # type: ignore[attr-defined]
        with environment(WORKERS):
            self._process.start()
        theirs.close()

    def stop(self, patience: float = 0) -> int | None:
        """End the process, whatever it is doing, if it does not end by itself soon; return its exit code."""
        self._process.join(timeout=patience)
        self._process.kill()
        self._process.join()
        self.pipe.close()
        return cast("int | None", self._process.exitcode)


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    """Answer one task after the other, with (False, news) and then (True, result); end at once when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Control-C reaches the whole terminal; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError), listening(lambda news: pipe.send((False, news))):
        while True:
            pipe.send((True, attempt(work, pipe.recv())))


def _end_with_parent() -> None:
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def attempt(work: Callable[[T], R], task: T) -> R | Exception:
    """Return the result of a task; an exception is one, too."""
    try:
        return work(task)
    except Exception as error:  # noqa: BLE001 - whatever a task raises is its result
        return portable(error)


def portable(error: Exception) -> Exception:
    """Return the error, or its line if it cannot be pickled and unpickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - constructors of errors may raise anything
        return MilpcbError(str(error) if isinstance(error, MilpcbError) else f"{type(error).__name__}: {error}")
    return error


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, which processes that start within inherit; they are as before after the block."""
    before: dict[str, Any] = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in before.items() if value is not None})
