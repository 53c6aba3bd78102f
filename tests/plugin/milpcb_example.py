"""A plug-in: constant rules, and a solver that opens another one anew for every query.

Policy class
    K policies: policy a plays action a on every context.
Variables
    x[a] in {0, 1}: action a is played.
Constraints
    sum_a x[a] = 1, a simplex: every vertex is 0/1.
Cost map
    x[a] costs sum_j costs[j, a]; one map serves with and without side constraints.
Size
    K columns and 1 row; no big-M.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.core.checks import context_array, whole
from milpcb.errors import InputError
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Encoding, Objective, Opened, PolicyClass, Search, Session, Solver, SolverInfo
from milpcb.solvers import load_solver
from milpcb.types import Floats, Ints, Solution


@dataclass(frozen=True)
class Constant:
    """The rule that always plays ``action``."""

    action: int

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,)."""
        return np.full(len(context_array(contexts)), self.action)

    def __str__(self) -> str:
        return f"play action {self.action}"


@dataclass(frozen=True)
class ConstantRules(PolicyClass):
    """The K constant rules; K >= 2."""

    n_actions: int

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)

    def on(self, contexts: Any) -> OpenedConstants:
        """Return the K rules on ``contexts`` (m, d), which they do not look at."""
        return OpenedConstants(context_array(contexts), self.n_actions)


class OpenedConstants(Opened):
    """The K rules; no rule tells any two contexts apart, so all are one. ``log_size`` is log K, exactly."""

    capabilities = Opened.capabilities | {"search", "action_weights"}

    def __init__(self, contexts: Floats, n_actions: int) -> None:
        self.n_actions, self.log_size = n_actions, float(np.log(n_actions))
        self.group, self.contexts = np.zeros(len(contexts), dtype=np.int64), contexts[:1]

    def program(self, *, constrained: bool = False) -> ConstantEncoding:
        """Return the simplex; the one cost map is linear and exact."""
        del constrained
        return ConstantEncoding(self.n_actions)

    def search(self) -> ConstantSearch:
        """Return the search, which adds up K columns."""
        return ConstantSearch()

    def policies(self) -> Iterator[Constant]:
        """List the K rules."""
        return map(Constant, range(self.n_actions))

    def draw(self, rng: np.random.Generator) -> Constant:
        """Return one of the rules, each with probability 1 / K."""
        return Constant(int(rng.integers(self.n_actions)))


class ConstantEncoding(Encoding):
    """The simplex over the actions."""

    def __init__(self, n_actions: int) -> None:
        b = ProgramBuilder()
        x = b.columns("x", (n_actions,), upper=1.0, integer=True)
        b.rows((x[None, :], 1.0), lower=1.0, upper=1.0)
        self.program = b.build(integral=True)

    def objective(self, costs: Floats) -> Objective:
        """Return the total cost of each action."""
        return Objective(costs.sum(axis=0))

    def decode(self, x: Floats, costs: Floats) -> Constant:
        """Return the rule whose column is 1."""
        del costs
        return Constant(int(x.argmax()))


class ConstantSearch(Search):
    """All K totals at once."""

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return float(costs.sum(axis=0).min())

    def minimise(self, costs: Floats) -> tuple[float, Constant]:
        """Return the least total cost and its rule."""
        return self.value(costs), Constant(int(costs.sum(axis=0).argmin()))

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return the total cost of each action, which is what the rule that plays it costs."""
        del row
        return np.asarray(costs.sum(axis=0))

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return -rate times the total cost of each action."""
        return -rate * self.profile(costs, row)


class Fresh:
    """``fresh:<solver>``: another solver, opened anew for every query, to see what its hot start is worth."""

    def __init__(self, argument: str = "") -> None:
        if not argument:
            raise InputError("solver 'fresh' wraps another one: write solver = \"fresh:highs\"")
        self._inner: Solver = load_solver(argument)

    def open(self, program: Program, *, relax: bool = False) -> FreshSession:
        """Keep the program."""
        return FreshSession(self._inner, program, relax=relax)

    @classmethod
    def describe(cls) -> list[SolverInfo]:
        """Say that it runs wherever HiGHS runs."""
        return [SolverInfo("fresh:highs", "0.1.0", "LP, MIP, rebuilt")]


class FreshSession:
    """A program and the solver to open on it."""

    def __init__(self, solver: Solver, program: Program, *, relax: bool) -> None:
        self._solver, self._program, self._relax = solver, program, relax

    def solve(self, objective: Floats, *, gap: float = 0.0, time_limit: float | None = None) -> Solution:
        """Open, solve, close."""
        session: Session = self._solver.open(self._program, relax=self._relax)
        solution = session.solve(objective, gap=gap, time_limit=time_limit)
        session.close()
        return solution

    def add_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> None:
        """Add rows (r, n_columns) to the program that is kept."""
        self._program = self._program.with_rows(matrix, lower, upper)

    def close(self) -> None:
        """Nothing is kept."""
