"""``milpcb bound``: what the theorems guarantee for a class on its contexts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Column, Table

from milpcb.commands.console import PATH, check_ending, err, out, step
from milpcb.core.decimals import spaced
from milpcb.plugins import registry

if TYPE_CHECKING:
    from milpcb.experiments.study.bounds import Bound
    from milpcb.experiments.study.sections import Config


@click.command()
@click.argument("config", type=PATH)
@click.option("--noise", "noises", multiple=True, help="Relaxation, see milpcb list; may be repeated [default: all].")
@click.option(
    "--draws",
    default=50,
    show_default=True,
    help="Most draws of the future for a grid of L, and as many for the best L.",
)
@click.option("--out", "target", type=PATH, help="Also write a row for each L, as .csv.")
def bound(config: Path, noises: tuple[str, ...], draws: int, target: Path | None) -> None:
    """Show the guarantees for the policy classes of a TOML CONFIG on its contexts, at each of its horizons.

    The closed form at its best L, and Rel(empty), which it bounds, estimated over a grid of L.
    """
    from milpcb.core.checks import whole
    from milpcb.core.files import write_file
    from milpcb.experiments.study.bounds import bounds_frame
    from milpcb.experiments.study.config import read_config

    if target is not None:
        check_ending(target, ["csv"])
    for noise in noises:
        registry.target("relaxation", noise)
    study = read_config(config)
    found = _compute(study, noises or tuple(registry.names("relaxation")), whole("draws", draws, 2))
    _print(found)
    if target is not None:
        out.print(f"written: {write_file(target, bounds_frame(found).write_csv().encode())}")


def _compute(study: Config, noises: tuple[str, ...], draws: int) -> list[Bound]:
    from milpcb.experiments.study.bounds import compute_bound, settings

    found = []
    for setting in settings(study):
        for noise in noises:
            with step(err, f"{setting.name}, T = {spaced(setting.horizon)}, {noise}") as tick:
                found.append(compute_bound(setting, noise, draws, lambda done: tick(done, 2 * draws)))
    return found


def _print(found: list[Bound]) -> None:
    for name in dict.fromkeys(each.setting.name for each in found):
        shown = [each for each in found if each.setting.name == name]
        setting = shown[0].setting
        oracle, law = setting.oracle, type(setting.pool).__name__
        size = f"{oracle.n_contexts} contexts ({law}), K = {oracle.n_actions}, log N = {oracle.log_size:.3f}"
        out.print(f"{name}, seed {setting.seed}: {size}")
        out.print(_table(shown))
    out.print(
        "closed form: a bound of Rel(empty), at its best L. Rel(empty): bounds the expected regret at its own best L."
    )
    if any(max(each.closed_form, each.value.best.mean) > each.setting.horizon for each in found):
        out.print("* is more than T, so it guarantees nothing")


def _table(shown: list[Bound]) -> Table:
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
