"""The output of ``milpcb learn``: the verdict first, a sheet for the board, and nothing that is not so."""

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import milpcb
from milpcb.commands.class_options import ESTIMATORS, HERE
from milpcb.commands.evaluate import evaluate
from milpcb.commands.learn import learn
from milpcb.commands.log import log
from milpcb.estimators import LoggedPolicyTree, LoggedRuleList, LoggedScoringRule, LoggedThresholdRule
from tests import browser
from tests.learned import CLAIMS, NO_CLAIMS, TRIAL, command, people, words

EFFECT, NONE, SAME = people(), people(effect=0.0), people(effect=0.2, alike=True)
STUMP = (*TRIAL, "--depth", "1", "--leave-out", "angry")
QUICK = ("--draws", "40", "--resamples", "5")
LIMITS = ("--at-most", "call=40%", "--never", "call: age > 75", "--parity", "call: region=0.9")
SENSITIVE = ("--sensitive", "region", "--sensitive", "age")
SCORE = (*TRIAL, "--policies", "linear_rules", "--thresholds", "3", "--features", "age,region")


def in_order(text, *parts):
    """Check that a text has all parts, in this order."""
    places = [text.find(part) for part in parts]
    assert -1 not in places, (parts[places.index(-1)], text)
    assert places == sorted(places), list(zip(parts, places, strict=True))


def sheet_of(found):
    """Return the words of the first sheet."""
    return words(found.html[: found.html.index("<main>")])


def test_an_effect_is_said_first_and_then_the_rule(learnt):
    """Treat people differently, the advice; the rule, its worth, what was asked for and read, date and command."""
    found = learnt(EFFECT, *STUMP, *QUICK, *LIMITS, *SENSITIVE)
    assert found.printed.startswith("Treat people differently: deciding by the rule is better than ")
    in_order(
        found.page,
        "Recommended: use the rule",
        "What it is worth",
        "What you asked for",
        "'call' for at most 40 % of the rows",
        "What the rule reads",
        "It does not read region.",
        "age (sensitive)",
        datetime.now(tz=UTC).strftime("%Y-%m-%d"),
        "log of 400 rows, digest",
        "Annex",
        "who gets what, part by part",
        "For the statistician",
        "every value, with its interval",
    )
    assert "not supported" not in found.page
    assert re.search(r"age \(sensitive\) [\d.]+ [\d.]+ to [\d.]+", sheet_of(found))
    assert re.search(r"log of 400 rows, digest [0-9a-f]{32}\. milpcb ", sheet_of(found))
    assert "valid for all rules at once, so also for the one chosen" in found.page
    assert "looks worth" in found.page  # parts have no intervals, as there are no hold-out rows


@pytest.mark.parametrize("frame", [NONE, SAME], ids=["none", "same"])
def test_without_an_effect_the_recommendation_leads(learnt, frame):
    """Treat all alike or too early; the advice comes before the rule, which stands under what is not supported."""
    found = learnt(frame, *STUMP, *QUICK)
    assert found.printed.startswith(("Treat all alike", "Too early to decide"))
    in_order(
        found.page,
        "Recommended: '",
        "What it is worth",
        "No limits",
        "What the rule reads",
        "The rule that looked best, not supported",
    )
    assert "use the rule below" not in found.page
    assert "that keeps" not in found.page  # nothing was asked for that could be kept
    wanted = "Recommended: 'call' for everybody" if frame is SAME else "The rule that looked best stands below"
    assert wanted in " ".join(found.printed.split())


def test_under_a_budget_everything_is_over_one_reference(learnt):
    """The lots that keep the budget; the forbidden constant is marked, and the budget stands in words, as kept."""
    found = learnt(SAME, *STUMP, *QUICK, "--at-most", "call=0.3", "--parity", "call: region=0.2")
    assert "Treat people differently" not in found.printed
    assert found.page.count("drawing lots ('letter' for 70 and 'call' for 30 of 100)") >= 3
    assert re.search(r"always 'call' [\d.]+ [\d. to]+not allowed for everybody", found.page)
    assert re.search(r"'call' for at most 30 % of the rows gives it to [12]?\d\.\d % kept; ", found.page)
    rates = r"rates of 'call' by region within 20 points of each other north [\d.]+ %, south [\d.]+ %: "
    assert re.search(rates, found.page)
    assert "It is proved that no rule of its class that keeps what was asked for" in found.page


def test_hold_out_rows_have_intervals(learnt):
    """For the rule and for each of its parts."""
    page = learnt(EFFECT, *STUMP, *CLAIMS, "--holdout", "0.3").page
    assert "120 of them held out" in page
    assert re.search(r"this rule, hold-out rows [\d.]+ [\d.]+ to [\d.]+ 120 other rows", page)
    assert "share of rows held out" in page


def test_the_log_of_the_policy_is_recognised(learnt, monkeypatch):
    """Evaluating on the rows that it was learnt from warns in one line and gives no interval; other rows do neither."""
    monkeypatch.chdir(learnt(EFFECT, *STUMP, *NO_CLAIMS).folder.parent)
    EFFECT.sample(fraction=1.0, shuffle=True, seed=3).write_parquet("again.parquet")
    people(seed=1).write_csv("other.csv")
    for name, seen in (("log.csv", True), ("again.parquet", True), ("other.csv", False)):
        said = command("evaluate", name, "found/policy.json", *TRIAL).output
        assert ("was learnt from this very log" in said) is seen, name
        assert ("It is better than" in said) is not seen, name
        assert said.count("warning:") == seen, said


def test_every_option_that_a_message_names_exists():
    """Whatever a line of these commands advises can be typed: the words of logs, commands and diagnostics are read."""
    root = Path(milpcb.__file__).parent
    files = [*(root / "logs").rglob("*.py"), *(root / "offline").glob("*.py")]
    files += [root / "commands" / f"{name}.py" for name in ("learn", "evaluate", "log")]
    files += [root / "experiments/results/templates/learned.html.jinja"]
    own = {option for command in (learn, evaluate, log) for each in command.params for option in each.opts}
    classes = (LoggedPolicyTree, LoggedRuleList, LoggedScoringRule, LoggedThresholdRule)
    assert {cls.__name__ for cls in classes} == set(ESTIMATORS.values())
    own |= {f"--{name.replace('_', '-')}" for cls in classes for name in cls().get_params() if name not in HERE}
    texts = [re.sub(r"<style>.*?</style>", "", file.read_text(), flags=re.DOTALL) for file in files]
    assert {option for text in texts for option in re.findall(r"--[a-z][a-z-]+", text)} <= own


def test_a_scoring_rule_is_a_card_with_labels(learnt, tmp_path):
    """On the page, as a page and as a PDF of its own: integers where the column has only these; a tree has none."""
    (tmp_path / "labels.toml").write_text('age = "Age in years"\ncall = "Visit at home"\nregion = "Where"\n')
    found = learnt(EFFECT, *SCORE, *NO_CLAIMS, "--labels", str(tmp_path / "labels.toml"), drawn=True)
    card = (found.folder / "card.html").read_text()
    assert "<h1>Score card</h1>" in card
    assert {"Visit at home", "letter"} == set(re.findall(r"<td>([^<]*)</td></tr>", card))
    assert (found.folder / "card.pdf").read_bytes().startswith(b"%PDF")
    for text in (found.html, card):
        assert re.search(r"Age in years: \d+ or (more|less)", text)
        assert not re.search(r"Age in years: [^<]*\.", text)
        assert "Visit at home" in text
    assert "score = " not in sheet_of(found)
    tree = learnt(EFFECT, *STUMP, *NO_CLAIMS).folder
    assert not {"card.html", "card.pdf"} & {path.name for path in tree.iterdir()}


def test_each_sheet_is_one_page_of_print(learnt, tmp_path):
    """Of all sheets in one document, each of which ends a page, there are as many pages; an annex begins one more."""
    if browser.CHROMIUM is None:
        pytest.skip("no chromium is installed (apt install chromium)")
    printed = [  # each rule, with and without limits, supported and not
        ((*TRIAL, "--depth", "2", "--thresholds", "4"), LIMITS, NONE),
        ((*TRIAL, "--depth", "3", "--thresholds", "2"), LIMITS, EFFECT),
        ((*TRIAL, "--policies", "rule_lists", "--max-rules", "3", "--thresholds", "3"), (), EFFECT),
        (SCORE, LIMITS, NONE),
    ]
    pages = [learnt(frame, *rule, *CLAIMS, *limits, *SENSITIVE[:2], drawn=True).html for rule, limits, frame in printed]
    sheets = [page[page.index('<div class="sheet">') : page.index("<main>")] for page in pages]
    before, after = pages[0].split(sheets[0])
    assert browser.pages_of_print(tmp_path, before + "".join(sheets) + "</body></html>") == len(sheets)
    assert browser.pages_of_print(tmp_path, before + sheets[0] + after) > 1


def test_source_code_begins_with_where_it_is_from(learnt):
    """Date, log, digest, command, limits and use, in a comment that runs; a command cannot end the comment."""
    folder = learnt(EFFECT, *STUMP, *NO_CLAIMS, "--at-most", "call=40%", "--unit", "a\nb").folder
    for name, mark, use in (("policy.sql", "-- ", "SELECT (this expression)"), ("policy.py", "# ", "decide(row)")):
        lines = (folder / name).read_text().split("\n")
        head = lines[: next(i for i, line in enumerate(lines) if not line.startswith(mark.strip()))]
        assert re.match(rf"{mark}\d{{4}}-\d\d-\d\d\. log\.csv: log of 400 rows, digest [0-9a-f]{{32}}\.$", head[0])
        assert head[2] == f"{mark}It was asked to keep: 'call' for at most 40\u202f% of the rows."
        assert use in head[3]
    compile((folder / "policy.py").read_text(), "policy.py", "exec")


# ------------------------------------------------------------------- other outcomes, prices, other rules


def test_two_outcomes_prices_and_rules_as_good_are_on_the_page(learnt):
    """The front and what was asked for are printed; the page has the usual prices and what the band leaves, too."""
    more = ("--thresholds", "3", "--front", "angry less", "--what-if", "leaves 2")
    found = learnt(people(effect=0.45), *TRIAL, *CLAIMS, "--depth", "2", *more)
    for text in ("two outcomes", "rule 1", "leaves 2"):
        assert text in found.printed
    assert "rule 1 if " in found.page  # the rules, a leaf being its action alone
    assert "play letter" not in found.page
    in_order(found.page, "What restrictions would cost", "hold for all prices at once", "without age")
    assert re.search(r"\d rules of this kind are not shown to be worse than the best of them \(95\s% conf", found.page)
    assert "All of them read 'age'." in found.page


def test_a_rule_in_order_is_that_of_the_estimator(learnt):
    """The order is listed among what was asked for, and kept; the action never goes down with age."""
    order = ("--features", "age,region", "--monotone", "age=less", "--thresholds", "3", "--at-most", "call=0.5")
    found = learnt(EFFECT, *TRIAL, *CLAIMS, *order)
    assert "never goes up in the order of the actions" in found.page
    source: dict[str, object] = {}
    exec((found.folder / "policy.py").read_text(encoding="utf-8"), source)  # noqa: S102 - what milpcb wrote
    for region in ("north", "south"):
        played = [source["decide"]({"age": age, "region": region}) for age in range(18, 81)]
        assert played == sorted(played, reverse=True)  # letter is the later action


def test_what_is_guaranteed_is_the_rule_of_an_estimator(learnt):
    """The page proves the lower end, and has no claims of learning rules by the estimates."""
    options = ("--features", "age,region", "--method", "snips", "--thresholds", "3", "--depth", "1")
    found = learnt(EFFECT, *TRIAL, *CLAIMS, *options, "--objective", "guaranteed")
    assert "no rule of its class has a greater guaranteed gain on the rows" in found.page
    assert "Expect about" not in found.page
    tree = LoggedPolicyTree(max_depth=1, thresholds=3, method="snips", objective="guaranteed")
    tree.fit(EFFECT.select("age", "region"), EFFECT["message"], reward=EFFECT["bought"], propensity="randomised")
    assert str(tree.policy_) == (found.folder / "policy.txt").read_text().rstrip()


@pytest.mark.parametrize("limit", ["angry at most letter + 0.3", "angry at least letter - 0.3"])
def test_a_limit_on_another_outcome(learnt, limit):
    """The page names it, that it is kept with confidence, and no claims of rules by the estimates; nothing reads it."""
    page = learnt(EFFECT, *TRIAL, *CLAIMS, "--depth", "1", "--no-worse", limit).page
    (beside,) = re.findall(r"gives by the log [\d.]+ beside ([\d.]+) of 100", page)
    assert float(beside) == pytest.approx(100 * EFFECT.filter(message="letter")["angry"].mean(), abs=2)
    assert "'angry' at most 0.3 worse than always 'letter', with 95 % confidence" in page
    assert "kept; among all such people, with 95 % confidence" in page
    assert "in the rows that the rule was learnt from" in page
    for part in ("Expect about", "angry =", "angry <="):
        assert part not in page


def test_no_group_is_worse_off_beside_a_budget(learnt):
    """All groups have one line, with a confidence that they share, and the numbers of each."""
    limit = ("--no-worse", "angry <= today + 0.3 for each region", "--at-most", "call=70%")
    found = sheet_of(learnt(EFFECT, *TRIAL, *CLAIMS, "--depth", "1", *limit))
    assert "'angry' at most 0.3 worse than what was done for each region, with 97.5 % confidence each" in found
    both = r"gives by the log [\d.]+ beside [\d.]+ of 100 \(north\); [\d.]+ beside [\d.]+ of 100 \(south\)"
    assert re.search(both, found)
    assert found.count("kept; among all such people, with 97.5 % confidence each") == 1


@pytest.mark.parametrize(
    ("options", "cuts"),
    [
        (("--depth", "3"), 2),
        (("--depth", "2", "--at-most", "call=70%"), 7),
        (("--depth", "3", "--thresholds", "2"), None),
    ],
)
def test_trees_that_are_too_many_to_compare_have_fewer_cut_points(learnt, options, cuts):
    """A note names how many; where somebody has set them, nothing changes."""
    draw = np.random.default_rng(1)
    more = {name: draw.normal(size=400) for name in ("stay", "income", "bills")}
    limit = ("--method", "ips", "--no-worse", "angry <= today + 0.5")
    found = learnt(EFFECT.drop("visits").with_columns(**more), *TRIAL, *NO_CLAIMS, *limit, *options)
    notes = re.findall(r"cut each number at (\d) quantiles; --thresholds", found.notes)
    assert notes == [str(cuts)] * (cuts is not None)
    assert "It is proved that no rule" in found.printed
