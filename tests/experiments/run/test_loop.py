"""The loop between a learner and an environment, with fakes of both."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from milpcb.experiments.run.player import Tally, checkpoints, play
from milpcb.learners import Learner
from milpcb.rng import draw_action

T = 12
Q = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]])


class FakeLearner(Learner):
    """Plays Q[row] and writes down all it is told, and the costs that it is shown."""

    kept = ()

    def __init__(self, q=Q, *, full_information=False):
        super().__init__(n_actions=3)
        self.q, self.full_information, self.told, self.shown = q, full_information, [], []

    def _act(self, row):
        """Return the row of Q."""
        return self.q[row]

    def _learn(self, *told):
        """Note the row, the action, its cost and its probability."""
        self.told.append(told)

    def _learn_all(self, row, costs):
        """Note the costs."""
        self.shown.append((row, *costs))


class FakeStream:
    """Shows rows 0, 1, 0, 1, ...; no two costs are equal."""

    contexts = np.eye(2)
    order = None

    def reveal(self, t):
        """Return the row."""
        return t % 2

    def costs(self, t):
        """Return the costs."""
        return (t + np.array([0.0, 0.25, 0.5])) / T


def run(learner, stream, stops=range(1, T + 1)):
    """Play T rounds, cut at ``stops``; return (round, cost, seconds) at each."""
    tally, generator, points = Tally(), np.random.default_rng(0), []
    for stop in stops:
        play(learner, stream, tally, stop, generator)
        points.append((tally.round, tally.cost, tally.seconds))
    return points


def test_costs_are_added_up_in_expectation_and_time_goes_on():
    """The cost is sum_t <q_t, c_t>, whatever actions were drawn; the seconds of later rounds are not less."""
    stream = FakeStream()
    expected = np.cumsum([Q[t % 2] @ stream.costs(t) for t in range(T)])
    points = run(FakeLearner(), stream)
    assert [played for played, _, _ in points] == list(range(1, T + 1))
    assert np.allclose([cost for _, cost, _ in points], expected, rtol=1e-15)
    assert points[0][2] > 0.0
    assert all(earlier[2] <= later[2] for earlier, later in pairwise(points))


@pytest.mark.parametrize("stops", [[T], [3, T], [1, 2, 7, 8, T], [0, 5, 5, T]])
def test_cuts_change_nothing(stops):
    """However a play is cut into pieces, the learner hears the same and the numbers are the same to the last bit."""
    cut, whole = FakeLearner(), FakeLearner()
    points, every = run(cut, FakeStream(), stops), run(whole, FakeStream())
    assert cut.told == whole.told
    assert [(played, cost) for played, cost, _ in points if played] == [every[n - 1][:2] for n in stops if n]


@pytest.mark.parametrize("full_information", [False, True])
def test_the_learner_is_told_the_played_action_only(full_information):
    """Its row, action, that action's cost and probability; who declares full information is shown all costs after."""
    learner, stream = FakeLearner(full_information=full_information), FakeStream()
    run(learner, stream)
    assert len(learner.told) == T
    for t, (row, action, cost, probability) in enumerate(learner.told):
        assert (row, cost, probability) == (t % 2, stream.costs(t)[action], Q[t % 2][action])
    assert learner.shown == [(t % 2, *stream.costs(t)) for t in range(T)] * full_information


def test_actions_are_drawn_with_the_probabilities_given():
    """Over 20 000 draws each frequency is within five standard deviations; probability 0 is never drawn."""
    n, q = 20_000, np.array([0.05, 0.0, 0.6, 0.35])
    rng = np.random.default_rng(3)
    counts = np.bincount([draw_action(q, rng) for _ in range(n)], minlength=4)
    assert counts[1] == 0
    assert (np.abs(counts - n * q) <= 5 * np.sqrt(n * q * (1 - q))).all(), counts


@pytest.mark.parametrize("total", [1.0 - 1e-12, 1.0, 1.0 + 1e-12])
@pytest.mark.parametrize(("q", "drawn"), [([0.3, 0.7, 0.0], np.nextafter(1.0, 0.0)), ([0.0, 0.3, 0.7], 0.0)])
def test_a_sum_that_is_slightly_off_still_draws_an_action(total, q, drawn):
    """Rounding in q neither draws an action that is not there nor one with probability 0, at either end."""
    assert draw_action(total * np.array(q), SimpleNamespace(random=lambda: drawn)) == 1


@pytest.mark.parametrize(("horizon", "count"), [(1, 1), (1, 40), (2, 3), (30, 1), (1000, 2), (1000, 40), (10**6, 40)])
def test_checkpoints_go_from_the_first_round_to_the_last(horizon, count):
    """They increase within 1..T, end with T, and are at most 2 count + 1.

    Log-spaced ones show the slope from the start, even ones the bend at the end: no gap is above T / (count - 1).
    """
    at = checkpoints(horizon, count)
    assert (at[0], at[-1]) == (1, horizon)
    assert (np.diff(at) > 0).all()
    assert len(at) <= 2 * count + 1
    assert set(np.rint(np.geomspace(1, horizon, count)).astype(int)) <= set(at.tolist())
    assert np.diff(at).max(initial=0) <= np.ceil(horizon / max(1, count - 1))
