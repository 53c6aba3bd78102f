"""``milpcb bound``: guarantees of a config's classes, as a table and as CSV."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from milpcb.commands.plan import bound
from milpcb.environments.planted import Planted
from milpcb.errors import InputError
from milpcb.experiments.study.bounds import Bound, bounds_frame, compute_bound, settings
from milpcb.experiments.study.config import read_config
from milpcb.experiments.study.sections import Config
from milpcb.plugins import registry
from policies import DecisionTrees

ONE = """\
[experiment]
name = "tiny"
horizon = 20_000
seeds = [5, 6]
[environment]
name = "planted"
n_contexts = 12
n_features = 3
[policies]
name = "decision_trees"
depth = 1
[[learners]]
name = "uniform"
"""
GRID = ONE.replace("horizon = 20_000", "horizon = [1_000, 20_000]").replace(
    "[policies]", '[[policies]]\nname = "decision_trees"\nlabel = "deeper"\ndepth = 2\n[[policies]]'
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return the path of a config of one setting."""
    path = tmp_path / "tiny.toml"
    path.write_text(ONE)
    return path


def study(tmp_path: Path, text: str) -> Config:
    """Return a config read from text."""
    (tmp_path / "some.toml").write_text(text)
    return read_config(tmp_path / "some.toml")


def run(*arguments: object) -> Result:
    """Run the command on a wide terminal."""
    return CliRunner(env={"COLUMNS": "200"}).invoke(bound, [str(argument) for argument in arguments])


def computed(config: Config, *noises: str, draws: int = 10) -> list[Bound]:
    """Return the bounds of every setting."""
    return [
        compute_bound(setting, noise, draws, lambda _done: None) for setting in settings(config) for noise in noises
    ]


def test_the_table_holds_every_relaxation_with_its_closed_form(config: Path) -> None:
    """Without --noise all registered ones are shown; L and bound are those of the relaxation on these contexts."""
    result = run(config, "--draws", 10)
    assert result.exit_code == 0, result.output
    contexts = Planted(n_contexts=12, n_features=3).open(DecisionTrees(3, 1), 20_000, seed=5).contexts
    log_size = DecisionTrees(3, 1).log_size(contexts)
    assert f"decision_trees, planted, seed 5: 12 contexts (FinitePool), K = 3, log N = {log_size:.3f}" in result.output
    for noise in registry.names("relaxation"):
        relaxation = registry.load("relaxation", noise)()
        scale = relaxation.best_scale(20_000, 3, log_size)
        (line,) = [line for line in result.output.splitlines() if line.startswith(f"│ {noise} ")]
        _, _, horizon, at, closed, best, estimate, half_width, _ = (cell.strip() for cell in line.split("│"))
        assert horizon == "20\u202f000"
        assert at == f"{scale:.1f}"
        assert closed.rstrip("*") == f"{relaxation.guarantee(scale, 20_000, 3, log_size):,.0f}".replace(",", "\u202f")
        assert closed.endswith("*") == (relaxation.guarantee(scale, 20_000, 3, log_size) > 20_000)
        assert float(best) >= 3
        assert 0 < float(estimate.rstrip("*").replace("\u202f", "")) < float(closed.rstrip("*").replace("\u202f", ""))
        assert half_width.startswith("± ")


def test_the_csv_holds_the_curve_over_l(config: Path, tmp_path: Path) -> None:
    """15 rows that share their draws and the best L again; the closed form is the relaxation's at each."""
    result = run(config, "--noise", "half", "--noise", "paper", "--out", tmp_path / "b.csv", "--draws", 10)
    assert result.exit_code == 0, result.output
    frame = pl.read_csv(tmp_path / "b.csv")
    assert frame.group_by("noise", "draws", maintain_order=True).len()["len"].to_list() == [15, 1, 15, 1]
    assert frame["noise"].unique(maintain_order=True).to_list() == ["half", "paper"]
    log_size = next(settings(read_config(config))).oracle.log_size
    for row in frame.iter_rows(named=True):
        relaxation = registry.load("relaxation", row["noise"])()
        assert row["closed_form"] == pytest.approx(relaxation.guarantee(row["scale"], 20_000, 3, log_size))
        assert row["estimate"] - row["half_width"] < row["closed_form"]
    shared = frame.filter(pl.col("draws") == "shared", pl.col("noise") == "half").sort("estimate")
    assert frame.filter(pl.col("draws") == "own", pl.col("noise") == "half")["scale"].item() == shared["scale"][0]


def test_every_environment_class_and_horizon_is_a_setting(tmp_path: Path) -> None:
    """A grid has one setting per combination, named by what there are several of, at the first seed."""
    found = list(settings(study(tmp_path, GRID)))
    names = [(setting.name, setting.horizon) for setting in found]
    assert names == [("deeper", 1_000), ("deeper", 20_000), ("decision_trees", 1_000), ("decision_trees", 20_000)]
    assert {setting.seed for setting in found} == {5}
    assert found[0].oracle.log_size > found[2].oracle.log_size


def test_side_constraints_belong_to_the_class(tmp_path: Path) -> None:
    """With two of three actions forbidden one policy is left, and there is little but exploring to pay for."""
    rule = '[[constraints]]\nname = "share_at_most"\naction = {}\nshare = 0.0\n'
    texts = (ONE, ONE + rule.format(0) + rule.format(1))
    grids = [np.array(computed(study(tmp_path, text), "half", draws=40)[0].value.grid).T for text in texts]
    noise = [(mean - 20_000 * 2 / scales, half_width) for scales, mean, half_width, _ in grids]
    assert (noise[0][0] > 3 * noise[0][1]).all()
    assert (np.abs(noise[1][0]) < 2 * noise[1][1]).all()


def test_the_same_config_gives_the_same_numbers(tmp_path: Path) -> None:
    """The first seed decides all draws; what other relaxations are asked for changes nothing."""
    config = study(tmp_path, ONE)
    alone, beside = computed(config, "half"), computed(config, "paper", "half")
    assert bounds_frame(alone).equals(bounds_frame(beside[1:]))
    other = computed(study(tmp_path, ONE.replace("[5, 6]", "[6, 5]")), "half")
    assert not bounds_frame(alone).equals(bounds_frame(other))
    ticks: list[int] = []
    again = alone[0].setting._replace(seed=7)
    assert compute_bound(again, "half", 10, ticks.append).value.best != alone[0].value.best
    assert ticks == list(range(1, 21))


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (["--noise", "haf"], "did you mean 'half'"),
        (["--out", "b.pdf"], "use .csv"),
        (["--draws", "1"], "draws must be an integer of at least 2"),
    ],
)
def test_bad_options_are_one_clear_line_before_anything_is_drawn(
    config: Path, options: list[str], fragment: str
) -> None:
    """An unknown noise, ending or number of draws is named."""
    result = run(config, *options)
    assert isinstance(result.exception, InputError)
    assert fragment in str(result.exception)
    assert "\n" not in str(result.exception)
    assert not result.output
