"""``milpcb verify``: relaxations against the theorem, and runs with them, on games that can be enumerated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, TypeVar

import click
from rich.box import SIMPLE
from rich.table import Column, Table

from milpcb.commands.console import err, out, step
from milpcb.errors import MilpcbError
from milpcb.plugins import registry

if TYPE_CHECKING:
    from fractions import Fraction

    from milpcb.theory.games import Verdict

COLUMNS = ("game", "(1)", "(2)", "bias", "reg")
RUN_COLUMNS = ("stated", "drawn")
_VERDICT = {True: "pass", False: "REJECT"}
LONGEST = 8  # characters of a fraction; a longer one is shown as a decimal

_Subject = TypeVar("_Subject")
_Slacks = TypeVar("_Slacks")


MEANING = """\b
Columns (milpcb/theory/README.md has the proofs):
  game     the per-round game of the proof; 0: not a grain of noise too much
  (1)      condition of a round: Rel before it, minus the worst cost plus Rel after
  (2)      condition of the end: E Rel there plus the best policy's cost
  bias     the largest |E chat - c| of the estimates; must be 0
  reg      Rel(empty) minus the exact expected regret against the worst plan
  stated   the guarantee minus Rel(empty), where that is least
  drawn    noise drawn, beside the verified law: in standard errors, at most 6
"""


@click.command(epilog=MEANING)
@click.option("--quick", is_flag=True, help="Fewer games, and shorter ones.")
@click.option("--noise", metavar="NAME", help="Verify this relaxation only, and no mutants.")
def verify(*, quick: bool, noise: str | None) -> None:
    """Check that every relaxation is admissible, states what it may, and draws as verified.

    On games small enough to enumerate (two or three actions, two contexts, up to three rounds), with the functions that
    a run calls, on every future that could be drawn, in rational arithmetic. Then mutants, relaxations with one thing
    wrong, which must be rejected. Every figure is the least over all games (of the bias the largest), in units of cost;
    a negative one is a violation. A run has to draw noise by the law that was verified, and no guarantee may be below
    Rel(empty). Exit code 2 if a relaxation is rejected, or a mutant is not.
    """
    from milpcb.theory.games import all_games, quick_games
    from milpcb.theory.mutants import ALSO_ADMISSIBLE, MUTANTS
    from milpcb.theory.verdicts import judge, judge_run, variants

    games = quick_games() if quick else all_games()
    names = [noise] if noise else registry.names("relaxation")
    admissible = [variant for name in names for variant in variants(name)] + ([] if noise else ALSO_ADMISSIBLE)
    judged = [*admissible, *([] if noise else MUTANTS)]
    verdicts = _each("relaxations", judged, lambda variant, tick: judge(variant, games, tick=tick), len(games))
    good, bad = verdicts[: len(admissible)], verdicts[len(admissible) :]
    _report("relaxation", COLUMNS, lambda each: map(_short, each.slacks._replace(bias=-each.slacks.bias)), good, bad)
    rejected = f"; all {len(bad)} mutants are rejected, as they should be" if bad else ""
    out.print(f"{len(good)} variants are admissible on all {len(games)} games{rejected}")
    played = _each("runs", [variants(name)[0] for name in names], lambda variant, _: judge_run(variant, games))
    _report("run", RUN_COLUMNS, lambda each: (f"{slack:.4g}" for slack in each.slacks), played)
    out.print(f"{len(played)} relaxations draw as verified, and state no less")


def _each(
    what: str,
    subjects: Sequence[_Subject],
    judge: Callable[[_Subject, Callable[[], None]], Verdict[_Slacks]],
    ticks: int = 0,
) -> list[Verdict[_Slacks]]:
    verdicts, done, total = [], count(1), len(subjects) * max(1, ticks)
    with step(err, f"verifying: {what}") as tick:
        for subject in subjects:
            verdicts.append(judge(subject, lambda: tick(next(done), total)))
            if not ticks:
                tick(next(done), total)
    return verdicts


def _report(
    what: str,
    columns: Iterable[str],
    cells: Callable[[Verdict[_Slacks]], Iterable[str]],
    good: Sequence[Verdict[_Slacks]],
    bad: Sequence[Verdict[_Slacks]] = (),
) -> None:
    table = Table(what, *(Column(name, justify="right", no_wrap=True) for name in columns), "verdict", box=SIMPLE)
    for wanted, verdicts in ((True, good), (False, bad)):
        for each in verdicts:
            style = None if each.passes == wanted else "red"
            table.add_row(each.name, *cells(each), _VERDICT[each.passes], style=style)
        table.add_section()
    out.print(table)
    rejected = [verdict for verdict in good if not verdict.passes]
    accepted = [verdict for verdict in bad if verdict.passes]
    if rejected:
        raise MilpcbError(
            f"{len(rejected)} of the variants above should pass and do not; "
            f"'{rejected[0].name}': {rejected[0].violations[0]}"
        )
    if accepted:
        raise MilpcbError(f"mutant '{accepted[0].name}' was not rejected: the verification has no teeth")


def _short(slack: Fraction) -> str:
    exact = str(slack)
    return exact if len(exact) <= LONGEST else f"~{float(slack):.4f}"
