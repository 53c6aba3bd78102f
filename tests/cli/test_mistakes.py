"""Every mistake of a user is one line that says how to fix it, with exit code 2."""

from unittest.mock import Mock

import pytest

import milpcb.oracles.search
from milpcb.errors import did_you_mean
from milpcb.plugins import registry
from tests.cli.conftest import CONFIG, CONTEXTS, COSTS
from tests.inside import find_plug_ins_again

NEVER = "".join(f'[[constraints]]\nname = "never"\naction = {action}\nrows = [0]\n' for action in range(3))
OLD = '[experiment]\nname = "old"\n[versions]\nmilpcb = "0.1.0"\n'
LEARNER = 'name = "bistro_plus"\nqueries = "profile"'

# Changes of CONFIG: the old text, the new one, and what the line says beside the name of the file and the line.
CONFIGS = [
    ("[policies]", "[polices]", "line 8", "did you mean 'policies'?"),
    (CONFIG[: CONFIG.index("[[learners]]")], "experiment = 3\n", "line 1", "[experiment]"),
    ('name = "tiny"\n', "", "line 1", "[experiment] needs the key 'name'"),
    ('"highs"', '"pulp:GUROBI_CMD"', "line 13", "GUROBI_CMD", "install", "use highs"),
    ('"planted"\nn_contexts = 6\nn_features = 3', '"supervised"\ndata = "iriss"', "line 6", "did you mean 'iris'?"),
    ("horizon = 30", f"horizon = {10**30}", "line 3", "less than or equal to"),
    ("horizon = 30", "horizon = [30, 30]", "line 3", "30 is listed twice"),
    ("horizon = 30", "horizon = 30\nseeds = [0, -1]", "line 4", "equal to 0, got -1"),
    ("horizon = 30", "horizon = 30\nseeds = []", "line 4", "seeds", "at least 1 item"),
    ("n_contexts = 6", "cost_right = nan", "line 6", "cost_right", "from 0 to 1"),
    ("[oracle]", '[run]\nbackend = "dusk"\n[oracle]', "line 12", "mean 'dask'?"),
    ("[oracle]", '[[run]]\nout = "a"\n[oracle]', "line 11", "a section [run]"),
    ("[oracle]", '[[constraints]]\nname = "share_atmost"\n[oracle]', "line 12", "share_at_most"),
    (LEARNER, 'name = "bistro_plus"\nqueries = "al"', "line 16", "'all', 'profile' or 'argmin'"),
    (LEARNER, 'name = "uniform"\nlabel = "a"\ncontexts = "pol"', "line 17", "'pool', 'order'"),
    (LEARNER, 'name = "bistro_plus"\nmax_horizon = 0', "line 16", "max_horizon", "greater than 0"),
]
# Found on the contexts or the oracle only, so that no line of the config can be named.
ON_DATA = [
    ("depth = 1", "depth = 1\nn_actions = 2", "3 actions", "leave n_actions out"),
    (LEARNER, f"{LEARNER}\n{NEVER}", "side constraints", "loosen"),
    (f'{LEARNER}\n[[learners]]\nname = "uniform"', f"{LEARNER}\nmax_horizon = 29", "no cell is left", "max_horizon"),
    ("n_contexts = 6", f"n_contexts = {10**15}", "out of memory", "smaller"),
    (LEARNER, 'name = "bistro_plus"\nscale = 2', "scale", "at least 3", "2.0"),
    (LEARNER, 'name = "bistro_plus"\nnoise = "papr"', "did you mean 'paper'?"),
    (LEARNER, 'name = "hedge"', 'oracle = { kind = "enumeration" }'),
]
# Other calls, with the config ok.toml and good tables in reach: more files, arguments, and what the line says.
CALLS = [
    ({}, ("run", "nothere.toml"), "nothere.toml", "No such file"),
    ({"bad.toml": b"# caf\xe9"}, ("run", "bad.toml"), "bad.toml", "UTF-8"),
    ({"file": "mine"}, ("run", "ok.toml", "--out", "file"), "file", "--out"),
    ({"file": ""}, ("run", "ok.toml", "--out", "file/sub"), "file/sub", "--out"),
    ({"full/a": "mine"}, ("run", "ok.toml", "--out", "full"), "--out"),
    ({}, ("run", "ok.toml", "--out", 300 * "a"), "name too long"),
    ({"held/config.toml": b"\xff"}, ("run", "ok.toml", "--out", "held"), "held exists", "of this version", "--out"),
    ({"old/config.toml": OLD}, ("run", "ok.toml", "--out", "old"), "old exists", "of this version", "--out"),
    ({"old/config.toml": OLD}, ("resume", "old"), "old exists", "of this version"),
    ({"empty/a.txt": ""}, ("resume", "empty"), "empty", "no config.toml"),
    ({"empty/a.txt": ""}, ("plot", "empty"), "empty/study.json", "No such file", "run directory"),
    ({"d/study.json": "{"}, ("plot", "d"), "study.json"),
    ({}, ("run", "ok.toml", "--workers", "0"), "--workers", "milpcb run --help"),
    ({}, ("run", "ok.toml", "--outt", "x"), "--outt", "--out", "milpcb run --help"),
    ({}, ("run",), "CONFIG", "milpcb run --help"),
    ({}, (), "Missing command", "milpcb --help"),
    ({}, ("rn", "ok.toml"), "command 'rn'", "did you mean 'run'?"),
    ({}, ("solve", "x.csv", "none.csv"), "cannot read none.csv", "No such file"),
]
SOLVED = [
    ({"x.csv": CONTEXTS.replace("30", "nan")}, (), "contexts[1, 0]", "nan", "replace or drop"),
    ({"c.csv": COSTS.replace("0,1\n1", "nan,1\n1")}, (), "costs[1, 0]", "nan", "finite"),
    ({"x.csv": "1,0\n2,1\n"}, (), "(4, 2)", "(2, 2)", "one row per context"),
    ({"x.csv": b"\xff\xfe"}, (), "x.csv", "UTF-8"),
    ({"c.csv": "cost\n0\n0\n1\n1\n"}, (), "c.csv", "one column", "at least 2"),
    ({}, ("--depth", "two"), "depth", "integer", "'two'"),
    ({}, ("--depth",), "'--depth'", "pairs like --depth 2"),
    ({}, ("--dpth", "1"), "'--dpth'", "did you mean '--depth'?"),
    ({}, ("--solvr", "highs"), "'--solvr'", "did you mean '--solver'?"),
    ({}, ("--solver", "higs"), "'higs'", "did you mean 'highs'?"),
    ({}, ("--policies", "decision_tree"), "did you mean 'decision_trees'?"),
    ({}, ("--near", "nan"), "slack must be finite and not negative, got"),
    ({}, ("--time-limit", "soon"), "--time-limit", "'soon'", "milpcb solve --help"),
]
RUN_BAD = ("run", "bad.toml", "--out", "out")
MISTAKES = [
    *(({"bad.toml": (old, new)}, RUN_BAD, "bad.toml", *said) for old, new, *said in CONFIGS),
    *(({"bad.toml": (old, new)}, RUN_BAD, *said) for old, new, *said in ON_DATA),
    *CALLS,
    *((files, ("solve", "x.csv", "c.csv", *options), *said) for files, options, *said in SOLVED),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake[-1] for mistake in MISTAKES])
def test_a_mistake_is_one_line_that_says_how_to_mend_it(mistake, tmp_path, milpcb_, write, assert_one_line):
    """Whatever is wrong, stderr is one line with name, place and fix, the exit code is 2, and nothing is begun."""
    files, arguments, *fragments = mistake
    if "bad.toml" in files and isinstance(change := files["bad.toml"], tuple):
        assert CONFIG.count(change[0]) == 1
        files = {"bad.toml": CONFIG.replace(*change)}
    write(tmp_path, {"ok.toml": CONFIG, "x.csv": CONTEXTS, "c.csv": COSTS} | files)
    assert_one_line(milpcb_(tmp_path, *arguments), *fragments)
    assert not list((tmp_path / "out").glob("*"))
    assert not (tmp_path / "runs").exists()


def test_a_class_too_large_to_list_is_refused(tmp_path, monkeypatch, milpcb_, assert_one_line, write):
    """Enumeration stops at its limit and names the way out."""
    write(tmp_path, {"x.csv": CONTEXTS, "c.csv": COSTS})
    monkeypatch.setattr(milpcb.oracles.search, "MOST_LISTED", 10)
    done = milpcb_(tmp_path, "solve", "x.csv", "c.csv", "--kind", "enumeration")
    assert_one_line(done, "more than 10 policies", "use oracle kind")


def test_an_interrupt_outside_a_run_is_one_line(tmp_path, monkeypatch, milpcb_):
    """Control-C during any command ends in one line."""
    monkeypatch.setattr("milpcb.commands.machine.describe_all", Mock(side_effect=KeyboardInterrupt))
    done = milpcb_(tmp_path, "solvers")
    assert (done.returncode, done.stderr) == (2, "milpcb: interrupted\n")


def test_a_plug_in_that_is_gone_is_one_line(tmp_path, monkeypatch, milpcb_, assert_one_line):
    """A registered name whose module cannot be imported is an error with the name and the module."""
    monkeypatch.setitem(registry.BUILTIN["learner"], "gone", "no_such_package:Learner")
    find_plug_ins_again()
    try:
        done = milpcb_(tmp_path, "list")
    finally:
        find_plug_ins_again()
    assert_one_line(done, "learner 'gone' cannot be loaded", "no_such_package")


def test_the_nearest_name_is_found_in_any_case():
    """Names are compared without regard to case, and all are listed when none is near."""
    assert did_you_mean("pulp_cbc", ["GLPK_CMD", "PULP_CBC_CMD"]) == "; did you mean 'PULP_CBC_CMD'?"
    assert did_you_mean("xyz", ["b", "a"]) == "; known: a, b"
