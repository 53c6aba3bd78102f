"""Every mistake of a user is one line that says how to fix it, with exit code 2."""

from unittest.mock import Mock

import pytest

import milpcb.oracles.enumeration
from milpcb.errors import did_you_mean
from milpcb.plugins import registry
from tests.cli.conftest import CONFIG
from tests.inside import find_plug_ins_again

CONTEXTS = "age,insured\n20,0\n30,1\n70,0\n80,1\n"
COSTS = "wait,treat\n0,1\n0,1\n1,0\n1,0\n"


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


NEVER = '[[constraints]]\nname = "never"\naction = {action}\nrows = [0]\n'
NO_LEARNER = CONFIG[: CONFIG.index("[[learners]]")]
OLD = '[experiment]\nname = "old"\n[versions]\nmilpcb = "0.1.0"\n'

MISTAKES = [
    # Sections, keys and names in configs.
    wrong_config("unknown section", "[policies]", "[polices]", "line 8", "'polices'", "did you mean 'policies'?"),
    wrong_config("key above all sections", "[experiment]", "horizn = 3\n[experiment]", "line 1", "'horizn'"),
    wrong_config("section that is a number", NO_LEARNER, "experiment = 3\n", "line 1", "[experiment]"),
    wrong_config("unknown key", "n_contexts", "n_context", "line 6", "'n_context'", "did you mean 'n_contexts'?"),
    wrong_config("missing key", 'name = "tiny"\n', "", "line 1", "[experiment] needs the key 'name'"),
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
    wrong_config("horizon 0", "horizon = 30", "horizon = 0", "line 3", "horizon", "greater than 0"),
    wrong_config("horizon beyond numbers", "horizon = 30", f"horizon = {10**30}", "line 3", "less than or equal to"),
    wrong_config("one action", "n_contexts = 6", "n_actions = 1", "line 6", "n_actions", "at least 2"),
    wrong_config("NaN probability", "n_contexts = 6", "cost_right = nan", "line 6", "cost_right", "from 0 to 1"),
    wrong_config(
        "negative seed", "horizon = 30", "horizon = 30\nseeds = [0, -1]", "line 4", "seeds", "equal to 0, got -1"
    ),
    wrong_config("no seed", "horizon = 30", "horizon = 30\nseeds = []", "line 4", "seeds", "at least 1 item"),
    wrong_config("repeated horizons", "horizon = 30", "horizon = [30, 30]", "line 3", "30 is listed twice"),
    wrong_config("no solver in a list", '"highs"', "[]", "line 13", "solvers is empty"),
    wrong_config("unknown solver in a list", '"highs"', '["highs", "scpi"]', "line 13", "did you mean 'scip'?"),
    wrong_config("the same solver twice", '"highs"', '["highs", "highs"]', "line 11", "'milp:highs'", "its own label"),
    wrong_config(
        "unknown backend of a run", "[oracle]", '[run]\nbackend = "dusk"\n[oracle]', "line 12", "mean 'dask'?"
    ),
    wrong_config("run section is a list", "[oracle]", '[[run]]\nout = "a"\n[oracle]', "line 11", "a section [run]"),
    wrong_config(
        "unknown constraint", "[oracle]", '[[constraints]]\nname = "share_atmost"\n[oracle]', "line 12", "share_at_most"
    ),
    wrong_config("a single constraint", "[oracle]", '[constraints]\nname = "parity"\n[oracle]', "line 11", "[[constr"),
    wrong_config("repeated seeds", "horizon = 30", "horizon = 30\nseeds = [0, 0]", "line 4", "0 is listed twice"),
    pytest.param(
        {"bad.toml": CONFIG.replace("depth = 1", "depth = 1\nn_actions = 2")},
        ("run", "bad.toml", "--out", "out"),
        ("n_actions = 2", "3 actions", "leave n_actions out"),
        id="class and environment disagree on K",
    ),
    pytest.param(
        {"bad.toml": CONFIG + '[[constraints]]\nname = "share_at_most"\naction = 7\nshare = 0.1\n'},
        ("run", "bad.toml", "--out", "out"),
        ("action of a constraint '7'", "0, 1, 2"),
        id="constraint on an action that is not there",
    ),
    pytest.param(
        {"bad.toml": CONFIG + '[[constraints]]\nname = "parity"\naction = 0\ngroup = "age"\ndelta = 0.1\n'},
        ("run", "bad.toml", "--out", "out"),
        ("column of a constraint 'age'", "x0, x1, x2"),
        id="parity by a column that is not there",
    ),
    pytest.param(
        {"bad.toml": CONFIG + "".join(NEVER.format(action=action) for action in range(3))},
        ("run", "bad.toml", "--out", "out"),
        ("no policy", "side constraints", "loosen"),
        id="constraints that no policy keeps",
    ),
    pytest.param(
        {
            "bad.toml": CONFIG.replace('name = "uniform"', 'name = "uniform"\nmax_horizon = 29').replace(
                'queries = "profile"', "max_horizon = 29"
            )
        },
        ("run", "bad.toml", "--out", "out"),
        ("no cell is left", "max_horizon"),
        id="every learner left out",
    ),
    pytest.param(
        {"bad.toml": CONFIG.replace("n_contexts = 6", f"n_contexts = {10**15}")},
        ("run", "bad.toml", "--out", "out"),
        ("out of memory", "smaller"),
        id="more contexts than memory",
    ),
    # Learners in configs.
    wrong_learner(
        "unknown queries", 'name = "bistro_plus"\nqueries = "al"', "line 16", "'all', 'profile' or 'argmin'", "'al'"
    ),
    wrong_learner("scale is text", 'name = "bistro_plus"\nscale = "big"', "line 16", "scale", "number", "'big'"),
    wrong_learner("unknown contexts", 'name = "uniform"\nlabel = "a"\ncontexts = "pol"', "line 17", "'pool', 'order'"),
    wrong_learner("max_horizon 0", 'name = "bistro_plus"\nmax_horizon = 0', "line 16", "max_horizon", "greater than 0"),
    wrong_learner_on_data("scale below K", 'name = "bistro_plus"\nscale = 2', "scale", "at least 3", "2.0"),
    wrong_learner_on_data("unknown noise", 'name = "bistro_plus"\nnoise = "papr"', "'papr'", "did you mean 'paper'?"),
    wrong_learner_on_data(
        "leader without profile",
        'name = "bistro_plus"\nqueries = "all"\nleftover = "leader"',
        *('leftover = "leader"', 'set queries = "profile"'),
    ),
    wrong_learner_on_data("hedge without a list", 'name = "hedge"', "hedge", 'oracle = { kind = "enumeration" }'),
    # Config files and run directories.
    wrong_call("config missing", ("run", "nothere.toml"), "nothere.toml", "No such file"),
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
        "plot without curves", ("plot", "empty"), "empty", "no curves", "run directory", files={"empty/a.txt": ""}
    ),
    wrong_call("plot of a damaged directory", ("plot", "d"), "study.json", files={"d/study.json": "{"}),
    wrong_call("resume of nothing", ("resume", "empty"), "empty", "no config.toml", files={"empty/a.txt": ""}),
    wrong_call("resume of an old run", ("resume", "old"), "format 1", files={"old/config.toml": OLD}),
    wrong_call("run into an old run", ("run", "ok.toml", "--out", "old"), "format 1", files={"old/config.toml": OLD}),
    wrong_call("no workers", ("run", "ok.toml", "--workers", "0"), "--workers", "milpcb run --help"),
    wrong_call("unknown progress", ("run", "ok.toml", "--progress", "loud"), "--progress", "'loud'"),
    # Tables.
    wrong_table("NaN context", CONTEXTS.replace("30", "nan"), COSTS, "contexts[1, 0]", "nan", "replace or drop"),
    wrong_table("NaN cost", CONTEXTS, COSTS.replace("0,1\n1", "nan,1\n1"), "costs[1, 0]", "nan", "finite"),
    wrong_table("more costs than contexts", "1,0\n2,1\n", COSTS, "(4, 2)", "(2, 2)", "one row per context"),
    wrong_table("not text", b"\xff\xfe", COSTS, "x.csv", "line 1 is not text in UTF-8"),
    wrong_table("one cost column", CONTEXTS, "cost\n0\n0\n1\n1\n", "c.csv", "one column", "at least 2"),
    wrong_call("table missing", ("solve", "x.csv", "c.csv"), "cannot read x.csv", "No such file"),
    # Options of solve.
    wrong_solve("depth of solve is text", ("--depth", "two"), "depth", "integer", "'two'"),
    wrong_solve("depth of solve without value", ("--depth",), "'--depth'", "pairs like --depth 2"),
    wrong_solve("unknown option of a class", ("--dpth", "1"), "'--dpth'", "did you mean '--depth'?"),
    wrong_solve("unknown option of solve", ("--solvr", "highs"), "'--solvr'", "did you mean '--solver'?"),
    wrong_solve("unknown solver of solve", ("--solver", "higs"), "'higs'", "did you mean 'highs'?"),
    wrong_solve("unknown class of solve", ("--policies", "decision_tree"), "did you mean 'decision_trees'?"),
    *(
        wrong_solve(f"slack {slack}", ("--near", slack), "--near must be finite and not negative, got")
        for slack in ("-1", "nan", "inf")
    ),
    wrong_solve("time limit is text", ("--time-limit", "soon"), "--time-limit", "'soon'", "milpcb solve --help"),
    # Commands and options.
    wrong_call("no command", (), "Missing command", "milpcb --help"),
    wrong_call("unknown command", ("rn", "ok.toml"), "command 'rn'", "did you mean 'run'?"),
    wrong_call("unknown option", ("run", "ok.toml", "--outt", "x"), "--outt", "--out", "milpcb run --help"),
    wrong_call("missing argument", ("run",), "CONFIG", "milpcb run --help"),
]


@pytest.mark.parametrize(("files", "arguments", "fragments"), MISTAKES)
def test_a_mistake_is_one_line_that_says_how_to_mend_it(
    files, arguments, fragments, tmp_path, milpcb_, write, assert_one_line
):
    """Whatever is wrong, stderr is one line with name, place and fix, the exit code is 2, and nothing is begun."""
    write(tmp_path, files)
    assert_one_line(milpcb_(tmp_path, *arguments), *fragments)
    assert not list((tmp_path / "out").glob("*"))
    assert not (tmp_path / "runs").exists()


def test_a_class_too_large_to_list_is_refused(tmp_path, monkeypatch, milpcb_, assert_one_line, write):
    """Enumeration stops at its limit and names the way out."""
    write(tmp_path, {"x.csv": CONTEXTS, "c.csv": COSTS})
    monkeypatch.setattr(milpcb.oracles.enumeration, "LARGEST", 10)
    done = milpcb_(tmp_path, "solve", "x.csv", "c.csv", "--kind", "enumeration")
    assert_one_line(done, "more than 10 policies", "use oracle kind")


def test_an_interrupt_outside_a_run_is_one_line(tmp_path, monkeypatch, milpcb_):
    """Control-C during any command ends in one line."""
    monkeypatch.setattr("milpcb.solvers.describe_all", Mock(side_effect=KeyboardInterrupt))
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
