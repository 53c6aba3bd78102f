"""The class of monotone rules: its settings, and the class on given contexts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, log
from typing import Any

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Listing, Objective, Opened, Search, Within
from milpcb.types import Floats
from policies.cuts import NamedClass, Thresholds, check_thresholds
from policies.monotone.rule import MonotoneRule, Order, axes_of
from policies.names import Names
from policies.paths.graph import Graph

MOST_CELLS = 5 * 10**6  # least actions that are held to make a graph


def diagram_of(order: Order, n_actions: int) -> Graph | None:
    """Return the labelings as paths, each context (a leaf) after those below it; None where the graph is too large.

    Prefixes that leave the same least actions to the contexts to come are one node.
    """
    ranked = np.lexsort(order.points.T[::-1])  # whoever is below comes first
    below = order.below[ranked][:, ranked]
    kind = np.min_scalar_type(-n_actions)  # one byte, unless there are more than 128 actions
    floors = np.zeros((1, len(ranked)), kind)  # of each node the least actions of the contexts to come
    edges, node, held = [], 0, 0
    for p, context in enumerate(ranked.tolist()):
        state, action = np.nonzero(floors[:, :1] <= np.arange(n_actions))
        after = np.maximum(floors[state, 1:], np.where(below[p, p + 1 :], action[:, None], 0).astype(kind))
        held += after.size
        if held > MOST_CELLS:
            return None
        size = len(floors)
        floors, onward = np.unique(after, axis=0, return_inverse=True)
        edges.append((node + state, node + size + onward.ravel(), context * n_actions + action))
        node += size
    source, to, term = (np.concatenate(part) for part in zip(*edges, strict=True))
    return Graph(source, to, term, len(ranked), n_actions)


class MonotoneEncoding(Encoding):
    """Monotone rules: more of a feature never lowers the action; minimum closure of a partial order (min cut).

    Policy class
        K ordered actions. x lies below x' when every feature of x, signed by its direction, is at most that of x'; then
        action(x) <= action(x'). With K = 2 action 1 is played on an up-set. On g distinct contexts every monotone
        labeling is in the class; elsewhere a rule plays the largest action of a listed context below (its least
        monotone extension), or the least action of all listed contexts where none is below.
    Variables
        y[j, k] in {0, 1}, k = 1..K-1: the action of context j is at least k (in a file y_j_0 is k = 1).
    Constraints
        (1)  y[i, k] <= y[j, k]        for each pair i, j such that j covers i: i below j and no context between them
        (2)  y[j, k + 1] <= y[j, k]    k = 1..K-2
        The matrix is the transpose of a directed incidence matrix, totally unimodular: every vertex is 0/1. Rows of
        pairs that are not covers follow from (1).
    Cost map
        y[j, k] costs costs[j, k] - costs[j, k - 1], and sum_j costs[j, 0] is added: linear, with side constraints too.
    """

    def __init__(self, order: Order, n_actions: int) -> None:
        self._order = order
        b = ProgramBuilder()
        y = b.columns("y", (len(order.contexts), n_actions - 1), upper=1.0, integer=True)
        lower, upper = order.covers
        for smaller, larger in ((y[lower], y[upper]), (y[:, 1:], y[:, :-1])):  # (1), (2)
            if smaller.size:
                b.rows((smaller.reshape(-1, 1), 1.0), (larger.reshape(-1, 1), -1.0), upper=0.0)
        self.program = b.build(integral=True)

    def objective(self, costs: Floats) -> Objective:
        return Objective(np.diff(costs, axis=1).ravel(), float(costs[:, 0].sum()))

    def decode(self, x: Floats, costs: Floats) -> MonotoneRule:
        del costs  # x holds the labels
        return self._order.rule((x.reshape(len(self._order.contexts), -1) > 0.5).sum(axis=1))


@dataclass(frozen=True)
class MonotoneRules(NamedClass):
    """Rules whose action never goes down when a feature goes up (or, as its direction is, down).

    Parameters
    ----------
    n_actions : K >= 2, ordered
    directions : +1 or -1 for each feature; None is +1 for all
    thresholds : None orders contexts by the values themselves; others, as of trees, by the number of cuts below
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

    ``log_size`` bounds the labelings: contexts fall into chains, as few as possible (Dilworth), and a chain of n has
    C(n + K - 1, K - 1) monotone ones.
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
        del constrained  # the one cost map is linear and exact
        return MonotoneEncoding(self._order, self.n_actions)

    def describe_search(self) -> str:
        return "a minimum cut in the graph of the order of contexts"

    def search(self) -> Search:
        from policies.monotone.search import MonotoneSearch  # with it numba, which takes a second to import

        return MonotoneSearch(self._order, self.n_actions)

    def near(self, asked: Within) -> Listing | None:
        if self._diagram is None:
            return None
        from policies.paths.walks import paths_within  # with it numba, which takes a second to import

        totals, terms, complete = paths_within(self._diagram, np.ravel, asked)
        return Listing(totals, lambda i: self._order.rule(np.sort(terms[i]) % self.n_actions), complete)

    @cached_property
    def _diagram(self) -> Graph | None:
        return diagram_of(self._order, self.n_actions)

    def policies(self) -> Iterator[MonotoneRule]:
        return map(self._order.rule, self._order.labelings(self.n_actions))

    def draw(self, rng: np.random.Generator) -> MonotoneRule:
        """Return a random rule: some contexts, log-uniform in number, ask for a uniform action from there upwards."""
        order = self._order
        g = len(order.contexts)
        labels = np.zeros(g, dtype=np.int64)
        for j in rng.permutation(g)[: int(np.exp(rng.uniform(0.0, np.log(g + 1.0))))]:
            reached = order.below[j].copy()
            reached[j] = True
            labels[reached] = np.maximum(labels[reached], rng.integers(self.n_actions))
        return order.rule(labels)


def _check_directions(directions: Any) -> tuple[int, ...]:
    signs = tuple(directions) if isinstance(directions, Iterable) else (directions,)
    if not isinstance(directions, Iterable) or not all(sign in (1, -1) for sign in signs):
        raise InputError(f"directions must be None or a list of +1 and -1, one for each feature, got {directions!r}")
    return tuple(int(sign) for sign in signs)
