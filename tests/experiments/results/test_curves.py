"""Curves as one frame: every number comes back as it was, from whatever file it is read."""

import io
import json

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from polars.testing import assert_frame_equal

import milpcb
from milpcb.experiments.results.curves import SCHEMA, csv_text, mean_interval

COLUMNS = [
    *("learner", "environment", "policies", "oracle", "seed", "horizon", "round", "cumulative_cost", "best_cost"),
    *("regret", "guarantee", "certificate", "certificate_error", "bound", "oracle_error", "oracle_calls"),
    *("rule_changes", "seconds", "oracle_seconds", "key"),
]
T_4 = 2.776445105  # the 97.5 % point of Student's t with 4 degrees of freedom, from a printed table
REALS = st.floats(allow_nan=False)
LABELS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), min_size=1)


@hypothesis_settings(max_examples=50)
@given(
    labels=st.tuples(LABELS, LABELS, LABELS, LABELS),
    seed=st.integers(0, 2**63 - 1),
    reals=st.lists(REALS, min_size=11, max_size=11),
    calls=st.integers(0, 2**62),
)
def test_numbers_and_labels_come_back_exactly_from_the_csv(labels, seed, reals, calls):
    """Full precision, infinities, large seeds, commas and quotes in labels: what is read is what was written."""
    row = (*labels, seed, 7, 7, *reals[:8], calls, *reals[8:], "k")
    frame = pl.DataFrame([row], schema=SCHEMA, orient="row")
    read = pl.read_csv(io.StringIO(csv_text(frame)), schema=SCHEMA)
    assert_frame_equal(read.with_columns(pl.col(pl.String).str.strip_prefix("'")), frame, check_exact=True)


@pytest.mark.parametrize("label", ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "\t=1", "'=1", "\uff1d1", "\r=1"])
def test_no_label_is_a_formula_in_a_spreadsheet(label):
    """A label that a spreadsheet would run begins with an apostrophe in curves.csv, and is itself again without it."""
    frame = pl.DataFrame(
        [(label, "e", "p", "-", 0, 1, 1, -1.5, *[0.0] * 7, 1, 0.0, 0.0, 0.0, "k")], schema=SCHEMA, orient="row"
    )
    read = pl.read_csv(io.StringIO(csv_text(frame)), schema=SCHEMA)
    assert read["learner"][0] == f"'{label}"
    assert read["oracle"][0] == "-"
    assert_frame_equal(read.with_columns(pl.col(pl.String).str.strip_prefix("'")), frame, check_exact=True)


@pytest.fixture
def study(tiny):
    """Return the config of two learners, horizons and seeds."""
    return tiny.replace("horizon = 40", "horizon = [9, 40]\nseeds = [10, 9]") + '[[learners]]\nname = "uniform"\n'


@pytest.fixture
def whole(study, finished):
    """Return its run directory, to read."""
    return finished(study)


@pytest.fixture
def run(study, copied):
    """Return a copy of that, to change."""
    return copied(study)


def test_the_columns_are_those_that_are_promised(whole):
    """Names, order and numbers of load and the file, to the last bit; without oracle or guarantee that is shown."""
    frame = milpcb.load(whole)
    assert frame.columns == COLUMNS == list(SCHEMA)
    assert_frame_equal(pl.read_csv(whole / "curves.csv", schema=SCHEMA), frame, check_exact=True)
    assert (whole / "curves.csv").read_text().splitlines()[0] == ",".join(COLUMNS)
    uniform = frame.filter(learner="uniform")
    assert set(uniform["oracle"]) == {"-"}
    assert uniform["guarantee"].is_infinite().all()
    assert (uniform["oracle_calls"] == 0).all()
    # Sorted by learner, then the other labels, seed, horizon and round, as numbers.
    assert frame.select("learner", "seed", "horizon").unique(maintain_order=True).rows() == [
        (learner, seed, horizon) for learner in ("bistro_plus", "uniform") for seed in (9, 10) for horizon in (9, 40)
    ]
    assert_frame_equal(frame, frame.sort(COLUMNS[:7]))


def test_load_reads_the_records_and_not_the_table(run):
    """A table that is missing changes nothing; a record that is gone does not count."""
    frame = milpcb.load(run)
    (run / "curves.csv").unlink()
    assert_frame_equal(milpcb.load(run), frame, check_exact=True)
    lost = frame["key"][0]
    (run / f"cells/{lost}.json").unlink()
    assert_frame_equal(milpcb.load(run), frame.filter(pl.col("key") != lost), check_exact=True)


def test_a_curve_without_its_comparator_is_left_out(run):
    """There is no regret without the best policy in hindsight."""
    comparator = json.loads((run / "study.json").read_bytes())["comparators"][0]
    (run / f"cells/{comparator['key']}.json").unlink()
    left = milpcb.load(run).select("seed", "horizon").unique().rows()
    assert (comparator["seed"], comparator["horizon"]) not in left
    assert len(left) == 3


def test_the_interval_of_a_mean_is_students():
    """Five seeds: mean and t s / sqrt(5) with 4 degrees of freedom, for every column; one seed has no interval."""
    mean, half = mean_interval(np.column_stack([np.arange(1.0, 6.0), np.full(5, 10.0)]))
    assert mean == pytest.approx([3.0, 10.0])
    assert half == pytest.approx([T_4 * np.sqrt(2.5) / np.sqrt(5), 0.0])
    mean, half = mean_interval(np.array([[1.0, 2.0]]))
    assert mean == pytest.approx([1.0, 2.0])
    assert np.isnan(half).all()


def test_import_stays_light():
    """Importing milpcb imports no package for tables; load does when it is asked for."""
    import subprocess
    import sys

    code = "import sys, milpcb; assert 'polars' not in sys.modules; milpcb.load; assert 'polars' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
