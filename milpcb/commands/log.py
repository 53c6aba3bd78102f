"""``milpcb log``: the rounds of one play of a run, as a table that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from milpcb import rng
from milpcb.commands.console import check_ending, err, out
from milpcb.errors import InputError, RunError, UnknownNameError

if TYPE_CHECKING:
    import polars as pl

    from milpcb.experiments.study.cells import Cell
    from milpcb.experiments.study.sections import Config

PLAYED = ("action", "cost", "probability")  # the columns behind those of the context
SLICE = 1024  # rounds between two looks at how far it is
AXES = ("learner", "environment", "policies", "oracle", "seed", "horizon")


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--learner", help="Its label.")
@click.option("--environment", help="Its label.")
@click.option("--policies", help="Label of the policy class.")
@click.option("--oracle", help="Label of the oracle.")
@click.option("--seed", type=int, help="Seed of the play.")
@click.option("--horizon", type=int, help="Number of rounds of the play.")
@click.option(
    "--out", "target", type=click.Path(path_type=Path), required=True, help="File to write: .csv or .parquet."
)
@click.option("--trust", is_flag=True, help="Run classes and read files that DIRECTORY's config names.")
def log(directory: Path, target: Path, *, trust: bool, **wanted: str | int | None) -> None:
    """Write the rounds of one play of the run in DIRECTORY: what was shown, done and paid, and with which probability.

    A line a round: the columns of the context, then action (0, 1, ...), cost and probability, as milpcb certify,
    evaluate and learn read them. Options pick the play where the run has several. A run does not keep its rounds; they
    are played once more, which gives the same ones.
    """
    from milpcb.core.files import write_file

    kind = check_ending(target, ("csv", "parquet"))
    frame, _ = rounds_of_run(directory, wanted, trust=trust)
    content = frame.write_csv().encode() if kind == "csv" else _parquet(frame)
    out.print(f"{frame.height:,} rounds: {write_file(target, content)}")


def rounds_of_run(
    directory: Path, wanted: dict[str, str | int | None], *, trust: bool, named: bool = False
) -> tuple[pl.DataFrame, bool]:
    """Return the rounds of the one play of a run that has the labels ``wanted`` (None for any): a row for each.

    Actions are numbers, or what the environment calls them where they are to be ``named`` and it has names.
    Beside them, whether its learner hides the law of what it played (see Learner). Raises RunError, InputError,
    UnknownNameError.
    """
    from milpcb.experiments.run.trust import read_run

    return _frame(directory, _cell(directory, read_run(directory, trust=trust), wanted), named=named)


def _cell(directory: Path, config: Config, wanted: dict[str, str | int | None]) -> Cell:
    """Return the one finished cell with the labels that are wanted; raises RunError where that is none, or several."""
    from milpcb.experiments.results.records import read_record
    from milpcb.experiments.study.cells import build_study

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


def _frame(directory: Path, cell: Cell, *, named: bool) -> tuple[pl.DataFrame, bool]:
    """Return the rounds of a cell, with the names of the environment's features or x0, x1, ...; and ``hides_law``."""
    import polars as pl

    from milpcb.commands.steps import step
    from milpcb.experiments.results.records import WorldCosts
    from milpcb.experiments.run.player import Rounds, Tally, play
    from milpcb.experiments.run.task import CellPlayer
    from milpcb.experiments.study.worlds import open_world

    world = open_world(cell, WorldCosts(directory, cell.world_key))
    for name in (name for name in PLAYED if name in world.environment.feature_names):
        raise InputError(
            f"the contexts of {directory} have a feature called '{name}', the name of a column of the rounds; "
            "rename the feature in the environment"
        )
    learner, tally, actions = CellPlayer(cell, world).learner, Tally(), rng.child(cell.seed, "actions")
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


def _parquet(frame: pl.DataFrame) -> bytes:
    from io import BytesIO

    buffer = BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
