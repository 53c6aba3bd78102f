"""``milpcb certify``: what anybody's log of rounds proves about the regret of whoever played."""

from pathlib import Path
from typing import Any, NamedTuple

import click

from milpcb.commands.class_options import class_of, oracle_of
from milpcb.commands.console import PATH, err, out
from milpcb.core.checks import check_confidence, whole
from milpcb.core.decimals import spaced
from milpcb.data.columns import as_number
from milpcb.errors import InputError, clipped
from milpcb.ledger import Ledger
from milpcb.types import Floats

MOST = 1e6  # actions
LAST = ("action", "cost", "probability")


class Rounds(NamedTuple):
    """Rounds in the order they were played: contexts (n, d) with names, actions, costs and probabilities (n,)."""

    features: tuple[str, ...]
    contexts: Floats
    labels: list[str]
    costs: list[float]
    probabilities: list[float]


class Actions(NamedTuple):
    """The actions played (n,), as numbers 0..K-1, and the K names: () where the log has these numbers itself."""

    played: list[int]
    n_actions: int
    names: tuple[str, ...]


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("log", type=PATH)
@click.option("--policies", "name", default="decision_trees", show_default=True, help="Policy class, see milpcb list.")
@click.option("--actions", type=int, help="Number of actions [default: as in the log].")
@click.option("--kind", help="Oracle kind, see milpcb list [default: search, milp where the class has none].")
@click.option("--solver", help="Solver, see milpcb solvers [default: highs, for kinds that use one].")
@click.option("--time-limit", type=float, help="Seconds for a solver; a proved lower bound certifies too.")
@click.option("--confidence", default=0.95, show_default=True, help="Of the certificate about this very run.")
@click.option("--changes", type=int, help="Against the best policies in turn too, with up to so many changes.")
@click.pass_context
def certify(ctx: click.Context, /, log: Path, *, confidence: float, changes: int | None, **asked: Any) -> None:
    """Bound the regret of the decisions in LOG against the best policy of a class, from the costs that LOG holds.

    LOG is a .csv or .parquet file, a line a round: the columns of the context, and then action (0, 1, ... or a name),
    cost (0 or more) and probability (with which the action was drawn). Further options are those of the policy class,
    e.g. --depth 2.
    """
    from milpcb.data.tables import remarks

    check_confidence(confidence)
    most = None if changes is None else whole("--changes", changes, 0) + 1
    played = read_log(log)
    for note in remarks(log):
        err.print(f"note: {note}")
    found = _actions(log, played.labels, asked["actions"])
    names = {"feature_names": played.features or None, "action_names": found.names or None}
    given = {"n_actions": found.n_actions, **names}
    opened = class_of(asked["name"], given, ctx.args, ctx.command).on(played.contexts)
    searched = "search" in opened.capabilities and asked["solver"] is None and asked["time_limit"] is None
    oracle = oracle_of(opened, played.contexts, asked["kind"] or ("search" if searched else "milp"), asked)
    ledger = Ledger()
    for row, (action, cost, chance) in enumerate(zip(found.played, played.costs, played.probabilities, strict=True)):
        ledger.add(row, action, cost, cost / chance)
        ledger.blocks.add(row, row, action, cost, 1 / chance)
    certificate = ledger.certify(oracle)
    out.print(str(certificate.policy) if certificate.policy is not None else "no policy found in time")
    if found.names:
        out.print(f"actions: {', '.join(found.names)}, all that the log plays; policies choose among these")
    out.print(f"rounds: {spaced(len(played.costs))}   cost of the actions played: {spaced(sum(played.costs), '.12g')}")
    out.print(f"certificate: {spaced(certificate.value, '.6g')}   standard error: {spaced(certificate.error, '.6g')}")
    out.print(
        "Mean regret against the best policy of the class is at most the mean of the certificate, "
        "if costs did not react to the play; "
        "the regret of this one run may lie above it. The policy shown has the least estimated cost."
    )
    with_confidence = max(played.costs) <= 1
    if most is not None:  # in the mean, and with confidence where there is one
        for sure in (None, confidence)[: 1 + with_confidence]:
            out.print(str(ledger.changes(oracle, most, sure)))
    if not with_confidence:
        out.print("There is no certificate with confidence, as some costs are above 1; divide them by the largest.")
        return
    out.print(f"{100 * confidence:.10g}% certificate: {spaced(ledger.confident(oracle, confidence), '.6g')}")
    out.print(
        "The chance that the regret of this very run is above it, now or after any round before, is at most "
        f"{100 - 100 * confidence:.10g}%, if all costs lie between 0 and 1 and contexts did not depend on the play; "
        "costs may have."
    )


def read_log(path: Path) -> Rounds:
    """Read a log; raises InputError with the line of the first entry that cannot be."""
    from milpcb.data.tables import read_labelled

    names, numbers, labels = read_labelled(path, -len(LAST))
    if numbers.shape[1] < len(LAST):
        n = numbers.shape[1] + bool(labels)
        raise InputError(f"{path} has {n} columns; write those of the context, then {', '.join(LAST)}")
    if names and names[-len(LAST) :] != LAST:
        raise InputError(
            f"the last columns of {path} are {', '.join(names[-len(LAST) :])}; they must be {', '.join(LAST)}"
        )
    contexts, (costs, chances) = numbers[:, :-2], numbers[:, -2:].T
    _check(path, "cost", costs, (costs >= 0) & (costs <= 1e100), "0 or more")
    _check(path, "probability", chances, (chances > 0) & (chances <= 1), "above 0 and at most 1")
    return Rounds(names[: -len(LAST)], contexts, labels, costs.tolist(), chances.tolist())


def _check(path: Path, name: str, column: Floats, good: Any, wanted: str) -> None:
    if not good.all():
        place = int((~good).argmax())
        raise InputError(f"{path}, round {place + 1}: {name} is {column[place]:g}; it must be {wanted}")


def _actions(path: Path, labels: list[str], given: int | None) -> Actions:
    """Return what was played, of ``given`` actions or as many as the log plays; raises InputError where that is open.

    Numbers are those of the actions where there is a 0, or K is given and above them all; else the log's actions 1 to
    K, or names, are all there are.
    """
    distinct = sorted(set(labels), key=lambda label: (_number(label) is None, _number(label) or 0.0, label))
    numbers = [_number(label) for label in distinct]
    if all(number is None for number in numbers):
        return _named(path, labels, distinct, given)
    for label, number in zip(distinct, numbers, strict=True):
        if number is None or number < 0 or number != round(number) or number >= MOST:
            place = labels.index(label) + 1
            raise InputError(
                f"{path}, round {place}: action is {label or 'missing'}; it must be 0, 1, 2, ..., or a name"
            )
    whole, played = [int(number or 0) for number in numbers], [int(_number(label) or 0) for label in labels]
    from_one = tuple(range(1, whole[-1] + 1))
    if whole[0] == 1 and (given == whole[-1] or (given is None and len(whole) == len(from_one) > 1)):
        return Actions([number - 1 for number in played], len(from_one), tuple(map(str, from_one)))
    return Actions(played, _from_zero(whole, given), ())


def _named(path: Path, labels: list[str], names: list[str], given: int | None) -> Actions:
    if "" in names:
        raise InputError(f"{path}, round {labels.index('') + 1}: action is missing; leave out such rounds")
    if len(names) < 2 or given not in (None, len(names)):
        raise InputError(
            f"{path} names {len(names)} action{'s' * (len(names) > 1)}, {', '.join(map(clipped, names))}; number them "
            "0, 1, ... where there are more that it never plays"
        )
    return Actions([names.index(label) for label in labels], len(names), tuple(names))


def _from_zero(whole: list[int], given: int | None) -> int:
    """Return K, at least 2; raises InputError where the log plays more, or nobody knows whether there are more."""
    least = max(2, whole[-1] + 1)
    if given is not None and given < least:
        raise InputError(f"--actions is {given}; the log plays action {whole[-1]}, so it must be at least {least}")
    if given is None and whole != list(range(len(whole))):
        raise InputError(
            f"the log plays the actions {', '.join(map(str, whole))}: give --actions {least} if they are numbered "
            "from 0 and it never plays the others, else number those that there are 0, 1, ..."
        )
    return given or least


def _number(label: str) -> float | None:
    found = as_number(label)
    return None if found is None else float(found)
