"""Certificates over seeds: what cannot be enumerated is averaged; learners that hide their law never overestimate."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, open_oracle
from milpcb.bets import proved
from milpcb.learners import (
    BistroPlus,
    ContextualFTPL,
    Doubling,
    EpochGreedy,
    EpsilonGreedy,
    Exp4,
    ILoveToConBandits,
    Learner,
)
from milpcb.ledger import Ledger
from policies import FiniteClass

CONTEXTS = np.arange(4.0)[:, None]
LABELINGS = np.array([[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 0], [0, 0, 0, 0], [1, 2, 0, 1], [2, 2, 2, 1]])
T, SEEDS = 120, 60
LEARNERS: dict[str, Callable[..., Learner]] = {
    "exp4, certified": lambda oracle, _: Exp4(oracle, rate="certified"),
    "ftpl": lambda oracle, seed: ContextualFTPL(oracle, horizon=T, seed=seed, epsilon=0.3),
    "half noise": lambda oracle, seed: BistroPlus(
        oracle, FinitePool(CONTEXTS), horizon=T, seed=seed, noise="half", queries="profile", scale=6
    ),
    "epsilon-greedy": lambda oracle, _: EpsilonGreedy(oracle),
    "epoch-greedy": lambda oracle, _: EpochGreedy(oracle),
    "ilovetoconbandits": lambda oracle, _: ILoveToConBandits(oracle, psi=1.0),
}


def oracle() -> Any:
    """Return the oracle of six labelings."""
    return open_oracle(FiniteClass(LABELINGS, 3), CONTEXTS, kind="enumeration")


def play(learner: Learner, seed: int, rows: Any, costs: Any) -> float:
    """Play the rounds and return the regret, of the costs really paid."""
    rng, paid = np.random.default_rng([seed, 7]), 0.0
    for row, shown in zip(rows.tolist(), costs, strict=True):
        q = learner.act(row)
        action = int(rng.choice(3, p=q / q.sum()))
        learner.learn(row, action, float(shown[action]), float(q[action]))
        paid += shown[action]
    return float(paid - costs[np.arange(len(rows)), LABELINGS[:, rows]].sum(axis=1).min())


@pytest.mark.parametrize("name", LEARNERS)
def test_the_mean_of_regret_less_certificate_is_not_above_zero(name: str) -> None:
    """Within two standard errors, on costs whose leader changes: for the greedy ones too."""
    rng, asked = np.random.default_rng(3), oracle()
    rows = rng.integers(0, 4, T)
    right = np.where(np.arange(T) < T // 3, LABELINGS[0, rows], LABELINGS[4, rows])
    costs = np.where(np.arange(3) == right[:, None], 0.1, 0.9)
    gaps = []
    for seed in range(SEEDS):
        learner = LEARNERS[name](asked, seed)
        gaps.append(play(learner, seed, rows, costs) - learner.certificate())
    assert np.mean(gaps) <= 2 * np.std(gaps, ddof=1) / np.sqrt(SEEDS)


@pytest.mark.parametrize("cap", [1, 3, 40])
def test_resampling_does_not_overestimate(cap: int) -> None:
    """The mean of J c 1[y = a] over seeds is c (1 - (1 - p)^M), so at most c; q alone would say p c."""
    asked, draws = oracle(), 3000
    found, played = np.zeros(3), np.zeros(3)
    for seed in range(draws):
        learner = ContextualFTPL(asked, horizon=5, seed=seed, cap=cap)
        action = int(learner.act(2).argmax())
        learner.learn(2, action, 0.5, 1.0)
        found[action] += learner.ledger.totals(4, 3)[2, action] / draws
        played[action] += 1 / draws
    expected = 0.5 * (1 - (1 - played) ** cap)
    assert found == pytest.approx(expected, abs=0.08)  # four standard errors of the longest


def test_doubling_hands_on_what_its_learner_estimates() -> None:
    """In the first phase its certificate is that of the learner inside, and later phases add to it."""
    learner = Doubling(oracle(), FinitePool(CONTEXTS), inner="ftpl", first=50)
    rng = np.random.default_rng(0)
    rows, costs = rng.integers(0, 4, 50), rng.random((50, 3))
    play(learner, 0, rows, costs)
    first = learner.certify()
    assert first[:2] == learner.inner.certify()[:2]
    play(learner, 1, rows, costs)
    assert learner.certificate() != pytest.approx(learner.inner.certificate())
    assert learner.ledger.cost > first.value


def test_a_cell_is_saved_as_its_definition() -> None:
    """The sums of e, (e - c)^2 and c^2, then what each stake proves: files of before are read as long as this holds."""
    ledger, rounds = Ledger([0.1, 0.4]), [(0.5, 2.0), (1.0, 1.0)]
    for cost, estimate in rounds:
        ledger.add(3, 1, cost, estimate)
    moments = np.array([[e, (e - c) ** 2, c**2] for c, e in rounds]).sum(axis=0)
    bets = [sum(proved(c, e, stake) for c, e in rounds) for stake in (0.1, 0.4)]
    paid, [[row, action, *sums]], *_ = ledger.state()
    assert (paid, row, action) == (1.5, 3, 1)
    assert sums == pytest.approx([*moments, *bets])
