"""Limits that hold in the population with confidence, and policies chosen by their lower bounds, by one constraint.

The lower ends of the band (milpcb.offline.band), v(pi) - lambda V(pi) - q with gains over a base, hold for all policies
at once, and v - lambda V is a total of the table ``Process.floor``. So the policies that are shown to be no worse than
the base, up to a margin, are those with a total of at least q - margin; and the policy of the greatest lower end is one
query without any draws, as q is the same for all.

A base that is itself a policy of the class keeps its own limit, though the band does not show it: estimators try it
too.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations
from math import floor
from typing import Any, Self

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import check_confidence, real, several, whole, whole_array
from milpcb.core.decimals import percent, spaced
from milpcb.data.actions import own_names, places, played
from milpcb.data.columns import groups as rows_by_value
from milpcb.data.schema import read_columns
from milpcb.errors import InputError
from milpcb.offline.band import Process, fewest_draws
from milpcb.offline.diagnostics import EVENTS
from milpcb.offline.intervals import mean_of
from milpcb.offline.question import Question, check_question, scores_on
from milpcb.offline.reference import Reference, matching
from milpcb.offline.scores import Scores, check_scores
from milpcb.protocols import Opened, PolicyClass
from milpcb.rng import check_seed, child
from milpcb.types import Floats, Ints

IN_UNITS = "finite, in the unit of the outcome"
OTHER = "action of no_worse_than"
MOST_GROUPS = 20  # of a limit that is kept in each


@dataclass(frozen=True, eq=False)
class NoWorseThan:
    """The limit that a second outcome is, in the population and with confidence, no worse than a given value.

    A policy that is found under it keeps it in at least the share ``confidence`` of all logs, as n grows. It is one of
    the ``constraints`` of an estimator; ``rule(policies, contexts)`` is for ``milpcb.open_oracle``.

    Parameters
    ----------
    than : a number, in the unit of the outcome; the name of an action, for giving it to everybody; another policy, or
        the actions (n,) that it plays; None for the log's actions
    outcome : the scores of the second outcome, of the same rows in the same order; their sign is that of the log
    confidence : how often the limit is kept
    margin : the amount by which it may be worse, in the unit of the outcome; below 0 it must be better
    draws, seed : searches on resamples, one query each, and the seed of the resamples
    what : the name of the outcome in messages
    by, group : column and value of the rows that weigh something, where it is one of the limits for each group

    """

    than: Any
    _: KW_ONLY
    outcome: Scores
    confidence: float = 0.95
    margin: float = 0.0
    draws: int = 500
    seed: int = 0
    what: str = "a second outcome"
    by: str = ""
    group: str = ""

    def __post_init__(self) -> None:
        check_scores(self.outcome, "outcome")
        check_seed(self.seed)
        share = check_confidence(self.confidence)
        real("margin", self.margin, IN_UNITS, lambda _margin: True)
        whole("draws", self.draws, fewest_draws(share))
        if isinstance(self.than, str):
            self.labels(self.outcome.actions)
        elif hasattr(self.than, "predict") or isinstance(self.than, (list, tuple)) or np.ndim(self.than):
            names, rows = self.outcome.actions, self.outcome.log.features
            own = played(self.than, rows, names) if hasattr(self.than, "predict") else places(OTHER, self.than, names)
            self.check_rows(len(own))
            object.__setattr__(self, "than", np.array(names, dtype=object)[own])
        elif self.than is not None:
            real("than of no_worse_than, where it is no action,", self.than, IN_UNITS, lambda _than: True)

    def rule(
        self, policies: PolicyClass | Opened, contexts: Any, actions: Sequence[str] = (), **options: Any
    ) -> LabelConstraint:
        """Return the side constraint on the rows (n, d) of the log by which a policy is shown to keep the limit.

        ``actions`` are the K names of the actions of the class; (): its own, or those of the second outcome.
        ``options`` are ``constraints``, by which the rule is less strict, and ``kind`` of a Question.
        """
        question = Question(policies, contexts, **options)
        self.check_rows(question.oracle.n_contexts)
        rng, outcome = child(self.seed, "offline", "no worse"), self.outcome.by(actions or own_names(policies))
        process = Process(question.oracle, outcome, self.base())
        reach = process.reach(self.draws, self.confidence, rng)
        return LabelConstraint(-process.floor(), self.margin - reach, self.asked)

    def on_rows(self, contexts: Any, actions: Sequence[str] = ()) -> LabelConstraint:
        """Return the naive constraint, that estimates on the rows keep the limit; ``actions`` name its K columns."""
        self.check_rows(len(contexts))
        shares = self.outcome.weight / self.outcome.weight.sum()
        own = shares[:, None] * (self.outcome.gains[:, self.outcome.columns(actions)] - self.base()[:, None])
        return LabelConstraint(-own, self.margin, self.asked)

    def base(self) -> Floats:
        """Return the outcomes (n,) to compare with, their sign turned so that larger is better."""
        scores, labels = self.outcome, self.labels(self.outcome.actions)
        if self.than is None:
            return np.asarray(scores.sign * scores.logged)
        if labels is None:
            return np.full(len(scores.table), scores.sign * float(self.than))
        rows = np.arange(len(labels))
        if scores.unseen[rows, labels].any():
            raise InputError(
                f"it is not known what {self._other} gives of {self.what}, as the log has no rows of it somewhere; "
                "compare with what was done (None, or today), or with a number"
            )
        return np.asarray(scores.gains[rows, labels])

    def labels(self, actions: Sequence[str]) -> Ints | None:
        """Return the number of the action to compare with, for each row (n,); None where it is no action."""
        if not isinstance(self.than, (str, np.ndarray)):
            return None
        names = np.full(len(self.outcome.table), self.than, dtype=object)
        own = places(OTHER, names, self.outcome.actions)
        return np.asarray(np.argsort(self.outcome.columns(actions))[own])

    def take(self, rows: Ints) -> Self:
        """Return the limit on some of the rows."""
        than = self.than[rows] if isinstance(self.than, np.ndarray) else self.than
        return replace(self, than=than, outcome=self.outcome.take(rows))

    @property
    def asked(self) -> str:
        """Limit in words, the same for all groups."""
        worse = f"at most {self.margin:g} worse" if self.margin > 0 else "no worse"
        worse = f"at least {-self.margin:g} better" if self.margin < 0 else worse
        groups, each = (f" for each {self.by}", " each") if self.by else ("", "")
        return f"{self.what} {worse} than {self._other}{groups}, {self.sure}{each}"

    @property
    def sure(self) -> str:
        """Confidence of the limit in words, rounded down to hundredths of a percent."""
        return f"with {percent(floor(1e4 * self.confidence + 1e-6) / 1e4)} confidence"

    @property
    def _other(self) -> str:
        if self.than is None:
            return "what was done"
        if isinstance(self.than, np.ndarray):
            return "another policy"
        return f"always '{self.than}'" if isinstance(self.than, str) else f"{self.than:g}"

    @property
    def enough_events(self) -> bool:
        """Whether the second outcome has the 25 events that its confidence needs, see milpcb.offline.diagnostics.

        They are counted by fourth moments, as (sum d^2)^2 / sum d^4: rare losses under both of two actions cancel in
        the skewness of their difference, and are few nevertheless; a loss that never occurred is no event.
        """
        known, scores = self.outcome.diagnostics, self.outcome
        own = scores.weight[:, None] * (scores.table - scores.weight @ scores.table / scores.weight.sum())
        numbers, events = [np.bincount(scores.log.members, column) for column in own.T], known.value_events
        if self.than is None or isinstance(self.than, (str, np.ndarray)):
            numbers, events = [one - other for one, other in combinations(numbers, 2)], known.events
        squares = [np.square(d / (np.abs(d).max() or 1.0)) for d in numbers]
        return min(events, *(float(d.sum() ** 2 / (d @ d)) if d.any() else 0.0 for d in squares)) > EVENTS

    def kept_by(self, reference: Reference) -> bool:
        """Return whether a lottery is shown to keep the limit, by lower ends that hold for all actions and strata."""
        ways, scores = reference.ways, self.outcome.by(reference.actions)
        difference = scores.gains - self.base()[:, None]
        playable = [(s, k) for s, k in np.argwhere(ways.playable).tolist() if difference[ways.stratum == s, k].any()]
        if not playable or not self.enough_events:
            return self.margin >= 0 and self.enough_events
        level, lower = 1 - 2 * (1 - self.confidence) / len(playable), 0.0
        for s, k in playable:
            mean = mean_of(difference[:, k] * (ways.stratum == s), scores.weight, level, scores.log.group)
            lower += reference.lottery[s, k] * mean.lower
        return bool(lower >= -self.margin)

    def check_rows(self, n: int) -> None:
        """Raise InputError unless the second outcome has n rows."""
        if n != len(self.outcome.table):
            raise InputError(
                f"the second outcome of no_worse_than has {len(self.outcome.table)} rows, there are {n}; "
                "give it the same rows in the same order"
            )


no_worse_than = NoWorseThan  # as it is called among constraints


@dataclass(frozen=True, eq=False)
class LowerEnds:
    """The lower ends of the gains by ``scores`` over a ``reference`` of all policies of a class on the rows of a log.

    The policies and rows are those of the ``question``; ``seed`` is that of the resamples.
    """

    question: Question
    scores: Scores
    reference: Reference
    seed: int = 0

    @property
    def costs(self) -> Floats:
        """The costs (n, K) whose best policy has the greatest lower end: its total, and q more, is minus that end."""
        return -self._drawn[0].floor()

    def of(self, labels: Sequence[Ints], level: float = 0.95, draws: int = 500) -> list[tuple[float, float]]:
        """Return for each of several policies its apparent gain, and the lower end, in the unit of the outcome.

        ``labels`` are the actions that they play in each row (n,), as the class numbers them. All ends hold at once
        with the probability ``level``, also for policies that were chosen by these rows.
        """
        process, rng = self._drawn
        n, K = self.scores.table.shape
        labels = [whole_array("labels", each) for each in several("labels", labels, object, "actions of each policy")]
        if any(each.shape != (n,) or not ((each >= 0) & (each < K)).all() for each in labels):
            raise InputError(f"labels must be the action of each policy in each of the {n} rows, 0..{K - 1}")
        reach = process.reach(draws, level, rng)
        return [(process.total(each), process.total(each) - process.penalty(each) - reach) for each in labels]

    @property
    def _drawn(self) -> tuple[Process, np.random.Generator]:
        check_question(self.question)
        scores, rng = scores_on(self.question, self.scores), child(self.seed, "offline", "guaranteed")
        base = matching(self.reference, scores).played(scores.gains)
        return Process(self.question.oracle, scores, base), rng


def no_worse_for_each(
    than: Any, groups: Any, *, outcome: Scores, by: str = "group", draws: int = 500, **options: Any
) -> list[NoWorseThan]:
    """Return the limits of ``no_worse_than`` on the rows of each group, with confidence in all at once (Bonferroni).

    Parameters
    ----------
    groups : (n,) the group of each row, of at most 20, read as any column is; missing ones are a group
    by : the name of the column of groups in messages
    than, outcome, draws, options : those of ``no_worse_than``

    """
    labels = list(groups)
    if len(labels) != len(outcome.table):
        raise InputError(f"groups must be one for each of the {len(outcome.table)} rows, got {len(labels)}")
    found = rows_by_value(read_columns([[label] for label in labels], (by,), (by,))[by])
    if len(found) > MOST_GROUPS:
        raise InputError(f"'{by}' has {spaced(len(found))} values, more than {MOST_GROUPS} groups; name another")
    for_all = NoWorseThan(than, outcome=outcome, **options)
    sure = 1 - (1 - for_all.confidence) / len(found)
    for_all = replace(for_all, confidence=sure, draws=max(whole("draws", draws, 1), fewest_draws(sure)))
    own = {str(name): replace(outcome, weight=outcome.weight * here) for name, here in found.items()}
    return [replace(for_all, by=by, group=name, outcome=each) for name, each in own.items()]
