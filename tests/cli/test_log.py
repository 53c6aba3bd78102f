"""``milpcb log``, ``learn`` and ``evaluate`` on a run: its rounds are those that its record was made from."""

import polars as pl
import pytest

from milpcb.errors import InputError, MilpcbError, RunError
from tests.learned import NO_CLAIMS, command

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
REPLAY = MIXED.replace('"planted"\nn_contexts = 8\nn_features = 3', '"replay"\ncontexts = "x.csv"\ncosts = "c.csv"')
ONE = ("--learner", "exp4", "--seed", "1")
PLAY = ("--learner", "exp4", "--seed-of-run", "1")
QUIET = ("--progress", "quiet", "--backend", "serial")


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch, request):
    """Work in an empty folder, with sketches for pictures."""
    request.getfixturevalue("sketches")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def ran(milpcb_, write, tmp_path_factory):
    """Return a finished run."""
    folder = tmp_path_factory.mktemp("log")
    write(folder, {"mixed.toml": MIXED})
    assert milpcb_(folder, "run", "mixed.toml", *QUIET).returncode == 0
    return str(folder / "runs/mixed")


@pytest.mark.parametrize("name", ["rounds.csv", "rounds.parquet"])
def test_a_log_certifies_as_the_record_says(name, ran):
    """The certificate of the written rounds is the last one of the curve, in every digit that is shown."""
    command("log", ran, *ONE, "--out", name)
    curve = pl.read_csv(f"{ran}/curves.csv").filter((pl.col("learner") == "exp4") & (pl.col("seed") == 1))
    wanted = curve.sort("round").tail(1).row(0, named=True)
    shown = f"certificate: {wanted['certificate']:,.6g}   standard error: {wanted['certificate_error']:,.6g}"
    assert shown in command("certify", name, "--depth", "1", "--actions", "3", "--kind", "enumeration").output


def test_learning_from_a_run_is_learning_from_its_log(ran, tmp_path):
    """The same policy with the same figures, whether the rounds are read from a file or played again."""
    command("log", ran, *ONE, "--out", "rounds.csv")
    columns = ("--action", "action", "--cost", "cost", "--propensity", "probability")
    by_run = command("learn", ran, *PLAY, "--depth", "1", *NO_CLAIMS, "--out", "by_run").stdout
    by_file = command("learn", "rounds.csv", *columns, "--depth", "1", *NO_CLAIMS, "--out", "by_file").stdout
    assert by_run.replace("by_run", "by_file") == by_file
    policies = [(tmp_path / folder / "policy.json").read_text() for folder in ("by_run", "by_file")]
    assert policies[0] == policies[1]
    worth = command("evaluate", ran, "by_run/policy.json", *PLAY).stdout
    assert worth == command("evaluate", "rounds.csv", "by_file/policy.json", *columns).stdout


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("log", "--out", "a.csv"), ("differs in learner", "--learner 'exp4'")),
        (("log", "--learner", "exp4", "--out", "a.csv"), ("differs in seed", "--seed '0'")),
        (("log", "--learner", "exp", "--out", "a.csv"), ("unknown learner 'exp'", "exp4")),
        (("evaluate", *PLAY, "--cost", "cost"), ("--cost is for files",)),  # a run knows its columns
        # a leader's q is 1 for the action drawn: scores weighed by it would be wrong, in silence
        (("learn", "--learner", "ftpl", *PLAY[2:], "--out", "leader"), ("draws within act", "--leave-out probability")),
    ],
)
def test_what_a_run_does_not_have_is_named(arguments, fragments, ran, tmp_path):
    """The line says what to add; nothing is written."""
    with pytest.raises(MilpcbError) as caught:
        command(arguments[0], ran, *arguments[1:])
    assert "\n" not in str(caught.value)
    assert all(fragment in str(caught.value) for fragment in fragments), caught.value
    assert not list(tmp_path.iterdir())


def test_a_play_without_a_record_is_refused(write, tmp_path):
    """Rounds that no record vouches for are not written: the config says what would be played, not what was."""
    write(tmp_path, {"mixed.toml": MIXED.replace("seeds = [0, 1]", "")})
    command("run", "mixed.toml", *QUIET)
    for record in tmp_path.glob("runs/mixed/cells/*.json"):
        record.unlink()
    with pytest.raises(RunError, match="milpcb resume"):
        command("log", "runs/mixed", "--learner", "exp4", "--out", "b.csv")
    assert not (tmp_path / "b.csv").exists()


def test_a_feature_that_is_called_like_a_column_is_refused(write, tmp_path):
    """A column of the context would otherwise be written over by the costs that were paid."""
    write(tmp_path, {"tiny.toml": REPLAY.replace("horizon = 120\nseeds = [0, 1]", "horizon = 2")})
    write(tmp_path, {"x.csv": "cost,age\n5,20\n7,30\n", "c.csv": "a,b\n0,1\n1,0\n"})
    command("run", "tiny.toml", "--out", "out", *QUIET)
    with pytest.raises(InputError, match=r"feature called 'cost'.*rename the feature"):
        command("log", "out", "--learner", "uniform", "--trust", "--out", "rounds.csv")
    assert not (tmp_path / "rounds.csv").exists()


def test_actions_of_a_run_keep_their_names(write, tmp_path):
    """The rule is in the words of the costs' header, and of the contexts'."""
    ages = [20 + 7 * i % 50 for i in range(120)]
    write(tmp_path, {"tiny.toml": REPLAY.replace("seeds = [0, 1]", "seeds = [0]")})
    write(tmp_path, {"x.csv": "age\n" + "\n".join(map(str, ages)) + "\n"})
    write(tmp_path, {"c.csv": "call,write\n" + "".join(f"{int(age > 40)},{int(age <= 40)}\n" for age in ages)})
    command("run", "tiny.toml", "--out", "out", *QUIET)
    command("learn", "out", "--trust", "--learner", "uniform", "--depth", "1", *NO_CLAIMS, "--out", "found")
    assert (tmp_path / "found/policy.txt").read_text() == "if age <= 40:\n    play call\nelse:\n    play write\n"
