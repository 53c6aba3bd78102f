"""``milpcb compile``: machine code made ahead, for a container image, a user, or a run of the tests."""

from __future__ import annotations

import multiprocessing as mp
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from tempfile import NamedTemporaryFile

import click

from milpcb.commands.console import out
from milpcb.core.kernels import ANNOUNCED
from milpcb.errors import InputError


@click.command("compile")
@click.option("--workers", type=click.IntRange(min=1), help="Processes at work [default: one for each core].")
def compile_code(*, workers: int | None) -> None:
    """Compile the searches of all built-in policy classes to machine code, so that no first query waits for it.

    The code is kept in NUMBA_CACHE_DIR, else in the folder for caches of the user. Whoever runs this in the recipe of a
    container image sets NUMBA_CACHE_DIR to a folder of the image, there and where the image runs. What is there already
    is loaded, not compiled again; a new version of milpcb, numba or Python needs code of its own.
    """
    from milpcb.experiments.run.backends.processes import cores
    from milpcb.oracles.compiling import JOBS, ask, folder

    kept = folder()
    if kept is None:
        raise InputError(
            "there is no folder for machine code that you can write and others cannot; "
            "set NUMBA_CACHE_DIR to one, by its absolute path"
        )
    with NamedTemporaryFile() as marker, ProcessPoolExecutor(workers or cores(), mp.get_context("spawn")) as pool:
        os.environ[ANNOUNCED] = marker.name  # it is there, so that workers do not announce what they do
        for done in as_completed([pool.submit(ask, job) for job in JOBS]):
            out.print(f"compiled: {done.result()}")
    out.print(f"machine code is in {kept}")
