"""``milpcb learn --no-worse`` and ``--objective guaranteed``: what is printed, written, and refused."""

import html
import re

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from milpcb.commands.learn import learn
from milpcb.logs.limits import Limit, limit_of

QUICK = ("--action", "message", "--reward", "bought", "--randomised", "--depth", "1", "--draws", "40", "--out", "found")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a log of two outcomes: calls help the young, and annoy the north."""
    draw, n = np.random.default_rng(0), 600
    age, north, call = draw.integers(18, 81, n), draw.random(n) < 0.5, draw.random(n) < 0.5
    bought = draw.random(n) < np.where(call == (age <= 45), 0.8, 0.2)
    angry = draw.random(n) < np.where(call, np.where(north, 0.6, 0.05), 0.3)
    columns = {"age": age, "region": np.where(north, "north", "south"), "message": np.where(call, "call", "letter")}
    frame = pl.DataFrame({**columns, "bought": bought.astype(int), "angry": angry.astype(int)})
    frame.write_csv(tmp_path / "log.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def learnt(folder, *options):
    """Return what was printed, and the text of the page."""
    done = CliRunner().invoke(learn, ["log.csv", *QUICK, *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    page = re.sub(r"<[^>]*>", " ", (folder / "found/report.html").read_text())
    return done.stdout, " ".join(html.unescape(page).split())


def test_a_limit_on_another_outcome(folder):
    """The page names it, that it is kept with confidence, and no claims of rules by the estimates; nothing reads it."""
    _, page = learnt(folder, "--no-worse", "angry at most letter + 0.1", "--resamples", "5")
    assert "'angry' at most 0.1 worse than always 'letter', with 95 % confidence" in page
    assert "kept; among all such people, with 95 % confidence" in page
    assert "is not computed together with --no-worse" in page
    assert "Expect about" not in page
    assert "angry =" not in page
    assert "angry <=" not in page
    assert "in the rows that the rule was learnt from" in page


def test_rows_kept_aside_say_nothing_of_another_outcome(folder):
    """Its scores are of the rows learnt from, so the line stands once, however many rows are kept aside."""
    sides = pl.Series("message", ["call", "letter"] * 300)  # of both, half of the rows are as many as the other half
    pl.read_csv("log.csv").with_columns(sides).write_csv("log.csv")
    _, page = learnt(folder, "--no-worse", "angry at most today + 0.5", "--holdout", "0.5", "--resamples", "0")
    assert page.count("'angry' at most 0.5 worse than what was done") == 1


def test_both_rules_are_shown_where_they_differ(folder):
    """What is guaranteed of each stands in words."""
    printed, page = learnt(folder, "--objective", "guaranteed", "--resamples", "0", "--method", "ips")
    assert "The rule was chosen by what is guaranteed: it gains at least" in " ".join(printed.split())
    differ = "The rule that looks best:" in page
    assert differ != ("It is the rule that looks best, too." in page)
    assert "has a greater guaranteed gain" in " ".join(printed.split())


@pytest.mark.parametrize(
    ("text", "than", "margin", "maximise"),
    [
        ("angry at most letter", "letter", 0.0, False),
        ("angry at most today + 0.1", None, 0.1, False),
        ("angry at least today - 0.1", None, 0.1, True),
        ("angry at least today + 0.1", None, -0.1, True),
        ("angry at most 0.25", 0.25, 0.0, False),
        ("a b at most 1e-1 - 0.05", 0.1, -0.05, False),
        ("angry at most call + 1", "call + 1", 0.0, False),
    ],
)
def test_what_limits_mean(text, than, margin, maximise):
    """A number, an action or today; names of actions come first; a margin makes it looser or tighter."""
    found = limit_of(text, ["call", "letter", "call + 1"])
    assert (found.than, found.margin, found.maximise) == (than, margin, maximise)
    assert isinstance(found, Limit)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("angry", "write COLUMN at most WHAT"),
        ("angry at most", "write COLUMN at most WHAT"),
        ("angry at most lettr", "did you mean 'letter'?"),
        ("angry at most inf", "is not finite"),
        ("agry at most letter", "did you mean 'angry'?"),
        ("region at most letter", "must hold numbers"),
        ("angry at most 0.001", "no policy of the class is shown by these 600 rows"),
    ],
)
def test_mistakes_are_one_line(text, fragment, folder, milpcb_):
    """What is wrong, and how to fix it; exit code 2, no page."""
    done = milpcb_(folder, "learn", "log.csv", *QUICK, "--no-worse", text)
    assert done.returncode == 2, done
    last = done.stderr.strip().splitlines()[-1]
    assert fragment in last
    assert "unexpected" not in last
    assert not (folder / "found").exists()


@pytest.mark.parametrize(
    ("options", "cuts"),
    [
        (("--depth", "3"), 7),
        (("--depth", "3", "--no-worse", "bought at most today + 0.9"), 2),
        (("--at-most", "call=70%"), None),  # trees of depth 1
        (("--depth", "2", "--at-most", "call=70%"), 7),
        (("--depth", "2"), None),
        (("--depth", "3", "--thresholds", "2"), None),
    ],
)
@pytest.mark.usefixtures("folder")
def test_trees_that_are_too_many_to_compare_have_fewer_cut_points(options, cuts):
    """A note names how many; where somebody has set them, or trees are few, nothing changes."""
    draw = np.random.default_rng(1)
    frame = pl.read_csv("log.csv").with_columns(visits=draw.normal(size=600), income=draw.normal(size=600))
    frame.with_columns(bills=draw.normal(size=600)).write_csv("log.csv")
    command = ["log.csv", *QUICK, "--draws", "0", "--resamples", "0", "--method", "ips"]
    done = CliRunner().invoke(learn, [*command, "--no-worse", "angry <= today + 0.5", *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    notes = re.findall(r"cut each number at (\d) quantiles?, and not at 31; --thresholds", done.stderr)
    assert notes == [str(cuts)] * (cuts is not None)
    assert "It is proved that no rule" in done.stdout
