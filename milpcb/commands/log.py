"""``milpcb log``: the rounds of one play of a run as a table; and logs as ``learn`` and ``evaluate`` read them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from milpcb import rng
from milpcb.commands.console import PATH, check_ending, err, out, step
from milpcb.core.decimals import spaced
from milpcb.core.files import write_file
from milpcb.data.schema import Schema
from milpcb.errors import InputError, RunError, UnknownNameError
from milpcb.experiments.results.store import WorldCosts, read_record
from milpcb.experiments.study.cells import Cell, build_study
from milpcb.experiments.study.sections import Config

if TYPE_CHECKING:
    import polars as pl

    from milpcb.estimators.inputs import Columns
    from milpcb.logs.origin import Origin
    from milpcb.logs.source import Source


PLAYED = ("action", "cost", "probability")  # the columns behind those of the context
SLICE = 1024  # rounds between two looks at how far it is
AXES = ("learner", "environment", "policies", "oracle", "seed", "horizon")


@click.command()
@click.argument("directory", type=PATH)
@click.option("--learner", help="Its label.")
@click.option("--environment", help="Its label.")
@click.option("--policies", help="Label of the policy class.")
@click.option("--oracle", help="Label of the oracle.")
@click.option("--seed", type=int, help="Seed of the play.")
@click.option("--horizon", type=int, help="Number of rounds of the play.")
@click.option("--out", "target", type=PATH, required=True, help="File to write: .csv or .parquet.")
@click.option("--trust", is_flag=True, help="Run classes and read files that DIRECTORY's config names.")
def log(directory: Path, target: Path, *, trust: bool, **wanted: str | int | None) -> None:
    """Write the rounds of one play of the run in DIRECTORY, by playing the same rounds once more.

    A line a round: the columns of the context, then action (0, 1, ...), cost and probability, as milpcb certify,
    evaluate and learn read them. Options pick the play where the run has several.
    """
    kind, buffer = check_ending(target, ("csv", "parquet")), BytesIO()
    frame, _ = rounds_of_run(directory, wanted, trust=trust)
    (frame.write_csv if kind == "csv" else frame.write_parquet)(buffer)
    out.print(f"{spaced(frame.height)} rounds: {write_file(target, buffer.getvalue())}")


def rounds_of_run(
    directory: Path, wanted: dict[str, str | int | None], *, trust: bool, named: bool = False
) -> tuple[pl.DataFrame, bool]:
    """Return the rounds of the play of a run with the labels ``wanted``, and whether its learner hides its law."""
    import polars as pl

    from milpcb.experiments.run.player import Rounds, Tally, play
    from milpcb.experiments.run.runner import cell_player, read_run
    from milpcb.experiments.study.worlds import open_world

    cell = _cell(directory, read_run(directory, trust=trust), wanted)
    world = open_world(cell, WorldCosts(directory, cell.world_key))
    for name in (name for name in PLAYED if name in world.environment.feature_names):
        raise InputError(
            f"the contexts of {directory} have a feature called '{name}', the name of a column of the rounds; "
            "rename the feature in the environment"
        )
    learner, tally, actions = cell_player(cell, world).learner, Tally(), rng.child(cell.seed, "actions")
    rounds: Rounds = []
    with step(err, cell.title) as tick:
        while tally.round < cell.horizon:
            play(learner, world.stream, tally, min(cell.horizon, tally.round + SLICE), actions, rounds)
            tick(tally.round, cell.horizon)
    rows, played, costs, probabilities = map(np.array, zip(*rounds, strict=True))
    shown = np.asarray(world.stream.contexts)[rows]
    names = world.environment.feature_names or [f"x{j}" for j in range(shown.shape[1])]
    called = np.array(world.environment.action_names if named else ())  # () where it has none
    columns = {**dict(zip(names, shown.T, strict=True)), "action": called[played] if len(called) else played}
    return pl.DataFrame({**columns, "cost": costs, "probability": probabilities}), bool(learner.hides_law)


def _cell(directory: Path, config: Config, wanted: dict[str, str | int | None]) -> Cell:
    cells = list(build_study(config).cells)
    for axis in AXES:
        known = list(dict.fromkeys(cell.labels[axis] for cell in cells))
        if wanted.get(axis) is not None:
            if wanted[axis] not in known:
                raise UnknownNameError(axis, str(wanted[axis]), map(str, known))
            cells = [cell for cell in cells if cell.labels[axis] == wanted[axis]]
        elif len(known) > 1:
            raise InputError(f"{directory} differs in {axis}: name one of {len(known)}, as in --{axis} '{known[0]}'")
    if read_record(directory, "cell", cells[0].key, cells[0].horizon) is None:
        raise RunError(
            f"{directory} holds no finished record of '{cells[0].title}' as its files and the source code are now; "
            f"milpcb resume {directory} plays it"
        )
    return cells[0]


class RowsOption(click.Option):
    """An option that needs the rows of a log themselves, which learning in one pass does not keep."""


def _listed(_ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts of texts with commas between them."""
    return tuple(part.strip() for text in texts for part in text.split(","))


needs_rows = partial(click.option, cls=RowsOption)
several = partial(needs_rows, multiple=True)
with_commas = partial(click.option, multiple=True, callback=_listed)
OPTIONS = (
    click.argument("log", type=PATH),
    click.option("--action", help="Column of actions."),
    click.option("--reward", help="Column of outcomes, larger is better."),
    click.option("--cost", help="Column of outcomes, smaller is better."),
    with_commas(
        "--propensity",
        metavar="COLUMN",
        help="Probability of the action, or of all actions, ACTION=COLUMN, with commas  [default: estimated].",
    ),
    click.option("--randomised", is_flag=True, help="Each action had the same probability in all rows: a trial."),
    with_commas("--features", help="Columns that policies may read, with commas [default: others]."),
    click.option("--leave-out", multiple=True, metavar="COLUMN", help="Column that policies may not read; repeatable."),
    needs_rows("--group", default="", metavar="COLUMN", help="Rows of one value belong together, such as a person's."),
    needs_rows("--weight", default="", metavar="COLUMN", help="How much each row counts [default: once]."),
    with_commas("--actions", help="Names of the actions in order, with commas  [default: sorted]."),
    with_commas("--missing", metavar="MARKS", help='More marks of missing values: "NA,-999".'),
    click.option("--learner", help="Of a run directory: the label of the learner."),
    click.option("--seed-of-run", type=int, help="Of a run directory: the seed of the play."),
    click.option("--trust", is_flag=True, help="Run classes and read files that the config of a run directory names."),
)


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; they reach it as keywords, for ``source_of``."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def source_of(log: Path, columns: Columns, given: dict[str, Any], known: Schema | None = None) -> Source:
    """Return the log, columns of a file that are ``known`` as they were; InputError where a learner hides its law."""
    import milpcb.estimators  # noqa: F401 - where the extra is not installed, that is one line
    from milpcb.logs.files import is_files, log_files
    from milpcb.logs.source import make_source, read_source

    if is_files(log):
        return make_source(str(log), log_files(log).frame(), columns)
    if log.is_dir():
        wanted = {"learner": given["learner"], "seed": given["seed_of_run"]}
        frame, hides_law = rounds_of_run(log, wanted, trust=given["trust"], named=True)
        if hides_law:
            raise InputError(
                "this learner draws within act, so the probabilities of its actions are unknown, and estimates cannot "
                "use them; write a file with milpcb log, and leave the column out: --leave-out probability"
            )
        return make_source(str(log), frame, columns)
    return read_source(log, columns, known)


def columns_of(log: Path, given: dict[str, Any], origin: Origin | None = None) -> Columns:
    """Return the roles of a log's columns; those of a policy's ``origin`` need not be named. Raises InputError."""
    from milpcb.estimators.inputs import Columns
    from milpcb.logs.files import is_files

    alike = {name: given[name] for name in ("leave_out", "group", "weight", "actions", "missing")}
    alike["features"] = tuple(dict.fromkeys(given["features"]))
    if log.is_dir() and not is_files(log):
        for name in ("action", "reward", "cost", "propensity", "randomised"):
            if given[name]:
                raise InputError(f"--{name} is for files: in a run the actions, costs and probabilities are known")
        return Columns("action", "cost", maximise=False, propensity=("probability",), **alike)
    if origin:
        given = origin.completed(given)
    if given["action"] is None:
        raise InputError("name the column of actions, as in --action treat")
    if (given["reward"] is None) == (given["cost"] is None):
        raise InputError("name the column of outcomes once: --reward COLUMN (larger is better) or --cost COLUMN")
    alike |= {"propensity": given["propensity"], "randomised": given["randomised"]}
    pairs = [[part.strip() for part in text.split("=", 1)] for text in given["propensity"]]
    if len(pairs) > 1 and all(len(pair) > 1 for pair in pairs):  # ACTION=COLUMN
        alike["propensity_of"], alike["propensity"] = map(tuple, zip(*pairs, strict=True))
    maximise = given["reward"] is not None
    return Columns(given["action"], given["reward" if maximise else "cost"], maximise=maximise, **alike)
