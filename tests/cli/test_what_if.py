"""``milpcb learn --what-if``: prices by names, on the terminal and on the page."""

import html
import re

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from milpcb.commands.learn import learn
from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators import LoggedPolicyTree, share_at_most
from milpcb.logs.what_if import Reader

RUN = ("--action", "message", "--reward", "bought", "--randomised", "--thresholds", "3", "--resamples", "0")


def reader_of(tree, rows):
    """Return the reader of restrictions for a tree that was fitted to ``rows``."""
    old = pl.Series("last_year", ["call"] * 100 + ["letter"] * 100 + [None] * (len(rows) - 200), dtype=pl.String)
    return Reader(tree, rows, tree.problem(rows), rows.with_columns(old))


@pytest.fixture
def frame():
    """Return a log in which calls help the young."""
    draw, n = np.random.default_rng(0), 300
    age, call = draw.integers(18, 81, n), draw.random(n) < 0.5
    bought = draw.random(n) < np.where(call == (age <= 45), 0.8, 0.2)
    region = draw.choice(["north", "south"], n)
    columns = {"age": age, "region": region, "message": np.where(call, "call", "letter")}
    return pl.DataFrame({**columns, "bought": bought.astype(int)})


def fitted(frame, **options):
    """Return an estimator that was fitted to the log."""
    tree = LoggedPolicyTree(**{"max_depth": 2, "thresholds": 3, "method": "snips", **options})
    outcome = {"reward": frame["bought"].to_numpy(), "propensity": [0.5, 0.5]}
    return tree.fit(frame.select("age", "region"), frame["message"].to_numpy(), **outcome)


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("without age", {"features": ["region"]}),
        ("without region", {"features": ["age"]}),
        ("depth 1", {"max_depth": 1}),
        ("leaves 2", {"max_leaves": 2}),
    ],
)
def test_prices_are_those_of_estimators_with_other_parameters(text, changes, frame):
    """What another fit would lose, in the unit of the outcome."""
    tree = fitted(frame)
    reader, scores = reader_of(tree, frame.select("age", "region")), tree.scores_
    costs = scores.costs / scores.weight.sum()
    price = reader.restriction(text).of(reader.question).best(costs).value - reader.question.best(costs).value
    assert price == pytest.approx(tree.policy_value_ - fitted(frame, **changes).policy_value_, abs=1e-9)


def test_every_form_is_a_rule_that_keeps_it(frame):
    """By what the policies of the restrictions play in the rows."""
    tree, rows = fitted(frame), frame.select("age", "region")
    reader, age, north = reader_of(tree, rows), frame["age"].to_numpy(), (frame["region"] == "north").to_numpy()

    def played(text):
        return (
            reader.restriction(text).of(reader.question).best(tree.scores_.costs).policy.predict(reader.question.rows)
        )

    names = tree.actions_.tolist()
    assert (played("always letter where region = north")[north] == names.index("letter")).all()
    assert not (played("never call where age <= 30")[age <= 30] == names.index("call")).any()
    rates = [(played("alike region within 0.01") == 0)[here].mean() for here in (north, ~north)]
    assert abs(rates[0] - rates[1]) <= 0.01 + 1e-9
    falling = played("age less")[north]
    assert (np.diff(falling[np.argsort(age[north])]) <= 0).all()
    assert len(played("region first")) == len(frame)


def test_an_old_rule_is_kept_where_it_is_asked_for(frame):
    """The action that a column names, in the rows of a condition; a column with another name is a mistake."""
    frame = frame.sort("age")
    tree, rows = fitted(frame), frame.select("age", "region")
    reader, age = reader_of(tree, rows), frame["age"].to_numpy()
    young = age < age[100]
    best = reader.restriction(f"keep last_year where age < {age[100]}").of(reader.question).best(tree.scores_.costs)
    assert (best.policy.predict(reader.question.rows)[young] == tree.actions_.tolist().index("call")).all()
    with pytest.raises(InputError, match="names no action in some row"):
        reader.restriction("keep last_year")
    with pytest.raises(UnknownNameError, match="did you mean 'last_year'"):
        reader.restriction("keep last_yeer")
    with pytest.raises(UnknownNameError, match="action in 'region'"):
        reader.restriction("keep region where age > 0")


def test_usual_wishes_are_about_what_the_rule_reads(frame):
    """Its features, one depth and one leaf less; nothing else."""
    tree = fitted(frame)
    names = [restriction.name for restriction in reader_of(tree, frame.select("age", "region")).usual()]
    assert "without age" in names
    assert "depth 1" in names
    one = fitted(frame.with_columns(bought=(frame["message"] == "call").cast(int)))
    assert reader_of(one, frame.select("age", "region")).usual()[0].name == "depth 1"


def test_a_column_whose_name_is_within_other_words_is_not_read(frame):
    """Neither "age" in "wage <= 45", nor "play" in what every rule says."""
    rows = frame.select(wage="age", age=pl.lit(1.0) * (pl.int_range(pl.len()) % 7), play=pl.int_range(pl.len()) % 5)
    tree = LoggedPolicyTree(max_depth=1, thresholds=3, method="snips")
    tree.fit(rows, frame["message"].to_numpy(), reward=frame["bought"].to_numpy(), propensity=[0.5, 0.5])
    assert "wage <= " in str(tree.policy_)
    assert reader_of(tree, rows).columns() == ["wage"]


def test_the_terminal_and_the_page_have_the_prices(frame, tmp_path, monkeypatch):
    """Those asked for are printed; the page has those that people ask first too, and says how they hold."""
    frame.write_csv(tmp_path / "log.csv")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        learn, ["log.csv", *RUN, "--draws", "40", "--out", "found", "--what-if", "region first"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    assert "region first" in done.stdout
    page = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", (tmp_path / "found/report.html").read_text())).split())
    assert "What it would cost to have it otherwise" in page
    assert "region first" in page
    assert "without age" in page
    assert "hold for all of them at once" in page


@pytest.mark.parametrize(
    ("restriction", "fragment"),
    [
        ("cheaper", "cannot read --what-if 'cheaper': write one of without COLUMN"),
        ("without agee", "did you mean 'age'?"),
        ("never cal where age > 3", "did you mean 'call'?"),
        ("region more", "for columns of numbers"),
        ("keep nothing", "unknown column of --what-if 'nothing'"),
        ("alike region within x", "'x' is no number"),
        ("rules 2", "'rules' is no option of the class"),
        ("depth 13", "depth must be"),
    ],
)
def test_mistakes_are_one_line(restriction, fragment, frame, tmp_path, milpcb_):
    """One line names the wrong restriction and the mend; exit code 2."""
    frame.write_csv(tmp_path / "log.csv")
    done = milpcb_(tmp_path, "learn", "log.csv", *RUN, "--draws", "0", "--out", "found", "--what-if", restriction)
    assert done.returncode == 2, done
    assert fragment in done.stderr.strip().splitlines()[-1]
    assert not (tmp_path / "found").exists()


def test_wishes_under_limits_keep_them(frame):
    """The class of the fit is under its own constraints, and so is what keeps a restriction."""
    tree = fitted(frame, constraints=[share_at_most("call", 0.2)])
    reader = reader_of(tree, frame.select("age", "region"))
    best = reader.restriction("without region").of(reader.question).best(tree.scores_.costs)
    assert (best.policy.predict(reader.question.rows) == tree.actions_.tolist().index("call")).mean() <= 0.2
