"""``milpcb verify``: relaxations against the theorem, on games that can be enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

import click
from rich.box import SIMPLE
from rich.table import Column, Table

from milpcb.commands.console import err, out, step
from milpcb.errors import MilpcbError
from milpcb.plugins import registry

if TYPE_CHECKING:
    from fractions import Fraction

    from milpcb.theory.verdicts import Verdict

COLUMNS = ("game", "(1)", "(2)", "bias", "reg")
_VERDICT = {True: "pass", False: "REJECT"}
LONGEST = 8  # characters of a fraction; a longer one is shown as a decimal

MEANING = """\b
Columns (milpcb/theory/README.md has the proofs):
  game  the per-round game of the proof; 0: the noise is the least possible
  (1)   condition of a round: Rel before it, minus the worst cost plus Rel after
  (2)   condition of the end: E Rel there plus the best policy's cost
  bias  the largest |E chat - c| of the estimates; must be 0
  reg   Rel(empty) minus the exact expected regret against the worst plan
"""


@click.command(epilog=MEANING)
@click.option("--quick", is_flag=True, help="Fewer games, and shorter ones.")
@click.option("--noise", metavar="NAME", help="Verify this relaxation only.")
def verify(*, quick: bool, noise: str | None) -> None:
    """Check that every relaxation is admissible.

    On games small enough to enumerate (two or three actions, two contexts, up to three rounds), with the functions that
    a run calls, on every future that could be drawn, in rational arithmetic. A registered relaxation of your own is
    verified like the others. Every figure is the least over all games (for the bias the largest), in units of cost; a
    negative one is a violation. Exit code 2 if a relaxation is rejected.
    """
    from milpcb.theory.exact import all_games, quick_games
    from milpcb.theory.verdicts import judge, variants

    games = quick_games() if quick else all_games()
    names = [noise] if noise else registry.names("relaxation")
    judged = [variant for name in names for variant in variants(name)]
    done = count(1)
    with step(err, "verifying: relaxations") as tick:
        verdicts = [judge(each, games, lambda: tick(next(done), len(judged) * len(games))) for each in judged]
    _report(verdicts)
    out.print(f"{len(verdicts)} variants are admissible on all {len(games)} games")


def _report(verdicts: Sequence[Verdict]) -> None:
    columns = (Column(name, justify="right", no_wrap=True) for name in COLUMNS)
    table = Table("relaxation", *columns, "verdict", box=SIMPLE)
    for each in verdicts:
        shown = map(_short, each.slacks._replace(bias=-each.slacks.bias))
        table.add_row(each.name, *shown, _VERDICT[each.passes], style=None if each.passes else "red")
    out.print(table)
    rejected = [verdict for verdict in verdicts if not verdict.passes]
    if rejected:
        raise MilpcbError(
            f"{len(rejected)} of the variants above should pass and do not; "
            f"'{rejected[0].name}': {rejected[0].violations[0]}"
        )


def _short(slack: Fraction) -> str:
    exact = str(slack)
    return exact if len(exact) <= LONGEST else f"~{float(slack):.4f}"
