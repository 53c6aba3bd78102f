"""The right edge of regret curves: names near the ends of lines, certificates as numbers, and guarantees.

Guarantees that no regret can exceed are not drawn, in pictures of ``milpcb.play`` and of studies.
"""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from milpcb.core.decimals import number
from milpcb.experiments.results.figures import plots
from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.figures.rounds import of_plays, regret, regret_plot
from milpcb.experiments.results.figures.rows import finals
from milpcb.experiments.results.figures.scaling import horizons

THREE = ["bistro_plus", "exp4", "uniform"]


def test_certificates_are_numbers_beside_the_lines(make_frame):
    """No mark stands behind the last round, and what is written beside each line has its certificates."""
    frame = make_frame(THREE).with_columns(certificate=5000.0, certificate_95=6000.0)
    (drawing,) = regret(Results(frame, "t"))
    (axes,) = drawing.figure.axes
    assert {line.get_marker() for line in axes.get_lines()}.isdisjoint("_d|")
    assert axes.dataLim.x1 == 1000
    assert axes.get_ylim()[1] < 5000
    beside = [text.get_text() for text in axes.texts]
    assert sum("certificate 5\u202f000" in text and "95\u202f% certificate 6\u202f000" in text for text in beside) == 3


@pytest.mark.parametrize("failed", [[(2, 1000)], [(0, 100), (2, 1000)]])
def test_numbers_are_those_of_the_longest_horizon(make_frame, failed):
    """Certificates and ends of lines over horizons, also where other seeds failed at it than at the shorter ones."""
    frame = make_frame(["exp4"], horizons=[100, 1000])
    done = frame.filter([~((pl.col("seed") == seed) & (pl.col("horizon") == T)) for seed, T in failed])
    means = done.filter(pl.col("round") == 1000).mean().row(0, named=True)
    beside = [draw(Results(done, "t"))[0].figure.axes[0].texts[-1].get_text() for draw in (regret, horizons)]
    assert f"certificate {number(means['certificate'])}\n" in beside[0]
    assert beside[1].startswith(f"exp4: {number(means['regret'])}\n")


def test_without_certificates_nothing_is_written_of_them(make_frame):
    """Neither beside the lines nor in the caption."""
    frame = make_frame(THREE).with_columns(certificate=np.nan, certificate_error=np.nan)
    (drawing,) = regret(Results(frame, "t"))
    assert not any("ertificate" in text.get_text() for text in drawing.figure.axes[0].texts)
    assert "ertificate" not in drawing.caption


def test_a_certificate_with_confidence_may_stand_alone(make_frame):
    """Where no solver's answer gave one in the mean: that with confidence needs no policy."""
    frame = make_frame(THREE).with_columns(certificate_95=pl.col("certificate") + 1.0, certificate=np.nan)
    (drawing,) = regret(Results(frame, "t"))
    (axes,) = drawing.figure.axes
    assert sum("95\u202f% certificate" in text.get_text() for text in axes.texts) == 3


def test_names_stand_in_the_order_of_the_ends_and_apart(make_frame):
    """No name lies on another, all are inside the picture, and a higher line has a higher name."""
    frame = make_frame([f"learner {i}" for i in range(6)])
    (drawing,) = regret(Results(frame, "t"))
    figure = drawing.figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    boxes = {text.get_text().split(":")[0]: text.get_window_extent(renderer) for text in figure.axes[0].texts}
    order = sorted(boxes, key=lambda name: boxes[name].y0)
    ends = frame.filter(pl.col("round") == 1000).group_by("learner").agg(pl.col("regret").mean()).sort("regret")
    assert order == ends["learner"].to_list()
    for below, above in pairwise(order):
        assert boxes[below].y1 <= boxes[above].y0
    assert boxes[order[0]].y0 >= 0
    assert boxes[order[-1]].y1 <= figure.bbox.height
    assert max(box.x1 for box in boxes.values()) <= figure.bbox.width


def test_many_lines_are_named_in_a_legend(make_frame):
    """More names than there is room for beside the axes stand in the legend."""
    frame = make_frame([f"learner {i}" for i in range(12)])
    (drawing,) = regret(Results(frame, "t"))
    assert not drawing.figure.axes[0].texts
    assert sum(text.get_text().startswith("learner") for text in drawing.figure.legends[0].get_texts()) == 12


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
    return [float(line.get_ydata()[0]) for line in lines if list(line.get_xdata()) in ([0, 1], [0.94, 1])]


def texts(figure):
    """Return all words of the legends of a figure, and those beside its axes."""
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return " ".join([*legends, *(text.get_text() for axes in figure.axes for text in axes.texts)])


@pytest.mark.parametrize(("guarantee", "drawn"), [(91.0, True), (99.0, True), (100.0, False), (130.0, False)])
def test_a_guarantee_of_t_or_more_is_void(guarantee, drawn):
    """After 100 rounds no regret is above 100: from there on a guarantee is named as void in place of a line."""
    figure = drawn_play(curves(guarantee))
    assert dotted(figure) == [guarantee] * drawn
    assert ("void, above T" in texts(figure)) != drawn
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
    assert ("are void and not drawn" in drawing.caption) != drawn
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
    assert "void, above T" in texts(drawing.figure)
    assert "are void and not drawn" in drawing.caption
    (ends,) = finals(results)
    assert "above T" in texts(ends.figure)


def test_the_legend_says_whose_guarantees_are_drawn():
    """The only dotted line has the colour and the name of its learner; of several each has its learner's colour."""
    one = curves(91.0)
    name = one["learner"][0]
    figure = drawn_play(one)
    (handle,) = [line for each in figure.legends for line in each.get_lines()][-1:]
    assert f"guarantee at T of {name}" in texts(figure)
    assert handle.get_color() == figure.axes[0].lines[0].get_color()
    both = pl.concat([one, one.with_columns(learner=pl.lit("another"))])
    assert "guarantee at T, by colour" in texts(drawn_play(both))
