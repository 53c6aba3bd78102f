"""Rules with a score for each action, on fixed contexts: what differs from rules with one score."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from math import comb, log

import numpy as np

from milpcb.protocols import Encoding
from policies.linear.each_tables import feature_weights, highest, n_placements, n_vectors
from policies.linear.geometry import ScoringRule
from policies.linear.opened import OpenedLinear
from policies.linear.program_bigm import beyond_tolerance
from policies.linear.program_each import EachEncoding, big_m
from policies.linear.program_tables import TableEncoding


class OpenedEach(OpenedLinear):
    """Rules with a score for each action.

    ``log_size`` is the log of an upper bound on the number of labelings, the least of three. With g distinct contexts:
    the weights, those alike but for a shift once, times the placements of K - 1 bases, (K - 1)! (g + 1) ...
    ((K - 1) g + 1); K^g; and where support tables can be used, their rows.
    """

    @cached_property
    def unsupported(self) -> dict[str, str]:  # type: ignore[override]
        """What is too large on these contexts, and what would fix it."""
        found = self._of_tables() if not self._no_tables else {}
        if self._no_program_by_tables and (reason := beyond_tolerance(self.scored, float(big_m(self.scored).max()))):
            found["program"] = reason
        if self._no_tables:
            reason = f"rules with a score for each action are searched by support tables alone; {self._no_tables}"
            for what in ("search", "action_weights", "constraints", "totals"):
                found[what] = f"{reason}; or use oracle kind 'milp'"
        return found

    @cached_property
    def log_size(self) -> float:  # type: ignore[override]
        """The least of the bounds."""
        scored, K, distinct = self.scored, self.n_actions, len(self.contexts)
        features, more = int(scored.copies.sum()), n_vectors(scored.max_weight, self.n_actions) - 1
        vectors = sum(comb(features, k) * more**k for k in range(scored.limit + 1))
        bounds = [K**distinct, vectors * n_placements(distinct, K)]
        if not self._no_tables:
            bounds.append(self._supports.n_rows)
        return log(min(bounds))

    def program(self, *, constrained: bool = False) -> Encoding:
        """Return the encoding that fits the sizes; its ``why`` names it and gives the reason for the choice."""
        del constrained  # the one cost map is linear and exact
        self.require("program")
        if not self._no_program_by_tables:
            return TableEncoding(self._supports)
        return EachEncoding(self.scored, f"big-M rows, as {self._no_program_by_tables}")

    def policies(self) -> Iterator[ScoringRule]:
        """List the rules, few features first: all weights in the box, all bases that change a label.

        Weights that are alike but for a shift come once.
        """
        vectors = feature_weights(self.scored.max_weight, self.n_actions)[1:]
        for support, chosen in self._chosen(vectors):
            weights = self._spread(support, chosen, self.n_actions)
            scores = self.scored.points.astype(np.int64) @ weights
            spans = scores[:, :, None] - scores[:, None, :]
            furthest = (self.n_actions - 1) * (int(spans.max()) + 1)
            box = np.array(list(product(range(-furthest, furthest + 1), repeat=self.n_actions - 1)))
            labels = highest(scores[None], np.pad(box, ((0, 0), (1, 0)))[None])[0]
            _, first = np.unique(labels, axis=0, return_index=True)
            yield from (self.scored.labelled(weights, labels[place]) for place in np.sort(first))

    def draw(self, rng: np.random.Generator) -> ScoringRule:
        """Return a random rule: features, weights and labels that some bases give, each with equal chances."""
        points, limit = self.scored.points, self.scored.limit
        features = np.flatnonzero(np.ptp(points, axis=0))
        support = rng.choice(features, int(rng.integers(min(limit, len(features)) + 1)), replace=False)
        largest = self.scored.max_weight
        values = rng.integers(-largest, largest + 1, (len(support), self.n_actions))
        weights = self._spread(support, values, self.n_actions)
        scores = points @ weights
        bases = rng.integers(-1, int(np.ptp(scores)) + 2, self.n_actions)
        return self.scored.labelled(weights, (scores + bases).argmax(axis=1))
