"""The base class of all estimators: from a table of values by action to a fitted policy."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from inspect import cleandoc
from math import fsum
from typing import Any, ClassVar, Self, cast, dataclass_transform

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from milpcb.constraints import LabelConstraint, NamedConstraint, NamedRows
from milpcb.constraints.by_names import as_document, bind_all
from milpcb.core.checks import check_gap, check_time_limit, choice, whole
from milpcb.data.actions import action_name, check_order, named_class, own_names
from milpcb.data.columns import Column, Membership, Number, encoded
from milpcb.data.made_columns import FEW, SIDES, chosen_features, make_columns
from milpcb.data.schema import Schema
from milpcb.errors import InputError, MilpcbError, OracleInexact, SearchTooLargeError
from milpcb.estimators.inputs import Features, checked, read_weights
from milpcb.estimators.rows import Rows, as_tests, explicit_cuts, joints_of, total_of
from milpcb.offline.question import Question
from milpcb.offline.restrictions.monotone import ActionOrder, Ask, check_orderable
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.plugins import registry
from milpcb.protocols import Opened, PolicyClass, open_class
from milpcb.types import Answer, Floats, Ints, Stop

FORMAT = 6  # of an estimator in JSON
VALUES = ("policy_value_", "lower_bound_", "optimal_", "maximise_")
SECTIONS = ("Parameters", "Attributes")
SECTION = r"(?ms)^{}\n-+\n(.*?)\n*(?=^\w[\w ]*\n-+\n|\Z)"  # of a docstring, and what stands in it


@dataclass_transform(eq_default=False, kw_only_default=True)  # every subclass becomes a dataclass
@dataclass(eq=False, repr=False, kw_only=True)
class PolicyEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The base of all estimators here; a subclass is a dataclass whose fields are its parameters.

    Parameters
    ----------
    features : columns that the policy may test, by name or number; None for all. The others are still there for
        constraints
    missing : the side of a comparison such as age <= 40 for a missing number: "yes" as if it held, "no" as if it
        failed, "either" as the search finds best; a test for missing values is added. With "yes" and "no" columns
        that were never missing may be missing later
    most_subsets : columns of at most so many categories, missing being one, are tested by every subset, as in region in
        {north, west}; of others each category is tested against the rest
    constraints : on the policy, see share_at_most, parity, mean_at_most, never, always
    monotone : names of columns of numbers, each with "more": the action never goes down, in the order of the actions,
        as the column grows, whatever the other columns are (of values that were seen); or with "less": it never goes
        up. A missing number is in no order
    kind : of the oracle: "auto" is the class's own exact search where it has one that can keep the constraints and has
        the options that are given of the three below, else a solver ("milp"). Any other kind must have them
    solver : of kinds "milp" and "audited", such as "highs" (None is that) or "scip"; ``milpcb solvers`` lists them
    time_limit : seconds after which the best policy found so far is taken, None for no limit: of kind "milp", and of
        kind "search" for trees without constraints
    gap : of kind "milp": the solver may stop at a policy whose weighted total is proved to be within this of the best

    Attributes
    ----------
    schema_ : the kind of each column of the table; ``print`` it. Later tables are read by it, or refused
    policy_ : the policy; it reads the tables of ``predict``, prints as rules, and is exported as JSON, SQL, Python
    actions_ : (K,) names of the actions, in the order of the columns of the table
    policy_value_ : the weighted mean of the table over the rows of the fit under the policy
    constant_values_ : (K,) the same for playing one action always
    lower_bound_ : proved: no policy of the class that keeps the constraints has a better ``policy_value_`` (a larger
        one where ``maximise_``); the two are equal, up to rounding, where ``optimal_``
    optimal_ : whether the policy is proved to be optimal; False only where ``time_limit`` or ``gap`` ended the search
    maximise_ : whether larger values are better
    policies_ : the policy class that was searched, with its cut points
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    """

    features: Any = None
    missing: str = "either"
    most_subsets: int = FEW
    constraints: Any = ()
    monotone: Any = None
    kind: str = "auto"
    solver: str | None = None
    time_limit: float | None = None
    gap: float = 0.0

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the class a dataclass; ``help()`` of one that is put together of others explains all that it takes."""
        super().__init_subclass__(**options)
        dataclass(eq=False, repr=False, kw_only=True)(cls)
        cls.__doc__ = joined(cls)

    _class_name: ClassVar[str] = ""  # of the policy class in the registry
    _words: ClassVar[Mapping[str, str]] = {}  # options of the policy class, and the parameters that set them
    # of how many columns a part of a policy is a matter at most, or the parameter that says so; None without a bound
    _tested: ClassVar[str | int | None] = None
    _adds_up = False  # whether policies weight numbers and add them up: those are tests then, 0 or 1
    _counts_rows = False  # whether a parameter counts rows, so that each must be there

    def _policy_class(self, n_actions: int, thresholds: Any) -> PolicyClass:
        """Return the policy class; ``thresholds`` are one list of cut points a number, "all", or None where unused."""
        cuts = {} if self._adds_up else {"thresholds": thresholds}
        with called(self._words):
            made = registry.load("policies", self._class_name)(n_actions=n_actions, **cuts, **self._class_options())
            return cast("PolicyClass", made)

    def _class_options(self) -> dict[str, Any]:
        return {option: getattr(self, parameter) for option, parameter in self._words.items()}

    def _thresholds(self) -> Any:
        return getattr(self, "thresholds", None)

    def _order(self) -> int | None:
        most = getattr(self, self._tested) if isinstance(self._tested, str) else self._tested
        return None if most is None else whole(str(self._tested), most, 0)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the name of the action (n,) for each row."""
        played = self._policy().predict(checked(self, X, reset=False))
        return cast("npt.NDArray[Any]", self.actions_[played])

    def apply(self, X: Any) -> Ints:
        """Return the number of the part (n,) of the policy that each row is in, in the order in which they print."""
        return cast("Ints", self._policy().apply(checked(self, X, reset=False)))

    def problem(self, X: Any, sample_weight: Any = None) -> Question:
        """Return the problem that the fit to rows ``X`` solved, row by row: for milpcb.offline.inference, stability.

        Constraints count every row by ``sample_weight`` (n,), once without it.
        """
        columns = self._policy().names.columns
        values = self.schema_.read(checked(self, X, reset=False))
        contexts = encoded(columns, values, range(len(columns)))
        contexts.setflags(write=False)
        each = read_weights(sample_weight, len(contexts))
        rows = Rows(contexts, np.arange(len(contexts)), each, each)
        rules = bind_all(self._named_constraints(), NamedRows(values, self.actions_.tolist(), rows))
        policies = named_class(self.policies_, [*map(action_name, self.actions_.tolist())])
        return Question(policies, contexts, tuple(rules), self._question_kind)

    def to_json(self) -> str:
        """Return policy, values and plain parameters as JSON, of which ``policies.from_json`` reads the policy."""
        policy, parameters, given = self._policy().document(), {}, self.get_params(deep=False)
        for name, value in given.items():
            with suppress(TypeError, ValueError):  # of models, and other objects
                parameters[name] = json.loads(json.dumps(value, default=_plain, allow_nan=False))
        document = {
            "milpcb_estimator": FORMAT,
            "class": type(self).__name__,
            "parameters": parameters,
            "left_out": [name for name in given if name not in parameters],
            "policy": policy,
        }
        document |= {"constant_values_": self.constant_values_.tolist()}
        document |= {name: getattr(self, name) for name in VALUES}
        return json.dumps(document, ensure_ascii=False, allow_nan=False)

    def to_sql(self) -> str:
        """Return the policy as a CASE expression with the values of ``predict``; see ``policy_.to_sql``."""
        return cast("str", self._policy().to_sql(self.actions_.tolist()))

    def to_python(self, name: str = "decide") -> str:
        """Return the source of a function ``name(row)`` with the values of ``predict``; see ``policy_.to_python``."""
        return cast("str", self._policy().to_python(self.actions_.tolist(), name))

    def _named_constraints(self) -> Any:
        return self.constraints

    def _policy(self) -> Any:
        check_is_fitted(self)
        return self.policy_

    def _learn(self, features: Features, targets: Floats, actions: Any, weight: Floats, *, maximise: bool) -> Self:
        """Set the fitted attributes from ``targets`` (n, K) and ``weight`` (n,)."""
        names = chosen_features(self.features, features.schema.names)
        kept = weight > 0
        features, targets = features.take(kept), targets[kept]
        columns = self._columns(features, names, weight[kept])
        contexts = encoded(columns, features.values, range(len(columns)))
        rows = Rows.merge(contexts, weight[kept])
        sign = -1.0 if maximise else 1.0
        costs = rows.total(sign * targets)
        thresholds = explicit_cuts(self._thresholds(), columns, names, rows)
        policies = self._policy_class(len(actions), thresholds)
        check_order("the policy class", own_names(policies), [*map(action_name, actions.tolist())])
        if joints := joints_of(self.monotone, columns, features.values, contexts):
            rows = replace(rows, order=ActionOrder(joints, rows.contexts, thresholds))
        rules = bind_all(self._named_constraints(), NamedRows(features.values, actions.tolist(), rows, kept))
        self._search(policies, rows, costs, rules, features.schema, columns, actions, sign)
        return self

    def _search(
        self,
        policies: PolicyClass,
        rows: Rows,
        costs: Floats,
        rules: Sequence[LabelConstraint],
        schema: Schema,
        columns: Sequence[Column],
        actions: Any,
        sign: float,
    ) -> Answer:
        """Search on merged rows, and set the fitted attributes; ``schema`` and ``columns`` are what policies read."""
        with called(self._words):
            answer = self._optimise(policies, rows, costs, rules)
        total, chosen = fsum(rows.weight), total_of(answer, rows, costs)
        self.policies_ = policies
        self.policy_value_, self.lower_bound_ = sign * chosen / total, sign * answer.lower / total
        self.constant_values_ = sign * costs.sum(axis=0) / total
        self.optimal_ = answer.stop == Stop.OPTIMAL
        self.actions_, self.maximise_ = actions, sign < 0
        self.schema_ = schema if self.missing == "either" else schema.allowing_missing()
        self.policy_ = _on_tables(answer.policy, self.schema_, columns, actions)
        return answer

    def _columns(self, features: Features, names: Sequence[str], weight: Floats) -> tuple[Column, ...]:
        choice("missing", self.missing, SIDES)
        chosen, few = [features.schema[name] for name in names], whole("most_subsets", self.most_subsets, 1)
        made = make_columns(features.values, chosen, missing=self.missing, scores=self._adds_up, few=few)
        if self._adds_up:
            made = tuple(as_tests(made, self._thresholds(), names, features.values, weight))
        return made or (Membership(names[0], (None,)),)  # nothing to test: some number must be there

    def _optimise(self, policies: PolicyClass, rows: Rows, costs: Floats, rules: Sequence[LabelConstraint]) -> Answer:
        """Return the oracle's answer; a subclass may prefer one optimal policy to another."""
        contexts = rows.contexts
        if rows.order is not None:
            if self._counts_rows:
                raise InputError("monotone excludes limits on the rows of a part: leave one of the two out")
            check_orderable(policies)
            opened: Any = open_class(policies, contexts)
            explicit = opened.fixed() if getattr(policies, "thresholds", None) == "all" else policies
            return rows.order.best(partial(self._opened, explicit), rules, costs)
        if self._counts_rows:
            counts = rows.sizes.astype(np.int64)
            if not np.array_equal(counts, rows.sizes):
                raise InputError("a limit on rows counts them: give whole sample weights, or leave the limit out")
            contexts, costs = np.repeat(contexts, counts, axis=0), _on_first(costs, counts)
            rules = [replace(rule, weights=_on_first(np.asarray(rule.weights), counts)) for rule in rules]
        answer = self._opened(policies, contexts, rules)(costs)
        if answer.policy is None:
            raise OracleInexact(f"no policy was found in time_limit = {self.time_limit} seconds; give more")
        return answer

    def _opened(self, policies: PolicyClass, contexts: Floats, rules: Sequence[LabelConstraint]) -> Ask:
        """Return the oracle's ``minimise``; of kind "auto" a solver's where the search would hold too much."""
        opened = open_class(policies, contexts)
        oracle = partial(open_oracle, opened, contexts, constraints=list(rules), **self._options())
        asked: Oracle | None = None

        def ask(costs: Floats) -> Answer:
            nonlocal asked
            try:
                asked = asked or oracle(kind=self._kind(opened, constrained=bool(rules)))
                return asked.minimise(costs)
            except SearchTooLargeError:
                if self._kind_named:
                    raise
                asked = oracle(kind="milp")
                return asked.minimise(costs)

        return ask

    def _options(self) -> dict[str, Any]:
        limits = {"time_limit": check_time_limit(self.time_limit), "gap": check_gap(self.gap) or None}
        return {name: value for name, value in {"solver": self.solver, **limits}.items() if value is not None}

    @property
    def _kind_named(self) -> bool:
        return not isinstance(self.kind, str) or self.kind != "auto"  # an array is no kind, and refused by the oracle

    @property
    def _question_kind(self) -> str:
        """The kind of a Question, which leaves to a solver what the search cannot hold."""
        return self.kind if self._kind_named else "milp" if self._options().keys() - {"time_limit"} else "search"

    def _kind(self, opened: Opened, *, constrained: bool) -> str:
        if self._kind_named:
            return self.kind
        given = self._options().keys()  # under constraints a search has no time limit
        needed = {"search", "constraints"} if constrained else {"search", *given}
        return "milp" if (constrained and given) or not needed <= opened.capabilities else "search"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _on_tables(policy: Any, schema: Schema, columns: Sequence[Column], actions: Any) -> Any:
    """Return the policy as one that reads tables of a schema; raises InputError where it can read numbers only."""
    numbered = actions.dtype.kind in "iu" and np.array_equal(actions, np.arange(len(actions)))
    names = () if numbered else tuple(map(action_name, actions.tolist()))
    if hasattr(policy, "with_columns"):
        return policy.with_columns(schema, columns, names)
    if list(columns) != [Number(name) for name in schema.names]:
        raise InputError(f"a {type(policy).__name__} reads all columns, and numbers only: leave features out")
    return policy


def _on_first(table: Floats, counts: Ints) -> Floats:
    """Return each row of a table (g, k) ``counts`` (g,) times: the first time as it is, then as 0."""
    spread = np.zeros((int(counts.sum()), table.shape[1]))
    spread[np.cumsum(counts) - counts] = table
    return spread


def _plain(value: Any) -> Any:
    """Return a constraint, or a number of numpy, as plain data."""
    if isinstance(value, NamedConstraint):
        return as_document(value)
    if not isinstance(value, np.generic):
        raise TypeError
    return value.item()


def joined(cls: type) -> str | None:
    """Return the class's own docstring with the sections of its bases; as it is where it has sections of its own."""
    own, *others = (cleandoc(base.__dict__.get("__doc__") or "") for base in cls.__mro__)
    if not own or any(re.search(SECTION.format(title), own) for title in SECTIONS):
        return cls.__doc__
    for title in SECTIONS:
        texts = [found[1] for text in others if (found := re.search(SECTION.format(title), text))]
        own += "\n".join([f"\n\n{title}", "-" * len(title), *texts])
    return f"{own}\n"


@contextmanager
def called(names: Mapping[str, str]) -> Iterator[None]:
    """Make errors name the parameters of an estimator, not those of its policy class, which ``names`` maps to them."""
    try:
        yield
    except MilpcbError as error:
        text = str(error)
        for other, own in names.items():
            text = re.sub(rf"\b{other}\b" + ("" if "_" in other else "(?= must| =)"), own, text)  # depth is a word, too
        error.args = (text,)
        raise
