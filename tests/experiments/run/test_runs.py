"""Whole runs in one process: the same seed is the same run, and learners do not disturb each other."""

import re
from itertools import product
from types import SimpleNamespace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import milpcb
from milpcb.errors import InputError
from milpcb.experiments.results.store import RunDirectory
from milpcb.experiments.run import runner
from milpcb.experiments.study.config import read_config

UNIFORM = '[[learners]]\nname = "uniform"\n'
HEDGE = '[[learners]]\nname = "hedge"\noracle = { kind = "enumeration" }\n'
BISTRO = "bistro_plus,planted,decision_trees,enumeration,0,"
KNOWN = ("order", "empirical")
TWO_SEEDS = ("horizon = 40", "horizon = 40\nseeds = [0, 7]")


@pytest.fixture
def three(tiny):
    """Return a config with three learners and two seeds."""
    return tiny.replace(*TWO_SEEDS) + UNIFORM + HEDGE


def outcome(path):
    """Return the names and bytes of a run's files, and its curves without times."""
    timed = ("curves.", ".lock", "cells")
    files = {file.name: file.read_bytes() for file in path.iterdir() if not file.name.startswith(timed)}
    names = {str(file.relative_to(path)) for file in path.rglob("*")}
    return files, names, milpcb.load(path).drop("seconds", "oracle_seconds")


def assert_same(one, two):
    """Require two run directories with the same files, byte for byte but for the times."""
    (files, names, curves), (other_files, other_names, other_curves) = outcome(one), outcome(two)
    assert names == other_names
    assert files == other_files
    assert_frame_equal(curves, other_curves, check_exact=True)


def test_the_same_seed_writes_the_same_bytes(three, tmp_path, play_into, finished, untimed):
    """Two runs of one config differ in nothing but the columns seconds and oracle_seconds."""
    play_into(three, tmp_path / "again")
    assert untimed(tmp_path / "again") == untimed(finished(three))
    assert_same(tmp_path / "again", finished(three))


@pytest.mark.drawn
def test_processes_write_what_one_process_writes(three, tmp_path, play_into, untimed):
    """Serial and processes leave the same files, byte for byte but for the times."""
    for backend in ("serial", "processes"):
        assert play_into(three, tmp_path / backend, backend).failed == []
    assert untimed(tmp_path / "serial") == untimed(tmp_path / "processes")
    assert_same(tmp_path / "serial", tmp_path / "processes")


def test_workers_find_every_kind_of_class_beside_the_config(tiny, tmp_path):
    """The settings of an environment, a policy class and a learner name the task's files, before anything is played."""
    (tmp_path / "mine_all.py").write_text(
        "from milpcb.environments.planted import Planted\n"
        "from milpcb.learners.comparators import Uniform\n"
        "from policies import DecisionTrees\n"
        "class World(Planted): pass\nclass Trees(DecisionTrees): pass\nclass Coin(Uniform): pass\n"
    )
    text = tiny + '[[learners]]\nname = "mine_all:Coin"\n'
    for name, mine in (("planted", "World"), ("decision_trees", "Trees")):
        text = text.replace(f'"{name}"', f'"mine_all:{mine}"')
    (tmp_path / "a.toml").write_text(text)
    config = read_config(tmp_path / "a.toml")
    assert runner.run(config, RunDirectory(tmp_path / "run"), "processes") == []
    assert milpcb.load(tmp_path / "run")["learner"].n_unique() == 2


def test_a_learner_more_changes_no_other_learner(tiny, three, finished, untimed):
    """Alone or in company, before or after others, with more seeds or fewer: bistro_plus plays the same rounds."""
    first, rest = tiny.split("[[learners]]")
    alone = untimed(finished(tiny), BISTRO)
    assert len(alone) > 5
    for text in (tiny + UNIFORM, f"{first}{UNIFORM}{HEDGE}[[learners]]{rest}", three):
        assert untimed(finished(text), BISTRO) == alone


def test_a_resolved_config_is_the_same_experiment(three, tmp_path, play_into, finished, untimed):
    """The config.toml of a run, run elsewhere, gives the same curves, and is written again byte by byte."""
    resolved = finished(three) / "config.toml"
    play_into(resolved.read_text(encoding="utf-8"), tmp_path / "again")
    assert untimed(finished(three)) == untimed(tmp_path / "again")
    assert (tmp_path / "again/config.toml").read_bytes() == resolved.read_bytes()
    assert read_config(resolved).table() == read_config(tmp_path / "again/config.toml").table()


def test_rows_are_what_was_measured(tiny, finished):
    """Regret is cost minus best cost, calls and seconds grow, and every checkpoint up to T has its row."""
    curves = milpcb.load(finished(tiny))
    assert curves["round"].is_sorted()
    assert curves["round"].n_unique() == len(curves)
    assert curves["round"][-1] == 40
    assert (curves["horizon"] == 40).all()
    assert (curves["regret"] == curves["cumulative_cost"] - curves["best_cost"]).all()
    assert (curves["oracle_calls"] == curves["round"]).all()  # one profile a round
    assert (curves["oracle_seconds"] > 0).all()
    assert (curves["oracle_seconds"] <= curves["seconds"]).all()
    assert (curves["best_cost"] <= curves["round"]).all()
    assert curves["guarantee"].is_finite().all()


def test_finished_cells_are_not_played_again(three, play_into, copied):
    """A run goes on with what is missing: one cell whose record is gone here, and nothing the second time."""
    run = copied(three)
    before = milpcb.load(run)
    lost = before.filter(learner="uniform", seed=7)["key"][0]
    (run / f"cells/{lost}.json").unlink()
    assert play_into(three, run).tasks == ["uniform, seed 7: 40"]
    after = milpcb.load(run)
    kept = pl.col("key") != lost
    assert_frame_equal(before.filter(kept), after.filter(kept), check_exact=True)
    assert_frame_equal(before.drop("seconds"), after.drop("seconds"), check_exact=True)
    assert play_into(three, run).tasks == []


CHANGES = {
    "one more seed": (
        "seeds = [0, 7]",
        "seeds = [0, 7, 8]",
        ["bistro_plus, seed 8", "uniform, seed 8", "hedge, seed 8"],
    ),
    "an option of one learner": ("scale = 8", "scale = 9", ["bistro_plus, seed 0", "bistro_plus, seed 7"]),
    "a label": ('name = "uniform"', 'name = "uniform"\nlabel = "coin"', []),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_config_plays_what_changed(change, three, play_into, copied, finished, untimed):
    """Cells with the settings they had are kept, under new labels if there are any; the result is that of a new run."""
    old, new, played = CHANGES[change]
    changed = three.replace(old, new)
    again, fresh = play_into(changed, copied(three)), finished(changed)
    assert [task.split(":")[0] for task in again.tasks if "hindsight" not in task] == played
    assert untimed(again.path) == untimed(fresh)
    assert (again.path / "config.toml").read_bytes() == (fresh / "config.toml").read_bytes()


def test_a_grid_is_the_product_of_its_lists(tiny, tmp_path, play_into, monkeypatch):
    """Environments, classes, horizons, seeds, learners and oracles multiply; each axis is told by its label."""
    monkeypatch.setattr("milpcb.experiments.study.cells.MOST_DRAWN", 1)
    grid = (
        tiny.replace("horizon = 40", "horizon = [5, 10]\nseeds = [0, 1]")
        .replace("[environment]", "[[environment]]")
        .replace("[policies]", '[[environment]]\nname = "switching"\nn_contexts = 8\nn_features = 3\n\n[[policies]]')
        .replace("[oracle]", '[[policies]]\nname = "threshold_rules"\nlabel = "cuts"\n\n[[oracle]]')
        .replace("[[learners]]", '[[oracle]]\nsolver = "highs"\n\n[[oracle]]\nsolver = "scipy"\n\n[[learners]]')
    ) + '[[learners]]\nname = "uniform"\nmax_horizon = 5\n'
    played = play_into(grid, tmp_path / "run")
    curves = milpcb.load(played.path)
    axes = ["environment", "policies", "oracle", "horizon", "seed"]
    cells = {learner: set(curves.filter(learner=learner).select(axes).rows()) for learner in ("bistro_plus", "uniform")}
    worlds = list(product(("planted", "switching"), ("decision_trees", "cuts"), (5, 10), (0, 1)))
    oracles = ("enumeration", "milp:highs", "milp:scipy")
    assert cells["bistro_plus"] == {(e, p, o, t, s) for e, p, t, s in worlds for o in oracles}
    assert cells["uniform"] == {(e, p, "-", t, s) for e, p, t, s in worlds if t == 5}
    assert len(played.tasks) == 16 * 4 + 8
    by_oracle = curves.filter(learner="bistro_plus").drop("key", "seconds", "oracle_seconds")
    for solver in oracles[1:]:  # exact oracles give the same play
        one, two = (by_oracle.filter(oracle=oracle).drop("oracle") for oracle in (oracles[0], solver))
        assert_frame_equal(one, two, check_exact=True)
    names = {file.name for file in played.path.glob("best_policy_*.txt")}
    assert len(names) == 16
    assert len(list(played.path.glob("best_policy_*.svg"))) == 1
    assert "best_policy_switching_cuts_T5_seed1.txt" in names


def test_side_constraints_of_a_config_change_the_comparator(tiny, finished):
    """The best policy in hindsight keeps the constraint, costs at least as much, and learners are measured with it."""
    rule, text = (
        '[[constraints]]\nname = "never"\naction = 2\nrows = [0, 1, 2, 3, 4, 5, 6, 7]\n',
        tiny.replace("= 40", "= 400"),
    )
    free, bound = finished(text), finished(text + rule)
    assert "action 2" in (free / "best_policy_seed0.txt").read_text()
    assert "action 2" not in (bound / "best_policy_seed0.txt").read_text()
    free, bound = milpcb.load(free), milpcb.load(bound)
    assert (bound["best_cost"] >= free["best_cost"]).all()
    assert bound["best_cost"][-1] > free["best_cost"][-1]
    assert bound["cumulative_cost"][-1] != free["cumulative_cost"][-1]


def test_what_learners_know_and_do_are_columns_of_one_study(tiny, finished):
    """The best policy in hindsight, the true order, nothing but what was seen: each is another play than the pool's.

    A learner that asks for the best policy gets its labels, and so has no regret at the horizon. The changes of a rule
    in force never fall, and are fewer than queries; NaN where no rule is in force.
    """
    plus = '[[learners]]\nname = "bistro_plus"\nlabel = "{}"\n{}\n'
    text = tiny + '[[learners]]\nname = "best_in_hindsight"\n'
    text += "".join(plus.format(known, f'queries = "profile"\nscale = 8\ncontexts = "{known}"') for known in KNOWN)
    text += plus.format("once", 'noise = "half"\nfuture = "once"')
    of = {label: curve for (label,), curve in milpcb.load(finished(text)).group_by("learner")}
    assert of["best_in_hindsight"]["regret"][-1] == 0.0
    assert of["bistro_plus"]["regret"][-1] > 0.0
    assert not any(of["bistro_plus"]["cumulative_cost"].equals(of[known]["cumulative_cost"]) for known in KNOWN)
    assert of["bistro_plus"]["rule_changes"].is_nan().all()
    assert (of["once"]["rule_changes"].diff().drop_nulls() >= 0).all()
    assert 0 < of["once"]["rule_changes"][-1] < of["once"]["oracle_calls"][-1]


def test_a_wrong_setting_is_told_before_the_first_round(tiny, tmp_path, play_into, monkeypatch):
    """Learners are made before anything is played or written, even those that come after others."""
    head, learner = tiny.replace("scale = 8", "scale = 2").split("[[learners]]")
    monkeypatch.setattr(runner, "compute", None)
    with pytest.raises(InputError, match="at least 3"):
        play_into(f"{head}{UNIFORM}[[learners]]{learner}", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.drawn
def test_the_best_policy_is_written_as_rules_and_picture(three, tmp_path, play_into):
    """For every seed: rules as text, and drawings with what the leaves hold and what a round there cost."""
    play_into(three, tmp_path / "run")
    for seed in (0, 7):
        assert (tmp_path / f"run/best_policy_seed{seed}.txt").read_text().startswith(("if x", "play action"))

        drawing = (tmp_path / f"run/best_policy_seed{seed}.svg").read_text()
        assert drawing.rstrip().endswith("</svg>")
        assert drawing.count("% of contexts") == drawing.count("<!-- play action") >= drawing.count("mean cost") > 0
        leaves = re.findall(r"([\d.]+) % of contexts(?:[^%]*?mean cost ([\d.]+))?", drawing)
        played = milpcb.load(tmp_path / "run").filter(pl.col("seed") == seed).sort("round")
        paid = sum(float(share) / 100 * float(cost or 0) for share, cost in leaves)
        assert paid * played["round"][-1] == pytest.approx(played["best_cost"][-1], rel=0.02)


def test_a_run_that_fails_leaves_nothing_of_the_config_before(tiny, copied, play_into, monkeypatch):
    """Curves and policies of other cells are not taken for those of this config; what is as before stays."""
    path = copied(tiny + UNIFORM)
    other = tiny.replace("scale = 8", "scale = 9")

    def written():
        return {file.name for file in path.iterdir() if file.suffix in {".txt", ".csv"}}

    whole = written()
    assert whole == {"best_policy_seed0.txt", "curves.csv"}
    monkeypatch.setattr("milpcb.learners.bistro_plus.BistroPlus._act", lambda *_: 1 / 0)
    play_into(other, path)
    assert written() == {"best_policy_seed0.txt"}
    play_into(tiny, path)
    assert written() == whole


def test_progress_counts_the_rounds_of_this_run():
    """Rounds of an earlier attempt are no part; news of others, and of tasks that have ended, are left aside."""
    one, two, _ = tasks = [SimpleNamespace(key=key, horizon=100) for key in "abc"]
    ticks = []
    rounds = runner._Rounds(tasks, lambda *now: ticks.append(now))
    for key, now in (("a", 81), ("stranger", 50)):
        rounds.note({"key": key, "first": 80, "round": now})
    rounds.end(one)
    rounds.note({"key": "a", "first": 80, "round": 99})
    rounds.end(two)
    assert ticks == [(1, 220), (20, 220), (120, 220)]
