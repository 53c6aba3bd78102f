"""``milpcb learn``: weights of rows, probabilities and prices by action."""

from contextlib import nullcontext

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InputError
from milpcb.estimators import LoggedPolicyTree, parity, share_at_most
from milpcb.estimators.inputs import Columns
from milpcb.logs.findings import Asked
from milpcb.logs.learning import find
from milpcb.logs.source import make_source
from milpcb.policies import from_json
from tests.learned import NO_CLAIMS, command

N = 400
KNOWN = ("--action", "done", "--reward", "y")
SNIPS = (*KNOWN, "--randomised", "--method", "snips", *NO_CLAIMS)


def made():
    """Return a log of two actions, with weights 0 to 3, a price for each row, and even chances."""
    rng = np.random.default_rng(0)
    age, done = rng.integers(18, 80, N), rng.choice(["wait", "treat"], N)
    y = (done == "treat") * ((age > 50) - 0.2) + rng.normal(0, 0.5, N)
    return pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], N),
            "done": done,
            "y": y,
            "w": rng.integers(0, 4, N),
            "price": np.where(age > 65, 5.0, 0.0),
            "p_treat": np.full(N, 0.25),
            "p_wait": np.full(N, 0.75),
        }
    )


def signed(number):
    """Return a number as it is printed."""
    return f"{number:.2f}".replace("-", "\N{MINUS SIGN}")


def found(frame, weight, **options):
    """Return the findings on a frame, by code."""
    columns = Columns("done", "y", maximise=True, randomised=True, features=("age", "sex"), weight=weight)
    tree = LoggedPolicyTree(
        max_depth=1, method="snips", thresholds=[[40, 50, 60], [0.5]], features=["age", "sex"],
        constraints=[share_at_most("treat", 0.4), parity("treat", "sex", 0.3)],
    )  # fmt: skip
    source = make_source("log", frame, columns)
    return find(source, tree, Asked(draws=40, resamples=0, **options), lambda _: nullcontext(lambda *_: None))


def test_a_weight_of_2_is_the_row_twice_in_all_means():
    """The rule, its value and gain, the reference, the constraints: as on a log in which rows are repeated."""
    frame = made()
    frame = frame.with_columns(pl.when(pl.col("age") > 60).then(4).otherwise(1).alias("w"))
    repeated = frame[np.repeat(np.arange(N), frame["w"]).tolist()]
    one, other = found(frame, "w"), found(repeated, "")
    assert str(one.estimator.policy_) == str(other.estimator.policy_)
    assert str(one.estimator.policy_) != str(found(frame, "").estimator.policy_)
    assert one.evaluation.value.estimate == pytest.approx(other.evaluation.value.estimate)
    assert one.evaluation.gain.estimate == pytest.approx(other.evaluation.gain.estimate)
    assert one.claims.gain.estimate == pytest.approx(other.claims.gain.estimate)
    assert one.reference.probabilities == pytest.approx(other.reference.probabilities)
    assert [kept[:2] for kept in one.asked] == [kept[:2] for kept in other.asked]
    assert one.evaluation.value.standard_error > other.evaluation.value.standard_error  # fewer rows were seen


def test_rows_kept_aside_have_their_weights():
    """Held-out values are weighted means over the rows aside."""
    frame = made().with_columns(pl.col("w") + 1)
    result = found(frame, "w", holdout=0.5)
    rows = np.setdiff1d(np.arange(N), result.learnt.numbers)
    weight = frame["w"].to_numpy()[rows].astype(float)
    here = frame[rows.tolist()]
    done, y = (here["done"] == "wait").to_numpy(), here["y"].to_numpy()
    truth = np.average(y[done], weights=weight[done])
    assert result.held_out.constants["wait"].estimate == pytest.approx(truth)


def test_weights_reach_the_command(learnt, monkeypatch):
    """They are no feature; a log that is evaluated has them too."""
    said, frame = learnt(made(), *SNIPS, "--weight", "w", "--depth", "0", "--leave-out", "price"), made()
    own = {name: frame.filter(pl.col("done") == name) for name in ("treat", "wait")}
    mean = {name: np.average(rows["y"], weights=rows["w"]) for name, rows in own.items()}
    assert f"{mean['treat']:.2f}" in said.printed
    monkeypatch.chdir(said.folder.parent)
    options = (*KNOWN, "--randomised", "--method", "snips", "--weight", "w")
    assert signed(mean["wait"]) in command("evaluate", "log.csv", "found/policy.json", *options).output


def test_features_add_up(learnt):
    """--features a --features b,c are all three, each once."""
    found = learnt(made(), *SNIPS, "--features", "age", "--features", "sex, age", "--thresholds", "3")
    assert from_json((found.folder / "policy.json").read_text()).schema.names == ("age", "sex")


@pytest.mark.parametrize("one_pass", [False, True])
@pytest.mark.parametrize(
    "given",
    [("--propensity", "treat=p_treat", "--propensity", "wait=p_wait"), ("--propensity", "wait=p_wait, treat=p_treat")],
)
@pytest.mark.usefixtures("sketches")
def test_probabilities_by_action(given, one_pass, tmp_path, monkeypatch):
    """ACTION=COLUMN in any order: the mean of y / p over all rows, by ips."""
    monkeypatch.chdir(tmp_path)
    frame, way = made(), ("--one-pass",) if one_pass else NO_CLAIMS
    name = "log.parquet" if one_pass else "log.csv"
    (frame.write_parquet if one_pass else frame.write_csv)(name)
    known = ("learn", name, *KNOWN, "--method", "ips", "--features", "age", "--depth", "0", *way, "--out", "found")
    own = frame["done"].to_numpy() == "treat"
    assert f"{(frame['y'].to_numpy() * own / 0.25).mean():.2f}"[:4] in command(*known, *given).output
    if one_pass:
        with pytest.raises(InputError, match="of actions that are not named: name the action of each"):
            command(*known, "--propensity", "p_wait", "--propensity", "p_treat")


def test_prices_by_row_are_a_column(learnt):
    """The value of treating all is less by the mean price; the page says where the price comes from."""
    frame = made()
    said = learnt(frame, *SNIPS, "--treatment-cost", "treat=price", "--depth", "0", "--features", "age").printed
    treated = frame.filter(pl.col("done") == "treat")["y"].mean() - frame["price"].mean()
    assert signed(treated) in said
    assert "'treat' costs the amount in 'price' besides its outcome" in said
