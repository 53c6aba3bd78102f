"""``milpcb solvers``, ``milpcb compile`` and ``milpcb --version``: the parts of this machine that milpcb runs with."""

from __future__ import annotations

import multiprocessing as mp
import os
import platform
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import PackageNotFoundError, version
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

import click
from rich.table import Table

from milpcb.commands.console import out
from milpcb.core.kernels import ANNOUNCED
from milpcb.errors import InputError

if TYPE_CHECKING:
    from milpcb.protocols import SolverInfo


@click.command()
@click.option("--all", "every", is_flag=True, help="Also a line for each solver that cannot run here, with the reason.")
def solvers(*, every: bool) -> None:
    """Show which solvers can run here, and how to install the others."""
    from milpcb.solvers import describe_all

    known = describe_all()
    table = Table("solver", "version", "can do", "runs here")
    for info in known:
        if every or not info.missing:
            table.add_row(info.name, info.version, info.can, f"no: {info.missing}" if info.missing else "yes")
    out.print(table)
    for line in [] if every else missing(known):
        out.print(line)


def missing(known: list[SolverInfo]) -> Iterator[str]:
    """Yield a line for all missing solvers that extras install, and one for each other family with missing ones."""
    extras = [info.extra for info in known if info.missing and info.extra]
    if extras:
        install = f"pip install '.[{','.join(extras)}]' in the clone"
        yield f"not here: {', '.join(extras)}; {install}, or those of them you want"
    families: dict[str, list[SolverInfo]] = {}
    for info in known:
        if info.missing and not info.extra:
            families.setdefault(info.name.partition(":")[0], []).append(info)
    for family, missing in families.items():
        if len(missing) == 1:
            yield f"not here: {missing[0].name} ({missing[0].missing})"
            continue
        names = ", ".join(info.name.partition(":")[2] for info in missing)
        yield f"not here: {family}:NAME for {names}; install NAME where {family} finds it (milpcb solvers --all: why)"


@click.command("compile")
@click.option("--workers", type=click.IntRange(min=1), help="Processes at work [default: one for each core].")
def compile_code(*, workers: int | None) -> None:
    """Compile the searches of all built-in policy classes to machine code, so that no first query waits for it.

    The code is kept in NUMBA_CACHE_DIR, else in the folder for caches of the user. Whoever runs this in the recipe of a
    container image sets NUMBA_CACHE_DIR to a folder of the image, there and where the image runs. What is there already
    is loaded, not compiled again; a new version of milpcb, numba or Python needs code of its own.
    """
    from milpcb.commands.compiling import JOBS, ask, folder
    from milpcb.experiments.run.backends import cores

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


PACKAGES = ("numpy", "scipy", "numba")


def versions() -> str:
    """Return the versions of milpcb, Python, the packages that compute, and the solvers that can run here."""
    from milpcb.solvers import describe_all

    solvers = [f"{info.name} {info.version}".strip() for info in describe_all() if not info.missing]
    packages = [f"{package} {_version(package)}" for package in PACKAGES]
    return "\n".join(
        (
            f"milpcb, version {_version('milpcb')}",
            f"Python {platform.python_version()}, {', '.join(packages)}",
            f"solvers: {', '.join(solvers)}",
        )
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"
