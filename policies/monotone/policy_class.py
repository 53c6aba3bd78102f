"""The class of monotone rules: its settings, and what it is on given contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, log
from typing import Any

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.protocols import Listing, Opened, Search, Within
from milpcb.types import Floats
from policies.cuts import Thresholds, check_thresholds
from policies.monotone.geometry import Order, axes_of
from policies.monotone.program import MonotoneEncoding
from policies.monotone.rule import MonotoneRule
from policies.monotone.terms import MonotoneTerms
from policies.named import NamedClass
from policies.names import Names


@dataclass(frozen=True)
class MonotoneRules(NamedClass):
    """Rules whose action never goes down when a feature goes up (or, as its direction is, down).

    Parameters
    ----------
    n_actions : K >= 2, ordered
    directions : +1 or -1 for each feature; None is +1 for all
    thresholds : None orders contexts by the values themselves; a number of quantile cuts per feature, "all", or one
        list of cut points per feature, by the number of cuts below the value
    feature_names, action_names : used in printed rules

    """

    n_actions: int
    directions: Sequence[int] | None = None
    thresholds: Thresholds | None = None
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        if self.directions is not None:
            object.__setattr__(self, "directions", _check_directions(self.directions))
        if self.thresholds is not None:
            object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    def _on(self, contexts: Floats, names: Names) -> OpenedMonotone:
        axes = axes_of(contexts, self.directions, self.thresholds)
        return OpenedMonotone(Order(contexts, axes, names), self.n_actions)


class OpenedMonotone(Opened):
    """Monotone rules on fixed contexts.

    ``log_size`` is the log of an upper bound on the number of labelings: the contexts fall into chains, as few as
    possible (Dilworth), and a chain of n has C(n + K - 1, K - 1) monotone labelings; the bound is their product, exact
    when contexts of different chains are never comparable.
    """

    capabilities = Opened.capabilities | {"search"}
    unsupported = {  # noqa: RUF012 - read only, as in every class
        "action_weights": "monotone rules have no action weights: their number does not factorise (to count them is "
        "#P-hard: Provan and Ball 1983); use oracle kind 'enumeration' on few contexts, "
        "or a learner that asks for values",
        "constraints": "under side constraints the best monotone rule is no minimum cut any more (a budget makes it "
        "the partially ordered knapsack, NP-hard: Johnson and Niemi 1983); use oracle kind 'milp'",
    }

    def __init__(self, order: Order, n_actions: int) -> None:
        self.n_actions = n_actions
        self.group, self.contexts = order.group, order.contexts
        self._order = order

    @cached_property
    def log_size(self) -> float:  # type: ignore[override]  # computed when first asked for
        """The log of the product over chains."""
        return sum(log(comb(n + self.n_actions - 1, n)) for n in self._order.chains())

    def program(self, *, constrained: bool = False) -> MonotoneEncoding:
        """Return the closure encoding; an LP suffices unless side constraints are added."""
        del constrained  # the one cost map is linear and exact
        return MonotoneEncoding(self._order, self.n_actions)

    def describe_search(self) -> str:
        """Name what ``search`` goes through."""
        return "a minimum cut of the graph of contexts that must not play less than another"

    def search(self) -> Search:
        """Return the exact search: a minimum cut."""
        from policies.monotone.search import MonotoneSearch  # with it numba, which takes a second to import

        return MonotoneSearch(self._order, self.n_actions)

    def near(self, asked: Within) -> Listing | None:
        """Return the rules asked for, where the diagram of all labelings has few states."""
        return None if self._diagram is None else self._diagram.near(self.contexts, asked)

    @cached_property
    def _diagram(self) -> MonotoneTerms | None:
        return MonotoneTerms.of(self._order, self.n_actions)

    def policies(self) -> Iterator[MonotoneRule]:
        """List the rules of all monotone labelings of the contexts, each once."""
        return map(self._order.rule, self._order.labelings(self.n_actions))

    def draw(self, rng: np.random.Generator) -> MonotoneRule:
        """Return a random rule: some contexts, log-uniform in number, ask for a uniform action from themselves upwards.

        The largest action that is asked for is played, or action 0 where none is.
        """
        order = self._order
        g = len(order.contexts)
        labels = np.zeros(g, dtype=np.int64)
        for j in rng.permutation(g)[: int(np.exp(rng.uniform(0.0, np.log(g + 1.0))))]:
            reached = order.below[j].copy()
            reached[j] = True
            labels[reached] = np.maximum(labels[reached], rng.integers(self.n_actions))
        return order.rule(labels)


def _check_directions(directions: Any) -> tuple[int, ...]:
    message = f"directions must be None or a list of +1 and -1, one for each feature, got {directions!r}"
    try:
        signs = tuple(directions)
    except TypeError as error:
        raise InputError(message) from error
    if not all(sign in (1, -1) for sign in signs):
        raise InputError(message)
    return tuple(int(sign) for sign in signs)
