"""Which columns of a log policies may read, and what is said of the others."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InputError
from milpcb.logs import source as sources
from milpcb.logs.source import Columns, make_source, numbered
from tests.refused import refused

ROWS = 240


def trial(**more):
    """Return a log of 240 rows with age, treat and y, and further columns."""
    rows = range(ROWS)
    return pl.DataFrame(
        {"age": [20 + i % 40 for i in rows], "treat": ["ab"[i % 2] for i in rows], "y": [i % 3 for i in rows], **more}
    )


def read(frame, **options):
    """Return the source of a trial."""
    return make_source("log.csv", frame, Columns("treat", "y", maximise=True, randomised=True, **options))


@pytest.mark.parametrize(
    ("name", "column", "why"),
    [
        ("extra", [f"C{i}" for i in range(ROWS)], "an identifier"),
        ("extra", list(range(700, 700 + ROWS)), "an identifier"),
        ("extra", [3 * i + i % 2 for i in range(ROWS)], "an identifier"),  # with gaps where rows were dropped
        ("extra", [f"2024-01-{1 + i % 28:02d}" for i in range(ROWS)], "dates"),
        ("extra", [f"{1 + i % 28}.3.2024" for i in range(ROWS)], "dates"),
        ("extra", [f"2024-01-{1 + i % 28:02d} 10:3{i % 9}:00" for i in range(ROWS)], "dates"),
        ("extra", [dt.date(2024, 1, 1 + i % 28) for i in range(ROWS)], "dates"),
        ("extra", [f"patient no {i} came late again" for i in range(ROWS)], "free text"),
        ("extra", [f"patient no {i // 2} came late again" for i in range(ROWS)], "free text"),  # and no group
        *((name, list(range(ROWS)), "row numbers") for name in ("Unnamed: 0", "__index_level_0__")),
        *(
            (name, [i * 37 % 241 for i in range(ROWS)], "an identifier")
            for name in ("user_id", "userId", "ID", "patient ID", "id", "id-number", "session.uuid")
        ),
    ],
)
def test_what_is_no_trait_is_left_out_with_a_line(name, column, why):
    """A rule on it says nothing of other people; the log is read, and the line names column and reason."""
    found = read(trial(**{name: column}))
    assert found.frame.columns == ["age"]
    assert found.notes == (f"'{name}' ({why}) is left out: no rule for other people can use it.",)


def test_a_feature_that_looks_like_the_probability_of_what_was_done_is_named():
    """By its name and its values, unless the probabilities are known to be in another column."""
    half = [0.5] * ROWS
    (note,) = read(trial(propensity=half, probability_of_rain=[50.0] * ROWS)).notes
    assert "'propensity' is taken for a feature" in note
    assert "--propensity propensity, without --randomised, or add --leave-out propensity" in note
    assert read(trial(propensity=half), leave_out=("propensity",)).notes == ()
    known = Columns("treat", "y", maximise=True, propensity=("propensity",))
    assert make_source("log.csv", trial(propensity=half, probability_x=half), known).notes == ()


def test_what_only_looks_like_an_identifier_stays():
    """Numbers that differ, categories that are many, an id of few values, an outcome of dates' digits."""
    draw = np.random.default_rng(0)
    frame = trial(
        income=draw.permutation(10 * np.arange(ROWS)),
        city=[f"city {i % 90}" for i in range(ROWS)],
        store_id=[i % 12 for i in range(ROWS)],
        version=[f"1.{i % 7}" for i in range(ROWS)],
    )
    found = read(frame)
    assert found.frame.columns == ["age", "income", "city", "store_id", "version"]
    assert found.notes == ()


def test_an_identifier_of_several_rows_suggests_a_group():
    """The line names the option, which exists; with the option it is not said again, and the rows are grouped."""
    frame = trial(patient=[f"P{i // 2}" for i in range(ROWS)], patient_id=[i // 2 for i in range(ROWS)])
    asked = read(frame)
    assert "--group patient" in asked.notes[1]
    grouped = read(frame, group="patient")
    assert not any("--group" in note for note in grouped.notes)
    assert grouped.log.group is not None
    assert np.array_equal(np.unique(grouped.log.group, return_counts=True)[1], np.full(ROWS // 2, 2))


def test_all_columns_without_use_are_named_at_once():
    """One line names each with its reason and the options that leave them out, which then work."""
    frame = trial(
        town=[f"town {i % 110}" for i in range(ROWS)],
        income=[float("inf") if i == 6 else float(i % 7) for i in range(ROWS)],
        tags=[["a"]] * ROWS,
    )
    with pytest.raises(InputError) as refused:
        read(frame)
    said = str(refused.value)
    for part in (
        "'town' (110 different strings)",
        "'income' (infinite in row 7; --missing inf",
        "'tags' (list values)",
    ):
        assert part in said
    assert "--leave-out town --leave-out income --leave-out tags" in said
    assert read(frame, leave_out=("town", "income", "tags")).frame.columns == ["age"]


def test_what_is_asked_for_by_name_is_never_left_out():
    """A date that is named as a feature is a category; too many of them are refused, not dropped."""
    dates = [f"2024-01-{1 + i % 28:02d}" for i in range(ROWS)]
    assert read(trial(day=dates), features=("day",)).frame.columns == ["day"]
    with pytest.raises(InputError, match="'person' \\(240 different strings\\)"):
        read(trial(person=[f"C{i}" for i in range(ROWS)]), features=("age", "person"))


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        ({"leave_out": ("aeg",)}, "did you mean 'age'"),
        ({"group": "persn"}, "unknown column of log.csv: 'persn'"),
        ({"features": ("age",), "leave_out": ("age",)}, "both a feature and left out"),
        ({"group": "same"}, "one value only"),
        ({"group": "holes"}, "row 2: 'holes' is missing"),
        ({"group": "person"}, "row 4: 'person' is missing"),
    ],
)
def test_wrong_names_of_columns_are_one_line(options, fragment):
    """The line names the column and what to write."""
    persons = [np.nan if i == 3 else float(i // 2) for i in range(ROWS)]
    frame = trial(same=["x"] * ROWS, holes=["p", None] * (ROWS // 2), person=persons)
    refused(lambda: read(frame, **options), fragment)


def test_a_log_is_read_once(monkeypatch):
    """Learning asks read_log a single time: what was checked is what is learnt from."""
    from milpcb.estimators import LoggedPolicyTree
    from milpcb.offline import log as logs

    calls = []
    whole = logs.read_log
    monkeypatch.setattr(sources, "read_log", lambda *given, **named: calls.append(1) or whole(*given, **named))
    monkeypatch.setattr("milpcb.estimators.logged.read_log", lambda *_, **__: pytest.fail("read again"))
    found = read(trial())
    estimator = LoggedPolicyTree(max_depth=1)
    estimator.fit_scores(found.frame, estimator.estimate_scores(numbered(found.log)))
    assert len(calls) == 1
    monkeypatch.undo()
    again = LoggedPolicyTree(max_depth=1).fit(
        found.frame, trial()["treat"].to_numpy(), reward=found.log.outcome, propensity="randomised"
    )
    assert (str(estimator.policy_), estimator.policy_value_) == (str(again.policy_), again.policy_value_)
