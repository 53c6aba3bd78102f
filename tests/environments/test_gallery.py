"""The gallery of adversaries: each does to costs over time what its docstring says."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

from milpcb import open_oracle
from milpcb.environments.planted import AlternatingLeader, Drifting, LateBloomer, Parity, Seasonal
from milpcb.environments.recorded import Replay
from milpcb.errors import InputError, UnknownNameError
from milpcb.testing.environments import CHECKS, transcript
from policies import DecisionTrees

T = 4000
SURE = {"cost_right": 0.0, "cost_wrong": 1.0}


def opened(environment, horizon=T, seed=3):
    """Open an environment against depth-2 trees."""
    return environment.open(DecisionTrees(environment.n_actions, depth=2), horizon, seed)


def paid(stream, policy, rounds=range(T)):
    """Return the costs (n,) of a policy, round by round."""
    rows, costs = transcript(stream, np.array(rounds))
    return costs[np.arange(len(rows)), policy.predict(stream.contexts)[rows]]


def test_the_late_bloomer_is_worst_then_best():
    """It pays in every early round and never again; the decoy is free early unless both agree, ordinary later."""
    stream = opened(LateBloomer(early=0.25))
    bloomer, decoy = (paid(stream, policy) for policy in stream.planted)
    assert bloomer[:1000].all()
    assert not bloomer[1000:].any()
    differs = np.not_equal(*(policy.predict(stream.contexts) for policy in stream.planted))
    rows = np.array([stream.reveal(t) for t in range(T)])
    assert not decoy[:1000][differs[rows[:1000]]].any()
    assert decoy[1000:][differs[rows[1000:]]].mean() == pytest.approx(0.5, abs=0.05)
    assert bloomer.sum() < decoy.sum()


def test_the_lead_alternates():
    """Who has paid less so far changes with every turn, and whoever leads at its start is wrong in it."""
    stream = opened(AlternatingLeader(n_turns=8, **SURE))
    one, other = (paid(stream, policy) for policy in stream.planted)
    starts = AlternatingLeader(n_turns=8).starts(T)
    ends = [*starts[1:], T]
    leads = np.cumsum(other - one)[np.array(ends) - 1]
    assert (np.sign(leads) == [1, -1] * 4 + [1]).all()
    for turn, (start, end) in enumerate(zip(starts, ends, strict=True)):
        assert ((one, other)[turn % 2][start:end] == 0).all()


def test_seasons_return():
    """In season s of each year exactly policy s is always right."""
    stream = opened(Seasonal(n_seasons=3, season=100, **SURE))
    for season, policy in enumerate(stream.planted):
        right = paid(stream, policy).reshape(-1, 100).sum(axis=1) == 0
        assert (right == (np.arange(40) % 3 == season)).all()


def test_drift_is_slow_and_goes_far():
    """From step to step chances hardly move, over the run they do, and they stay between right and wrong."""
    chances = opened(Drifting(n_steps=50)).chances
    steps = np.abs(np.diff(chances.tables, axis=0)).max(axis=(1, 2))
    assert steps.max() < 0.2
    assert np.ptp(chances.tables, axis=0).max() > 0.2
    assert chances.tables.min() >= 0.3 - 1e-12
    assert chances.tables.max() <= 0.6 + 1e-12
    assert (np.diff(chances.starts) == T // 50).all()


def test_parity_is_invisible_to_single_features_and_plain_to_a_tree():
    """A linear model explains nothing of who is right; a depth-2 tree is always right, a depth-1 tree half the time."""
    stream = opened(Parity(n_contexts=400, n_features=2, **SURE))
    right = stream.chances(np.zeros(400, int), np.arange(400)).argmin(axis=1)
    assert LinearRegression().fit(stream.contexts, right).score(stream.contexts, right) == pytest.approx(0.0, abs=1e-9)
    costs = stream.chances(np.zeros(400, int), np.arange(400))
    assert open_oracle(DecisionTrees(2, 2), stream.contexts, kind="search").value(costs) == 0
    assert open_oracle(DecisionTrees(2, 1), stream.contexts, kind="search").value(costs) == 200


# --------------------------------------------------------------------------- replay


def history(folder, suffix=".csv", rounds=300):
    """Write a history of three contexts and two actions and return the environment's arguments and the arrays."""
    rng = np.random.default_rng(0)
    contexts, costs = rng.integers(0, 3, (rounds, 1)).astype(float), rng.random((rounds, 2)).round(3)
    frames = pl.DataFrame(contexts, schema=["age"]), pl.DataFrame(costs, schema=["wait", "treat"])
    paths = [str(folder / f"{name}{suffix}") for name in ("contexts", "costs")]
    for frame, path in zip(frames, paths, strict=True):
        (frame.write_csv if suffix == ".csv" else frame.write_parquet)(path)
    return paths, contexts, costs


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_replay_shows_the_file_line_by_line(tmp_path, suffix):
    """Contexts, costs and names are those of the files; equal contexts are one row, and the order is known."""
    paths, contexts, costs = history(tmp_path, suffix)
    environment = Replay(*paths)
    stream = environment.open(DecisionTrees(2, 1), 200, 0)
    rows, shown = transcript(stream, np.arange(200))
    assert (stream.contexts[rows] == contexts[:200]).all()
    assert (shown == costs[:200]).all()
    assert len(stream.contexts) == 3
    assert (stream.order == rows).all()
    assert (environment.feature_names, environment.action_names) == (("age",), ("wait", "treat"))


@pytest.mark.parametrize("check", CHECKS)
def test_replay_keeps_the_contract(tmp_path, check):
    """The battery of environments, in the order of the file and shuffled."""
    for order in ("file", "shuffled"):
        CHECKS[check](Replay(*history(tmp_path)[0], order=order), DecisionTrees(2, 1), 250, 3)


def test_shuffled_rounds_are_the_same_rounds(tmp_path):
    """Shuffling permutes whole rounds, by the seed."""
    paths, contexts, costs = history(tmp_path)
    shown = []
    for seed in (0, 1):
        stream = Replay(*paths, order="shuffled").open(DecisionTrees(2, 1), 300, seed)
        rows, seen = transcript(stream, np.arange(300))
        shown.append(np.hstack([stream.contexts[rows], seen]).tolist())
    assert shown[0] != shown[1]
    expected = sorted(np.hstack([contexts, costs]).tolist())
    assert [sorted(rounds) for rounds in shown] == [expected] * 2
    with pytest.raises(UnknownNameError, match="did you mean 'file'"):
        Replay(*paths, order="fil")


def test_a_file_that_changes_is_read_again(tmp_path):
    """No stale history after the user has fixed the file."""
    paths, _, costs = history(tmp_path)
    Replay(*paths)
    pl.DataFrame(1 - costs, schema=["wait", "treat"]).write_csv(paths[1])
    assert Replay(*paths).open(DecisionTrees(2, 1), 1, 0).costs(0) == pytest.approx(1 - costs[0])


def test_replay_tells_what_is_wrong(tmp_path):
    """Misfit and out-of-range files, a and a horizon too long: one line each."""
    paths, _, _ = history(tmp_path)
    other = tmp_path / "other.csv"
    for text, fragment in (
        ("0.5,0.5\n", "has 300 rounds, .* has 1"),
        ("0.5\n" * 300, "columns"),
        ("0.5,0.5\n" * 299 + "0.5,1.5\n", "round 300, column 2 is 1.5"),
        ("0.5,0.5\n" * 299 + "0.5,nan\n", "finite"),
    ):
        other.write_text(text)
        with pytest.raises(InputError, match=fragment):
            Replay(paths[0], str(other))
    with pytest.raises(InputError, match="lower the horizon"):
        Replay(*paths).open(DecisionTrees(2, 1), 301, 0)
