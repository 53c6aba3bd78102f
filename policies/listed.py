"""Classes given by their list alone: say what the policies are, and the program, the search and the rest follow.

Policy class
    The policies that a subclass lists, at most a few hundred thousand. Policies that label the contexts alike are one.
Variables, Constraints, Cost map, Size
    Those of policies.finite: one 0/1 column a labeling, a simplex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.checks import whole
from milpcb.errors import InputError
from milpcb.protocols import Policy, PolicyClass
from milpcb.types import Floats, Ints
from policies.finite import FiniteEncoding, FiniteSearch


class ListedRules(PolicyClass):
    """Subclass it with a method ``policies(contexts)`` that yields every policy: the shortest way to a class of one's own.

    Constructor arguments of the subclass are the keys of ``[policies]`` in a config; one of them is ``n_actions``, K >= 2.
    """

    def __init__(self, n_actions: int) -> None:
        self.n_actions = whole("n_actions", n_actions, 2)

    def formulate(self, contexts: Floats, *, constrained: bool = False) -> ListedEncoding:
        """Return the one-hot encoding; an LP suffices unless side constraints are added."""
        del constrained  # the one cost map is linear and exact
        return ListedEncoding(*self._list(contexts), self.n_actions, contexts)

    def search(self, contexts: Floats) -> ListedSearch:
        """Return the walk through the list."""
        return ListedSearch(*self._list(contexts), self.n_actions, contexts)

    def draw(self, contexts: Floats, rng: np.random.Generator) -> Policy:
        """Return one of the policies, distinct labelings with equal probability."""
        policies, _ = self._list(contexts)
        return policies[int(rng.integers(len(policies)))]

    def log_size(self, contexts: Floats) -> float:
        """Return the log of the number of distinct labelings, exactly."""
        return float(np.log(len(self._list(contexts)[0])))

    def _list(self, contexts: Floats) -> tuple[list[Policy], Ints]:
        """Return the first policy of each labeling, and the labelings (N, m)."""
        distinct: dict[bytes, tuple[Policy, Ints]] = {}
        for policy in self.policies(contexts):  # type: ignore[attr-defined]
            labels = np.asarray(policy.predict(contexts), dtype=np.int64)
            if labels.shape != (len(contexts),) or labels.min() < 0 or labels.max() >= self.n_actions:
                raise InputError(
                    f"'{policy}' of {type(self).__name__} must predict one action in 0..{self.n_actions - 1} for each of the "
                    f"{len(contexts)} contexts, got {labels}"
                )
            distinct.setdefault(labels.tobytes(), (policy, labels))
        if not distinct:
            raise InputError(f"{type(self).__name__} lists no policy on these contexts; yield at least one")
        return [policy for policy, _ in distinct.values()], np.array([labels for _, labels in distinct.values()])


class ListedEncoding(FiniteEncoding):
    """The simplex over the labelings; a vertex stands for the policy itself."""

    def __init__(self, policies: list[Policy], table: Ints, n_actions: int, contexts: Floats) -> None:
        super().__init__(table, n_actions, contexts)
        self._policies = policies

    def decode(self, x: Floats, costs: Floats) -> Any:
        """Return the policy whose column is 1."""
        del costs  # x names the policy
        return self._policies[int(x.argmax())]


class ListedSearch(FiniteSearch):
    """The list, answered with the policies themselves."""

    def __init__(self, policies: list[Policy], table: Ints, n_actions: int, contexts: Floats) -> None:
        super().__init__(table, n_actions, contexts)
        self._policies = policies

    def minimise(self, costs: Floats) -> tuple[float, Any]:
        """Return the first policy of least total."""
        totals = self._totals(costs)
        index = int(totals.argmin())
        return float(totals[index]), self._policies[index]
