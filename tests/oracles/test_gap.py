"""Gap-limited oracles: bounds that hold, and no bound taken for a value."""

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import OracleInexact
from milpcb.types import Stop
from policies import Halfspaces

CONTEXTS = np.random.default_rng(0).normal(size=(14, 3))
CLASS = Halfspaces()


def test_a_gap_stops_early_between_bounds_that_hold() -> None:
    """Within the gap the solver may stop: its bounds hold the optimum, and the answer says it is no proof."""
    exact, rough = open_oracle(CLASS, CONTEXTS), open_oracle(CLASS, CONTEXTS, gap=12.0)
    rng, early = np.random.default_rng(1), 0
    for _ in range(15):
        costs = rng.integers(-9, 10, (14, 2)).astype(float)
        answer, value = rough.minimise(costs), exact.value(costs)
        assert answer.lower <= value <= answer.upper <= answer.lower + 12 + 1e-6
        assert (answer.stop is Stop.OPTIMAL) == (answer.lower == answer.upper)
        attained = costs[np.arange(14), answer.policy.predict(CONTEXTS)].sum()
        assert attained == answer.upper
        if answer.stop is Stop.GAP_LIMIT:
            early += 1
            with pytest.raises(OracleInexact, match="gap_limit"):
                _ = answer.value
    assert early > 3
