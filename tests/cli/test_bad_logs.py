"""Bad logs and options of ``milpcb learn``: one line that says what to fix, exit code 2, nothing written."""

import polars as pl
import pytest

from milpcb.core.files import digest, sealed
from milpcb.errors import InputError, RunError
from tests.learned import NO_CLAIMS, command

ROWS = 60
KNOWN = ("--action", "treat", "--reward", "y")
TRIAL = (*KNOWN, "--randomised")
GIVEN = (*KNOWN, "--propensity", "e")
WRITTEN = ("--out", "found", *NO_CLAIMS)


def good():
    """Return a log of 60 rows: age, sex, treat (a or b), y, another outcome z, a weight w, and probabilities."""
    n = range(ROWS)
    return {
        "age": [20 + i % 40 for i in n],
        "sex": ["fm"[i % 3 == 0] for i in n],
        "treat": ["ab"[i // 2 % 2] for i in n],
        "y": [round(0.1 * (i * 7 % 11), 1) for i in n],
        "z": [i // 3 % 2 for i in n],
        "w": [i % 4 - (i == 8) for i in n],
        "e": [0.5] * ROWS,
        "ea": [0.4] * ROWS,
        "eb": [0.6] * ROWS,
    }


def one(column, row, value):
    """Return a change of one entry."""

    def change(log):
        log[column] = [*log[column][:row], value, *log[column][row + 1 :]]

    return change


def every(column, value):
    """Return a change of a whole column."""
    return lambda log: log.update({column: [value] * ROWS})


def only(rows):
    """Return a cut to the first rows."""
    return lambda log: log.update({name: values[:rows] for name, values in log.items()})


def nothing(log):
    """Change nothing."""
    del log


OF_LOGS = [
    # columns
    (nothing, (), "name the column of actions"),
    (nothing, ("--action", "treat"), "name the column of outcomes once"),
    (nothing, ("--action", "tret", "--reward", "y"), "did you mean 'treat'"),
    (nothing, ("--action", "treat", "--reward", "zz"), "unknown column of log.csv: 'zz'"),
    (nothing, (*TRIAL, "--features", "agee"), "did you mean 'age'"),
    (nothing, (*TRIAL, "--features", "age,y"), "column 'y' is the action, outcome, propensity or weight"),
    (nothing, (*TRIAL, "--weight", "w", "--features", "age,w"), "column 'w' is the action"),
    (lambda log: [log.pop(name) for name in {*log} - {"treat", "y"}], TRIAL, "no column left to decide by"),
    # outcomes, actions, propensities, weights
    (one("y", 7, None), TRIAL, "row 8: 'y' is missing"),
    (one("y", 3, "good"), TRIAL, "'y' must hold numbers"),
    (one("y", 3, float("-inf")), ("--action", "treat", "--cost", "y", "--randomised"), "row 4: 'y' is -inf"),
    (every("treat", "a"), TRIAL, "one action only"),
    (one("treat", 5, None), TRIAL, "row 6: 'treat' is missing"),
    (nothing, (*TRIAL, "--actions", "a,b,c"), "action 'c' is never taken"),
    (one("e", 4, 1.5), GIVEN, "row 4 is 1.5"),
    (one("e", 4, None), GIVEN, "row 5: 'e' is missing"),
    (nothing, (*GIVEN, "--randomised"), "give either the column or that it is randomised"),
    (one("ea", 9, 0.5), (*KNOWN, "--propensity", "a=ea", "--propensity", "b=eb"), "row 9"),
    (nothing, (*KNOWN, *("--propensity", "ea", "--propensity", "eb", "--propensity", "e")), "propensity has 3 columns"),
    (nothing, (*KNOWN, *("--propensity", "ea", "--propensity", "eb")), "of actions that are not named: name the"),
    (nothing, (*TRIAL, "--weight", "w"), "row 9: 'w' is -1; no row weighs less than 0"),
    # rows and features
    (only(0), TRIAL, "no rows"),
    (only(4), TRIAL, "fold"),
    (one("age", 2, float("inf")), TRIAL, "infinit"),
]
OF_OPTIONS = [
    # constraints
    (("--at-most", "a"), "cannot read 'a'"),
    (("--at-most", "c=0.5"), "unknown action 'c'"),
    (("--at-most", "a=half%"), "'half%' is no number"),
    (("--at-most", "a=130%"), "share must be between 0 and 1, got 1.3"),
    (("--never", "a: agee = 1"), "agee"),
    (("--never", "a: nonsense"), "nonsense"),
    (("--leave-out", "sex", "--parity", "a: sex=0.1"), "'sex'"),
    (("--features", "sex", "--never", "a: sex = m and age > 30"), "does not begin with a column; known: sex"),
    (("--at-most", "a=0.1", "--at-most", "b=0.1"), "loosen"),
    (("--treatment-cost", "a=dear"), "cannot read 'a=dear': 'dear' is no number"),
    (("--budget", "z"), "unknown action 'z'"),
    (("--monotone", "age"), "write COLUMN=more or COLUMN=less"),
    (("--monotone", "agee=more"), "did you mean 'age'"),
    # other outcomes, restrictions, rules that do as well
    (("--no-worse", "z"), "write COLUMN at most WHAT"),
    (("--no-worse", "z at most aa"), "did you mean 'a'?"),
    (("--no-worse", "z at most inf"), "is no finite number"),
    (("--no-worse", "zz at most a"), "did you mean 'z'?"),
    (("--no-worse", "z at most 0.001"), "no policy of the class is shown by these 60 rows"),
    (("--no-worse", "z at most today for each sx"), "column of --no-worse 'sx'"),
    (("--no-worse", "z <= today for each age"), "more than 20 groups"),
    (("--sensitive", "sx"), "column of --sensitive 'sx'"),
    (("--front", "z"), "write COLUMN less or COLUMN more"),
    (("--front", "zz less"), "did you mean 'z'"),
    (("--front", "z less", "--no-worse", "z at most today"), "--front is for the rule that looks best"),
    (("--what-if", "depth 13"), "depth must be"),
    (("--what-if", "never b"), "cannot read 'b': write ACTION: and its value"),
    (("--what-if", "without agee", "--monotone", "age=more"), "--what-if is for the rule that looks best"),
    (("--front", "z less", "--objective", "guaranteed"), "--front is for the rule that looks best"),
    (("--objective", "best"), "unknown objective 'best'"),
    # labels and others
    (("--labels", "wrong.toml"), "in wrong.toml 'agee'; did you mean 'age'?"),
    (("--labels", "number.toml"), "the label of 'age' must be a string, got 3"),
    (("--method", "drr"), "unknown method 'drr'"),
    (("--policies", "forests"), "unknown policy class"),
    (("--policies", "rule_lists", "--depth", "2"), "--depth is short for the --max-depth of trees"),
    (("--min-samples-leef", "3"), "did you mean '--min-samples-leaf'"),
    (("--level", "95"), "level must be"),
    (("--holdout", "1.5"), "holdout must be"),
    (("--kind", "milp", "--solver", "nope"), "nope"),
    (("--depth", "1", "--depth", "2"), "option --depth is given 2 times, and takes one value"),
    (("--depth", "1", "--max-depth", "2"), "--depth is short for the --max-depth of trees: give one of them"),
]
BAD = [*OF_LOGS, *((nothing, (*TRIAL, *options), fragment) for options, fragment in OF_OPTIONS)]


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch, request):
    """Work in an empty folder, with sketches for pictures."""
    request.getfixturevalue("sketches")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("change", "options", "fragment"), BAD, ids=[f"{i}-{bad[2][:30]}" for i, bad in enumerate(BAD)]
)
def test_a_bad_log_is_one_line(change, options, fragment, milpcb_, assert_one_line, write, tmp_path):
    """The line names the mistake, its place and the remedy; the folder is not made."""
    log = good()
    change(log)
    pl.DataFrame(log, strict=False).write_csv("log.csv")
    write(tmp_path, {"wrong.toml": 'agee = "Age"\n', "number.toml": "age = 3\n"})
    done = milpcb_(tmp_path, "learn", "log.csv", *WRITTEN, *options)
    notes, last = done.stderr.splitlines()[:-1], done.stderr.splitlines()[-1]
    assert all(line.startswith(("note: ", "warning: ")) for line in notes), done.stderr
    done.stderr = f"{last}\n"
    assert_one_line(done, fragment)
    assert "unexpected error" not in last
    assert not (tmp_path / "found").exists()


@pytest.mark.parametrize(
    "line",
    [
        ("run", "a.toml", "--out", "a", "--out", "b"),
        ("evaluate", "log.csv", "--level", "0.9", "--level", "0.8"),
        ("solve", "a.csv", "b.csv", "--kind", "milp", "--kind", "search"),
    ],
)
def test_no_command_takes_the_last_of_two_values(line, write, tmp_path):
    """Options that take one value are refused twice, before anything is read."""
    given = dict.fromkeys(("a.csv", "a.toml", "b.csv", "log.csv"), "")
    write(tmp_path, given)
    with pytest.raises(InputError, match="2 times, and takes one value"):
        command(*line)
    assert sorted(path.name for path in tmp_path.iterdir()) == list(given)


def test_only_a_folder_of_its_own_is_written(tmp_path):
    """Somebody else's files are never touched; its own are replaced, and those of an earlier call removed."""
    pl.DataFrame(good()).write_csv("log.csv")
    (tmp_path / "mine.txt").write_text("mine")
    found = tmp_path / "found"
    found.mkdir()
    (found / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="milpcb learn did not write"):
        command("learn", "log.csv", *TRIAL, *WRITTEN)
    # An index may name any file: only those that milpcb learn writes are ever removed, and only inside.
    written = {name: [digest(b"mine")] for name in ("../mine.txt", "notes.txt")}
    (found / "learned.json").write_bytes(sealed({"written": written}))
    for more, card in (((), False), (("--policies", "linear_rules", "--features", "age"), True)):
        command("learn", "log.csv", *TRIAL, *WRITTEN, *more)
        assert (found / "card.html").exists() == card
    assert (tmp_path / "mine.txt").read_text() == (found / "notes.txt").read_text() == "mine"


def test_a_policy_of_other_actions_is_refused():
    """A log that lists them in another order is evaluated; one with other names is not."""
    log = good()
    pl.DataFrame(log).write_csv("log.csv")
    command("learn", "log.csv", *TRIAL, *WRITTEN)
    command("evaluate", "log.csv", "found/policy.json", *TRIAL, "--actions", "b,a")
    log["treat"] = ["xy"[i // 2 % 2] for i in range(ROWS)]
    pl.DataFrame(log).write_csv("log.csv")
    with pytest.raises(InputError, match="unknown action of the policy"):
        command("evaluate", "log.csv", "found/policy.json", *TRIAL)


def test_a_policy_file_runs_no_code_that_it_names(tmp_path):
    """Only registered policies are loaded; a module beside the log is not imported."""
    pl.DataFrame(good()).write_csv("log.csv")
    (tmp_path / "evil.py").write_text("open('ran', 'w').close()\nclass Policy: pass\n")
    (tmp_path / "policy.json").write_text('{"milpcb_policy": 4, "class": "evil:Policy"}')
    with pytest.raises(InputError, match="unknown policy 'evil:Policy'"):
        command("evaluate", "log.csv", "policy.json", *TRIAL)
    assert not (tmp_path / "ran").exists()
