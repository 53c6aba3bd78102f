"""``milpcb learn``: weights of rows, probabilities and prices by action, and options that are given twice."""

from contextlib import nullcontext

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from milpcb.cli import cli
from milpcb.errors import InputError
from milpcb.estimators import LoggedPolicyTree, parity, share_at_most
from milpcb.logs.findings import Asked
from milpcb.logs.learning import find
from milpcb.logs.source import Columns, make_source

N = 400


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


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Return a file of the log; a Parquet file is beside it."""
    path = tmp_path_factory.mktemp("rows") / "log.csv"
    made().write_csv(path)
    made().write_parquet(path.with_suffix(".parquet"))
    return path


def asked(log, *options):
    """Run ``milpcb learn`` without claims, and return what it prints."""
    known = ["--action", "done", "--reward", "y", "--method", "snips", "--draws", "0", "--resamples", "0"]
    rest = [*options, "--out", str(log.parent / "out")]
    done = CliRunner().invoke(cli, ["learn", str(log), *known, *rest], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.output


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
    assert one.evaluation.value.value == pytest.approx(other.evaluation.value.value)
    assert one.evaluation.gain.value == pytest.approx(other.evaluation.gain.value)
    assert one.claims.gain.value == pytest.approx(other.claims.gain.value)
    assert one.reference.probabilities == pytest.approx(other.reference.probabilities)
    assert [(kept.asked, kept.does) for kept in one.asked] == [(kept.asked, kept.does) for kept in other.asked]
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
    assert result.held_out.constants["wait"].value == pytest.approx(truth)


def test_weights_reach_the_command_and_are_said(log):
    """They are no feature; the note names them; a log that is evaluated has them too."""
    said = asked(log, "--randomised", "--weight", "w", "--depth", "0", "--leave-out", "price")
    assert "note: rows count by 'w'," in said
    frame = made()
    mean = {}
    for name in ("treat", "wait"):
        own = frame.filter(pl.col("done") == name)
        mean[name] = np.average(own["y"], weights=own["w"])
    assert f"{mean['treat']:.2f}" in said
    policy = str(log.parent / "out" / "policy.json")
    options = ["evaluate", str(log), policy, "--action", "done", "--reward", "y", "--randomised", "--method", "snips"]
    shown = CliRunner().invoke(cli, [*options, "--weight", "w"], standalone_mode=False).output
    assert f"{mean['wait']:.2f}".replace("-", "\N{MINUS SIGN}") in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--weight", "y"), r"log.csv, row \d+: 'y' is -.*; no row weighs less than 0"),
        (("--weight", "sex"), "column 'sex' must hold numbers, and holds"),
        (("--weight", "ww"), "unknown column of log.csv: 'ww'"),
        (("--weight", "w", "--features", "age,w"), "column 'w' is the action, outcome, propensity or weight"),
        (("--treatment-cost", "treat=prise"), "unknown column of 'treat=prise', and no number: 'prise'; did you mean"),
        (("--depth", "1", "--depth", "2"), "option --depth is given 2 times, and takes one value"),
        (("--depth", "1", "--max-depth", "2"), "--depth is short for --max-depth: give one of them"),
        (("--max-leaves", "2", "--max_leaves=3"), "option --max-leaves is given twice"),
        (("--in-memory", "--one-pass"), "option --one-pass is given 2 times"),
    ],
)
def test_options_that_do_not_fit_are_one_line(log, options, message):
    """Weights, prices, and whatever is given twice."""
    with pytest.raises(InputError, match=message):
        asked(log, "--randomised", *options)


@pytest.mark.parametrize(
    "line",
    [
        ("run", "a.toml", "--out", "a", "--out", "b"),
        ("evaluate", "log.csv", "--level", "0.9", "--level", "0.8"),
        ("solve", "a.csv", "b.csv", "--kind", "milp", "--kind", "search"),
    ],
)
def test_no_command_takes_the_last_of_two_values(line, tmp_path, monkeypatch):
    """Options that take one value are refused twice, before anything is read."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.toml", "a.csv", "b.csv", "log.csv"):
        (tmp_path / name).write_text("")
    done = CliRunner().invoke(cli, line, standalone_mode=False)
    assert "2 times, and takes one value" in str(done.exception)


def test_features_add_up(log):
    """--features a --features b,c are all three, each once."""
    asked(log, "--randomised", "--features", "age", "--features", "sex, age", "--depth", "2", "--thresholds", "3")
    source = make_source("log", made(), Columns("done", "y", maximise=True, randomised=True, features=("age", "sex")))
    from milpcb.estimators import from_json

    kept = from_json((log.parent / "out" / "policy.json").read_text())
    assert list(kept.feature_names_in_) == source.frame.columns == ["age", "sex"]


@pytest.mark.parametrize("one_pass", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        ("treat=p_treat", "wait=p_wait"),
        ("wait=p_wait, treat=p_treat",),
    ],
)
def test_probabilities_by_action(log, given, one_pass):
    """ACTION=COLUMN in any order, each by itself or with commas between: the mean of y / p over all rows, by ips."""
    way = ("--one-pass",) if one_pass else ("--draws", "0", "--resamples", "0")
    path = log.with_suffix(".parquet") if one_pass else log
    known = ("--action", "done", "--reward", "y", "--method", "ips", "--features", "age", "--depth", "0")
    pairs = [part for pair in given for part in ("--propensity", pair)]
    rest = ("--out", str(log.parent / f"by{one_pass}"))
    done = CliRunner().invoke(cli, ["learn", str(path), *known, *pairs, *way, *rest], standalone_mode=False)
    assert done.exception is None, done.exception
    frame = made()
    own = frame["done"].to_numpy() == "treat"
    assert f"{(frame['y'].to_numpy() * own / 0.25).mean():.2f}"[:4] in done.output


@pytest.mark.parametrize("one_pass", [False, True])
def test_columns_of_probabilities_without_actions_are_refused(log, one_pass):
    """The order of texts is nobody's; with the actions listed in the same order it is theirs."""
    path = log.with_suffix(".parquet") if one_pass else log
    known = ["learn", str(path), "--action", "done", "--reward", "y", "--method", "ips"]
    known += ["--propensity", "p_wait", "--propensity", "p_treat"]
    known += ["--one-pass"] if one_pass else ["--draws", "0", "--resamples", "0"]
    known += ["--features", "age", "--depth", "0", "--out", str(log.parent / f"no{one_pass}")]
    done = CliRunner().invoke(cli, known, standalone_mode=False)
    assert "of actions that are not named: name the action of each" in str(done.exception)
    listed = CliRunner().invoke(cli, [*known, "--actions", "wait,treat"], standalone_mode=False)
    assert listed.exception is None
    frame = made()
    own = frame["done"].to_numpy() == "treat"
    assert f"{(frame['y'].to_numpy() * own / 0.25).mean():.2f}"[:4] in listed.output


def test_prices_by_row_are_a_column(log):
    """The value of treating all is less by the mean price; the page says where the price comes from."""
    said = asked(log, "--randomised", "--treatment-cost", "treat=price", "--depth", "0", "--features", "age")
    frame = made()
    treated = frame.filter(pl.col("done") == "treat")["y"].mean() - frame["price"].mean()
    assert f"{treated:.2f}".replace("-", "\N{MINUS SIGN}") in said
    assert "'treat' costs the amount in 'price' besides its outcome" in said


def test_one_pass_refuses_weights_and_prices_by_row(log):
    """The sums know neither; one line says so."""
    path = str(log.with_suffix(".parquet"))
    known = ["learn", path, "--action", "done", "--reward", "y", "--randomised", "--one-pass"]
    known += ["--out", str(log.parent / "none")]
    before = sorted(log.parent.iterdir())
    for option, message in (
        (["--weight", "w"], "--weight needs the rows themselves"),
        (["--treatment-cost", "treat=price"], "treatment_cost by row needs the rows themselves"),
    ):
        done = CliRunner().invoke(cli, [*known, *option], standalone_mode=False)
        assert message in str(done.exception)
        assert sorted(log.parent.iterdir()) == before


def test_batches_take_probabilities_by_action():
    """A mapping from actions to columns; a list only with the actions listed, or where columns are called as they."""
    frame = made()
    own = frame["done"].to_numpy() == "treat"
    truth = (frame["y"].to_numpy() * own / 0.25).mean()

    def fitted(table=frame, **options):
        tree = LoggedPolicyTree(max_depth=0, method="ips", thresholds=3, features=["age"])
        tree.fit_batches([table], action="done", reward="y", features=["age"], **options)
        return tree.constant_values_[tree.actions_.tolist().index("treat")]

    assert fitted(propensity={"wait": "p_wait", "treat": "p_treat"}) == pytest.approx(truth)
    assert fitted(propensity=["p_wait", "p_treat"], actions=["wait", "treat"]) == pytest.approx(truth)
    named = frame.rename({"p_wait": "wait", "p_treat": "treat"})
    assert fitted(named, propensity=["wait", "treat"]) == pytest.approx(truth)
    with pytest.raises(InputError, match="of actions that are not named"):
        fitted(propensity=["p_wait", "p_treat"])
    with pytest.raises(InputError, match="the actions of propensity are"):
        fitted(propensity={"wait": "p_wait", "cure": "p_treat"})
    with pytest.raises(InputError, match="propensity has 3 columns for the 2 actions"):
        fitted(propensity=["p_wait", "p_treat", "y"], actions=["wait", "treat"])
