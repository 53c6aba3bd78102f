"""Backends, which compute the tasks of a study: here or, one a file, elsewhere. All of them give the same numbers."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from milpcb.core.surroundings import CHILD
from milpcb.errors import MilpcbError

T = TypeVar("T")
R = TypeVar("R")

TRIES = 3  # how often a task is begun whose worker dies
# One thread a worker: the workers are the parallelism, and sums of floats then come in one order everywhere.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
WORKERS = ONE_THREAD | CHILD  # the environment variables that they get


class WorkerDiedError(MilpcbError):
    """A task whose worker was killed, or ran out of memory, every time it was tried."""


class Backend(Protocol):
    """Computes tasks; ``workers`` None means as many as there are cores, ``scheduler`` is the address of a cluster."""

    def __init__(self, workers: int | None = None, scheduler: str | None = None) -> None: ...

    def map(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Exception]]:
        """Yield every task with its result, in the order in which they finish; ``work`` can be pickled.

        An exception of ``work`` is a result, not a crash; a worker that dies is replaced, and its task tried again.
        Closing the iterator early stops all work.
        """
        ...


class Serial:
    """One task after the other, in this process: for a single task, for debuggers, and to compare others with."""

    def __init__(self, workers: int | None = None, scheduler: str | None = None) -> None:
        del workers, scheduler

    def map(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Exception]]:
        """See Backend.map."""
        for task in tasks:
            yield task, attempt(work, task)


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
