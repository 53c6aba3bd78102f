"""``milpcb plot`` and ``milpcb report`` on real run directories."""

import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from milpcb.cli import main
from milpcb.plugins import registry
from tests.sketches import sketch

pytestmark = pytest.mark.usefixtures("sketches")

# All figures but one of rules in force, which this study has not; one of what the config varies is named after that.
FIGURES = {*registry.names("figure")} - {"queries", "against"} | {"against_environment_n_actions"}
CONFIG = """\
[experiment]
name = "tiny"
horizon = [20, 60]
seeds = [0, 1]
checkpoints = 4

[[environment]]
name = "planted"
label = "K = 2"
n_actions = 2
n_contexts = 8
n_features = 3

[[environment]]
name = "planted"
label = "K = 3"
n_actions = 3
n_contexts = 8
n_features = 3

[policies]
name = "decision_trees"
depth = 1

[oracle]
kind = "search"

[run]
backend = "serial"

[[learners]]
name = "uniform"

[[learners]]
name = "bistro_plus"
label = "<b>$L$ = 8</b>"
queries = "profile"
scale = 8
"""


@pytest.fixture
def milpcb(monkeypatch, capsys):
    """Return ``milpcb(*arguments)``: exit code, standard output and standard error of the command line."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["milpcb", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a finished run directory of 2 environments, 2 horizons and 2 seeds."""
    from milpcb.experiments.results.store import RunDirectory
    from milpcb.experiments.run.runner import run
    from milpcb.experiments.study.config import read_config

    folder = tmp_path_factory.mktemp("commands")
    (folder / "tiny.toml").write_text(CONFIG, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", sketch)
        assert not run(read_config(folder / "tiny.toml"), RunDirectory(folder / "run"))
    return folder / "run"


def names(folder: Path) -> set[str]:
    """Return the names of the files of a folder."""
    return {file.name for file in folder.iterdir()}


@pytest.mark.drawn
def test_plot_draws_regret_curves(milpcb, finished, tmp_path):
    """Without --figure the regret curves are drawn, in both formats."""
    assert milpcb("plot", finished, "--out", tmp_path)[0] == 0
    assert names(tmp_path) == {"regret.png", "regret.svg"}
    assert imread(tmp_path / "regret.png").shape[2] == 4
    code, out, _ = milpcb("plot", finished, "--figure", "regret_loglog", "--out", tmp_path / "new")
    assert (code, names(tmp_path / "new")) == (0, {"regret_loglog.png", "regret_loglog.svg"})
    assert out.count("picture: ") == 2


def test_plot_draws_every_figure_that_applies(milpcb, finished, tmp_path):
    """A study with horizons and sizes has all figures; one alone can be asked for by name."""
    assert milpcb("plot", finished, "--figure", "all", "--out", tmp_path)[0] == 0
    assert {Path(name).stem for name in names(tmp_path)} == FIGURES
    assert milpcb("plot", finished, "--figure", "times", "--out", tmp_path / "one")[0] == 0
    assert names(tmp_path / "one") == {"times.png", "times.svg"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--figure", "times", "--figure", "regrets"], "unknown figure 'regrets'; did you mean 'regret'"),
        (["--figure", ""], "unknown figure ''; known: "),
        (["."], "is named twice"),  # two curves of one run cannot be told apart
    ],
)
def test_a_mistake_is_one_line(milpcb, finished, tmp_path, monkeypatch, words, message):
    """A wrong figure, or one directory twice, however it is written; nothing is written; the exit code is 2."""
    monkeypatch.chdir(finished)
    code, out, err = milpcb("plot", finished, *words, "--out", tmp_path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not names(tmp_path)


def test_report_writes_one_page(milpcb, finished, tmp_path):
    """The page holds every line, figure and policy of the run; by default it lies in the run directory."""
    code, out, _ = milpcb("report", finished, "--out", tmp_path / "sub/page.html")
    assert (code, out.strip()) == (0, f"report: {tmp_path / 'sub/page.html'}")
    page = (tmp_path / "sub/page.html").read_text(encoding="utf-8")
    assert page.count("<figcaption>") == len(FIGURES) + 4  # best policies and leaders
    assert page.count("<td>&lt;b&gt;$L$ = 8&lt;/b&gt;</td>") + page.count('">&lt;b&gt;$L$ = 8&lt;/b&gt;</td>') >= 4
    assert "<b>$L$" not in page
    assert "K = 3, T = 60, seed 0" in page
    assert "[experiment]\nname = &#34;tiny&#34;" in page
    assert "had not finished" not in page
    assert milpcb("report", finished)[0] == 0
    assert (finished / "report.html").read_text(encoding="utf-8") == page
