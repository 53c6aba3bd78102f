"""Figures against the frames they are made from: positions of points, captions, line styles, and room for all."""

import io
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.image import imread
from matplotlib.text import Text

from milpcb.core.decimals import number
from milpcb.errors import InputError, UnknownNameError
from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.drawing import GREY, render
from milpcb.experiments.results.figures.line_styles import PLACES, line_styles
from milpcb.experiments.results.figures.results import Results, in_order
from milpcb.experiments.results.figures.rows import per_round
from milpcb.experiments.results.figures.scaling import against_key, local_slopes, theorem, varied
from milpcb.plugins import registry

T_4 = 2.776445105  # the 97.5 % point of Student's t with 4 degrees of freedom
MANY = [f"learner {i}" for i in range(13)] + ["bistro_plus", "uniform"]
HOSTILE = ["$x_1$ & <b>", "50 % \\alpha_{", '"quoted" <script>', "a--b"]


def one(results, name):
    """Draw one figure."""
    (drawing,) = draw(results, [name])
    return drawing


def lines_of(axes, colour):
    """Return the data of all lines of a colour."""
    return [line.get_xydata() for line in axes.get_lines() if line.get_color() == colour]


@pytest.mark.parametrize("n", [2, 8, 15, 60])
def test_looks_differ(n):
    """No two learners look alike, up to 15 even without colours; labels that no registry knows have 8 colours."""
    found = list(line_styles([f"label {i}" for i in range(n)]).values())
    assert len({(style.colour, style.marker) for style in found}) == n
    assert len({style.marker for style in found}) == min(n, 15)
    assert len({style.colour for style in found}) >= min(n, 8)


def test_a_learner_looks_the_same_in_every_study():
    """Names of the table keep their style whatever is beside them; the order of learners changes nothing."""
    assert set(PLACES) <= set(registry.names("learner"))
    assert len({style.marker for style in line_styles(PLACES).values()}) == len(PLACES) <= 15
    small, large = line_styles(["uniform", "mine"]), line_styles([*MANY, "mine", "hedge"])
    assert small["uniform"] == large["uniform"]
    assert line_styles(["bistro_plus", "mine"])["mine"] == line_styles(["mine", "bistro_plus"])["mine"]


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_curves_are_means_and_bands_are_ranges_or_intervals(make_frame, seeds):
    """The line is the mean at every round; the band is the range of few seeds, and from five on the t-interval."""
    results = Results(make_frame(["bistro_plus"], seeds=range(seeds), noise=0.3), "t")
    drawing = one(results, "regret")
    axes = drawing.figure.axes[0]
    values = results.frame.sort("round", "seed")["regret"].to_numpy().reshape(-1, seeds)
    rounds, mean = results.frame["round"].unique().sort().to_numpy(), values.mean(axis=1)
    assert lines_of(axes, results.styles["bistro_plus"].colour)[0] == pytest.approx(np.column_stack([rounds, mean]))
    half = T_4 * values.std(axis=1, ddof=1) / np.sqrt(5)
    ends = [values.min(axis=1), values.max(axis=1)] if seeds < 5 else [mean - half, mean + half]
    band = axes.collections[0].get_paths()[0].vertices
    for end in np.concatenate(ends):
        assert np.abs(band[:, 1] - end).min() < 1e-6
    assert ("least to the largest" if seeds < 5 else "95\u202f% intervals") in drawing.caption


def test_guarantees_are_dotted_lines_at_their_height(make_frame):
    """A guarantee is drawn where it is; one far above all curves is in the logarithmic figure, as the caption says."""
    frame = make_frame(["uniform"], seeds=[0]).with_columns(guarantee=1.25 * pl.col("regret").max())
    near = one(Results(frame, "t"), "regret")
    heights = [line.get_ydata()[0] for line in near.figure.axes[0].get_lines() if list(line.get_xdata()) == [0, 1]]
    assert heights == pytest.approx([1.25 * frame["regret"].max()])
    assert near.figure.axes[0].get_ylim()[1] > heights[0]
    far = Results(frame.with_columns(guarantee=900.0), "t")
    assert far.frame["regret"].max() * 1.5 > one(far, "regret").figure.axes[0].get_ylim()[1]
    assert "not drawn" in one(far, "regret").caption
    assert one(far, "regret_loglog").figure.axes[0].get_ylim()[1] > 900.0


def test_every_learner_is_shown_at_its_longest_horizon(make_frame):
    """A learner that is left out at the longest horizon is shown at the longest one that it has."""
    frame = make_frame(["bistro_plus", "uniform"], horizons=(100, 1000))
    short = (pl.col("learner") == "bistro_plus") & (pl.col("horizon") == 1000)
    results = Results(frame.filter(~short), "t")
    axes = one(results, "regret").figure.axes[0]
    ends = {name: lines_of(axes, results.styles[name].colour)[0][-1, 0] for name in ("bistro_plus", "uniform")}
    assert ends == {"bistro_plus": 100, "uniform": 1000}


def panels_of(frame):
    """Return the learners of each panel of a frame, by its name."""
    return {panel.name: panel.learners for panel in Results(frame, "t").panels}


def test_there_is_a_panel_for_every_environment_and_several_oracles(make_frame):
    """Panels are named by what differs; learners with one oracle, or none, are shown beside every oracle."""
    frame = make_frame(["bistro_plus", "hedge", "uniform"], ["a", "b"], oracles=["milp:highs", "search"])
    frame = frame.filter((pl.col("learner") != "hedge") | (pl.col("oracle") == "search"))
    names = ["a, milp:highs", "a, search", "b, milp:highs", "b, search"]
    assert panels_of(frame) == {name: ["bistro_plus", "hedge", "uniform"] for name in names}
    first = Results(frame, "t").panels[0].frame
    assert first.filter(pl.col("learner") == "bistro_plus")["oracle"].unique().to_list() == ["milp:highs"]
    alone = make_frame(["bistro_plus", "hedge"])  # where every learner has one oracle, though not the same
    other = pl.when(pl.col("learner") == "hedge").then(pl.lit("list")).otherwise("oracle")
    assert panels_of(alone.with_columns(oracle=other)) == {"": ["bistro_plus", "hedge"]}


def test_a_panel_of_an_oracle_shows_no_other_s_numbers(make_frame):
    """Where cells of one oracle have failed, or are not played yet, their learner is left out of its panel."""
    frame = make_frame(["exp4", "ftpl", "uniform"], ["a", "b"], oracles=["milp", "search"])
    missing = (pl.col("environment") == "a") & (pl.col("oracle") == "search")
    assert panels_of(frame.filter(~(missing & (pl.col("learner") == "ftpl"))))["a, search"] == ["exp4", "uniform"]
    assert list(panels_of(frame.filter(~missing))) == ["a, milp", "b, milp", "b, search"]
    alone = panels_of(frame.filter((pl.col("environment") == "b") | (pl.col("learner") == "uniform")))
    assert {name: len(learners) for name, learners in alone.items()} == {"a": 1, "b, milp": 3, "b, search": 3}


def test_the_order_is_that_of_the_config(make_frame):
    """Sorted curves are put back into the order in which the config lists things."""
    settings = {"learners": [{"name": "uniform"}, {"name": "bistro_plus", "label": "b"}], "environment": {"name": "e"}}
    frame = in_order(make_frame(["b", "uniform"], ["e"]).sort("learner"), settings)
    assert frame["learner"].unique(maintain_order=True).to_list() == ["uniform", "b"]


def test_finals_are_means_and_spreads(make_frame):
    """A row has its mean, the range of few seeds; beside it regret, and guarantee in grey."""
    frame = make_frame(["uniform", "bistro_plus"], noise=0.3)
    results = Results(frame.with_columns(guarantee=pl.col("guarantee").clip(upper_bound=900.0)), "t")
    drawing = one(results, "finals")
    axes = drawing.figure.axes[0]
    means = results.finals.group_by("learner").agg(pl.col("regret").mean()).sort("regret")
    assert [label.get_text() for label in axes.get_yticklabels()] == means["learner"].to_list()
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    for row, learner in enumerate(means["learner"]):
        own = results.finals.filter(pl.col("learner") == learner)
        drawn = np.concatenate(lines_of(axes, results.styles[learner].colour))
        assert set(drawn[:, 1]) == {row}
        wanted = [own["regret"].min(), own["regret"].max(), own["regret"].mean()]
        assert sorted(drawn[:, 0]) == pytest.approx(sorted(wanted))
    beside = {text.get_text(): text.get_color() for text in axes.texts}
    assert {number(mean) for mean in means["regret"]} < set(beside)
    assert beside["900"] == GREY


def test_all_panels_of_an_end_have_one_scale(make_frame):
    """Two worlds of which one has a hundred times the regret are drawn from the same to the same, linearly."""
    frame = make_frame(["uniform", "bistro_plus"], ["a", "b"])
    frame = frame.with_columns(regret=pl.col("regret") * pl.when(pl.col("environment") == "b").then(100).otherwise(1))
    for name in ("finals", "times"):
        first, second = one(Results(frame, "t"), name).figure.axes
        assert first.get_xlim() == second.get_xlim()
        assert first.get_xscale() == second.get_xscale() == "linear"


def test_queries_and_rule_changes_are_drawn_where_a_rule_is_in_force(make_frame):
    """A full and an open point for the learner with a rule, a full one for another; nothing where there is no rule."""
    frame = make_frame(["bistro_plus", "hedge"])
    with pytest.raises(InputError, match="nothing to draw"):
        one(Results(frame, "t"), "queries")
    ruled = pl.when(pl.col("learner") == "bistro_plus").then(5.0).otherwise(float("nan"))
    results = Results(frame.with_columns(rule_changes=ruled), "t")
    drawing = one(results, "queries")
    [axes] = drawing.figure.axes
    calls = results.finals.group_by("learner").agg(pl.col("oracle_calls").mean())["oracle_calls"].to_list()
    drawn = sorted((line.get_xdata()[0], line.get_fillstyle()) for line in axes.lines)
    assert drawn == sorted([(5.0, "none"), *((call, "full") for call in calls)])
    assert axes.get_xscale() == "log"
    assert "The rule of bistro_plus changes 5.0 times" in drawing.caption


def test_times_are_microseconds_split_into_oracle_and_rest(make_frame):
    """Whole and oracle time per round are the seconds of the last row over its round; the caption names the slowest."""
    results = Results(make_frame(["bistro_plus", "hedge", "uniform"]), "t")
    found = results.panels[0].finals
    assert per_round(found["bistro_plus"]) == pytest.approx(2.0)
    assert per_round(found["hedge"]) == pytest.approx(42.0)
    assert per_round(found["hedge"], "oracle_seconds") == pytest.approx(31.0)
    drawing = one(results, "times")
    colour = results.styles["hedge"].colour
    bars = [bar for bar in drawing.figure.axes[0].patches if to_hex(bar.get_facecolor()).upper() == colour]
    spans = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars if bar.get_fill())
    assert spans == [pytest.approx((0.0, 31.0)), pytest.approx((31.0, 42.0))]
    assert "uniform: 82.0 \u00b5s" in drawing.caption


def test_slopes_stand_in_the_legend(make_frame):
    """Without noise the slope of T^0.5 is 0.50; curves over rounds have none, nor has regret without a logarithm.

    Where a curve bends, each part has a slope of its own, which no fit would show.
    """
    results = Results(make_frame(["bistro_plus"], horizons=(100, 1000, 10_000), noise=0.0), "t")
    for name, there in (("horizons", True), ("regret_loglog", False)):
        texts = [text.get_text() for text in one(results, name).figure.findobj(Text)]
        assert any("slopes 0.50, 0.50\nguarantee 0.75" in text for text in texts) == there, name
    frame = make_frame(["bistro_plus", "hedge"], horizons=(100, 1000))
    frame = frame.with_columns(regret=pl.when(pl.col("learner") == "hedge").then(-1.0).otherwise("regret"))
    drawing = one(Results(frame, "t"), "horizons")
    assert any("slopes none" in text.get_text() for text in drawing.figure.findobj(Text))
    frame = make_frame(["bistro_plus"], horizons=(100, 1000, 10_000), noise=0.0)
    bent = pl.col("horizon").replace_strict({100: 10.0, 1000: 80.0, 10_000: 200.0})
    frame = frame.with_columns(regret=pl.when(pl.col("round") == pl.col("horizon")).then(bent).otherwise("regret"))
    (panel,) = Results(frame, "t").panels
    assert local_slopes(panel, "bistro_plus") == pytest.approx([np.log10(8), np.log10(2.5)])
    assert theorem(panel, "bistro_plus") == pytest.approx(0.75)


SIZES = {"K two": 2, "K five": 5, "K twelve": 12}
VARIED = {
    "environment": [
        *({"name": "planted", "label": label, "n_actions": k, "n_contexts": 9} for label, k in SIZES.items()),
        {"name": "planted", "label": "other", "n_actions": 2, "n_contexts": 7, "noisy": True},
    ],
    "policies": {"name": "decision_trees", "depth": 2},
    "learners": [{"name": "bistro_plus", "scale": 5.0, "label": "L = 5"}, {"name": "bistro_plus", "scale": 9.0}],
}


def test_regret_against_a_number_of_the_config(make_frame):
    """The figure's x is the number that the config varies with all else equal; entries that differ more are out."""
    frame = make_frame(["L = 5", "bistro_plus"], [*SIZES, "other"])
    results = Results(frame, "t", VARIED)
    assert varied(VARIED) == ["environment.n_actions", "learners.scale"]
    drawing = against_key(results, "environment.n_actions")
    colour = results.styles["bistro_plus"].colour
    means = lines_of(drawing.figure.axes[0], colour)[-1]
    rows = results.finals.filter(pl.col("learner") == "bistro_plus")
    wanted = [rows.filter(pl.col("environment") == label)["regret"].mean() for label in SIZES]
    assert means == pytest.approx(np.column_stack([list(SIZES.values()), wanted]))
    ticks = [label.get_text() for label in drawing.figure.axes[0].get_xticklabels()]
    assert ticks == ["2", "5", "12"]


def test_a_figure_that_does_not_apply_says_what_it_needs(make_frame):
    """Asked for by name it is refused; among all it is left out; a mistyped name is told with the nearest one."""
    results = Results(make_frame(), "t")
    for name in ("horizons", "against", "overview"):
        with pytest.raises(InputError, match=f"figure '{name}' has nothing to draw of t: "):
            list(draw(results, [name]))
    names = {drawing.name for drawing in draw(results)}
    assert names >= {"regret", "costs", "regret_loglog", "finals", "times"}
    assert names.isdisjoint({"horizons", "against", "overview"})
    with pytest.raises(UnknownNameError, match="did you mean 'horizons'"):
        list(draw(results, ["horizon"]))


def test_names_are_names_in_every_figure(make_frame):
    """Dollars, angle brackets, ampersands and quotes are drawn as they are; the SVG stays well formed."""
    settings = {"environment": [{"name": "e", "label": label, "$K$": k} for k, label in enumerate(HOSTILE, 1)]}
    frame = make_frame([*HOSTILE[:2], "uniform"], HOSTILE[2:], seeds=[0], horizons=(10, 100), points=3)
    results = Results(frame, "$t$ <&>", settings)
    drawings = list(draw(results))
    assert len(drawings) >= 8  # all but that of queries, as no rule is in force
    for drawing in drawings:
        ET.fromstring(render(drawing.figure, ["svg"])["svg"])  # noqa: S314 - our own picture
        assert not any("$" in text.get_text() and text.get_parse_math() for text in drawing.figure.findobj(Text))
        written = {text.get_text() for text in drawing.figure.findobj(Text)}
        assert written & set(HOSTILE), drawing.name
        assert drawing.caption
        assert drawing.alt


def test_the_same_frame_gives_the_same_pictures(make_frame):
    """PNG and SVG are the same bytes again, so that a second drawing changes no file."""
    frame = make_frame(seeds=[0], points=5)
    first, again = (render(one(Results(frame, "t"), "regret").figure) for _ in range(2))
    assert first == again
    assert imread(io.BytesIO(first["png"])).shape[:2] == (750, 1350)


def test_the_comparator_itself_is_drawn_and_is_no_winner(make_frame):
    """Regret 0 up to rounding and a guarantee of 0 break no figure, stretch no axis, and win no comparison."""
    frame = make_frame(["uniform", "bistro_plus", "best_in_hindsight"], horizons=(100, 1000))
    own = pl.col("learner") == "best_in_hindsight"
    frame = frame.with_columns(
        regret=pl.when(own).then((pl.col("seed") + 1) * 1e-12).otherwise("regret"),
        guarantee=pl.when(own).then(0.0).otherwise("guarantee"),
    )
    results = Results(frame, "t")
    drawings = {drawing.name: drawing for drawing in draw(results)}
    for name in ("regret_loglog", "horizons", "finals"):
        render(drawings[name].figure, ["svg"])
    assert drawings["finals"].figure.axes[0].get_xscale() == "linear"
    assert drawings["regret_loglog"].figure.axes[0].get_ylim()[0] > 0.01
    assert "uniform has the lowest regret" in drawings["regret"].alt
    assert drawings["horizons"].figure.axes[0].get_ylim()[0] > 0.01
    assert drawings["finals"].figure.axes[0].get_yticklabels()[0].get_text() == "best_in_hindsight"
