"""The first sheet of the page on a log: what is on it, that it is one page of A4, the card, and limits by group."""

import html
import re
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from milpcb.commands.learn import learn
from milpcb.errors import InputError, UnknownNameError
from tests import browser

QUICK = ("--action", "message", "--reward", "bought", "--randomised", "--draws", "40", "--resamples", "0")
LIMITS = ("--at-most", "call=40%", "--never", "call: age > 75", "--parity", "call: region=0.9")
RULES = {
    "tree": ("--depth", "2", "--thresholds", "4"),
    "deep tree": ("--depth", "3", "--thresholds", "2"),
    "list": ("--policies", "rule_lists", "--max-rules", "3", "--thresholds", "3"),
    "score": ("--policies", "linear_rules", "--thresholds", "3", "--features", "age", "--features", "region"),
}
PRINTED = [  # each rule with and without limits, supported and not
    *(("tree", (), 0.4), ("tree", LIMITS, 0.0), ("deep tree", (), 0.0), ("deep tree", LIMITS, 0.4)),
    *(("list", (), 0.4), ("list", LIMITS, 0.0), ("score", (), 0.0), ("score", LIMITS, 0.4)),
]


def people(effect):
    """Return a log of 500: calls help the young, by ``effect``; nobody knows why the old buy."""
    rng, n = np.random.default_rng(0), 500
    age, calls = rng.integers(18, 81, n), rng.random(n) < 0.5
    bought = rng.random(n) < np.where(calls == (age <= 45), 0.5 + effect, 0.5 - effect)
    columns = {"age": age, "visits": rng.integers(0, 9, n), "region": rng.choice(["north", "south"], n)}
    done = np.where(calls, "call", "letter")
    return pl.DataFrame({**columns, "message": done, "bought": bought.astype(int), "angry": rng.integers(0, 2, n)})


@pytest.fixture
def learnt(tmp_path, monkeypatch):
    """Return ``learnt(*options, effect=...)``: the page of a log."""
    monkeypatch.chdir(tmp_path)

    def ask(*options, effect=0.4):
        people(effect).write_csv("log.csv")
        command = ["log.csv", *QUICK, "--leave-out", "angry", "--out", "found", *options]
        done = CliRunner().invoke(learn, command, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return (tmp_path / "found/report.html").read_text()

    return ask


def sheet_of(page):
    """Return the words of the first sheet."""
    body = re.sub(r"<(style|script).*?</\1>", " ", page[: page.index("<main>")], flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_the_sheet_has_all_that_a_board_asks_for(learnt):
    """Verdict, rule, values, limits, columns with their prices, sensitive ones first, date, digest and command."""
    found = sheet_of(learnt("--depth", "2", *LIMITS, "--sensitive", "region", "--sensitive", "age"))
    order = [
        "Treat people differently",
        "Recommended",
        "The rule",
        "What it is worth",
        "What you asked for",
        "'call' for at most 40 % of the rows",
        "What the rule reads",
        "It does not read region.",
        "age (sensitive)",
        datetime.now(tz=UTC).strftime("%Y-%m-%d"),
        "digest",
    ]
    places = [*(found.index(words) for words in order), found.rindex("milpcb")]
    assert places == sorted(places)
    assert re.search(r"age \(sensitive\) [\d.]+ [\d.]+ to [\d.]+", found)
    assert re.search(r"log of 500 rows, digest [0-9a-f]{32}\.", found)


def test_what_is_not_supported_is_on_the_sheet_too(learnt):
    """Under another verdict the rule stands last, as what looked best."""
    found = sheet_of(learnt("--depth", "1", effect=0.0))
    assert "The rule that looked best stands below" in found
    assert found.index("What the rule reads") < found.index("What looked best, not supported")


def test_each_sheet_is_one_page_of_print(learnt, tmp_path):
    """Of all sheets in one document, each of which ends a page, there are as many pages; an annex begins one more."""
    if browser.CHROMIUM is None:
        pytest.skip("no chromium is installed (apt install chromium)")
    pages = [learnt(*RULES[rule], *limits, "--sensitive", "region", effect=effect) for rule, limits, effect in PRINTED]
    sheets = [page[page.index('<div class="sheet">') : page.index("<main>")] for page in pages]
    before, after = pages[0].split(sheets[0])
    assert browser.pages_of_print(tmp_path, before + "".join(sheets) + "</body></html>") == len(sheets)
    assert browser.pages_of_print(tmp_path, before + sheets[0] + after) > 1


def test_a_scoring_rule_is_a_card_with_labels(learnt, tmp_path):
    """On the page, as a page and as a PDF of its own: integers where the column has only these."""
    (tmp_path / "labels.toml").write_text('age = "Age in years"\ncall = "Visit at home"\nregion = "Where"\n')
    page = learnt(*RULES["score"], "--labels", "labels.toml")
    card = (tmp_path / "found/card.html").read_text()
    assert (tmp_path / "found/card.pdf").read_bytes().startswith(b"%PDF")
    for text in (page, card):
        assert re.search(r"Age in years: \d+ or (more|less)", text)
        assert not re.search(r"Age in years: [^<]*\.", text)
        assert "Visit at home" in text
    assert "score = " not in sheet_of(page)
    learnt(*RULES["tree"])
    assert not (tmp_path / "found/card.pdf").exists()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (("--sensitive", "sex"), UnknownNameError, "column of --sensitive 'sex'"),
        (("--no-worse", "angry at most today for each sex"), UnknownNameError, "column of --no-worse 'sex'"),
        (("--no-worse", "angry <= today for each age"), InputError, "more than 20 groups"),
        (("--no-worse", "angry today"), InputError, "perhaps for each COLUMN"),
        (("--labels", "none.toml"), InputError, "cannot read --labels none.toml"),
        (("--labels", "wrong.toml"), UnknownNameError, "'agee' in wrong.toml"),
        (("--labels", "number.toml"), InputError, "the label of 'age' must be a string, got 3"),
    ],
)
def test_what_names_nothing_is_refused(learnt, tmp_path, options, error, words):
    """One line names it."""
    (tmp_path / "wrong.toml").write_text('agee = "Age"\n')
    (tmp_path / "number.toml").write_text("age = 3\n")
    with pytest.raises(error) as caught:
        learnt(*options)
    assert words.split("'")[0] in str(caught.value)


def test_no_group_is_worse_off_beside_a_budget(learnt):
    """All groups have one line, with a confidence that they share, and the numbers of each."""
    limit = "angry <= today + 0.3 for each region"
    found = sheet_of(learnt("--depth", "1", "--no-worse", limit, "--at-most", "call=70%"))
    assert "'angry' at most 0.3 worse than what was done for each region, with 97.5 % confidence each" in found
    assert re.search(
        r"gives by the log [\d.]+ beside [\d.]+ of 100 \(north\); [\d.]+ beside [\d.]+ of 100 \(south\)", found
    )
    assert found.count("kept; among all such people, with 97.5 % confidence each") == 1


def test_source_code_begins_with_where_it_is_from(learnt, tmp_path):
    """Date, log, digest, command, limits and use, in a comment that runs; a command cannot end the comment."""
    learnt("--depth", "1", "--at-most", "call=40%", "--unit", "a\nb")
    for name, mark, use in (("policy.sql", "-- ", "SELECT (this expression)"), ("policy.py", "# ", "decide(row)")):
        lines = (tmp_path / "found" / name).read_text().split("\n")
        head = lines[: next(i for i, line in enumerate(lines) if not line.startswith(mark.strip()))]
        assert re.match(rf"{mark}\d{{4}}-\d\d-\d\d\. log\.csv: log of 500 rows, digest [0-9a-f]{{32}}\.$", head[0])
        assert head[1].startswith(f"{mark}milpcb")
        assert head[2] == f"{mark}It was asked to keep: 'call' for at most 40\u202f% of the rows."
        assert use in head[3]
    compile((tmp_path / "found/policy.py").read_text(), "policy.py", "exec")
