"""``milpcb learn`` adds up the files of a log in one pass."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InputError, MilpcbError
from milpcb.estimators import LoggedPolicyTree
from milpcb.estimators.inputs import Columns
from milpcb.estimators.one_pass import Layout
from milpcb.logs import files
from milpcb.logs.files import log_files, sample_of
from milpcb.logs.findings import Asked, Findings
from milpcb.logs.learning import aside_in_pass, claims_of, learn_in_one_pass, value_of
from milpcb.offline import IntervalEstimate, State, evaluate
from milpcb.offline.sufficient_statistics import Statistics
from tests import learned

COLUMNS = Columns("done", "y", maximise=True, propensity=("p",))
ASKED = ["--action", "done", "--reward", "y", "--propensity", "p", "--thresholds", "4", "--one-pass"]


def rows(n: int, seed: int) -> pl.DataFrame:
    """Return a log with whole scores: outcomes are whole, and propensities halves and quarters."""
    rng = np.random.default_rng(seed)
    x, z, done = rng.normal(size=n), rng.integers(0, 9, n), rng.integers(0, 3, n)
    helps = np.where((x > 0) & (z < 6), done == 1, done == 2)
    y = np.round(2 * helps + rng.normal(size=n))
    names = np.array(["call", "mail", "none"])
    p = rng.choice([0.25, 0.5], n)
    return pl.DataFrame({"x": x, "z": z, "place": rng.choice(["a", "b"], n), "done": names[done], "y": y, "p": p})


def seven(folder: Path) -> Path:
    """Write seven files into a new folder, and return it."""
    folder.mkdir()
    for number in range(7):
        rows(60 + number, number).write_parquet(folder / f"part{number}.parquet")
    return folder


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return a folder of seven files."""
    return seven(tmp_path / "logs")


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same for tests that leave it as it is."""
    return seven(tmp_path_factory.mktemp("fixed") / "logs")


@pytest.fixture(scope="module")
def found(fixed: Path) -> Findings:
    """Return what is learnt from it."""
    return learnt(fixed)


def learner() -> LoggedPolicyTree:
    """Return a learner, not fitted."""
    return LoggedPolicyTree(method="ips", thresholds=4)


def summed(folder: Path) -> tuple[Layout, Statistics, Any]:
    """Return the cells of a log, the sums over its rows, and the rows themselves."""
    found = log_files(folder)
    frame = found.frame()
    layout = learner().layout(frame, COLUMNS, np.arange(len(frame)), np.arange(len(frame)))
    sums = layout.empty()
    layout.add(frame, 0, (sums, slice(None)))
    return layout, sums, frame


def learnt(folder: Path, tree: Any = None, **asked: Any) -> Findings:
    """Learn from a folder."""
    found = log_files(folder)
    source = sample_of(found, COLUMNS, lambda *_: None)
    step = lambda _: nullcontext(lambda *_: None)  # noqa: E731
    return learn_in_one_pass(found, source, tree or learner(), Asked(**asked), step)


def assert_alike(one: IntervalEstimate, other: IntervalEstimate) -> None:
    """Two estimates, their errors and their ends are equal."""
    assert vars(one) == pytest.approx(vars(other), abs=1e-12)


def command(log: Path, out: Path, *options: str) -> str:
    """Run ``milpcb learn`` and return what it prints."""
    return str(learned.command("learn", str(log), *options, "--out", str(out)).output)


def test_claims_are_bernstein_s_for_all_rules_at_once(fixed: Path, found: Findings) -> None:
    """The interval of the value is the empirical Bernstein bound at the level that the number of rules leaves."""
    whole = log_files(fixed).frame()
    X, K = whole.select("x", "z", "place"), 3
    in_memory = learner().fit(X, whole["done"], reward=whole["y"], propensity=whole["p"].to_numpy())
    scores = in_memory.scores_.table[np.arange(len(whole)), in_memory.policy_.predict(X)]
    level = 1 - 0.05 / (np.exp(found.claims.log_size) * K)
    n, each = len(scores), np.log(4 / (1 - level))
    reach = np.sqrt(2 * each / n) * scores.std(ddof=1) + 7 * found.learnt.ranges.entry * each / (3 * (n - 1))
    ends = scores.mean() - reach, scores.mean() + reach
    assert (found.claims.value.lower, found.claims.value.upper) == pytest.approx(ends, rel=1e-6)
    assert found.claims.log_size > 5
    assert found.claims.most >= found.claims.gain.estimate


def test_rows_kept_aside_have_ordinary_intervals(fixed: Path, found: Findings) -> None:
    """Values and gains, of all constants and in each part too, have the ends that an evaluation of the rows has."""
    whole = log_files(fixed).frame()
    X = whole.select("x", "z", "place")
    in_memory = learner().fit(X, whole["done"], reward=whole["y"], propensity=whole["p"].to_numpy())
    seen = evaluate(in_memory.scores_, found.estimator.policy_, contexts=X)
    layout = summed(fixed)[0]
    own = value_of(found.estimator, layout, found.learnt, 0.95)
    for name in ("value", "gain", "logged", "reference_value"):
        assert_alike(getattr(own, name), getattr(seen, name))
    for name, value in seen.constants.items():
        assert_alike(own.constants[name], value)
        assert_alike(own.gain_over[name], seen.gain_over[name])
    for one, other in zip(own.leaves, seen.leaves, strict=True):
        assert (one.part, one.name, one.share) == (other.part, other.name, pytest.approx(other.share))
        assert_alike(one.value, other.value)
        assert_alike(one.gain, other.gain)


def test_no_rule_gains_more_than_what_is_claimed(fixed: Path, found: Findings) -> None:
    """Of other rules, drawn at random from the class, none has a gain whose interval ends beyond the most claimed."""
    layout = summed(fixed)[0]
    contexts, rng = layout.contexts(found.learnt.codes), np.random.default_rng(0)
    claims = claims_of(found.estimator, contexts, 0.95)
    each, best = np.log(4 / 0.05) + claims.log_size + np.log(3), found.learnt.best_action
    beyond = 7 * each / (3 * (found.learnt.n - 1)) * found.learnt.ranges.difference
    for _ in range(200):
        f, g, h = rng.integers(0, contexts.shape[1], 3)
        right = contexts[:, f] > rng.choice(contexts[:, f])
        below = np.where(
            right, contexts[:, g] > rng.choice(contexts[:, g]), contexts[:, h] > rng.choice(contexts[:, h])
        )
        played = rng.integers(0, 3, 4)[2 * right + below]
        gain, error = found.learnt.gain(played, best)
        assert gain + np.sqrt(2 * each) * error + beyond <= claims.most + 1e-9


def test_propensities_that_do_not_fit_decide_nothing(tmp_path: Path) -> None:
    """A gain is shown by enough rows, and by none where all propensities are half of what they were."""
    for factor, state in ((1.0, State.TARGET), (0.5, State.EARLY)):
        rows(6000, 0).with_columns(p=pl.col("p") * factor).write_parquet(tmp_path / "log.parquet")
        found = learnt(tmp_path)
        assert found.claims.gain.lower > 0
        assert found.claims.state == state


def test_rows_kept_aside_are_drawn_by_their_place(fixed: Path) -> None:
    """About a share of the rows is kept aside, others with another seed; both parts together are the log."""
    layout, everything, frame = summed(fixed)
    both = []
    for seed in (0, 1):
        aside = aside_in_pass(np.arange(len(frame)), Asked(holdout=0.3, seed=seed))
        both.append([layout.empty(), layout.empty()])
        layout.add(frame, 0, *zip(both[-1], (~aside, aside), strict=True))
    for kept, aside in both:
        assert np.array_equal(kept.cells + aside.cells, everything.cells)  # whole scores: sums are exact
        assert 0.2 < len(aside) / len(everything) < 0.4
    assert not np.array_equal(both[0][1].cells, both[1][1].cells)


def test_models_are_not_fitted_to_rows_kept_aside(logs: Path) -> None:
    """Doubly robust scores of the others stay as they are, whatever came of these rows."""
    tree, asked = LoggedPolicyTree(thresholds=4), Asked(holdout=0.3)
    before, number = learnt(logs, tree, holdout=0.3), 0
    for path in sorted(logs.iterdir()):
        frame = pl.read_parquet(path)
        aside = aside_in_pass(number + np.arange(len(frame)), asked)
        frame.with_columns(y=pl.col("y") + 7.0 * aside).write_parquet(path)
        number += len(frame)
    after = learnt(logs, tree, holdout=0.3)
    assert np.array_equal(before.learnt.scores, after.learnt.scores)
    assert before.held_out.value.estimate < after.held_out.value.estimate - 5


@pytest.mark.usefixtures("sketches")
@pytest.mark.parametrize("log", ["part[0-6].parquet", "."])
def test_the_command_takes_patterns_and_folders(logs: Path, tmp_path: Path, log: str) -> None:
    """A pattern and a folder are learnt from in one pass; the folder has page and policy."""
    out = tmp_path / "out"
    assert "in the hold-out rows" in (
        printed := command(logs / log, out, *ASKED, "--holdout", "0.3", "--unit", "$").replace("\n", " ")
    )
    assert " $ " in printed
    assert {"report.html", "policy.json", "policy.sql"} <= {path.name for path in out.iterdir()}
    page = (out / "report.html").read_text()
    assert "this rule, hold-out rows" in page
    assert "read in one pass" in page


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--at-most", "call=0.2"], "--at-most needs the rows themselves"),
        (["--draws", "10"], "--draws needs the rows themselves"),
        (["--treatment-cost", "call=z"], "treatment_cost by row needs the rows themselves"),
        (["--method", "dm"], "method of sums over batches 'dm'"),
        (["--thresholds", "all"], "every cut"),
        (["--holdout", "2"], "holdout"),
    ],
)
def test_what_one_pass_cannot_know_is_refused(fixed: Path, tmp_path: Path, more: list[str], words: str) -> None:
    """One line names the option, and nothing is written."""
    with pytest.raises(MilpcbError, match=words):
        command(fixed, tmp_path / "out", *ASKED[:6], "--one-pass", *more)
    assert not (tmp_path / "out").exists()


def wrong_row(logs: Path, column: str, value: float | None) -> Path:
    """Return the folder with a wrong value in the last file."""
    frame = rows(60, 5)
    frame[53, column] = value
    frame.write_parquet(logs / "part5.parquet")
    return logs


def damaged(logs: Path) -> Path:
    """Return the folder with a file of zeros between its marks."""
    content = (logs / "part4.parquet").read_bytes()
    (logs / "part4.parquet").write_bytes(b"PAR1" + bytes(len(content) - 8) + content[-4:])
    return logs


def beside(folder: Path, name: str) -> Path:
    """Return a folder with a CSV file."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("x,done,y,p\n1,a,2,0.5\n")
    return folder


def sampled(folder: Path) -> None:
    """Read the sample of a log."""
    sample_of(log_files(folder), COLUMNS, lambda *_: None)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda logs, _: sampled(wrong_row(logs, "y", None)), r"part5\.parquet, after 50 rows: row 4: 'y' is missing"),
        (lambda logs, out: command(wrong_row(logs, "x", 1e300), out, *ASKED), "column 'x' .* infinite or beyond"),
        (lambda logs, out: command(damaged(logs), out, *ASKED), r"part4\.parquet is no Parquet file, or a damaged one"),
        (lambda logs, out: command(beside(logs, "a.csv") / "a.csv", out, *ASKED), r"a\.csv is no Parq.*scan_csv"),
        (lambda logs, out: command(beside(logs / "none", "a.csv"), out, *ASKED), "none names no file"),
        (lambda logs, out: command(logs / "x*.parquet", out, *ASKED), r"x\*\.parquet names no file"),
        (
            lambda logs, out: command(logs, out, *(each for each in ASKED if each not in {"--propensity", "p"})),
            "known propensities",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_it(
    ask: Callable[[Path, Path], object], words: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing outcome with the rows before it, an absurd number, whether it is sampled or counted; other files."""
    monkeypatch.setattr(files, "PIECE", 50)
    with pytest.raises(InputError, match=words):
        ask(logs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
