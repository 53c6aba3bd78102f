"""``milpcb evaluate``: what a policy is worth by a log that it was not learnt from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from milpcb import registry
from milpcb.checks import check_file
from milpcb.commands.console import err, out
from milpcb.commands.learn import values_table
from milpcb.commands.log_source import source_of, source_options
from milpcb.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from milpcb.offline import Evaluation


@click.command()
@source_options
@click.argument("policy", type=click.Path(path_type=Path), required=False)
@click.option("--method", default="dr", show_default=True, help="dr, ips, snips or dm: how scores are estimated.")
@click.option("--interval", default="normal", show_default=True, help="normal, bootstrap or bernstein.")
@click.option("--level", default=0.95, show_default=True, help="How often an interval holds.")
@click.option("--seed", default=0, show_default=True, help="Of folds and bootstrap.")
def evaluate(log: Path, policy: Path | None, method: str, interval: str, level: float, seed: int, **given: Any) -> None:
    """Show what POLICY is worth by LOG, beside playing one action always and what was done.

    POLICY is a file of milpcb learn (policy.json), or what policy.to_json() returned. Without it the constants are
    compared. LOG is a .csv or .parquet file with a line for each decision, or a run directory. The intervals are for a
    policy that was fixed without these rows.
    """
    source = source_of(log, given)
    from milpcb.offline import evaluate as value_of
    from milpcb.offline import scores

    found = scores(source.log, method, seed=seed)
    for warning in (*source.warnings, *found.diagnostics.words()):
        err.print(f"warning: {warning}")
    played = [found.actions[found.best_action]] * len(found.table) if policy is None else _read(policy)
    value = value_of(found, played, contexts=source.table, interval=interval, level=level, seed=seed)
    out.print(values_table(value))
    for sentence in value.words():
        out.print(sentence)
    if value.leaves:
        out.print(_parts(value))


def _read(path: Path) -> Any:
    """Return the policy of a file, with names of its actions, if only their numbers; raises InputError on another."""
    from milpcb.estimators import from_json as estimator_from_json

    check_file(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    policy = estimator_from_json(text).policy_ if '"milpcb_estimator"' in text else _rule(text, path)
    if policy.names.actions:
        return policy
    return replace(policy, names=replace(policy.names, actions=tuple(map(str, range(max(policy.leaf_actions) + 1)))))


def _rule(text: str, path: Path) -> Any:
    """Return the policy that ``policy.to_json()`` wrote; raises InputError on another text."""
    try:
        document = json.loads(text)
        name = str(document["class"])
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        raise InputError(_NO_POLICY.format(path)) from error
    if name not in registry.names("policy"):  # a file of somebody else's may name any module
        raise UnknownNameError("policy", name, registry.names("policy"))
    try:
        return registry.load("policy", name).from_document(document)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InputError(_NO_POLICY.format(path)) from error


_NO_POLICY = "{} holds no policy: give policy.json of milpcb learn, or policy.to_json()"


def _parts(value: Evaluation) -> Table:
    table = Table("part", "action", "share of rows", "value", "gains over the best constant")
    for leaf in value.leaves:
        table.add_row(str(leaf.part + 1), leaf.name, f"{leaf.share:.1%}", str(leaf.value), str(leaf.gain))
    return table
