"""``milpcb evaluate``: what a policy is worth by a log that it was not learnt from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.table import Table

from milpcb import registry
from milpcb.checks import check_file
from milpcb.commands.console import err, out
from milpcb.commands.learn import values_table
from milpcb.commands.log_source import source_of, source_options
from milpcb.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from milpcb.logs.source import Source
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
    played = np.full(len(found.table), found.best_action) if policy is None else _read(policy, source)
    value = value_of(found, played, contexts=source.table, interval=interval, level=level, seed=seed)
    out.print(values_table(value))
    for sentence in value.words():
        out.print(sentence)
    if value.leaves:
        out.print(_parts(value))


class _Named:
    """A policy that returns names of actions, as a log has them."""

    def __init__(self, policy: Any, source: Source) -> None:
        self._policy, self._actions = policy, source.log.actions

    def predict(self, table: Any) -> Any:
        """Return names (n,); raises UnknownNameError on one that the log does not have."""
        played = [str(name) for name in self._policy.predict_names(table)]
        for name in dict.fromkeys(played):
            if name not in self._actions:
                raise UnknownNameError("action of the policy", name, self._actions)
        return np.array(played, dtype=object)

    def apply(self, table: Any) -> Any:
        """Return the part (n,) of each row."""
        return self._policy.apply(table)


def _read(path: Path, source: Source) -> _Named:
    """Return the policy of a file; raises InputError on another file."""
    from milpcb.estimators import from_json as estimator_from_json

    check_file(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    return _Named(estimator_from_json(text).policy_ if '"milpcb_estimator"' in text else _rule(text, path), source)


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
