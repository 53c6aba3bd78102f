"""Regret to the best policies in turn in studies: asked for by a key, kept in records, shown in tables and pictures."""

import tomllib
from typing import Any

import numpy as np
import pytest

import milpcb
from milpcb.errors import InputError
from milpcb.experiments.results.curves import recovery
from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.results import read_results
from milpcb.experiments.results.figures.rounds import in_turn_mean_costs
from milpcb.experiments.results.figures.words import glossary
from milpcb.experiments.results.records import read_index, read_record
from milpcb.experiments.results.report_table import report_table
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import parse_config

LEARNERS = '[[learners]]\nname = "uniform"\n[[learners]]\nname = "fixed_share"\n'


@pytest.fixture
def run(tiny: str, tmp_path: Any, play_into: Any) -> Any:
    """Return a finished run directory, with regret to the best three in turn."""
    text = tiny.replace("horizon = 40", "horizon = 40\nchanges = 2\nseeds = [0, 1]") + LEARNERS
    return play_into(text, tmp_path / "run").path


def test_a_study_has_regret_to_policies_in_turn_beside_regret(run: Any) -> None:
    """It stands after regret, and is never below it; the table, the page and the picture of costs have it."""
    frame = milpcb.load(run)
    assert frame.columns[frame.columns.index("regret") + 1] == "regret_to_3"
    assert (frame["regret_to_3"] >= frame["regret"] - 1e-9).all()
    results = read_results(run)
    table = report_table(results)
    assert "regret to 3 in turn" in [column.heading for column in table["columns"]]
    assert "regret to 3 in turn" in dict(glossary(results))
    found = in_turn_mean_costs(results.longest_panels[0])
    assert found is not None
    rounds, means = found
    assert len(means) == 2
    assert (np.diff(rounds) > 0).all()
    (drawing,) = draw(results, ["costs"])
    texts = [text.get_text() for legend in drawing.figure.legends for text in legend.get_texts()]
    assert any("best 3 in turn" in text for text in texts)


def test_recovery_counts_the_rounds_after_a_change_until_regret_grows_slowly() -> None:
    """A learner that is right again 100 rounds after the change, seen every 50 rounds; one that never is; no change."""
    rounds = np.arange(50, 2001, 50)
    least = 0.2 * rounds
    late = least + 0.4 * np.clip(rounds - 1000, 0, 100)
    never = least + 0.4 * np.clip(rounds - 1000, 0, None)
    shared = {"cost": least, "random": least + 0.4 * rounds, "after": [1000]}
    assert recovery(rounds, late, **shared) == 150  # the window of 50 rounds from 1100 on is the first without regret
    assert recovery(rounds, never, **shared) == 1000
    assert recovery(rounds, late, **shared | {"after": [500, 1000]}) == (50 + 150) / 2
    assert np.isnan(recovery(rounds, late, **shared | {"after": []}))


def test_records_hold_the_best_sequence_and_curves_the_recovery(run: Any) -> None:
    """Policies in turn, followed through the environment, cost the least total that regret is to."""
    results = read_results(run)
    assert "rounds to recover" in [column.heading for column in report_table(results)["columns"]]
    assert "rounds to recover" in dict(glossary(results))
    comparators = read_index(run)["comparators"]
    for each in comparators:
        record = read_record(run, "comparator", each["key"], each["horizon"])
        assert record is not None
        assert record["sequence"]["cost"][-1] == pytest.approx(record["in_turn"][-1])
        assert len(record["sequence"]["random"]) == len(record["rounds"])
    frame = milpcb.load(run)
    assert (frame["recovery"].is_nan() | (frame["recovery"] > 0)).all()


def test_keys_of_studies_without_changes_are_as_ever(tiny: str) -> None:
    """Cells are played once, whatever they are compared with; a comparator with changes is another one."""
    asked, plain = (
        build_study(parse_config(tomllib.loads(text)))
        for text in (tiny.replace("horizon = 40", "horizon = 40\nchanges = 2"), tiny)
    )
    assert [cell.key for cell in asked.cells] == [cell.key for cell in plain.cells]
    assert [one.key for one in asked.comparators] != [one.key for one in plain.comparators]


@pytest.mark.parametrize("changes", ["0", "20", "1.5"])
def test_impossible_numbers_of_changes_are_refused(tiny: str, changes: str) -> None:
    """There are 20 blocks, so at most 19 changes."""
    with pytest.raises(InputError, match="changes"):
        parse_config(tomllib.loads(tiny.replace("horizon = 40", f"horizon = 40\nchanges = {changes}")))
