"""Bad logs through the real command line: one line that says what to fix, exit code 2, nothing written."""

import sys

import polars as pl
import pytest

from milpcb import cli
from milpcb.core.files import digest, sealed

ROWS = 60
TRIAL = ("--action", "treat", "--reward", "y", "--randomised")
GIVEN = ("--action", "treat", "--reward", "y", "--propensity", "e")
WRITTEN = ("--out", "found", "--draws", "0", "--resamples", "0")


def good():
    """Return a log of 60 rows: age, sex, treat (a or b), y, e, ea, eb."""
    n = range(ROWS)
    return {
        "age": [20 + i % 40 for i in n],
        "sex": ["fm"[i % 3 == 0] for i in n],
        "treat": ["ab"[i // 2 % 2] for i in n],
        "y": [round(0.1 * (i * 7 % 11), 1) for i in n],
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

    def change(log):
        log[column] = [value] * ROWS

    return change


def without(column):
    """Return the removal of a column."""
    return lambda log: log.pop(column)


def only(rows):
    """Return a cut to the first rows."""

    def change(log):
        for name in log:
            log[name] = log[name][:rows]

    return change


def nothing(log):
    """Change nothing."""
    del log


KNOWN = ("--action", "treat", "--reward", "y")
BAD = [
    # columns
    (nothing, (), "which column is what was done"),
    (nothing, ("--action", "treat"), "name what came of it once"),
    (nothing, (*KNOWN, "--cost", "y"), "name what came of it once"),
    (nothing, ("--action", "tret", "--reward", "y"), "did you mean 'treat'"),
    (nothing, ("--action", "treat", "--reward", "z"), "unknown column of log.csv: 'z'"),
    (nothing, (*KNOWN, "--propensity", "p"), "unknown column of log.csv: 'p'"),
    (nothing, (*TRIAL, "--features", "agee"), "did you mean 'age'"),
    (nothing, (*TRIAL, "--features", "age,y"), "column 'y' is the action, outcome, propensity or weight"),
    (nothing, (*TRIAL, "--features", "age,treat"), "column 'treat' is the action"),
    (nothing, (*GIVEN, "--features", "e"), "column 'e' is the action"),
    (lambda log: [log.pop(name) for name in ("age", "sex", "e", "ea", "eb")], TRIAL, "no column left to decide by"),
    # outcomes
    (one("y", 7, None), TRIAL, "row 8: 'y' is missing"),
    (every("y", None), TRIAL, "must hold numbers"),
    (one("y", 3, "good"), TRIAL, "'y' must hold numbers"),
    (one("y", 3, float("inf")), TRIAL, "row 4: 'y' is inf"),
    (one("y", 3, float("-inf")), ("--action", "treat", "--cost", "y", "--randomised"), "row 4: 'y' is -inf"),
    # actions
    (every("treat", "a"), TRIAL, "one action only"),
    (one("treat", 5, None), TRIAL, "row 6: 'treat' is missing"),
    (nothing, (*TRIAL, "--actions", "a,b,c"), "action 'c' is never taken"),
    (nothing, (*TRIAL, "--actions", "a,c"), "unknown action 'b'"),
    (nothing, (*TRIAL, "--actions", "a,a"), "have a name twice"),
    (nothing, (*TRIAL, "--actions", "a"), "one action only"),
    # propensities
    (one("e", 4, 0.0), GIVEN, "row 4 is 0; it must be above 0 and at most 1"),
    (one("e", 4, 1.5), GIVEN, "row 4 is 1.5"),
    (one("e", 4, -0.2), GIVEN, "row 4 is -0.2"),
    (one("e", 4, None), GIVEN, "row 5: 'e' is missing"),
    (one("e", 4, "half"), GIVEN, "'e' must hold numbers"),
    (nothing, (*GIVEN, "--randomised"), "give either the column or that it is randomised"),
    (one("ea", 9, 0.5), (*KNOWN, "--propensity", "a=ea", "--propensity", "b=eb"), "row 9"),
    (every("ea", 0.9), (*KNOWN, "--propensity", "a=ea", "--propensity", "b=eb"), "with sum 1.5"),
    (
        nothing,
        (*KNOWN, "--propensity", "ea", "--propensity", "eb", "--propensity", "e"),
        "propensity has 3 columns for",
    ),
    # rows
    (only(0), TRIAL, "no rows"),
    (only(4), TRIAL, "fold"),
    (only(6), (*TRIAL, "--cv", "10"), "fold"),
    (nothing, (*TRIAL, "--cv", "1"), "cv must be"),
    # constraints
    (nothing, (*TRIAL, "--at-most", "a"), "cannot read 'a'"),
    (nothing, (*TRIAL, "--at-most", "c=0.5"), "unknown action 'c'"),
    (nothing, (*TRIAL, "--at-most", "a=half%"), "'half%' is no number"),
    (nothing, (*TRIAL, "--at-most", "a=130%"), "share must be between 0 and 1, got 1.3"),
    (nothing, (*TRIAL, "--at-most", "a=half"), "'half' is no number"),
    (nothing, (*TRIAL, "--at-most", "a=1.5"), "share must be between 0 and 1"),
    (nothing, (*TRIAL, "--never", "a: agee = 1"), "agee"),
    (nothing, (*TRIAL, "--never", "a"), "cannot read 'a'"),
    (nothing, (*TRIAL, "--never", "a: nonsense"), "nonsense"),
    (nothing, (*TRIAL, "--always", "d: age > 30"), "unknown action 'd'"),
    (nothing, (*TRIAL, "--parity", "a: sx=0.1"), "sx"),
    (
        nothing,
        (*TRIAL, "--leave-out", "sex", "--parity", "a: sex=0.1"),
        "no constraint can read 'sex', as policies may",
    ),
    (nothing, (*TRIAL, "--features", "sex", "--never", "a: sex = m and age > 30"), "no constraint can read 'age', as"),
    (nothing, (*TRIAL, "--leave-out", "age", "--always", "a: age>30"), "take it out of --leave-out, or add it to"),
    (nothing, (*TRIAL, "--parity", "a: y=0.1"), "no constraint can read 'y', the action, outcome or propensity"),
    (nothing, (*TRIAL, "--parity", "a: sex=2"), "delta must be between 0 and 1"),
    (nothing, (*TRIAL, "--at-most", "a=0.1", "--at-most", "b=0.1"), "loosen"),
    (nothing, (*TRIAL, "--treatment-cost", "a=dear"), "and no number: 'dear'"),
    (nothing, (*TRIAL, "--treatment-cost", "z=1"), "unknown action 'z'"),
    (nothing, (*TRIAL, "--budget", "z"), "unknown action 'z'"),
    # options
    (nothing, (*TRIAL, "--method", "drr"), "unknown method 'drr'"),
    (nothing, (*TRIAL, "--policies", "forests"), "unknown policy class"),
    (nothing, (*TRIAL, "--depth", "-1"), "depth must be"),
    (nothing, (*TRIAL, "--policies", "rule_lists", "--depth", "2"), "--depth is of trees"),
    (nothing, (*TRIAL, "--thresholds", "0"), "thresholds must be"),
    (nothing, (*TRIAL, "--thresholds", "some"), "thresholds"),
    (nothing, (*TRIAL, "--min-samples-leaf", "0"), "min_samples_leaf must be"),
    (nothing, (*TRIAL, "--min-samples-leef", "3"), "did you mean '--min-samples-leaf'"),
    (nothing, (*TRIAL, "--min-propensity", "2"), "min_propensity must be"),
    (nothing, (*TRIAL, "--level", "95"), "level must be"),
    (nothing, (*TRIAL, "--holdout", "1.5"), "holdout must be"),
    (nothing, (*TRIAL, "--leave-out", "aeg"), "did you mean 'age'"),
    (nothing, (*TRIAL, "--group", "sx"), "did you mean 'sex'"),
    (nothing, (*TRIAL, "--missing-side", "mean"), "missing"),
    (nothing, (*TRIAL, "--missing", "yes"), "write --missing-side yes for the side"),
    (nothing, (*TRIAL, "--learner", "exp4", "--solver", "nope", "--kind", "milp"), "nope"),
    # features
    (
        lambda log: log.update(id=[f"person {i}" * 3 for i in range(ROWS)], more=[str(i) for i in range(ROWS)]),
        (*TRIAL, "--features", "id", "--most-subsets", "0"),
        "most_subsets must be",
    ),
    (one("age", 2, float("inf")), TRIAL, "infinit"),
]


def errors(said):
    """Return the lines of standard error that are errors, and not how far a long step is."""
    return [
        line for line in said.splitlines() if line.startswith("milpcb: ") and "compiling to machine code" not in line
    ]


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Return a function that runs the command line in an empty folder: exit code, what went to standard error."""
    monkeypatch.chdir(tmp_path)

    def ran(*arguments):
        monkeypatch.setattr(sys, "argv", ["milpcb", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
        return code, capfd.readouterr().err

    return ran


@pytest.mark.parametrize(
    ("change", "options", "fragment"), BAD, ids=[f"{i}-{bad[2][:30]}" for i, bad in enumerate(BAD)]
)
def test_a_bad_log_is_one_line(change, options, fragment, run, tmp_path):
    """What is wrong where, and how to fix it; the folder is not made."""
    log = good()
    change(log)
    pl.DataFrame(log, strict=False).write_csv("log.csv")
    code, said = run("learn", "log.csv", *options, *WRITTEN)
    lines = errors(said)
    assert (code, len(lines)) == (2, 1), said
    assert fragment in lines[0]
    assert "unexpected error" not in said
    assert not (tmp_path / "found").exists()


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        (b"", "log.csv"),
        (b"\x00\x01\x02", "log.csv"),
        (b"treat,y,age,age\na,1,2,3\nb,2,3,4\n", "two columns are called 'age'"),
        (b'treat,y\n"a,1\n', "log.csv"),
    ],
)
def test_a_file_that_is_no_table_is_one_line(content, fragment, run, tmp_path):
    """Nor is one that is not there."""
    (tmp_path / "log.csv").write_bytes(content)
    code, said = run("learn", "log.csv", *TRIAL, *WRITTEN)
    assert (code, len(errors(said)), fragment in said) == (2, 1, True), said
    code, said = run("learn", "nowhere.csv", *TRIAL, *WRITTEN)
    assert (code, len(errors(said))) == (2, 1), said


def test_a_leak_is_a_warning(run):
    """A feature that is the outcome under another name: the search goes on, and says so."""
    log = good()
    log["y later"] = [2 * y + 1 for y in log["y"]]
    pl.DataFrame(log).write_csv("log.csv")
    code, said = run("learn", "log.csv", *TRIAL, *WRITTEN)
    assert code == 0
    assert "warning: 'y later' goes with 'y' almost exactly" in said


def test_only_a_folder_of_its_own_is_written(run, tmp_path):
    """Somebody else's files are never touched; its own are replaced, and those of an earlier call removed."""
    pl.DataFrame(good()).write_csv("log.csv")
    (tmp_path / "found").mkdir()
    mine = tmp_path / "found/policy.txt"
    mine.write_text("mine")
    code, said = run("learn", "log.csv", *TRIAL, *WRITTEN)
    assert (code, "milpcb learn did not write" in said, mine.read_text()) == (2, True, "mine")
    mine.unlink()
    assert run("learn", "log.csv", *TRIAL, *WRITTEN)[0] == 0
    before = {path.name for path in (tmp_path / "found").iterdir()}
    assert {"policy.json", "policy.sql", "policy.py", "policy.txt", "policy.svg", "report.html"} < before
    assert run("learn", "log.csv", *TRIAL, *WRITTEN, "--policies", "linear_rules", "--features", "age")[0] == 0
    index = (tmp_path / "found/learned.json").read_text()
    assert {path.name for path in (tmp_path / "found").iterdir()} == {
        *("learned.json", "card.html", "card.pdf"),
        *(name for name in before if f'"{name}"' in index),
    }


def test_what_was_written_is_evaluated_on_other_rows(run, capfd):
    """The policy of the file, by the names of its actions, in a log that lists them in another order."""
    log = good()
    pl.DataFrame(log).write_csv("log.csv")
    assert run("learn", "log.csv", *TRIAL, *WRITTEN)[0] == 0
    code, said = run("evaluate", "log.csv", "found/policy.json", *TRIAL, "--actions", "b,a")
    assert (code, said) == (0, said)
    assert run("evaluate", "log.csv", *TRIAL)[0] == 0
    log["treat"] = ["xy"[i // 2 % 2] for i in range(ROWS)]
    pl.DataFrame(log).write_csv("log.csv")
    code, said = run("evaluate", "log.csv", "found/policy.json", *TRIAL)
    assert (code, "unknown action of the policy" in said) == (2, True)
    capfd.readouterr()


def test_the_finding_is_about_what_the_constraints_allow(run, tmp_path):
    """Under a budget it is compared with the lots that keep it, not with the action that the budget forbids."""
    log = good()
    log["y"] = [int(a == "b") + 0.1 * (i % 3) for i, a in enumerate(log["treat"])]
    pl.DataFrame(log).write_csv("log.csv")
    options = ("--at-most", "b=0.3", "--out", "found", "--draws", "30", "--resamples", "0", "--features", "age")
    assert run("learn", "log.csv", *TRIAL, *options)[0] == 0
    page = (tmp_path / "found/report.html").read_text()
    lead = page.partition('<p class="lead">')[2].partition("</p>")[0]
    assert "drawing lots (&#39;a&#39; for 70 and &#39;b&#39; for 30 of 100)" in lead
    assert "always &#39;b&#39;" in page
    assert "not allowed (share 100\u202f%)" in page


def test_an_index_of_somebody_elses_removes_nothing_of_ours(run, tmp_path):
    """A whole index may name any file: only those that milpcb learn writes are ever removed, and only inside."""
    pl.DataFrame(good()).write_csv("log.csv")
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "found").mkdir()
    (tmp_path / "found/notes.txt").write_text("mine")
    written = {name: [digest(b"mine")] for name in ("../mine.txt", "notes.txt")}
    (tmp_path / "found/learned.json").write_bytes(sealed({"written": written}))
    assert run("learn", "log.csv", *TRIAL, *WRITTEN)[0] == 0
    assert (tmp_path / "mine.txt").read_text() == (tmp_path / "found/notes.txt").read_text() == "mine"


def test_a_policy_file_runs_no_code_that_it_names(run, tmp_path):
    """Only registered policies are loaded; a module beside the log is not imported."""
    pl.DataFrame(good()).write_csv("log.csv")
    (tmp_path / "evil.py").write_text("open('ran', 'w').close()\nclass Policy: pass\n")
    (tmp_path / "policy.json").write_text('{"milpcb_policy": 3, "class": "evil:Policy"}')
    code, said = run("evaluate", "log.csv", "policy.json", *TRIAL)
    assert (code, "unknown policy 'evil:Policy'" in said) == (2, True), said
    assert not (tmp_path / "ran").exists()
