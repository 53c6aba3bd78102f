"""``milpcb solvers``, ``milpcb compile`` and ``milpcb --version``: the parts of this machine that milpcb runs with."""

import multiprocessing as mp
import platform
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import redirect_stderr
from importlib.metadata import version
from io import StringIO
from typing import Any, Literal

import click
import numpy as np
from rich.table import Table

from milpcb.commands.console import out
from milpcb.constraints import share_at_most
from milpcb.contexts.draws import Multinomial, coordinate_sums, rademacher_sums
from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.plugins import registry
from milpcb.solvers import describe_all
from milpcb.types import Floats


@click.command()
def solvers() -> None:
    """Show which solvers can run here, and why the others cannot."""
    table = Table("solver", "version", "can do", "runs here")
    for info in describe_all():
        install = f"; pip install '.[{info.extra}]' in the clone" if info.extra else ""
        table.add_row(info.name, info.version, info.can, f"no: {info.missing}{install}" if info.missing else "yes")
    out.print(table)


def versions() -> str:
    """Return the versions of milpcb, Python, the packages that compute, and the solvers that can run here."""
    solvers = [f"{info.name} {info.version}".strip() for info in describe_all() if not info.missing]
    packages = [f"{package} {version(package)}" for package in ("numpy", "scipy", "numba")]
    lines = f"milpcb, version {version('milpcb')}", f"Python {platform.python_version()}, {', '.join(packages)}"
    return "\n".join([*lines, f"solvers: {', '.join(solvers)}"])


# ------------------------------------------------------------------- machine code

# Small queries of every search, which compile the machine code that larger ones need. Numba compiles a function at its
# first call, for the types of its arguments. Once all of these queries have been answered on a machine, the code is on
# disk, and no later process waits for it.

# Contexts: how many there are, of how many features, and how many values each of these has.
FEW, WIDE, EVERY_CUT = (40, 3, 5), (4, 20, 2), (60, 2, 10**6)

# Questions by a name to show: a registered class, its options and contexts; without thresholds among these,
# with one and with all. Two kinds of trees at once would both compile what they share: others come between.
SEARCHES: dict[str, tuple[str, dict[str, Any], tuple[int, int, int]]] = {
    "trees of depth 3": ("decision_trees", {"depth": 3}, FEW),
    "scoring rules": ("linear_rules", {"max_weight": 2}, FEW),
    "monotone rules": ("monotone_rules", {}, FEW),
    "trees on every cut": ("decision_trees", {"depth": 2, "thresholds": "all"}, EVERY_CUT),
    "scoring rules of many features": ("linear_rules", {"max_weight": 1}, WIDE),  # branch and bound
    "rule lists": ("rule_lists", {"max_rules": 2}, FEW),
    "trees of depth 3 on every cut": ("decision_trees", {"depth": 3, "thresholds": "all"}, EVERY_CUT),
}
DRAWS = "draws of the future"
JOBS = (*SEARCHES, DRAWS)


def ask(job: str, order: Literal["C", "F"] = "C") -> str:
    """Make the queries of one of JOBS, with tables that lie in memory in this order; return the job."""
    with redirect_stderr(StringIO()):  # no line that code is compiled, or that a search is long
        if job == DRAWS:
            _draw()
        else:
            for oracle, costs in _opened(job, order):
                _query(oracle, costs)
    return job


def _opened(job: str, order: Literal["C", "F"]) -> Iterator[tuple[Oracle, Floats]]:
    """Yield the oracles of a search, and tables of costs, whole and others."""
    name, options, (n_rows, n_features, n_values) = SEARCHES[job]
    rng, n_actions = np.random.default_rng(0), 2 if name == "linear_rules" else 3
    contexts = np.array(rng.integers(0, n_values, (n_rows, n_features)), dtype=float, order=order)
    costs = np.array(rng.integers(-9, 10, (n_rows, n_actions)), dtype=float, order=order)
    half = share_at_most(0, 0.5)
    for thresholds in (1, "all") if "thresholds" not in options else (options["thresholds"],):
        policies = registry.load("policies", name)(n_actions, **{**options, "thresholds": thresholds})
        for constraints in ((), (half,)) if "constraints" in policies.on(contexts).capabilities else ((),):
            for asked in (costs, costs / 3.0):
                yield open_oracle(policies, contexts, kind="search", constraints=constraints), asked


def _query(oracle: Oracle, costs: Floats) -> None:
    """Ask for all that a search can answer, of a table of costs and of totals that are kept."""
    oracle.value(costs)
    oracle.profile(costs, 0)
    oracle.minimise(costs)
    weighs, near = "action_weights" in oracle.capabilities, oracle.near_best(costs, 0.0)
    if weighs:
        oracle.action_weights(costs, 0, 0.1)
    if near.listed:
        _ = near.count, next(near.policies())
    if "columns" in oracle.capabilities:
        table = oracle.table("columns")
        table.add(0, 0, float(costs[0, 0]))
        table.add_all([1], [1], [float(costs[1, 1])])
        table.profile(0)
        table.minimise()
        if weighs:
            table.action_weights(0, 0.1)


def _draw() -> None:
    rng = np.random.default_rng(0)
    for draw in (rademacher_sums, coordinate_sums):
        draw(Multinomial(np.full(4, 0.25)).draw(30, rng), 3, rng)


def folder() -> str | None:
    """Return where machine code is kept; None where no folder can be written."""
    from milpcb.contexts import kernels

    kernel: Any = kernels.ones
    kept: str | None = kernel.stats.cache_path
    return kept


@click.command("compile")
@click.option("--workers", type=click.IntRange(min=1), help="Processes at work [default: one for each core].")
def compile_code(*, workers: int | None) -> None:
    """Compile the searches of all built-in policy classes to machine code, so that no first query waits for it.

    The code is kept in NUMBA_CACHE_DIR, else in the folder for caches of the user. To run this in the recipe of a
    container image, set NUMBA_CACHE_DIR to a folder of the image, there and where the image runs. Code that is there
    already is loaded, not compiled again; a new version of milpcb, numba or Python needs code of its own.
    """
    from milpcb.experiments.run.backends import cores

    kept = folder()
    if kept is None:
        raise InputError(
            "there is no folder for machine code that you can write and others cannot; "
            "set NUMBA_CACHE_DIR to one, by its absolute path"
        )
    with ProcessPoolExecutor(workers or cores(), mp.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(ask, job) for job in JOBS]):
            out.print(f"compiled: {done.result()}")
    out.print(f"machine code is in {kept}")
