"""Estimators that learn from a log: what was done in each row, and what came of it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.data.actions import action_name
from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators.batches import FromBatches
from milpcb.estimators.inputs import Features, checked, read_features, read_targets, read_weights
from milpcb.estimators.rows import Rows, best_under, guards_of, summed
from milpcb.offline import Evaluation, Log, NoWorseThan, Scores, evaluate, read_log, scores
from milpcb.offline.diagnostics import warn_of
from milpcb.offline.overlap import FALL, rows_of_actions, seen_everywhere
from milpcb.offline.question import Question
from milpcb.protocols import PolicyClass
from milpcb.types import Answer, Floats

IMITATES = "neither reward nor cost was given, so the policy learns to do what was done most often"


class FromLog(FromBatches):
    """Learns from a log: a table of scores by action is estimated first, see milpcb.offline.scores.

    Attributes
    ----------
    scores_ : the table of scores and what is to be known of it, ``scores_.diagnostics``; None without outcomes

    """

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

        ``y`` (n,) is what was done, ``reward`` or ``cost`` (n,) what came of it; with neither, a warning is given, and
        the policy is learnt that agrees most often with what was done. ``propensity`` is with which probability it was
        done, see milpcb.offline.read_log; None: it is estimated. ``sample_weight`` (n,) is how much each row counts.
        """
        done = self._done(y)
        X = checked(self, X, reset=True)
        features = read_features(self, X)
        weight = read_weights(sample_weight, len(features))
        agreement, actions = read_targets(done, len(features), maximise=True, log=True)
        if reward is None and cost is None:
            warnings.warn(IMITATES, UserWarning, stacklevel=2)
            self.scores_ = self.compressed_ = None
            return self._learn(features, agreement, actions, weight, maximise=True)
        self.actions_ = actions
        found = self._scores(X, done, weight, reward=reward, cost=cost, propensity=propensity)
        self._from_scores(features, found, actions)
        warn_of(found.diagnostics)
        return self

    def fit_scores(self, X: Any, found: Scores) -> Self:
        """Find the policy with the best value by scores that are there already, in the order of the rows of ``X``."""
        features = read_features(self, checked(self, X, reset=True))
        return self._from_scores(features, found, np.array(found.actions))

    def _from_scores(self, features: Features, found: Scores, actions: Any) -> Self:
        self.scores_ = found
        return self._learn(features, found.table, actions, found.weight, maximise=found.maximise)

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

        With neither reward nor cost it is the share of the rows in which the policy agrees with what was done.
        """
        done, policy = self._done(y), self._policy()
        labels = policy.predict(checked(self, X, reset=False))
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
        """Return what the policy is worth on other rows, by part too; for ``options`` see milpcb.offline.evaluate."""
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
        features = read_features(self, X)
        own_models = self.model_outcome is not None or self.model_propensity is not None
        table = X if own_models else features.numbers()
        log = read_log(table, done, actions=self.actions_.tolist(), **outcome)
        return self.estimate_scores(replace(log, values=features.values), columns=features.values, sample_weight=weight)

    def problem(self, X: Any, sample_weight: Any = None, *, guarded: bool = True) -> Question:
        """Return as any estimator; if ``guarded``, limits with confidence are there as limits on the estimates."""
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
        """Return the answer under the limits that hold with confidence too."""
        guards, ask = self._guards(), partial(super()._optimise, policies, rows, costs)

        def search(seen: list[LabelConstraint]) -> Answer:
            kept = [*rules, *seen]
            if not guards or self.scores_ is None:
                return ask(kept)
            return best_under(guards, policies, rows, kept, ask, self.scores_.actions)

        return self._seen_everywhere(search, rows)

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
            if guards:
                raise InputError("limits with confidence need outcomes: give reward= or cost=")
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
