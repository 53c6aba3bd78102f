"""How much of the best policy comes back on other rows, and how many others are about as good."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

import numpy as np

from milpcb.actions import check_order
from milpcb.checks import whole
from milpcb.offline.inference import best_policy, held_out
from milpcb.offline.intervals import IntervalEstimate, Mean, estimates, resampled
from milpcb.offline.scores import Scores
from milpcb.oracles import open_oracle
from milpcb.oracles.enumeration import EnumerationOracle
from milpcb.protocols import FoundPolicy, Policy, PolicyClass
from milpcb.rng import child

MOST_LISTED = 1e5  # policies, above which those near the best are not counted


@dataclass(frozen=True)
class DepthValue:
    """The best policy of a depth, and the held-out value of learning one of that depth."""

    depth: int
    policy: FoundPolicy
    value: IntervalEstimate


@dataclass(frozen=True)
class Stability:
    """How much of a policy comes back when the rows are drawn again.

    Attributes
    ----------
    policy : the best one on all rows
    agreement : (0..1) mean share of the rows that the best policy of a resample treats alike
    tests : by test of ``policy``, as drawn, in how many (0..1) of the resamples the best policy has it
    leaves : by part of ``policy``, the mean share (0..1) of its rows that get its action from the best of a resample
    near_best : how many labelings of the class are within one standard error of the best; None where the class is too
        large to list
    by_depth : the best policy of each depth up to that of the class; () for classes without one

    """

    policy: FoundPolicy
    agreement: float
    tests: dict[str, float]
    leaves: tuple[float, ...]
    near_best: int | None
    by_depth: tuple[DepthValue, ...]

    def words(self) -> list[str]:
        """Return the findings, a sentence each."""
        found = [f"On resamples of the rows the best policy treats {self.agreement:.0%} of the rows alike."]
        found += [f"The test '{test}' comes back in {share:.0%} of them." for test, share in self.tests.items()]
        if self.near_best is not None:
            found.append(f"{self.near_best} labelings are within one standard error of the best.")
        return found


def stability(
    policies: PolicyClass, contexts: Any, scores: Scores, *, resamples: int = 100, seed: int = 0, kind: str = "search"
) -> Stability:
    """Return how stable the best policy is: one query for each resample of the rows.

    Parameters
    ----------
    policies, contexts, kind : see ``milpcb.open_oracle``; contexts in the order of the rows of the log
    scores : see ``milpcb.offline.scores``
    resamples : how often the rows are drawn again, with replacement
    seed : of the resamples

    Raises
    ------
    InputError

    """
    check_order(policies, scores.actions)
    oracle = open_oracle(policies, contexts, kind=kind)
    policy = best_policy(oracle, scores.costs)
    rng, n = child(seed, "offline", "resamples"), len(scores.table)
    drawn = (resampled(rng, n, 1)[0] for _ in range(whole("resamples", resamples, 1)))
    again = [best_policy(oracle, scores.costs * counts[:, None]) for counts in drawn]
    played = np.asarray(policy.predict(contexts))
    alike = np.mean([np.asarray(other.predict(contexts)) == played for other in again], axis=0)
    tests = [_tests(other) for other in again]
    parts = np.asarray(policy.apply(contexts)) if hasattr(policy, "apply") else np.zeros(n, dtype=np.int64)
    return Stability(
        policy=policy,
        agreement=float(alike.mean()),
        tests={test: float(np.mean([test in found for found in tests])) for test in _tests(policy)},
        leaves=tuple(float(alike[parts == part].mean()) for part in np.unique(parts)),
        near_best=_near_best(policies, contexts, scores),
        by_depth=_by_depth(policies, contexts, scores, kind),
    )


def _tests(policy: Policy) -> list[str]:
    """Return the tests of a rule as its drawing shows them, in their order, each once; none where it has no drawing."""
    if not hasattr(policy, "graph"):
        return []
    graph = policy.graph()
    return list(dict.fromkeys(label for node, label in graph.nodes(data="label") if graph.out_degree(node)))


def _near_best(policies: PolicyClass, contexts: Any, scores: Scores) -> int | None:
    """Return how many labelings lose less than the standard error of what they lose to the best; None if too many."""
    opened = policies.on(contexts)
    if opened.log_size > np.log(MOST_LISTED) or "policies" not in opened.can:
        return None
    oracle = cast("EnumerationOracle", open_oracle(opened, contexts, kind="enumeration"))
    totals = oracle.totals(scores.costs)
    best = oracle.labelings[totals.argmin()]
    rows = np.arange(len(best))
    own = Mean(scores.table[rows, best], scores.weight, np.inf)
    error = estimates({"best": own}, "normal", 0.95, seed=0)["best"].standard_error
    return int((totals - totals.min() <= error * scores.weight.sum()).sum())


def _by_depth(policies: PolicyClass, contexts: Any, scores: Scores, kind: str) -> tuple[DepthValue, ...]:
    if not (is_dataclass(policies) and "depth" in {field.name for field in fields(policies)}):
        return ()
    found = []
    for depth in range(1, cast("Any", policies).depth + 1):
        oracle = open_oracle(cast("Any", replace(policies, depth=depth)), contexts, kind=kind)
        played = held_out(oracle, contexts, scores)
        own = Mean(scores.table[np.arange(len(played)), played], scores.weight, np.inf)
        value = estimates({"value": own}, "normal", 0.95, seed=0)["value"]
        found.append(DepthValue(depth, best_policy(oracle, scores.costs), value))
    return tuple(found)
