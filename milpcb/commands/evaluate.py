"""``milpcb evaluate``: the value of a policy by a log that it was not learnt from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from milpcb.commands.console import PATH, err, out, print_notes, step
from milpcb.commands.learn import printed
from milpcb.commands.log import columns_of, source_of, source_options
from milpcb.core import gate
from milpcb.core.decimals import number, percent
from milpcb.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from milpcb.logs.origin import Origin
    from milpcb.logs.sections import PageTable
    from milpcb.offline import Evaluation, IntervalEstimate


@click.command()
@source_options
@click.argument("policy", type=PATH, required=False)
@click.option("--method", default="dr", show_default=True, help="Estimator of scores: dr, ips, snips or dm.")
@click.option("--overlap", default="required", show_default=True, help="ignore: also where the log has no rows.")
@click.option("--interval", default="normal", show_default=True, help="normal, or adaptive.")
@click.option("--level", default=0.95, show_default=True, help="Confidence of intervals.")
@click.option("--seed", default=0, show_default=True, help="Of folds.")
def evaluate(
    log: Path, policy: Path | None, method: str, overlap: str, interval: str, level: float, seed: int, **given: Any
) -> None:
    """Estimate from LOG the value of POLICY, beside those of each single action and of the log's actions.

    POLICY is a file of milpcb learn (policy.json) or of policy.to_json(). Without it the constants are
    compared. LOG is a .csv or .parquet file with a line for each decision, or a run directory. With policy.json the
    columns of actions and outcomes need not be named. The intervals are for a policy that was fixed
    without these rows.
    """
    from milpcb.logs.sections import Unit
    from milpcb.logs.words import charges_of
    from milpcb.offline import evaluate as value_of
    from milpcb.offline import scores

    rule, origin, costs = (None, None, None) if policy is None else _read(policy)
    columns = columns_of(log, given, origin)
    same = origin is None or origin.outcome == columns.outcome
    if origin:
        columns = origin.applied(columns, str(policy))
    with step(err, f"reading {log.name}"):
        source = source_of(log, columns, given, origin.schema if origin else getattr(rule, "schema", None))
    if origin:
        origin.check(source.frame)
    print_notes(source.notes)
    if origin and not same:
        by = f"'{columns.outcome}', without what treatments cost"
        err.print(f"note: the policy was learnt for '{origin.outcome}', and is evaluated by {by}.")
    seen = origin is not None and origin.is_of(source)
    if seen:
        err.print(SEEN.format(policy))
    costs = costs if same else None
    rows, binary = source.log, not costs and set(source.log.outcome.tolist()) <= {0.0, 1.0}
    unit = Unit(columns.outcome, columns.maximise, binary, sign=origin.unit if origin and same else "")
    if binary:
        rows = replace(rows, outcome=100 * rows.outcome)
    with step(err, "scores of each action") as tick:
        more: dict[str, Any] = {"treatment_cost": costs, "sample_weight": source.weight, "overlap": overlap}
        found = scores(rows, method, seed=seed, progress=tick, **more)
    best = found.actions[found.best_action]
    played = [best] * len(found.table) if rule is None else rule
    options: dict[str, Any] = {"interval": interval, "level": level, "in_sample": seen}
    value = value_of(found, played, contexts=source.table, **options)
    name = "this policy" if rule is not None else f"always '{best}', the best constant"
    out.print(printed(_values(value, name, unit.words)))
    for sentence in (*value.words(), *charges_of(costs, maximise=columns.maximise)):
        out.print(sentence)
    print_notes((*source.warnings, *found.diagnostics.words()), "warning")
    if value.leaves:
        out.print(printed(_parts(value)))


SEEN = (
    "warning: {} was learnt from this very log, in which it looks better than it is; evaluate it on rows that it was "
    "not learnt from, such as those that milpcb learn --holdout 0.3 holds out"
)


def _values(evaluation: Evaluation, name: str, unit: str) -> PageTable:
    """Return the values of a policy, of what was done and of the constants; without intervals that do not hold."""
    from milpcb.logs.sections import PageTable

    own, done = evaluation.value, evaluation.logged
    rows = [(name, _own(own), "" if evaluation.in_sample else _ends(own), "")]
    rows.append(("what was done", _own(done), _ends(done), _gain(evaluation.gain_over_logged, evaluation)))
    for action, value in evaluation.constants.items():
        gain = _gain(evaluation.gain_over[action], evaluation)
        rows.append((f"always '{action}'", _own(value), _ends(value), gain))
    headings = ("", f"value, {unit}", f"{percent(evaluation.level)} interval", "the policy gains")
    return PageTable("", headings, rows)


def _own(value: IntervalEstimate) -> str:
    return number(value.estimate, value.standard_error)


def _ends(value: IntervalEstimate) -> str:
    return str(value).partition("(")[2].removesuffix(")")


def _gain(gain: IntervalEstimate, evaluation: Evaluation) -> str:
    return _own(gain) if evaluation.in_sample else str(gain)


def _read(path: Path) -> tuple[Any, Origin | None, Any]:
    """Return the policy of a file, with names or numbers of its actions, its log, and what treatments cost."""
    from milpcb.logs.origin import ORIGIN, Origin
    from milpcb.policies import from_json as policy_from_json

    try:
        text = gate.read_bytes(path, follow=True).decode()
        policy = policy_from_json(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', error)}") from error
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
    return policy, origin, costs


def _parts(value: Evaluation) -> PageTable:
    from milpcb.logs.sections import PageTable

    headings = ("part", "action", "share of rows", "value", f"gains over {value.reference.name}")
    rows = []
    for leaf in value.leaves:
        own = _own(leaf.value) if value.in_sample else str(leaf.value)
        rows.append((str(leaf.part + 1), leaf.name, percent(leaf.share, 1), own, _gain(leaf.gain, value)))
    return PageTable("", headings, rows)
