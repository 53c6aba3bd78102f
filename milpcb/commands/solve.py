"""``milpcb solve``: one query to an oracle; ``milpcb certify``: the regret that a log of rounds proves, by a query."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from milpcb.commands.class_options import OPEN, class_of, of_class
from milpcb.commands.console import PATH, check_ending, out, print_notes
from milpcb.core.checks import check_confidence, whole
from milpcb.core.decimals import spaced
from milpcb.core.files import write_file
from milpcb.data.columns import as_number
from milpcb.data.tables import read_labelled, read_table, remarks
from milpcb.errors import InputError, clipped
from milpcb.ledger import Ledger
from milpcb.oracles import open_oracle
from milpcb.oracles.near_best import NearBest
from milpcb.plugins import injection, registry
from milpcb.types import Answer, Floats

ENDINGS = ("json", "png", "svg")
SHOWN = 3  # near-best policies side by side
MOST = 1e6  # actions
LAST = ("action", "cost", "probability")
with_solver = click.option("--solver", help="Solver, see milpcb solvers [default: highs, for kinds that use one].")


@click.command(context_settings=OPEN)
@click.argument("contexts", type=PATH)
@click.argument("costs", type=PATH)
@of_class
@click.option("--kind", default="milp", show_default=True, help="Oracle kind, see milpcb list.")
@with_solver
@click.option("--time-limit", type=float, help="Seconds; the answer then shows its bounds.")
@click.option("--out", "targets", multiple=True, type=PATH, help="Also write .json, .png or .svg.")
@click.option("--near", type=float, metavar="SLACK", help="Also show all policies that cost at most this much more.")
@click.option("--explain", is_flag=True, help="Also print the route to the answer, and its reason.")
@click.pass_context
def solve(
    ctx: click.Context, /, contexts: Path, costs: Path, *, targets: tuple[Path, ...], near: float | None, **asked: Any
) -> None:
    """Find the policy of least total cost for CONTEXTS (m, d) and COSTS (m, K), two .csv or .parquet files.

    Further options are those of the policy class, e.g. --depth 2 --thresholds 3.
    """
    kind, solver = asked["kind"], asked["solver"]
    for target in targets:
        check_ending(target, ENDINGS)
    features, rows = read_table(contexts)
    actions, matrix = read_table(costs)
    print_notes(remarks(contexts, costs))
    if matrix.shape[1] < 2:
        raise InputError(f"{costs} has one column; write one column per action, at least 2")
    given = {"n_actions": matrix.shape[1], "feature_names": features or None, "action_names": actions or None}
    policies = class_of(asked["name"], given, ctx.args, ctx.command)
    limit = {} if asked["time_limit"] is None else {"time_limit": asked["time_limit"]}
    oracle = open_oracle(policies, rows, kind=kind, solver=solver, **limit)
    answer = oracle.minimise(matrix)
    out.print(str(answer.policy) if answer.policy is not None else "no policy found in time")
    out.print(f"cost: {answer.upper:.12g}   proved lower bound: {answer.lower:.12g}   ({answer.stop})")
    out.print(f"time: {1e3 * answer.seconds:.2f} ms with {_asked(kind, solver)}")
    if near is not None:
        _print_near(oracle.near_best(matrix, near), rows, matrix)
    if asked["explain"]:
        out.print(oracle.explain())
    for target in targets:
        out.print(f"written: {save_answer(answer, target)}")


def _asked(kind: str, solver: str | None) -> str:
    own = injection.options(registry.load("oracle", kind))
    return f"{kind} on {solver or own['solver'].default}" if "solver" in own else kind


def _print_near(found: NearBest, rows: Floats, costs: Floats) -> None:
    more, contested = "" if found.exact else "more than ", int((~found.agreed).sum())
    out.print(f"near: {more}{spaced(found.count)} different policies cost at most {found.slack:g} more than the least")
    out.print(f"contested: on {spaced(contested)} of {spaced(len(rows))} contexts they do not all play the same action")
    with suppress(InputError):  # policies of a list read no features
        needed = [f"{name} ({found.features[name]:g} more without it)" for name in found.needed]
        out.print(f"needed: {', '.join(needed) or 'no feature'}")
    shown = found.different(SHOWN)
    totals = [float(costs[np.arange(len(costs)), policy.predict(rows)].sum()) for policy in shown]
    table = Table(*(f"cost {total:.12g}" for total in totals))
    table.add_row(*map(str, shown))
    out.print(table)


def save_answer(answer: Answer, path: Path) -> Path:
    """Write an oracle's answer as .json, or its policy as a .png or .svg drawing, by the ending of the path."""
    from milpcb.experiments.results.figures.drawing import draw_policy

    kind = check_ending(path, ENDINGS)
    if kind == "json":
        return write_file(path, answer_json(answer).encode())
    if answer.policy is None:
        raise InputError(f"no policy was found in time, so there is nothing to draw in {path}")
    return write_file(path, draw_policy(answer.policy)[kind])


def answer_json(answer: Answer) -> str:
    """Return bounds (null for infinite ones), stop reason, seconds and the policy, for ``policies.from_json``."""
    policy: Any = answer.policy
    written = None if policy is None else {"class": type(policy).__name__, "rules": str(policy)}
    if hasattr(policy, "document"):
        written = policy.document()
    bounds = {"lower": answer.lower, "upper": answer.upper}
    known = {name: bound if np.isfinite(bound) else None for name, bound in bounds.items()}
    document = {**known, "stop": str(answer.stop), "seconds": answer.seconds, "policy": written}
    return f"{json.dumps(document, indent=2)}\n"


# ------------------------------------------------------------------- certify


@click.command(context_settings=OPEN)
@click.argument("log", type=PATH)
@of_class
@click.option("--actions", type=int, help="Number of actions [default: as in the log].")
@click.option("--kind", help="Oracle kind, see milpcb list [default: search, milp where the class has none].")
@with_solver
@click.option("--time-limit", type=float, help="Seconds for a solver; a proved lower bound certifies too.")
@click.option("--confidence", default=0.95, show_default=True, help="Confidence about this very run.")
@click.option("--changes", type=int, help="Also certify against the best policies in turn, with up to so many changes.")
@click.pass_context
def certify(ctx: click.Context, /, log: Path, *, confidence: float, changes: int | None, **asked: Any) -> None:
    """Bound the regret of the decisions in LOG against the best policy of a class, from the costs that LOG holds.

    LOG is a .csv or .parquet file, a line a round: the columns of the context, and then action (0, 1, ... or a name),
    cost (0 or more) and probability (with which the action was drawn). Further options are those of the policy class,
    e.g. --depth 2.
    """
    check_confidence(confidence)
    most = None if changes is None else whole("--changes", changes, 0) + 1
    features, contexts, labels, costs, probabilities = read_rounds(log)
    print_notes(remarks(log))
    played, n_actions, names = _actions(log, labels, asked["actions"])
    given = {"n_actions": n_actions, "feature_names": features or None, "action_names": names or None}
    opened = class_of(asked["name"], given, ctx.args, ctx.command).on(contexts)
    searched = "search" in opened.capabilities and asked["solver"] is None and asked["time_limit"] is None
    kind = asked["kind"] or ("search" if searched else "milp")
    limit = {} if asked["time_limit"] is None else {"time_limit": asked["time_limit"]}
    oracle = open_oracle(opened, contexts, kind=kind, solver=asked["solver"], **limit)
    ledger = Ledger()
    for row, (action, cost, chance) in enumerate(zip(played, costs, probabilities, strict=True)):
        ledger.add(row, action, cost, cost / chance, weight=1 / chance)
    certificate = ledger.certify(oracle)
    out.print(str(certificate.policy) if certificate.policy is not None else "no policy found in time")
    if names:
        out.print(f"actions: {', '.join(names)}, all that the log plays; policies choose among these")
    out.print(f"rounds: {spaced(len(costs))}   cost of the actions played: {spaced(sum(costs), '.12g')}")
    out.print(f"certificate: {spaced(certificate.value, '.6g')}   standard error: {spaced(certificate.error, '.6g')}")
    out.print(
        "Mean regret against the best policy of the class is at most the mean of the certificate, if costs did not "
        "react to the play; the regret of this one run may lie above it."
    )
    with_confidence = max(costs) <= 1
    if most is not None:  # in the mean, and with confidence where there is one
        for sure in (None, confidence)[: 1 + with_confidence]:
            out.print(str(ledger.changes(oracle, most, sure)))
    if not with_confidence:
        out.print("There is no certificate with confidence, as some costs are above 1; divide them by the largest.")
        return
    out.print(f"{100 * confidence:.10g}% certificate: {spaced(ledger.confident(oracle, confidence), '.6g')}")
    out.print(
        "The chance that the regret of this very run is above it, now or after any round before, is at most "
        f"{100 - 100 * confidence:.10g}%, if contexts did not depend on the play; costs may have."
    )


def read_rounds(path: Path) -> tuple[tuple[str, ...], Floats, list[str], list[float], list[float]]:
    """Return names of features, contexts (n, d), actions, costs and probabilities (n,) of a log; raises InputError."""
    names, numbers, labels = read_labelled(path, -len(LAST))
    if numbers.shape[1] < len(LAST):
        n = numbers.shape[1] + bool(labels)
        raise InputError(f"{path} has {n} columns; write those of the context, then {', '.join(LAST)}")
    if names and names[-len(LAST) :] != LAST:
        raise InputError(
            f"the last columns of {path} are {', '.join(names[-len(LAST) :])}; they must be {', '.join(LAST)}"
        )
    contexts, (costs, chances) = numbers[:, :-2], numbers[:, -2:].T
    for name, column, good, wanted in (
        ("cost", costs, (costs >= 0) & (costs <= 1e100), "0 or more"),
        ("probability", chances, (chances > 0) & (chances <= 1), "above 0 and at most 1"),
    ):
        if not good.all():
            place = int((~good).argmax())
            raise InputError(f"{path}, round {place + 1}: {name} is {column[place]:g}; it must be {wanted}")
    return names[: -len(LAST)], contexts, labels, costs.tolist(), chances.tolist()


def _actions(path: Path, labels: list[str], given: int | None) -> tuple[list[int], int, tuple[str, ...]]:
    """Return the actions played (n,), K, and the K names of actions, () where the log has their numbers; InputError."""
    numbers = [as_number(label) for label in labels]
    names = () if any(number is not None for number in numbers) else tuple(sorted({*labels}))
    for row, (label, number) in enumerate(zip(labels, numbers, strict=True)):
        if not label or not (names or (number is not None and number % 1 == 0 and 0 <= number < MOST)):
            place = f"{path}, round {row + 1}"
            raise InputError(f"{place}: action is {label or 'missing'}; it must be 0, 1, 2, ..., or a name")
    if names:
        if len(names) < 2 or given not in (None, len(names)):
            raise InputError(
                f"{path} names {len(names)} action{'s' * (len(names) > 1)}, {', '.join(map(clipped, names))}; number "
                "them 0, 1, ... where there are more that it never plays"
            )
        return [names.index(label) for label in labels], len(names), names
    played = [int(number or 0) for number in numbers]
    there, least = sorted({*played}), max(2, max(played) + 1)
    if given is None and there != list(range(len(there))):
        raise InputError(
            f"the log plays the actions {', '.join(map(str, there))}: give --actions {least} if they are numbered "
            "from 0 and it never plays the others, else number those that there are 0, 1, ..."
        )
    if given is not None and given < least:
        raise InputError(f"--actions is {given}; the log plays action {there[-1]}, so it must be at least {least}")
    return played, given or least, ()
