"""The command line. Every mistake a user can make ends in one line and exit code 2."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from milpcb import registry
from milpcb.errors import InputError, MilpcbError, did_you_mean

if TYPE_CHECKING:
    from milpcb.experiments.curves import Row
    from milpcb.types import Answer

out = Console(highlight=False, soft_wrap=True, markup=False)  # names and paths may hold brackets


class _Commands(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise InputError(f"unknown command '{args[0]}'{did_you_mean(args[0], self.commands)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click itself would write an empty line before it tells of an interrupt."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise MilpcbError("interrupted") from error


@click.group(
    cls=_Commands,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="milpcb", prog_name="milpcb")
def cli() -> None:
    """Contextual bandits with worst-case guarantees over interpretable policies; a MILP solver is the oracle."""


@cli.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--out", "directory", type=click.Path(path_type=Path), help="Run directory [default: runs/NAME].")
def run(config: Path, directory: Path | None) -> None:
    """Run the experiment of a TOML CONFIG: curves, pictures, summary.

    Running again into the same directory plays only what is not finished there.
    """
    from milpcb.experiments.config import read_config
    from milpcb.experiments.progress import Bars
    from milpcb.experiments.runner import run as play_all
    from milpcb.experiments.store import RunDirectory

    settings = read_config(config)
    target = RunDirectory(directory or Path(settings.run.out or f"runs/{settings.experiment.name}"), settings)
    try:
        with Bars(out) as bars:
            play_all(settings, target, bars)
    except KeyboardInterrupt as error:
        total = len(settings.learners) * len(settings.experiment.seeds)
        raise MilpcbError(
            f"interrupted: {len(target.finished())} of {total} curves are kept in {target.path}; "
            "the same command goes on from there"
        ) from error
    pictures = _draw(target.rows, target.path, settings.experiment.name, loglog=settings.run.loglog)
    _report(target.rows, target.path, pictures)


@cli.command()
@click.argument("directories", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--loglog", is_flag=True, help="Both axes logarithmic: the slope is the exponent of T.")
@click.option("--out", "target", type=click.Path(path_type=Path), help="Folder for the pictures [default: the first].")
def plot(directories: tuple[Path, ...], loglog: bool, target: Path | None) -> None:
    """Draw the regret curves of one or more run DIRECTORIES on the same axes."""
    from dataclasses import replace

    from milpcb.experiments.curves import read_curves

    names = _short_names(directories)
    rows = [
        replace(row, learner=f"{name}: {row.learner}" if len(names) > 1 else row.learner)
        for name, path in zip(names, directories, strict=True)
        for row in read_curves(path)
    ]
    for picture in _draw(rows, target or directories[0], ", ".join(names), loglog=loglog):
        out.print(f"picture: {picture}")


@cli.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("contexts", type=click.Path(path_type=Path))
@click.argument("costs", type=click.Path(path_type=Path))
@click.option("--policies", "name", default="decision_trees", show_default=True, help="Policy class, see milpcb list.")
@click.option("--kind", default="milp", show_default=True, help="Oracle kind, see milpcb list.")
@click.option("--solver", default="highs", show_default=True, help="Solver, see milpcb solvers.")
@click.option("--time-limit", type=float, help="Seconds; the answer then shows its bounds.")
@click.option(
    "--out", "targets", multiple=True, type=click.Path(path_type=Path), help="Also write .json, .png or .svg."
)
@click.pass_context
def solve(
    ctx: click.Context,
    contexts: Path,
    costs: Path,
    name: str,
    kind: str,
    solver: str,
    time_limit: float | None,
    targets: tuple[Path, ...],
) -> None:
    """Find the policy of least total cost for CONTEXTS.csv (m, d) and COSTS.csv (m, K).

    Further options are those of the policy class, e.g. --depth 2 --thresholds 3.
    """
    from milpcb.experiments.tables import read_table
    from milpcb.oracles import open_oracle

    features, rows = read_table(contexts)
    actions, matrix = read_table(costs)
    if matrix.shape[1] < 2:
        raise InputError(f"{costs} has one column; write one column per action, at least 2")
    given = {"n_actions": matrix.shape[1], "feature_names": features or None, "action_names": actions or None}
    own = [option for parameter in ctx.command.params for option in parameter.opts if option.startswith("--")]
    policies = _policies(name, given, ctx.args, own)
    answer = open_oracle(policies, rows, kind=kind, solver=solver, time_limit=time_limit).minimise(matrix)
    out.print(str(answer.policy) if answer.policy is not None else "no policy found in time")
    out.print(f"cost: {answer.upper:.12g}   proved lower bound: {answer.lower:.12g}   ({answer.stop})")
    out.print(f"time: {1e3 * answer.seconds:.2f} ms with {solver if kind == 'milp' else kind}")
    if targets:
        _save(answer, targets)


@cli.command()
def solvers() -> None:
    """Show which solvers can run here, and why the others cannot."""
    from milpcb.solvers import describe_all

    table = Table("solver", "version", "can do", "runs here")
    for info in describe_all():
        table.add_row(info.name, info.version, info.can, f"no: {info.missing}" if info.missing else "yes")
    out.print(table)
    out.print(
        "to install: pip install 'milpcb[scip]' for scip; for pulp:NAME, install NAME where PuLP finds it",
        markup=False,
    )


@cli.command("list")
def list_names() -> None:
    """Show every name that a config may use, with its options."""
    from milpcb.experiments.config import SUPPLIED
    from milpcb.experiments.options import option_names

    table = Table("kind", "name", "options")
    for kind in registry.BUILTIN:
        for name in registry.names(kind):
            options = (
                option_names(registry.load(kind, name), SUPPLIED[kind]) if kind in SUPPLIED and kind != "oracle" else []
            )
            table.add_row(kind, name, ", ".join(options))
    out.print(table)


def main() -> None:
    """Run the command line; a mistake is one line on stderr and exit code 2."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        cli.main(standalone_mode=False, prog_name="milpcb")
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "milpcb"
        _fail(f"{error.format_message()} (see {command} --help)")
    except MilpcbError as error:
        _fail(str(error))
    except click.Abort:
        _fail("interrupted")
    except MemoryError:
        _fail("out of memory; make the policy class, the contexts or the number of checkpoints smaller")
    except OSError as error:
        _fail(f"cannot use {error.filename or 'standard output'}: {error.strerror}; mend that and run again")


def _as_interrupt(_signal: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _fail(message: str) -> None:
    sys.stderr.write(f"milpcb: {' '.join(message.split())}\n")
    try:
        sys.stdout.flush()
    except OSError:  # what is left cannot be written; at exit Python would try again and change the exit code
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(2)


def _short_names(directories: Sequence[Path]) -> list[str]:
    """Return the last part of each path, or the whole paths where that does not tell them apart."""
    names = [path.resolve().name for path in directories]
    return names if len(set(names)) == len(names) else [str(path) for path in directories]


def _policies(name: str, given: dict[str, Any], arguments: list[str], own: list[str]) -> Any:
    """Make a policy class from --key value pairs; keys are its constructor's arguments.

    ``given`` is known already; ``own`` are the options of the command, for the nearest name of a mistyped one.
    """
    import tomllib

    from milpcb.experiments.options import check_options, option_names

    cls = registry.load("policies", name)
    keys = {f"--{key.replace('_', '-')}": key for key in option_names(cls, given)}
    table: dict[str, Any] = {}
    for option, text in _pairs(arguments):
        if option not in keys:
            raise InputError(f"unknown option '{option}' of {name}{did_you_mean(option, [*keys, *own])}")
        try:
            table[keys[option]] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            table[keys[option]] = text
    options = check_options(cls, table, name, tuple(given))
    return cls(**{key: value for key, value in given.items() if key in option_names(cls)}, **options)


def _pairs(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """Yield option and value of ``--key value`` and ``--key=value``; ``--some_key`` is ``--some-key``."""
    left = iter(arguments)
    for argument in left:
        option, equals, text = argument.partition("=")
        value = text if equals else next(left, None)
        if not option.startswith("--") or value is None:
            raise InputError(f"cannot read '{argument}': options of a policy class are pairs like --depth 2")
        yield option.replace("_", "-"), value


def _save(answer: Answer, targets: tuple[Path, ...]) -> None:
    from milpcb.experiments.documents import save_answer

    for target in targets:
        out.print(f"written: {save_answer(answer, target)}")


def _draw(rows: list[Row], directory: Path, title: str, *, loglog: bool) -> list[Path]:
    from milpcb.experiments.plots import regret_figure, render
    from milpcb.experiments.store import write_file

    name = "regret_loglog" if loglog else "regret"
    pictures = render(regret_figure(rows, title, loglog=loglog))
    return [write_file(directory / f"{name}.{suffix}", content) for suffix, content in pictures.items()]


def _report(rows: list[Row], directory: Path, pictures: list[Path]) -> None:
    from milpcb.experiments.tables import summary

    out.print(summary(rows))
    first = min(row.seed for row in rows)
    policy = directory / f"best_policy_seed{first}.txt"
    out.print(f"best policy in hindsight (seed {first}):")
    out.print(policy.read_text(encoding="utf-8"))
    out.print(f"curves: {directory / 'curves.csv'}")
    out.print(f"picture: {pictures[0]}")


if __name__ == "__main__":
    main()
