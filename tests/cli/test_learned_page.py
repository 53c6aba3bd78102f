"""What ``milpcb learn`` and ``milpcb evaluate`` print and write: the verdict first, and nothing that is not so."""

import html
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import milpcb
from milpcb.commands.class_options import ESTIMATORS, HERE
from milpcb.commands.evaluate import evaluate
from milpcb.commands.learn import learn
from milpcb.commands.log import log
from milpcb.estimators import LoggedPolicyTree, LoggedRuleList, LoggedScoringRule, LoggedThresholdRule

TRIAL = ("--action", "message", "--reward", "bought", "--randomised")
QUICK = ("--depth", "1", "--draws", "40", "--resamples", "5", "--out", "found")
ROWS = 400


def people(chance, seed=0):
    """Return a log in which ``chance(calls, young)`` is the probability of a sale."""
    draw = np.random.default_rng(seed)
    age, calls = draw.integers(18, 81, ROWS), draw.random(ROWS) < 0.5
    chances = [chance(*row) for row in zip(calls.tolist(), (age <= 45).tolist(), strict=True)]
    return pl.DataFrame(
        {
            "age": age,
            "region": draw.choice(["north", "south"], ROWS),
            "message": np.where(calls, "call", "letter"),
            "bought": (draw.random(ROWS) < chances).astype(int),
        }
    )


EFFECT = people(lambda calls, young: 0.85 if calls == young else 0.15)
NONE = people(lambda _calls, _young: 0.4)
SAME = people(lambda calls, _young: 0.7 if calls else 0.3)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return a function that learns from a log: what was printed, the page as text, and the folder."""
    known = {}

    def learnt(name, frame, *options):
        if (name, options) not in known:
            folder = tmp_path_factory.mktemp(name)
            frame.write_csv(folder / "log.csv")
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                done = CliRunner().invoke(learn, ["log.csv", *TRIAL, *QUICK, *options], catch_exceptions=False)
            assert done.exit_code == 0, done.output
            page = (folder / "found/report.html").read_text()
            known[name, options] = done.stdout, _text(page), folder
        return known[name, options]

    return learnt


def _text(page):
    """Return the words of a page, a space for each run of tags and blanks."""
    body = re.sub(r"<(style|script).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_an_effect_is_said_first_and_then_the_rule(said):
    """Treat people differently, by how much at least, the advice; the rule, its worth, what was asked for."""
    printed, page, _ = said("effect", EFFECT)
    assert printed.startswith("Treat people differently: deciding by the rule is better than '")
    order = [
        "Treat people differently",
        "Recommended: use the rule",
        "The rule",
        "What it is worth",
        "What you asked for",
        "What the rule reads",
        "Annex",
        "who gets what, part by part",
        "If you want to use it",
        "For the statistician",
        "every value, with its interval",
    ]
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    assert "not supported" not in page
    assert "that keeps" not in page  # nothing was asked for that could be kept
    assert "No limits" in page


@pytest.mark.parametrize(("name", "frame"), [("none", NONE), ("same", SAME)])
def test_without_an_effect_the_recommendation_leads(said, name, frame):
    """Treat all alike or too early; the advice comes before the rule, which stands under what is not supported."""
    printed, page, _ = said(name, frame)
    assert printed.startswith(("Treat all alike", "Too early to decide"))
    order = [
        "Recommended: '",
        "What it is worth",
        "What you asked for",
        "What looked best, not supported",
        "If you want to use it all the same",
        "For the statistician",
    ]
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    assert "use the rule below" not in page
    assert "The value against the budget" not in page
    if name == "same":
        assert "Recommended: 'call' for everybody" in printed


def test_under_a_budget_everything_is_over_one_reference(said):
    """The lots that keep the budget; the forbidden constant is marked, and the budget stands in words, as kept."""
    printed, page, _ = said("same", SAME, "--at-most", "call=0.3", "--parity", "call: region=0.2")
    lots = "drawing lots ('letter' for 70 and 'call' for 30 of 100)"
    assert "Treat people differently" not in printed
    assert page.count(lots) >= 3
    assert re.search(r"always 'call' [\d.]+ [\d. to]+not allowed \(share 100 %\)", page)
    assert re.search(r"'call' for at most 30 % of the rows gives it to [12]?\d\.\d % kept; ", page)
    assert re.search(r"rates of 'call' by region within 20 points of each other north [\d.]+ %, south [\d.]+ %: ", page)
    assert "It is proved that no rule of its class that keeps what was asked for" in page
    assert "is not drawn" in page


def test_intervals_of_the_rule_hold_for_the_rule(said):
    """Its interval is the band's, or of rows kept aside; parts have none where there are no such rows."""
    _, page, _ = said("effect", EFFECT)
    assert "valid for all rules at once, so also for the one chosen" in page
    assert "looks worth" in page
    _, aside, _ = said("effect", EFFECT, "--holdout", "0.3")
    assert "120 of them kept aside" in aside
    assert re.search(r"this rule, rows kept aside [\d.]+ [\d.]+ to [\d.]+ 120 other rows", aside)
    assert "share of rows kept aside" in aside


def test_what_is_missing_says_why(said):
    """Claims, stability and limits that were not asked for are named with the option that asks for them."""
    printed, page, _ = said("effect", EFFECT, "--draws", "0", "--resamples", "0")
    assert printed.startswith("Not asked: whether a rule is better than '")
    for part in ("--draws 0", "--resamples 0", "--budget ACTION", "--at-most"):
        assert part in page


def test_the_log_of_the_policy_is_recognised(said, monkeypatch):
    """Evaluating on the rows that it was learnt from warns in one line and gives no interval; other rows do neither."""
    _, _, folder = said("effect", EFFECT)
    monkeypatch.chdir(folder)
    EFFECT.sample(fraction=1.0, shuffle=True, seed=3).write_parquet("again.parquet")
    people(lambda calls, young: 0.85 if calls == young else 0.15, seed=1).write_csv("other.csv")
    for name, seen in (("log.csv", True), ("again.parquet", True), ("other.csv", False)):
        done = CliRunner().invoke(evaluate, [name, "found/policy.json", *TRIAL], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert ("was learnt from this very log" in done.output) is seen, name
        assert ("It is better than" in done.output) is not seen, name
        assert done.output.count("warning:") == (1 if seen else 0), done.output


def test_every_option_that_a_message_names_exists():
    """Whatever a line of these commands advises can be typed: the words of logs, commands and diagnostics are read."""
    root = Path(milpcb.__file__).parent
    files = [*(root / "logs").rglob("*.py"), *(root / "offline").glob("*.py")]
    files += [root / "commands" / f"{name}.py" for name in ("learn", "evaluate", "log")]
    files += [root / "experiments/results/templates/learned.html.jinja"]
    own = {
        option
        for command in (learn, evaluate, log)
        for each in command.params
        for option in [*each.opts, *each.secondary_opts]
    }
    classes = (LoggedPolicyTree, LoggedRuleList, LoggedScoringRule, LoggedThresholdRule)
    assert {cls.__name__ for cls in classes} == set(ESTIMATORS.values())
    own |= {f"--{name.replace('_', '-')}" for cls in classes for name in cls().get_params() if name not in HERE}
    texts = [re.sub(r"<style>.*?</style>", "", file.read_text(), flags=re.DOTALL) for file in files]
    assert {option for text in texts for option in re.findall(r"--[a-z][a-z-]+", text)} <= own


def test_a_scoring_rule_has_a_card(said):
    """It is written beside the page, with a box for each finding; a tree has none."""
    folder = said("effect", EFFECT)[2]
    options = ("--policies", "linear_rules", *QUICK[2:6], "--out", "scored")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(learn, ["log.csv", *TRIAL, *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    card = (folder / "scored/card.html").read_text()
    assert "<h1>Score card</h1>" in card
    assert {"call", "letter"} == set(re.findall(r"<td>([^<]*)</td></tr>", card))
    assert not (folder / "found/card.html").exists()
