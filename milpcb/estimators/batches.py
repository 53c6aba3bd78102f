"""Estimators that learn from more rows than fit memory: one pass adds up what the policy class asks of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from milpcb.core.checks import choice, real
from milpcb.data.actions import place
from milpcb.data.made_columns import chosen_features
from milpcb.errors import InputError
from milpcb.estimators.base import PolicyEstimator
from milpcb.estimators.cuts import explicit_cuts
from milpcb.estimators.inputs import checked, read_features
from milpcb.estimators.layout import Layout
from milpcb.estimators.sample import LoggedBatch, LoggedColumns, Sample, batches_of
from milpcb.estimators.totals import Rows
from milpcb.named_constraints import FittedRows, ShareAtMost, bind_all
from milpcb.offline.moments import Moments
from milpcb.offline.standing import StandIn, stand_in
from milpcb.types import Floats

METHODS = ("ips", "snips")
MOST_CONTEXTS = 1_000_000  # that stand for the rows


class FromBatches(PolicyEstimator):
    """Learns from sums over the rows of a log."""

    method: str
    min_propensity: float
    treatment_cost: Any
    objective: str
    scores_: Any

    def fit_batches(
        self,
        batches: Iterable[Any] | Callable[[], Iterable[Any]],
        *,
        action: str,
        reward: str | None = None,
        cost: str | None = None,
        propensity: str | Sequence[str],
        features: Sequence[str] | None = None,
        actions: Sequence[Any] | None = None,
    ) -> Self:
        """Find the policy with the best estimated value, in two passes over batches of rows and constant memory.

        The first pass takes a sample, of at most a million rows, for cut points and categories; the second adds up. The
        policy is that of ``fit`` to all rows with the same cut points. ``scores_`` is None; ``stand_in_``, a
        milpcb.offline.standing.StandIn, knows values with their standard errors, that of the policy for ``played_``.

        Parameters
        ----------
        batches : data frames of pandas or polars, as a list, or as a function that returns them anew at each call
        action, reward, cost : names of the columns of what was done, and what came of it (one of the two)
        propensity : "randomised", or the name of the column with the probability of what was done, or K names, one for
            each action
        features : names of the columns that the policy may read; None: all others
        actions : the K names in order; None: those of the log, sorted

        Raises
        ------
        InputError : as ``fit``; where the class or a parameter needs the rows themselves; methods other than "ips" and
            "snips"

        """
        if (reward is None) == (cost is None):
            raise InputError("give either reward= (larger is better) or cost= (smaller is better)")
        columns = LoggedColumns.of(action, str(reward or cost), propensity)
        sample = Sample.of(batches_of(batches), columns, features)
        layout = self.layout(sample.frame, sample.actions(actions))
        moments = layout.empty()
        for frame in batches_of(batches):
            self.add_batch(moments, layout, LoggedBatch.of(frame, columns, layout))
        return self.fit_moments(layout, moments, maximise=cost is None, randomised=columns.randomised)

    def layout(self, X: Any, actions: Sequence[Any]) -> Layout:
        """Return how rows become cells, by a sample ``X`` of them; raises InputError where the rows are needed."""
        self._check_adds_up()
        X = checked(self, X, reset=True)
        features = read_features(self, X)
        names, each = chosen_features(self.features, features.names), np.ones(len(features))
        columns = self._columns(features, names, each)
        contexts = np.column_stack([column.read(features.values[column.name]) for column in columns])
        rows = Rows(contexts, np.arange(len(each)), each, each)
        cuts = explicit_cuts(self._thresholds(), columns, names, rows) if not self._adds_up else None
        if isinstance(cuts, str):
            raise InputError("every cut (thresholds 'all') needs the rows themselves; give a number of cut points")
        cuts = tuple((0.5,) for _ in columns) if cuts is None else tuple(cuts)
        layout = Layout(features.names, columns, cuts, self._order() or 1, tuple(actions))
        if layout.grid.size > MOST_CONTEXTS:
            raise InputError(
                f"{layout.grid.size:,} combinations of cut points would be counted, and at most {MOST_CONTEXTS:,} are; "
                "give fewer cut points (thresholds), fewer features, or a smaller rule"
            )
        return layout

    def add_batch(self, moments: Moments, layout: Layout, batch: LoggedBatch) -> None:
        """Add the rows of a batch to the sums."""
        codes, least = layout.codes(batch.values), self.min_propensity
        moments.add_rows(codes, batch.action, batch.outcome, batch.propensity, least)

    def fit_moments(self, layout: Layout, moments: Moments, *, maximise: bool, randomised: bool) -> Self:
        """Find the best policy by the sums over the rows; see ``layout``.

        ``maximise`` is whether larger outcomes are better, ``randomised`` whether the shares of the actions are their
        propensities: those in the sums are 1 then.
        """
        found = self.stand_in(layout, moments, maximise=maximise, randomised=randomised)
        actions = np.array(layout.actions)
        contexts, sign = layout.contexts(found.codes), -1.0 if maximise else 1.0
        rows = Rows(contexts, np.arange(len(contexts)), found.sizes, found.sizes)
        rules = bind_all(self.constraints, FittedRows({"": found.sizes}, list(layout.actions), rows))
        policies = self._policy_class(len(actions), layout.cuts, rows)
        self.scores_, self.stand_in_ = None, found
        costs, names = sign * found.scores, layout.features
        answer = self._search(policies, rows, costs, rules, names, layout.columns, actions, sign)
        self.found_: Any = answer.policy
        self.played_ = np.asarray(self.found_.predict(contexts))
        return self

    def stand_in(self, layout: Layout, moments: Moments, *, maximise: bool, randomised: bool) -> StandIn:
        """Return the contexts that stand for rows with these sums."""
        return stand_in(
            moments,
            tuple(map(str, layout.actions)),
            self.method,
            self._charges(layout.actions, maximise=maximise),
            maximise=maximise,
            randomised=randomised,
            min_propensity=real("min_propensity", self.min_propensity, "at least 0 and below 1", lambda v: 0 <= v < 1),
        )

    def _charges(self, actions: Sequence[Any], *, maximise: bool) -> Floats:
        """Return what each action (K,) adds to outcomes; raises InputError, UnknownNameError."""
        charge, names = np.zeros(len(actions)), tuple(map(str, actions))
        for name, price in (self.treatment_cost or {}).items():
            charge[place("action in treatment_cost", name, names)] = -price if maximise else price
        return charge

    def _check_adds_up(self) -> None:
        """Raise InputError where what the policy class asks of the rows is more than sums by few columns."""
        choice("method", self.method, METHODS)
        if self._order() is None:
            raise InputError("how many columns a part of such a policy tests has no bound; fit it to rows in memory")
        if self._counts_rows or self.monotone or self.objective != "value":
            raise InputError(
                "limits on the rows of a part, orders (monotone) and what is guaranteed (objective) need the rows "
                "themselves: leave them out, or learn from rows in memory"
            )
        every = self.constraints if isinstance(self.constraints, (list, tuple)) else [self.constraints]
        if not all(isinstance(rule, ShareAtMost) for rule in every):
            raise InputError("of the constraints only share_at_most adds up over rows; learn from rows in memory")
