"""Running totals over a program: noise lies on its columns, and is added to the solver's objective."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from milpcb.errors import InputError
from milpcb.protocols import Encoding, Policy, Table
from milpcb.types import Answer, Floats, Ints, Stop


class NoisyOracle(Protocol):
    """An oracle in an encoding whose cost map is linear; costs are (g, K), ``noise`` has a number for each column."""

    def minimise_noisy(self, costs: Floats, noise: Floats) -> tuple[float, float, Policy | None, Stop]:
        """Return bounds on the least total with noise, a policy, and why the solver stopped."""
        ...

    def profile_noisy(self, costs: Floats, row: int, noise: Floats) -> Floats:
        """Return V[a] (K,) with noise for the distinct context ``row``."""
        ...


class ProgramTable(Table):
    """The costs (g, K) of the distinct contexts; noise has a coordinate for each column that costs can reach.

    The columns of trees are their leaves (path, action), so the same noise means the same here and in a TermTable. In
    all other classes a column is something else than a term of the class's recursion: a piece of a threshold rule is
    the sum of its bins, the label of a context in monotone rules is no term at all. A profile is K solves, a minimum
    one.

    Parameters
    ----------
    oracle : is asked
    encoding : the oracle's, with a linear cost map
    group : (m,) the distinct context of each row
    count : counts a question, given its start, and returns its seconds

    """

    def __init__(
        self, oracle: NoisyOracle, encoding: Encoding, group: Ints, n_actions: int, count: Callable[[float], float]
    ) -> None:
        self._count = count
        self._oracle, self._encoding, self._group = oracle, encoding, group
        self._costs = np.zeros((int(group.max()) + 1, n_actions))
        self._offset = encoding.objective(self._costs).coefficients  # what columns cost where nothing costs anything
        self._columns = self._reached() if encoding.noisy_columns is None else encoding.noisy_columns
        if not encoding.program.integer[self._columns].all():
            raise InputError(
                f"costs reach columns of {type(encoding).__name__} that are not integers: put noise on contexts"
            )
        self.n_noisy = len(self._columns)

    @cached_property
    def n_moved(self) -> float:  # type: ignore[override]
        """The largest 1-norm, over contexts and actions, of what a cost of 1 adds to the columns.

        It is computed when first asked for.
        """
        cells = np.ndindex(self._costs.shape)
        return max(float(np.abs(self._moved(_unit(self._costs.shape, cell))).sum()) for cell in cells)

    def add(self, row: int, action: int, amount: float) -> None:
        """Add to the cost of an action at a context."""
        self._costs[self._group[row], action] += amount

    def profile(self, row: int, noise: Floats | None = None) -> Floats:
        """Return V[a] (K,), by K solves."""
        start = perf_counter()
        profile = self._oracle.profile_noisy(self._costs, int(self._group[row]), self._on_columns(noise))
        self._count(start)
        return profile

    def minimise(self, noise: Floats | None = None) -> Answer:
        """Return bounds and a policy, by one solve."""
        start = perf_counter()
        found = self._oracle.minimise_noisy(self._costs, self._on_columns(noise))
        return Answer(*found, self._count(start))

    def action_weights(self, row: int, rate: float) -> Floats:  # noqa: ARG002 - there are none
        """Raise InputError: a solver only minimises."""
        raise InputError("a program has no action weights: open the oracle with kind 'search' or 'enumeration'")

    def state(self) -> Any:
        """Return the costs."""
        return self._costs.tolist()

    def restore(self, state: Any) -> None:
        """Go on from saved costs."""
        self._costs[:] = state

    def _on_columns(self, noise: Floats | None) -> Floats:
        full = np.zeros(self._encoding.program.n_columns)
        if noise is not None:
            full[self._columns] = noise
        return full

    def _moved(self, costs: Floats) -> Floats:
        """Return what costs (g, K) add to the columns."""
        return np.asarray((self._encoding.objective(costs).coefficients - self._offset)[self._columns])

    def _reached(self) -> Ints:
        """Return the columns on which whole costs, drawn at random, do not cancel."""
        drawn = np.random.default_rng(0).integers(1, 2**20, self._costs.shape).astype(float)
        return np.flatnonzero(self._encoding.objective(drawn).coefficients != self._offset)


def _unit(shape: tuple[int, ...], cell: tuple[int, ...]) -> Floats:
    costs = np.zeros(shape)
    costs[cell] = 1.0
    return costs
