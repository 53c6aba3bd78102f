"""``milpcb evaluate`` knows what ``milpcb learn`` did: columns, missing marks, treatment costs, unit, and which way."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from milpcb.cli import cli
from milpcb.commands import console
from milpcb.errors import InputError
from milpcb.estimators import from_json
from milpcb.offline import evaluate, read_log, scores
from milpcb.offline.log import kept_aside

ACTION = ("--action", "treat")
WAYS = (*ACTION, "--randomised")
QUICK = ("--depth", "1", "--draws", "0", "--resamples", "0", "--out", "found")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command in an empty folder and returns what it prints, but how long it took."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "FIRST", 1e6)

    def ran(*arguments):
        done = CliRunner().invoke(cli, list(arguments), standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return done.output

    return ran


def log(seed, n=600):
    """Return a log in which treating pays by 1 above an age of 50; "later" is known afterwards only."""
    rng = np.random.default_rng(seed)
    age, treat = rng.integers(18, 80, n), rng.integers(0, 2, n)
    earned = treat * np.where(age > 50, 1.0, -1.0) + rng.normal(size=n)
    return pl.DataFrame(
        {
            "age": age,
            "ward": np.array(["7", "02", "11"])[rng.integers(0, 3, n)],
            "later": earned + 0.5 * rng.normal(size=n),
            "treat": np.array(["no", "yes"])[treat],
            "earned": earned,
            "well": (earned > 0).astype(int),
        }
    )


def direct(frame, policy, features, outcome="earned", propensity="randomised", **options):
    """Return the evaluation of a policy by the library itself."""
    numbers = frame.select(pl.col(name).rank("dense") for name in features).to_numpy()
    known = read_log(numbers, frame["treat"].to_numpy(), reward=frame[outcome].to_numpy(), propensity=propensity)
    return evaluate(scores(known, **options), np.array(["no", "yes"])[(frame["age"] > policy).cast(int)])


def test_a_string_that_no_row_had_is_reported(run):
    """The policy plays all the same, and a note counts its rows."""
    first, second = log(0), log(1).with_columns(ward=pl.when(pl.col("ward") == "7").then(pl.lit("9")).otherwise("ward"))
    first.write_csv("first.csv")
    second.write_csv("second.csv")
    run("learn", "first.csv", *WAYS, "--reward", "earned", "--features", "age,ward", *QUICK)
    rows = (second["ward"] == "9").sum()
    said = " ".join(run("evaluate", "second.csv", "found/policy.json", "--randomised").split())
    assert f"note: 'ward' has a value in {rows} rows that no test of the policy knows, such as '9'." in said
    assert "note: 'ward' has" not in run("evaluate", "first.csv", "found/policy.json", "--randomised")


def cut(run, *options):
    """Learn from a first log, and return the age above which the rule treats."""
    log(0).write_csv("first.csv")
    run("learn", "first.csv", *WAYS, *QUICK, *options)
    log(1).write_csv("second.csv")
    first = Path("found/policy.txt").read_text().splitlines()[0]
    return float(first.removeprefix("if age <= ").removesuffix(":"))


def test_columns_that_were_left_out_stay_so(run):
    """Models that read them would know what nobody knows beforehand: the values are those without them."""
    age = cut(run, "--reward", "earned", "--leave-out", "later", "--leave-out", "well")
    said = run("evaluate", "second.csv", "found/policy.json", *ACTION, "--reward", "earned")
    honest, other = (
        direct(log(1), age, names, propensity=None) for names in (("age", "ward"), ("age", "ward", "later", "well"))
    )
    assert honest.words()[0] in said
    assert other.words()[0] not in said
    asked = run("evaluate", "second.csv", "found/policy.json", *WAYS, "--reward", "earned", "--features", "age,later")
    assert "Models of outcomes do without 'ward', which was there when the policy was learnt" in asked
    assert "Models of outcomes read 'later', which was left out when the policy was learnt" in asked


def test_costs_of_treatment_are_taken_off(run):
    """Forgotten, they would make another rule of it; by another outcome they are not in its unit."""
    more = ("--reward", "earned", "--leave-out", "later", "--leave-out", "well", "--treatment-cost", "yes=0.5")
    age = cut(run, *more)
    said = run("evaluate", "second.csv", "found/policy.json", *WAYS, "--reward", "earned")
    charged = direct(log(1), age, ("age", "ward"), treatment_cost={"yes": 0.5})
    assert all(sentence in said for sentence in charged.words())
    assert "'yes' costs 0.5 besides its outcome" in said
    said = run("evaluate", "second.csv", "found/policy.json", *WAYS, "--reward", "well")
    assert "The policy was learnt for 'earned', and is evaluated by 'well', without what treatments cost." in said
    assert "costs 0.5" not in said


def test_the_unit_is_that_of_the_page(run):
    """Outcomes of 0 and 1 are so many of 100, and a word for the unit is kept."""
    age = cut(run, "--reward", "well", "--features", "age,ward")
    said = run("evaluate", "second.csv", "found/policy.json", *WAYS, "--reward", "well")
    value = direct(log(1), age, ("age", "ward"), "well").value
    assert "value, of 100" in said.replace("\n", " ")
    assert f"The policy gives {100 * value.value:.0f}" in said
    cut(run, "--reward", "earned", "--features", "age,ward", "--unit", "EUR")
    said = run("evaluate", "second.csv", "found/policy.json", *WAYS, "--reward", "earned")
    assert "in EUR" in said


@pytest.mark.parametrize("sign", ["--reward", "--cost"])
def test_what_was_done_and_what_came_of_it_need_not_be_named(run, sign):
    """The file knows both columns, and which way the outcome goes; a policy without its log does not."""
    cut(run, sign, "earned", "--features", "age,ward")
    named = run("evaluate", "second.csv", "found/policy.json", *WAYS, sign, "earned")
    assert run("evaluate", "second.csv", "found/policy.json", "--randomised") == named
    by_other = run("evaluate", "second.csv", "found/policy.json", "--randomised", "--reward", "well")
    assert by_other == run("evaluate", "second.csv", "found/policy.json", *WAYS, "--reward", "well")
    Path("bare.json").write_text(from_json(Path("found/policy.json").read_text()).policy_.to_json())
    with pytest.raises(InputError, match="--action"):
        run("evaluate", "second.csv", "bare.json", "--randomised")


@pytest.mark.parametrize(
    ("age", "sign", "words"),
    [
        ("age", "--cost", r"found/policy\.json was learnt with --reward earned; name the outcome so"),
        ("about " + pl.col("age").cast(pl.String), "--reward", "column 'age' is"),
        (pl.col("age").cast(pl.String) + " years", "--reward", "'age' .numbers with 'years'"),
        (pl.lit(1e120), "--reward", r"column 'age' is 1e\+120 in row 1, which is infinite or beyond"),
    ],
)
def test_a_log_that_the_policy_does_not_fit_is_refused(run, age, sign, words):
    """By the other sign of the outcome, by strings instead of numbers, by a number in the first row of a file."""
    cut(run, "--reward", "earned", "--features", "age,ward")
    log(1).with_columns(age=age).head(60).write_csv("second.csv")
    before = {file: file.read_bytes() for file in Path().rglob("*") if file.is_file()}
    with pytest.raises(InputError, match=words):
        run("evaluate", "second.csv", "found/policy.json", *WAYS, sign, "earned")
    assert {file: file.read_bytes() for file in Path().rglob("*") if file.is_file()} == before


def test_what_was_missing_is_missing_there(run):
    """Marks that were named need not be named again, and codes are strings where no 0 is in front."""
    frame = log(0).with_columns(age=pl.when(pl.int_range(pl.len()) % 9 == 0).then(-999).otherwise(pl.col("age")))
    frame.write_csv("first.csv")
    run("learn", "first.csv", *WAYS, *QUICK, "--reward", "earned", "--features", "age,ward", "--missing", "NA,-999")
    assert "missing" in Path("found/policy.txt").read_text()
    second = frame.head(300).with_columns(ward=pl.lit("7"))
    second.write_csv("marked.csv")
    second.with_columns(age=pl.col("age").replace(-999, None)).write_csv("empty.csv")
    marked, empty = (
        run("evaluate", name, "found/policy.json", *WAYS, "--reward", "earned") for name in ("marked.csv", "empty.csv")
    )
    assert "Read as missing: 'age' where it is -999 (34 rows)" in marked
    assert [line for line in marked.splitlines() if "gives" in line] == [
        line for line in empty.splitlines() if "gives" in line
    ]


def test_a_policy_without_its_log_reads_codes_as_it_did(run):
    """What policy.to_json() returned has no log, and knows which of its columns are strings."""
    paid = pl.col("treat").eq("yes").cast(float) * pl.col("ward").eq("7").cast(float)
    frame = log(0).with_columns(earned=paid)
    frame.write_csv("first.csv")
    more = ("--features", "age,ward", "--treatment-cost", "yes=0.1")
    run("learn", "first.csv", *WAYS, *QUICK, "--reward", "earned", *more)
    policy = from_json(Path("found/policy.json").read_text()).policy_
    Path("bare.json").write_text(policy.to_json())
    frame.filter(pl.col("ward") != "02").write_csv("second.csv")  # without a code that begins with 0
    said = run("evaluate", "second.csv", "bare.json", *WAYS, "--reward", "earned", "--features", "age,ward")
    found = frame.filter(pl.col("ward") != "02")
    played = np.where(found["ward"] == "7", "yes", "no")
    known = read_log(
        found.select("age").to_numpy(),
        found["treat"].to_numpy(),
        reward=found["earned"].to_numpy(),
        propensity="randomised",
    )
    value = evaluate(scores(known), played).value
    (line,) = [line for line in said.splitlines() if line.startswith("The policy gives ")]
    assert abs(float(line.split()[3]) - 100 * value.value) < 3


def test_rows_kept_aside_may_have_values_that_no_other_row_has(run):
    """Other spellings of a string are notes on the log, as where all are learnt from; a missing number is one line."""
    frame = log(0)
    odd = {3: "OLD", 50: "old ", 120: " Old", 260: "oLd", 400: None, 500: "N/A", 590: "n/a"}
    wards = [odd.get(row, "old" if row % 3 else "new") for row in range(600)]
    frame.with_columns(ward=pl.Series(wards)).write_csv("first.csv")
    assert "rows kept aside" in run("learn", "first.csv", *WAYS, *QUICK, "--reward", "earned", "--holdout", "0.3")
    tree = from_json(Path("found/policy.json").read_text())
    assert set(tree.schema_["ward"].values) == {*filter(None, wards)}
    assert tree.schema_["ward"].missing
    once = pl.when(pl.int_range(600) == 3).then(None).otherwise("age").alias("age")
    frame.with_columns(once).write_csv("first.csv")
    known = read_log(frame.select("age"), frame["treat"], reward=frame["earned"], propensity="randomised")
    seed = next(seed for seed in range(100) if kept_aside(known, 0.3, seed)[3])
    with pytest.raises(InputError, match="'age' is missing in rows kept aside and in none of the others, so no rule"):
        run("learn", "first.csv", *WAYS, *QUICK, "--reward", "earned", "--holdout", "0.3", "--seed", str(seed))
