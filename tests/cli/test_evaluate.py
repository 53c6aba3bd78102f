"""``milpcb evaluate`` knows what ``milpcb learn`` did: columns, missing marks, treatment costs, unit, and which way."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InputError
from milpcb.offline import evaluate, read_log, scores
from milpcb.offline.log import kept_aside
from milpcb.policies import from_json
from tests.learned import NO_CLAIMS, command

ACTION = ("--action", "treat")
WAYS = (*ACTION, "--randomised")
EARNED = (*WAYS, "--reward", "earned")
QUICK = ("--depth", "1", *NO_CLAIMS)
KEPT = ("--features", "age,ward")


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


FIRST, SECOND = log(0), log(1)


def asked(name, *options, policy="found/policy.json"):
    """Return what the command prints."""
    return command("evaluate", name, policy, *options).output


@pytest.fixture
def cut(learnt, monkeypatch):
    """Return ``cut(*options)``: learn from a first log, and return the age above which the rule treats.

    The folder is the current one then, with a second log.
    """

    def made(*options, frame=FIRST, ways=WAYS):
        found = learnt(frame, *ways, *QUICK, *options)
        monkeypatch.chdir(found.folder.parent)
        SECOND.write_csv("second.csv")
        first = Path("found/policy.txt").read_text().splitlines()[0]
        return float(first.removeprefix("if age <= ").partition(" ")[0].removesuffix(":")) if "age" in first else None

    return made


def direct(policy, features, outcome="earned", propensity="randomised", **options):
    """Return the evaluation of a policy on the second log by the library itself."""
    numbers = SECOND.select(pl.col(name).rank("dense") for name in features).to_numpy()
    paid = SECOND[outcome].to_numpy()
    known = read_log(numbers, SECOND["treat"].to_numpy(), reward=paid, propensity=propensity)
    return evaluate(scores(known, **options), np.array(["no", "yes"])[(SECOND["age"] > policy).cast(int)])


def test_columns_that_were_left_out_stay_so(cut):
    """Models that read them would know what nobody knows beforehand: the values are those without them."""
    age = cut("--reward", "earned", "--leave-out", "later", "--leave-out", "well")
    said = asked("second.csv", *ACTION, "--reward", "earned")
    honest, other = (
        direct(age, names, propensity=None) for names in (("age", "ward"), ("age", "ward", "later", "well"))
    )
    assert honest.words()[0] in said
    assert other.words()[0] not in said
    with pytest.raises(InputError, match=r"policy\.json was learnt from other columns"):
        asked("second.csv", *EARNED, "--features", "age,later")


def test_costs_of_treatment_are_taken_off(cut):
    """Forgotten, they would make another rule of it; by another outcome they are not in its unit."""
    age = cut("--reward", "earned", *KEPT, "--treatment-cost", "yes=0.5")
    said = asked("second.csv", *EARNED)
    assert all(sentence in said for sentence in direct(age, ("age", "ward"), treatment_cost={"yes": 0.5}).words())
    assert "'yes' costs 0.5 besides its outcome" in said
    said = asked("second.csv", *WAYS, "--reward", "well")
    assert "the policy was learnt for 'earned', and is evaluated by 'well', without what treatments cost." in said
    assert "costs 0.5" not in said


def test_the_unit_is_that_of_the_page(cut):
    """Outcomes of 0 and 1 are so many of 100, and a word for the unit is kept."""
    age = cut("--reward", "well", *KEPT)
    said = asked("second.csv", *WAYS, "--reward", "well")
    assert "value, of 100" in said.replace("\n", " ")
    assert f"The policy gives {100 * direct(age, ('age', 'ward'), 'well').value.estimate:.0f}" in said
    cut("--reward", "earned", *KEPT, "--unit", "EUR")
    assert "in EUR" in asked("second.csv", *EARNED)


@pytest.mark.parametrize("sign", ["--reward", "--cost"])
def test_what_was_done_and_what_came_of_it_need_not_be_named(cut, sign):
    """The file knows both columns, and which way the outcome goes; a policy without its log does not."""
    cut(sign, "earned", *KEPT)
    assert asked("second.csv", "--randomised") == asked("second.csv", *WAYS, sign, "earned")
    by_other = asked("second.csv", "--randomised", "--reward", "well")
    assert by_other == asked("second.csv", *WAYS, "--reward", "well")
    Path("bare.json").write_text(from_json(Path("found/policy.json").read_text()).to_json())
    with pytest.raises(InputError, match="--action"):
        asked("second.csv", "--randomised", policy="bare.json")


@pytest.mark.parametrize(
    ("age", "sign", "words"),
    [
        ("age", "--cost", r"found/policy\.json was learnt with --reward earned; name the outcome so"),
        ("about " + pl.col("age").cast(pl.String), "--reward", "column 'age' is"),
        (pl.lit(1e120), "--reward", r"column 'age' is 1e\+120 in row 1, which is infinite or beyond"),
    ],
)
def test_a_log_that_the_policy_does_not_fit_is_refused(cut, age, sign, words):
    """By the other sign of the outcome, by strings instead of numbers, by a number in the first row of a file."""
    cut("--reward", "earned", *KEPT)
    SECOND.with_columns(age=age).head(60).write_csv("unfit.csv")
    with pytest.raises(InputError, match=words):
        asked("unfit.csv", *WAYS, sign, "earned")


def test_what_was_missing_is_missing_there(cut):
    """Marks that were named need not be named again, and codes are strings where no 0 is in front."""
    frame = FIRST.with_columns(age=pl.when(pl.int_range(pl.len()) % 9 == 0).then(-999).otherwise(pl.col("age")))
    cut("--reward", "earned", *KEPT, "--missing", "NA,-999", frame=frame)
    assert "missing" in Path("found/policy.txt").read_text()
    second = frame.head(300).with_columns(ward=pl.lit("7"))
    second.write_csv("marked.csv")
    second.with_columns(age=pl.col("age").replace(-999, None)).write_csv("empty.csv")
    marked, empty = (asked(name, *EARNED) for name in ("marked.csv", "empty.csv"))
    assert "Read as missing: 'age' where it is -999 (34 rows)" in marked
    found = [[line for line in said.splitlines() if "gives" in line] for said in (marked, empty)]
    assert found[0] == found[1] != []


def test_a_policy_without_its_log_reads_codes_as_it_did(cut):
    """The document of policy.to_json() has no log, and knows which of its columns are strings."""
    paid = pl.col("treat").eq("yes").cast(float) * pl.col("ward").eq("7").cast(float)
    frame = FIRST.with_columns(earned=paid)
    cut("--reward", "earned", *KEPT, "--treatment-cost", "yes=0.1", frame=frame)
    Path("bare.json").write_text(from_json(Path("found/policy.json").read_text()).to_json())
    found = frame.filter(pl.col("ward") != "02")  # without a code that begins with 0
    found.write_csv("second.csv")
    said = asked("second.csv", *EARNED, *KEPT, policy="bare.json")
    done, earned = found["treat"].to_numpy(), found["earned"].to_numpy()
    known = read_log(found.select("age").to_numpy(), done, reward=earned, propensity="randomised")
    value = evaluate(scores(known), np.where(found["ward"] == "7", "yes", "no")).value
    (line,) = [line for line in said.splitlines() if line.startswith("The policy gives ")]
    assert abs(float(line.split()[3]) - 100 * value.estimate) < 3


def test_rows_kept_aside_may_have_values_that_no_other_row_has(learnt):
    """Other spellings of a string, as where all are learnt from."""
    odd = {3: "OLD", 50: "old ", 120: " Old", 260: "oLd", 400: None, 500: "N/A", 590: "n/a"}
    wards = [odd.get(row, "old" if row % 3 else "new") for row in range(600)]
    found = learnt(FIRST.with_columns(ward=pl.Series(wards)), *EARNED, *QUICK, "--holdout", "0.3")
    assert "hold-out rows" in found.printed
    tree = from_json((found.folder / "policy.json").read_text())
    assert set(tree.schema["ward"].values) == {*filter(None, wards)}
    assert tree.schema["ward"].missing
    known = read_log(FIRST.select("age"), FIRST["treat"], reward=FIRST["earned"], propensity="randomised")
    seed = next(seed for seed in range(100) if kept_aside(known, 0.3, seed)[3])
    frame = FIRST.with_columns(age=pl.when(pl.int_range(600) == 3).then(None).otherwise("age"))
    with pytest.raises(InputError, match="column 'age' is missing in row 1: it never was when the policy was learnt"):
        learnt(frame, *EARNED, *QUICK, "--holdout", "0.3", "--seed", str(seed))
