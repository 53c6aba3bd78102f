"""The partial order of contexts: all that a class of monotone rules needs to know of them."""

from collections.abc import Iterator, Sequence

import numpy as np

from milpcb.errors import InputError
from milpcb.types import Floats, Ints
from policies.cuts import Distinct, Thresholds, cut_points, is_binary
from policies.monotone.rule import Axis, MonotoneRule, places
from policies.names import Names


class Order:
    """The distinct contexts in their partial order; ``group`` (m,) and ``contexts`` (g, d) are those of Opened.

    ``points`` (g, d) is where each stands on the axes, ``below`` (g, g) is True at [i, j] where i lies strictly below
    j, and ``covers`` (2, c) holds the pairs i, j without a context between them (the transitive reduction).
    """

    def __init__(self, contexts: Floats, axes: tuple[Axis, ...], names: Names) -> None:
        points = places(contexts, axes)
        distinct = Distinct.rows(points)
        self.group = distinct.group
        self.contexts = contexts[distinct.first]
        self.points = points[distinct.first]
        self.below = ~np.eye(len(self.points), dtype=bool)
        for column in self.points.T:
            self.below &= column[:, None] <= column
        steps = self.below.astype(np.float32)
        self.covers = np.array(np.nonzero(self.below & (steps @ steps == 0)))
        self.axes, self._names = axes, names

    def rule(self, labels: Ints) -> MonotoneRule:
        """Return the rule of monotone ``labels`` (g,); a floor is a lowest context of an action or a larger one."""
        least = int(labels.min())
        levels = []
        for action in sorted(set(labels.tolist()) - {least}):
            reached = labels >= action
            floors = self.points[reached & ~self.below[reached].any(axis=0)]
            levels.append((action, tuple(map(tuple, floors.tolist()))))
        return MonotoneRule(least, tuple(levels), self.axes, self._names)

    def chains(self) -> list[int]:
        """Return the sizes of the fewest chains holding every context: a maximum matching of contexts to later ones."""
        import scipy.sparse as sp  # only for who counts chains, as it takes a tenth of a second to import

        after = sp.csgraph.maximum_bipartite_matching(sp.csr_array(self.below), perm_type="column")
        sizes = []
        for start in set(range(len(self.below))) - set(after.tolist()):
            sizes.append(1)
            while (start := after[start]) >= 0:
                sizes[-1] += 1
        return sizes

    def labelings(self, n_actions: int) -> Iterator[Ints]:
        """Yield all monotone labelings (g,), in lexicographic order of the contexts sorted by their points."""
        order = np.lexsort(self.points.T[::-1])  # whoever is below comes first
        lower = [np.flatnonzero(self.below[:, j]) for j in order]
        labels = np.zeros(len(self.points), dtype=np.int64)
        while True:
            yield labels.copy()
            rises = np.flatnonzero(labels[order] < n_actions - 1)
            if not len(rises):
                return
            labels[order[rises[-1]]] += 1
            for j, under in zip(order[rises[-1] + 1 :], lower[rises[-1] + 1 :], strict=True):
                labels[j] = labels[under].max(initial=0)


def axes_of(contexts: Floats, directions: Sequence[int] | None, thresholds: Thresholds | None) -> tuple[Axis, ...]:
    """Return the axis of each feature of ``contexts`` (m, d); raises InputError on another number of directions."""
    signs = (1,) * contexts.shape[1] if directions is None else tuple(directions)
    if len(signs) != contexts.shape[1]:
        raise InputError(
            f"directions list {len(signs)} features, but the contexts have {contexts.shape[1]}; give one each"
        )
    binary = [is_binary(column) for column in contexts.T]
    steps: list[tuple[float, ...] | None] = [(0.5,) if two else None for two in binary]
    if thresholds is not None:
        steps = [tuple(points.tolist()) for points in cut_points(contexts, thresholds)]
    return tuple(
        Axis(f, sign, cuts, two and cuts is not None and len(cuts) == 1)
        for f, (sign, cuts, two) in enumerate(zip(signs, steps, binary, strict=True))
    )
