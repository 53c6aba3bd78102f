"""``milpcb certify``: what anybody's log of rounds proves about the regret of whoever played."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from milpcb.commands.class_options import class_of
from milpcb.commands.console import out
from milpcb.core.checks import check_confidence
from milpcb.errors import InputError
from milpcb.ledger import Ledger
from milpcb.plugins import local_classes
from milpcb.types import Floats

LAST = ("action", "cost", "probability")


class Rounds(NamedTuple):
    """Rounds in the order they were played: contexts (n, d) with names, actions, costs and probabilities (n,)."""

    features: tuple[str, ...]
    contexts: Floats
    actions: list[int]
    costs: list[float]
    probabilities: list[float]


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--policies", "name", default="decision_trees", show_default=True, help="Policy class, see milpcb list.")
@click.option("--actions", type=int, help="Number of actions [default: one more than the largest in the log].")
@click.option("--kind", help="Oracle kind, see milpcb list [default: search, milp where the class has none].")
@click.option("--solver", help="Solver, see milpcb solvers [default: highs, for kinds that use one].")
@click.option("--time-limit", type=float, help="Seconds for a solver; a proved lower bound certifies too.")
@click.option("--confidence", default=0.95, show_default=True, help="Of the certificate about this very run.")
@click.pass_context
def certify(
    ctx: click.Context,
    log: Path,
    name: str,
    actions: int | None,
    kind: str | None,
    solver: str | None,
    time_limit: float | None,
    confidence: float,
) -> None:
    """Bound the regret of the decisions in LOG against the best policy of a class, from the costs that LOG holds.

    LOG is a .csv or .parquet file, a line a round: the columns of the context, and then action (0, 1, ...), cost (0 or
    more) and probability (with which the action was drawn). Further options are those of the policy class, e.g. --depth
    2.
    """
    from milpcb.oracles import open_oracle

    check_confidence(confidence)
    local_classes.look_in(Path.cwd())  # for a policy class of one's own
    played = read_log(log)
    given = {"n_actions": _n_actions(played, actions), "feature_names": played.features or None, "action_names": None}
    own = [option for parameter in ctx.command.params for option in parameter.opts if option.startswith("--")]
    opened = class_of(name, given, ctx.args, own).on(played.contexts)
    limit: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}
    kind = kind or ("search" if "search" in opened.capabilities and solver is None and not limit else "milp")
    ledger, oracle = _ledger(played), open_oracle(opened, played.contexts, kind=kind, solver=solver, **limit)
    found = ledger.certify(oracle)
    out.print(str(found.policy) if found.policy is not None else "no policy found in time")
    out.print(f"rounds: {len(played.costs):,}   cost of the actions played: {sum(played.costs):,.12g}")
    out.print(f"certificate: {found.value:,.6g}   standard error: {found.error:,.6g}")
    out.print(
        "Mean regret against the best policy of the class is at most the mean of the certificate, "
        "if costs did not react to the play; "
        "the regret of this one run may lie above it. The policy shown has the least estimated cost."
    )
    if max(played.costs) > 1:
        out.print("There is no certificate with confidence, as some costs are above 1; divide them by the largest.")
        return
    out.print(f"{100 * confidence:.10g}% certificate: {ledger.confident(oracle, confidence):,.6g}")
    out.print(
        "The chance that the regret of this very run is above it, now or after any round before, is at most "
        f"{100 - 100 * confidence:.10g}%, if all costs lie between 0 and 1 and contexts did not depend on the play; "
        "costs may have."
    )


def read_log(path: Path) -> Rounds:
    """Read a log; raises InputError with the line of the first entry that cannot be."""
    from milpcb.data.tables import read_table

    names, numbers = read_table(path)
    if numbers.shape[1] < len(LAST) + 1:
        raise InputError(f"{path} has {numbers.shape[1]} columns; write those of the context, then {', '.join(LAST)}")
    if names and names[-len(LAST) :] != LAST:
        raise InputError(
            f"the last columns of {path} are {', '.join(names[-len(LAST) :])}; they must be {', '.join(LAST)}"
        )
    contexts, (actions, costs, chances) = numbers[:, : -len(LAST)], numbers[:, -len(LAST) :].T
    _check(path, "action", actions, (actions >= 0) & (actions == np.rint(actions)) & (actions < 1e6), "0, 1, 2, ...")
    _check(path, "cost", costs, (costs >= 0) & (costs <= 1e100), "0 or more")
    _check(path, "probability", chances, (chances > 0) & (chances <= 1), "above 0 and at most 1")
    return Rounds(names[: -len(LAST)], contexts, actions.astype(int).tolist(), costs.tolist(), chances.tolist())


def _check(path: Path, name: str, column: Floats, good: Any, wanted: str) -> None:
    """Raise InputError for the first round whose entry is not ``good``."""
    if not good.all():
        place = int((~good).argmax())
        raise InputError(f"{path}, round {place + 1}: {name} is {column[place]:g}; it must be {wanted}")


def _n_actions(log: Rounds, given: int | None) -> int:
    """Return K, at least 2; raises InputError where the log plays more."""
    least = max(log.actions) + 1
    if given is not None and given < max(2, least):
        raise InputError(
            f"--actions is {given}; the log plays action {least - 1}, so it must be at least {max(2, least)}"
        )
    return given or max(2, least)


def _ledger(log: Rounds) -> Ledger:
    """Return the ledger of the rounds, each on a row of its own."""
    ledger = Ledger()
    for row, (action, cost, chance) in enumerate(zip(log.actions, log.costs, log.probabilities, strict=True)):
        ledger.add(row, action, cost, cost / chance)
    return ledger
