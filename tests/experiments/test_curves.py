"""Curves on disk: every number comes back as it was, and a damaged file is told."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from milpcb.errors import RunError
from milpcb.experiments.curves import Row, read_curves, write_curves

REALS = st.floats(allow_nan=False)
LABELS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), min_size=1)


@hypothesis_settings(max_examples=50)
@given(
    label=LABELS,
    seed=st.integers(0, 2**70),
    reals=st.tuples(REALS, REALS, REALS, REALS, REALS, REALS),
    calls=st.integers(0, 2**62),
)
def test_numbers_and_labels_come_back_exactly(label, seed, reals, calls):
    """Full precision, infinities, large seeds, commas and quotes in labels: what is read is what was written."""
    row = Row(label, seed, 7, 7, *reals[:4], calls, *reals[4:])
    with TemporaryDirectory() as folder:
        (Path(folder) / "curves.csv").write_text(write_curves([row]), encoding="utf-8")
        assert read_curves(Path(folder)) == [row]


def test_rows_are_sorted_whatever_the_order_they_came_in(make_rows):
    """The bytes do not depend on which learner or seed was finished first."""
    rows = [*make_rows("b", 0, [1.0, 2.0]), *make_rows("a", 10, [1.0]), *make_rows("a", 9, [1.0])]
    text = write_curves(rows)
    assert text == write_curves(rows[::-1])
    assert [line.split(",")[:2] for line in text.splitlines()[1:]] == [["a", "9"], ["a", "10"], ["b", "0"], ["b", "0"]]


def test_the_header_names_the_fields(make_rows):
    """The first line of the file is the list of fields."""
    assert write_curves([]).splitlines() == [",".join(field.name for field in fields(Row))]
    assert len(write_curves(make_rows("a", 0, [1.0])).splitlines()) == 2


DAMAGES = {
    "empty": (lambda _: "", "its columns differ"),
    "header only": (lambda text: text.splitlines(keepends=True)[0], "ends before"),
    "of other columns": (lambda text: text.replace("regret", "reward"), "its columns differ"),
    "cut in a line": (lambda text: text[:-6], "line 4 is damaged: 10 cells instead of 11"),
    "cut in the last number": (lambda text: text[:-2], "ends before its last curve does"),
    "cut between two lines": (lambda text: "".join(text.splitlines(keepends=True)[:-1]), "ends before its last curve"),
    "with a text for a number": (lambda text: text.replace("a,0,3,2", "a,0,3,two"), "line 3 is damaged: .*'two'"),
    "with a cell too many": (lambda text: text.replace("a,0,3,2", "a,0,3,2,2"), "line 3 is damaged: 12 cells"),
    "with a blank line": (lambda text: text.replace("\n", "\n\n", 1), "line 2 is damaged: 0 cells"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_curves_are_refused_in_one_line(damage, tmp_path, make_rows):
    """A file that is not whole is never read as a shorter curve; the message says where and what to do."""
    spoil, message = DAMAGES[damage]
    text = write_curves(make_rows("a", 0, [0.1, 0.2, 0.3]))
    spoiled = spoil(text)
    assert spoiled != text
    (tmp_path / "curves.csv").write_text(spoiled, encoding="utf-8")
    with pytest.raises(RunError, match=message) as refused:
        read_curves(tmp_path)
    assert "\n" not in str(refused.value)
    assert "remove the file and run the experiment again" in str(refused.value)


def test_curves_that_are_no_text_are_refused(tmp_path):
    """Bytes that are not UTF-8 are told as damage."""
    (tmp_path / "curves.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunError, match="not UTF-8 text; remove the file"):
        read_curves(tmp_path)


def test_a_directory_without_curves_is_refused(tmp_path):
    """The message asks whether it is a run directory at all."""
    with pytest.raises(RunError, match=r"holds no curves\.csv .*is it a run directory"):
        read_curves(tmp_path)
