"""The rules that do as well as the best: on the page of ``milpcb learn``, on the terminal, against lists."""

import html
import re

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from milpcb.commands.learn import learn
from milpcb.estimators import LoggedPolicyTree
from milpcb.logs import what_if as near
from milpcb.logs.what_if import Reader, what_if
from milpcb.offline import best_reference
from milpcb.offline.restrictions import gain_band
from milpcb.oracles import open_oracle

RUN = ("log.csv", "--action", "message", "--reward", "bought", "--randomised", "--thresholds", "3", "--resamples", "0")


def log_of(n=300):
    """Return a log in which calls help the young."""
    draw = np.random.default_rng(0)
    age, call = draw.integers(18, 81, n), draw.random(n) < 0.5
    bought = draw.random(n) < np.where(call == (age <= 45), 0.95, 0.05)
    columns = {"age": age, "region": draw.choice(["north", "south"], n), "message": np.where(call, "call", "letter")}
    return pl.DataFrame({**columns, "bought": bought.astype(int)})


@pytest.fixture(scope="module")
def fitted():
    """Return a tree that was fitted to the log, a reader of restrictions, and the labels (N, n) of all trees."""
    frame = log_of()
    outcome = {"reward": frame["bought"].to_numpy(), "propensity": [0.5, 0.5]}
    tree = LoggedPolicyTree(max_depth=2, thresholds=3, method="snips")
    tree.fit(frame.select("age", "region"), frame["message"].to_numpy(), **outcome)
    rows = frame.select("age", "region")
    reader = Reader(tree, rows, tree.problem(rows), rows)
    every = open_oracle(reader.question.policies, reader.question.contexts, "enumeration").labelings
    return tree, reader, every


def totals(table, labels):
    """Return the total (N,) of each labeling."""
    return table[np.arange(table.shape[0]), labels].sum(axis=1)


def test_rules_within_an_amount_are_those_of_the_list(fitted):
    """How many look worth so much less at most, what they all read, where they differ; the printed rule comes first."""
    tree, reader, every = fitted
    scores = tree.scores_
    worth = totals(scores.table / len(scores.table), every)
    found = near.as_good(reader, tree.policy_, scores, None, (), 0.2)
    within = every[worth >= worth.max() - 0.2 - 1e-12]
    assert (found.count, found.exact) == (len(within), True)
    assert found.contested == (within != within[0]).any(axis=0).sum()
    assert found.looked_at == 300
    assert found.needed == ("age",)
    assert found.rules[0].rules == str(tree.policy_)
    assert found.rules[0].value == pytest.approx(tree.policy_value_)
    assert len({rule.rules for rule in found.rules}) == 3
    assert all(worth.max() - 0.2 - 1e-9 <= rule.value <= worth.max() for rule in found.rules)
    assert any("age <=" in rule.rules for rule in found.rules[1:])


@pytest.mark.parametrize("number", [1, 2])
def test_where_there_are_fewer_rules_than_three_none_is_shown_twice(number, fitted):
    """One stands alone, two stand side by side."""
    tree, reader, every = fitted
    worth = np.sort(totals(tree.scores_.table / len(tree.scores_.table), np.unique(every, axis=0)))[::-1]
    found = near.as_good(reader, tree.policy_, tree.scores_, None, (), (worth[0] - worth[number]) * (1 - 1e-6))
    assert (found.count, found.exact) == (number, True)
    assert len({rule.rules for rule in found.rules}) == len(found.rules) == number


def test_rules_not_shown_to_be_worse_are_those_whose_upper_end_reaches_the_best_lower_end(fitted):
    """By the band, for every rule of the class by itself."""
    tree, reader, every = fitted
    scores = tree.scores_
    band = gain_band(reader.question, scores, best_reference(scores), draws=40)
    lower, upper = (-totals(floor, every) for floor in band.floors)
    undecided = upper + band.reach / 0.75 >= (lower - band.reach).max() - 1e-12
    found = near.as_good(reader, tree.policy_, scores, band, what_if(reader, scores, band, ()), None)
    assert found.slack is None
    assert (found.count, found.exact) == (undecided.sum(), True)
    assert 1 < found.count < len(every)
    assert found.contested == (every[undecided] != every[undecided][0]).any(axis=0).sum()
    assert found.needed == ("age",)


def test_many_rows_are_looked_at_in_part(fitted, monkeypatch):
    """What rules play is asked at some rows; where the class has no list of its own, they are not counted."""
    tree, reader, _ = fitted
    monkeypatch.setattr(near, "MOST_ROWS", 50)
    assert near.as_good(reader, tree.policy_, tree.scores_, None, (), 0.1).looked_at == 50
    monkeypatch.setattr(near, "MOST_UNLISTED", 1)
    listed = near.NearBest.listed
    monkeypatch.setattr(near.NearBest, "listed", property(lambda found: listed.fget(found) and False))
    found = near.as_good(reader, tree.policy_, tree.scores_, None, (), 0.1)
    assert (found.count, found.rules) == (None, ())


def test_without_a_band_and_an_amount_nothing_is_found(fitted):
    """Neither was asked for."""
    tree, reader, _ = fitted
    assert near.as_good(reader, tree.policy_, tree.scores_, None, (), None) is None


@pytest.fixture
def learnt(tmp_path, monkeypatch):
    """Return ``learnt(*options)``: what the command prints, and its page as text."""
    monkeypatch.chdir(tmp_path)
    log_of().write_csv("log.csv")

    def learnt(*options):
        done = CliRunner().invoke(learn, [*RUN, "--out", "found", *options], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        page = html.unescape(re.sub(r"<[^>]*>", " ", (tmp_path / "found/report.html").read_text()))
        return done.stdout, " ".join(page.split())

    return learnt


def test_the_page_has_the_rules_by_the_band(learnt):
    """How many, what they need, how many rows are contested, and three of them side by side."""
    printed, page = learnt("--draws", "40")
    assert re.search(r"\d rules of this kind are not shown to be worse than the best of them \(95\s% conf", page)
    assert "All of them read 'age': without it no rule does as well." in page
    assert re.search(r"(On each|They disagree on \d+) of the 300 rows compared", page)
    assert page.count("looks worth") >= 3
    assert "not shown to be worse" not in printed


def test_an_amount_is_printed_too(learnt):
    """``--near`` needs no draws, and its sentences are on the terminal as well."""
    printed, page = learnt("--draws", "0", "--near", "0.05")
    line = re.search(r"[\d\u202f]+ rules of this kind look worth at most 5 of 100 less than the best of them\.", page)
    assert line
    assert line[0] in printed


def test_nothing_asked_is_a_line_on_the_page(learnt):
    """Without draws and without an amount the page has what would give one."""
    _, page = learnt("--draws", "0")
    assert "Not asked (--draws 0): --near AMOUNT counts the rules" in page
