"""The sets of contexts that rule lists lead through: the nodes of the paths that program and search look for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations, compress, product

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.literals import Literals, Test
from policies.names import Names
from policies.rule_lists.rule import Clause, RuleList


class Cells:
    """The cells of lists of at most ``max_rules`` rules over p literals, and how one leads to the next.

    A cell of level l = 0..depth has the number ``combination * 2**l + outcomes``: its combination is the rank of its
    literals among all sets of l literals, its outcomes are the binary digits of the number, first literal first.
    For l < depth and every way (s, cell, i) to go on, ``on[l]`` (S, n_l, p - l) is the cell that goes on, ``fired[l]``
    the one that ends; S = 2, at the last level 1. ``literal[l]`` (n_l, p - l) is the literal tested.
    """

    def __init__(self, p: int, max_rules: int) -> None:
        self.depth = min(max_rules, p)
        self.chosen = [np.array(list(combinations(range(p), k)), dtype=np.int64) for k in range(self.depth + 1)]
        self.sizes = [len(chosen) << level for level, chosen in enumerate(self.chosen)]
        steps = [_steps(p, chosen) for chosen in self.chosen[:-1]]
        self.literal = [literal for literal, _ in steps]
        self.on = [into for _, into in steps]
        self.fired = [into[::-1] for _, into in steps]
        if self.depth:
            self.on[-1], self.fired[-1] = self.on[-1][:1], self.fired[-1][:1]

    def own(self, outcomes: Bools) -> list[Ints]:
        """Return for each level the cells (..., combinations) of contexts with ``outcomes`` (..., p) of literals."""
        return [
            (np.arange(len(chosen)) << level) + outcomes[..., chosen] @ (1 << np.arange(level)[::-1])
            for level, chosen in enumerate(self.chosen)
        ]

    def totals_of(self, outcomes: Bools) -> CellTotals:
        """Return what adds up costs of contexts with these ``outcomes`` (n, p) of literals in each cell."""
        return CellTotals(self.chosen, outcomes)


class CellTotals:
    """Adds up costs in the cells of the literals ``chosen``, given the ``outcomes`` (n, p) of all literals."""

    def __init__(self, chosen: list[Ints], outcomes: Bools) -> None:
        import scipy.sparse as sp  # only where there are rule lists, as it takes a tenth of a second to import

        self._held = sp.vstack([sp.csr_array(_all(outcomes, c).astype(float)) for c in chosen], format="csr")
        self._parts = _parts(chosen)

    def __call__(self, costs: Floats) -> list[Floats]:
        """Return C of each level, (K, n_l): the total of each action of ``costs`` (n, K) in each cell."""
        held = np.ascontiguousarray((self._held @ costs).T)
        totals = []
        for level, part in enumerate(self._parts):
            table = held.take(part.ravel(), axis=1).reshape(-1, len(part), *(2,) * level)
            for axis in range(2, level + 2):  # from "it holds or not" to "it does not hold"
                either, holds = np.moveaxis(table, axis, 0)
                either -= holds
            totals.append(table.reshape(costs.shape[1], -1))
        return totals


class HeldCells(Cells):
    """The cells on fixed contexts; ``truth`` (g, p) is the outcome of each literal at each context."""

    def __init__(self, literals: Literals, max_rules: int) -> None:
        super().__init__(len(literals), max_rules)
        self._tests, self._numbers = literals.tests, literals.numbers
        # Outcome 1 is the rarer one: it means that the literal holds, or when turned, that it does not.
        self.turned = literals.truth.mean(axis=0) > 0.5
        self.truth = literals.truth ^ self.turned

    @cached_property
    def totals(self) -> CellTotals:
        """Adder of costs (g, K) of the contexts in each cell; whole costs stay exact."""
        return self.totals_of(self.truth)

    def rule_list(self, steps: list[tuple[int, int, int]], default: int, names: Names) -> RuleList:
        """Return the list that tests each (literal, outcome that goes on, action of the other), as short as it goes.

        Rules are left out, the shortest lists first, as long as the list plays the same on the contexts.
        """
        wanted = np.full(len(self.truth), default)
        for f, outcome, action in reversed(steps):
            wanted[self.truth[:, f] != outcome] = action
        sublists = (kept for size in range(len(steps) + 1) for kept in combinations(steps, size))
        kept, default = next(
            (kept, int(left[0]))
            for kept in sublists
            if len(left := np.unique(_left_over(self.truth, kept, wanted))) == 1
        )
        return RuleList(clauses(kept, self._tests, self.turned), default, names)

    def steps(self, policy: RuleList) -> list[tuple[int, int, int]]:
        """Return (literal, outcome that goes on, action of the other) of each rule of a list over these literals."""
        found = [(self._numbers[rule.feature, rule.threshold], rule) for rule in policy.rules]
        return [(f, int(rule.below == self.turned[f]), rule.action) for f, rule in found]


def clauses(steps: Sequence[tuple[int, int, int]], tests: Sequence[Test], turned: Bools) -> tuple[Clause, ...]:
    """Return the rules that test each (literal, outcome that goes on, action of the other)."""
    return tuple(Clause.of(tests[f], bool((outcome == 0) != turned[f]), action) for f, outcome, action in steps)


def _all(truth: Bools, chosen: Ints) -> Bools:
    """Return (combinations, g): where all literals of each combination hold."""
    held = np.ones((len(chosen), len(truth)), dtype=bool)
    for column in chosen.T:
        held &= truth.T[column]
    return held


def _left_over(truth: Bools, kept: Sequence[tuple[int, int, int]], wanted: Ints) -> Ints:
    """Return the ``wanted`` labels where no rule of ``kept`` fires; none at all if one plays something else."""
    here = np.ones(len(truth), dtype=bool)
    for f, outcome, action in kept:
        fires = here & (truth[:, f] != outcome)
        if (wanted[fires] != action).any():
            return wanted[:0]
        here &= ~fires
    return wanted[here]


def _parts(chosen: list[Ints]) -> list[Ints]:
    """Return, for each level, the number (combinations, 2**l) of the sub-combination that outcomes 1 pick.

    Combinations are numbered through all levels.
    """
    number = {tuple(c): i for i, c in enumerate(c for level in chosen for c in level.tolist())}
    return [
        np.array(
            [
                [number[tuple(compress(c, outcomes))] for outcomes in product((0, 1), repeat=level)]
                for c in chosen[level].tolist()
            ]
        )
        for level in range(len(chosen))
    ]


def _steps(p: int, chosen: Ints) -> tuple[Ints, Ints]:
    """Return, for cells of ``chosen`` (combinations, l), the literals outside (n_l, p - l) and cells (2, n_l, p - l).

    Entry [s, cell, i] is the cell of level l + 1 that also has outcome s of the i-th literal outside.
    """
    level = chosen.shape[1]
    rank = {c: i for i, c in enumerate(combinations(range(p), level + 1))}
    outside = np.array([[f for f in range(p) if f not in c] for c in map(set, chosen.tolist())])
    wider = [
        [rank[tuple(sorted((*c, f)))] for f in fs] for c, fs in zip(chosen.tolist(), outside.tolist(), strict=True)
    ]
    later = (chosen[:, None, :] > outside[:, :, None]).sum(axis=2)  # literals of the cell after the new one
    s, outcomes = np.arange(2)[:, None, None, None], np.arange(2**level)[None, None, :, None]
    shift = later[None, :, None, :]
    digits = (outcomes >> shift << shift + 1) | (s << shift) | (outcomes & ((1 << shift) - 1))
    into = (np.array(wider)[None, :, None, :] << level + 1) + digits
    return np.repeat(outside, 2**level, axis=0), into.reshape(2, -1, p - level)
