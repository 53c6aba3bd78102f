"""Contextual-FTPL: the laws that its proof names, in closed form, and the regret that follows from them."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InputError
from milpcb.learners import ContextualFTPL
from policies import DecisionTrees

from .rounds import LABELINGS, drawn, perturbed, play_planted, tail

OPPOSITE = [[0], [1]]  # two policies on one context
ftpl = partial(perturbed, horizon=100)


def with_past(learner: Any, past: Any) -> Any:
    """Return the learner with ``past`` (m, K) as its estimates; its generator goes on."""
    state = learner.state()
    state["leader"]["past"] = np.asarray(past, dtype=float).tolist()
    learner.restore(state)
    return learner


def learnt(learner: Any, row: int, action: int, cost: float) -> Any:
    """Let a learner learn of an action, whatever it would have played, and return its estimates of the row."""
    before = learner.state()["leader"]["past"][row][action]
    estimate = learner._learn(row, action, cost, 1.0)
    after = learner.state()["leader"]["past"][row]
    assert after[action] == pytest.approx(before + estimate)
    return after


def frequency(learner: Any, row: int, action: int, draws: int = 1500) -> float:
    """Return how often ``action`` is played on ``row`` from where the learner stands."""
    return float(np.mean([drawn(learner, row)[action] for _ in range(draws)]))


def close(frequency: float, probability: float, draws: int = 1500) -> bool:
    """Tell whether a frequency is within 5 standard deviations of its mean."""
    return abs(frequency - probability) < 5 * np.sqrt(probability * (1 - probability) / draws)


# --------------------------------------------------------------------------- laws in closed form


@pytest.mark.parametrize("lead", [0.0, 0.7, 2.0, -1.5])
def test_the_law_of_actions_is_that_of_a_difference_of_laplace_variables(lead: float) -> None:
    """Action 0, whose past costs ``lead`` more, is played when the noise of action 1 exceeds its own by that much."""
    epsilon = 0.8
    learner = with_past(ftpl(OPPOSITE, epsilon=epsilon), [[lead, 0.0]])
    assert close(frequency(learner, 0, 0), tail(epsilon * lead))
    for v in (0.1, 1.6):  # what an estimate of v leaves of the chance
        assert tail(epsilon * (lead + v)) / tail(epsilon * lead) >= np.exp(-epsilon * v)


@pytest.mark.parametrize(("lead", "cap"), [(1.2, 3), (-1.0, 6), (0.5, 1)])
def test_redraws_have_the_capped_geometric_law(lead: float, cap: int) -> None:
    """J is the number of redraws until the action is seen again, and M if it is not by then."""
    p, games = tail(lead), 1500
    learner = ftpl(OPPOSITE, epsilon=1.0, cap=cap)
    counts = np.zeros(cap + 1)
    for _ in range(games):
        counts[round((learnt(with_past(learner, [[lead, 0.0]]), 0, 0, 0.5)[0] - lead) / 0.5)] += 1
    law = np.array([0.0, *(p * (1 - p) ** (j - 1) for j in range(1, cap)), (1 - p) ** (cap - 1)])
    assert law @ np.arange(cap + 1) == pytest.approx((1 - (1 - p) ** cap) / p)
    for j in range(cap + 1):
        assert close(counts[j] / games, law[j], games) or counts[j] / games == law[j], (j, counts, law)


# --------------------------------------------------------------------------- where the noise is


def test_separator_alone_carries_noise() -> None:
    """Two policies that differ on two contexts: noise on one is one Laplace difference, on both it is two."""
    labelings, past = [[0, 0], [1, 1]], [[0.0, 0.0], [1.5, 0.0]]
    separated = with_past(ftpl(labelings, epsilon=1.0, separator=[0]), past)
    assert close(frequency(separated, 1, 0), tail(1.5))
    everywhere = with_past(ftpl(labelings, epsilon=1.0), past)
    draws = np.random.default_rng(0).laplace(size=(100_000, 4)) @ np.array([1, 1, -1, -1])
    assert close(frequency(everywhere, 1, 0), float((draws > 1.5).mean()))
    assert not close(frequency(everywhere, 1, 0), tail(1.5))


def test_repeated_contexts_share_their_noise() -> None:
    """Equal rows are one context of the guarantee, unless the class tells them apart."""
    contexts = [[0.0], [0.0], [1.0], [0.0]]
    alike, apart = [[0, 0, 1, 0], [1, 1, 0, 1]], [[0, 0, 1, 0], [0, 1, 0, 1]]
    two, four = ftpl([[0, 1], [1, 0]]), ftpl([[0, 0, 1, 0], [0, 1, 0, 1]])
    for kind in ("search", "milp", "enumeration"):
        found = [ftpl(each, contexts=contexts, kind=kind).guarantee() for each in (alike, apart)]
        assert found == [two.guarantee(), four.guarantee()]
    repeated = ftpl([[0, 0], [1, 1]], contexts=[[3.0], [3.0]], epsilon=1.0)
    with_past(repeated, [[0.4, 0.0], [0.5, 0.0]])  # one context, one difference of Laplace variables
    assert close(frequency(repeated, 1, 0), tail(0.9))


def test_a_separator_is_checked_where_policies_are_listed() -> None:
    """Rows on which two policies agree are refused with a row that fixes them; a true separator passes."""
    with pytest.raises(InputError, match=r"separator = \[1\] leaves two policies alike .* add row 0"):
        ftpl(LABELINGS, kind="enumeration", separator=[1])
    with pytest.raises(InputError, match=r"separator = \[3, 2\] .* add row 1"):
        ftpl(LABELINGS, kind="enumeration", separator=[3, 2])
    assert ftpl(LABELINGS, kind="enumeration", separator=[1, 0, 3]).guarantee() < np.inf
    assert ftpl([*LABELINGS, LABELINGS[0]], kind="enumeration", separator=[0, 1, 3]).guarantee() < np.inf
    assert ftpl(LABELINGS, separator=[1]).guarantee() < np.inf  # kind "search" cannot tell
    for rows in ([], [0, 0], [4], [-1], [True], 5):
        with pytest.raises(InputError, match="separator"):
            ftpl(LABELINGS, separator=rows)


# --------------------------------------------------------------------------- guarantee and regret


@pytest.mark.parametrize(("separator", "kappa", "d"), [(None, 1, 4), ([0, 1, 3], 3, 3)])
def test_guarantee_is_the_bound_and_the_defaults_are_tuned(separator: Any, kappa: int, d: int) -> None:
    """The three terms add up, and no other eps has a smaller sum."""
    T, K, log_size = 5000, 2, np.log(4)
    price = 2 * np.sqrt(d * log_size) + log_size
    learner = ftpl(LABELINGS, horizon=T, separator=separator)
    expected = 2 * np.sqrt(2 * kappa * K * T * price) + K * T / (np.e * 100)
    assert learner.guarantee() == pytest.approx(expected)
    for factor in (0.5, 0.9, 1.1, 2.0):
        epsilon = factor * learner.epsilon
        other = ftpl(LABELINGS, horizon=T, separator=separator, epsilon=epsilon, cap=100)
        assert other.guarantee() == pytest.approx(2 * epsilon * kappa * K * T + price / epsilon + K * T / (100 * np.e))
        assert other.guarantee() > learner.guarantee()


# --------------------------------------------------------------------------- routes, state, mistakes


def test_profile_and_minimiser_give_the_same_run_on_every_oracle() -> None:
    """The noise is continuous, so there is one minimiser, and every route to its action gives the same bytes."""
    rng = np.random.default_rng(2)
    contexts = rng.random((6, 2))
    runs = []
    for kind, queries in [("search", "profile"), ("search", "argmin"), ("enumeration", "profile"), ("milp", "argmin")]:
        oracle = open_oracle(DecisionTrees(2, 1, thresholds=2), contexts, kind=kind)
        learner = ContextualFTPL(oracle, horizon=60, seed=3, queries=queries)  # type: ignore[arg-type]
        runs.append((play_planted(learner, 60, 0)[0], learner.state()))
    assert all(run == runs[0] for run in runs)
    assert len(set(runs[0][0])) == 2
