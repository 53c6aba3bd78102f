"""``milpcb evaluate``: what a policy is worth by a log that it was not learnt from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from milpcb.commands.console import PATH, err, out, step
from milpcb.commands.log import columns_of, source_of, source_options
from milpcb.core import gate
from milpcb.core.checks import check_file
from milpcb.core.decimals import fixed, number, percent
from milpcb.core.text import listed
from milpcb.data.fields import UnfitError
from milpcb.errors import InputError, UnknownNameError, clipped

if TYPE_CHECKING:
    from milpcb.data.schema import Schema
    from milpcb.logs.origin import Origin
    from milpcb.logs.source import Columns, Source
    from milpcb.offline import Evaluation, IntervalEstimate

SHOWN = 12  # constants in a table


@contextmanager
def _rows_of_a_file() -> Iterator[None]:
    """Count rows from 1 in an error that names one, as ``milpcb learn`` does."""
    try:
        yield
    except UnfitError as error:
        raise error.of_file() from error


@click.command()
@source_options
@click.argument("policy", type=PATH, required=False)
@click.option("--method", default="dr", show_default=True, help="dr, ips, snips or dm: how scores are estimated.")
@click.option("--overlap", default="required", show_default=True, help="required, or ignore: also without any rows.")
@click.option("--interval", default="normal", show_default=True, help="normal, or adaptive.")
@click.option("--level", default=0.95, show_default=True, help="How often an interval holds.")
@click.option("--seed", default=0, show_default=True, help="Of folds.")
@_rows_of_a_file()
def evaluate(
    log: Path, policy: Path | None, method: str, overlap: str, interval: str, level: float, seed: int, **given: Any
) -> None:
    """Estimate from LOG what POLICY is worth, beside always taking one action, and beside what was done.

    POLICY is a file of milpcb learn (policy.json), or what policy.to_json() returned. Without it the constants are
    compared. LOG is a .csv or .parquet file with a line for each decision, or a run directory. With policy.json the
    columns of what was done and what came of it need not be named. The intervals are for a policy that was fixed
    without these rows.
    """
    from milpcb.logs.sections import Unit
    from milpcb.logs.source import numbered
    from milpcb.logs.words import charges_of
    from milpcb.offline import evaluate as value_of
    from milpcb.offline import scores

    read = Read() if policy is None else _read(policy)
    columns = columns_of(log, given, read.origin)
    if read.origin:
        columns = read.origin.applied(columns, str(policy))
    with step(err, f"reading {log.name}"):
        source = source_of(log, columns, given, read.schema)
    if read.origin:
        read.origin.check(source.frame)
    for note in (*source.notes, *_differences(read, source)):
        err.print(f"note: {note}")
    seen = read.origin is not None and read.origin.is_of(source)
    if seen:
        err.print(SEEN.format(policy))
    costs = read.costs if read.same(columns) else None
    with step(err, "what each action would have given") as tick:
        more: dict[str, Any] = {"treatment_cost": costs, "sample_weight": source.weight, "overlap": overlap}
        found = scores(numbered(source.log), method, seed=seed, progress=tick, **more)
    best = found.actions[found.best_action]
    played = [best] * len(found.table) if read.policy is None else read.policy
    options: dict[str, Any] = {"interval": interval, "level": level, "in_sample": seen}
    unit = Unit.of_scores(columns.outcome, found, read.origin.unit if read.origin and read.same(columns) else "")
    value = unit.evaluation(value_of(found, played, contexts=source.table, **options))
    out.print(_values(value, "this policy" if read.policy else f"always '{best}', the best constant", unit.words))
    for sentence in (*value.words(), *charges_of(costs, maximise=columns.maximise)):
        out.print(sentence)
    for warning in (*source.warnings, *found.diagnostics.words()):
        err.print(f"warning: {warning}")
    if value.leaves:
        out.print(_parts(value))


@dataclass(frozen=True, eq=False)
class Read:
    """A policy as a file has it: what it was learnt from, and what treatments cost; None for nothing.

    ``schema`` are the columns that are known to be strings.
    """

    policy: Any = None
    origin: Origin | None = None
    costs: Any = None
    schema: Schema | None = None

    def same(self, columns: Columns) -> bool:
        """Return whether the outcome is that of which the policy was learnt, or nobody knows."""
        return self.origin is None or self.origin.outcome == columns.outcome


def _differences(read: Read, source: Source) -> Iterator[str]:
    """Yield in which respects a policy is evaluated by something else than it was learnt from."""
    if read.origin is None:
        return
    columns = source.columns
    if not read.same(columns):
        costs = ", without what treatments cost" if read.costs else ""
        yield f"The policy was learnt for '{read.origin.outcome}', and is evaluated by '{columns.outcome}'{costs}."
    then, now = read.origin.features, source.frame.columns
    yield from read.origin.unknown(source.frame)
    taken = (columns.action, columns.outcome, *columns.propensity)
    if lost := [f"'{clipped(name)}'" for name in then if name not in (*now, *taken)]:
        yield f"Models of outcomes do without {listed(lost)}, which was there when the policy was learnt."
    if new := [f"'{clipped(name)}'" for name in now if name not in then]:
        yield f"Models of outcomes read {listed(new)}, which was left out when the policy was learnt."


SEEN = (
    "warning: {} was learnt from this very log, in which it looks better than it is; evaluate it on rows that it was "
    "not learnt from, such as those that milpcb learn --holdout 0.3 keeps aside"
)


def _values(evaluation: Evaluation, name: str, unit: str) -> Table:
    """Return the values of a policy, of the constants and of what was done; without intervals that do not hold."""
    table = Table("", f"value, {unit}", f"{percent(evaluation.level)} interval", "the policy gains")
    value = evaluation.value
    table.add_row(name, _own(value), "" if evaluation.in_sample else _ends(value), "")
    constants = evaluation.constants
    names, sign = list(constants), -1.0 if evaluation.maximise else 1.0
    if len(names) > SHOWN:  # the best first
        names = sorted(names, key=lambda action: sign * constants[action].value)[:SHOWN]
    for action in names:
        gain = evaluation.gain_over[action]
        value = constants[action]
        table.add_row(f"always '{action}'", _own(value), _ends(value), _gain(gain, evaluation))
    if len(constants) > SHOWN:
        table.add_row(f"and {fixed(len(constants) - SHOWN, 0)} more constants", "", "", "")
    value = evaluation.logged
    table.add_row("what was done", _own(value), _ends(value), _gain(evaluation.gain_over_logged, evaluation))
    return table


def _own(value: IntervalEstimate) -> str:
    return number(value.value, value.standard_error)


def _ends(value: IntervalEstimate) -> str:
    return str(value).partition("(")[2].removesuffix(")")


def _gain(gain: IntervalEstimate, evaluation: Evaluation) -> str:
    return _own(gain) if evaluation.in_sample else str(gain)


def _read(path: Path) -> Read:
    """Return the policy of a file, with names of its actions, and what it keeps of its log.

    Where it has numbers of its actions only, these are their names. Raises InputError on another file.
    """
    from milpcb.logs.origin import ORIGIN, Origin
    from milpcb.policies import from_json as policy_from_json

    check_file(path)
    try:
        text = gate.read_bytes(path, follow=True).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    try:
        policy = policy_from_json(text)
    except UnknownNameError:
        raise
    except InputError as error:
        raise InputError(f"{path} holds no policy: give policy.json of milpcb learn, or policy.to_json()") from error
    if not policy.names.actions:
        numbers = tuple(map(str, range(max(policy.leaf_actions) + 1)))
        policy = replace(policy, names=replace(policy.names, actions=numbers))
    document = json.loads(text)
    origin, parameters = Origin.read(document.get(ORIGIN)), document.get("parameters", {})
    costs = parameters.get("treatment_cost") if isinstance(parameters, dict) else None
    return Read(policy, origin, costs, policy.schema if origin is None else origin.schema)


def _parts(value: Evaluation) -> Table:
    table = Table("part", "action", "share of rows", "value", f"gains over {value.reference.name}")
    for leaf in value.leaves:
        own = _own(leaf.value) if value.in_sample else str(leaf.value)
        table.add_row(str(leaf.part + 1), leaf.name, percent(leaf.share, 1), own, _gain(leaf.gain, value))
    return table
