"""``milpcb log``, ``learn`` and ``evaluate`` on a run: its rounds are those that its record was made from."""

import polars as pl
import pytest

MIXED = """\
[experiment]
name = "mixed"
horizon = 120
seeds = [0, 1]
[environment]
name = "planted"
n_contexts = 8
n_features = 3
[policies]
name = "decision_trees"
depth = 1
[oracle]
kind = "enumeration"
[[learners]]
name = "exp4"
[[learners]]
name = "uniform"
[[learners]]
name = "ftpl"
"""
ONE = ("--learner", "exp4", "--seed", "1")


@pytest.fixture(scope="module")
def ran(milpcb_, write, tmp_path_factory):
    """Return a folder with a finished run."""
    folder = tmp_path_factory.mktemp("log")
    write(folder, {"mixed.toml": MIXED})
    assert milpcb_(folder, "run", "mixed.toml", "--progress", "quiet", "--backend", "serial").returncode == 0
    return folder


@pytest.mark.parametrize("name", ["rounds.csv", "rounds.parquet"])
def test_a_log_certifies_as_the_record_says(name, ran, milpcb_):
    """The certificate of the written rounds is the last one of the curve, in every digit that is shown."""
    assert milpcb_(ran, "log", "runs/mixed", *ONE, "--out", name).returncode == 0
    curve = pl.read_csv(ran / "runs/mixed/curves.csv").filter((pl.col("learner") == "exp4") & (pl.col("seed") == 1))
    wanted = curve.sort("round").tail(1).row(0, named=True)
    done = milpcb_(ran, "certify", name, "--depth", "1", "--actions", "3", "--kind", "enumeration")
    shown = f"certificate: {wanted['certificate']:,.6g}   standard error: {wanted['certificate_error']:,.6g}"
    assert shown in done.stdout, done


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("--out", "a.csv"), ("differs in learner", "--learner 'exp4'")),
        (("--learner", "exp4", "--out", "a.csv"), ("differs in seed", "--seed '0'")),
        (("--learner", "exp", "--out", "a.csv"), ("unknown learner 'exp'", "exp4")),
        ((*ONE, "--out", "a.xlsx"), (".csv or .parquet",)),
    ],
)
def test_a_play_that_is_not_one_is_named(arguments, fragments, ran, milpcb_):
    """What to add, in one line; nothing is written."""
    done = milpcb_(ran, "log", "runs/mixed", *arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert all(fragment in done.stderr for fragment in fragments), done.stderr
    assert not (ran / "a.csv").exists()


def test_learning_from_a_run_is_learning_from_its_log(ran, milpcb_):
    """The same policy with the same figures, whether the rounds are read from a file or played again."""
    assert milpcb_(ran, "log", "runs/mixed", *ONE, "--out", "rounds.csv").returncode == 0
    columns = ("--action", "action", "--cost", "cost", "--propensity", "probability")
    play = ("--learner", "exp4", "--seed-of-run", "1")
    few = ("--depth", "1", "--draws", "20", "--resamples", "0")
    by_run = milpcb_(ran, "learn", "runs/mixed", *play, *few, "--out", "by_run")
    by_file = milpcb_(ran, "learn", "rounds.csv", *columns, *few, "--out", "by_file")
    assert (by_run.returncode, by_file.returncode) == (0, 0), (by_run, by_file)
    assert by_run.stdout.replace("by_run", "by_file") == by_file.stdout
    policies = [(ran / folder / "policy.json").read_text() for folder in ("by_run", "by_file")]
    assert policies[0] == policies[1]
    worth = milpcb_(ran, "evaluate", "runs/mixed", "by_run/policy.json", *play)
    assert (worth.returncode, worth.stdout) == (
        0,
        milpcb_(ran, "evaluate", "rounds.csv", "by_file/policy.json", *columns).stdout,
    )


@pytest.mark.parametrize("option", [("--cost", "cost"), ("--randomised",)])
def test_what_a_run_knows_is_not_asked_for(option, ran, milpcb_):
    """Columns are of files: with a run they are refused in one line."""
    done = milpcb_(ran, "evaluate", "runs/mixed", "--learner", "exp4", "--seed-of-run", "1", *option)
    errors = [line for line in done.stderr.splitlines() if line.startswith("milpcb: ")]
    assert (done.returncode, len(errors)) == (2, 1), done.stderr
    assert f"{option[0]} is for files" in errors[0]


def test_a_learner_that_hides_its_law_is_no_log_to_learn_from(ran, milpcb_):
    """A leader's q is 1 for the action drawn: scores weighed by it would be wrong, in silence."""
    done = milpcb_(ran, "learn", "runs/mixed", "--learner", "ftpl", "--seed-of-run", "1", "--out", "leader")
    errors = [line for line in done.stderr.splitlines() if line.startswith("milpcb: ")]
    assert (done.returncode, len(errors)) == (2, 1), done.stderr
    assert "draws within act" in errors[0]
    assert "--leave-out probability" in errors[0]


def test_a_play_without_a_record_is_refused(ran, milpcb_):
    """Rounds that no record vouches for are not written: the config says what would be played, not what was."""
    index = ran / "runs/mixed/cells"
    for record in index.glob("*.json"):
        record.unlink()
    done = milpcb_(ran, "log", "runs/mixed", *ONE, "--out", "b.csv")
    assert (done.returncode, "milpcb resume" in done.stderr) == (2, True)


def test_a_feature_that_is_called_like_a_column_is_refused(tmp_path, milpcb_, write, assert_one_line):
    """A column of the context would otherwise be written over by the costs that were paid."""
    replay = MIXED.replace('"planted"\nn_contexts = 8\nn_features = 3', '"replay"\ncontexts = "x.csv"\ncosts = "c.csv"')
    write(tmp_path, {"tiny.toml": replay.replace("horizon = 120\nseeds = [0, 1]", "horizon = 2")})
    write(tmp_path, {"x.csv": "cost,age\n5,20\n7,30\n", "c.csv": "a,b\n0,1\n1,0\n"})
    assert milpcb_(tmp_path, "run", "tiny.toml", "--out", "out", "--progress", "quiet").returncode == 0
    done = milpcb_(tmp_path, "log", "out", "--learner", "uniform", "--out", "rounds.csv")
    assert_one_line(done, "feature called 'cost'", "rename the feature")
    assert not (tmp_path / "rounds.csv").exists()


def test_actions_of_a_run_keep_their_names(tmp_path, milpcb_, write):
    """What to do is said in the words of the costs' header, and of the contexts'."""
    replay = MIXED.replace('"planted"\nn_contexts = 8\nn_features = 3', '"replay"\ncontexts = "x.csv"\ncosts = "c.csv"')
    ages = [20 + 7 * i % 50 for i in range(120)]
    write(tmp_path, {"tiny.toml": replay.replace("seeds = [0, 1]", "seeds = [0]")})
    write(tmp_path, {"x.csv": "age\n" + "\n".join(map(str, ages)) + "\n"})
    write(tmp_path, {"c.csv": "call,write\n" + "".join(f"{int(age > 40)},{int(age <= 40)}\n" for age in ages)})
    assert milpcb_(tmp_path, "run", "tiny.toml", "--out", "out", "--progress", "quiet").returncode == 0
    few = ("--depth", "1", "--draws", "0", "--resamples", "0", "--out", "found")
    done = milpcb_(tmp_path, "learn", "out", "--learner", "uniform", *few)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "found/policy.txt").read_text() == "if age <= 40:\n    play call\nelse:\n    play write\n"
