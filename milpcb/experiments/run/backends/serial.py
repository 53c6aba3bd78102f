"""One task after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Serial:
    """The backend of a single task, of debuggers, and the one the others are compared with."""

    def __init__(self, workers: int | None = None, scheduler: str | None = None) -> None:
        del workers, scheduler

    def map(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Exception]]:
        """See Backend.map."""
        for task in tasks:
            result: R | Exception
            try:
                result = work(task)
            except Exception as error:  # noqa: BLE001 - whatever a task raises is its result
                result = error
            yield task, result
