"""Tables that the tests of estimators share: strings, booleans, missing entries, ties, and names that need quotes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

AGE, REGION = 'the "age"', "region; 'x'"


@pytest.fixture(scope="session")
def people() -> Callable[[int, int], Any]:
    """Return ``people(n, seed)``: a pandas frame with every kind of column."""
    return _people


@pytest.fixture(scope="session")
def costs_of() -> Callable[[Any, int], Any]:
    """Return ``costs_of(people, seed)``: what three actions cost them, by name."""
    return _costs


def _people(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n).astype(float)
    age[rng.random(n) < 0.15] = np.nan
    level = np.round(rng.normal(size=n), 1) + rng.choice([0.0, 1e-16, 1 / 3], n)
    return pd.DataFrame(
        {
            AGE: age,
            "visits": rng.integers(0, 12, n),
            "level": level,
            REGION: rng.choice(np.array(["north", "o'hare", 'a "b"', None], dtype=object), n),
            "sex": rng.choice(["f", "m"], n),
            "member": rng.random(n) < 0.4,
        }
    )


def _costs(table: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    old, near = (table[AGE] > 50).to_numpy(), table[REGION].isin(["north", "o'hare"]).to_numpy()
    lost, often = table[AGE].isna().to_numpy(), (table["visits"] > 5).to_numpy()
    right = np.where(lost, 2, np.where(old, 1 * near, 2 * (often & table["member"].to_numpy())))
    noise = rng.normal(0, 0.5, (len(table), 3))
    frame = pd.DataFrame(noise, columns=["call", 'it\'s "nothing"', "write"])
    return frame + (np.arange(3) != right[:, None])
