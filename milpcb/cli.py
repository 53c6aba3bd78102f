"""The command line. Every mistake a user can make ends in one line and exit code 2."""

import os
import signal
import sys
from collections import Counter
from contextlib import suppress
from typing import cast

import click
from click.shell_completion import shell_complete

from milpcb.core.text import escaped
from milpcb.errors import MEMORY, InputError, MilpcbError, UnknownNameError, cause, clipped, out_of_memory
from milpcb.plugins import registry

LONGEST = 2000  # characters of a message
COMPLETE = "_MILPCB_COMPLETE"  # environment variable: what a shell asks, to complete a line
TRACE = "MILPCB_TRACEBACK"  # environment variable: show where an unexpected error comes from


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(registry.entries("command"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Load the command from its file; raises UnknownNameError on any other name, one of a class too."""
        del ctx
        if cmd_name not in (known := registry.entries("command")):
            raise UnknownNameError("command", cmd_name, known)
        return cast("click.Command", registry.load("command", cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _check_once(command, rest, click.Context(command, ctx, name, **command.context_settings))
        return name, command, rest


def _check_once(command: click.Command, arguments: list[str], ctx: click.Context) -> None:
    """Raise InputError where an option with one value is given twice: the last would be taken, without a word."""
    given = Counter(command.make_parser(ctx).parse_args(list(arguments))[2])
    for parameter, times in given.items():
        if times > 1 and isinstance(parameter, click.Option) and not (parameter.multiple or parameter.count):
            raise InputError(
                f"option {'/'.join(parameter.opts)} is given {times} times, and takes one value: give it once"
            )


GUIDE = """Contextual bandits with worst-case guarantees over interpretable policies; a MILP solver is the oracle.

\b
A first study:
  milpcb list                          the names for configs; milpcb list NAME explains one
  milpcb run study.toml --dry-run      its cells, counted
  milpcb run study.toml                play them; the same again plays what is missing
  milpcb report runs/NAME              one HTML page of the results

\b
A config names an environment, a policy class, an oracle and learners:
  [experiment]    name = "first"   horizon = 20_000   seeds = [0, 1]
  [environment]   name = "planted"
  [policies]      name = "decision_trees"   depth = 2
  [oracle]        kind = "search"
  [[learners]]    name = "bistro_plus"   noise = "half"   queries = "profile"
(one key = value a line). Classes in files beside the config are named "module:Class".
"""


def _print_versions(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from milpcb.commands.machine import versions

    click.echo(versions())
    ctx.exit()


@click.group(
    cls=_Commands,
    help=GUIDE,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_versions,
    help="Show the versions of milpcb, Python and the solvers, and exit.",
)
def cli() -> None:
    """Contextual bandits with worst-case guarantees over interpretable policies; a MILP solver is the oracle."""


def main() -> None:
    """Run the command line; a mistake is one line on stderr and exit code 2.

    Click's own main would end at a pipe that nobody reads, and write an empty line at an interrupt.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _open_what_is_closed()
    if asked := os.environ.get(COMPLETE):
        sys.exit(shell_complete(cli, {}, "milpcb", COMPLETE, asked))
    try:
        with suppress(click.exceptions.Exit), cli.make_context("milpcb", sys.argv[1:]) as ctx:
            cli.invoke(ctx)
        sys.stdout.flush()
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "milpcb"
        _fail(f"{error.format_message()} (see {command} --help)")
    except MilpcbError as error:
        _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted")
    except BrokenPipeError:  # nobody reads on: what was to be done is done
        _silence()
    except OSError as error:
        _fail(_of_the_system(error))
    except SystemExit as error:  # no command of ours exits: a plug-in did, whose code would hide that nothing was done
        _fail(f"a class of the config ended Python: {cause(error)}; remove that")
    except Exception as error:  # a mistake of ours, or of a plug-in: its place, and how to see more
        if os.environ.get(TRACE):
            raise
        unexpected = f"unexpected error, {cause(error)}; please report it, with what {TRACE}=1 shows"
        _fail(MEMORY if out_of_memory(error) else unexpected)


def _open_what_is_closed() -> None:
    """Let what a service has closed lead nowhere; the next files opened would otherwise be taken for it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _of_the_system(error: OSError) -> str:
    if out_of_memory(error):
        return MEMORY
    if error.strerror is None:
        return str(error) or type(error).__name__
    return f"cannot use {error.filename or 'standard output'}: {error.strerror}; fix that and run again"


def _fail(message: str) -> None:
    sys.stderr.write(f"milpcb: {escaped(clipped(message, LONGEST))}\n")
    try:
        sys.stdout.flush()
    except OSError:
        _silence()
    sys.exit(2)


def _silence() -> None:
    """Let go of what cannot be written; at exit Python would try again, and change the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
