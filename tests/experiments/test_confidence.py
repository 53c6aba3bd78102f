"""Columns of curves that a config asks for: certificates with confidence, and regret to the best policies in turn.

One study has both; they are kept in records, and shown in tables, pictures and pages.
"""

import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

import milpcb
from milpcb.core.files import sealed, unsealed
from milpcb.errors import InputError
from milpcb.experiments.results.curves import recovery
from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.results import read_results
from milpcb.experiments.results.figures.rounds import in_turn_mean_costs
from milpcb.experiments.results.figures.words import glossary
from milpcb.experiments.results.report import report, report_table, summary_table
from milpcb.experiments.results.store import read_index, read_record
from milpcb.experiments.run.runner import cell_player
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import parse_config
from milpcb.experiments.study.worlds import open_world

HORIZON, CONFIDENCE, CHANGES = "horizon = 40", "horizon = 40\nconfidence = 0.9", "horizon = 40\nchanges = 2"
LEARNERS = "".join(
    f'[[learners]]\nname = "{name}"\n' for name in ("uniform", 'exp4"\nrate = "certified', "fixed_share")
)


@pytest.fixture
def run(tiny, finished):
    """Return a finished run directory of four learners and two seeds, with all that can be asked for."""
    return finished(tiny.replace(HORIZON, f"{CONFIDENCE}\nchanges = 2\nseeds = [0, 1]") + LEARNERS)


def study_of(text):
    """Return the study of a config."""
    return build_study(parse_config(tomllib.loads(text), text))


def legends(drawing):
    """Return the words of a picture's legends."""
    return [text.get_text() for legend in drawing.figure.legends for text in legend.get_texts()]


def test_columns_beside_those_without(run, tiny, finished):
    """They stand where they belong; all other numbers are those of the study that asks for nothing."""
    frame = milpcb.load(run)
    columns = frame.columns
    assert columns[columns.index("certificate_error") + 1] == "certificate_90"
    assert columns[columns.index("regret") + 1] == "regret_to_3"
    assert (frame["certificate_90"] >= 0).all()
    assert (frame["regret_to_3"] >= frame["regret"] - 1e-9).all()
    assert (frame["recovery"].is_nan() | (frame["recovery"] > 0)).all()
    assert (run / "curves.csv").read_text().splitlines()[0] == ",".join(columns)
    plain = milpcb.load(finished(tiny.replace(HORIZON, f"{HORIZON}\nseeds = [0, 1]") + LEARNERS))
    assert not {"certificate_90", "regret_to_3", "recovery"} & set(plain.columns)
    untimed = [name for name in plain.columns if name not in {"seconds", "oracle_seconds", "key"}]
    assert frame.select(untimed).equals(plain.select(untimed))


def test_keys_of_studies_that_ask_for_nothing_are_as_ever(tiny):
    """Old records are found again: a confidence makes another cell, changes make another comparator."""
    keys = []
    for asked in (HORIZON, CONFIDENCE, CHANGES):
        study = study_of(tiny.replace(HORIZON, asked))
        assert ["confidence" in cell.settings() for cell in study.cells] == [asked == CONFIDENCE]
        keys.append([study.cells[0].key, study.comparators[0].key])
    plain, confident, changes = keys
    assert (confident[0] == plain[0], confident[1] == plain[1]) == (False, True)
    assert (changes[0] == plain[0], changes[1] == plain[1]) == (True, False)


@pytest.mark.parametrize("value", ["1.0", "0.2", '"95"', "nan", "0", "20", "1.5"])
def test_what_cannot_be_asked_for_is_one_line(value, tiny):
    """The key and its line are named; there are 20 blocks, so at most 19 changes."""
    for key in ("confidence", "changes"):
        with pytest.raises(InputError, match=rf"line 4.*{key}"):
            study_of(tiny.replace(HORIZON, f"{HORIZON}\n{key} = {value}"))


def test_an_interrupted_cell_keeps_its_certificates(tiny):
    """The points of a checkpoint hold them, and a play that goes on from it ends with the same."""
    (cell,) = study_of(tiny.replace(HORIZON, CONFIDENCE)).cells
    whole, first, second = (cell_player(cell, open_world(cell)) for _ in range(3))
    first.advance(40)
    second.restore(first.state())
    for each in (whole, second):
        while each.tally.round < 40:
            each.advance(40)
    assert whole.record()["confident"] == second.record()["confident"]
    assert whole.record()["confidence"] == 0.9


def test_records_hold_the_best_sequence(run):
    """Policies in turn, followed through the environment, cost the least total that regret is to."""
    for each in read_index(run)["comparators"]:
        record = read_record(run, "comparator", each["key"], each["horizon"])
        assert record["sequence"]["cost"][-1] == pytest.approx(record["in_turn"][-1])
        assert len(record["sequence"]["random"]) == len(record["rounds"])


@pytest.mark.parametrize("name", ["cost", "random"])
def test_a_sequence_of_another_length_is_damaged(name, run, tmp_path):
    """It is no curve, and no unexpected error: whoever makes a record can write anything."""
    held = Path(shutil.copytree(run, tmp_path / "run"))
    (first, *_) = read_index(held)["comparators"]
    file = held / f"cells/{first['key']}.json"
    record = unsealed(file.read_bytes())
    record["sequence"][name].pop()
    file.write_bytes(sealed(record))
    assert milpcb.load(held)["seed"].unique().to_list() == [1 - first["seed"]]


def test_recovery_counts_the_rounds_after_a_change_until_regret_grows_slowly():
    """A learner that is right again 100 rounds after the change, seen every 50 rounds; one that never is; no change."""
    rounds = np.append(np.arange(50, 2001, 50), 4000)
    least = 0.2 * rounds
    late = least + 0.4 * np.clip(rounds - 1000, 0, 100)
    never = least + 0.4 * np.clip(rounds - 1000, 0, None)
    shared = {"cost": least, "random": least + 0.4 * rounds, "after": [1000]}
    assert recovery(rounds, late, **shared) == 200  # the window of 100 rounds from 1100 on is the first without regret
    assert recovery(rounds, never, **shared) == 3000
    assert recovery(rounds, late, **shared | {"after": [500, 1000]}) == (100 + 200) / 2
    assert np.isnan(recovery(rounds, late, **shared | {"after": []}))


def test_pictures_have_lines_of_their_own(run):
    """Of costs there is a curve of the best in turn."""
    results = read_results(run)
    rounds, means = in_turn_mean_costs(results.panels[0])
    assert len(means) == 2
    assert (np.diff(rounds) > 0).all()
    (costs,) = draw(results, ["costs"])
    assert any("best 3 in turn" in text for text in legends(costs))


@pytest.mark.usefixtures("sketches")
def test_tables_and_pages_have_the_columns(run):
    """The table of the terminal and that of the report show the means; the page says what they mean."""
    results = read_results(run)
    headings = [str(column.header) for column in summary_table(results).columns]
    assert headings[headings.index("certificate") + 1] == "90\u202f% certificate"
    words, table = dict(glossary(results)), [column.heading for column in report_table(results)["columns"]]
    assert "with probability 90\u202f%" in words["90\u202f% certificate"]
    for heading in ("regret to 3 in turn", "rounds to recover"):
        assert heading in table
        assert heading in words
    page = " ".join(report(run).split())  # narrow spaces are spaces then
    assert "A 90 % certificate is about one run" in page
    last = milpcb.load(run).filter(round=40, learner="exp4")["certificate_90"].mean()
    assert f"{last:.1f}" in page
