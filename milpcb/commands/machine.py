"""``milpcb solvers``, ``milpcb compile`` and ``milpcb --version``: the parts of this machine that milpcb runs with."""

from __future__ import annotations

import multiprocessing as mp
import platform
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import redirect_stderr
from functools import partial
from importlib.metadata import version
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

import click
import numpy as np
from rich.table import Table

from milpcb.commands.console import out
from milpcb.errors import InputError
from milpcb.plugins import registry
from milpcb.types import Floats, Ints

if TYPE_CHECKING:
    from milpcb.oracles.base import Oracle


@click.command()
def solvers() -> None:
    """Show which solvers can run here, and why the others cannot."""
    from milpcb.solvers import describe_all

    table = Table("solver", "version", "can do", "runs here")
    for info in describe_all():
        install = f"; pip install '.[{info.extra}]' in the clone" if info.extra else ""
        table.add_row(info.name, info.version, info.can, f"no: {info.missing}{install}" if info.missing else "yes")
    out.print(table)


PACKAGES = ("numpy", "scipy", "numba")


def versions() -> str:
    """Return the versions of milpcb, Python, the packages that compute, and the solvers that can run here."""
    from milpcb.solvers import describe_all

    solvers = [f"{info.name} {info.version}".strip() for info in describe_all() if not info.missing]
    packages = [f"{package} {version(package)}" for package in PACKAGES]
    lines = f"milpcb, version {version('milpcb')}", f"Python {platform.python_version()}, {', '.join(packages)}"
    return "\n".join([*lines, f"solvers: {', '.join(solvers)}"])


# ------------------------------------------------------------------- machine code

# Small queries of every search, which compile nearly all of the machine code that larger ones need. Numba compiles a
# function at its first call, for the types of its arguments. Once all of these queries have been answered on a machine,
# the code is on disk, and no later process waits for it.

# Contexts: how many there are, of how many features, and how many values each of these has.
FEW, WIDE = (40, 3, 5), (4, 20, 2)
MANY_CUTS, EVERY_CUT = (40, 2, 20), (60, 2, 10**6)

# Questions by a name to show: a registered class, its options and contexts; without thresholds among these,
# with one and with all. Two kinds of trees at once would both compile what they share: others come between.
SEARCHES: dict[str, tuple[str, dict[str, Any], tuple[int, int, int]]] = {
    "trees of depth 3": ("decision_trees", {"depth": 3}, FEW),
    "trees on every cut": ("decision_trees", {"depth": 2, "thresholds": "all"}, EVERY_CUT),
    "scoring rules": ("linear_rules", {"max_weight": 2}, FEW),
    "trees with large leaves": ("decision_trees", {"min_leaf_size": 3}, FEW),
    "trees of depth 3 on every cut": ("decision_trees", {"depth": 3, "thresholds": "all"}, EVERY_CUT),
    "trees of depth 3 with few leaves": ("decision_trees", {"depth": 3, "max_leaves": 5}, FEW),
    "trees": ("decision_trees", {"depth": 2}, FEW),
    "scoring rules of many features": ("linear_rules", {"max_weight": 1}, WIDE),  # branch and bound
    "monotone rules": ("monotone_rules", {}, FEW),
    "rule lists": ("rule_lists", {"max_rules": 2}, FEW),
    "boxes": ("box_rules", {"max_features": 2}, FEW),
    "threshold rules": ("threshold_rules", {"max_cuts": 2}, FEW),
    "trees of many cuts": ("decision_trees", {"depth": 2}, MANY_CUTS),
    "trees of many cuts with large leaves": ("decision_trees", {"min_leaf_size": 3}, MANY_CUTS),
    "trees of many cuts with few features": ("decision_trees", {"max_features": 1}, MANY_CUTS),
    "trees with few leaves": ("decision_trees", {"max_leaves": 3}, FEW),
    "trees with few features": ("decision_trees", {"max_features": 1}, FEW),
    "trees of one test": ("decision_trees", {"depth": 1}, FEW),
}
DRAWS = "draws of the future"
JOBS = (*SEARCHES, DRAWS)


def ask(job: str, order: Literal["C", "F"] = "C") -> str:
    """Make the queries of one of JOBS, with tables that lie in memory in this order; return the job."""
    with redirect_stderr(StringIO()):  # no line that code is compiled, or that a search is long
        for query in queries(job, order):
            query()
    return job


def queries(job: str, order: Literal["C", "F"] = "C") -> Iterator[Callable[[], Any]]:
    """Yield the queries of one of JOBS, each of which may be made without the others, and returns its answer."""
    from milpcb.constraints import share_at_most
    from milpcb.contexts.draws import coordinate_sums, rademacher_sums
    from milpcb.oracles import open_oracle

    if job == DRAWS:
        yield from (partial(_drawn, draw) for draw in (rademacher_sums, coordinate_sums))
        return
    name, options, (n_rows, n_features, n_values) = SEARCHES[job]
    rng, n_actions = np.random.default_rng(0), 2 if name == "linear_rules" else 3
    contexts = np.array(rng.integers(0, n_values, (n_rows, n_features)), dtype=float, order=order)
    costs = np.array(rng.integers(-9, 10, (n_rows, n_actions)), dtype=float, order=order)
    half = share_at_most(0, 0.5)
    for thresholds in (1, "all") if "thresholds" not in options else (options["thresholds"],):
        policies = registry.load("policies", name)(n_actions, **{**options, "thresholds": thresholds})
        for constraints in ((), (half,)) if "constraints" in policies.on(contexts).capabilities else ((),):
            opened = partial(open_oracle, policies, contexts, kind="search", constraints=constraints)
            for asked in (costs, costs / 3.0):
                yield from (partial(_answer, query, opened, asked) for query in QUERIES)


def folder() -> str | None:
    """Return where machine code is kept; None where no folder can be written."""
    from milpcb.contexts import kernels

    kernel: Any = kernels.ones
    kept: str | None = kernel.stats.cache_path
    return kept


def _answer(query: Callable[[Any, Floats], Any], opened: Callable[[], Oracle], costs: Floats) -> Any:
    return query(opened(), costs)


def _best(oracle: Oracle, costs: Floats) -> Any:
    near = oracle.near_best(costs, 0.0)
    return near.listed and [near.count, next(near.policies())]


def _kept(oracle: Oracle, costs: Floats) -> Any:
    if "columns" not in oracle.capabilities:
        return None
    table = oracle.table("columns")
    table.add(0, 0, float(costs[0, 0]))
    table.add_all([1], [1], [float(costs[1, 1])])
    weights = "action_weights" in oracle.capabilities and table.action_weights(0, 0.1)
    return [table.profile(0), table.minimise(), weights]


# All that a search can answer, of a table of costs and of totals that are kept.
QUERIES: tuple[Callable[[Oracle, Floats], Any], ...] = (
    lambda oracle, costs: oracle.value(costs),
    lambda oracle, costs: oracle.profile(costs, 0),
    lambda oracle, costs: oracle.minimise(costs),
    lambda oracle, costs: "action_weights" in oracle.capabilities and oracle.action_weights(costs, 0, 0.1),
    _best,
    _kept,
)


def _drawn(draw: Callable[..., Ints]) -> Ints:
    from milpcb.contexts.draws import Multinomial

    rng = np.random.default_rng(0)
    return draw(Multinomial(np.full(4, 0.25)).draw(30, rng), 3, rng)


@click.command("compile")
@click.option("--workers", type=click.IntRange(min=1), help="Processes at work [default: one for each core].")
def compile_code(*, workers: int | None) -> None:
    """Compile the searches of all built-in policy classes to machine code, so that no first query waits for it.

    The code is kept in NUMBA_CACHE_DIR, else in the folder for caches of the user. Whoever runs this in the recipe of a
    container image sets NUMBA_CACHE_DIR to a folder of the image, there and where the image runs. What is there already
    is loaded, not compiled again; a new version of milpcb, numba or Python needs code of its own.
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
