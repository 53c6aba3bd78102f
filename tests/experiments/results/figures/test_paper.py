"""Figures for a paper: width, letters, text as text, the same bytes again; one file; on axes of somebody's."""

import re
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from matplotlib.text import Text

import milpcb
from milpcb.errors import InputError, UnknownNameError
from milpcb.experiments.results.figures.drawing import render
from milpcb.experiments.results.figures.forms import draw_for, only
from milpcb.experiments.results.figures.results import Results
from policies import DecisionTrees

THREE = ["bistro_plus", "exp4", "uniform"]


def sizes(figure):
    """Return the sizes of all letters that are drawn."""
    texts = (text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip())
    return [float(text.get_fontsize()) for text in texts]


@pytest.mark.parametrize(
    ("name", "width", "letters"),
    [
        *((name, 3.4, 8.0) for name in ("regret", "finals", "costs", "times", "overview")),
        *(("regret", 3.4, 6.0), ("regret", 7.0, 9.0)),
    ],
)
def test_a_figure_has_the_width_and_the_letters_that_were_asked_for(make_frame, name, width, letters):
    """Also after it is drawn; no letter is smaller, and no title is there."""
    worlds = ["planted", "switching"] if name == "overview" else ["planted"]
    (drawing,) = draw_for(Results(make_frame(THREE, worlds), "a study"), [name], width, letters)
    render(drawing.figure, ["svg"])
    assert drawing.figure.get_figwidth() == pytest.approx(width)
    assert min(sizes(drawing.figure)) == pytest.approx(letters)
    shown = [text.get_text() for text in drawing.figure.texts if text.get_visible()]
    assert not any("seed" in text for text in shown)


def test_letters_are_text_and_bytes_are_the_same_again(make_frame):
    """In svg and pdf words can be found; the caption is in the file; two drawings are one file."""
    results = Results(make_frame(THREE), "a study")
    first, second = (
        render(drawing.figure, ["svg", "pdf", "png"], caption=drawing.caption, as_text=True)
        for _ in range(2)
        for drawing in draw_for(results, ["regret"], ylabel="excess cost")
    )
    assert first == second
    svg = first["svg"].decode()
    assert re.search(r"<text[^>]*>excess cost</text>", svg)
    assert re.search(r"<text[^>]*>bistro_plus</text>", svg)
    assert "Means over 3 seeds" in svg
    assert first["pdf"].startswith(b"%PDF")
    assert b"/FontFile2" in first["pdf"]  # TrueType: text stays text


def test_learners_are_named_as_in_the_config_or_as_they_are_drawn(make_frame):
    """A README's --learners exp4 is the line called Exp4; several of one name are all meant; others are refused."""
    sections = [{"label": "Exp4", "name": "exp4"}, {"label": "slow", "name": "exp4"}, {"label": "uniform"}]
    frame = make_frame(THREE).with_columns(pl.col("learner").replace({"exp4": "Exp4", "bistro_plus": "slow"}))
    results = Results(frame, "a study", {"learners": sections})
    for names, drawn in (
        (["exp4"], {"Exp4", "slow"}),
        (["Exp4"], {"Exp4"}),
        (["slow", "uniform"], {"slow", "uniform"}),
    ):
        assert set(only(results, names).frame["learner"]) == drawn
    with pytest.raises(UnknownNameError, match="did you mean 'Exp4'"):
        only(results, ["exp5"])


@pytest.mark.parametrize("live", [False, True])
def test_plays_are_drawn_on_axes_of_somebody(live):
    """A curve for each learner, on axes of a grid and on axes placed by hand; the figure keeps its size."""
    world = SimpleNamespace(context=lambda: [0.0], cost=lambda action: float(action == 0)) if live else "planted"
    trees = DecisionTrees(n_actions=3, depth=1, **({"thresholds": [[0.5]]} if live else {}))
    more = {"contexts": np.array([[0.0], [1.0]])} if live else {}
    plays = milpcb.play(world, ["exp4", "uniform"], 30, policies=trees, **more)
    figure, (axes, _) = plt.subplots(1, 2, figsize=(5, 2))
    placed = plt.figure(figsize=(3, 2)).add_axes((0.2, 0.2, 0.7, 0.7))
    for ax in (axes, placed):
        assert plays.plot(ax=ax) is ax
        assert {text.get_text() for text in ax.get_legend().get_texts()} == {"exp4", "uniform"}
        assert ax.get_ylabel() == ("certificate" if live else "regret")
    assert tuple(figure.get_size_inches()) == (5, 2)
    plt.close("all")
    with pytest.raises(InputError, match="one of the two"):
        plays.plot()
