"""Stability of the best policy: how much of it comes back on other rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.constraints import Constraint
from milpcb.core.checks import whole
from milpcb.core.decimals import percent
from milpcb.offline.band import Progress, affordable, drawn_again
from milpcb.offline.question import asked_about
from milpcb.offline.scores import Scores
from milpcb.protocols import FoundPolicy, Policy, PolicyClass
from milpcb.rng import child

FEW = 20  # resamples that are made however long each is


@dataclass(frozen=True)
class Stability:
    """How much of ``policy`` comes back when the rows are drawn again, in so many ``resamples``.

    The best policy of a resample treats, on average, the share ``agreement`` (0..1) of the rows alike; in which share
    of the resamples the best policy has each test of ``policy`` is in ``tests``.
    """

    policy: FoundPolicy
    agreement: float
    tests: dict[str, float]
    resamples: int

    def words(self) -> list[str]:
        """Return the findings, a sentence each."""
        agreement = percent(self.agreement, 0)
        return [
            f"The best rules of resamples treat {agreement} of the rows, on average, as this rule does.",
            *(f"Of these rules, {percent(share, 0)} have the test '{test}'." for test, share in self.tests.items()),
        ]


def stability(
    policies: PolicyClass,
    contexts: Any,
    scores: Scores,
    *,
    resamples: int = 100,
    seed: int = 0,
    kind: str = "search",
    constraints: Sequence[Constraint] = (),
    policy: FoundPolicy | None = None,
    progress: Progress | None = None,
) -> Stability:
    """Return how stable the best policy is: one query for each resample of the rows.

    A resample counts the scores of each row as often as it is drawn; constraints stay on the rows of the log.

    Parameters
    ----------
    policies, contexts, kind, constraints : see ``milpcb.open_oracle``; contexts in the order of the rows of the log
    scores : see ``milpcb.offline.scores``
    resamples : how often the rows, or the groups of rows, are drawn again, with replacement; 20 where that takes long
    seed : of the resamples
    policy : the one that is looked at, which reads ``contexts``; None: it is searched for
    progress : called as ``progress(done, total)`` after every resample

    """
    question, scores = asked_about(policies, contexts, scores, constraints, kind, policy)
    costs, n = scores.costs, len(scores.table)
    policy = policy or question.best(costs).policy
    played = np.asarray(policy.predict(contexts))
    rng, asked = child(seed, "offline", "resamples"), whole("resamples", resamples, 1)
    times = affordable(asked, min(asked, FEW), n, question.oracle)
    alike, tests = [], []
    for counts in drawn_again(rng, scores.log.members, times, progress):
        other = question.best(costs * counts[:, None]).policy
        alike.append(np.mean(np.asarray(other.predict(contexts)) == played))
        tests.append(_tests(other))
    return Stability(
        policy=policy,
        agreement=float(np.mean(alike)),
        tests={test: float(np.mean([test in found for found in tests])) for test in _tests(policy)},
        resamples=times,
    )


def _tests(policy: Policy) -> list[str]:
    """Return the tests of a rule as its drawing shows them, each once; none where it has no drawing."""
    if not hasattr(policy, "graph"):
        return []
    graph = policy.graph()
    return list(dict.fromkeys(label for node, label in graph.nodes(data="label") if graph.out_degree(node)))
