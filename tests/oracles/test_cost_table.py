"""A kept table of costs by context answers as the oracle does on the sums, with noise on the contexts that differ."""

from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from policies import DecisionTrees, FiniteClass

CONTEXTS = np.array([[0.0], [1.0], [0.0], [2.0]])
LABELINGS = np.array([[0, 1, 0, 1], [1, 1, 1, 0], [2, 0, 2, 2]])  # rows 0 and 2 are labelled alike
KINDS = ("search", "milp", "enumeration", "audited")


def oracle(kind: str, labelings: Any = LABELINGS) -> Any:
    """Return an oracle of the list."""
    return open_oracle(FiniteClass(labelings, 3), CONTEXTS, kind=kind)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_on_the_sums(kind: str) -> None:
    """Costs add up, noise is in one answer only, and contexts that are labelled alike share theirs."""
    asked, rng = oracle(kind), np.random.default_rng(0)
    table = asked.table()
    assert (table.n_noisy, table.n_moved) == (3 * 3, 1)
    totals = np.zeros((4, 3))
    for _ in range(8):
        row, action, amount = int(rng.integers(4)), int(rng.integers(3)), float(rng.integers(-3, 9))
        table.add(row, action, amount)
        totals[row, action] += amount
        noise = rng.integers(-5, 6, 9).astype(float)
        noisy = totals.copy()
        noisy[[0, 1, 3]] += noise.reshape(3, 3)
        assert table.profile(row, noise).tolist() == asked.profile(noisy, row).tolist()
        assert table.minimise(noise).value == asked.value(noisy)
        assert table.profile(row).tolist() == asked.profile(totals, row).tolist()
        assert table.minimise().value == asked.value(totals)
        if "action_weights" in asked.capabilities:
            assert table.action_weights(row, 0.3).tolist() == asked.action_weights(totals, row, 0.3).tolist()


def test_questions_are_counted() -> None:
    """Each is a question of the oracle; adding is none."""
    asked = oracle("search")
    table = asked.table()
    table.add(0, 0, 1.0)
    table.profile(1)
    table.minimise(np.zeros(9))
    assert asked.calls == 2


def test_contexts_labelled_apart_have_their_own_noise() -> None:
    """Equal contexts that some policy labels differently are two; contexts between the same cut points are one."""
    apart = LABELINGS.copy()
    apart[0, 2] = 2
    assert oracle("search", apart).table().n_noisy == 4 * 3
    contexts = np.array([[0.1], [0.2], [0.9]])
    asked = open_oracle(DecisionTrees(2, 1, thresholds=[[0.5]]), contexts, kind="search")
    table = asked.table()
    assert table.n_noisy == 2 * 2
    assert table.profile(1, np.array([5.0, 0.0, 0.0, 0.0])).tolist() == [5.0, 0.0]
