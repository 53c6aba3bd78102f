"""Sources of ``milpcb learn`` and ``milpcb evaluate``: a file and its columns, or a play of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from milpcb.errors import InputError

if TYPE_CHECKING:
    from milpcb.data.csv_pieces import Tick
    from milpcb.data.schema import Schema
    from milpcb.logs.origin import Origin
    from milpcb.logs.source import Columns, Source

Command = Callable[..., Any]
OPTIONS = (
    click.argument("log", type=click.Path(path_type=Path)),
    click.option("--action", help="Column of what was done."),
    click.option("--reward", help="Column of what came of it, larger is better."),
    click.option("--cost", help="Column of what came of it, smaller is better."),
    click.option(
        "--propensity",
        multiple=True,
        metavar="COLUMN",
        help="Column of the probability of what was done; or those of all actions, ACTION=COLUMN, with commas between "
        "[default: estimated].",
    ),
    click.option("--randomised", is_flag=True, help="Each action had the same probability in all rows: a trial."),
    click.option(
        "--features", multiple=True, help="Columns that the policy may read, with commas between [default: all others]."
    ),
    click.option("--leave-out", multiple=True, metavar="COLUMN", help="Column that policies may not read; repeatable."),
    click.option("--group", metavar="COLUMN", help="Rows of one value belong together, such as a person's."),
    click.option("--weight", metavar="COLUMN", help="How much each row counts [default: once]."),
    click.option(
        "--actions", multiple=True, help="Names of the actions in order, with commas between [default: sorted]."
    ),
    click.option(
        "--missing",
        multiple=True,
        metavar="MARKS",
        help='What stands where nothing is known, as in "NA,-999", beside the usual marks among numbers.',
    ),
    click.option("--learner", help="Of a run directory: the label of the learner."),
    click.option("--seed-of-run", type=int, help="Of a run directory: the seed of the play."),
    click.option("--trust", is_flag=True, help="Run classes and read files that the config of a run directory names."),
)


def source_options(command: Command) -> Command:
    """Add the options to a command; they reach it as keywords, for ``source_of``."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def source_of(log: Path, columns: Columns, given: dict[str, Any], tick: Tick, known: Schema | None = None) -> Source:
    """Return the log; raises InputError where what is named is not there.

    ``columns`` are those of ``columns_of``; ``tick`` gets how far the reading of a file is; columns of a file that are
    ``known`` are read as they were.
    """
    import milpcb.estimators  # noqa: F401 - where the extra is not installed, that is one line
    from milpcb.logs.one_pass.files import is_files, log_files
    from milpcb.logs.source import make_source, read_source

    if is_files(log):
        return make_source(str(log), log_files(log).frame(), columns)
    if log.is_dir():
        return make_source(str(log), _rounds(log, given), columns)
    return read_source(log, columns, tick, known)


def columns_of(log: Path, given: dict[str, Any], origin: Origin | None = None) -> Columns:
    """Return which column of a log is what: of a play of a run that is known.

    In a file, what was done and what came of it are those of a policy's ``origin`` unless they are named. Raises
    InputError where one is not known of a file, or named of a run.
    """
    from milpcb.logs.one_pass.files import is_files
    from milpcb.logs.source import Columns

    if log.is_dir() and not is_files(log):
        for name in ("action", "reward", "cost", "propensity", "randomised"):
            if given[name]:
                raise InputError(f"--{name} is for files: in a run the actions, costs and probabilities are known")
        return Columns("action", "cost", maximise=False, **_common(given), **PLAYED)
    if origin:
        given = origin.completed(given)
    if given["action"] is None:
        raise InputError("which column is what was done? name it, as in --action treat")
    if (given["reward"] is None) == (given["cost"] is None):
        raise InputError("name what came of it once: --reward COLUMN (larger is better) or --cost COLUMN")
    outcome = given["cost"] if given["reward"] is None else given["reward"]
    named, propensity = _by_action(_listed(given["propensity"]))
    return Columns(
        given["action"],
        outcome,
        maximise=given["reward"] is not None,
        propensity=propensity,
        propensity_of=named,
        randomised=given["randomised"],
        **_common(given),
    )


def _by_action(texts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the actions and the columns of all ACTION=COLUMN; without actions, only columns."""
    pairs = [text.partition("=") for text in texts]
    if len(pairs) < 2 or not all(sign for _, sign, _ in pairs):
        return (), texts
    return tuple(action.strip() for action, _, _ in pairs), tuple(column.strip() for _, _, column in pairs)


PLAYED: dict[str, Any] = {"propensity": ("probability",)}  # what milpcb log writes


def _common(given: dict[str, Any]) -> dict[str, Any]:
    listed = {name: _listed(given[name]) for name in ("features", "actions", "missing")}
    alone = {name: given[name] or "" for name in ("group", "weight")}
    listed["features"] = tuple(dict.fromkeys(listed["features"]))
    return {**listed, **alone, "leave_out": given["leave_out"]}


def _rounds(directory: Path, given: dict[str, Any]) -> Any:
    """Return the rounds of a play of a run; raises InputError where its learner hides its law."""
    from milpcb.commands.log import rounds_of_run

    wanted = {"learner": given["learner"], "seed": given["seed_of_run"]}
    frame, hides_law = rounds_of_run(directory, wanted, trust=given["trust"], named=True)
    if hides_law:
        raise InputError(
            "this learner draws within act, so nobody knows how likely its actions were, and estimates cannot be "
            "weighed by it; write a file with milpcb log, and leave the column out: --leave-out probability"
        )
    return frame


def _listed(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in all texts, which have commas between them."""
    return tuple(part.strip() for text in texts for part in text.split(","))
