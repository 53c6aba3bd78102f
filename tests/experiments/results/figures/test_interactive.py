"""Figures to click on: what Plotly is given, names of somebody's, and what is said where Plotly is missing."""

import json
import re
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from milpcb.cli import cli
from milpcb.errors import ExtraMissingError, InputError
from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.forms import interactive_page
from milpcb.experiments.results.figures.results import Results

HOSTILE = '<b onclick="x">$a'
LEARNERS = ["exp4", HOSTILE, "uniform"]


def page_of(results, name):
    """Return the page of a figure."""
    pytest.importorskip("plotly")
    (drawing,) = draw(results, [name])
    return interactive_page(drawing, results.styles).decode()


def traces_of(page):
    """Return what is drawn, and the layout."""
    decoder, start = json.JSONDecoder(), page.index("Plotly.newPlot(")
    traces, end = decoder.raw_decode(page, page.index("[", page.index('"figure"', start)))
    return traces, decoder.raw_decode(page, page.index("{", end))[0]


@pytest.fixture
def results(make_frame):
    """Return a study of one panel."""
    return Results(make_frame(LEARNERS), "a <study>")


def test_a_curve_is_the_mean_that_is_drawn_and_a_name_hides_all_of_it(results):
    """Each learner has one name in the legend; line and band share it; values are those of the frame."""
    traces, layout = traces_of(page_of(results, "regret"))
    named = [trace for trace in traces if trace.get("legendgroup") == "exp4"]
    assert sum(trace["showlegend"] for trace in named) == 1
    assert {trace.get("fill") for trace in named} == {None, "toself"}
    rounds, values = results.panels[0].curve("exp4")
    line = next(trace for trace in named if "fill" not in trace)
    assert line["mode"].startswith("lines")
    assert np.allclose(line["x"], rounds)
    assert np.allclose(line["y"], values.mean(axis=0))
    assert layout["xaxis"]["title"]["text"] == "round"


def test_all_panels_of_all_figures_are_drawn(make_frame):
    """Marks and bars too; rows keep their names; the panels lie beside each other."""
    results = Results(make_frame(LEARNERS, ["K = 2", "K = 5"], horizons=(100, 1000)), "study")
    for name in ("finals", "times", "horizons"):
        traces, layout = traces_of(page_of(results, name))
        assert {trace["xaxis"] for trace in traces} == {"x", "x2"}
        assert {trace["legendgroup"] for trace in traces if "legendgroup" in trace} == {*LEARNERS}
        assert sum(trace["showlegend"] for trace in traces) == len(LEARNERS)
        assert layout["xaxis"]["domain"][1] <= layout["xaxis2"]["domain"][0]
    assert "exp4" in traces_of(page_of(results, "finals"))[1]["yaxis"]["ticktext"]


def test_names_are_text_and_nothing_is_loaded(results):
    """No name is markup of the page or of Plotly; the page has its library inside; the same again."""
    page = page_of(results, "regret")
    assert "<b onclick" not in page
    assert "&lt;b onclick" in json.dumps(traces_of(page)[0])
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", page)
    assert page == page_of(results, "regret")


def test_plotly_is_an_extra(results, monkeypatch):
    """One line names it where it is missing."""
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    monkeypatch.setitem(sys.modules, "plotly", None)
    (drawing,) = draw(results, ["regret"])
    with pytest.raises(ExtraMissingError, match=r"pip install '.\[interactive\]'"):
        interactive_page(drawing, results.styles)


def test_a_page_is_no_picture_for_a_paper(tmp_path):
    """Formats and widths are of pictures."""
    answer = CliRunner().invoke(cli, ["plot", str(tmp_path), "--interactive", "--format", "pdf"], standalone_mode=False)
    assert isinstance(answer.exception, InputError)
    assert "--interactive" in str(answer.exception)
