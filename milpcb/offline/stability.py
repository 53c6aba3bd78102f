"""Stability of the best policy: how much of it is found again on other rows."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np

from milpcb.constraints import Constraint
from milpcb.core.checks import whole
from milpcb.core.decimals import percent
from milpcb.errors import InfeasibleError
from milpcb.offline.band import Progress, affordable, drawn_again
from milpcb.offline.intervals import IntervalEstimate
from milpcb.offline.question import Question, asked_about
from milpcb.offline.scores import Scores
from milpcb.protocols import FoundPolicy, Policy, PolicyClass
from milpcb.rng import child

FEW = 20  # resamples that are made however long each is


@dataclass(frozen=True)
class DepthValue:
    """The best ``policy`` of a ``depth``, and the held-out ``value`` of learning one of that depth."""

    depth: int
    policy: FoundPolicy
    value: IntervalEstimate


@dataclass(frozen=True)
class Stability:
    """The share of ``policy`` that is found again when the rows are drawn anew, in so many ``resamples``.

    The best policy of a resample treats, on average, the share ``agreement`` (0..1) of the rows alike. ``tests`` is the
    share of the resamples whose best policy has each test of ``policy``. The rows are those of the ``question`` and
    the ``scores``.
    """

    policy: FoundPolicy
    agreement: float
    tests: dict[str, float]
    resamples: int
    question: Question = field(repr=False, compare=False)
    scores: Scores = field(repr=False, compare=False)

    @cached_property
    def by_depth(self) -> tuple[DepthValue, ...]:
        """The value of each depth at which policies can keep the constraints; () for classes without depths."""
        found, scores, policies = list[DepthValue](), self.scores, self.question.policies
        for depth in range(1, 1 + (getattr(policies, "depth", 0) if is_dataclass(policies) else 0)):
            shallow = self.question.with_options(depth=depth)
            with suppress(InfeasibleError):
                policy = shallow.best(scores.costs).policy
                played = shallow.held_out(scores.costs, scores.fold)
                found.append(DepthValue(depth, policy, scores.mean(scores.table[np.arange(len(played)), played])))
        return tuple(found)

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
    resamples : the number of draws of the rows, or of groups of rows, with replacement; 20 where each takes long
    seed : of the resamples
    policy : the policy to examine, which reads ``contexts``; None: it is searched for
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
    question.close()  # of a million rows it takes a gigabyte
    shares = {test: float(np.mean([test in found for found in tests])) for test in _tests(policy)}
    return Stability(policy, float(np.mean(alike)), shares, times, question, scores)


def _tests(policy: Policy) -> list[str]:
    """Return the tests of a rule as its drawing shows them, each once; none where it has no drawing."""
    if not hasattr(policy, "graph"):
        return []
    graph = policy.graph()
    return list(dict.fromkeys(label for node, label in graph.nodes(data="label") if graph.out_degree(node)))
