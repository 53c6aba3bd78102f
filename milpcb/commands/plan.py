"""``milpcb plan`` and ``milpcb bound``: the rows that a trial needs, and the guarantees of theorems for a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.table import Column, Table

from milpcb.commands.class_options import OPEN, class_of, of_class
from milpcb.commands.console import PATH, check_ending, err, out, step
from milpcb.core.checks import real, whole
from milpcb.core.decimals import fixed, percent, spaced
from milpcb.core.files import write_file
from milpcb.errors import InputError
from milpcb.experiments.study.config import read_config
from milpcb.plugins import registry

if TYPE_CHECKING:
    from milpcb.experiments.study.bounds import Bound
    from milpcb.offline.planning import Plan

ENDINGS = ("png", "svg")
POWERS = (0.5, 0.8, 0.9, 0.95)


@click.command(context_settings=OPEN)
@click.option("--features", type=int, required=True, help="Number of yes/no features that a policy may read.")
@click.option("--actions", type=int, default=2, show_default=True, help="Number of actions, equally likely.")
@click.option("--effect", type=float, required=True, help="How much the right action lowers the chance of a cost.")
@click.option("--share", type=float, required=True, help="Share of the people for whom another action is right.")
@click.option("--eps", type=float, required=True, help="No policy may be better than the chosen one by this.")
@click.option("--base", type=float, default=0.5, show_default=True, help="Chance of a cost under a wrong action.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Chance that the trial ends by then.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Confidence at the end.")
@of_class
@click.option("--trials", type=int, default=400, show_default=True, help="Trials that are simulated.")
@click.option("--most", type=int, default=200_000, show_default=True, help="Rows at which a trial is given up.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the simulation.")
@click.option("--out", "targets", multiple=True, type=PATH, help="Also write .png or .svg.")
@click.pass_context
def plan(ctx: click.Context, /, **given: Any) -> None:
    """Print the number of rows after which a trial may end with a power of 80 %, or another power.

    A trial may end when no policy of the class is better than the best-looking one by EPS or more, with confidence,
    however often one looks (milpcb.offline.settled). In the simulated trials costs are 0 or 1, and one feature, which
    is yes for the SHARE of the people, decides which of two actions is right. Further options are those of the policy
    class, e.g. --depth 2.
    """
    from milpcb.experiments.results.figures.drawing import render
    from milpcb.experiments.results.figures.plots import power_figure
    from milpcb.offline.planning import Design
    from milpcb.offline.planning import plan as simulated

    for target in given["targets"]:
        check_ending(target, ENDINGS)
    power = real("--power", given["power"], "above 0 and below 1", lambda value: 0 < value < 1)
    design = Design(*(given[name] for name in ("features", "actions", "effect", "share", "base")))
    supplied = {"n_actions": design.n_actions, "thresholds": [[0.5]] * design.n_features}
    policies = class_of(given["name"], supplied, ctx.args, ctx.command)
    settings = {name: given[name] for name in ("confidence", "trials", "most", "seed")}
    with step(err, "simulating trials") as tick:
        found = simulated(policies, design, given["eps"], tick=tick, **settings)
    table = Table("power", "rows", "95 % interval")
    for each in sorted({*POWERS, power}):
        low, high = found.between(each)
        ends = f"{_rows(low, found)} to {_rows(high, found)}"
        table.add_row(percent(each, 0), _rows(found.needed(each), found), ends)
    out.print(table)
    out.print(_needed(found, power, given["eps"], given["confidence"]))
    for target in given["targets"]:
        if np.isinf(found.rows).all():
            raise InputError(f"there is nothing to draw: no trial ended within {spaced(found.most)} rows; give --most")
        kind = check_ending(target, ENDINGS)
        picture = render(power_figure(found.rows, power), [kind])[kind]
        out.print(f"written: {write_file(target, picture)}")


def _rows(number: float, found: Plan) -> str:
    return fixed(number, 0) if number < np.inf else f"more than {fixed(found.most, 0)}"


def _needed(found: Plan, power: float, eps: float, confidence: float) -> str:
    rows = found.needed(power)
    if rows == np.inf:
        return (
            f"In less than {percent(power, 0)} of {len(found.rows)} simulated trials {fixed(found.most, 0)} rows are "
            "enough; ask for a larger eps, a smaller class, or give --most"
        )
    return (
        f"With {fixed(rows, 0)} rows the trial ends with a chance of {percent(power, 0)}; then, with "
        f"{percent(confidence)} confidence, no policy is better than the one chosen by {eps:g} or more "
        f"({len(found.rows)} simulated trials)."
    )


# ------------------------------------------------------------------- guarantees of a study


@click.command()
@click.argument("config", type=PATH)
@click.option("--noise", "noises", multiple=True, help="Relaxation, see milpcb list; may be repeated [default: all].")
@click.option("--draws", default=50, show_default=True, help="Most draws for a grid of L, and as many for the best L.")
@click.option("--out", "target", type=PATH, help="Also write a row for each L, as .csv.")
def bound(config: Path, noises: tuple[str, ...], draws: int, target: Path | None) -> None:
    """Show the guarantees for the policy classes of a TOML CONFIG on its contexts, at each of its horizons.

    The closed form at its best L, and Rel(empty), which it bounds, estimated over a grid of L.
    """
    from milpcb.experiments.study.bounds import bounds_frame, compute_bound, settings

    if target is not None:
        check_ending(target, ["csv"])
    for noise in noises:
        registry.target("relaxation", noise)
    most, found = 2 * whole("draws", draws, 2), []
    for setting in settings(read_config(config)):
        for noise in noises or registry.names("relaxation"):
            with step(err, f"{setting.name}, T = {spaced(setting.horizon)}, {noise}") as tick:
                found.append(compute_bound(setting, noise, draws, lambda done: tick(done, most)))
    _print_bounds(found)
    if target is not None:
        out.print(f"written: {write_file(target, bounds_frame(found).write_csv().encode())}")


def _print_bounds(found: list[Bound]) -> None:
    for name in dict.fromkeys(each.setting.name for each in found):
        shown = [each for each in found if each.setting.name == name]
        setting = shown[0].setting
        oracle, law = setting.oracle, type(setting.pool).__name__
        size = f"{oracle.n_contexts} contexts ({law}), K = {oracle.n_actions}, log N = {oracle.log_size:.3f}"
        out.print(f"{name}, seed {setting.seed}: {size}")
        out.print(_bounds_table(shown))
    out.print(
        "closed form: a bound of Rel(empty), at its best L. Rel(empty): bounds the expected regret at its own best L."
    )
    if any(max(each.closed_form, each.value.best.mean) > each.setting.horizon for each in found):
        out.print("* is more than T, so it guarantees nothing")


def _bounds_table(shown: list[Bound]) -> Table:
    headings = ("T", "L", "closed form", "L", "Rel(empty)", "95 %")
    table = Table(Column("noise", no_wrap=True), *(Column(each, justify="right", no_wrap=True) for each in headings))
    for each in shown:
        best, T = each.value.best, each.setting.horizon
        closed = (f"{each.closed_scale:.1f}", _bounded(each.closed_form, T))
        estimate = (f"{best.scale:.1f}", _bounded(best.mean, T), f"\u00b1 {spaced(best.half_width, '.0f')}")
        table.add_row(each.noise, spaced(T), *closed, *estimate)
    return table


def _bounded(bound: float, horizon: int) -> str:
    return f"{spaced(bound, '.0f')}{'*' if bound > horizon else ' '}"
