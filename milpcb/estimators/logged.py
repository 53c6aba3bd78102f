"""Estimators that learn from a log, in memory or in one pass: the action and the outcome in each row."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import narwhals as nw
import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.constraints.by_names import ShareAtMost, bind_all
from milpcb.constraints.linear import NamedRows
from milpcb.core.checks import choice, real, whole
from milpcb.core.decimals import spaced
from milpcb.data.actions import action_name
from milpcb.data.made_columns import chosen_features
from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators.base import PolicyEstimator
from milpcb.estimators.inputs import Columns, checked, read_features, read_targets, read_weights, warn_of_alike
from milpcb.estimators.one_pass import Layout, Sample, batches_of, charges_of
from milpcb.estimators.rows import Rows, best_under, explicit_cuts, guards_of, row_by_row, summed, total_of
from milpcb.offline import Evaluation, Log, LowerEnds, NoWorseThan, Scores, best_reference, evaluate, read_log, scores
from milpcb.offline.diagnostics import warn_of
from milpcb.offline.log import action_names
from milpcb.offline.overlap import FALL, rows_of_actions, seen_everywhere
from milpcb.offline.overlap import KINDS as OVERLAPS
from milpcb.offline.question import Question
from milpcb.offline.sufficient_statistics import Statistics
from milpcb.protocols import PolicyClass
from milpcb.types import Answer, Floats, Ints

ADD_UP = ("dr", "ips", "snips")  # methods whose scores add up over rows
OBJECTIVES = ("value", "guaranteed")
MODEL_ROWS = 100_000  # of the sample of a pass, that models are fitted to
MOST_CONTEXTS = 1_000_000  # that stand for the rows
IMITATES = "neither reward nor cost was given, so the policy learns to agree with the log's actions"


class FromLog(PolicyEstimator):
    """Learns from a log: a table of scores by action is estimated first, see milpcb.offline.scores.

    Parameters
    ----------
    method : "dr", "ips", "snips" or "dm"
    model_outcome, model_propensity : models of scikit-learn; they read X as it was given. None: ones that read strings
        as their place in the alphabet and leave missing values missing
    cv : number of folds of the cross-fitting, or the fold (n,) of each row
    min_propensity : smaller propensities are raised to it
    treatment_cost : the cost of each action beside its outcome: a mapping from names of actions to numbers, columns
        (n,) or names of columns of X, or a table (n, K)
    random_state : seed of the folds and of the models
    overlap : "required": actions are played only where the log has rows of them, in each part of the policy, and where
        their propensities are not 0; "ignore": everywhere, even if scores are extrapolated there
    objective : "value", the best estimate; or "guaranteed", the greatest lower end of the gain over treating all alike,
        see milpcb.offline.LowerEnds: for a guarantee, as it rarely finds a better policy

    Attributes
    ----------
    lower_ends_ : of the objective "guaranteed", the function that gives the lower end of any policy
    scores_ : the table of scores and the warnings about it, ``scores_.diagnostics``; None without outcomes

    """

    method: str = "dr"
    model_outcome: Any = None
    model_propensity: Any = None
    cv: Any = 5
    min_propensity: float = 0.01
    treatment_cost: Any = None
    random_state: int = 0
    overlap: str = "required"
    objective: str = "value"

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        reward: Any = None,
        cost: Any = None,
        propensity: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Find the policy with the best estimated value; for ``X`` and errors see ``fit`` of OptimalPolicyTree.

        ``y`` (n,) are the actions, ``reward`` or ``cost`` (n,) the outcomes; with neither, a warning is given, and
        the policy is learnt that agrees most often with ``y``. ``propensity`` is the probability with which it was
        done, see milpcb.offline.read_log; None: it is estimated. ``sample_weight`` (n,) are weights of rows.
        """
        done = self._done(y)
        X = checked(self, X, reset=True)
        features = read_features(self, X)
        weight = read_weights(sample_weight, len(features))
        agreement, actions = read_targets(done, len(features), maximise=True, log=True)
        warn_of_alike(actions)
        if reward is None and cost is None:
            warnings.warn(IMITATES, UserWarning, stacklevel=2)
            self.scores_: Any = None
            self.compressed_: Any = None
            return self._learn(features, agreement, actions, weight, maximise=True)
        self.actions_ = actions
        self.scores_ = found = self._scores(X, done, weight, reward=reward, cost=cost, propensity=propensity)
        self._learn(features, found.table, actions, found.weight, maximise=found.maximise)
        warn_of(found.diagnostics)
        return self

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
        model_rows: int = MODEL_ROWS,
    ) -> Self:
        """Find the policy with the best estimated value, in two passes over batches of rows and constant memory.

        The first pass takes a sample, of at most a million rows, for cut points and categories; the second adds up. The
        policy is that of ``fit`` to all rows with the same cut points. ``scores_`` is None; ``compressed_``, a
        milpcb.offline.compressed.CompressedLog, has values with standard errors, the policy's for ``played_``. Raises
        InputError as ``fit``, and where the class or a parameter needs the rows themselves.

        Parameters
        ----------
        batches : data frames of pandas or polars, as a list, or as a function that returns them anew at each call
        action, reward, cost : names of the columns of actions, and of outcomes (one of the two)
        propensity : "randomised", or the name of the column with the probability of the action, or a mapping from
            the K actions to columns; K names are enough in the order of ``actions``, or where they are the actions
        features : names of the columns that the policy may read; None: all others
        actions : the K names in order; None: those of the log, sorted
        model_rows : rows of the sample, at most, to which the method "dr" fits models of outcomes, in ``cv`` folds

        """
        columns = Columns.named(action, reward, cost, propensity, features, actions)
        sample = Sample(columns)
        for frame in batches_of(batches):
            sample.add(frame)
        if not sample.n:
            raise InputError("the batches have no rows")
        numbers = sample.numbers
        layout = self.layout(sample.table, columns, numbers, np.arange(len(numbers)), model_rows)
        sums, start = layout.empty(), 0
        for frame in batches_of(batches):
            layout.add(frame, start, (sums, slice(None)))
            start += len(frame)
        self.fit_statistics(layout, sums)
        warn_of_alike(self.actions_)
        warn_of(self.compressed_.diagnostics)
        return self

    def fit_scores(self, X: Any, found: Scores) -> Self:
        """Find the policy with the best value by scores that are there already, in the order of the rows of ``X``."""
        features = read_features(self, checked(self, X, reset=True))
        self.scores_ = found
        return self._learn(features, found.table, np.array(found.actions), found.weight, maximise=found.maximise)

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        reward: Any = None,
        cost: Any = None,
        propensity: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Return the estimated value of the policy on other rows, larger is better: the mean reward, or minus the cost.

        With neither reward nor cost it is the share of the rows in which the policy agrees with the log.
        """
        done, labels = self._done(y), self._policy().predict(checked(self, X, reset=False))
        if reward is None and cost is None:
            agreement, _ = read_targets(done, len(labels), maximise=True, actions=self.actions_, log=True)
            weight = read_weights(sample_weight, len(labels))
            return float(np.average(agreement[np.arange(len(labels)), labels], weights=weight))
        how = {"reward": reward, "cost": cost, "propensity": propensity, "sample_weight": sample_weight}
        value = self.evaluate(X, done, **how).value.estimate
        return value if cost is None else -value

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        reward: Any = None,
        cost: Any = None,
        propensity: Any = None,
        sample_weight: Any = None,
        **options: Any,
    ) -> Evaluation:
        """Return the worth of the policy on other rows, by part too; for ``options`` see milpcb.offline.evaluate."""
        X = checked(self, X, reset=False)
        weight = read_weights(sample_weight, len(X))
        found = self._scores(X, self._done(y), weight, reward=reward, cost=cost, propensity=propensity)
        return evaluate(found, self._policy(), contexts=X, **options)

    def _done(self, y: Any) -> Any:
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None: what was done")
        done = np.asarray(y)
        if done.ndim == 2 and done.shape[1] > 1:
            raise InputError(f"action must be one name or number for each row, got a table of shape {done.shape}")
        return done.ravel() if done.ndim else done

    def _scores(self, X: Any, done: Any, weight: Any, **outcome: Any) -> Scores:
        log, features = read_log(X, done, actions=self.actions_.tolist(), **outcome), read_features(self, X)
        vars(log)["columns"] = features.values  # which are read once
        return self.estimate_scores(log, columns=features.values, sample_weight=weight)

    def problem(self, X: Any, sample_weight: Any = None, *, guarded: bool = True) -> Question:
        """Return the problem as any estimator does; if ``guarded``, limits with confidence are on the estimates."""
        found = super().problem(X, sample_weight)
        actions = [action_name(action) for action in self.actions_.tolist()]
        rules = [guard.on_rows(found.contexts, actions) for guard in guards_of(self.constraints) if guarded]
        if self.scores_ is not None and len(self.scores_.table) == len(found.contexts) and guarded:
            rules += self.scores_.support
        return replace(found, constraints=(*found.constraints, *rules)) if rules else found

    def _named_constraints(self) -> Any:
        guards = guards_of(self.constraints)
        return [rule for rule in self.constraints if rule not in guards] if guards else self.constraints

    def _optimise(self, policies: PolicyClass, rows: Rows, costs: Floats, rules: Sequence[LabelConstraint]) -> Answer:
        """Return the answer under the limits that hold with confidence too, and by the objective."""
        guards, ask = self._guards(), partial(super()._optimise, policies, rows)

        def best(totals: Floats) -> Answer:
            def search(seen: list[LabelConstraint]) -> Answer:
                kept, own = [*rules, *seen], partial(ask, totals)
                if not guards or self.scores_ is None:
                    return own(kept)
                return best_under(guards, policies, rows, kept, own, self.scores_.actions)

            return self._seen_everywhere(search, rows)

        answer = best(costs)
        if choice("objective", self.objective, OBJECTIVES) == "value":
            return answer
        question = Question(policies, rows.contexts[rows.group], kind=self._question_kind)
        known = self.scores_.take(np.flatnonzero(self.scores_.weight > 0))
        reference = best_reference(known, row_by_row(rules, guards, rows, known.actions))
        self.lower_ends_ = LowerEnds(question, known, reference, self.random_state)
        ends = summed(self.lower_ends_.costs, rows)
        # Parts without rows are looked for at the policies found: the other one may have been spared a part.
        return replace(min(best(ends), answer, key=lambda each: total_of(each, rows, ends)), lower=answer.lower)

    def _seen_everywhere(self, search: Callable[[list[LabelConstraint]], Answer], rows: Rows) -> Answer:
        if self.overlap == "ignore":
            return search([])
        if self.scores_ is None:
            found = self.compressed_
            if found is None:
                return search([])  # the policy learns what was done
            expected = np.multiply.outer(found.sizes, found.counts / found.n / FALL)
            return seen_everywhere(search, rows.contexts, found.done, expected, None)
        log, kept = self.scores_.log, self.scores_.weight > 0
        counts, expected = (summed(table[kept], rows) for table in rows_of_actions(log, self.scores_.weight))
        cells = summed(self.scores_.unseen[kept].astype(float), rows) > 0
        return seen_everywhere(search, rows.contexts, counts, expected, cells)

    def _guards(self) -> list[NoWorseThan]:
        guards = guards_of(self.constraints)
        if self.scores_ is None:
            if guards or self.objective != "value":
                raise InputError("limits with confidence, and what is guaranteed, need outcomes: give reward= or cost=")
            return []
        kept = np.flatnonzero(self.scores_.weight > 0)
        for guard in guards:
            guard.check_rows(len(self.scores_.table))
        return [guard.take(kept) for guard in guards]

    def estimate_scores(self, log: Log, columns: Mapping[str, Any] | None = None, **options: Any) -> Scores:
        """Return milpcb.offline.scores by these parameters and ``options``; prices may be names of ``columns`` (n,)."""
        charge, known = self.treatment_cost, columns or {}
        if isinstance(charge, Mapping):
            for name in charge.values():
                if isinstance(name, str) and name not in known:
                    raise UnknownNameError("column of treatment_cost", name, known)
            charge = {action: known[price] if isinstance(price, str) else price for action, price in charge.items()}
        same = ("model_outcome", "model_propensity", "cv", "min_propensity", "overlap")
        own: dict[str, Any] = {name: getattr(self, name) for name in same}
        return scores(log, self.method, seed=self.random_state, treatment_cost=charge, **own, **options)

    def layout(self, sample: Any, log: Columns, numbers: Ints, learnt: Ints, model_rows: int = MODEL_ROWS) -> Layout:
        """Return the layout of cells, by sampled rows with ``numbers`` in the log; models are fitted to ``learnt``."""
        self._check_adds_up()
        frame = nw.from_native(sample, eager_only=True)
        read = log.features or [name for name in frame.columns if name not in log.names]
        features = read_features(self, checked(self, frame.select(list(read)).to_native(), reset=True))
        names, each = chosen_features(self.features, features.schema.names), np.ones(len(features))
        columns = self._columns(features, names, each)
        contexts = np.column_stack([column.read(features.values[column.name]) for column in columns])
        rows = Rows(contexts, np.arange(len(each)), each, each)
        cuts = explicit_cuts(self._thresholds(), columns, names, rows) if not self._adds_up else None
        if isinstance(cuts, str):
            raise InputError("every cut (thresholds 'all') needs the rows themselves; give a number of cut points")
        cuts = tuple((0.5,) for _ in columns) if cuts is None else tuple(cuts)
        actions = log.actions or action_names(frame.get_column(log.action).drop_nulls().unique().to_list())
        least = real("min_propensity", self.min_propensity, "at least 0 and below 1", lambda value: 0 <= value < 1)
        cells = log.by(actions), features.schema, columns, cuts, self._order() or 1, actions
        charges = charges_of(self.treatment_cost, actions, maximise=log.maximise)
        how: dict[str, Any] = {"model": self.model_outcome, "folds": (self.cv, self.random_state)}
        layout = Layout(*cells, self.method, least, charges, **how)
        if layout.grid.size > MOST_CONTEXTS:
            many = f"{spaced(layout.grid.size)} combinations of cut points, more than {spaced(MOST_CONTEXTS)}"
            raise InputError(f"{many}, would be counted; give fewer thresholds or features, or a smaller rule")
        try:
            values, codes, known = layout.read(sample)
        except InputError:  # of a row that is wrong: the pass knows its number in the log
            return layout
        layout = replace(layout, parts=None) if self.overlap == "ignore" else layout.with_parts(codes, known)
        if self.method == "dr":
            if len(learnt) > (most := whole("model_rows", model_rows, 2)):
                learnt = learnt[np.linspace(0, len(learnt) - 1, most).astype(np.int64)]
            layout = layout.with_models(sample, values, known, numbers, learnt)
        return layout

    def fit_statistics(self, layout: Layout, sums: Statistics) -> Self:
        """Find the best policy by sums over rows."""
        found = layout.compressed(sums)
        actions = np.array(layout.actions)
        contexts, sign = layout.contexts(found.codes), -1.0 if found.maximise else 1.0
        rows = Rows(contexts, np.arange(len(contexts)), found.sizes, found.sizes)
        rules = bind_all(self.constraints, NamedRows({"": found.sizes}, list(layout.actions), rows)) + found.support
        policies = self._policy_class(len(actions), layout.cuts)
        self.scores_, self.compressed_ = None, found
        costs = sign * found.scores
        answer = self._search(policies, rows, costs, rules, layout.schema, layout.columns, actions, sign)
        self.found_: Any = answer.policy
        self.played_ = np.asarray(self.found_.predict(contexts))
        return self

    def _check_adds_up(self) -> None:
        choice("method of sums over batches", self.method, ADD_UP)
        choice("overlap", self.overlap, OVERLAPS)
        if self._order() is None:
            raise InputError("parts of such a policy may test any number of columns; fit it to rows in memory")
        if self._counts_rows or self.monotone or self.objective != "value":
            raise InputError("limits on the rows of a part, monotone and objective need the rows: leave them out")
        every = self.constraints if isinstance(self.constraints, (list, tuple)) else [self.constraints]
        if not all(isinstance(rule, ShareAtMost) for rule in every):
            raise InputError("of the constraints only share_at_most adds up over rows; learn from rows in memory")
