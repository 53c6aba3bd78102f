"""``milpcb learn --front`` and ``--monotone``: two outcomes at once, and rules in an order."""

import html
import re

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from milpcb.commands.learn import learn
from milpcb.offline.restrictions import Question, pareto, supported
from policies import DecisionTrees

RUN = ("--action", "message", "--reward", "bought", "--randomised", "--thresholds", "3", "--resamples", "0")


@pytest.fixture
def frame():
    """Return a log in which calls sell to the young, and more the younger they are, and annoy the old."""
    draw, n = np.random.default_rng(0), 400
    age, call = draw.integers(18, 81, n), draw.random(n) < 0.5
    bought = draw.random(n) < np.where(call, 0.9 - age / 100, 0.3)
    annoyed = draw.random(n) < np.where(call, age / 100, 0.1)
    columns = {"age": age, "region": draw.choice(["north", "south"], n), "message": np.where(call, "call", "letter")}
    return pl.DataFrame({**columns, "bought": bought.astype(int), "annoyed": annoyed.astype(int)})


def learnt(frame, tmp_path, *options):
    """Return what the command prints, and the text of its page."""
    frame.write_csv(tmp_path / "log.csv")
    arguments = [str(tmp_path / "log.csv"), *RUN, "--draws", "40", "--out", str(tmp_path / "found"), *options]
    done = CliRunner().invoke(learn, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    text = (tmp_path / "found/report.html").read_text(encoding="utf-8")
    return done.stdout, " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


@pytest.mark.parametrize("seed", range(6))
def test_corners_are_the_supported_points_that_are_no_mere_sums(seed):
    """Of the exact front those that no two others have on or below their segment."""
    draw = np.random.default_rng(seed)
    X = draw.integers(0, 3, (10, 2)).astype(float)
    a, b = draw.integers(0, 9, (2, 10, 2)).astype(float)
    question = Question(DecisionTrees(2, depth=2), X)
    every = [(point.a, point.b) for point in pareto(question, a, b) if point.supported]
    corners = [
        point
        for point in every
        if all(
            (one[1] - other[1]) * (point[0] - one[0]) + (other[0] - one[0]) * (point[1] - one[1]) < 0
            for one in every
            for other in every
            if one[0] < point[0] < other[0]
        )
    ]
    found = [(point.a, point.b) for point in supported(question, a, b)]
    assert set(corners) <= set(found) <= set(every)
    assert found == sorted(found)


def test_the_front_is_printed_and_drawn(frame, tmp_path):
    """From the rule that is printed to the one that annoys least, which is a letter for all."""
    printed, page = learnt(frame, tmp_path, "--front", "annoyed less")
    assert "two outcomes" in printed
    assert "rule 1" in printed
    assert "Two outcomes at once" in page
    assert "are each the best for some weighting of the two outcomes" in page
    assert "rule 1 if " in page  # the rules, a leaf being its action alone
    assert "play letter" not in page


def test_a_rule_in_order_is_that_of_the_estimator(frame, tmp_path):
    """The order is listed among what was asked for, and kept; the action never goes down with age."""
    _, page = learnt(frame.drop("annoyed"), tmp_path, "--monotone", "age=less", "--at-most", "call=0.5")
    assert "never goes up in the order of the actions" in page
    assert "Prices are not computed together with" in page
    source: dict[str, object] = {}
    exec((tmp_path / "found/policy.py").read_text(encoding="utf-8"), source)  # noqa: S102 - what milpcb wrote
    for region in ("north", "south"):
        played = [source["decide"]({"age": age, "region": region}) for age in range(18, 81)]
        assert played == sorted(played, reverse=True)  # letter is the later action


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (("--front", "annoyed"), "write COLUMN less or COLUMN more"),
        (("--front", "anoyed less"), "did you mean 'annoyed'"),
        (("--front", "region less"), "must hold numbers"),
        (("--front", "annoyed less", "--no-worse", "annoyed at most today"), "--front is for the rule that looks best"),
        (("--front", "annoyed less", "--monotone", "age=more"), "--front is for the rule that looks best"),
        (("--monotone", "age"), "write COLUMN=more or COLUMN=less"),
        (("--monotone", "agee=more"), "did you mean 'age'"),
        (("--monotone", "region=more"), "holds strings"),
    ],
)
def test_mistakes_are_one_line(options, fragment, frame, tmp_path, milpcb_):
    """What is wrong, and how to mend it; exit code 2, and nothing is written."""
    frame.write_csv(tmp_path / "log.csv")
    done = milpcb_(tmp_path, "learn", "log.csv", *RUN, "--draws", "0", "--out", "found", *options)
    assert done.returncode == 2, done
    assert fragment in done.stderr.strip().splitlines()[-1]
    assert not (tmp_path / "found").exists()
