"""Dask: a cluster of one's own on this machine, closed by TLS, or any cluster whose scheduler has an address."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from typing import Any, TypeVar

from milpcb.errors import InputError, MilpcbError, RunError
from milpcb.experiments.run import backends

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 500  # tasks that the scheduler knows at a time: enough for 250 workers, and 10 000 would only slow it
TOPIC = "milpcb"  # of the events by which workers report positions
SECONDS = 8  # to wait for a scheduler of others, and for workers to stop
PATIENCE = 600  # seconds to wait for processes of one's own, which a busy machine may keep from answering
START = "start one with 'dask scheduler', and workers with 'dask worker {0} --nworkers 2 --nthreads 1'"

# Of the workers that are started here; the seed is Dask's own, which it would leave behind in this process.
ENVIRONMENT = backends.WORKERS | {"DASK_LOGGING__DISTRIBUTED": "critical", "PYTHONHASHSEED": "6640"}
HEALTH = ["distributed.http.health"]  # of what Dask shows over HTTP to whoever asks, the least there is
SETTINGS = {  # of a cluster that is started here
    "distributed.scheduler.allowed-failures": backends.TRIES - 1,
    "distributed.scheduler.worker-saturation": 1.0,  # no task waits at a worker, to be blamed for another's crash
    "distributed.scheduler.worker-ttl": None,  # a solver call may keep a worker silent for as long as it likes
    "distributed.comm.timeouts.connect": f"{PATIENCE}s",
    "distributed.comm.timeouts.tcp": f"{PATIENCE}s",
    "distributed.nanny.pre-spawn-environ": ENVIRONMENT,
    "distributed.scheduler.http.routes": HEALTH,
    "distributed.worker.http.routes": HEALTH,
}

OPEN_SCHEDULER = (
    "the Dask scheduler at %s uses no TLS: whoever can reach it can run code as you (see dask's docs on TLS)"
)
logger = logging.getLogger(__name__)


class Dask:
    """Workers of a Dask cluster: started here, ``workers`` many (default: one a core), or those of ``scheduler``."""

    def __init__(self, workers: int | None = None, scheduler: str | None = None) -> None:
        if workers is not None and scheduler is not None:
            raise InputError("workers and scheduler exclude each other: a scheduler has the workers that connect to it")
        try:
            self._dask: Any = import_module("distributed")
            if scheduler is None:
                import_module("cryptography")  # makes the key of a cluster that is started here
        except ImportError as error:
            raise InputError(f"the dask backend is missing ({error}): pip install '.[dask]' in the clone") from error
        self._workers, self._scheduler = workers, scheduler
        try:
            self._dask.comm.get_address_host_port(scheduler or "tcp://127.0.0.1:0")
        except ValueError as error:
            raise InputError(f"scheduler '{scheduler}' is not an address like tcp://host:8786: {error}") from error

    def map(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Exception]]:
        """See Backend.map; an error that a worker's installation can cause names the worker."""
        with self._connected() as client:
            running: dict[Any, tuple[Any, int]] = {}
            hand_on = backends.listener.get()  # events arrive in a thread of the client
            client.subscribe_topic(TOPIC, lambda event: hand_on(event[1]))
            try:
                yield from self._results(client, work, tasks, running)
            finally:
                if running and self._scheduler is not None:
                    _stop(client, list(running))

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        with _silent(), contextlib.ExitStack() as stack:
            if self._scheduler is not None and not self._scheduler.startswith("tls://"):
                logger.warning(OPEN_SCHEDULER, self._scheduler)
            address = self._scheduler or stack.enter_context(self._local_cluster())
            # A client that cannot connect is closed here: the garbage collector may close it in the thread of another
            # loop as that one starts, and it then waits for the lock of the thread that waits for it.
            client = self._dask.Client.__new__(self._dask.Client)
            try:
                client.__init__(address, timeout=SECONDS if self._scheduler else PATIENCE, set_as_default=False)
            except TypeError as error:  # no key where one is needed
                client.close()
                raise InputError(
                    f"cannot connect to {address}: {error}; name its key in Dask's settings distributed.comm.tls"
                ) from error
            except OSError as error:
                client.close()
                raise InputError(f"no Dask scheduler answers at {address}; {START.format(address)}") from error
            stack.enter_context(client)
            yield client

    @contextlib.contextmanager
    def _local_cluster(self) -> Iterator[Any]:
        """Start one process a worker; memory is not shared out, as one large cell may need most of it."""
        with backends.environment(ENVIRONMENT):  # Dask sets it here, too, for its children
            with import_module("dask").config.set(SETTINGS), _uninterrupted():
                cluster = self._dask.LocalCluster(
                    n_workers=self._workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,
                    security=self._dask.Security.temporary(),
                    scheduler_kwargs={
                        "dashboard": False,
                        "dashboard_address": "127.0.0.1:0",
                    },  # any port for its health
                    silence_logs=logging.CRITICAL,
                )
            with cluster:
                try:
                    yield cluster
                finally:
                    cluster.sync(_kill, list(cluster.workers.values()))

    def _results(
        self, client: Any, work: Callable[[T], Any], tasks: Sequence[T], running: dict[Any, tuple[Any, int]]
    ) -> Iterator[tuple[T, Any]]:
        finished = self._dask.as_completed(loop=client.loop, with_results=True, raise_errors=False)
        waiting, wanted = ((task, 0) for task in tasks), version("milpcb")

        def submit(tries: Iterable[tuple[T, int]]) -> None:
            for task, deaths in tries:
                # As bytes: the scheduler unpickles what it passes on, and need not have what only workers need.
                future = client.submit(_on_worker, pickle.dumps(partial(work, task)), wanted, pure=False)
                running[future] = (task, deaths)
                finished.add(future)

        submit(islice(waiting, AHEAD))
        for future, result in finished:
            task, deaths = running.pop(future)
            # Not the status of the future: it is "lost" where the worker of a result that is here has died since.
            if isinstance(result, self._dask.CancelledError):
                raise RunError(
                    f"the connection to the Dask scheduler at {client.scheduler.address} was lost; run again"
                )
            erred = isinstance(result, tuple) and len(result) == 3 and isinstance(result[1], BaseException)
            error = result[1] if erred else None
            if isinstance(error, self._dask.KilledWorker):
                deaths += error.allowed_failures + 1  # the scheduler has tried again, too
                if deaths < backends.TRIES:
                    submit([(task, deaths)])
                    continue
                died = f"its worker died {deaths} times (the last was {error.last_worker.address})"
                error = backends.WorkerDiedError(f"{died}: killed, or out of memory")
            yield task, result if error is None else error
            submit(islice(waiting, 1))


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


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C for the second that processes take to start, and in those processes: they are stopped from here."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep Dask's own account of lost workers and connections off the terminal: what matters comes as a result."""
    names = [name for name in logging.Logger.manager.loggerDict if name.split(".")[0] == "distributed"]
    before = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


async def _kill(nannies: Iterable[Any]) -> None:
    """End the workers now; closing the cluster would give a task that nobody waits for some seconds to finish."""
    await asyncio.gather(*(nanny.close(timeout=0.5) for nanny in nannies), return_exceptions=True)


def _stop(client: Any, futures: list[Any]) -> None:
    """Cancel what waits, and restart the workers that are in the middle of a task: nothing else stops a task."""
    ours = {future.key for future in futures}
    with contextlib.suppress(OSError, ValueError):  # the scheduler is gone; a worker has no nanny to restart it
        busy = [worker for worker, keys in client.processing().items() if ours.intersection(keys)]
        client.cancel(futures)
        client.restart_workers(busy, timeout=SECONDS, raise_for_error=False)
