"""Running totals that oracles keep: by context and action, by leaf total, or under the columns of a program."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.protocols import Encoding, SeveralTables, Table, Terms, ValueOracle
from milpcb.types import Answer, Floats, Ints, Stop


class CostTable(Table):
    """The matrix (m, K) of total costs, handed to the oracle with every query.

    Noise is (d, K), flattened: a number for each action on each of the ``d`` rows ``noisy``, of which no two are alike
    to all policies. A cost moves a policy's total as one at the row of ``noisy`` that is like it, so ``n_moved`` is 1.
    """

    n_moved = 1.0

    def __init__(self, oracle: ValueOracle, noisy: Ints) -> None:
        self._oracle, self._noisy = oracle, noisy
        self.totals = np.zeros((oracle.n_contexts, oracle.n_actions))
        self.n_noisy = len(noisy) * oracle.n_actions

    def cell(self, row: int, action: int) -> tuple[int, int]:
        self._grow()
        return row, action

    def profile(self, row: int, noise: Floats | None = None) -> Floats:
        return self._oracle.profile(self._perturbed(noise), row)

    def minimise(self, noise: Floats | None = None) -> Answer:
        return self._oracle.minimise(self._perturbed(noise))

    def action_weights(self, row: int, rate: float) -> Floats:
        return self._oracle.action_weights(self._perturbed(None), row, rate)

    def restore(self, state: Any) -> None:
        """Go on from a saved matrix, which may have fewer contexts."""
        self._grow()
        self.totals[: len(state)] = state

    def _grow(self) -> None:
        """Make room for the contexts that the oracle has taken in meanwhile."""
        new = self._oracle.n_contexts - len(self.totals)
        if new:
            self.totals = np.pad(self.totals, ((0, new), (0, 0)))

    def _perturbed(self, noise: Floats | None) -> Floats:
        self._grow()
        if noise is None:
            return self.totals
        by_context = noise.reshape(len(self._noisy), -1)
        if len(self._noisy) == len(self.totals):
            return np.asarray(self.totals + by_context)
        costs = self.totals.copy()
        costs[self._noisy] += by_context
        return costs


class TermTable(Table):
    """The totals of the ``terms`` of a class; ``asked`` returns those whose recursion answers, under constraints."""

    def __init__(self, terms: Terms, oracle: Any, asked: Callable[[], Terms] | None = None) -> None:
        self._terms, self._context, self._count, self._asked = terms, oracle.context, oracle.count, asked
        self.totals = np.zeros(terms.n_terms)
        self.n_noisy, self.n_moved = terms.n_terms, float(terms.n_touched)
        self._place = terms.held_places(oracle.context)

    def cell(self, row: int, action: int) -> Ints:
        return self._place(row)[:, action]

    def add_all(self, rows: Sequence[int], actions: Sequence[int], amounts: Sequence[float]) -> None:
        """Add to many cells, one after the other, without keeping their places."""
        contexts = np.array([self._context(row) for row in rows])
        self._terms.add(self.totals, contexts, np.array(actions), np.array(amounts))

    def _recursion(self) -> Terms:
        return self._terms if self._asked is None else self._asked()

    def profile(self, row: int, noise: Floats | None = None) -> Floats:
        start = perf_counter()
        profile = self._recursion().profile(self._noisy(noise), self._place(row))
        self._count(start)
        return profile

    def minimise(self, noise: Floats | None = None) -> Answer:
        start = perf_counter()
        value, policy = self._recursion().minimise(self._noisy(noise))
        return Answer(value, value, policy, Stop.OPTIMAL, self._count(start))

    def action_weights(self, row: int, rate: float) -> Floats:
        start = perf_counter()
        weights = normalised(self._recursion().log_weights(self.totals, self._place(row), rate))
        self._count(start)
        return weights

    def several(self) -> SeveralTables:
        """Return tables that share one recursion; None where the terms have none, or constraints may follow."""
        own = self._terms.several(self._place, self._count) if self._asked is None else None
        return super().several() if own is None else own

    def _noisy(self, noise: Floats | None) -> Floats:
        return self.totals if noise is None else self.totals + noise


class ProgramTable(Table):
    """The costs (g, K) of the distinct contexts, under noise on each column of the program that costs can reach.

    The columns of trees are their leaves (path, action), so the same noise means the same here and in a TermTable; in
    other classes a column is something else than a leaf total. A profile is K solves, a minimum one.

    Parameters
    ----------
    oracle : of the contexts, which counts the queries
    by : an oracle of kind "milp" that answers them, in whose ``encoding`` the cost map is linear

    """

    def __init__(self, oracle: Any, by: Any) -> None:
        self._ask, self._group, encoding = partial(oracle.ask, by=by), oracle.group, by.encoding
        self._encoding: Encoding = encoding
        self.totals = np.zeros((int(self._group.max()) + 1, oracle.n_actions))
        self._offset = encoding.objective(self.totals).coefficients  # of columns where nothing costs anything
        self._columns = self._reached() if encoding.noisy_columns is None else encoding.noisy_columns
        if not encoding.program.integer[self._columns].all():
            raise InputError(
                f"costs reach columns of {type(encoding).__name__} that are not integers: put noise on contexts"
            )
        self.n_noisy = len(self._columns)

    @cached_property
    def n_moved(self) -> float:  # type: ignore[override]
        """The largest 1-norm, over contexts and actions, of the change in the columns by a cost of 1."""
        return max(float(np.abs(self._added(cell)).sum()) for cell in np.ndindex(self.totals.shape))

    def cell(self, row: int, action: int) -> tuple[int, int]:
        return int(self._group[row]), action

    def profile(self, row: int, noise: Floats | None = None) -> Floats:
        return np.asarray(self._ask("profile", self.totals, int(self._group[row]), self._on_columns(noise)))

    def minimise(self, noise: Floats | None = None) -> Answer:
        start = perf_counter()
        lower, upper, policy, stop = self._ask("answer", self.totals, self._on_columns(noise))
        return Answer(lower, upper, policy, stop, perf_counter() - start)

    def action_weights(self, row: int, rate: float) -> Floats:
        """Raise InputError: a solver only minimises."""
        del row, rate
        raise InputError("a program has no action weights: open the oracle with kind 'search' or 'enumeration'")

    def _on_columns(self, noise: Floats | None) -> Floats:
        full = np.zeros(self._encoding.program.n_columns)
        if noise is not None:
            full[self._columns] = noise
        return full

    def _added(self, cell: tuple[int, ...]) -> Floats:
        costs = np.zeros(self.totals.shape)
        costs[cell] = 1.0
        return np.asarray((self._encoding.objective(costs).coefficients - self._offset)[self._columns])

    def _reached(self) -> Ints:
        """Return the columns on which integer costs, drawn at random, do not cancel."""
        drawn = np.random.default_rng(0).integers(1, 2**20, self.totals.shape).astype(float)
        return np.flatnonzero(self._encoding.objective(drawn).coefficients != self._offset)


def normalised(logs: Floats) -> Floats:
    """Return the probabilities (K,) whose logarithms are these up to a constant."""
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
