"""Which totals learners keep on a known list of contexts."""

from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.protocols import Table
from policies import DecisionTrees, ThresholdRules

CONTEXTS = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)


def trees(depth: int, constraints: Any = ()) -> Oracle:
    """Return the search over trees of three actions."""
    return open_oracle(DecisionTrees(3, depth=depth), CONTEXTS, kind="search", constraints=constraints)


def keeps_costs(table: Table) -> bool:
    """Return whether a table is the matrix of costs."""
    return table.totals.shape == (30, 3)


def test_leaf_totals_are_kept_but_of_deep_trees() -> None:
    """Of trees of depth 4 paths are so many that a search from costs is shorter."""
    assert [keeps_costs(trees(depth).table(None)) for depth in (1, 2, 3, 4)] == [False, False, False, True]
    assert not keeps_costs(open_oracle(ThresholdRules(3), CONTEXTS, kind="search").table(None))


def test_the_choice_does_not_change_with_forbidden_actions() -> None:
    """Under constraints that only forbid actions the same search answers; under sums leaf totals do."""
    from milpcb.constraints import never, share_at_most

    guard = never(0, rows=[1])
    share = share_at_most(0, 0.5)
    assert keeps_costs(trees(4, [guard]).table(None))
    assert not keeps_costs(trees(2, [share]).table(None))


@pytest.mark.parametrize(("depth", "kept"), [(2, "leaf totals"), (4, "costs")])
def test_explain_prints_the_choice(depth: int, kept: str) -> None:
    """A line names the totals that are kept."""
    assert trees(depth).explain().splitlines()[-1] == f"running totals: {kept}"


def test_both_totals_have_the_same_answers() -> None:
    """Profiles of whole costs are equal, weights to rounding."""
    oracle, rng = trees(4), np.random.default_rng(1)
    chosen, leaves = oracle.table(None), oracle.table("columns")
    for row, action, amount in zip(
        rng.integers(0, 30, 40), rng.integers(0, 3, 40), rng.integers(1, 9, 40), strict=True
    ):
        for table in (chosen, leaves):
            table.add(int(row), int(action), float(amount))
    assert (chosen.profile(3) == leaves.profile(3)).all()
    assert chosen.minimise().value == leaves.minimise().value
    assert np.abs(chosen.action_weights(3, 0.2) - leaves.action_weights(3, 0.2)).max() < 1e-12
