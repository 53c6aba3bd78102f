"""Contexts of an unknown law: what was seen in earlier epochs, and nothing else, stands for the future."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import multinomial

from milpcb import Empirical, open_oracle
from milpcb.errors import InputError
from milpcb.learners import BistroPlus
from milpcb.protocols import ContextModel
from policies import FiniteClass
from tests.contexts.laws import has_law

CONTEXTS = np.arange(4.0)[:, None]
LABELINGS = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1]]


def shown(rows: list[int]) -> Empirical:
    """Return a model that has seen ``rows``, one a round."""
    model = Empirical(CONTEXTS)
    for row in rows:
        model.observe(0, row)
    return model


def learner_with(model: ContextModel, horizon: int, seed: int = 0, **options: Any) -> BistroPlus:
    """Return BISTRO+ over four policies."""
    oracle = open_oracle(FiniteClass(LABELINGS, 2), CONTEXTS, kind="enumeration")
    return BistroPlus(oracle, model, horizon=horizon, seed=seed, queries="profile", **options)


@pytest.mark.parametrize(
    ("rows", "sample"),
    [
        ([3], []),
        ([3, 1], [3]),
        ([3, 1, 1, 0, 0, 0, 2], [3, 1, 1]),
        ([3, 1, 1, 0, 0, 0, 2, 0], [3, 1, 1, 0, 0, 0, 2]),
    ],
)
def test_the_future_is_drawn_from_the_rounds_before_the_epoch(rows: list[int], sample: list[int]) -> None:
    """The counts are multinomial: each later round is kept with the rate, on a context of rounds 1 to 2^e - 1."""
    model, left, rate = shown(rows), 3, 0.4
    rng = np.random.default_rng(len(rows))
    draws = Counter(tuple(model.future(len(rows) - 1, len(rows) + left, rate, rng).tolist()) for _ in range(3000))
    if not sample:
        assert set(draws) == {(0, 0, 0, 0)}
        return
    share = np.bincount(sample, minlength=4) / len(sample)
    law = multinomial(left, [*(rate * share), 1 - rate])
    chances = {
        counts: law.pmf([*counts, left - sum(counts)]) for counts in np.ndindex(4, 4, 4, 4) if sum(counts) <= left
    }
    assert has_law(draws, chances)


def test_a_context_that_was_never_shown_has_no_noise() -> None:
    """Neither do the contexts of this epoch and the one being played on, however long the future is."""
    model = shown([0, 1, 1, 2, 2, 3, 3])  # round 7, of the epoch that began with round 4
    counts = model.future(6, 10**6, 1.0, np.random.default_rng(0))
    assert counts.sum() == 10**6 - 7
    assert (counts[:2] > 0).all()
    assert (counts[2:] == 0).all()


def test_the_first_round_is_played_uniformly() -> None:
    """Without a sample there is no noise, so every policy has the same total."""
    assert learner_with(Empirical(CONTEXTS), 1000, scale=10.0).act(2) == pytest.approx([0.5, 0.5])


def test_rows_not_shown_do_not_matter() -> None:
    """The same rounds are played alike whatever the other contexts are, and however many policies they tell apart."""
    other = np.array([[0.0], [1.0], [50.0], [-7.0]])
    runs = []
    for contexts, last in ((CONTEXTS, [1, 1]), (other, [0, 0])):
        labelings = [[0, 1, *last], [1, 0, *last], [1, 1, *last]]
        oracle = open_oracle(FiniteClass(labelings, 2), contexts, kind="enumeration")
        learner = BistroPlus(oracle, Empirical(contexts), horizon=500, seed=0, scale=8.0, queries="profile")
        runs.append([])
        for t in range(100):
            q = learner.act(t % 2)
            learner.learn(t % 2, t % 3 % 2, 1.0, q[t % 3 % 2])
            runs[-1].append(q.tolist())
    assert runs[0] == runs[1]
    assert len({tuple(q) for q in runs[0]}) > 1


def test_one_learner_one_model() -> None:
    """A second learner's oracle, or one of another size, is refused in one line; the same oracle may come back."""
    model = Empirical(CONTEXTS)
    learner = learner_with(model, 10)
    model.attach(learner.oracle, 10)
    before = model.state()
    with pytest.raises(InputError, match="one for each learner"):
        learner_with(model, 10)
    assert model.state() == before
    with pytest.raises(InputError, match="use the same"):
        learner_with(Empirical(CONTEXTS[:2]), 10)
