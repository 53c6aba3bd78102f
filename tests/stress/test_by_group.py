"""How often a rule that is to leave no group worse off than today leaves none worse off, where the truth is known.

Trials of three actions among people of three regions, which no rule may read, and twelve ages; what helps most people
harms the old of one region. Trees of depth 2 are learnt under the limit for each region, with a budget beside it.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InfeasibleError
from milpcb.estimators import LoggedPolicyTree, share_at_most
from milpcb.offline import no_worse_for_each, read_log, scores
from tests.stress.known_truths import rare

REGIONS, AGES, ACTIONS = ("north", "south", "west"), tuple(range(20, 80, 5)), ("call", "letter", "visit")
MAY_READ = ["age"]
EVERYBODY = pl.DataFrame([(region, age) for region in REGIONS for age in AGES], ["region", "age"], orient="row")
CONFIDENCE, DRAWS = 0.95, 60
ROWS, MARGIN, BUDGET = 3_000, 0.1, 0.5


def chances() -> np.ndarray:
    """Return the chance of a good outcome (people, actions): visits harm the old of the west."""
    found = np.full((len(EVERYBODY), 3), 0.5)
    west, old = EVERYBODY["region"].to_numpy() == "west", EVERYBODY["age"].to_numpy() >= 50
    found[:, 0] += 0.3 * (~west & ~old)
    found[:, 2] += np.where(west, -0.4, 0.4) * old
    return found


def worst(rule: object, truth: np.ndarray) -> float:
    """Return the least gain over what is done today, all actions alike often, of any region in the population."""
    played = np.searchsorted(ACTIONS, np.asarray(rule.predict_names(EVERYBODY[MAY_READ])))  # type: ignore[attr-defined]
    gain = truth[np.arange(len(truth)), played] - truth.mean(axis=1)
    region = EVERYBODY["region"].to_numpy()
    return min(float(gain[region == name].mean()) for name in REGIONS)


def kept(seed: int, rows: int, margin: float, budget: float) -> bool | None:
    """Return whether all regions keep the limit under the rule learnt from one log; None where there is none."""
    rng, truth = np.random.default_rng(seed), chances()
    person, action = rng.integers(len(EVERYBODY), size=rows), rng.integers(3, size=rows)
    good = (rng.random(rows) < truth[person, action]).astype(float)
    frame = EVERYBODY[person]
    log = read_log(frame, np.array(ACTIONS)[action], reward=good, propensity="randomised")
    limits = no_worse_for_each(
        None, frame["region"], outcome=scores(log, method="ips"), confidence=CONFIDENCE, margin=margin, draws=DRAWS
    )
    tree = LoggedPolicyTree(max_depth=2, method="ips", constraints=[*limits, share_at_most("visit", budget)])
    try:
        tree.fit(frame[MAY_READ], np.array(ACTIONS)[action], reward=good, propensity="randomised")
    except InfeasibleError:
        return None
    return worst(tree.policy_, truth) >= -margin


@pytest.mark.cases(2)
def test_no_region_is_worse_off(runs: int, record_property: Any) -> None:
    """In 95 of 100 logs; in some of them a rule is found."""
    found = [kept(seed, ROWS, MARGIN, BUDGET) for seed in range(runs)]
    rules = sum(each is not None for each in found)
    record_property("figure", f"a rule in {rules} of {runs} logs, the limit broken in {found.count(False)}")
    assert found.count(False) <= rare(1 - CONFIDENCE, runs) * runs
    assert rules
