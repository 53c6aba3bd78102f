"""Estimators that learn from more rows than fit memory: one pass adds up what the policy class asks of the rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

import narwhals as nw
import numpy as np

from milpcb.constraints.by_names import ShareAtMost, bind_all
from milpcb.constraints.linear import NamedRows
from milpcb.core.checks import choice, real, whole
from milpcb.core.decimals import spaced
from milpcb.data.actions import action_name
from milpcb.data.made_columns import chosen_features
from milpcb.errors import InputError
from milpcb.estimators.base import PolicyEstimator
from milpcb.estimators.inputs import Columns, checked, read_features
from milpcb.estimators.one_pass import Layout, Sample, batches_of
from milpcb.estimators.rows import Rows, explicit_cuts
from milpcb.offline.compressed import CompressedLog, compress
from milpcb.offline.diagnostics import warn_of
from milpcb.offline.log import RANDOMISED, action_names
from milpcb.offline.overlap import KINDS as OVERLAPS
from milpcb.offline.scores import METHODS, treatment_costs
from milpcb.offline.sufficient_statistics import Statistics
from milpcb.types import Floats

ADD_UP = ("ips", "snips")  # methods whose scores need nothing but sums
MOST_CONTEXTS = 1_000_000  # that stand for the rows


class FromBatches(PolicyEstimator):
    """Learns from sums over the rows of a log.

    Parameters
    ----------
    method : "dr", "ips", "snips" or "dm"
    model_outcome, model_propensity : models of scikit-learn; they read X as it was given. None: ones that read strings
        as their place in the alphabet and leave missing values missing
    cv : folds of the cross-fitting
    min_propensity : smaller propensities are raised to it
    treatment_cost : what each action costs beside its outcome: a mapping from names of actions to numbers, columns
        (n,) or names of columns of X, or a table (n, K)
    random_state : seed of the folds and of the models
    overlap : "required": actions are played only where the log has rows of them, in each part of the policy, and where
        their propensities are not 0; "ignore": everywhere, whatever the scores are made of there

    """

    method: str = "dr"
    model_outcome: Any = None
    model_propensity: Any = None
    cv: int = 5
    min_propensity: float = 0.01
    treatment_cost: Any = None
    random_state: int = 0
    overlap: str = "required"

    def fit_batches(
        self,
        batches: Iterable[Any] | Callable[[], Iterable[Any]],
        *,
        action: str,
        reward: str | None = None,
        cost: str | None = None,
        propensity: str | Sequence[str] | Mapping[Any, str],
        features: Sequence[str] | None = None,
        actions: Sequence[Any] | None = None,
    ) -> Self:
        """Find the policy with the best estimated value, in two passes over batches of rows and constant memory.

        The first pass takes a sample, of at most a million rows, for cut points and categories; the second adds up. The
        policy is that of ``fit`` to all rows with the same cut points. ``scores_`` is None; ``compressed_``, a
        milpcb.offline.compressed.CompressedLog, has values with standard errors, the policy's for ``played_``. Raises
        InputError as ``fit``, and where the class or a parameter needs the rows themselves.

        Parameters
        ----------
        batches : data frames of pandas or polars, as a list, or as a function that returns them anew at each call
        action, reward, cost : names of the columns of what was done, and what came of it (one of the two)
        propensity : "randomised", or the name of the column with the probability of what was done, or a mapping from
            the K actions to columns
        features : names of the columns that the policy may read; None: all others
        actions : the K names in order; None: those of the log, sorted

        """
        if (reward is None) == (cost is None):
            raise InputError("give either reward= (larger is better) or cost= (smaller is better)")
        named = tuple(map(action_name, propensity)) if isinstance(propensity, Mapping) else ()
        chances = propensity.values() if isinstance(propensity, Mapping) else propensity
        known = (chances,) if isinstance(chances, str) else tuple(chances)
        randomised = known == (RANDOMISED,)
        columns = Columns(
            action,
            str(reward or cost),
            maximise=cost is None,
            propensity=() if randomised else known,
            propensity_of=named,
            randomised=randomised,
            features=tuple(features or ()),
            actions=tuple(map(action_name, actions or ())),
        )
        sample = Sample(columns)
        for frame in batches_of(batches):
            sample.add(frame)
        if not sample.n:
            raise InputError("the batches have no rows")
        layout = self.layout(sample.table, columns)
        sums = layout.empty()
        for frame in batches_of(batches):
            layout.add(frame, (sums, slice(None)))
        self.fit_statistics(layout, sums)
        warn_of(self.compressed_.diagnostics)
        return self

    def layout(self, sample: Any, log: Columns) -> Layout:
        """Return how rows become cells, by a sample of them; raises InputError where the rows themselves are needed."""
        self._check_adds_up()
        frame = nw.from_native(sample, eager_only=True)
        read = log.features or [name for name in frame.columns if name not in log.names]
        features = read_features(self, checked(self, frame.select(list(read)).to_native(), reset=True))
        names, each = chosen_features(self.features, features.names), np.ones(len(features))
        columns = self._columns(features, names, each)
        contexts = np.column_stack([column.read(features.values[column.name]) for column in columns])
        rows = Rows(contexts, np.arange(len(each)), each, each)
        cuts = explicit_cuts(self._thresholds(), columns, names, rows) if not self._adds_up else None
        if isinstance(cuts, str):
            raise InputError("every cut (thresholds 'all') needs the rows themselves; give a number of cut points")
        cuts = tuple((0.5,) for _ in columns) if cuts is None else tuple(cuts)
        actions = log.actions or action_names(frame.get_column(log.action).drop_nulls().unique().to_list())
        order, least = self._order() or 1, self._least()
        layout = Layout(log.by(actions), features.schema, columns, cuts, order, actions, least)
        self._charges(layout)  # an error comes before the pass
        if layout.grid.size > MOST_CONTEXTS:
            cells = f"{spaced(layout.grid.size)} combinations of cut points, more than {spaced(MOST_CONTEXTS)}"
            raise InputError(f"{cells}, would be counted; give fewer thresholds or features, or a smaller rule")
        if self.overlap == "ignore":
            return replace(layout, parts=None)
        with suppress(InputError):  # of a row that is wrong: the pass knows its number in the log
            layout = layout.with_parts(sample)
        return layout

    def fit_statistics(self, layout: Layout, sums: Statistics) -> Self:
        """Find the best policy by sums over rows."""
        found = self.compress(layout, sums)
        actions = np.array(layout.actions)
        contexts, sign = layout.contexts(found.codes), -1.0 if found.maximise else 1.0
        rows = Rows(contexts, np.arange(len(contexts)), found.sizes, found.sizes)
        rules = bind_all(self.constraints, NamedRows({"": found.sizes}, list(layout.actions), rows)) + found.support
        policies = self._policy_class(len(actions), layout.cuts)
        self.scores_: Any = None
        self.compressed_: Any = found
        costs = sign * found.scores
        answer = self._search(policies, rows, costs, rules, layout.schema, layout.columns, actions, sign)
        self.found_: Any = answer.policy
        self.played_ = np.asarray(self.found_.predict(contexts))
        return self

    def compress(self, layout: Layout, sums: Statistics) -> CompressedLog:
        """Return the contexts that stand for rows with these sums."""
        return compress(
            sums,
            layout.actions,
            self.method,
            self._charges(layout),
            maximise=layout.log.maximise,
            randomised=layout.log.randomised,
            min_propensity=layout.least,
            parts=[(part.action, part.words) for part in layout.parts or ()],
        )

    def _order(self) -> int | None:
        most = getattr(self, self._tested) if isinstance(self._tested, str) else self._tested
        return None if most is None else whole(str(self._tested), most, 0)

    def _least(self) -> float:
        return real("min_propensity", self.min_propensity, "at least 0 and below 1", lambda least: 0 <= least < 1)

    def _charges(self, layout: Layout) -> Floats:
        """Return what each action (K,) adds to outcomes; raises InputError, UnknownNameError."""
        K = len(layout.actions)
        if self.treatment_cost is None:
            return np.zeros(K)
        prices = self.treatment_cost.values() if isinstance(self.treatment_cost, Mapping) else [self.treatment_cost]
        by_row = any(isinstance(price, str) for price in prices)  # the name of a column
        charge = np.empty(0) if by_row else treatment_costs(self.treatment_cost, layout.actions)
        if charge.shape != (K,):
            raise InputError(f"treatment_cost by row needs the rows themselves: give {K} numbers, by action")
        return -charge if layout.log.maximise else charge

    def _check_adds_up(self) -> None:
        if choice("method", self.method, METHODS) not in ADD_UP:
            raise InputError(
                f"models are fitted to rows in memory, and method '{self.method}' needs them: take method 'snips' or "
                "'ips' (--method snips) to add up batches"
            )
        choice("overlap", self.overlap, OVERLAPS)
        if self._order() is None:
            raise InputError("how many columns a part of such a policy tests has no bound; fit it to rows in memory")
        if self._counts_rows:
            raise InputError("limits on the rows of a part need the rows themselves: leave them out")
        every = self.constraints if isinstance(self.constraints, (list, tuple)) else [self.constraints]
        if not all(isinstance(rule, ShareAtMost) for rule in every):
            raise InputError("of the constraints only share_at_most adds up over rows; learn from rows in memory")
