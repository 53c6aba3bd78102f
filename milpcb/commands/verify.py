"""``milpcb verify``: relaxations against the theorem, runs against what they prove, on games that can be enumerated."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Protocol, TypeVar

import click
from rich.box import SIMPLE
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from milpcb.commands.console import out
from milpcb.errors import MilpcbError
from milpcb.plugins import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from fractions import Fraction

    from milpcb.theory.coins.baseline import PromiseVerdict
    from milpcb.theory.coins.changes import InTurnVerdict
    from milpcb.theory.coins.confidence import ConfidentVerdict
    from milpcb.theory.coins.runs import RunVerdict
    from milpcb.theory.coins.verdicts import CoinVerdict, SlackVerdict
    from milpcb.theory.games import Game
    from milpcb.theory.one_draw import DrawVerdict
    from milpcb.theory.paths import PathVerdict
    from milpcb.theory.player import Variant
    from milpcb.theory.trials import TrialVerdict
    from milpcb.theory.verdicts import Verdict

COLUMNS = ("game", "(1)", "(2)", "bias", "reg")
RUN_COLUMNS = ("stated", "futures", "answers", "counts")
COIN_COLUMNS = ("E cert - E reg", "E bound - E reg", "played", "stated")
CONFIDENT_COLUMNS = ("policy - delta", "regret - delta")
IN_TURN_COLUMNS = ("less - delta", "more - delta", "regret - delta")
LATE_COLUMNS = ("c - E e", "bound - cert", "stated - E reg")
GUARD_COLUMNS = ("E bound - E reg", "E allowed - E reg")
PROMISE_COLUMNS = ("floor - delta", "broken - delta")
TRIAL_COLUMNS = ("false ending - delta",)
PATH_COLUMNS = ("start", "bound - cert")
DRAW_COLUMNS = ("games", "difference", "Rel - E reg")
_VERDICT = {True: "pass", False: "REJECT"}
LONGEST = 8  # characters of a fraction; a longer one is shown as a decimal

Row = tuple[list[str], bool]  # the cells of a verdict, and whether it passes
_VerdictT = TypeVar("_VerdictT")


class _Named(Protocol):
    """Subject of a verdict, with the name that progress shows."""

    @property
    def name(self) -> str: ...


_NamedT = TypeVar("_NamedT", bound=_Named)


class _Judged(_Named, Protocol):
    """A verdict."""

    @property
    def passes(self) -> bool: ...

    def violations(self) -> Sequence[str]: ...


_JudgedT = TypeVar("_JudgedT", bound=_Judged)


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
  stated
        the guarantee minus Rel(empty), where that is least; of doubling, minus
        the sum of the guarantees of its phases: - for a learner without parts
  futures, counts
        how often a run draws a future, and adds an estimate to its totals,
        beside the law that was verified: in standard errors, at most 6
  answers
        the largest difference between a run's q and the verified one; must be 0
  E cert - E reg, E bound - E reg
        mean of the universal certificate and of a learner's own bound, minus
        mean regret, over all coins of the learner: at the round and the costs
        0 and 1 where that is least; - for a learner without a bound
  played
        the largest difference between q and its definition, after any history;
        must be 0; - for a learner whose definition is not given here
  policy - delta, regret - delta
        the chance that a certificate with confidence 1 - delta is ever wrong, of
        a policy's cost or of regret, less delta, where costs react to every
        action so as to make that likeliest; must not be above 0
  less - delta, more - delta
        the same for what several policies in turn cost at least, and at most
  difference
        the largest between the mean cost of a round where the future is drawn
        once, and where it is drawn afresh in each round; must be 0 where ties
        are broken in a fixed order, and is 0 by definition where leaders are kept
  Rel - E reg
        Rel minus expected regret with one draw; must not be below 0
  c - E e, bound - cert, stated - E reg
        of costs that are learnt late: the cost less its mean estimate, the bound
        less the certificate on any path, the guarantee less mean regret
  E allowed - E reg
        of a guard: what may be paid before the change, 1, and the guarantee of
        the safe learner for the rest, in the mean, less mean regret
  start, bound - cert
        what a start of fixed share may have been charged less what it was, and
        its bound less the certificate against policies in turn, on paths drawn
        to be hard: the least; must not be below 0
  floor - delta, broken - delta
        the same for what a learner with a baseline goes by, the least that the
        baseline would have cost, and for its promise
  false ending - delta
        the same for a trial that ends with a policy that another one is better
        than by eps or more, whoever leads and whenever one looks

\b
Names:
  signs       noise kappa L eps with probability p in each future round
  coordinate  noise kappa L on one action, of either sign
  signed      estimates of c - 1/2, noise L/2 on one action, of either sign
  price       E, where exploring is counted as E / L a round
"""


@click.command(epilog=MEANING)
@click.option("--quick", is_flag=True, help="Fewer games, and shorter ones.")
@click.option("--noise", metavar="NAME", help="Verify this relaxation only, no mutants and no learners.")
def verify(*, quick: bool, noise: str | None) -> None:
    """Check that every relaxation is admissible, and that runs prove what they claim.

    On games small enough to enumerate (two or three actions, two contexts, up to three rounds), with the functions that
    a run calls, on every future that could be drawn, in rational arithmetic. A registered relaxation of your own is
    verified like the others. Then mutants, relaxations with one thing wrong, which must be rejected. Every figure is
    the least over all games (of the bias the largest), in units of cost; a negative one is a violation.

    BISTRO+ itself is run with each relaxation, to see that it draws, answers and counts as verified, and that the
    guarantee is no less than Rel(empty). One draw of the future is compared with fresh draws. After that learners are
    played through all their coins, to compare mean regret with the mean of what each run states about itself, and what
    they play with their definition; what they state with confidence, and the ends of trials, are compared with the
    chance that it is wrong. Mutants, too.

    Exit code 2 if a relaxation or a learner is rejected, or a mutant is not.
    """
    from milpcb.theory.games import all_games, quick_games
    from milpcb.theory.mutants import ALSO_ADMISSIBLE, MUTANTS
    from milpcb.theory.verdicts import variants

    games = quick_games() if quick else all_games()
    names = [noise] if noise else registry.names("relaxation")
    admissible = [variant for name in names for variant in variants(name)] + ([] if noise else ALSO_ADMISSIBLE)
    verdicts = _judge_all([*admissible, *([] if noise else MUTANTS)], games)
    good, bad = verdicts[: len(admissible)], verdicts[len(admissible) :]
    out.print(_table("relaxation", COLUMNS, [*map(_row, good)], [*map(_row, bad)]))
    _complain(good, bad)
    rejected = f"; all {len(bad)} mutants are rejected, as they should be" if bad else ""
    out.print(f"{len(good)} variants are admissible on all {len(games)} games{rejected}")
    _verify_runs(names, games, mutants=not noise)
    if not noise:
        _verify_one_draw(quick=quick)
        _verify_learners(quick=quick)
        _verify_confidence()
        _verify_changes()
        _verify_late()
        _verify_paths()
        _verify_baseline()
        _verify_guard()
        _verify_trials()


def _verify_runs(names: Sequence[str], games: list[Game], *, mutants: bool) -> None:
    from milpcb.theory.coins.run_mutants import RUN_MUTANTS
    from milpcb.theory.coins.runs import judge_run, runs

    played = [run for name in names for run in runs(name)]
    verdicts = _each([*played, *(RUN_MUTANTS if mutants else [])], lambda run: judge_run(run, games))
    good, bad = verdicts[: len(played)], verdicts[len(played) :]
    sentence = f"{len(good)} runs do what was verified, and state no less"
    _report("run", RUN_COLUMNS, _run_row, good, bad, sentence)


def _each(judged: Sequence[_NamedT], judge: Callable[[_NamedT], _VerdictT]) -> list[_VerdictT]:
    with _progress() as bar:
        task, verdicts = bar.add_task("", total=len(judged)), []
        for each in judged:
            bar.update(task, description=each.name)
            verdicts.append(judge(each))
            bar.advance(task)
    return verdicts


def _report(
    what: str,
    columns: Iterable[str],
    row: Callable[[_JudgedT], Row],
    good: Sequence[_JudgedT],
    bad: Sequence[_JudgedT],
    sentence: str,
) -> None:
    """Print the table of verdicts and the sentence on them; raises MilpcbError where one is not the expected one."""
    out.print(_table(what, columns, map(row, good), map(row, bad)))
    _complain(good, bad)
    out.print(sentence + (f"; all {len(bad)} mutants are rejected, as they should be" if bad else ""))


def _verify_learners(*, quick: bool) -> None:
    from milpcb.theory.coins.games import ALL_GAMES, QUICK_GAMES
    from milpcb.theory.coins.learners import LEARNERS
    from milpcb.theory.coins.mutants import MUTANTS
    from milpcb.theory.coins.verdicts import judge_learner

    games = QUICK_GAMES if quick else ALL_GAMES
    jobs = [(learner, games) for learner in LEARNERS] + [(mutant, QUICK_GAMES) for mutant in MUTANTS]
    with _progress() as bar:
        task = bar.add_task("", total=sum(len(games) for _, games in jobs))
        verdicts = []
        for learner, played in jobs:
            bar.update(task, description=learner.name)
            verdicts.append(judge_learner(learner, played, tick=lambda: bar.advance(task)))
    good, bad = verdicts[: len(LEARNERS)], verdicts[len(LEARNERS) :]
    sentence = f"{len(good)} learners prove no less than their mean regret on all {len(games)} games of coins"
    _report("learner", COIN_COLUMNS, _coin_row, good, bad, sentence)


def _verify_one_draw(*, quick: bool) -> None:
    from milpcb.theory.one_draw import DRAW_MUTANTS, SCHEMES, judge_draw

    judged = [*((scheme, settings[:1] if quick else settings) for scheme, settings in SCHEMES), *DRAW_MUTANTS]
    with _progress() as bar:
        task, verdicts = bar.add_task("", total=len(judged)), []
        for scheme, settings in judged:
            bar.update(task, description=scheme.name)
            verdicts.append(judge_draw(scheme, settings))
            bar.advance(task)
    good, bad = verdicts[: len(SCHEMES)], verdicts[len(SCHEMES) :]
    n_games = sum(verdict.games for verdict in good)
    sentence = f"one draw costs what fresh draws do in every round of {n_games} games"
    _report("one draw", DRAW_COLUMNS, _draw_row, good, bad, sentence)


def _verify_confidence() -> None:
    from milpcb.theory.coins.confidence import CONFIDENT, CONFIDENT_MUTANTS, judge_confident
    from milpcb.theory.coins.games import QUICK_GAMES

    verdicts = _each([*CONFIDENT, *CONFIDENT_MUTANTS], lambda judged: judge_confident(judged, QUICK_GAMES))
    good, bad = verdicts[: len(CONFIDENT)], verdicts[len(CONFIDENT) :]
    sentence = f"{len(good)} learners state nothing that is wrong more often than delta, whatever costs react to"
    _report("with confidence", CONFIDENT_COLUMNS, _confident_row, good, bad, sentence)


def _verify_changes() -> None:
    from milpcb.theory.coins.changes import IN_TURN, IN_TURN_MUTANTS, judge_in_turn

    verdicts = _each([*IN_TURN, *IN_TURN_MUTANTS], judge_in_turn)
    good, bad = verdicts[: len(IN_TURN)], verdicts[len(IN_TURN) :]
    sentence = (
        f"{len(good)} learners state nothing of policies in turn that is wrong more often than delta, at once for any "
        "number of changes"
    )
    _report("policies in turn", IN_TURN_COLUMNS, _confident_row, good, bad, sentence)


def _verify_paths() -> None:
    from milpcb.theory.paths import FOLLOWED, PATH_MUTANTS, judge_paths

    verdicts = _each([*FOLLOWED, *PATH_MUTANTS], judge_paths)
    good, bad = verdicts[: len(FOLLOWED)], verdicts[len(FOLLOWED) :]
    sentence = "on every path, fixed share pays no more than the price of the starts that policies in turn need"
    _report("on paths", PATH_COLUMNS, _confident_row, good, bad, sentence)


def _verify_baseline() -> None:
    from milpcb.theory.coins.baseline import PROMISING, PROMISING_MUTANTS, judge_promise

    verdicts = _each([*PROMISING, *PROMISING_MUTANTS], judge_promise)
    good, bad = verdicts[: len(PROMISING)], verdicts[len(PROMISING) :]
    sentence = "a learner with a baseline breaks its promise no more often than delta, whatever costs react to"
    _report("with a baseline", PROMISE_COLUMNS, _confident_row, good, bad, sentence)


def _verify_late() -> None:
    from milpcb.theory.coins.late import LATE, LATE_MUTANTS, judge_late

    verdicts = _each([*LATE, *LATE_MUTANTS], judge_late)
    sentence = "Exp4 that learns late pays no more than stated, whatever the delays"
    _report("late costs", LATE_COLUMNS, _slack_row, verdicts[: len(LATE)], verdicts[len(LATE) :], sentence)


def _verify_guard() -> None:
    from milpcb.theory.coins.guard import GUARD_MUTANTS, GUARDED, judge_guard

    verdicts = _each([*GUARDED, *GUARD_MUTANTS], judge_guard)
    sentence = "a guarded learner pays no more in the mean than the guard and the safe learner state"
    _report("guard", GUARD_COLUMNS, _slack_row, verdicts[: len(GUARDED)], verdicts[len(GUARDED) :], sentence)


def _verify_trials() -> None:
    from milpcb.theory.trials import TRIAL_MUTANTS, TRIALS, judge_trial

    verdicts = _each([*TRIALS, *TRIAL_MUTANTS], judge_trial)
    good, bad = verdicts[: len(TRIALS)], verdicts[len(TRIALS) :]
    sentence = "a trial ends with a policy that it should not end with no more often than delta, whenever one looks"
    _report("trial", TRIAL_COLUMNS, _confident_row, good, bad, sentence)


def _judge_all(variants: list[Variant], games: list[Game]) -> list[Verdict]:
    from milpcb.theory.verdicts import judge

    with _progress() as bar:
        task = bar.add_task("", total=len(variants) * len(games))
        verdicts = []
        for variant in variants:
            bar.update(task, description=variant.name)
            verdicts.append(judge(variant, games, tick=lambda: bar.advance(task)))
    return verdicts


def _progress() -> Progress:
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=out, transient=True, disable=not out.is_terminal)


def _table(what: str, columns: Iterable[str], good: Iterable[Row], bad: Iterable[Row]) -> Table:
    table = Table(what, *(Column(name, justify="right", no_wrap=True) for name in columns), "verdict", box=SIMPLE)
    for cells, passes in good:
        table.add_row(*cells, _VERDICT[passes], style=None if passes else "red")
    table.add_section()
    for cells, passes in bad:
        table.add_row(*cells, _VERDICT[passes], style="red" if passes else None)
    return table


def _row(verdict: Verdict) -> Row:
    slacks = verdict.slacks._replace(bias=-verdict.slacks.bias)
    return [verdict.name, *map(_short, slacks)], verdict.passes


def _run_row(verdict: RunVerdict) -> Row:
    return [verdict.name, *(f"{slack:.4g}" for slack in verdict.slacks)], verdict.passes


def _coin_row(verdict: CoinVerdict) -> Row:
    slacks = (verdict.certificate, verdict.bound, verdict.played and -verdict.played, verdict.stated)
    return [verdict.name, *("-" if isnan(slack) else f"{slack + 0.0:.4f}" for slack in slacks)], verdict.passes


def _slack_row(verdict: SlackVerdict) -> Row:
    texts = (f"{slack + 0.0:.4f}" if abs(slack) < 1e6 else f"{slack:.1e}" for slack in verdict.slacks)
    return [verdict.name, *texts], verdict.passes


def _confident_row(verdict: ConfidentVerdict | InTurnVerdict | PathVerdict | PromiseVerdict | TrialVerdict) -> Row:
    return [verdict.name, *(f"{float(excess):.4f}" for excess in verdict.excess)], verdict.passes


def _draw_row(verdict: DrawVerdict) -> Row:
    return [verdict.name, str(verdict.games), _short(verdict.difference), _short(verdict.slack)], verdict.passes


def _short(slack: Fraction) -> str:
    exact = str(slack)
    return exact if len(exact) <= LONGEST else f"~{float(slack):.4f}"


def _complain(good: Sequence[_Judged], bad: Sequence[_Judged]) -> None:
    """Raise MilpcbError where a verdict is not the expected one."""
    rejected = [verdict for verdict in good if not verdict.passes]
    accepted = [verdict for verdict in bad if verdict.passes]
    if rejected:
        raise MilpcbError(
            f"{len(rejected)} of the variants above should pass and do not; "
            f"'{rejected[0].name}': {rejected[0].violations()[0]}"
        )
    if accepted:
        raise MilpcbError(f"mutant '{accepted[0].name}' was not rejected: the verification has no teeth")
