"""The command line as users meet it: one line for every mistake, whole files whatever happens, the happy paths."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import milpcb.oracles.enumeration
from milpcb import LabelConstraint, cli, open_oracle, registry
from milpcb.errors import InfeasibleError, did_you_mean
from milpcb.experiments.curves import read_curves
from policies import DecisionTrees

CONFIG = """\
[experiment]
name = "tiny"
horizon = 30
[environment]
name = "planted"
n_contexts = 6
n_features = 3
[policies]
name = "decision_trees"
depth = 1
[oracle]
kind = "milp"
solver = "highs"
[[learners]]
name = "bistro_plus"
queries = "profile"
[[learners]]
name = "uniform"
"""
CONTEXTS = "age,insured\n20,0\n30,1\n70,0\n80,1\n"
COSTS = "wait,treat\n0,1\n0,1\n1,0\n1,0\n"
# The second curve takes long enough to be interrupted.
LONG = CONFIG.replace("horizon = 30", "horizon = 6000\ncheckpoints = 5").replace(
    '[[learners]]\nname = "bistro_plus"\nqueries = "profile"\n[[learners]]\nname = "uniform"\n',
    '[[learners]]\nname = "uniform"\n[[learners]]\nname = "bistro_plus"\n',
)
RUN_LONG = ("run", "long.toml", "--out", "out")


def command(*arguments):
    """Return the command as the shell would start it."""
    return [sys.executable, "-m", "milpcb.cli", *arguments]


def environment():
    """Return the caller's variables, with a terminal wide enough for every table."""
    return {**os.environ, "COLUMNS": "200", "PYTHONWARNINGS": "default"}


def milpcb_(folder, *arguments, **options):
    """Run the command line in a folder to its end."""
    return subprocess.run(
        command(*arguments),
        check=False,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def write(folder, files):
    """Write files, as text or bytes, given by name."""
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())


def assert_one_line(done, *fragments):
    """Require exit code 2, nothing of a traceback, and one line on stderr with all the fragments."""
    assert done.returncode == 2, done
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert done.stderr.endswith("\n"), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("milpcb: "), done.stderr
    for fragment in fragments:
        assert fragment in done.stderr, (fragment, done.stderr)


def wrong_config(case, old, new, *fragments):
    """A run of CONFIG with one thing wrong in it; whatever it is, it is found before anything is written."""
    assert CONFIG.count(old) == 1, old
    files = {"bad.toml": CONFIG.replace(old, new)}
    return pytest.param(files, ("run", "bad.toml", "--out", "out"), ("bad.toml", *fragments), id=case)


def wrong_learner(case, lines, *fragments):
    """As wrong_config, with other lines in the first learner's section, which starts at line 14."""
    return wrong_config(case, 'name = "bistro_plus"\nqueries = "profile"', lines, *fragments)


def wrong_learner_on_data(case, lines, *fragments):
    """A learner that only its oracle shows to be wrong, so that no line of the config can be named."""
    files = {"bad.toml": CONFIG.replace('name = "bistro_plus"\nqueries = "profile"', lines)}
    return pytest.param(files, ("run", "bad.toml", "--out", "out"), fragments, id=case)


def wrong_table(case, contexts, costs, *fragments):
    """A call of solve on tables of which one is wrong."""
    files = {"x.csv": contexts, "c.csv": costs}
    return pytest.param(files, ("solve", "x.csv", "c.csv"), fragments, id=case)


def wrong_solve(case, options, *fragments):
    """A call of solve on good tables with wrong options."""
    return pytest.param({"x.csv": CONTEXTS, "c.csv": COSTS}, ("solve", "x.csv", "c.csv", *options), fragments, id=case)


def wrong_call(case, arguments, *fragments, files=None):
    """Any other call, with good configs ok.toml in reach."""
    return pytest.param({"ok.toml": CONFIG, **(files or {})}, arguments, fragments, id=case)


NO_LEARNER = CONFIG[: CONFIG.index("[[learners]]")]
DAMAGED = "learner,seed,horizon\nuniform,0,30\n"

MISTAKES = [
    # Sections, keys and names in configs.
    wrong_config("unknown section", "[policies]", "[polices]", "line 8", "'polices'", "did you mean 'policies'?"),
    wrong_config("key above all sections", "[experiment]", "horizn = 3\n[experiment]", "line 1", "'horizn'"),
    wrong_config("section that is a number", NO_LEARNER, "experiment = 3\n", "line 1", "[experiment]"),
    wrong_config("unknown key", "n_contexts", "n_context", "line 6", "'n_context'", "did you mean 'n_contexts'?"),
    wrong_config("missing key", 'name = "tiny"\n', "", "line 1", "[experiment] needs the key 'name'"),
    wrong_config("unknown policy class", '"decision_trees"', '"decision_tree"', "line 9", "mean 'decision_trees'?"),
    wrong_config("unknown environment", '"planted"', '"plantd"', "line 5", "environment 'plantd'", "mean 'planted'?"),
    wrong_config("unknown learner", '"uniform"', '"unifrom"', "line 18", "learner 'unifrom'", "mean 'uniform'?"),
    wrong_config("unknown oracle kind", '"milp"', '"mip"', "line 12", "oracle 'mip'", "did you mean 'milp'?"),
    wrong_config("unknown solver", '"highs"', '"higs"', "line 13", "solver 'higs'", "did you mean 'highs'?"),
    wrong_config("unknown PuLP solver", '"highs"', '"pulp:pulp_cbc"', "line 13", "mean 'PULP_CBC_CMD'?"),
    wrong_config(
        "solver not installed", '"highs"', '"pulp:GUROBI_CMD"', "line 13", "GUROBI_CMD", "install", "use highs"
    ),
    wrong_config("argument to highs", '"highs"', '"highs:fast"', "line 13", "no argument", 'write solver = "highs"'),
    wrong_config(
        "unknown data set",
        'name = "planted"\nn_contexts = 6\nn_features = 3',
        'name = "supervised"\ndata = "iriss"',
        *("line 6", "data set 'iriss'", "did you mean 'iris'?"),
    ),
    # Values in configs.
    wrong_config("horizon is text", "horizon = 30", 'horizon = "many"', "line 3", "horizon", "integer", "'many'"),
    wrong_config("horizon 0", "horizon = 30", "horizon = 0", "line 3", "horizon", "greater than 0"),
    wrong_config("horizon beyond numbers", "horizon = 30", f"horizon = {10**30}", "line 3", "less than or equal to"),
    wrong_config("depth is text", "depth = 1", 'depth = "two"', "line 10", "depth", "integer", "'two'"),
    wrong_config("depth 0", "depth = 1", "depth = 0", "line 10", "depth", "at least 1"),
    wrong_config("one action", "n_contexts = 6", "n_actions = 1", "line 6", "n_actions", "at least 2"),
    wrong_config("a class of one action", "depth = 1", "n_actions = 1", "line 10", "n_actions", "at least 2"),
    wrong_config("NaN probability", "n_contexts = 6", "cost_right = nan", "line 6", "cost_right", "from 0 to 1"),
    wrong_config("negative seed", "horizon = 30", "horizon = 30\nseeds = [0, -1]", "line 4", "seeds", "non-negative"),
    wrong_config("repeated seeds", "horizon = 30", "horizon = 30\nseeds = [0, 0]", "line 4", "a seed is listed twice"),
    wrong_config("TOML syntax", "horizon = 30", "horizon = = 30", "not valid TOML", "line 3"),
    pytest.param(
        {"bad.toml": CONFIG.replace("depth = 1", "depth = 1\nn_actions = 2")},
        ("run", "bad.toml", "--out", "out"),
        ("n_actions = 2", "3 actions", "leave n_actions out"),
        id="class and environment disagree on K",
    ),
    pytest.param(
        {"bad.toml": CONFIG.replace("n_contexts = 6", f"n_contexts = {10**15}")},
        ("run", "bad.toml", "--out", "out"),
        ("out of memory", "smaller"),
        id="more contexts than memory",
    ),
    # Learners in configs.
    pytest.param(
        {"bad.toml": NO_LEARNER},
        ("run", "bad.toml", "--out", "out"),
        ("bad.toml", "no learner", "[[learners]]"),
        id="no learner",
    ),
    wrong_learner("learner without name", 'label = "x"', "line 14", "needs a name"),
    wrong_learner("duplicate labels", 'name = "bistro_plus"\nlabel = "uniform"', "line 17", "'uniform'", "own label"),
    wrong_learner("label of two lines", 'name = "uniform"\nlabel = "a\\nb"', "line 16", "one line"),
    wrong_learner("unknown learner key", 'name = "bistro_plus"\nquerys = "all"', "line 16", "mean 'queries'?"),
    wrong_learner("unknown queries", 'name = "bistro_plus"\nqueries = "al"', "line 16", "'all', 'profile' or 'argmin'", "'al'"),
    wrong_learner("scale is text", 'name = "bistro_plus"\nscale = "big"', "line 16", "scale", "number", "'big'"),
    wrong_learner(
        "unknown oracle of a learner",
        'name = "hedge"\noracle = { kind = "enumeratio" }',
        *("line 16", "did you mean 'enumeration'?"),
    ),
    wrong_learner_on_data("scale below K", 'name = "bistro_plus"\nscale = 2', "scale", "at least 3", "2.0"),
    wrong_learner_on_data("scale NaN", 'name = "bistro_plus"\nscale = nan', "scale", "finite", "nan"),
    wrong_learner_on_data("scale infinite", 'name = "bistro_plus"\nscale = inf', "scale", "finite", "inf"),
    wrong_learner_on_data("unknown noise", 'name = "bistro_plus"\nnoise = "papr"', "'papr'", "did you mean 'paper'?"),
    wrong_learner_on_data(
        "leader without profile",
        'name = "bistro_plus"\nqueries = "all"\nleftover = "leader"',
        *('leftover = "leader"', 'set queries = "profile"'),
    ),
    wrong_learner_on_data("hedge without a list", 'name = "hedge"', "hedge", 'oracle = { kind = "enumeration" }'),
    # Config files and run directories.
    wrong_call("config missing", ("run", "nothere.toml"), "nothere.toml", "No such file"),
    wrong_call("config is a directory", ("run", "."), "cannot read config .", "directory"),
    wrong_call("config not UTF-8", ("run", "bad.toml"), "bad.toml", "UTF-8", files={"bad.toml": b"# caf\xe9"}),
    wrong_call("out is a file", ("run", "ok.toml", "--out", "file"), "file", "--out", files={"file": "mine"}),
    wrong_call("out below a file", ("run", "ok.toml", "--out", "file/sub"), "file/sub", "--out", files={"file": ""}),
    wrong_call("out holds something else", ("run", "ok.toml", "--out", "full"), "--out", files={"full/a": "mine"}),
    wrong_call("out has too long a name", ("run", "ok.toml", "--out", 300 * "a"), "name too long"),
    wrong_call(
        "config of the directory damaged",
        ("run", "ok.toml", "--out", "held"),
        *("held/config.toml", "--out"),
        files={"held/config.toml": b"\xff"},
    ),
    wrong_call(
        "plot without curves", ("plot", "empty"), "empty", "no curves.csv", "run directory", files={"empty/a.txt": ""}
    ),
    wrong_call("plot of damaged curves", ("plot", "d"), "curves.csv", "remove", files={"d/curves.csv": DAMAGED}),
    # Tables.
    wrong_table("NaN context", CONTEXTS.replace("30", "nan"), COSTS, "contexts[1, 0]", "nan", "replace or drop"),
    wrong_table("NaN cost", CONTEXTS, COSTS.replace("0,1\n1", "nan,1\n1"), "costs[1, 0]", "nan", "finite"),
    wrong_table("infinite cost", CONTEXTS, COSTS.replace("0,1\n1", "inf,1\n1"), "costs[1, 0]", "inf", "finite"),
    wrong_table("more costs than contexts", "1,0\n2,1\n", COSTS, "(4, 2)", "(2, 2)", "one row per context"),
    wrong_table("ragged", CONTEXTS.replace("30,1", "30"), COSTS, "x.csv, line 3", "1 cells", "make them equal"),
    wrong_table("empty", "", COSTS, "x.csv is empty", "one line per context"),
    wrong_table("header only", "age,insured\n", COSTS, "x.csv", "a header but no rows"),
    wrong_table("text cell", CONTEXTS, COSTS.replace("0,1\n1", "0,cheap\n1"), "c.csv, line 3", "column 2", "'cheap'"),
    wrong_table("text in the first row", "20,old\n30,1\n70,0\n80,1\n", COSTS, "x.csv, line 1", "column 2", "'old'"),
    wrong_table("no commas", CONTEXTS.replace(",", ";"), COSTS, "x.csv, line 2", "'20;0'", "commas"),
    wrong_table("not text", b"\xff\xfe", COSTS, "x.csv", "not a CSV text file"),
    wrong_table("one cost column", CONTEXTS, "cost\n0\n0\n1\n1\n", "c.csv", "one column", "at least 2"),
    wrong_call("table missing", ("solve", "x.csv", "c.csv"), "cannot read x.csv", "No such file"),
    # Options of solve.
    wrong_solve("depth of solve is text", ("--depth", "two"), "depth", "integer", "'two'"),
    wrong_solve("depth of solve without value", ("--depth",), "'--depth'", "pairs like --depth 2"),
    wrong_solve("unknown option of a class", ("--dpth", "1"), "'--dpth'", "did you mean '--depth'?"),
    wrong_solve("unknown option of solve", ("--solvr", "highs"), "'--solvr'", "did you mean '--solver'?"),
    wrong_solve("unknown solver of solve", ("--solver", "higs"), "'higs'", "did you mean 'highs'?"),
    wrong_solve("unknown class of solve", ("--policies", "decision_tree"), "did you mean 'decision_trees'?"),
    wrong_solve("time limit is text", ("--time-limit", "soon"), "--time-limit", "'soon'", "milpcb solve --help"),
    # Commands and options.
    wrong_call("no command", (), "Missing command", "milpcb --help"),
    wrong_call("unknown command", ("rn", "ok.toml"), "command 'rn'", "did you mean 'run'?"),
    wrong_call("unknown option", ("run", "ok.toml", "--outt", "x"), "--outt", "--out", "milpcb run --help"),
    wrong_call("missing argument", ("run",), "CONFIG", "milpcb run --help"),
]


@pytest.mark.parametrize(("files", "arguments", "fragments"), MISTAKES)
def test_a_mistake_is_one_line_that_says_how_to_mend_it(files, arguments, fragments, tmp_path):
    """Whatever is wrong, stderr is one line with name, place and mend, the exit code is 2, and nothing is begun."""
    write(tmp_path, files)
    assert_one_line(milpcb_(tmp_path, *arguments), *fragments)
    assert not list((tmp_path / "out").glob("*"))
    assert not (tmp_path / "runs").exists()


def test_there_are_many_mistakes():
    """The table above does not shrink unseen."""
    assert len(MISTAKES) >= 60


def call(arguments, monkeypatch, capsys):
    """Call main in this process; return exit code and stderr."""
    monkeypatch.setattr(sys, "argv", ["milpcb", *map(str, arguments)])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as stop:
            cli.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    return stop.value.code, capsys.readouterr().err


def test_a_class_too_large_to_list_is_refused(tmp_path, monkeypatch, capsys):
    """Enumeration stops at its limit and names the way out."""
    write(tmp_path, {"x.csv": CONTEXTS, "c.csv": COSTS})
    monkeypatch.setattr(milpcb.oracles.enumeration, "LARGEST", 10)
    arguments = ("solve", tmp_path / "x.csv", tmp_path / "c.csv", "--kind", "enumeration")
    code, message = call(arguments, monkeypatch, capsys)
    assert code == 2
    assert message.count("\n") == 1
    assert "more than 10 policies" in message
    assert "use oracle kind" in message


def test_an_interrupt_outside_a_run_is_one_line(monkeypatch, capsys):
    """Control-C during any command ends in one line."""

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("milpcb.solvers.describe_all", interrupted)
    assert call(["solvers"], monkeypatch, capsys) == (2, "milpcb: interrupted\n")


def test_a_plug_in_that_is_gone_is_one_line(monkeypatch, capsys):
    """A registered name whose module cannot be imported is an error with the name and the module."""
    monkeypatch.setitem(registry.BUILTIN["learner"], "gone", "no_such_package:Learner")
    registry._table.cache_clear()
    try:
        code, message = call(["list"], monkeypatch, capsys)
    finally:
        registry._table.cache_clear()
    assert code == 2
    assert message.count("\n") == 1
    assert "learner 'gone' cannot be loaded" in message
    assert "no_such_package" in message


def test_side_constraints_that_nobody_satisfies_are_one_line():
    """Constraints exist in the library only; their error names the constraint on one line."""
    nobody = LabelConstraint(np.ones((4, 2)), 3.0, "at most three of four")
    with pytest.raises(InfeasibleError) as refusal:
        open_oracle(DecisionTrees(2, depth=1), np.eye(4), constraints=[nobody])
    assert "\n" not in str(refusal.value)
    assert "'at most three of four'" in str(refusal.value)


def test_the_nearest_name_is_found_in_any_case():
    """Names are compared without regard to case, and all are listed when none is near."""
    assert did_you_mean("pulp_cbc", ["GLPK_CMD", "PULP_CBC_CMD"]) == "; did you mean 'PULP_CBC_CMD'?"
    assert did_you_mean("xyz", ["b", "a"]) == "; known: a, b"


# ---------------------------------------------------------------------------- disks, signals


def limit_files(size):
    """Return what makes every write beyond ``size`` bytes of a file fail in the child."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_full_disk_keeps_what_was_finished(tmp_path):
    """When the second curve does not fit, the first one is on disk, whole, and the same command goes on later."""
    many = CONFIG.replace("horizon = 30", "horizon = 1000\ncheckpoints = 1000")  # 130 kB a curve
    write(tmp_path, {"big.toml": many})
    arguments = ("run", "big.toml", "--out", "out")
    failed = milpcb_(tmp_path, *arguments, preexec_fn=limit_files(170_000))
    assert_one_line(failed, "cannot write out/curves.csv", "too large", "finished before is kept", "run again")
    assert {row.learner for row in read_curves(tmp_path / "out")} == {"bistro_plus"}
    assert not list((tmp_path / "out").glob(".*")), "the part that was written is left behind"
    again = milpcb_(tmp_path, *arguments)
    assert again.returncode == 0, again.stderr
    assert "bistro_plus, seed 0" not in again.stdout
    assert {row.learner for row in read_curves(tmp_path / "out")} == {"bistro_plus", "uniform"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_one_line(tmp_path):
    """A full disk behind standard output is no traceback either."""
    with Path("/dev/full").open("w") as full:
        pipes = {"stdout": full, "stderr": subprocess.PIPE, "text": True}
        done = subprocess.run(command("solvers"), check=False, cwd=tmp_path, env=environment(), timeout=60, **pipes)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "standard output" in done.stderr


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """Return the untimed curves of LONG, run without a break."""
    folder = tmp_path_factory.mktemp("whole")
    write(folder, {"long.toml": LONG})
    assert milpcb_(folder, *RUN_LONG).returncode == 0
    return untimed(folder / "out")


def untimed(directory):
    """Return the lines of curves.csv without the columns seconds and oracle_seconds."""
    lines = (directory / "curves.csv").read_text().splitlines()
    return [line.rsplit(",", 2)[0] for line in lines]


def stop_in_second_curve(folder, number):
    """Start LONG, send a signal as soon as the first curve is on disk, and return how it ended."""
    write(folder, {"long.toml": LONG})
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command(*RUN_LONG), cwd=folder, env=environment(), **pipes) as process:
        deadline = time.monotonic() + 30
        while not (folder / "out/curves.csv").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=30)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_finished_curves(number, tmp_path, whole_run):
    """One line says what is kept; the same command plays the rest only, and ends with the curves of a whole run."""
    assert_one_line(
        stop_in_second_curve(tmp_path, number), "interrupted", "1 of 2 curves", "out", "the same command goes on"
    )
    first = (tmp_path / "out/curves.csv").read_text()
    assert {row.learner for row in read_curves(tmp_path / "out")} == {"uniform"}
    again = milpcb_(tmp_path, *RUN_LONG)
    assert again.returncode == 0, again.stderr
    assert "uniform, seed 0" not in again.stdout
    assert "bistro_plus, seed 0" in again.stdout
    played_again = set(first.splitlines()) - set((tmp_path / "out/curves.csv").read_text().splitlines())
    assert not played_again, "the finished curve was played again: its times differ"
    assert untimed(tmp_path / "out") == whole_run


def test_a_killed_run_leaves_whole_files(tmp_path, whole_run):
    """After SIGKILL every file can be read, and the same command ends with the curves of a whole run."""
    assert stop_in_second_curve(tmp_path, signal.SIGKILL).returncode == -signal.SIGKILL
    assert {row.learner for row in read_curves(tmp_path / "out")} == {"uniform"}
    assert "versions" in tomllib.loads((tmp_path / "out/config.toml").read_text())
    assert (tmp_path / "out/best_policy_seed0.txt").read_text().strip()
    assert milpcb_(tmp_path, *RUN_LONG).returncode == 0
    assert untimed(tmp_path / "out") == whole_run


# ---------------------------------------------------------------------------- happy paths


@pytest.fixture
def tables(tmp_path):
    """Return a folder with contexts and costs under names that a header gives."""
    write(tmp_path, {"x.csv": CONTEXTS, "c.csv": COSTS})
    return tmp_path


def solved(folder, *options):
    """Return the lines that solve prints."""
    done = milpcb_(folder, "solve", "x.csv", "c.csv", *options)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


def test_solve_prints_rules_in_the_names_of_the_headers(tables):
    """Features and actions are called what the header lines call them, and the cost is proved."""
    lines = solved(tables, "--depth", "1", "--thresholds=1")
    assert lines[:4] == ["if age <= 50:", "    play wait", "else:", "    play treat"]
    assert lines[4] == "cost: 0   proved lower bound: 0   (optimal)"
    assert "highs" in lines[5]


def test_solve_passes_options_to_the_class(tables):
    """Cut points given by hand are the ones used: at 25 a depth-1 tree errs once."""
    lines = solved(tables, "--depth", "1", "--thresholds", "[[25.0], []]")
    assert lines[0] == "if age <= 25:"
    assert cost(lines) == "cost: 1"


def cost(lines):
    """Return what solve says of the cost of its policy."""
    return next(line.split("   ")[0] for line in lines if line.startswith("cost"))


@pytest.mark.parametrize("options", [("--kind", "enumeration"), ("--solver", "pulp:PULP_CBC_CMD")])
def test_solve_costs_the_same_by_any_route(options, tables):
    """Enumeration and CBC find the cost that HiGHS proves."""
    write(tables, {"c.csv": "0.5,1,3\n0,1,-2\n1,0.25,7\n1,0,0\n"})
    plain, other = (solved(tables, "--depth", "1", *more) for more in ((), options))
    assert cost(plain) == cost(other) == "cost: -0.75"


def test_solve_needs_no_header(tables):
    """Without header lines features are x0, x1, ... and actions numbers; a byte order mark is no header."""
    write(tables, {"x.csv": "\ufeff" + CONTEXTS.split("\n", 1)[1], "c.csv": COSTS.split("\n", 1)[1]})
    assert solved(tables, "--depth", "1", "--thresholds", "1")[:2] == ["if x0 <= 50:", "    play action 0"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a folder with two finished runs of the same name and what the first one printed."""
    folder = tmp_path_factory.mktemp("finished")
    write(folder, {"tiny.toml": CONFIG})
    first = milpcb_(folder, "run", "tiny.toml", "--out", "one/tiny")
    second = milpcb_(folder, "run", "one/tiny/config.toml", "--out", "two/tiny")
    assert (first.returncode, first.stderr) == (second.returncode, second.stderr) == (0, "")
    return folder, first.stdout


def test_run_prints_summary_policy_and_files(finished):
    """A run ends with the table, the best policy as rules, and the paths of curves and picture."""
    folder, printed = finished
    assert "regret" in printed
    assert "guarantee" in printed
    assert (folder / "one/tiny/best_policy_seed0.txt").read_text() in printed
    for name in ("one/tiny/curves.csv", "one/tiny/regret.png"):
        assert name in printed
        assert (folder / name).is_file()


def test_a_resolved_config_runs_to_the_same_curves(finished):
    """The config.toml that a run writes is itself a config of the same experiment."""
    folder, _ = finished
    assert untimed(folder / "one/tiny") == untimed(folder / "two/tiny")


def test_another_experiment_in_the_directory_is_refused(finished):
    """A run directory takes no other experiment; the line says what differs."""
    folder, _ = finished
    before = {file.name: file.read_bytes() for file in (folder / "one/tiny").iterdir()}
    write(folder, {"other.toml": CONFIG.replace("n_features = 3", "n_features = 4")})
    done = milpcb_(folder, "run", "other.toml", "--out", "one/tiny")
    assert_one_line(done, "one/tiny holds another experiment", "it differs in environment", "--out")
    assert before == {file.name: file.read_bytes() for file in (folder / "one/tiny").iterdir()}


def test_running_again_plays_nothing(finished):
    """A finished run only draws and reports."""
    folder, _ = finished
    before = (folder / "one/tiny/curves.csv").read_bytes()
    again = milpcb_(folder, "run", "tiny.toml", "--out", "one/tiny")
    assert again.returncode == 0
    assert "seed 0: " not in again.stdout
    assert (folder / "one/tiny/curves.csv").read_bytes() == before


def test_plot_draws_several_directories_on_one_picture(finished):
    """Two directories of one name are told apart by their paths; PNG and SVG can be read."""
    folder, _ = finished
    done = milpcb_(folder, "plot", "one/tiny", "two/tiny", "--loglog", "--out", "both")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert imread(folder / "both/regret_loglog.png").shape[2] == 4
    picture = (folder / "both/regret_loglog.svg").read_text()
    assert picture.rstrip().endswith("</svg>")
    for label in ("one/tiny: uniform", "two/tiny: uniform", "one/tiny: bistro_plus", "two/tiny: bistro_plus"):
        assert label in picture


def test_plot_of_one_directory_draws_into_it(finished):
    """One directory keeps the learners' own names and gets its picture."""
    folder, _ = finished
    (folder / "one/tiny/regret.svg").unlink()
    assert milpcb_(folder, "plot", "one/tiny").returncode == 0
    assert "uniform" in (folder / "one/tiny/regret.svg").read_text()


def test_solvers_are_listed_with_reasons(tmp_path):
    """Every solver is shown with what it can do, and with yes or the reason why it cannot run here."""
    done = milpcb_(tmp_path, "solvers")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {
        cells[1].strip(): cells for cells in (line.split("│") for line in done.stdout.splitlines()) if len(cells) > 4
    }
    assert rows["highs"][4].strip() == "yes"
    assert rows["pulp:PULP_CBC_CMD"][4].strip() == "yes"
    assert all(cell.strip() for cells in rows.values() for cell in cells[1:5])


def test_every_registered_name_is_listed(tmp_path):
    """List shows all names of all kinds, and the options of those that have any."""
    done = milpcb_(tmp_path, "list")
    assert (done.returncode, done.stderr) == (0, "")
    for kind, names in registry.BUILTIN.items():
        for name in names:
            assert any(kind in line and name in line for line in done.stdout.splitlines()), (kind, name)
    assert "queries" in done.stdout


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_names_every_command(option, tmp_path):
    """Help goes to stdout and the exit code is 0."""
    done = milpcb_(tmp_path, option)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in ("run", "plot", "solve", "solvers", "list"))


def test_version_is_printed(tmp_path):
    """--version names the program and its version."""
    done = milpcb_(tmp_path, "--version")
    assert done.returncode == 0
    assert done.stdout.startswith("milpcb, version ")
