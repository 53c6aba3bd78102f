"""``milpcb verify``: the relaxations against the theorem, exactly, on games small enough to enumerate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.box import SIMPLE
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from milpcb import registry
from milpcb.commands.console import out
from milpcb.errors import MilpcbError

if TYPE_CHECKING:
    from fractions import Fraction

    from milpcb.theory.games import Game
    from milpcb.theory.player import Variant
    from milpcb.theory.verdicts import Verdict

COLUMNS = ("game", "(1)", "(2)", "bias", "reg")
LONGEST = 8  # characters of a fraction; a longer one is shown as a decimal


MEANING = """\b
Columns:
  game  the per-round game inside the proof: what one more round of noise lifts
        Rel by, minus what q* loses at worst; exploration is left out, so that
        0 means that there is not a grain of noise too much
  (1)   condition (1): Rel before a round, minus the worst cost plus Rel after
        it, at every past that costs 0 and 1 can lead to
  (2)   condition (2): E Rel at the end plus the best policy's cost, for every
        sequence of contexts and of costs 0 and 1
  bias  the largest |E chat - c| of the estimates; must be 0
  reg   Rel(empty) minus the exact expected regret against the worst plan of
        costs 0 and 1 by round and context: what is left of the guarantee

\b
Names:
  signs       noise kappa L eps with probability p in each future round
  coordinate  noise kappa L on one action, of either sign
  signed      estimates of c - 1/2, noise L/2 on one action, of either sign
  price       E, where exploring is counted as E / L a round
"""


@click.command(epilog=MEANING)
@click.option("--quick", is_flag=True, help="Fewer games, and two rounds at most.")
@click.option("--noise", metavar="NAME", help="Verify this relaxation only, and no mutants.")
def verify(*, quick: bool, noise: str | None) -> None:
    """Check in rational arithmetic that every relaxation is admissible.

    On games small enough to enumerate (two or three actions, two contexts, up to three rounds), with the functions that a
    run calls, on every future that could be drawn. A registered relaxation of your own is verified like the others. Then
    mutants, relaxations with one thing wrong, which must be rejected. Every figure is the least over all games (of the
    bias the largest), in units of cost; a negative one is a violation.

    Exit code 2 if a relaxation is rejected, or a mutant is not.
    """
    from milpcb.theory.games import all_games, quick_games
    from milpcb.theory.mutants import ALSO_ADMISSIBLE, MUTANTS
    from milpcb.theory.verdicts import variants

    games = quick_games() if quick else all_games()
    names = [noise] if noise else registry.names("relaxation")
    admissible = [variant for name in names for variant in variants(name)] + ([] if noise else ALSO_ADMISSIBLE)
    verdicts = _judge_all([*admissible, *([] if noise else MUTANTS)], games)
    good, bad = verdicts[: len(admissible)], verdicts[len(admissible) :]
    out.print(_table(good, bad))
    _complain([verdict for verdict in good if not verdict.passes], [verdict for verdict in bad if verdict.passes])
    rejected = f"; all {len(bad)} mutants are rejected, as they should be" if bad else ""
    out.print(f"{len(good)} variants are admissible on all {len(games)} games{rejected}")


def _judge_all(variants: list[Variant], games: list[Game]) -> list[Verdict]:
    from milpcb.theory.verdicts import judge

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task("", total=len(variants) * len(games))
        verdicts = []
        for variant in variants:
            bar.update(task, description=variant.name)
            verdicts.append(judge(variant, games, tick=lambda: bar.advance(task)))
    return verdicts


def _table(good: list[Verdict], bad: list[Verdict]) -> Table:
    table = Table(
        "relaxation", *(Column(name, justify="right", no_wrap=True) for name in COLUMNS), "verdict", box=SIMPLE
    )
    for verdict in good:
        table.add_row(*_cells(verdict), style=None if verdict.passes else "red")
    table.add_section()
    for verdict in bad:
        table.add_row(*_cells(verdict), style="red" if verdict.passes else None)
    return table


def _cells(verdict: Verdict) -> list[str]:
    slacks = verdict.slacks._replace(bias=-verdict.slacks.bias)
    return [verdict.variant.name, *map(_short, slacks), "pass" if verdict.passes else "REJECT"]


def _short(slack: Fraction) -> str:
    exact = str(slack)
    return exact if len(exact) <= LONGEST else f"~{float(slack):.4f}"


def _complain(rejected: list[Verdict], accepted: list[Verdict]) -> None:
    """Raise MilpcbError where a verdict is not the expected one."""
    if rejected:
        first = rejected[0]
        raise MilpcbError(
            f"{len(rejected)} of the variants above should pass and do not; "
            f"'{first.variant.name}': {first.violations()[0]}"
        )
    if accepted:
        raise MilpcbError(f"mutant '{accepted[0].variant.name}' was not rejected: the verification has no teeth")
