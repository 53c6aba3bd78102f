"""Backends, which compute the tasks of a study, one a file. All of them give the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

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
