"""Certificates and guarantees of regret curves: those that no regret can exceed are not drawn."""

import numpy as np
import polars as pl
import pytest

from milpcb.core.decimals import number
from milpcb.experiments.results.figures import plots
from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.figures.rounds import of_plays, regret, regret_plot
from milpcb.experiments.results.figures.rows import finals

THREE = ["bistro_plus", "exp4", "uniform"]


def texts(figure):
    """Return all words of the legends of a figure, and those beside its axes."""
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return " ".join([*legends, *(text.get_text() for axes in figure.axes for text in axes.texts)])


def test_certificates_are_numbers_in_the_legend(make_frame):
    """No mark stands behind the last round; below each name are its certificates, the one without the other too."""
    frame = make_frame(THREE).with_columns(certificate=5000.0, certificate_95=6000.0)
    (drawing,) = regret(Results(frame, "t"))
    (axes,) = drawing.figure.axes
    assert {line.get_marker() for line in axes.get_lines()}.isdisjoint("_d|")
    assert axes.dataLim.x1 == 1000
    assert axes.get_ylim()[1] < 5000
    assert texts(drawing.figure).count("\ncertificate 5\u202f000\n95\u202f% certificate 6\u202f000") == 3
    for column in ("certificate", "certificate_95"):
        (drawing,) = regret(Results(frame.with_columns(pl.lit(np.nan).alias(column)), "t"))
        assert texts(drawing.figure).count("ertificate") == 3


@pytest.mark.parametrize("failed", [[(2, 1000)], [(0, 100), (2, 1000)]])
def test_numbers_are_those_of_the_longest_horizon(make_frame, failed):
    """Also where other seeds failed at it than at the shorter ones."""
    frame = make_frame(["exp4"], horizons=[100, 1000])
    done = frame.filter([~((pl.col("seed") == seed) & (pl.col("horizon") == T)) for seed, T in failed])
    means = done.filter(pl.col("round") == 1000).mean().row(0, named=True)
    (drawing,) = regret(Results(done, "t"))
    assert f"certificate {number(means['certificate'])}\n" in texts(drawing.figure)


ROUNDS = (50, 100)


def curves(guarantee):
    """Return the frame of a play of one learner, whose regret is 90 in the end, with a guarantee."""
    seeds = {"learner": "exp4", "seed": [0, 0, 1, 1], "round": [*ROUNDS, *ROUNDS], "guarantee": guarantee}
    shares = {"cumulative_cost": 0.95, "best_cost": 0.05, "regret": 0.9}
    costs = {name: share * pl.col("round") for name, share in shares.items()}
    return pl.DataFrame(seeds).with_columns(**costs, certificate=np.nan, certificate_error=np.nan)


def study(frame, horizon):
    """Return the same as a study of one horizon."""
    axes = {name: pl.lit("one") for name in ("environment", "policies", "oracle")}
    return frame.with_columns(horizon=pl.lit(horizon), **axes)


def drawn_play(frame):
    """Return the picture of a play."""
    return plots.drawn(regret_plot(of_plays(frame, {}), loglog=False)).figure


def dotted(figure):
    """Return the heights of the horizontal lines of a figure, which are guarantees."""
    lines = [line for axes in figure.axes for line in axes.lines]
    return [float(line.get_ydata()[0]) for line in lines if list(line.get_xdata()) == [0, 1]]


@pytest.mark.parametrize(("guarantee", "drawn"), [(91.0, True), (99.0, True), (100.0, False), (130.0, False)])
def test_a_guarantee_of_t_or_more_is_void(guarantee, drawn):
    """After 100 rounds no regret is above 100: from there on a guarantee is named as void in place of a line."""
    figure = drawn_play(curves(guarantee))
    assert dotted(figure) == [guarantee] * drawn
    assert ("vacuous, above T" in texts(figure)) != drawn
    assert ("guarantee at T" in texts(figure)) == drawn


def test_an_infinite_guarantee_is_not_drawn():
    """Where there is none, there is neither a line nor a number."""
    figure = drawn_play(curves(np.inf))
    assert dotted(figure) == []
    assert "guarantee" not in texts(figure)


@pytest.mark.parametrize(("guarantee", "drawn"), [(91.0, True), (130.0, False)])
def test_studies_say_so_in_the_caption(guarantee, drawn):
    """The caption of a study's regret says that void guarantees are left out, only where there are some."""
    results = Results(study(curves(guarantee), 100), "study")
    (drawing,) = regret(results)
    assert ("are not drawn" in drawing.caption) != drawn
    (ends,) = finals(results)
    assert ("above T" in texts(ends.figure)) != drawn
    assert ("A guarantee above T" in ends.caption) != drawn


def test_the_rounds_are_those_that_the_learner_played():
    """A learner that is left out at the longest horizon has a void guarantee where that is above its own rounds."""
    short = study(curves(130.0), 100).with_columns(learner=pl.lit("short"))
    whole = study(curves(np.inf), 200).with_columns(round=2 * pl.col("round"))
    results = Results(pl.concat([whole, short], how="diagonal"), "study")
    (drawing,) = regret(results)
    assert dotted(drawing.figure) == []
    assert "vacuous, above T" in texts(drawing.figure)
    assert "are not drawn" in drawing.caption
    (ends,) = finals(results)
    assert "above T" in texts(ends.figure)
