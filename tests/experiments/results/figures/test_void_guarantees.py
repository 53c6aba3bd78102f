"""Guarantees that no regret can exceed are not drawn, in pictures of ``milpcb.play`` and of studies."""

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from milpcb.experiments.results.figures import plots
from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.figures.rounds import of_plays, regret, regret_plot
from milpcb.experiments.results.figures.rows import finals

ROUNDS = (50, 100)


def curves(guarantee: float) -> pl.DataFrame:
    """Return the frame of a play of one learner, whose regret is 90 in the end, with a guarantee."""
    rows = [
        {
            "learner": "exp4",
            "seed": seed,
            "round": t,
            "cumulative_cost": 0.95 * t,
            "best_cost": 0.05 * t,
            "regret": 0.9 * t,
            "certificate": np.nan,
            "certificate_error": np.nan,
            "guarantee": guarantee,
        }
        for seed in (0, 1)
        for t in ROUNDS
    ]
    return pl.DataFrame(rows)


def dotted(figure: Figure) -> list[float]:
    """Return the heights of the horizontal lines of a figure, which are guarantees."""
    lines = [line for axes in figure.axes for line in axes.lines]
    return [float(line.get_ydata()[0]) for line in lines if list(line.get_xdata()) in ([0, 1], [0.94, 1])]


def texts(figure: Figure) -> str:
    """Return all words of the legends of a figure, and those beside its axes."""
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return " ".join([*legends, *(text.get_text() for axes in figure.axes for text in axes.texts)])


@pytest.mark.parametrize(("guarantee", "drawn"), [(91.0, True), (99.0, True), (100.0, False), (130.0, False)])
def test_a_guarantee_of_t_or_more_is_void(guarantee: float, drawn: bool) -> None:
    """After 100 rounds no regret is above 100: from there on a guarantee is named as void in place of a line."""
    figure = plots.drawn(regret_plot(of_plays(curves(guarantee), {}), loglog=False)).figure
    assert dotted(figure) == [guarantee] * drawn
    assert ("void, above T" in texts(figure)) != drawn
    assert ("guarantee at T" in texts(figure)) == drawn


def test_an_infinite_guarantee_is_not_drawn() -> None:
    """Where there is none, there is neither a line nor a number."""
    figure = plots.drawn(regret_plot(of_plays(curves(np.inf), {}), loglog=False)).figure
    assert dotted(figure) == []
    assert "guarantee" not in texts(figure)


@pytest.mark.parametrize(("guarantee", "drawn"), [(91.0, True), (130.0, False)])
def test_studies_say_so_in_the_caption(guarantee: float, drawn: bool) -> None:
    """The caption of a study's regret says that void guarantees are left out, only where there are some."""
    axes = {name: pl.lit("one") for name in ("environment", "policies", "oracle")}
    frame = curves(guarantee).with_columns(horizon=pl.lit(100), **axes)
    results = Results(frame, "study")
    (drawing,) = regret(results)
    assert ("are void and not drawn" in drawing.caption) != drawn
    (ends,) = finals(results)
    assert ("above T" in texts(ends.figure)) != drawn
    assert ("A guarantee above T" in ends.caption) != drawn


def test_the_rounds_are_those_that_the_learner_played() -> None:
    """A learner that is left out at the longest horizon has a void guarantee where that is above its own rounds."""
    axes = {name: pl.lit("one") for name in ("environment", "policies", "oracle")}
    short = curves(130.0).with_columns(horizon=pl.lit(100), learner=pl.lit("short"))
    whole = curves(np.inf).with_columns(horizon=pl.lit(200), round=2 * pl.col("round"))
    results = Results(pl.concat([whole, short], how="diagonal").with_columns(**axes), "study")
    (drawing,) = regret(results)
    assert dotted(drawing.figure) == []
    assert "void, above T" in texts(drawing.figure)
    assert "are void and not drawn" in drawing.caption
    (ends,) = finals(results)
    assert "above T" in texts(ends.figure)


def test_the_legend_says_whose_guarantees_are_drawn() -> None:
    """The only dotted line has the colour and the name of its learner; of several each has its learner's colour."""
    one = curves(91.0)
    name = one["learner"][0]
    figure = plots.drawn(regret_plot(of_plays(one, {}), loglog=False)).figure
    (handle,) = [line for each in figure.legends for line in each.get_lines()][-1:]
    assert f"guarantee at T of {name}" in texts(figure)
    assert handle.get_color() == figure.axes[0].lines[0].get_color()
    both = pl.concat([one, one.with_columns(learner=pl.lit("another"))])
    assert "guarantee at T, by colour" in texts(plots.drawn(regret_plot(of_plays(both, {}), loglog=False)).figure)
