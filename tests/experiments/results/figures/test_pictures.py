"""Every figure, laid out as it is drawn: text is large enough, nothing collides, nothing strikes through a legend."""

import io
from collections.abc import Iterator
from itertools import product
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from milpcb.core.decimals import number
from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.drawing import draw_policy
from milpcb.experiments.results.figures.overview import share_text, squares
from milpcb.experiments.results.figures.results import NARROW, WIDE, Results
from milpcb.experiments.results.figures.rounds import best_mean_costs, mean_costs

README = 900  # pixels that a README shows of a picture's width
HALF = 640  # pixels that a page of 1 400 shows of a narrow picture's width
LEAST = 12  # pixels of a font there: its capital letters are 9 high
ODD = ["\x1b[31mred\x1b[0m", "$\\frac{1}{2}$", "long " * 60, "W" * 200, "line\nbreak\ttab", "\u202eright to left", ""]
STUDIES = {
    "one learner, one checkpoint": {"learners": ["uniform"], "seeds": [0], "points": 2},
    "two learners": {"learners": ["bistro_plus", "uniform"], "points": 6},
    "five horizons": {"learners": [*"abcd"], "horizons": (100, 300, 1000, 3000, 10_000), "points": 6},
    "narrow horizons": {"learners": [*"abc"], "horizons": (1000, 1200), "points": 6},
    "twenty learners": {"learners": [f"learner {i}, adaptive" for i in range(20)], "points": 4},
    "three environments": {"learners": [*"abc"], "environments": ["planted", "K = 3", "c"], "points": 4},
    "gallery": {
        "learners": [f"learner {i}" for i in range(10)],
        "environments": ["planted", "alternating_leader", *(f"environment {i}" for i in range(3))],
        "seeds": [0, 1],
        "points": 3,
    },
    "odd names": {"learners": ODD, "environments": ODD[1:3], "horizons": (100, 1000), "seeds": [0], "points": 3},
}
PHONES = ("three environments", "odd names")  # studies that are drawn narrow too


def faults(figure: Figure) -> list[str]:
    """Return what is wrong with a figure as it is drawn; nothing, if all is well."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    gone = {text for axes in figure.axes for text in _out_of_view(axes)}
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    boxes = {text: text.get_window_extent(renderer) for text in shown if text not in gone}
    names = {text: text.get_text()[:30] for text in boxes}
    pixels = (README if figure.get_figwidth() >= WIDE else HALF) / figure.get_figwidth() / 72
    found = [f"small: {names[text]}" for text in boxes if text.get_fontsize() * pixels < LEAST]
    found += [f"outside: {names[text]}" for text, box in boxes.items() if not _inside(box, figure.bbox)]
    inner = [(names[text], box.padded(-1)) for text, box in boxes.items()]
    ends = np.sort([box.get_points() for _, box in inner], axis=1)  # (n, 2, 2): lower and upper ends
    meet = (ends[:, None, 0] <= ends[None, :, 1]).all(axis=2)
    found += [f"collide: {inner[i][0]} | {inner[j][0]}" for i, j in np.argwhere(np.triu(meet & meet.T, 1))]
    legends = {legend: legend.get_window_extent(renderer) for legend in figure.legends}
    to_cross = [*inner, *(("legend", box.padded(-1)) for box in legends.values())]
    for axes in figure.axes:
        seen = [(name, shown) for name, box in to_cross if (shown := Bbox.intersection(box, axes.bbox)) is not None]
        for line in axes.get_lines():
            path = line.get_transform().transform_path(line.get_path())
            if len(path.vertices):
                found += [f"struck through: {name}" for name, box in seen if path.intersects_bbox(box, filled=False)]
        found += ["legend on axes" for box in legends.values() if box.padded(-1).overlaps(axes.bbox)]
    return found


def _out_of_view(axes: Any) -> Iterator[Text]:
    """Yield the labels of ticks beyond the ends of an axis, which are not drawn."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if not low * (1 - 1e-9) <= tick.get_loc() <= high * (1 + 1e-9):
                yield from (tick.label1, tick.label2)


def _inside(box: Bbox, outer: Bbox) -> bool:
    return bool(box.x0 >= -1 and box.y0 >= -1 and box.x1 <= outer.width + 1 and box.y1 <= outer.height + 1)


@pytest.mark.parametrize(("study", "width"), [*product(STUDIES, [WIDE]), *product(PHONES, [NARROW])])
def test_figures_are_readable_and_nothing_collides(make_frame, study, width):
    """Every text is large enough, no two overlap, no line passes through a text or legend, all is inside."""
    frame = make_frame(**STUDIES[study])
    frame = frame.filter(pl.col("round") == pl.col("horizon")) if "one checkpoint" in study else frame
    results = Results(frame, f"a study of {study}", width=width)
    found = {drawing.name: faults(drawing.figure) for drawing in draw(results)}
    assert len(found) >= 4
    assert found == {name: [] for name in found}


def test_faults_are_found():
    """The check itself: a guarantee through a legend, labels on each other, small and cut strings are all named."""
    figure = Figure(figsize=(9, 5))
    axes = figure.add_subplot()
    axes.plot([0, 1], [0.9, 0.9], label="guarantee")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    figure.legend(loc="upper left", bbox_to_anchor=(0.15, 0.85))
    axes.text(0.5, 0.5, "one label")
    axes.text(0.51, 0.5, "another")
    axes.text(0.3, 0.3, "tiny", fontsize=6)
    axes.text(0.7, 0.1, "cut off at the edge of the picture, as it is too long")
    kinds = {fault.split(":")[0] for fault in faults(figure)}
    assert kinds >= {"small", "outside", "collide", "struck through", "legend on axes"}


def test_costs_are_means_over_the_rounds_so_far(make_frame):
    """A learner's curve is its cumulative cost over t, the best policy's its total over t; few rounds are left out."""
    results = Results(make_frame(["bistro_plus", "uniform"], points=40, noise=0.3), "t")
    (drawing,) = draw(results, ["costs"])
    (panel,) = results.panels
    rounds, values = mean_costs(panel, "uniform")
    own = results.frame.filter((pl.col("learner") == "uniform") & (pl.col("seed") == 1) & (pl.col("round") >= 20))
    assert rounds.tolist() == own["round"].to_list()
    assert values[1] == pytest.approx((own["cumulative_cost"] / own["round"]).to_numpy())
    drawn = next(line for line in drawing.figure.axes[0].get_lines() if line.get_color() == "#000000")
    assert drawn.get_ydata() == pytest.approx(values.mean(axis=0))
    rounds, values = best_mean_costs(panel)
    assert values == pytest.approx(np.full((3, len(rounds)), 0.3))
    texts = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert texts[-1] == "best policy in hindsight\nmean cost 0.300"
    assert "error rate" in drawing.caption


def test_the_overview_is_a_table_of_shares(make_frame):
    """A number is regret over that of uniform play; the least is bold, what is above its guarantee framed."""
    results = Results(make_frame(["bistro_plus", "exp4", "uniform"], ["one", "two"]), "t")
    (drawing,) = draw(results, ["overview"])
    axes = drawing.figure.axes[0]
    rows = results.finals.group_by("learner", "environment").agg(pl.col("regret").mean()).rows()
    means = {(learner, world): mean for learner, world, mean in rows}
    bistro, exp4 = (
        [share_text(means[name, world] / means["uniform", world]) for world in ("one", "two")]
        for name in ("bistro_plus", "exp4")
    )
    random = [number(means["uniform", world]) for world in ("one", "two")]
    assert sorted(text.get_text() for text in axes.texts) == sorted(bistro + exp4 + random)
    assert {text.get_text() for text in axes.texts if text.get_fontweight() == "bold"} == {*bistro}
    assert "No mean is above" in drawing.caption
    assert axes.get_xlabel() == "share of the regret of choosing at random"
    assert axes.get_xlim() == (-0.5, 1.5)  # two panels fill the width
    more = pl.when(pl.col("learner") == "bistro_plus").then(100 * pl.col("regret")).otherwise("regret")
    (turned,) = draw(Results(results.frame.with_columns(regret=more), "t"), ["overview"])
    for figure, order in ((drawing, ["bistro_plus", "exp4"]), (turned, ["exp4", "bistro_plus"])):
        assert [label.get_text() for label in figure.figure.axes[0].get_yticklabels()][:2] == order
    above = results.frame.with_columns(guarantee=pl.when(pl.col("learner") == "exp4").then(1.0).otherwise("guarantee"))
    (framed,) = draw(Results(above, "t"), ["overview"])
    edges = [patch.get_edgecolor()[:3] for patch in framed.figure.axes[0].patches]
    assert edges.count((0.0, 0.0, 0.0)) == 2
    assert "A framed number is above its guarantee." in framed.caption


def test_the_overview_sets_apart_what_is_no_rival(make_frame):
    """Learners that see all costs stand below the others and are never bold."""
    frame = make_frame(["hedge", "exp4", "uniform"], ["one", "two"], noise=0.0)
    (drawing,) = draw(Results(frame, "t"), ["overview"])
    names = [label.get_text() for label in drawing.figure.axes[0].get_yticklabels()]
    assert names == ["exp4", "", "uniform", "hedge"]


def test_the_overview_has_shares_of_as_many_rounds(make_frame):
    """A learner that is left out at the longest horizon is beside random play after its own rounds, and never bold."""
    frame = make_frame(["exp4", "uniform"], horizons=[100, 1000])
    alike = frame.filter(pl.col("learner") == "uniform", pl.col("horizon") == 100)
    frame = pl.concat([frame, alike.with_columns(learner=pl.lit("short"), guarantee=1.0)])
    (panel,) = Results(frame, "t").panels
    found = squares(panel, ["uniform"])
    assert found["short"].share == pytest.approx(1.0)
    assert [name for name, square in found.items() if square.least] == ["exp4"]


def test_shares_have_few_digits():
    """Whole per cents from 10 on, one decimal below, no minus before nothing."""
    shares = (0.3449, 0.0249, -1.2, -0.0002, 0.0997, np.nan)
    found = "  ".join(map(share_text, shares)).replace("\u202f", " ")
    assert found == "34 %  2.5 %  \u2212120 %  0.0 %  10 %  none"


@pytest.mark.parametrize(
    "rules", ["play 0", "if \x1b[31m$x$ <= 1:\n    play 1", "if " + "x0 + " * 60 + "x1 <= 1: play 0\n" * 50]
)
def test_rules_without_a_drawing_are_a_card(rules):
    """The card holds all of the rules, however long; the SVG is well formed whatever characters they hold."""
    pictures = draw_policy(rules)  # anything with words serves, where it has no drawing of its own
    ET.fromstring(pictures["svg"])  # noqa: S314 - our own picture
    shot = imread(io.BytesIO(pictures["png"]))[:, :, :3].min(axis=2)
    edges = np.concatenate([shot[0], shot[-1], shot[:, 0], shot[:, -1]])
    assert edges.min() == 1.0  # nothing reaches the edge of the picture
    assert shot.min() < 0.3
