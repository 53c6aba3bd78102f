"""Whole runs in one process: the same seed is the same run, and learners do not disturb each other."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

from milpcb.errors import InputError
from milpcb.experiments import runner
from milpcb.experiments.config import read_config
from milpcb.experiments.curves import read_curves

UNIFORM = '[[learners]]\nname = "uniform"\n'
HEDGE = '[[learners]]\nname = "hedge"\noracle = { kind = "enumeration" }\n'
TWO_SEEDS = ("horizon = 40", "horizon = 40\nseeds = [0, 7]")


@pytest.fixture
def three(tiny):
    """Return a config with three learners and two seeds."""
    return tiny.replace(*TWO_SEEDS) + UNIFORM + HEDGE


def test_the_same_seed_writes_the_same_bytes(three, tmp_path, play_into, untimed):
    """Two runs of one config differ in nothing but the columns seconds and oracle_seconds."""
    for name in ("one", "two"):
        play_into(three, tmp_path / name)
    assert untimed(tmp_path / "one") == untimed(tmp_path / "two")
    same = {file.name for file in (tmp_path / "one").iterdir()} - {"curves.csv"}
    assert len(same) == 7
    for name in same:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_another_seed_is_another_run(three, tmp_path, play_into):
    """Seeds change environment, actions and noise."""
    rows = play_into(three, tmp_path / "run")[0].rows
    for learner in ("bistro_plus", "uniform", "hedge"):
        zero, seven = ([row.regret for row in rows if (row.learner, row.seed) == (learner, seed)] for seed in (0, 7))
        assert zero != seven


def test_a_learner_more_changes_no_other_learner(tiny, three, tmp_path, play_into, untimed):
    """Alone or in company, before or after others, with more seeds or fewer: bistro_plus plays the same rounds."""
    first, rest = tiny.split("[[learners]]")
    texts = {"alone": tiny, "first": tiny + UNIFORM + HEDGE, "last": f"{first}{UNIFORM}{HEDGE}[[learners]]{rest}"}
    for name, text in texts.items():
        play_into(text, tmp_path / name)
    play_into(three, tmp_path / "seeds")
    alone = untimed(tmp_path / "alone", "bistro_plus,0,")
    assert len(alone) > 5
    for name in ("first", "last", "seeds"):
        assert untimed(tmp_path / name, "bistro_plus,0,") == alone, name


def test_a_resolved_config_is_the_same_experiment(three, tmp_path, play_into, untimed):
    """The config.toml of a run, run elsewhere, gives the same curves, and is written again byte by byte."""
    play_into(three, tmp_path / "one")
    resolved = tmp_path / "one/config.toml"
    play_into(resolved.read_text(encoding="utf-8"), tmp_path / "two")
    assert untimed(tmp_path / "one") == untimed(tmp_path / "two")
    assert (tmp_path / "two/config.toml").read_bytes() == resolved.read_bytes()
    assert read_config(resolved).table() == read_config(tmp_path / "two/config.toml").table()


def test_rows_are_what_was_measured(tiny, tmp_path, play_into):
    """Regret is cost minus best cost, calls and seconds grow, and every checkpoint up to T has its row."""
    rows = play_into(tiny, tmp_path / "run")[0].rows
    assert [row.round for row in rows] == sorted({row.round for row in rows})
    assert rows[-1].round == rows[-1].horizon == 40
    for row in rows:
        assert row.regret == row.cumulative_cost - row.best_cost
        assert row.oracle_calls == row.round  # one profile a round
        assert 0 < row.oracle_seconds <= row.seconds
        assert 0 <= row.best_cost <= row.round
    assert np.isfinite(rows[0].guarantee)
    assert read_curves(tmp_path / "run") == rows


def test_finished_curves_are_not_played_again(three, tmp_path, play_into):
    """A run goes on with what is missing: one seed of one learner here, and nothing the second time."""
    directory, tasks = play_into(three, tmp_path / "run")
    assert len(tasks) == 8  # for two seeds: hindsight and three learners
    before = directory.rows
    kept = [row for row in before if (row.learner, row.seed) != ("uniform", 7)]
    directory.rows = []
    directory.add(kept)
    again, tasks = play_into(three, tmp_path / "run")
    assert tasks == ["best policy in hindsight, seed 7: 40", "uniform, seed 7: 40"]
    assert again.finished() == {(learner, seed) for learner in ("bistro_plus", "uniform", "hedge") for seed in (0, 7)}
    assert {row for row in again.rows if row in kept} == set(kept)
    assert play_into(three, tmp_path / "run")[1] == []


WRONG = {
    "scale below K": ("scale = 8", "scale = 2", "at least 3"),
    "leader without profile": ('queries = "profile"', 'leftover = "leader"', 'set queries = "profile"'),
    "unknown noise": ('queries = "profile"', 'noise = "papr"', "did you mean 'paper'"),
    "hedge without a list": (
        'kind = "enumeration"\n\n[[learners]]\nname = "bistro_plus"\nqueries = "profile"\nscale = 8',
        'kind = "milp"\n\n[[learners]]\nname = "hedge"',
        'oracle = { kind = "enumeration" }',
    ),
    "K of the class": ("depth = 1", "depth = 1\nn_actions = 2", "leave n_actions out"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_setting_is_told_before_the_first_round(case, tiny, tmp_path, play_into, monkeypatch):
    """Learners are made before anything is played or written, even those that come after others."""
    old, new, message = WRONG[case]
    assert tiny.count(old) == 1
    head, learner = tiny.replace(old, new).split("[[learners]]")
    monkeypatch.setattr(runner, "hindsight", None)
    monkeypatch.setattr(runner, "play", None)
    with pytest.raises(InputError) as refused:
        play_into(f"{head}{UNIFORM}[[learners]]{learner}", tmp_path / "run")
    assert message in str(refused.value)
    assert list((tmp_path / "run").iterdir()) == []


def test_the_best_policy_is_written_as_rules_and_picture(three, tmp_path, play_into):
    """For every seed: rules as text, and drawings."""
    play_into(three, tmp_path / "run")
    for seed in (0, 7):
        assert (tmp_path / f"run/best_policy_seed{seed}.txt").read_text().startswith(("if x", "play action"))
        assert (tmp_path / f"run/best_policy_seed{seed}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"run/best_policy_seed{seed}.svg").read_text().rstrip().endswith("</svg>")


def test_the_resolved_config_says_what_it_was_run_with(tiny, tmp_path, play_into):
    """Versions of the packages that decide the numbers stand in config.toml."""
    play_into(tiny, tmp_path / "run")
    assert tomllib.loads((tmp_path / "run/config.toml").read_text())["versions"]["numpy"] == np.__version__
