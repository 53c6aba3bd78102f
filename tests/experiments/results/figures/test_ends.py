"""What stands to the right of regret curves: names near the ends of lines, and certificates as numbers."""

from itertools import pairwise

import numpy as np
import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg

from milpcb.core.decimals import number
from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.figures.rounds import regret
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


def test_certificates_are_those_of_the_longest_horizon(make_frame):
    """Also where other seeds failed at it than at the shorter ones."""
    frame = make_frame(["exp4"], horizons=[100, 1000])
    for failed in ([(2, 1000)], [(0, 100), (2, 1000)]):
        done = frame.filter([~((pl.col("seed") == seed) & (pl.col("horizon") == T)) for seed, T in failed])
        (drawing,) = regret(Results(done, "t"))
        mean = done.filter(pl.col("round") == 1000)["certificate"].mean()
        assert f"certificate {number(mean)}\n" in drawing.figure.axes[0].texts[-1].get_text()


def test_lines_over_horizons_end_in_the_longest(make_frame):
    """The number beside a line is its last mean, also where other seeds failed at that horizon than at the others."""
    frame = make_frame(["exp4"], horizons=[100, 1000])
    for failed in ([(2, 1000)], [(0, 100), (2, 1000)]):
        done = frame.filter([~((pl.col("seed") == seed) & (pl.col("horizon") == T)) for seed, T in failed])
        (drawing,) = horizons(Results(done, "t"))
        mean = done.filter(pl.col("round") == 1000)["regret"].mean()
        assert drawing.figure.axes[0].texts[-1].get_text().startswith(f"exp4: {number(mean)}\n")


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
