"""``milpcb learn``: the best readable policy by a log, the claims about it, and a page that reports it."""

from __future__ import annotations

import shlex
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from rich.table import Table

from milpcb.commands.class_options import ESTIMATORS, OPEN, action_of, estimator_of, named_options, rule_of
from milpcb.commands.console import PATH, err, out, print_notes, step
from milpcb.commands.log import RowsOption, columns_of, needs_rows, several, source_of, source_options
from milpcb.core.checks import real
from milpcb.core.decimals import fixed
from milpcb.core.files import contents
from milpcb.errors import InputError, UnknownNameError, shown

if TYPE_CHECKING:
    from milpcb.logs.findings import Asked, Findings
    from milpcb.logs.sections import PageTable
    from milpcb.logs.source import Source


# Cut points of each number under --no-worse, where trees are compared one by one: beside --at-most, and from depth 3.
THIN, THINNER = 7, 2


@click.command(context_settings=OPEN)
@source_options
@click.option("--policies", "name", default="decision_trees", show_default=True, help=f"{', '.join(ESTIMATORS)}.")
@click.option("--depth", type=int, help="Of trees: short for --max-depth.")
@several("--at-most", metavar="ACTION=SHARE", help="An action for at most this share of the rows.")
@several("--never", metavar="ACTION:CONDITION", help='An action never where this holds, as in "drug B: pregnant = 1".')
@several("--always", metavar="ACTION:CONDITION", help="An action always where this holds.")
@several("--parity", metavar="ACTION:COLUMN=DELTA", help="Largest difference of an action's rates by group.")
@several("--no-worse", metavar="LIMIT", help="Limit on another outcome, kept with confidence: 'ill at most today'.")
@several("--monotone", metavar="COLUMN=more", help="The action never goes down as the column grows; =less: never up.")
@needs_rows("--front", default="", metavar="OUTCOME", help="The best rules for two outcomes at once, as in 'ill less'.")
@several(
    "--what-if",
    metavar="RESTRICTION",
    help="The price of a restriction: 'without age', 'age first', 'depth 1', 'never A: age > 9'.",
)
@needs_rows("--near", type=float, metavar="AMOUNT", help="Count rules worse by at most this [default: by the band].")
@click.option(
    "--missing-side", default="either", show_default=True, help="Side of a missing number: yes, no or either."
)
@click.option("--treatment-cost", multiple=True, metavar="ACTION=COST", help="Its cost: a number, or a column.")
@needs_rows("--budget", metavar="ACTION", help="Draw the value against the share of rows that may get this action.")
@click.option("--holdout", default=0.0, metavar="SHARE", help="Share of hold-out rows, to evaluate on [default: 0].")
@click.option("--unit", default="", metavar="WORD", help='Unit of outcomes on the page, such as "$".')
@click.option("--sensitive", multiple=True, metavar="COLUMN", help="The page states first whether the rule reads it.")
@click.option("--labels", type=PATH, help="TOML file: names of columns and actions on a score card.")
@click.option("--level", default=0.95, show_default=True, help="Confidence of intervals and lower bounds.")
@needs_rows("--draws", default=1000, show_default=True, help="Resamples behind the claims; 0: no claims.")
@needs_rows("--resamples", default=100, show_default=True, help="Resamples behind the stability; 0 leaves it out.")
@click.option("--seed", default=0, show_default=True, help="Seed of all random draws.")
@click.option("--one-pass", is_flag=True, help="Add up the rows of Parquet files, and never hold them in memory.")
@click.option("--out", "folder", type=PATH, required=True, help="Folder for policy and report.")
@click.pass_context
def learn(ctx: click.Context, /, log: Path, folder: Path, **given: Any) -> None:
    """Find the best policy for LOG, a .csv or .parquet file with a line for each decision, or a run directory.

    LOG may be several Parquet files: a folder of them, or a pattern in quotes, as in 'logs/*.parquet'.

    The advice is printed first, then the policy, its value, and whether it keeps all limits; OUT gets a
    page on it, the drawing, and the policy as JSON, SQL and Python. Further options are those of the estimator, e.g.
    --thresholds all, --min-samples-leaf 50, --method ips (see milpcb.estimators).
    """
    from milpcb.logs.folder import check_folder, write

    check_folder(folder)
    if given["near"] is not None:
        real("--near", given["near"], "finite and not negative", lambda amount: amount >= 0)
    found = (_in_one_pass if given["one_pass"] else _in_memory)(ctx, log, given)
    with step(err, "the page"):
        page = write(found, folder, shlex.join(["milpcb", *sys.argv[1:]]))
    _print(found)
    out.print(f"report: {page}")


def _in_memory(ctx: click.Context, log: Path, given: dict[str, Any]) -> Findings:
    from milpcb.logs.learning import find

    with step(err, f"reading {log.name}"):
        source, limits = _read(log, given)
    print_notes(source.notes)
    estimator = estimator_of(source, given, ctx.args, ctx.command)
    if limits and "thresholds" not in named_options(ctx.args):
        _thin(estimator, beside=bool(given["at_most"]))
    return find(source, estimator, _asked(given, source, limits), partial(step, err))


def _asked(given: dict[str, Any], source: Source, limits: tuple[Any, ...] = ()) -> Asked:
    from milpcb.logs.findings import Asked

    names = ("level", "draws", "resamples", "holdout", "seed", "unit", "sensitive", "front", "near")
    budget = None if given["budget"] is None else action_of(given["budget"], source)
    restrictions = {text.strip(): rule_of(text.strip(), source) for text in given["what_if"]}
    more: dict[str, Any] = {"restrictions": restrictions, "labels": _labels(given["labels"], source)}
    return Asked(**{name: given[name] for name in names}, **more, limits=limits, budget=budget)


def _read(log: Path, given: dict[str, Any]) -> tuple[Source, tuple[Any, ...]]:
    """Return the log and the limits on other outcomes, whose columns no policy may read."""
    from milpcb.logs.limits import column_of, limit_of
    from milpcb.logs.questions import front_of

    aside = {column_of(text): None for text in given["no_worse"]}
    aside.pop(given["reward"] or given["cost"], None)  # which is no feature anyway
    aside |= {front_of(given["front"])[0]: None} if given["front"] else {}
    given = {**given, "leave_out": (*given["leave_out"], *aside)}
    source = source_of(log, columns_of(log, given), given)
    limits = tuple(limit_of(text, source.log.actions) for text in given["no_worse"])
    for option, names in (("--sensitive", given["sensitive"]), ("--no-worse", [x.each for x in limits if x.each])):
        for name in names:
            if name not in source.table.columns:
                raise UnknownNameError(f"column of {option}", name, source.table.columns)
    return source, limits


def _thin(estimator: Any, *, beside: bool) -> None:
    depth = getattr(estimator, "max_depth", 1)
    cuts = THINNER if depth > 2 else THIN if depth == 2 and beside else None
    if cuts is not None:
        estimator.thresholds = cuts
        which = f"trees of depth {depth}{' beside --at-most' if beside else ''}"
        err.print(f"note: with --no-worse {which} cut each number at {cuts} quantiles; --thresholds sets another")


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


def _print(found: Findings) -> None:
    from milpcb.logs import page, words
    from milpcb.logs.questions import price_section
    from milpcb.logs.sections import PageSection, rule_text

    rules, stable = rule_text(found.estimator.policy_), found.stability.words() if found.stability else ()
    near, front = (found.sections.get(name, PageSection("")) for name in ("near", "front"))
    tables = [*(price_section(found).tables if found.questions.restrictions else ()), *front.tables]
    if found.asked:
        tables.append(page.asked_table(found.asked))
    charges = words.charges_of(found.estimator.treatment_cost, maximise=found.unit.maximise)
    out.print(words.lead(found))
    print_notes(words.checks(found), "warning")
    out.print(f"\n{rules}\n" if found.state in (None, "target") else f"\nThe rule that looked best:\n{rules}\n")
    out.print(printed(page.worth_table(found)))
    for line in (words.gain(found), *map(printed, tables)):
        out.print(line)
    counted = near.words if found.questions.near is not None else ()
    for sentence in (*charges, words.proof(found), *counted, *stable):
        out.print(sentence)


def printed(shown: PageTable) -> Table:
    """Return a table of the page as the terminal shows it."""
    table = Table(*shown.headings)
    for line in shown.rows[: shown.most]:
        table.add_row(*line)
    if len(shown.rows) > shown.most:
        others = fixed(len(shown.rows) - shown.most, 0)
        table.add_row(f"and {others} more", *[""] * (len(shown.headings) - 1))
    return table


def _in_one_pass(ctx: click.Context, log: Path, given: dict[str, Any]) -> Findings:
    from milpcb.logs.files import log_files, sample_of
    from milpcb.logs.learning import learn_in_one_pass

    options = [option for option in ctx.command.params if isinstance(option, RowsOption)]
    for option in options:
        if ctx.get_parameter_source(str(option.name)) is not ParameterSource.DEFAULT:
            raise InputError(f"{option.opts[0]} needs the rows themselves: leave it out, or --one-pass")
    showing = partial(step, err)
    files, columns = log_files(log), columns_of(log, given)
    with showing("a sample, for cut points") as tick:
        source = sample_of(files, columns, tick)
    print_notes(source.notes)
    arguments = list(ctx.args)
    if "method" not in named_options(arguments):
        arguments += ["--method", "snips"]
        err.print("note: scores by --method snips; --method dr fits models to a sample of the rows")
    estimator = estimator_of(source, given, arguments, ctx.command)
    return learn_in_one_pass(files, source, estimator, _asked(given, source), showing)
