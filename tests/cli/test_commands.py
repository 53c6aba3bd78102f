"""The happy paths of the command line."""

import platform

import numpy as np
import pytest
from matplotlib.image import imread

from milpcb.plugins import registry
from tests.cli.conftest import CONTEXTS, COSTS


@pytest.fixture
def tables(tmp_path, write):
    """Return a folder with contexts and costs under names that a header gives."""
    write(tmp_path, {"x.csv": CONTEXTS, "c.csv": COSTS})
    return tmp_path


@pytest.fixture
def solved(milpcb_):
    """Return ``solved(folder, *options)``: the lines that solve prints."""

    def lines(folder, *options):
        done = milpcb_(folder, "solve", "x.csv", "c.csv", *options)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout.splitlines()

    return lines


def test_solve_prints_rules_in_the_names_of_the_headers(tables, solved):
    """Features and actions are called what the header lines call them, and the cost is proved."""
    lines = solved(tables, "--depth", "1", "--thresholds=1")
    assert lines[:4] == ["if age <= 50:", "    play wait", "else:", "    play treat"]
    assert lines[4] == "cost: 0   proved lower bound: 0   (optimal)"
    assert "highs" in lines[5]


def cost(lines):
    """Return what solve says of the cost of its policy."""
    return next(line.split("   ")[0] for line in lines if line.startswith("cost"))


@pytest.mark.parametrize("options", [("--kind", "enumeration"), ("--solver", "pulp:PULP_CBC_CMD")])
def test_solve_costs_the_same_by_any_route(options, tables, write, solved):
    """Enumeration and CBC find the cost that HiGHS proves."""
    write(tables, {"c.csv": "0.5,1,3\n0,1,-2\n1,0.25,7\n1,0,0\n"})
    plain, other = (solved(tables, "--depth", "1", *more) for more in ((), options))
    assert cost(plain) == cost(other) == "cost: -0.75"


def test_solve_needs_no_header(tables, write, milpcb_):
    """Without header lines features are x0, x1, ... and actions numbers, with a note where 0,1 might be names."""
    write(tables, {"x.csv": "\ufeff" + CONTEXTS.split("\n", 1)[1], "c.csv": COSTS.split("\n", 1)[1]})
    done = milpcb_(tables, "solve", "x.csv", "c.csv", "--depth", "1", "--thresholds", "1")
    assert done.stdout.splitlines()[:2] == ["if x0 <= 50:", "    play action 0"]
    assert done.stderr == "note: c.csv: the first line, 0,1, is read as numbers, and not as names.\n"


ALL_CUTS = ("--depth", "1", "--thresholds", "all", "--kind")


@pytest.mark.parametrize("kind", ["search", "milp", "enumeration"])
def test_near_policies_are_counted_and_shown_side_by_side(kind, tables, write, solved):
    """How many there are, where their actions differ, what they need, and the policies with their costs."""
    write(tables, {"x.csv": "age,visits\n20,0\n30,1\n40,0\n50,1\n60,0\n70,1\n"})
    write(tables, {"c.csv": "0,5\n0,5\n1,2\n5,0\n5,0\n5,0\n"})
    lines = solved(tables, *ALL_CUTS, kind, "--near", "1")
    start = next(number for number, line in enumerate(lines) if line.startswith("near: "))
    assert lines[start : start + 3] == [
        "near: 2 different policies cost at most 1 more than the least",
        "contested: on 1 of 6 contexts they do not all play the same action",
        "needed: age (10 more without it)",
    ]
    assert [part.strip() for part in lines[start + 4].strip("┃").split("┃")] == ["cost 1", "cost 2"]
    assert "if age <= 40:" in lines[start + 6]
    assert "if age <= 30:" in lines[start + 6]
    alone = solved(tables, *ALL_CUTS, kind, "--near", "0")
    assert "near: 1 different policies cost at most 0 more than the least" in alone


@pytest.fixture(scope="module")
def finished(tmp_path_factory, milpcb_, write, config):
    """Return a folder with two finished runs of the same name and what the first one printed."""
    folder = tmp_path_factory.mktemp("finished")
    write(folder, {"tiny.toml": config})
    first = milpcb_(folder, "run", "tiny.toml", "--out", "one/tiny")
    second = milpcb_(folder, "run", "one/tiny/config.toml", "--out", "two/tiny", "--backend", "serial")
    for done in (first, second):  # on a slow machine lines say how far the pictures are
        assert done.returncode == 0
        assert [line for line in done.stderr.splitlines() if not line.startswith("the pictures: ")] == []
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


def test_plot_draws_several_directories_on_one_picture(finished, milpcb_):
    """Two directories of one name are told apart by their paths; PNG and SVG can be read."""
    folder, _ = finished
    done = milpcb_(folder, "plot", "one/tiny", "two/tiny", "--figure", "regret_loglog", "--out", "both")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert imread(folder / "both/regret_loglog.png").shape[2] == 4
    picture = (folder / "both/regret_loglog.svg").read_text()
    assert picture.rstrip().endswith("</svg>")
    for label in ("one/tiny: uniform", "two/tiny: uniform", "one/tiny: BISTRO+", "two/tiny: BISTRO+"):
        assert label in picture


def test_solvers_are_listed_with_reasons(tmp_path, milpcb_):
    """Every solver is a row, with yes or the reason why it cannot run here."""
    done = milpcb_(tmp_path, "solvers")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {
        cells[1].strip(): cells for cells in (line.split("│") for line in done.stdout.splitlines()) if len(cells) > 4
    }
    assert rows["highs"][4].strip() == "yes"
    assert rows["pulp:PULP_CBC_CMD"][4].strip() == "yes"
    assert all(cell.strip() for cells in rows.values() for cell in cells[1:5])


@pytest.fixture
def listed(tmp_path, milpcb_):
    """Return ``listed(*arguments)``: the lines that list prints."""

    def lines(*arguments):
        done = milpcb_(tmp_path, "list", *arguments)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout.splitlines()

    return lines


def test_one_name_is_explained_with_its_options(listed):
    """A name is shown with a line, how a config writes it, and every option with type, default and meaning."""
    lines = listed("planted")
    assert lines[0].startswith("planted: The benign case")
    assert lines[1] == 'written: [environment] name = "planted"'
    assert lines[2].startswith("options: n_actions: int = 3, n_contexts: int = 200")
    assert any(line.startswith("cost_right : P[cost") for line in lines)
    assert "share: float" in listed("share_at_most")[2]
    assert "oracle" not in listed("exp4")[2], "the runtime supplies it"


def test_a_kind_is_listed_alone_and_a_wrong_name_is_refused(listed, tmp_path, milpcb_, assert_one_line):
    """Singular and plural name a kind, and none names all; what is nothing gets the nearest name."""
    assert listed("learner") == listed("learners")
    assert not any("planted" in line for line in listed("learner"))
    every = "\n".join(listed())
    assert [name for names in registry.BUILTIN.values() for name in names if f"  {name} " not in every] == []
    assert_one_line(milpcb_(tmp_path, "list", "plantd"), "'plantd'", "did you mean 'planted'?")


def test_help_and_versions_are_printed(tmp_path, milpcb_, process):
    """Help names every command; --version the program, Python, what computes and the solvers, each with its version."""
    for option in ("--help", "-h"):
        done = milpcb_(tmp_path, option)
        assert (done.returncode, done.stderr) == (0, "")
        assert all(f"  {name} " in done.stdout for name in registry.names("command"))
    done = process(tmp_path, "--version")  # a solver prints as it is loaded, where standard output is not a file
    assert done.returncode == 0
    assert done.stdout.startswith("milpcb, version ")
    for what in (f"Python {platform.python_version()}", f"numpy {np.__version__}", "highs 1.", "pulp:PULP_CBC_CMD"):
        assert what in done.stdout, what
