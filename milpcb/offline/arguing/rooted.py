"""Trees whose first question is about some columns, as a program: for where the two sides depend on each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from milpcb.errors import InfeasibleError, InputError
from milpcb.offline.arguing.question import Question
from milpcb.offline.cross_fitting import Best, best_of
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.protocols import Opened, Policy, open_class
from milpcb.types import Bools, Floats

MOST_COLUMNS = 60_000  # of a program that is solved while somebody waits
PROGRAM_ALONE = "trees with a fixed first question are neither listed nor drawn: use oracle kind 'milp'"


@dataclass(frozen=True, eq=False)
class BySolver:
    """Trees with such a first question, under side constraints and limits on leaves and features."""

    question: Question
    columns: tuple[int, ...]

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle; raises InputError where the program is too large."""
        question, cuts = self.question, self.question.policies
        splits = [
            question.rows[:, column] <= cut
            for column in self.columns
            for cut in cuts.thresholds[column]  # type: ignore[attr-defined]  # a tree
        ]
        opened = _Rooted(open_class(cuts, question.rows), splits)
        return open_oracle(opened, question.rows, constraints=list(question.constraints))

    def best(self, costs: Floats) -> Best:
        """Return the least total cost and a tree."""
        return best_of(self.oracle, costs)


class _Rooted(Opened):
    """The ``opened`` trees whose first test divides the rows as one of ``splits`` (each (m,)) does."""

    capabilities = frozenset({"program"})

    def __init__(self, opened: Opened, splits: Sequence[Bools]) -> None:
        opened.require("program")
        self._opened = opened
        self.n_actions, self.group, self.contexts = opened.n_actions, opened.group, opened.contexts
        self.log_size, self.class_name = opened.log_size, opened.class_name
        _, first = np.unique(self.group, return_index=True)
        self._splits = [split[first] for split in splits]

    def program(self, *, constrained: bool = False) -> Any:
        """Return the encoding of the trees, with other first tests out of reach."""
        encoding: Any = self._opened.program(constrained=constrained)
        if encoding.program.n_columns > MOST_COLUMNS:
            raise InputError(
                f"under side constraints, max_leaves or max_features another first question is a program of "
                f"{encoding.program.n_columns:,} columns, and {MOST_COLUMNS:,} are the most: take fewer thresholds"
            )
        if not encoding.ask_first(self._splits):
            raise InfeasibleError("the column has no cut that divides the rows")
        return encoding

    def policies(self) -> Iterator[Policy]:
        """Raise InputError: it is a program alone."""
        raise InputError(PROGRAM_ALONE)

    def draw(self, rng: np.random.Generator) -> Policy:
        """Raise InputError: it is a program alone."""
        del rng
        raise InputError(PROGRAM_ALONE)
