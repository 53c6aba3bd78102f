"""``milpcb solve``: one query to an oracle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.table import Table

from milpcb.commands.class_options import class_of, oracle_of
from milpcb.commands.console import PATH, check_ending, err, out
from milpcb.core.checks import real
from milpcb.core.decimals import spaced
from milpcb.errors import InputError
from milpcb.plugins import injection, registry

if TYPE_CHECKING:
    from milpcb.oracles.near_best import NearBest
    from milpcb.types import Answer

ENDINGS = ("json", "png", "svg")
SHOWN = 3  # near-best policies side by side


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("contexts", type=PATH)
@click.argument("costs", type=PATH)
@click.option("--policies", "name", default="decision_trees", show_default=True, help="Policy class, see milpcb list.")
@click.option("--kind", default="milp", show_default=True, help="Oracle kind, see milpcb list.")
@click.option("--solver", help="Solver, see milpcb solvers [default: highs, for kinds that use one].")
@click.option("--time-limit", type=float, help="Seconds; the answer then shows its bounds.")
@click.option("--out", "targets", multiple=True, type=PATH, help="Also write .json, .png or .svg.")
@click.option("--near", type=float, metavar="SLACK", help="Also show all policies that cost at most this much more.")
@click.option("--explain", is_flag=True, help="Also print which way the answer is found, and why.")
@click.pass_context
def solve(
    ctx: click.Context, /, contexts: Path, costs: Path, *, targets: tuple[Path, ...], near: float | None, **asked: Any
) -> None:
    """Find the policy of least total cost for CONTEXTS (m, d) and COSTS (m, K), two .csv or .parquet files.

    Further options are those of the policy class, e.g. --depth 2 --thresholds 3.
    """
    from milpcb.data.tables import read_table, remarks
    from milpcb.solvers import solver_name

    kind, solver = asked["kind"], asked["solver"]
    if solver is not None:
        registry.target("solver", solver_name(solver).partition(":")[0])
    for target in targets:
        check_ending(target, ENDINGS)
    if near is not None:
        real("--near", near, "finite and not negative", lambda slack: slack >= 0)
    features, rows = read_table(contexts)
    actions, matrix = read_table(costs)
    for note in remarks(contexts, costs):
        err.print(f"note: {note}")
    if matrix.shape[1] < 2:
        raise InputError(f"{costs} has one column; write one column per action, at least 2")
    given = {"n_actions": matrix.shape[1], "feature_names": features or None, "action_names": actions or None}
    oracle = oracle_of(class_of(asked["name"], given, ctx.args, ctx.command), rows, kind, asked)
    answer = oracle.minimise(matrix)
    out.print(str(answer.policy) if answer.policy is not None else "no policy found in time")
    out.print(f"cost: {answer.upper:.12g}   proved lower bound: {answer.lower:.12g}   ({answer.stop})")
    out.print(f"time: {1e3 * answer.seconds:.2f} ms with {_asked(kind, solver)}")
    if near is not None:
        found = oracle.near_best(matrix, near)
        for line in _near_lines(found):
            out.print(line)
        shown = found.different(SHOWN)
        totals = [float(matrix[np.arange(len(matrix)), policy.predict(rows)].sum()) for policy in shown]
        table = Table(*(f"cost {total:.12g}" for total in totals))
        table.add_row(*map(str, shown))
        out.print(table)
    if asked["explain"]:
        out.print(oracle.explain())
    for target in targets:
        out.print(f"written: {save_answer(answer, target)}")


def _asked(kind: str, solver: str | None) -> str:
    """Return the kind of an oracle, with the solver that it uses if it uses one."""
    own = injection.options(registry.load("oracle", kind))
    return f"{kind} on {solver or own['solver'].default}" if "solver" in own else kind


def _near_lines(found: NearBest) -> Iterator[str]:
    """Yield how many policies there are, on how many contexts their actions differ, and which features they need."""
    more = "" if found.exact else "more than "
    are = "policy costs" if found.exact and found.count == 1 else "different policies cost"
    yield f"near: {more}{spaced(found.count)} {are} at most {found.slack:g} more than the least"
    contested = int((~found.agreed).sum())
    whole = spaced(len(found.agreed))
    yield f"contested: on {spaced(contested)} of {whole} contexts they do not all play the same action"
    yield f"needed: {_needed(found)}"


def _needed(found: NearBest) -> str:
    """Return which features all of them read, and how much dearer the best policy without each is."""
    try:
        prices = found.features
    except InputError:
        return "policies of a list read no features"
    dearer = {name: f"{price:g} more" if price < np.inf else "no policy" for name, price in prices.items()}
    needed = [f"{name} ({dearer[name]} without it)" for name in found.needed]
    return f"{', '.join(needed)}; no other feature is" if needed else "no feature; each of them can be left out"


def save_answer(answer: Answer, path: Path) -> Path:
    """Write an oracle's answer as .json, or its policy as a .png or .svg drawing, by the ending of the path."""
    from milpcb.core.files import write_file
    from milpcb.experiments.results.figures.single import draw_policy

    kind = check_ending(path, ENDINGS)
    if kind == "json":
        return write_file(path, answer_json(answer).encode())
    if answer.policy is None:
        raise InputError(f"no policy was found in time, so there is nothing to draw in {path}")
    return write_file(path, draw_policy(answer.policy)[kind])


def answer_json(answer: Answer) -> str:
    """Return bounds, stop reason, seconds and the policy; ``policies.from_json`` reads a policy that can be read back.

    Other policies are written as their class, their rules as text, and their fields. A bound that is not known is null:
    JSON has no infinity.
    """
    policy: Any = answer.policy
    if hasattr(policy, "document"):
        written = dict(policy.document())
    else:
        fields = asdict(policy) if is_dataclass(policy) and not isinstance(policy, type) else {}
        written = {"class": type(policy).__name__, "rules": str(policy), **fields}
    document = {
        "lower": answer.lower if np.isfinite(answer.lower) else None,
        "upper": answer.upper if np.isfinite(answer.upper) else None,
        "stop": str(answer.stop),
        "seconds": answer.seconds,
        "policy": None if policy is None else written,
    }
    arrays = (np.ndarray, np.generic)
    plain = json.dumps(
        document, indent=2, default=lambda value: value.tolist() if isinstance(value, arrays) else str(value)
    )
    return f"{plain}\n"
