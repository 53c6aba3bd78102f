"""Questions about a rule: limits, prices of restrictions, rules that do as well, budgets, two outcomes, stability."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from milpcb.commands.class_options import rule_of
from milpcb.core.text import listed
from milpcb.estimators import LoggedPolicyTree, mean_at_most, never, share_at_most
from milpcb.estimators.inputs import Columns
from milpcb.logs import questions as near
from milpcb.logs.findings import Asked
from milpcb.logs.learning import find
from milpcb.logs.limits import Limit, limit_of
from milpcb.logs.questions import SHARES, budget_values, columns_read, restricted, usual_restrictions, what_if
from milpcb.logs.rule import drawn_parts, parts_section
from milpcb.logs.source import make_source
from milpcb.offline import best_reference
from milpcb.offline.restrictions import gain_band
from milpcb.oracles import open_oracle
from milpcb.oracles.near_best import NearBest
from tests.learned import people
from tests.refused import refused

FRAME = people(300, effect=0.45).select("age", "region", "message", "bought").sort("age")
ROWS = FRAME.select("age", "region")


def fit(frame=FRAME, rows=ROWS, **options):
    """Return an estimator that was fitted to a log."""
    tree = LoggedPolicyTree(**{"max_depth": 2, "thresholds": 3, "method": "snips", **options})
    outcome = {"reward": frame["bought"].to_numpy(), "propensity": [0.5, 0.5]}
    return tree.fit(rows, frame["message"].to_numpy(), **outcome)


@pytest.fixture(scope="module")
def fitted():
    """Return a tree that was fitted to the log, and the question of its fit."""
    tree = fit()
    return tree, tree.problem(ROWS)


@pytest.fixture(scope="module")
def every(fitted):
    """Return the labels (N, n) of all trees."""
    question = fitted[1]
    return open_oracle(question.policies, question.contexts, "enumeration").labelings


@pytest.mark.parametrize(
    ("text", "than", "margin", "maximise"),
    [
        ("angry at most letter", "letter", 0.0, False),
        ("angry at most today + 0.1", None, 0.1, False),
        ("angry at least today - 0.1", None, 0.1, True),
        ("angry at least today + 0.1", None, -0.1, True),
        ("angry at most 0.25", 0.25, 0.0, False),
        ("a b at most 1e-1 - 0.05", 0.1, -0.05, False),
    ],
)
def test_what_limits_mean(text, than, margin, maximise):
    """A number, an action or today; a margin makes it looser or tighter."""
    found = limit_of(text, ["call", "letter"])
    assert (found.than, found.margin, found.maximise) == (than, margin, maximise)
    assert isinstance(found, Limit)


def test_a_constraint_without_words_of_its_own_has_a_line_with_its_arguments():
    """Such as one of a file of its own, or a mean of another column."""
    source = make_source("log", FRAME, Columns("message", "bought", maximise=True, randomised=True))
    tree = LoggedPolicyTree(max_depth=1, method="snips", constraints=[mean_at_most({"call": 1.0}, 0.4)])
    found = find(source, tree, Asked(draws=0, resamples=0), lambda _: nullcontext(lambda *_: None))
    assert found.asked == (("MeanAtMost (amounts = {'call': 1.0}, bound = 0.4)", "", "kept"),)


# ------------------------------------------------------------------- restrictions and their prices


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("without age", {"features": ["region"]}),
        ("without region", {"features": ["age"]}),
        ("depth 1", {"max_depth": 1}),
        ("leaves 2", {"max_leaves": 2}),
    ],
)
def test_prices_are_those_of_estimators_with_other_parameters(text, changes, fitted):
    """The loss of another fit, in the unit of the outcome."""
    tree, question = fitted
    costs = tree.scores_.costs / tree.scores_.weight.sum()
    price = restricted(text, question, tree.policy_).best(costs).value - question.best(costs).value
    assert price == pytest.approx(tree.policy_value_ - fit(**changes).policy_value_, abs=1e-9)


def test_limits_have_the_prices_of_estimators_under_them():
    """Beside the constraints that there are, as options write them, with the ends of a band."""
    source = make_source("log", FRAME, Columns("message", "bought", maximise=True, randomised=True))
    kept = [share_at_most("call", 0.9)]
    tree = LoggedPolicyTree(max_depth=1, thresholds=3, method="snips", constraints=kept, overlap="ignore")
    texts = {"never call: age > 40": never("call", "age > 40"), "at-most call=20%": share_at_most("call", 0.2)}
    asked = Asked(draws=20, resamples=0, restrictions={text: rule_of(text, source) for text in texts})
    found = find(source, tree, asked, lambda _: nullcontext(lambda *_: None))
    assert [price.name for price in found.prices][:2] == list(texts)
    for price, rule in zip(found.prices, texts.values(), strict=False):
        other = clone(tree).set_params(constraints=[*kept, rule]).fit_scores(found.learnt.frame, found.learnt.scores)
        assert price.price == pytest.approx(tree.policy_value_ - other.policy_value_, abs=1e-12)
        assert 0 <= price.lower <= price.price <= price.upper
    assert rule_of("depth 1", source) is None


def test_another_first_question_is_found_by_the_name_of_its_column(fitted):
    """Of the region: the best stumps of both regions, whose scores are those of all rows."""
    tree, question = fitted
    found = restricted("region first", question, tree.policy_).best(tree.scores_.costs)
    stumps = open_oracle(question.with_options(depth=1).policies, question.contexts, "enumeration").labelings
    totals = tree.scores_.costs[np.arange(len(ROWS)), stumps]
    north = (ROWS["region"] == "north").to_numpy()
    assert found.value == pytest.approx(sum(totals[:, side].sum(axis=1).min() for side in (north, ~north)))
    assert tree.policy_.names.columns[found.policy.root.feature].name == "region"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cheaper", "cannot read --what-if 'cheaper': write without COLUMN"),
        ("without agee", "did you mean 'age'"),
        ("agee first", "did you mean 'age'"),
        ("rules 2", "cannot read --what-if 'rules 2'"),
        ("depth one", "cannot read --what-if 'depth one'"),
    ],
)
def test_restrictions_that_cannot_be_read_are_named(text, message, fitted):
    """Columns and options that nothing has; other restrictions are asked for by learning twice."""
    refused(lambda: restricted(text, fitted[1], fitted[0].policy_), message)


def test_usual_restrictions_are_about_what_the_rule_reads(fitted):
    """Its features, one depth and one leaf less; a column whose name is within other words is not read."""
    names = usual_restrictions(fitted[1], fitted[0].policy_)
    assert {"without age", "depth 1"} <= set(names)
    right = ((pl.col("age") <= 45) == (pl.col("region") == "north")) == (pl.col("message") == "call")
    four = fit(FRAME.with_columns(bought=right.cast(int)))
    assert "leaves 3" in usual_restrictions(four.problem(ROWS), four.policy_)
    rows = FRAME.select(wage="age", age=pl.lit(1.0) * (pl.int_range(pl.len()) % 7), play=pl.int_range(pl.len()) % 5)
    assert columns_read(fit(rows=rows, max_depth=1).policy_) == ["wage"]


# ------------------------------------------------------------------- rules that do as well


def as_good(tree, question, draws=40, slack=None):
    """Return the section on the rules that do as well as a tree, with values to the last digit, and its band."""
    band = gain_band(question, tree.scores_, best_reference(tree.scores_), draws=draws)
    asked = SimpleNamespace(level=0.95, restrictions={}, near=slack)
    unit = SimpleNamespace(amount=str, gain=str, value=str)
    found = SimpleNamespace(learnt=SimpleNamespace(scores=tree.scores_), questions=asked, unit=unit, estimator=tree)
    found.prices = what_if(found, question, band, lambda *_: None)
    return near.near_section(found, question, band), band


def totals(table, labels):
    """Return the total (N,) of each labeling."""
    return table[np.arange(table.shape[0]), labels].sum(axis=1)


def test_rules_not_shown_to_be_worse_are_those_whose_upper_end_reaches_the_best_lower_end(fitted, every):
    """By the band, for every rule of the class by itself."""
    tree, question = fitted
    found, band = as_good(tree, question)
    lower, upper = (-totals(floor, every) for floor in band.floors)
    undecided = upper + band.reach / 0.75 >= (lower - band.reach).max() - 1e-12
    assert 1 < undecided.sum() < len(every)
    count = f"{undecided.sum()} rules of this kind are not shown to be worse than the best of them"
    assert found.words[0].startswith(count)
    assert found.words[1] == "All of them read 'age'."
    contested = (every[undecided] != every[undecided][0]).any(axis=0).sum()
    assert found.words[2].startswith(f"On {contested} of the 300 rows compared")
    noise = fit(people(300, effect=0.0).select(FRAME.columns).sort("age"))
    assert as_good(noise, noise.problem(ROWS))[0].words[1] == "No column is read by all of them."


@pytest.mark.parametrize("slack", [0.0, 0.01, 0.2])
def test_rules_within_an_amount_are_those_of_the_list(fitted, every, slack):
    """By the estimates alone: their number, and the columns without which none is within it."""
    tree, question = fitted
    found, _ = as_good(tree, question, slack=slack)
    values = totals(-tree.scores_.costs / tree.scores_.weight.sum(), every)
    close = values >= values.max() - slack - 1e-12
    which = f"of this kind look worth at most {slack} less than the best of them."
    assert found.words[0] == (f"No other rules {which}" if close.sum() == 1 else f"{close.sum()} rules {which}")
    if close.sum() > 1:
        contested = (every[close] != every[close][0]).any(axis=0).sum()
        assert found.words[2].startswith(f"On {contested} of the 300 rows compared")
        best = {name: values.max() - _without(tree, question, name) for name in columns_read(tree.policy_)}
        needed = [f"'{name}'" for name, price in best.items() if price > slack]
        assert found.words[1] == (
            f"All of them read {listed(needed)}." if needed else "No column is read by all of them."
        )


def _without(tree, question, name):
    places = [place for place, column in enumerate(tree.policy_.names.columns) if column.name == name]
    blind = np.where(np.isin(np.arange(question.rows.shape[1]), places), 0.0, question.rows)
    others = open_oracle(question.policies, blind, "enumeration").labelings
    return totals(-tree.scores_.costs / tree.scores_.weight.sum(), others).max()


def test_many_rows_are_looked_at_in_part(fitted, monkeypatch):
    """Actions of rules are asked for at some rows; where the class has no list of its own, rules are not counted."""
    monkeypatch.setattr(near, "MOST_COMPARED", 50)
    assert "50 rows compared" in as_good(*fitted)[0].words[2]
    monkeypatch.setattr(near, "MOST_UNLISTED", 1)
    assert "was not counted" not in as_good(*fitted)[0].words[0]
    listed = NearBest.listed
    monkeypatch.setattr(NearBest, "listed", property(lambda found: listed.fget(found) and False))
    found, _ = as_good(*fitted)
    assert "was not counted" in found.words[0]


# ------------------------------------------------------------------- curves


def test_each_budget_is_learnt_and_valued_on_other_rows():
    """The truth, 0.2 + 0.7 * share for the young, is within the band; the other limits stay as they are."""
    draw = np.random.default_rng(0)
    age, calls = draw.integers(18, 81, 600), draw.random(600) < 0.5
    bought = draw.random(600) < np.where(calls & (age <= 45), 0.9, 0.2)
    frame = pl.DataFrame({"age": age, "message": np.where(calls, "call", "letter"), "bought": bought.astype(int)})
    source = make_source("log", frame, Columns("message", "bought", maximise=True, randomised=True))
    limits, ticks = [share_at_most("call", 0.2), never("call", "age > 75")], []
    estimator = LoggedPolicyTree(max_depth=1, constraints=limits)
    scores = estimator.estimate_scores(source.log)
    estimator.fit_scores(source.frame, scores)
    asked = {"level": 0.95, "seed": 0, "progress": lambda *far: ticks.append(far)}
    points = budget_values(estimator, source.frame, scores, "call", **asked)
    assert [point.share for point in points] == list(SHARES)
    assert ticks[-1] == (len(SHARES), len(SHARES))
    assert points[0].used == 0
    assert all(point.used <= point.share + 0.06 for point in points)  # in other rows than those of the limit
    for point in points:
        truth = 0.2 + 0.7 * min(point.used, float((age <= 45).mean()))
        assert point.value.lower <= truth <= point.value.upper
    gains = [point.value.estimate - point.alike for point in points]
    assert gains[4] > 0.05
    assert max(gains, key=abs) == max(gains)
    assert estimator.constraints == limits
    assert points[-1].used <= 1 - float((age > 75).mean()) + 0.03


# ------------------------------------------------------------------- stability


@pytest.mark.parametrize("seed", [10, 55])
def test_of_several_rules_that_are_best_the_printed_one_is_asked_about(seed):
    """Also where a search by rows finds another of them, with more tests: what comes back are tests of its own."""
    rng = np.random.default_rng(seed)
    age, region = rng.integers(0, 4, 40), rng.choice(["north", "south"], 40)
    done, sold = rng.choice(["x", "y"], 40), rng.integers(0, 2, 40)
    frame = pl.DataFrame({"age": age, "region": region, "done": done, "sold": sold})
    source = make_source("log.csv", frame, Columns("done", "sold", maximise=True, randomised=True))
    tree = LoggedPolicyTree(method="ips")  # scores tie: those of actions that were not taken are 0
    found = find(source, tree, Asked(draws=0, resamples=3), lambda _: nullcontext(lambda *_: None)).stability
    assert str(replace(found.policy, names=tree.policy_.names)) == str(tree.policy_)
    graph = tree.policy_.graph()
    assert set(found.tests) == {label for node, label in graph.nodes(data="label") if graph.out_degree(node)}


# ------------------------------------------------------------------- sections on what was found


def test_only_parts_in_rows_kept_aside_have_intervals():
    """A part that was learnt from looks like its value."""
    source = make_source("log.csv", FRAME, Columns("message", "bought", maximise=True, randomised=True))
    for holdout, start in ((0.0, "looks like "), (0.4, "")):
        tree = LoggedPolicyTree(max_depth=1, thresholds=3, method="snips")
        asked = Asked(draws=0, resamples=0, holdout=holdout)
        found = find(source, tree, asked, lambda _: nullcontext(lambda *_: None))
        notes = [part.note for part in drawn_parts(found)]
        assert notes
        assert all(note.startswith(start) and ("\n" in note) == (holdout > 0) for note in notes)
        assert [row[0] for row in parts_section(found).folds[0].tables[0].rows] == ["1", "2"]
