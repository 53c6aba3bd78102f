"""Certificates with confidence in studies: asked for by a key, kept in records, shown in tables, pictures, pages."""

import tomllib

import numpy as np
import pytest

import milpcb
from milpcb import open_oracle, rng
from milpcb.errors import InputError
from milpcb.experiments.results import confident_column, confident_in
from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.results import read_results
from milpcb.experiments.results.figures.words import glossary
from milpcb.experiments.results.report import report
from milpcb.experiments.results.report_table import summary_table
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import parse_config
from milpcb.learners import Exp4
from policies import DecisionTrees

ASKED = "horizon = 40\nconfidence = 0.9"
LEARNERS = '[[learners]]\nname = "uniform"\n[[learners]]\nname = "exp4"\nrate = "certified"\n'
CORNERS = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)], dtype=float)
TREES = DecisionTrees(2, depth=1, thresholds=1)


class World:
    """A live world: the corners in turn, and a cost of 1 for the action that is not the first feature."""

    def __init__(self) -> None:
        self.t = -1

    def context(self):
        """Return the next corner."""
        self.t += 1
        return CORNERS[self.t % 8]

    def cost(self, action):
        """Return the cost of the action played."""
        return float(action != CORNERS[self.t % 8, 0])


@pytest.fixture
def run(tiny, tmp_path, play_into):
    """Return a finished run directory of three learners and two seeds, with certificates of 90 per cent."""
    text = tiny.replace("horizon = 40", ASKED + "\nseeds = [0, 1]") + LEARNERS
    return play_into(text, tmp_path / "run").path


def test_a_column_of_the_curves_beside_those_without(run, tiny, tmp_path, play_into):
    """It stands after the certificates in the mean; all other numbers are those of the study without a confidence."""
    frame = milpcb.load(run)
    columns = frame.columns
    assert columns[columns.index("certificate_error") + 1] == "certificate_90"
    assert (frame["certificate_90"] >= 0).all()
    assert (run / "curves.csv").read_text().splitlines()[0] == ",".join(columns)
    plain = milpcb.load(
        play_into(tiny.replace("horizon = 40", "horizon = 40\nseeds = [0, 1]") + LEARNERS, tmp_path / "p").path
    )
    untimed = [name for name in plain.columns if name not in {"seconds", "oracle_seconds", "key"}]
    assert frame.select(untimed).equals(plain.select(untimed))
    assert "certificate_90" not in plain.columns


def test_keys_of_studies_without_a_confidence_are_as_ever(tiny):
    """Old records are found again: the settings name a confidence only where one is asked for, as another cell."""

    def keys(text):
        study = build_study(parse_config(tomllib.loads(text)))
        assert ["confidence" in cell.settings() for cell in study.cells] == ["confidence" in text]
        return [cell.key for cell in study.cells], [comparator.key for comparator in study.comparators]

    (plain, best), (asked, same) = keys(tiny), keys(tiny.replace("horizon = 40", ASKED))
    assert plain != asked
    assert best == same


def test_an_interrupted_cell_keeps_its_certificates(tiny):
    """The points of a checkpoint hold them, and a play that goes on from it ends with the same."""
    from pathlib import Path

    from milpcb.experiments.results.records import WorldCosts
    from milpcb.experiments.run.task import cell_player
    from milpcb.experiments.study.worlds import open_world

    (cell,) = build_study(parse_config(tomllib.loads(tiny.replace("horizon = 40", ASKED)))).cells

    def player():
        return cell_player(cell, open_world(cell, WorldCosts(Path("nowhere"), cell.world_key)))

    whole, first, second = player(), player(), player()
    first.advance(40)
    second.restore(first.state())
    for each in (whole, second):
        while each.tally.round < 40:
            each.advance(40)
    assert whole.record()["confident"] == second.record()["confident"]
    assert whole.record()["confidence"] == 0.9


def test_pictures_have_a_line_of_their_own(run):
    """Diamonds are these certificates and nothing else; the legend and the caption name them."""
    results = read_results(run)
    (drawing,) = draw(results, ["finals"])
    markers = [line.get_marker() for line in drawing.figure.axes[0].lines]
    texts = [text.get_text() for legend in drawing.figure.legends for text in legend.get_texts()]
    assert ("d" in markers) == any("90\u202f% certificate" in text for text in texts)
    assert "at any of all rounds, is at most 10\u202f%" in dict(glossary(results))["90\u202f% certificate"]


def test_near_certificates_are_drawn(make_frame):
    """A diamond near the regrets is drawn at the mean over the seeds, one far above them is not."""
    import polars as pl

    from milpcb.experiments.results.figures.results import Results

    regrets = [float(t) for t in range(1, 31)]
    frame = pl.concat([make_frame("exp4", seed, regrets) for seed in (0, 1)])
    for shift, wanted in ((8.0, True), (500.0, False)):
        asked = frame.with_columns(certificate_95=pl.col("regret") + shift + pl.col("seed"))
        (drawing,) = draw(Results(asked, "t"), ["finals"])
        axes = drawing.figure.axes[0]
        lines = [line for line in axes.lines if line.get_marker() == "d"]
        assert len(lines) == wanted
        if wanted:
            assert lines[0].get_xdata()[-1] == 38.5
            assert axes.get_xlim()[1] > 38.5


def test_tables_and_pages_have_the_column(run):
    """The table of the terminal and that of the report show the mean; the page says what it means."""
    frame = milpcb.load(run)
    headings = [str(column.header) for column in summary_table(read_results(run)).columns]
    assert headings[headings.index("certificate") + 1] == "90\u202f% certificate"
    page = " ".join(report(run).split())  # narrow spaces are spaces then
    assert "90 % certificate" in page
    assert "A 90 % certificate is about one run" in page
    last = frame.filter(round=40, learner="exp4")["certificate_90"].mean()
    assert f"{last:.1f}" in page


@pytest.mark.parametrize("value", ["1.0", "0.2", '"95"', "nan"])
def test_a_confidence_that_is_none_is_one_line(value, tiny):
    """The key and its line are named."""
    text = tiny.replace("horizon = 40", f"horizon = 40\nconfidence = {value}")
    with pytest.raises(InputError, match=r"line 4.*confidence"):
        parse_config(tomllib.loads(text), text)


def test_a_play_from_python_has_it_too():
    """The frame's column and the table's are what the learner itself says by hand of the same play."""
    plays = milpcb.play(World(), "exp4", 200, policies=TREES, contexts=CORNERS, seeds=[3], confidence=0.95)
    learner, draws, world = (
        Exp4(open_oracle(TREES, CORNERS, kind="search"), horizon=200),
        rng.child(3, "actions"),
        World(),
    )
    for _ in range(200):
        row = int(world.context() @ [4, 2, 1])
        q = learner.act(row)
        action = rng.draw_action(q, draws)
        learner.learn(row, action, world.cost(action), float(q[action]))
    by_hand = learner.certificate(confidence=0.95)
    assert plays.frame()["certificate_95"][-1] == by_hand
    assert by_hand >= learner.ledger.cost  # the best tree pays nothing here: what was paid is regret
    table = str(plays)
    assert "95% certificate" in table
    assert f"{by_hand:,.{0 if by_hand >= 100 else 1}f}" in table
    assert "A 95\u202f% certificate is about one run" in table
    with pytest.raises(InputError, match="confidence"):
        milpcb.play(World(), "exp4", 5, policies=TREES, contexts=CORNERS, confidence=95)


def test_the_names_of_columns():
    """They are per cents; nothing is taken for one that is not, and of several levels none is."""
    assert [confident_column(level) for level in (0.95, 0.57, 0.999)] == [
        "certificate_95",
        "certificate_57",
        "certificate_99.9",
    ]
    assert confident_in(["certificate", "certificate_error"]) is None
    assert confident_in(["certificate", "certificate_error", "certificate_95"]) == "certificate_95"
    assert confident_in(["certificate_90", "certificate_95"]) is None
