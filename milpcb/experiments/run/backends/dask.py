"""Dask: any cluster whose scheduler has an address, or workers of this machine."""

from __future__ import annotations

import contextlib
import logging
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any, TypeVar

from milpcb.errors import InputError, MilpcbError, RunError
from milpcb.experiments.run import backends

T = TypeVar("T")
R = TypeVar("R")

TOPIC = "milpcb"  # of the events by which workers report positions
SECONDS = 8  # to wait for a scheduler, and for workers to stop
ADVICE = (
    "start one with 'dask scheduler', and workers with 'dask worker {0} --nworkers 2 --nthreads 1'; the key for tls:// "
    "is named in Dask's settings distributed.comm.tls"
)
OPEN_SCHEDULER = (
    "the Dask scheduler at %s uses no TLS: whoever can reach it can run code as you (see dask's docs on TLS)"
)
ENVIRONMENT = backends.WORKERS | {"PYTHONHASHSEED": "6640"}  # a seed of Dask, which it would leave behind
SETTINGS = {  # of workers that are started here
    "distributed.scheduler.allowed-failures": backends.TRIES - 1,
    "distributed.scheduler.worker-saturation": 1.0,  # no task waits at a worker, to be blamed for another's crash
    "distributed.scheduler.worker-ttl": None,  # a solver call may keep a worker silent for as long as it likes
    "distributed.nanny.pre-spawn-environ": ENVIRONMENT,
    "distributed.worker.preload": ["import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"],  # ended from here
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
LOCAL = {"threads_per_worker": 1, "memory_limit": 0, "host": "127.0.0.1", "silence_logs": logging.CRITICAL}
NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # else it is open to all
logger = logging.getLogger(__name__)


class Dask:
    """The workers of a Dask cluster whose ``scheduler`` has an address; else ``workers`` started here, one a core."""

    def __init__(self, workers: int | None = None, scheduler: str | None = None) -> None:
        if workers is not None and scheduler is not None:
            raise InputError("leave workers out: a Dask scheduler has the workers that connect to it")
        try:
            self._dask: Any = import_module("distributed")
            # Without a key every user of this machine could run code as this one, by workers that are started here.
            self._key = self._dask.Security.temporary() if scheduler is None else None
        except ImportError as error:
            raise InputError(f"the dask backend is missing ({error}): pip install '.[dask]' in the clone") from error
        try:
            self._dask.comm.get_address_host_port("tls://127.0.0.1:0" if scheduler is None else scheduler)
        except ValueError as error:
            raise InputError(f"scheduler '{scheduler}' is not an address like tcp://host:8786: {error}") from error
        self._scheduler, self._workers = scheduler, workers or backends.cores()

    def map(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Exception]]:
        """See Backend.map; an error that a worker's installation can cause names the worker."""
        # As bytes: the scheduler unpickles what it passes on, and need not have what only workers need.
        calls = [pickle.dumps(partial(work, task)) for task in tasks]
        with self._connected() as client:
            hand_on = backends.listener.get()  # events arrive in a thread of the client
            client.subscribe_topic(TOPIC, lambda event: hand_on(event[1]))
            futures = client.map(_on_worker, calls, wanted=version("milpcb"), pure=False)
            running = dict(zip(futures, tasks, strict=True))
            finished = self._dask.as_completed(futures, loop=client.loop, with_results=True, raise_errors=False)
            try:
                for future, result in finished:
                    yield running.pop(future), self._known(result)
            finally:
                if running and self._scheduler is not None:
                    _stop(client, list(running))

    def _known(self, result: Any) -> Any:
        # Not the status of the future: it is "lost" where the worker of a result that is here has died since.
        if isinstance(result, self._dask.CancelledError):
            raise RunError("the connection to the Dask scheduler was lost; run again")
        erred = isinstance(result, tuple) and len(result) == 3 and isinstance(result[1], BaseException)
        error = result[1] if erred else None
        if isinstance(error, self._dask.KilledWorker):
            died = f"its worker died {error.allowed_failures + 1} times (the last was {error.last_worker.address})"
            return backends.WorkerDiedError(f"{died}: killed, or out of memory")
        return result if error is None else error

    @contextlib.contextmanager
    def _started(self) -> Iterator[Any]:
        own: dict[str, Any] = {"n_workers": self._workers, "security": self._key, "scheduler_kwargs": NO_PAGE}
        with (
            backends.environment(ENVIRONMENT),
            import_module("dask").config.set(SETTINGS),
            self._dask.LocalCluster(processes=True, **LOCAL, **own) as cluster,
        ):
            yield cluster

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        if self._scheduler is None:
            with self._started() as cluster, self._dask.Client(cluster, set_as_default=False) as client:
                yield client
            return
        if not self._scheduler.startswith("tls://"):
            logger.warning(OPEN_SCHEDULER, self._scheduler)
        # A client that cannot connect is closed here: the garbage collector may close it in the thread of another loop
        # as that one starts, and it then waits for the lock of the thread that waits for it.
        client = self._dask.Client.__new__(self._dask.Client)
        quiet = self._dask.utils.silence_logging_cmgr  # what matters of lost workers comes as a result
        with quiet(logging.CRITICAL), quiet(logging.CRITICAL, "distributed.client"):
            try:
                client.__init__(self._scheduler, timeout=SECONDS, set_as_default=False)
            except (OSError, TypeError) as error:  # nobody answers; no key where one is needed
                client.close()
                advice = ADVICE.format(self._scheduler)
                raise InputError(
                    f"cannot connect to the Dask scheduler at {self._scheduler}: {error}; {advice}"
                ) from error
            with client:
                yield client


def _on_worker(work: bytes, wanted: str) -> Any:
    """Do the work; an exception comes back as a value, so that Dask neither logs it nor fails to unpickle it."""
    from distributed import get_worker

    from milpcb.experiments.run.runner import Outcome

    here = get_worker()
    worker = here.address
    if (found := version("milpcb")) != wanted:
        has = f"worker {worker} has milpcb {found}, this run {wanted}"
        return InputError(f"{has}: install the same version on all")
    try:
        with backends.listening(partial(here.log_event, TOPIC)):
            result = pickle.loads(work)()  # noqa: S301 - our own bytes
    except ImportError as error:
        return InputError(f"{error} (on worker {worker}); install there what the config names")
    except MilpcbError as error:
        error.args = (f"{error} (on worker {worker})",)
        return backends.portable(error)
    except Exception as error:  # noqa: BLE001 - whatever a task raises is its result
        return backends.portable(error)
    failed = isinstance(result, Outcome) and result.failure
    return replace(result, failure=f"{result.failure} (on worker {worker})") if failed else result


def _stop(client: Any, futures: list[Any]) -> None:
    """Cancel what waits, and restart the workers that are in the middle of a task: nothing else stops a task."""
    ours = {future.key for future in futures}
    with contextlib.suppress(OSError, ValueError):  # the scheduler is gone; a worker has no nanny to restart it
        busy = [worker for worker, keys in client.processing().items() if ours.intersection(keys)]
        client.cancel(futures)
        client.restart_workers(busy, timeout=SECONDS, raise_for_error=False)
