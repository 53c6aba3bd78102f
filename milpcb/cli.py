"""The command line. Every mistake a user can make ends in one line and exit code 2."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import click

from milpcb.commands import COMMANDS
from milpcb.errors import InputError, MilpcbError, did_you_mean


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command from its file."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        return cast("click.Command", getattr(import_module(module), attribute))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise InputError(f"unknown command '{args[0]}'{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click itself would write an empty line before it tells of an interrupt."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise MilpcbError("interrupted") from error


GUIDE = """Contextual bandits with worst-case guarantees over interpretable policies; a MILP solver is the oracle.

\b
A first study:
  milpcb list                          what a config may name, with all options
  milpcb run study.toml --dry-run      its cells, and about how long they take
  milpcb run study.toml                play them; the same again plays what is missing
  milpcb report runs/NAME              one HTML page of what came out

\b
A config names an environment, a policy class, an oracle and learners:
  [experiment]    name = "first"   horizon = 20_000   seeds = [0, 1]
  [environment]   name = "planted"
  [policies]      name = "decision_trees"   depth = 2
  [oracle]        kind = "search"
  [[learners]]    name = "bistro_plus"   noise = "half"   queries = "profile"
(one key = value a line). Classes of your own folder are named "module:Class".
"""


@click.group(
    cls=_Commands,
    help=GUIDE,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="milpcb", prog_name="milpcb")
def cli() -> None:
    """Contextual bandits with worst-case guarantees over interpretable policies; a MILP solver is the oracle."""


def main() -> None:
    """Run the command line; a mistake is one line on stderr and exit code 2."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    sys.path.append(str(Path.cwd()))  # a config may name a class of its own folder: name = "my_rules:MyRules"
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


if __name__ == "__main__":
    main()
