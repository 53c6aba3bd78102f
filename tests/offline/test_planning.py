"""A trial is planned by trials that are simulated: their rows, their power, and what is printed and drawn."""

import numpy as np
import pytest
from click.testing import CliRunner

from milpcb.commands.plan import plan as command
from milpcb.errors import InputError
from milpcb.offline.planning import Design, Plan, SimulatedTrial, plan
from milpcb.rng import child
from policies import DecisionTrees

STUMPS = DecisionTrees(2, depth=1, thresholds=[[0.5]] * 2)
DESIGN = Design(2, 2, effect=0.4, share=0.5)
OPTIONS = ["--features", "2", "--effect", "0.4", "--share", "0.5", "--eps", "0.1", "--depth", "1", "--trials", "20"]


def test_rows_have_the_law_that_is_planned_for():
    """The first feature is yes for the share, and decides which action costs less."""
    features, action, cost = Design(3, 3, effect=0.3, share=0.2, base=0.6).draw(60_000, child(0))
    assert features.mean(axis=0) == pytest.approx([0.2, 0.5, 0.5], abs=0.01)
    for x, a in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2)):
        own = cost[(features[:, 0] == x) & (action == a)]
        assert own.mean() == pytest.approx(0.3 if a == x else 0.6, abs=0.02)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_simulated_trial_ends_where_it_is_found_to(seed):
    """It may end after so many rows, and not after 2 % less; below a count of rows none does."""
    trial = SimulatedTrial(STUMPS, DESIGN, 0.95, child(seed))
    n = trial.rows_needed(0.1, 10_000)
    assert trial.ends(int(n), 0.1)
    assert not trial.ends(int(n / 1.02), 0.1)
    assert not trial.ends(trial.fewest(0.1), 0.1)
    assert trial.rows_needed(0.1, int(n / 1.02)) == np.inf


def test_rows_are_read_off_the_trials():
    """The least number of rows by which so many had ended, and its interval."""
    found = Plan(np.array([10.0, 20, 30, 40, np.inf]), 100)
    assert [found.needed(p) for p in (0.2, 0.21, 0.8, 0.9)] == [10, 20, 40, np.inf]
    assert found.between(0.5) == (10, np.inf)


def test_planned_power_is_that_of_fresh_trials():
    """Of other trials about as many end; the same seed plans the same."""
    done = []
    planned = plan(STUMPS, DESIGN, 0.1, trials=40, tick=lambda *counts: done.append(counts))
    assert done[-1] == (40, 40)
    assert (planned.rows == plan(STUMPS, DESIGN, 0.1, trials=40).rows).all()
    n = int(planned.needed(0.8))
    ended = [SimulatedTrial(STUMPS, DESIGN, 0.95, child(seed, "fresh")).ends(n, 0.1) for seed in range(40)]
    assert 0.55 <= np.mean(ended) <= 0.97


def test_the_command_prints_a_table_and_writes_a_picture(tmp_path):
    """A row for each power, the one that is asked for in a sentence."""
    done = CliRunner().invoke(command, [*OPTIONS, "--power", "0.7", "--out", str(tmp_path / "p.svg")])
    assert done.exit_code == 0, done.output
    assert "70\u202f%" in done.stdout
    assert "the trial ends with a chance of 70\u202f%" in done.stdout
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    few = CliRunner().invoke(command, [*OPTIONS, "--most", "50"])
    assert "In less than 80\u202f% of 20 simulated trials 50 rows are enough" in few.stdout


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--out", "p.pdf"], "use .png or .svg"),
        (["--power", "1"], "--power must be"),
        (["--deep", "2"], "unknown option"),
        (["--base", "0.3"], "effect must be from 0 to the base of 0.3"),
        (["--most", "50", "--out", "p.png"], "nothing to draw"),
        (["--confidence", "1"], "confidence"),
    ],
)
def test_mistakes_end_in_one_line(more, line):
    """Endings, numbers out of range, options that the class has not."""
    done = CliRunner().invoke(command, [*OPTIONS, *more])
    assert isinstance(done.exception, InputError)
    assert line in str(done.exception)
