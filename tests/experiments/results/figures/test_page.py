"""The first screen of a study, its pictures for phones, its words, and how large it is."""

import re

import polars as pl
import pytest
from matplotlib.figure import Figure

from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.results import NARROW, Results, in_words, joined
from milpcb.experiments.results.figures.words import glossary, verdict
from milpcb.experiments.results.report import DrawnPolicy, report_page
from tests.sketches import sketch

pytestmark = pytest.mark.usefixtures("sketches")

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="504pt" height="20pt"></svg>'


@pytest.fixture(scope="module")
def results(make_frame):
    """Return three learners in two worlds."""
    return Results(make_frame(["exp4", "bistro_plus", "uniform"], ["planted", "switching"]), "A study")


@pytest.fixture(scope="module")
def page(results):
    """Return their page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", sketch)
        return report_page(results, "", [DrawnPolicy("a", "play 1", SVG)])


def between(text, start, end):
    """Return the part of a page from some words to others."""
    return text[text.index(start) : text.index(end)]


def test_the_first_screen_asks_and_answers(results, page):
    """Title, the question with its numbers, one sentence of verdict; then the ends of the learners and the curves."""
    page = page.replace("\u202f", " ")
    head = between(page, "<h1>", "</header>")
    assert "Who pays least? 3 learners, 2 environments, 3 seeds, 1 000 rounds." in head
    assert head.count(verdict(results).replace("\u202f", " ")) == 1
    first = between(page, '<div class="pair">', '<details id="table">')
    assert re.findall(r'<figure id="figure-(\w+)"', first) == ["finals", "regret"]
    assert verdict(results).replace("\u202f", " ") not in re.sub(r'alt="[^"]*"', "", page.split("</header>")[1])


def test_words_are_explained_once(results, page):
    """The meaning of a certificate stands in the glossary alone, and only terms that the study has are there."""
    assert page.count("from the observations of the run alone") == 1
    assert {"regret", "certificate", "guarantee", "own bound"} <= dict(glossary(results)).keys()


def test_phones_have_pictures_of_their_own(make_frame):
    """Every wide picture has a narrow one beside it; those of half a page are narrow in any case."""
    results = Results(make_frame(["exp4", "uniform"], [*"abcde"], seeds=[0], points=2), "t")
    page = report_page(results, "")
    n_figures = len(re.findall(r'<figure id="figure-', page))
    widths = [int(width) for width in re.findall(r'media="[^"]*" srcset="[^"]*" width="(\d+)"', page)]
    assert widths == [round(96 * NARROW)] * n_figures
    small = Results(make_frame(["exp4", "uniform"], points=4), "t")
    assert len(re.findall("<source media", report_page(small, ""))) == len(list(draw(small))) - 2


def test_bare_names_are_words(make_frame):
    """Registered names without a label are called what people call them; a label stays, and so does its learner."""
    settings = {
        "environment": [{"name": "late_bloomer"}, {"name": "planted", "label": "my_world"}],
        "learners": [{"name": "bistro_plus"}, {"name": "exp4"}, {"name": "exp4", "label": "Exp4", "rate": "adaptive"}],
    }
    frame = make_frame(["bistro_plus", "exp4", "Exp4"], ["late_bloomer", "my_world"], points=3)
    shown = in_words(Results(frame, "t", settings))
    assert shown.frame["learner"].unique(maintain_order=True).to_list() == ["BISTRO+", "exp4", "Exp4"]
    assert shown.frame["environment"].unique(maintain_order=True).to_list() == ["late bloomer", "my_world"]
    assert shown.styles["BISTRO+"] == Results(frame, "t", settings).styles["bistro_plus"]


def test_parts_of_one_study_are_drawn_as_one(make_frame):
    """Two directories whose names mean the same are joined; where a name has two meanings, or a run is twice, not."""
    settings = {"learners": [{"name": "exp4"}], "environment": {"name": "planted"}, "experiment": {"name": "s"}}
    short, long = (Results(make_frame(["exp4"], horizons=(T,)), "t", settings) for T in (100, 1000))
    whole = joined([short, long])
    assert whole is not None
    assert whole.horizons == [100, 1000]
    assert joined([short, short]) is None
    other = Results(long.frame, "t", {**settings, "learners": [{"name": "exp4", "rate": "adaptive"}]})
    assert joined([short, other]) is None


def test_shares_of_random_play_over_a_number(make_frame):
    """With uniform play in the study regret is a share of its regret, on an axis from 0, a panel a horizon."""
    worlds = {"two": 2, "five": 5}
    tables = [{"name": "planted", "label": label, "n_actions": k} for label, k in worlds.items()]
    results = Results(make_frame(["exp4", "uniform"], list(worlds), horizons=(100, 1000)), "t", {"environment": tables})
    (drawing,) = draw(results, ["against"])
    assert [axes.get_title(loc="left") for axes in drawing.figure.axes] == ["T = 100", "T = 1\u202f000"]
    finals = results.finals.filter(pl.col("horizon") == 1000)
    mean = finals.group_by("learner", "environment").agg(pl.col("regret").mean())
    wanted = {row[:2]: row[2] for row in mean.rows()}
    axes = drawing.figure.axes[1]
    own = [line for line in axes.get_lines() if line.get_color() == results.styles["exp4"].colour]
    line = next(line for line in own if len(line.get_xdata()) == 2 and line.get_marker() != "None")
    shares = [100 * wanted["exp4", label] / wanted["uniform", label] for label in worlds]
    assert line.get_ydata() == pytest.approx(shares)
    assert axes.get_ylim()[0] == 0.0
    assert axes.get_yscale() == "linear"
    assert "n actions (environment)" in {axes.get_xlabel() for axes in drawing.figure.axes}
