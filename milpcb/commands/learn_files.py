"""``milpcb learn`` on logs that do not fit memory: Parquet files that are added up in one pass."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from milpcb.commands.class_options import estimator_of
from milpcb.commands.console import err
from milpcb.commands.log_source import columns_of
from milpcb.commands.steps import step
from milpcb.errors import InputError

if TYPE_CHECKING:
    from milpcb.logs.findings import Findings

NOT_HERE = (
    "at_most", "never", "always", "parity", "no_worse", "monotone", "front", "near", "what_if", "budget", "draws",
    "resamples", "group", "weight",
)  # fmt: skip  # options whose answers need the rows themselves
METHOD = "--method"


def wants_one_pass(log: Path, *, one_pass: bool | None) -> bool:
    """Return whether a log is added up in one pass: as it is asked for, else where it takes much memory."""
    from milpcb.logs.one_pass.files import is_files, log_files

    if one_pass is not None:
        return one_pass
    return (is_files(log) or (log.is_file() and log.suffix == ".parquet")) and log_files(log).large


def learn_files(ctx: click.Context, log: Path, folder: Path, given: dict[str, Any]) -> Findings:
    """Learn from the files of a log in one pass; what an interrupted pass has counted is left in the folder."""
    from milpcb.logs.findings import Asked
    from milpcb.logs.one_pass.counting import open_backend
    from milpcb.logs.one_pass.files import log_files
    from milpcb.logs.one_pass.learning import learn_in_one_pass, sample_of

    _check(ctx)
    showing = partial(step, err)
    files, columns = log_files(log), columns_of(log, given)
    with showing("a sample, for cut points") as tick:
        sample = sample_of(files, columns, tick)
    source = sample.source
    for note in source.notes:
        err.print(f"note: {note}")
    arguments = list(ctx.args)
    if not any(argument.partition("=")[0] == METHOD for argument in arguments):
        arguments += [METHOD, "snips"]
        err.print("note: scores by --method snips; dr, by models that are fitted to a sample of the rows, takes longer")
    estimator = estimator_of(source, given, arguments, ctx.command)
    backend = open_backend(given["backend"], given["workers"], given["scheduler"])
    asked = ("level", "holdout", "seed", "model_rows", "unit")
    questions = Asked(**{name: given[name] for name in asked})
    return learn_in_one_pass(files, sample, estimator, questions, backend, folder, showing)


def _check(ctx: click.Context) -> None:
    """Raise InputError where something is asked for that one pass cannot know."""
    for name in NOT_HERE:
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise InputError(
                f"--{name.replace('_', '-')} needs the rows themselves, and the log is added up in one pass: leave it "
                "out, or hold the log, or a sample of it, in memory (--in-memory)"
            )
