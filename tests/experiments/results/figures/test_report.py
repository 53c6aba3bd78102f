"""The page of a study: what it says, that it needs nothing from anywhere, and what a browser makes of it."""

import json
import re
from collections.abc import Iterator
from html import escape, unescape
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from milpcb.core.decimals import number
from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.report import DrawnPolicy, report_page, report_table, summary_table
from tests import browser
from tests.sketches import sketch

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="#00f"/></svg>'
EVIL = "<script>alert(\"1\")</script> & 'b'"
CONFIG = '[experiment]\nname = "study"\n# <b>&amp;</b>\n'
VOID = {"meta", "link", "img", "br", "source"}


class Page(HTMLParser):
    """Content of a page: tags with their attributes, and the text of every element; tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attrs):
        """Note the tag."""
        self.tags.append((tag, {key: value or "" for key, value in attrs}))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        """Close the tag that is open."""
        assert self._open.pop() == tag

    def handle_data(self, data):
        """Add text to every open element."""
        for tag in set(self._open):
            self.texts[tag][-1] += data

    def all(self, tag):
        """Return the attributes of every element of a kind."""
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def settings():
    """Return the resolved config of a study of 3 x 2 x 2 x 3 runs."""
    return {
        "experiment": {"name": "study", "horizon": [100, 1000], "seeds": [0, 1, 2]},
        "environment": [
            {"name": "planted", "label": "K = 2", "n_actions": 2},
            {"name": "planted", "label": "K = 5", "n_actions": 5},
        ],
        "policies": {"name": "decision_trees", "depth": 2},
        "oracle": {"kind": "search"},
        "learners": [{"name": "bistro_plus", "scale": 8.0}, {"name": "hedge"}, {"name": "uniform"}],
        "versions": {"milpcb": "9.9.9", "format": 2},
    }


@pytest.fixture(scope="module")
def results(make_frame, settings):
    """Return its results."""
    frame = make_frame(["bistro_plus", "hedge", "uniform"], ["K = 2", "K = 5"], horizons=(100, 1000), points=5)
    return Results(frame, "study", settings)


@pytest.fixture(scope="module")
def text(results):
    """Return its page; its pictures are drawn where there is a browser to look at them."""
    with pytest.MonkeyPatch.context() as patch:
        if browser.CHROMIUM is None:
            patch.setattr(Figure, "savefig", sketch)
        policy = DrawnPolicy("K = 2, seed 0", f"if {'x0 ' * 40}<= 1:\n    play a < b", SVG)
        return report_page(results, CONFIG, [policy], n_runs=36)


@pytest.fixture(scope="module")
def page(text):
    """Return its page, taken apart."""
    return Page(text)


def body_rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of the rows of the table of results."""
    table = re.search(r'<table id="summary".*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    assert table
    for row in re.findall(r"<tr>(.*?)</tr>", table.group(1), re.DOTALL):
        yield [re.sub("<.*?>", "", cell) for cell in re.findall(r"<td.*?>.*?</td>", row, re.DOTALL)]


def cells_of(results):
    """Return the rows of the table: texts by the keys of their columns."""
    table = report_table(results)
    return [dict(zip((column.key for column in table["columns"]), row, strict=True)) for row in table["rows"]]


def test_the_table_has_a_row_for_every_environment_learner_and_horizon(text, results):
    """Rows are those of the data, by environment and horizon, then the least regret; the learner comes first."""
    rows = list(body_rows(text))
    finals = results.finals.group_by("environment", "horizon", "learner").agg(pl.col("regret").mean())
    wanted = finals.sort("environment", "horizon", "regret").select("learner", "environment", "horizon").rows()
    assert [(row[0], row[1], int(row[2].replace("\u202f", ""))) for row in rows] == wanted
    assert len(rows) == 12


def test_a_row_says_what_the_runs_say(results):
    """Mean and interval, guarantee and share, calls and microseconds are recomputed here from the last rows."""
    own = (pl.col("learner") == "hedge") & (pl.col("environment") == "K = 5") & (pl.col("horizon") == 1000)
    runs = results.finals.filter(own)
    place = ("learner", "environment", "horizon")
    (row,) = [r for r in cells_of(results) if [r[key] for key in place] == ["hedge", "K = 5", "1\u202f000"]]
    mean, guarantee = runs["regret"].mean(), runs["guarantee"][0]
    half = 4.302652730 * runs["regret"].std() / np.sqrt(3)  # Student's t with 2 degrees of freedom
    assert row["regret"] == f"{mean:,.0f} \u00b1\u202f{half:,.0f}".replace(",", "\u202f")
    assert row["guarantee"] == number(guarantee)
    assert row["share"] == f"{number(100 * mean / guarantee)}\u202f%"
    assert (row["cost"], row["best_cost"]) == (f"{runs['cumulative_cost'].mean() / 1000:.4f}", "0.3000")
    assert (row["calls"], row["time"], row["oracle_time"]) == ("4\u202f000", "42.0", "31.0")
    assert not {"seeds", "oracle_error"} & set(row)  # the same in all rows


def test_regrets_by_several_oracles_have_a_note_on_ties(results):
    """One oracle has none: the note is on what differs between rows of a table."""
    both = [results.frame.with_columns(oracle=pl.lit(oracle)) for oracle in ("search", "milp:highs")]
    several = Results(pl.concat(both), "t")
    assert "each oracle or solver may return another" in report_table(several)["note"]
    assert report_table(several)["note"] in summary_table(several).caption
    assert report_table(results)["note"] == ""


def test_what_is_not_known_is_no_number(results):
    """Inexact answers have a column where there are some; a learner without a guarantee, or one of 0, has no share."""
    frame = results.frame.with_columns(oracle_error=pl.when(pl.col("learner") == "hedge").then(7.5).otherwise(0.0))
    assert {row["oracle_error"] for row in cells_of(Results(frame, "t"))} == {"0", "7.5"}
    assert {row["share"] for row in cells_of(Results(results.frame.with_columns(guarantee=0.0), "t"))} == {""}
    row = next(row for row in cells_of(results) if row["learner"] == "uniform")
    assert (row["guarantee"], row["share"]) == ("none", "")


@pytest.fixture(scope="module")
def n_images(results):
    """Return the number of pictures on the page: the figures that apply, and a policy."""
    return len(list(draw(results))) + 1


def test_every_figure_has_its_words(page, n_images):
    """Each image has an alternative text, each figure a caption that says something."""
    images = page.all("img")
    assert len(images) == n_images >= 9
    assert all(image["alt"] and image["src"].startswith("data:image/") for image in images)
    captions = page.texts["figcaption"]
    assert len(captions) == len(page.all("figure")) == n_images
    assert all(len(caption.strip()) > 30 for caption in captions)


def test_the_page_tells_how_to_run_it_again(page, text):
    """The command, the config letter for letter, and the rules are there."""
    assert "milpcb run study.toml --out study" in page.texts["pre"]
    assert CONFIG.rstrip() in [pre.rstrip() for pre in page.texts["pre"]]
    assert "play a &lt; b" in text


@pytest.mark.usefixtures("sketches")
def test_what_is_missing_is_said(results, text):
    """Runs that did not finish are counted, and the table says how many seeds a mean is made of."""
    there = (pl.col("environment") == "K = 5") & ((pl.col("learner") != "hedge") | (pl.col("seed") != 2))
    lacking = report_page(Results(results.frame.filter(there), "study", results.settings), "", n_runs=18)
    assert "2 of the 18 runs of this study had not finished" in lacking
    assert sum("2 of 3" in row for row in body_rows(lacking)) == 2
    assert "had not finished" not in text


def test_the_page_loads_nothing(text, page):
    """No address but data, no import; the policy that the page gives to browsers forbids everything else."""
    for tag, attributes in page.tags:
        assert attributes.get("src", "data:").startswith("data:"), tag
        assert attributes.get("href", "data:").startswith("data:"), tag
    bare = re.sub(r"data:image/[^\"]*", "", text)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|@font-face|fetch\(|XMLHttp", bare)
    (rule,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert rule.startswith("default-src 'none'")


@pytest.mark.usefixtures("sketches")
def test_names_cannot_break_out(make_frame):
    """Angle brackets, ampersands and quotes of any name are text: there is one script, and it is the page's own."""
    settings = {
        "experiment": {"name": EVIL, "seeds": [0]},
        "environment": {"name": EVIL, EVIL: EVIL},
        "learners": [{"name": EVIL}],
    }
    frame = make_frame([EVIL], [EVIL, "other"], oracles=[EVIL], seeds=[0], points=2)
    text = report_page(Results(frame, EVIL, settings), EVIL, *2 * [[DrawnPolicy(EVIL, EVIL, SVG)]])
    page = Page(text)
    assert len(page.all("script")) == 1
    assert page.texts["h1"] == [EVIL]
    assert EVIL in page.texts["td"]
    assert page.texts["title"][0].startswith(EVIL)
    assert len(page.all("img")) == len(page.all("figure"))


@pytest.mark.usefixtures("sketches")
def test_leaders_are_shown_with_their_rules(results, text):
    """Each has its heading and rules; without leaders there is no such section."""
    page = Page(report_page(results, CONFIG, [], [DrawnPolicy(f"learner {i}", f"play {i}") for i in range(24)]))
    assert "What the learners would stay with" in page.texts["h2"]
    assert "Best policies in hindsight" not in page.texts["h2"]
    cards = [" ".join(text.split()) for text in page.texts["figcaption"][-24:]]
    assert cards == [f"rules play {i}" for i in range(24)]
    assert "What the learners would stay with" not in text


FACTS = """
  const shown = (element) => element.offsetHeight > 0;
  const boxes = [...document.querySelectorAll(".box")].filter((box) => shown(box)).map((box) => {
    const scroll = box.querySelector(".scroll");
    return {kind: scroll.className, over: scroll.scrollWidth > scroll.clientWidth + 1,
      hint: shown(box.querySelector(".hint")), more: box.classList.contains("more"), what: scroll.ariaLabel};
  });
  parent.document.body.dataset.facts = JSON.stringify({
    boxes, rows: document.querySelectorAll("#summary tbody tr").length,
    drawn: [...document.images].map((image) => image.complete && image.naturalWidth > 0),
    width: innerWidth, page: document.documentElement.scrollWidth});
"""


@pytest.fixture
def look_at(tmp_path):
    """Return ``look_at(page, width, script)``: facts on a page in a frame of so many pixels.

    It is a frame because browsers have no window so narrow as a phone's. The script runs half a second before.
    """
    browser.needed()

    def look(text: str, width: int, script: str = "") -> dict[str, object]:
        inside = f"<script>onload = () => {{ {script}; setTimeout(() => {{ {FACTS} }}, 500); }};</script></body>"
        page, style = escape(text.replace("</body>", inside)), f"width:{width}px;height:900px;border:0"
        frame = f'<!DOCTYPE html><body style="margin:0"><iframe style="{style}" srcdoc="{page}"></iframe></body>'
        dom = browser.ask(tmp_path, frame, "--dump-dom", "--window-size=1600,900")
        return json.loads(unescape(re.search(r'data-facts="(.*?)"', dom).group(1)))

    return look


@pytest.mark.parametrize("width", [420, 1400])
def test_a_browser_shows_rows_and_figures(look_at, text, width, n_images):
    """Every picture is really drawn, the page is no wider than its window, and no script has failed."""
    facts = look_at(text, width)
    assert facts["width"] == width
    assert facts["rows"] == 12
    assert facts["drawn"] == [True] * n_images

    assert facts["page"] <= width, facts


def test_a_narrow_page_scrolls_with_a_hint(look_at, text):
    """At 420 pixels figures and the table fit as they are; boxes that scroll have a hint and a shadow, no others."""
    facts = look_at(text, 420, "document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert all(box["hint"] == box["over"] == box["more"] for box in facts["boxes"]), facts["boxes"]
    assert not any(box["over"] for box in facts["boxes"] if box["what"] == "Table of results" or "plot" in box["kind"])
    assert any(box["over"] for box in facts["boxes"])
    end = "{ scroll.scrollLeft = 9999; scroll.dispatchEvent(new Event('scroll')); }"  # a browser tells of it later
    to_the_end = f"document.querySelectorAll('.scroll').forEach((scroll) => {end})"
    assert not any(box["more"] for box in look_at(text, 420, to_the_end)["boxes"])
