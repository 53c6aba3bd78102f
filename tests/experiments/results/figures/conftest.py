"""Curves that no run made: regret of learner i grows like T to a chosen power, times and guarantees are chosen too."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

POWERS = (0.5, 0.75, 1.0, 2 / 3, 0.6, 0.9)


@pytest.fixture(scope="session")
def make_frame() -> Callable[..., pl.DataFrame]:
    """Return ``make_frame(learners, environments=..., ...)``: the curves of a whole product, in the order of a run."""
    return _frame


def _frame(
    learners: Sequence[str] = ("bistro_plus", "uniform"),
    environments: Sequence[str] = ("planted",),
    policies: Sequence[str] = ("decision_trees",),
    oracles: Sequence[str] = ("search",),
    seeds: Sequence[int] = (0, 1, 2),
    horizons: Sequence[int] = (1000,),
    points: int = 12,
    noise: float = 0.1,
) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for cell in product(learners, environments, policies, oracles, seeds, horizons):
        if cell[0] != "uniform" or cell[3] == oracles[0]:
            rows += _rows(cell, learners.index(cell[0]), environments.index(cell[1]), points, noise)
    return pl.DataFrame(rows)


def _rows(cell: tuple[Any, ...], i: int, scale: int, points: int, noise: float) -> Iterator[dict[str, Any]]:
    learner, environment, policies, oracle, seed, horizon = cell
    factor = (1 + 0.3 * scale) * np.exp(noise * np.random.default_rng([i, scale, seed, horizon]).normal())
    alone = learner == "uniform"
    for t in np.unique(np.geomspace(1, horizon, points).round().astype(int)).tolist():
        regret = float(factor * (1 + i) * t ** POWERS[i % len(POWERS)] * horizon ** (0.1 * (i % 2)))
        yield {
            "learner": learner,
            "environment": environment,
            "policies": policies,
            "oracle": "-" if alone else oracle,
            "seed": seed,
            "horizon": horizon,
            "round": t,
            "cumulative_cost": regret + 0.3 * t,
            "best_cost": 0.3 * t,
            "regret": regret,
            "guarantee": np.inf if alone or i % 3 == 2 else 3.0 * (1 + i) * horizon**0.75,
            "certificate": 1.2 * regret + 5,
            "certificate_error": 0.1 * regret,
            "bound": 1.5 * regret + 5,
            "oracle_error": 0.0,
            "oracle_calls": 0 if alone else 4 * t,
            "rule_changes": float("nan"),
            "seconds": 1e-6 * t * (2 + 40 * i),
            "oracle_seconds": 0.0 if alone else 1e-6 * t * (1 + 30 * i),
            "key": f"{hash(cell) & 0xFFFF:04x}",
        }
