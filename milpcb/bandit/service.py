"""Bandit: a learner that makes one decision at a time, and learns the cost of each later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milpcb.bandit import builders
from milpcb.bandit.answers import BanditAnswers
from milpcb.bandit.contexts import ContextReader
from milpcb.bandit.decisions import Decision
from milpcb.bandit.rounds import DecisionRounds
from milpcb.bandit.sums import Scale, listed_groups
from milpcb.constraints.by_names import listed
from milpcb.constraints.linear import NamedConstraint
from milpcb.core.checks import instance
from milpcb.data.frames import is_frame, records
from milpcb.errors import InputError, shown
from milpcb.protocols import PolicyClass

if TYPE_CHECKING:
    from milpcb.offline import Log


class Bandit(BanditAnswers):
    """A learner that makes one decision at a time, and is told its cost later.

    Contexts need not be known in advance: memory grows with the number of contexts that lie between different cut
    points, not with the number of decisions. Costs may arrive late and in any order where the learner is ``delayed``
    (``exp4``, ``fixed_share``, ``uniform``); with the others each decision must be learnt before the next. All methods
    may be called from several threads. See "Decisions one by one" in milpcb/README.md, and milpcb/bandit/README.md.

    Parameters
    ----------
    policies : the policy class; for contexts that are not known in advance with explicit cut points
    learner : name of a registered learner, such as "exp4" or "ftpl"
    seed : of all random draws
    horizon : number of decisions, for learners that need to know it
    contexts : all contexts that can occur (m, d), None where they arrive
    oracle : kind of the oracle, or its options, as in ``{"kind": "milp", "solver": "highs"}``
    cost_range : least and greatest cost, [0, 1] where it is None; certificates are in the unit (cost - least) /
        (greatest - least) that the learner sees
    reward_range : least and greatest reward; the cost is then (greatest - reward) / (greatest - least)
    keep_log : whether the decisions learnt are kept, for ``log()``; memory then grows with their number
    constraints : one or several of milpcb.share_at_most, mean_at_most, parity, never, always. A context by name may
        have more columns than the features, for these to read
    values : of features that hold strings, or may be missing: the strings, and None for missing, as in
        ``{"region": ["north", "south"], "income": [None]}``. Codes, and strings that constraints read, are declared too
    baseline : current practice, an action or a policy of milpcb: with probability ``confidence``, at every moment,
        all decisions so far cost at most (1 + ``loss``) times its cost; see milpcb.learners.Conservative
    loss, confidence : of the baseline
    groups : conditions on contexts, such as "region = north": see ``by_group``
    options : of the learner, such as ``rate="certified"`` of "exp4"; ``milpcb list exp4`` explains them

    Raises
    ------
    InputError, UnknownNameError (learner, oracle, options), and the errors of opening the oracle

    """

    def __init__(
        self,
        policies: PolicyClass,
        learner: str = "exp4",
        *,
        seed: int = 0,
        horizon: int | None = None,
        contexts: Any = None,
        oracle: str | Mapping[str, Any] = "search",
        cost_range: tuple[float, float] | None = None,
        reward_range: tuple[float, float] | None = None,
        keep_log: bool = False,
        constraints: NamedConstraint | Sequence[NamedConstraint] = (),
        values: Mapping[str, Sequence[Any]] | None = None,
        baseline: Any = None,
        loss: float = 0.02,
        confidence: float = 0.95,
        groups: str | Sequence[str] = (),
        **options: Any,
    ) -> None:
        instance("policies", policies, PolicyClass, "a policy class, as in DecisionTrees(n_actions=3)")
        instance("oracle", oracle, (str, Mapping), "a kind, such as 'search', or a table of its options")
        reader, rules = ContextReader(policies, values), listed(constraints)
        settings = {
            "learner": learner,
            "seed": seed,
            "horizon": horizon,
            "arrive": contexts is None,
            "oracle": {"kind": oracle} if isinstance(oracle, str) else dict(oracle),
            "options": options,
            "keep_log": keep_log,
            "baseline": None if baseline is None else builders.as_document(baseline, reader.actions),
            "promise": {"loss": loss, "confidence": confidence},
            "groups": listed_groups(groups),
        }
        rounds = DecisionRounds(settings, reader, rules, *builders.known(contexts, reader, rules))
        self._set_up(rounds, Scale.of(cost_range, reward_range))

    def __repr__(self) -> str:
        learner = self._rounds.learner
        return f"<Bandit: {learner!r}, {learner.played} decisions learnt, {len(self._rounds.book.open)} open>"

    @classmethod
    def from_log(cls, policies: PolicyClass, log: Log, learner: str = "exp4", **options: Any) -> Self:
        """Return a bandit that begins with the rounds of a log (milpcb.offline.read_log); ``options`` as for any other.

        Certificates hold if actions were drawn with the probabilities of the log, given all rows before.

        Raises InputError on a log without probabilities, or with estimates, where the learner takes costs in order, and
        with a baseline; the errors of reading contexts; UnknownNameError on an action that the class lacks.
        """
        bandit = cls(policies, learner, **options)
        rounds = bandit._rounds
        if not rounds.learner.delayed or rounds.settings["baseline"] is not None:
            raise InputError("from_log needs a learner that takes costs late, 'exp4' or 'uniform', and no baseline")
        played = list(builders.logged_rounds(log, rounds.names, bandit._scale))
        rows = [()] * len(played) if rounds.reader.featureless else log.features
        for context, (action, cost, law) in zip(rounds.reader.read_all(rows), played, strict=True):
            rounds.replay(context, action, cost, law)
        bandit._scale = bandit._scale.learnt(log.maximise or None)
        return bandit

    def act(self, context: Any = None, *, available: Any = None) -> Decision:
        """Return the decision for one context: (d,) values, a mapping by feature names, or a data frame of one row.

        A class without features, of ``thresholds=[]``, needs no context. Only actions that are ``available`` are
        played, a list of them, or booleans for all; in place of an unavailable one, the first of the class that is.

        Raises InputError on a context that cannot be read, or is unknown where contexts were given in advance, and
        InfeasibleError where no policy keeps the constraints any more; no decision is made then.
        """
        read = self._rounds.reader.read(context)
        with self.lock:
            return self._rounds.act([read], [available])[0]

    def act_all(self, table: Any, *, available: Any = None) -> list[Decision]:
        """Return a decision for each row of a data frame, an array (n, d) or a list of contexts; see ``act``.

        ``available`` is as for ``act``, the same for all rows, or a list of such, one for each, or a table of booleans.
        For learners that take costs late. Raises the errors of ``act``; then no decision is made for any of the rows.
        """
        read = self._rounds.reader.read_all(table)
        available = records(available) if is_frame(available) else available
        parts = available if isinstance(available, (list, tuple, np.ndarray)) else ()
        by_row = any(isinstance(own, (list, tuple, set, Mapping, np.ndarray)) for own in parts)
        if by_row and len(available) != len(read):
            raise InputError(f"available has {len(available)} lists for {len(read)} contexts: give one for each")
        with self.lock:
            return self._rounds.act(read, available if by_row else [available] * len(read))

    def add_action(self, name: str | int) -> None:
        """Add a last action, by a new name, or the next number where actions have none; all that is known is kept.

        Raises InputError on a name in use, for classes without ``n_actions``, for learners other than ``exp4`` and
        ``uniform``, and where constraints are on contexts given in advance; nothing is changed then.
        """
        with self.lock:
            self._rounds = self._rounds.with_action(name)

    def learn(self, decision: Decision | str, *, cost: Any = None, reward: Any = None) -> None:
        """Learn the cost of a decision, or the reward it earned, within its range; each decision once.

        ``decision`` is the decision, its id, or its stored text; a decision that was made after the file was saved is
        taken whole, if the learner takes costs late. Raises InputError on anything else; nothing is learnt then. An
        error of the learner, such as OracleInexact, ends the decision as ``give_up`` does.
        """
        with self.lock:
            self._rounds.learn(decision, self._scale.paid(cost, reward))
            self._scale = self._scale.learnt(reward)

    def override(self, decision: Any, action: str | int, *, by: str, reason: str = "") -> None:
        """Record that a person, ``by``, played another ``action``, whose cost is learnt next: see people.md.

        Raises InputError on what ``learn`` refuses, on the action of the decision itself; UnknownNameError on others.
        """
        with self.lock:
            self._rounds.override(decision, action, by, reason)

    def give_up(self, decision: Any = None, *, older_than: timedelta | None = None) -> int:
        """Give up a decision whose cost will never be known, or all made at least ``older_than`` ago; return how many.

        Raises InputError on what ``learn`` refuses, and unless one of the two is given.
        """
        if (decision is None) == (older_than is None):
            raise InputError("give_up takes a decision, or older_than=..., such as timedelta(days=30)")
        if older_than is not None and not (isinstance(older_than, timedelta) and older_than >= timedelta(0)):
            raise InputError(f"older_than must be a timedelta, such as timedelta(days=30), got {shown(older_than)}")
        with self.lock:
            lost = [decision] if older_than is None else self._rounds.book.older(older_than)
            for each in lost:
                self._rounds.give_up(each)
        return len(lost)
