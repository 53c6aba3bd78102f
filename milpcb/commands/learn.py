"""``milpcb learn``: the best readable policy by a log, what can be claimed of it, and a page that reports it."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from milpcb.commands.console import err, out
from milpcb.commands.log_source import columns_of, source_of, source_options
from milpcb.commands.steps import step
from milpcb.core.checks import real
from milpcb.core.files import contents
from milpcb.core.text import listed
from milpcb.errors import InputError, UnknownNameError, shown

if TYPE_CHECKING:
    from milpcb.logs.findings import Findings
    from milpcb.logs.sections import PageTable
    from milpcb.logs.source import Source

ESTIMATORS = {
    "decision_trees": "LoggedPolicyTree",
    "threshold_rules": "LoggedThresholdRule",
    "rule_lists": "LoggedRuleList",
    "linear_rules": "LoggedScoringRule",
}
HERE = (
    "constraints", "monotone", "missing", "treatment_cost", "random_state", "policies", "model_outcome",
    "model_propensity",
)  # fmt: skip


SIDES = {"yes", "no", "either"}  # which nobody writes for a missing value
THIN = 7  # cut points of each number where several limits are kept, of which trees are compared one by one
TABLES = 10  # of rows times features and actions, which are in memory at once at most
NOTED = 1e9  # bytes


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@source_options
@click.option("--policies", "name", default="decision_trees", show_default=True, help=f"{', '.join(ESTIMATORS)}.")
@click.option("--depth", type=int, help="Of trees: short for --max-depth.")
@click.option("--at-most", multiple=True, metavar="ACTION=SHARE", help="An action for at most this share of the rows.")
@click.option(
    "--never",
    multiple=True,
    metavar="ACTION:CONDITION",
    help='An action never where this holds, as in "drug B: pregnant = 1".',
)
@click.option("--always", multiple=True, metavar="ACTION:CONDITION", help="An action always where this holds.")
@click.option(
    "--parity", multiple=True, metavar="ACTION:COLUMN=DELTA", help="Largest difference of an action's rates by group."
)
@click.option(
    "--no-worse",
    multiple=True,
    metavar="LIMIT",
    help="Limit on another outcome, kept with confidence, as in 'complained at most today'.",
)
@click.option(
    "--monotone",
    multiple=True,
    metavar="COLUMN=more",
    help="The action never goes down as the column grows; with =less never up.",
)
@click.option(
    "--front", default="", metavar="OUTCOME", help="The best rules for two outcomes at once, as in 'complained less'."
)
@click.option(
    "--what-if",
    multiple=True,
    metavar="WISH",
    help="What a change of the rule would cost, as in 'without age'; repeatable.",
)
@click.option(
    "--near",
    type=float,
    metavar="AMOUNT",
    help="Count the rules that look at most so much worse  [default: by the band].",
)
@click.option(
    "--missing-side",
    default="either",
    show_default=True,
    help="Of a comparison such as age <= 40 for a missing number: yes, no, or either as the search finds best.",
)
@click.option(
    "--treatment-cost",
    multiple=True,
    metavar="ACTION=COST",
    help="What an action costs beside its outcome: a number, or the column that has it.",
)
@click.option("--budget", metavar="ACTION", help="Draw the value against the share of rows that may get this action.")
@click.option("--holdout", default=0.0, metavar="SHARE", help="Keep this share of the rows aside, to evaluate on [0].")
@click.option("--unit", default="", metavar="WORD", help='What outcomes are in, such as "$", on the page.')
@click.option(
    "--sensitive",
    multiple=True,
    metavar="COLUMN",
    help="State on the first sheet whether the rule reads it; repeatable.",
)
@click.option(
    "--labels", type=click.Path(path_type=Path), help="TOML file: what a score card calls columns and actions."
)
@click.option("--level", default=0.95, show_default=True, help="Confidence of intervals and lower bounds.")
@click.option("--draws", default=1000, show_default=True, help="Searches behind what is claimed; 0 claims nothing.")
@click.option("--resamples", default=100, show_default=True, help="Searches behind the stability; 0 leaves it out.")
@click.option("--seed", default=0, show_default=True, help="Seed of all random draws.")
@click.option(
    "--one-pass/--in-memory",
    default=None,
    help="Add up the rows and never hold them, or hold them  [default: one pass beyond 100 million values].",
)
@click.option("--model-rows", default=100_000, show_default=True, help="Of one pass with --method dr: rows to fit to.")
@click.option("--backend", default="serial", show_default=True, help="Of one pass: serial, processes or dask.")
@click.option("--workers", type=int, help="Of one pass: how many processes or Dask workers add up files.")
@click.option("--scheduler", metavar="ADDRESS", help="Of one pass: the Dask scheduler whose workers add up files.")
@click.option("--out", "folder", type=click.Path(path_type=Path), required=True, help="Folder for policy and report.")
@click.pass_context
def learn(ctx: click.Context, /, log: Path, folder: Path, **given: Any) -> None:
    """Find the best policy for LOG, a .csv or .parquet file with a line for each decision, or a run directory.

    LOG may be several Parquet files: a folder of them, or a pattern in quotes, as in 'logs/*.parquet'.

    What to do is printed first, then the policy, what it is worth, and whether it keeps what was asked for; OUT gets a
    page on it, the drawing, and the policy as JSON, SQL and Python. Further options are those of the estimator, e.g.
    --thresholds all, --min-samples-leaf 50, --method ips (see milpcb.estimators).
    """
    from milpcb.commands.learn_files import learn_files, wants_one_pass
    from milpcb.logs.folder import check_folder, write

    check_folder(folder)
    for side in SIDES.intersection(given["missing"]):
        raise InputError(
            f"--missing names what stands where nothing is known, as in NA,-999; write --missing-side {side} for the "
            "side"
        )
    if given["near"] is not None:
        real("--near", given["near"], "finite and not negative", lambda amount: amount >= 0)
    one_pass = wants_one_pass(log, one_pass=given["one_pass"])
    found = learn_files(ctx, log, folder, given, _estimator) if one_pass else _in_memory(ctx, log, given)
    with step(err, "the page"):
        page = write(found, folder, shlex.join(["milpcb", *sys.argv[1:]]))
    _print(found)
    out.print(f"report: {page}")


def _in_memory(ctx: click.Context, log: Path, given: dict[str, Any]) -> Findings:
    from milpcb.logs.findings import Asked
    from milpcb.logs.in_memory import find

    with step(err, f"reading {log.name}") as tick:
        source, limits = _read(log, given, tick)
    for note in (*source.notes, *_memory(source)):
        err.print(f"note: {note}")
    own = [option for parameter in ctx.command.params for option in parameter.opts if option.startswith("--")]
    estimator = _estimator(source, given, ctx.args, own)
    if limits and given["at_most"] and _thins(estimator):
        err.print(
            f"note: with --no-worse beside --at-most trees cut each number at {THIN} quantiles, and not at "
            f"{estimator.thresholds}; --thresholds sets another number"
        )
        estimator.thresholds = THIN
    asked = {name: given[name] for name in ("level", "draws", "resamples", "holdout", "seed", "unit")}
    asked |= {"sensitive": given["sensitive"], "labels": _labels(given["labels"], source)}
    asked |= {"limits": limits, "wishes": given["what_if"], "front": given["front"], "near": given["near"]}
    questions = Asked(**asked, budget=_budget(source, given), curve=given["budget"] is not None)
    return find(source, estimator, questions, partial(step, err))


def _read(log: Path, given: dict[str, Any], tick: Any) -> tuple[Source, tuple[Any, ...]]:
    """Return the log and the limits on other outcomes, whose columns no policy may read."""
    from milpcb.logs import pareto
    from milpcb.logs.limits import column_of, limit_of

    aside = {column_of(text): None for text in given["no_worse"]}
    aside.pop(given["reward"] or given["cost"], None)  # which is no feature anyway
    aside |= {pareto.column_of(given["front"]): None} if given["front"] else {}
    given = {**given, "leave_out": (*given["leave_out"], *aside)}
    source = source_of(log, columns_of(log, given), given, tick)
    limits = tuple(limit_of(text, source.log.actions) for text in given["no_worse"])
    for option, names in (("--sensitive", given["sensitive"]), ("--no-worse", [x.each for x in limits if x.each])):
        for name in names:
            if name not in source.table.columns:
                raise UnknownNameError(f"column of {option}", name, source.table.columns)
    return source, limits


def _thins(estimator: Any) -> bool:
    """Return whether trees of several limits would be too many to compare, as nobody set their cut points."""
    return getattr(estimator, "max_depth", 1) > 1 and estimator.thresholds == type(estimator)().thresholds > THIN


def _labels(path: Path | None, source: Source) -> tuple[tuple[str, str], ...]:
    """Return what a score card calls columns and actions, by a TOML file of names and labels."""
    if path is None:
        return ()
    try:
        found = tomllib.loads(contents(path).decode())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f'cannot read --labels {path}: {error}; write lines such as age = "Age in years"') from error
    known = [*source.table.columns, *source.log.actions]
    for name, label in found.items():
        if name not in known:
            raise UnknownNameError(f"column or action in {path}", name, known)
        if not isinstance(label, str) or not label.strip():
            raise InputError(f"{path}: the label of '{name}' must be a string, got {shown(label)}")
    return tuple(found.items())


def _memory(source: Source) -> Iterator[str]:
    """Yield how much memory a large log will take."""
    rows, columns = source.frame.shape
    needed = TABLES * rows * (columns + len(source.log.actions)) * 8
    if needed > NOTED:
        yield f"{rows:,} rows of {columns} features: this takes about {needed / 1e9:.1f} GB of memory."


def _estimator(source: Source, given: dict[str, Any], arguments: list[str], own: list[str]) -> Any:
    """Return the estimator that the options describe; raises InputError on a wrong one."""
    from milpcb import estimators
    from milpcb.commands.class_options import options_of

    if given["name"] not in ESTIMATORS:
        raise UnknownNameError("policy class of milpcb learn", given["name"], ESTIMATORS)
    cls = getattr(estimators, ESTIMATORS[given["name"]])
    known = [name for name in cls().get_params(deep=False) if name not in HERE]
    options = options_of(given["name"], known, arguments, own)
    if given["depth"] is not None:
        if "max_depth" in options:
            raise InputError("--depth is short for --max-depth: give one of them")
        options["max_depth"] = given["depth"]
        if "max_depth" not in known:
            sizes = listed([f"--{name.replace('_', '-')}" for name in known if name.startswith("max_")])
            raise InputError(f"--depth is of trees; {given['name']} have {sizes}")
    costs = {action: _cost(cost, text, source) for text, action, cost in _split(given["treatment_cost"], "=", source)}
    rules = list(_constraints(given, source))
    order = dict(_ways(given["monotone"], source)) or None
    costs_of: dict[str, Any] = {"treatment_cost": costs or None, "random_state": given["seed"]}
    costs_of["missing"] = given["missing_side"]
    return cls(**options, **costs_of, constraints=rules, monotone=order)


def _ways(texts: tuple[str, ...], source: Source) -> Iterator[tuple[str, str]]:
    """Yield each column whose order is asked for, and which."""
    for text in texts:
        column, _, way = (part.strip() for part in text.rpartition("="))
        if way not in ("more", "less") or not column:
            raise InputError(f"cannot read --monotone '{text}': write COLUMN=more or COLUMN=less")
        if column not in source.frame.columns:
            raise UnknownNameError("column of --monotone", column, source.frame.columns)
        yield column, way


def _constraints(given: dict[str, Any], source: Source) -> Iterator[Any]:
    from milpcb import estimators
    from milpcb.data.conditions import names_in

    for text, action, share in _split(given["at_most"], "=", source):
        yield estimators.share_at_most(action, _number(share, text))
    for make, name in ((estimators.never, "never"), (estimators.always, "always")):
        for _, action, condition in _split(given[name], ":", source):
            for column in names_in(condition):
                _check_read(column, source)
            yield make(action, condition)
    for text, action, rest in _split(given["parity"], ":", source):
        group, _, delta = rest.rpartition("=")
        _check_read(group.strip(), source)
        yield estimators.parity(action, group.strip(), _number(delta, text))


def _check_read(column: str, source: Source) -> None:
    """Raise InputError where a constraint reads a column of the log that policies may not read."""
    if column in source.frame.columns or column not in source.table.columns:
        return
    if column in (source.columns.action, source.columns.outcome, *source.columns.propensity):
        raise InputError(f"no constraint can read '{column}', the action, outcome or propensity; name a feature")
    raise InputError(
        f"no constraint can read '{column}', as policies may not: it is left out of the features; take it out of "
        f"--leave-out, or add it to --features"
    )


def _split(texts: tuple[str, ...], sign: str, source: Source) -> Iterator[tuple[str, str, str]]:
    """Yield each text, its action, and what follows the sign."""
    for text in texts:
        action, found, rest = text.partition(sign)
        if not found or not rest.strip():
            raise InputError(f"cannot read '{text}': write an action, '{sign}', and what is wanted of it")
        yield text, _named(action.strip(), source), rest.strip()


def _named(action: str, source: Source) -> str:
    if action not in source.log.actions:
        raise UnknownNameError("action", action, source.log.actions)
    return action


def _number(text: str, whole: str) -> float:
    """Return a share or a difference of shares, 0.3 or 30%."""
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError as error:
        raise InputError(f"cannot read '{whole}': '{text}' is no number") from error


def _cost(text: str, whole: str, source: Source) -> float | str:
    """Return what an action costs: a number, or the name of a column that has it for each row."""
    if text in source.table.columns:
        return text
    try:
        return float(text)
    except ValueError as error:
        raise UnknownNameError(f"column of '{whole}', and no number:", text, source.table.columns) from error


def _budget(source: Source, given: dict[str, Any]) -> str | None:
    """Return the action of the curve: the one named, else one that is scarce or costs something; None for no curve."""
    if given["budget"] is not None:
        return _named(given["budget"], source)
    for text, action, _ in _split((*given["at_most"], *given["treatment_cost"]), "=", source):
        if text:
            return action
    return None


def _print(found: Findings) -> None:
    from milpcb.logs import page, words
    from milpcb.logs.sections import rule_text
    from milpcb.logs.values import worth_table

    out.print(words.lead(found))
    for warning in words.checks(found):
        err.print(f"warning: {warning}")
    out.print()
    rules = rule_text(found.estimator.policy_)
    out.print(rules if found.state in (None, "target") else f"What looked best:\n{rules}")
    out.print()
    out.print(_table(worth_table(found)))
    guaranteed, prices, near, front, *_ = page.evidence(found)
    sentences = [words.gain(found), *guaranteed.words]
    tables = [*(prices.tables if found.questions.wishes else ()), *front.tables]
    sentences += near.words[:3] if found.questions.near is not None else []
    if found.asked:
        tables.append(page.asked_table(found))
    for sentence in sentences:
        out.print(sentence)
    for table in tables:
        out.print(_table(table))
    charges = words.charges_of(found.estimator.treatment_cost, maximise=found.unit.maximise)
    for sentence in (*charges, words.proof(found), *words.stable(found)):
        out.print(sentence)


def _table(shown: PageTable) -> Table:
    """Return a table of the first lines; how many more there are stands on the last one."""
    table = Table(*shown.headings)
    for line in shown.rows[: shown.most]:
        table.add_row(*line)
    if len(shown.rows) > shown.most:
        table.add_row(f"and {len(shown.rows) - shown.most:,} more: see the page", *[""] * (len(shown.headings) - 1))
    return table
