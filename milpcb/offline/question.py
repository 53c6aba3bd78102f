"""A question about a policy class on given rows, under side constraints: the best policy by some costs."""

from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from milpcb.constraints import Constraint, LabelConstraint, bind_for
from milpcb.constraints.by_names import EVERY_KIND, listed
from milpcb.core.checks import context_array, index, instance
from milpcb.data.actions import own_names
from milpcb.errors import InfeasibleError, InputError, OracleInexact, shown
from milpcb.offline.scores import Scores, check_scores
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.oracles.near_best import without_columns
from milpcb.protocols import FoundPolicy, Opened, PolicyClass, open_class
from milpcb.types import Floats, Ints


class Best(NamedTuple):
    """The least total cost of some policies, and a policy that attains it."""

    value: float
    policy: FoundPolicy


@dataclass(frozen=True, eq=False)
class Question:
    """The ``policies`` of a class that keep the ``constraints`` on n rows, the ``contexts`` (n, d).

    The arguments are those of ``milpcb.open_oracle``; a search that cannot hold the constraints is left to a solver.
    """

    policies: Any
    contexts: Any
    constraints: tuple[LabelConstraint, ...] = ()
    kind: str = "search"

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(bind_for(self.constraints, self.policies, self.contexts)))

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle, opened when it is first asked."""
        opened = self.policies
        if not isinstance(opened, Opened):
            instance("policies", opened, PolicyClass, "a policy class, as in DecisionTrees(n_actions=2)")
            opened = open_class(opened, self.contexts)
        needed = {"search", "constraints"} if self.constraints else {"search"}
        left = isinstance(self.kind, str) and self.kind == "search" and not needed <= opened.capabilities
        return open_oracle(opened, self.rows, kind="milp" if left else self.kind, constraints=list(self.constraints))

    def close(self) -> None:
        """Free the oracle and the numbers, gigabytes for a million rows, until they are needed again."""
        self.__dict__.pop("oracle", None)
        self.__dict__.pop("rows", None)

    @cached_property
    def rows(self) -> Floats:
        """The contexts (n, d) as numbers."""
        read = isinstance(self.policies, Opened)
        return context_array(self.contexts if read else np.asarray(self.policies.read(self.contexts)))

    def best(self, costs: Floats) -> Best:
        """Return the proved least total cost and a policy; raises InfeasibleError, OracleInexact."""
        answer = self.oracle.minimise(costs)
        if answer.policy is None:
            raise OracleInexact("the oracle found no policy in time; give it more time")
        return Best(answer.value, answer.policy)

    def held_out(self, costs: Floats, fold: Ints) -> Ints:
        """Return the actions (n,) in each row of the best policy of the other folds; ``costs`` are (n, K)."""
        played = np.empty(len(fold), dtype=np.int64)
        for each in np.unique(fold):
            own = fold == each
            found = self.best(np.where(own[:, None], 0.0, costs)).policy  # so one oracle answers for all folds
            played[own] = found.predict(self.oracle.contexts[own])
        return played

    def without(self, *columns: int) -> Self:
        """Return the question about policies that do not read these columns; the cut points of the others stay."""
        for column in columns:
            index("a column", column, self.rows.shape[1])
        policies, contexts = without_columns(self.policies, self.rows, columns)
        same = contexts is self.rows  # a million rows are not read again
        return replace(self, policies=policies, contexts=self.contexts if same else contexts)

    def first(self, *columns: int) -> "Question":
        """Return the question about trees whose first test is of one of these columns; InputError under limits."""
        return _Rooted(self.policies, self.contexts, self.constraints, self.kind, columns)

    def with_options(self, **options: Any) -> Self:
        """Return the question about the class with other options, such as ``depth`` or ``max_leaves``."""
        known = is_dataclass(self.policies)
        if missing := [name for name in options if not (known and hasattr(self.policies, name))]:
            raise InputError(f"{type(self.policies).__name__} has no option '{missing[0]}'")
        return replace(self, policies=replace(self.policies, **options))

    def under(self, constraints: Constraint | Sequence[Constraint]) -> Self:
        """Return the question about policies that keep further side constraints."""
        further: Any = listed(constraints, EVERY_KIND)  # they are bound to the rows
        return replace(self, constraints=(*self.constraints, *further))


LIMITS = ("min_leaf_size", "min_action_rows", "max_leaves", "max_features")


@dataclass(frozen=True, eq=False)
class _Rooted(Question):
    """Trees that test one of some ``columns`` first; the oracle is that of the trees at either side of a cut."""

    columns: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        limits = [getattr(self.policies, limit, 0) for limit in LIMITS]  # 0 where no class of trees has them
        if self.constraints or limits != [None] * len(LIMITS):
            raise InputError(
                f"another first question is for trees without side constraints, {', '.join(LIMITS)}, by which the two "
                "sides of it depend on each other: leave them out"
            )
        for column in self.columns:
            index("a column", column, self.rows.shape[1])

    @cached_property
    def oracle(self) -> Oracle:
        trees: Any = self.policies
        return Question(replace(trees, depth=trees.depth - 1), self.contexts, kind=self.kind).oracle

    def best(self, costs: Floats) -> Best:
        from milpcb.policies.trees import Split

        opened: Any = self.oracle.opened
        cuts, found = opened.fixed().thresholds, list[Best]()
        for column, cut in ((place, cut) for place in self.columns for cut in cuts[place]):
            values = self.rows[:, [column]]
            if 0 < (holds := values <= cut).sum() < len(values):
                sides: Any = [Question.best(self, np.where(side, costs, 0.0)) for side in (holds, ~holds)]
                yes, no = (side.policy.root for side in sides)
                root = Split(column, cut, yes, no, bool(np.isin(values, (0, 1)).all()))
                found.append(Best(sum(side.value for side in sides), replace(sides[0].policy, root=root)))
        if not found:
            raise InfeasibleError("these columns have no cut that divides the rows")
        return min(found, key=lambda best: best.value)


def check_question(question: Any) -> None:
    """Raise InputError on anything but a question."""
    instance("question", question, Question, "a Question of a policy class and contexts")


def scores_on(question: Question, scores: Scores) -> Scores:
    """Return the scores of the rows of a question, by name where the class has names; raises InputError on others."""
    check_scores(scores)
    n = question.oracle.n_contexts
    if n != len(scores.table):
        raise InputError(f"there are {n} contexts for {len(scores.table)} scores; give one context for each score")
    return scores.by(own_names(question.policies))


def asked_about(
    policies: PolicyClass | Opened,
    contexts: Any,
    scores: Scores,
    constraints: Sequence[Constraint],
    kind: str,
    policy: Any,
) -> tuple[Question, Scores]:
    """Return the question about policies that play actions only where a log has rows of them, and its scores."""
    if policy is not None and not hasattr(policy, "predict"):
        raise InputError(f"policy must be a policy, with predict(contexts), or None; got {shown(policy)}")
    check_scores(scores)
    support = scores.by(own_names(policies)).support
    question = Question(policies, contexts, (*bind_for(constraints, policies, contexts), *support), kind)
    return question, scores_on(question, scores)
