"""Rule lists: if, else if, ..., else; a shortest path through the sets of conditions that failed so far.

Policy class
    "if l_1 play a_1, else if l_2 play a_2, ..., else play a_0" with at most R conditions; a condition is a literal
    ``x[feature] <= threshold`` or its negation, any action anywhere. What is known after l conditions have failed is
    the *set* of l outcomes, in whatever order they were asked for. With p literals and D = min(R, p),
    N = K + sum_{r=1..D} p (p - 1) ... (p - r + 1) 2^(r-1) K^r (K - 1).
Variables
    A *cell* of level l is a set of l different literals with an outcome s in {0, 1} of each.
    y_l[s, cell, i, a] in {0, 1}, l = 0..D-1: in the cell, the i-th literal f outside it is tested; its outcome s goes
    on, its outcome 1 - s plays a. At the last level s = 0 only: there both outcomes end the list.
    z[cell, a] in {0, 1} for the cells of level D: the default is a. Encodings without side constraints drop z and a.
Constraints
    (1)  sum y_0 = 1                                                      (sum z = 1 when D = 0)
    (2)  sum_{s, i, a} y_l[s, cell, i, a] = what y_{l-1} sends into the cell     l = 1..D-1
    (3)  sum_a z[cell, a] = what y_{D-1} sends into the cell              constrained encodings only
    A path through the cells: each column leaves one and enters one (the end needs no row), a directed incidence
    matrix, totally unimodular: every vertex is 0/1.
Cost map
    C[cell, a], the total of costs[., a] over the contexts in the cell, is linear in the costs. y_l[s, cell, i, a] costs
    C[cell + (f, 1 - s), a], z[cell, a] costs C[cell, a]. Without side constraints each outcome that ends takes its
    cheapest action: y_l costs min_a C[cell + (f, 1 - s), a], at the last level plus min_a C[cell + (f, 0), a].
Size
    n_l = C(p, l) 2^l cells of level l; 2 n_l (p - l) columns at level l < D - 1, n_l (p - l) at the last; n_l rows. For 30
    literals 1 800 columns at D = 2, but 52 260 at D = 3. Side constraints cost a factor K and n_D K columns. No big-M.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, compress, permutations, product
from math import log, perm
from typing import Any

import numpy as np
import scipy.sparse as sp

from milpcb.checks import context_array, whole
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Encoding, Objective, Search
from milpcb.types import Bools, Floats, Ints
from policies.cuts import CuttingClass, Distinct, Literals, Thresholds, check_names, check_thresholds, describe_test
from policies.names import Names


@dataclass(frozen=True)
class Rule:
    """Play ``action`` if ``x[feature] <= threshold``, or if > when not ``below``; ``binary``: the feature is 0 or 1."""

    feature: int
    threshold: float
    below: bool
    action: int
    binary: bool = False

    def holds(self, contexts: Floats) -> Bools:
        """Return (n,): where the condition holds."""
        return np.asarray((contexts[:, self.feature] <= self.threshold) == self.below)

    def condition(self, names: Names) -> str:
        """Return the condition as people say it."""
        if self.below:
            return describe_test(names, self.feature, self.threshold, binary=self.binary)
        name = names.feature(self.feature)
        return f"{name} = 1" if self.binary else f"{name} > {self.threshold:.6g}"


@dataclass(frozen=True)
class RuleList:
    """The first rule whose condition holds plays its action, else ``default`` is played.

    Last rules that play the default are dropped, and "if not l play a, else b" becomes "if l play b, else a".
    """

    rules: tuple[Rule, ...]
    default: int
    names: Names = field(default=Names(), compare=False)

    def __post_init__(self) -> None:
        kept = len(self.rules)
        while kept and self.rules[kept - 1].action == self.default:
            kept -= 1
        object.__setattr__(self, "rules", self.rules[:kept])
        if kept and not self.rules[-1].below:
            last, action = self.rules[-1], self.rules[-1].action
            turned = replace(last, below=True, action=self.default)
            object.__setattr__(self, "rules", (*self.rules[:-1], turned))
            object.__setattr__(self, "default", action)

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,); raises InputError when a feature is not there."""
        last = max((rule.feature for rule in self.rules), default=0)
        array = context_array(contexts, least_columns=last + 1)
        actions = np.full(len(array), self.default, dtype=np.int64)
        for rule in reversed(self.rules):
            actions[rule.holds(array)] = rule.action
        return actions

    def __str__(self) -> str:
        if not self.rules:
            return f"play {self.names.action(self.default)}"
        conditions = [rule.condition(self.names) for rule in self.rules]
        heads = [f"if {conditions[0]}:", *(f"elif {condition}:" for condition in conditions[1:]), "else:"]
        actions = [*(rule.action for rule in self.rules), self.default]
        return "\n".join(f"{head}\n    play {self.names.action(a)}" for head, a in zip(heads, actions, strict=True))


@dataclass(frozen=True)
class RuleLists(CuttingClass):
    """If-then-else lists of conditions on one feature each.

    Parameters
    ----------
    n_actions : K >= 2
    max_rules : R >= 1, the most conditions of a list; beyond 3 the program and the search become large
    thresholds : number of quantile cuts per feature, or one list of cut points per feature; a feature that only takes
        0 and 1 gives one literal
    feature_names, action_names : used in printed rules

    """

    n_actions: int
    max_rules: int = 3
    thresholds: Thresholds = 3
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        whole("max_rules", self.max_rules, 1)
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    @property
    def names(self) -> Names:
        """Names for printing."""
        return Names(check_names(self.feature_names), check_names(self.action_names))

    def formulate(self, contexts: Floats, *, constrained: bool = False) -> RuleListEncoding:
        """Return the shortest-path encoding; an LP suffices unless side constraints are added."""
        return RuleListEncoding(self, contexts, constrained=constrained)

    def search(self, contexts: Floats) -> Search:
        """Return the exact search: the same shortest paths, cell by cell."""
        from policies.rule_lists_search import RuleListSearch

        return RuleListSearch(Cells(self, contexts))

    def log_size(self, contexts: Floats) -> float:
        """Return log N, exact for the lists as written; an upper bound for labelings, which several lists may share."""
        p, k = len(Literals.on(contexts, self.thresholds)), self.n_actions
        most = min(self.max_rules, p)
        return log(k + sum(perm(p, r) * 2 ** (r - 1) * k**r * (k - 1) for r in range(1, most + 1)))

    def policies(self, contexts: Floats) -> Iterator[RuleList]:
        """List all rule lists once, short ones first.

        A list tests no literal twice and does not end in a rule that plays the default; its last condition is not
        negated, as "if l play a else b" is "if not l play b else a".
        """
        tests = _tests(Literals.on(contexts, self.thresholds), contexts)
        yield from (RuleList((), a, self.names) for a in range(self.n_actions))
        for r in range(1, min(self.max_rules, len(tests)) + 1):
            sides = [(*first, True) for first in product((True, False), repeat=r - 1)]
            for chosen, below in product(permutations(tests, r), sides):
                for *actions, default in product(range(self.n_actions), repeat=r + 1):
                    if actions[-1] != default:
                        yield RuleList(_rules(chosen, below, actions), default, self.names)

    def draw(self, contexts: Floats, rng: np.random.Generator) -> RuleList:
        """Return a random listed rule list: its length, then its tests, sides and actions, all uniform."""
        tests = _tests(Literals.on(contexts, self.thresholds), contexts)
        r = int(rng.integers(min(self.max_rules, len(tests)) + 1))
        default = int(rng.integers(self.n_actions))
        if r == 0:
            return RuleList((), default, self.names)
        chosen = [tests[f] for f in rng.permutation(len(tests))[:r]]
        below = [*rng.integers(2, size=r - 1).astype(bool).tolist(), True]
        last = (default + int(rng.integers(1, self.n_actions))) % self.n_actions
        actions = [*rng.integers(self.n_actions, size=r - 1).tolist(), last]
        return RuleList(_rules(chosen, below, actions), default, self.names)


class Cells:
    """The sets of contexts that rule lists lead through, and how one leads to the next.

    A cell of level l = 0..depth has the number ``combination * 2**l + outcomes``: its combination is the rank of its
    literals among all sets of l literals, its outcomes are the binary digits of the number, first literal first.
    For l < depth and every way (s, cell, i) to go on, ``on[l]`` (S, n_l, p - l) is the cell that goes on, ``fired[l]``
    the one that ends; S = 2, at the last level 1. ``literal[l]`` (n_l, p - l) is the literal tested; ``truth`` (g, p)
    its outcome at each context.
    """

    def __init__(self, lists: RuleLists, contexts: Floats) -> None:
        literals = Literals.on(contexts, lists.thresholds)
        truth = literals.truth(contexts)
        distinct = Distinct.rows(np.pad(truth, ((0, 0), (1, 0))))  # a first column, in case there is no literal
        self.n_actions = lists.n_actions
        self.group = distinct.group
        self.contexts = contexts[distinct.first]
        # Outcome 1 is the rarer one: it means that the literal holds, or when turned, that it does not.
        self._turned = truth[distinct.first].mean(axis=0) > 0.5
        self.truth = truth[distinct.first] ^ self._turned
        self.depth = min(lists.max_rules, len(literals))
        self._names = lists.names
        self._tests = _tests(literals, contexts)
        p = len(literals)
        self._chosen = [np.array(list(combinations(range(p), k)), dtype=np.int64) for k in range(self.depth + 1)]
        self.sizes = [len(chosen) << level for level, chosen in enumerate(self._chosen)]
        self._held = sp.vstack([sp.csr_array(_all(self.truth, c).astype(float)) for c in self._chosen], format="csr")
        self._parts = _parts(self._chosen)
        steps = [_steps(p, chosen) for chosen in self._chosen[:-1]]
        self.literal = [literal for literal, _ in steps]
        self.on = [into for _, into in steps]
        self.fired = [into[::-1] for _, into in steps]
        if self.depth:
            self.on[-1], self.fired[-1] = self.on[-1][:1], self.fired[-1][:1]

    def totals(self, costs: Floats) -> list[Floats]:
        """Return C of each level, (K, n_l): the total cost of each action in each cell; whole costs stay exact."""
        held = np.ascontiguousarray((self._held @ costs).T)
        totals = []
        for level, part in enumerate(self._parts):
            table = held.take(part.ravel(), axis=1).reshape(-1, len(part), *(2,) * level)
            for axis in range(2, level + 2):  # from "it holds or not" to "it does not hold"
                either, holds = np.moveaxis(table, axis, 0)
                either -= holds
            totals.append(table.reshape(self.n_actions, -1))
        return totals

    def own(self, row: int) -> list[Ints]:
        """Return, for each level, the cells that hold context ``row``: one for each combination of literals."""
        return [
            (np.arange(len(chosen)) << level) + self.truth[row][chosen] @ (1 << np.arange(level)[::-1])
            for level, chosen in enumerate(self._chosen)
        ]

    def rule_list(self, steps: list[tuple[int, int, int]], default: int) -> RuleList:
        """Return the list that tests each (literal, outcome that goes on, action of the other), as short as it goes.

        Rules are left out, the shortest lists first, as long as the list plays the same on the contexts.
        """
        wanted = np.full(len(self.contexts), default)
        for f, outcome, action in reversed(steps):
            wanted[self.truth[:, f] != outcome] = action
        sublists = (kept for size in range(len(steps) + 1) for kept in combinations(steps, size))
        kept, default = next(
            (kept, int(left[0]))
            for kept in sublists
            if len(left := np.unique(_left_over(self.truth, kept, wanted))) == 1
        )
        rules = []
        for f, outcome, action in kept:
            feature, threshold, binary = self._tests[f]
            rules.append(Rule(feature, threshold, bool((outcome == 0) != self._turned[f]), action, binary))
        return RuleList(tuple(rules), default, self._names)


class RuleListEncoding(Encoding):
    """The polytope of (1)-(3) and its cost map."""

    def __init__(self, lists: RuleLists, contexts: Floats, *, constrained: bool) -> None:
        self._cells = cells = Cells(lists, contexts)
        self.group, self.contexts = cells.group, cells.contexts
        self._full = constrained or cells.depth == 0  # without literals there are only defaults
        self.program, self._nodes, self._defaults = _polytope(cells, lists.n_actions if self._full else 0)

    def objective(self, costs: Floats) -> Objective:
        """Return the cost of each rule that ends, and of the defaults."""
        totals = self._cells.totals(costs)
        ends = [table.T if self._full else table.min(axis=0)[:, None] for table in totals]
        parts = [end[fired] for end, fired in zip(ends[1:], self._cells.fired, strict=True)]
        if self._full:
            parts.append(ends[-1])
        else:
            parts[-1] = parts[-1] + ends[-1][self._cells.on[-1]]
        return Objective(np.concatenate([part.ravel() for part in parts]))

    def decode(self, x: Floats, costs: Floats) -> RuleList:
        """Follow the path; what ends plays the action of its column, or the cheapest of its contexts."""
        cells, cell, steps = self._cells, 0, []
        totals = cells.totals(costs)
        for level, y in enumerate(self._nodes):
            s, i, a = np.unravel_index(x[y[:, cell]].argmax(), y[:, cell].shape)
            action = a if self._full else totals[level + 1][:, cells.fired[level][s, cell, i]].argmin()
            steps.append((int(cells.literal[level][cell, i]), int(s), int(action)))
            cell = cells.on[level][s, cell, i]
        default = x[self._defaults[cell]] if self._full else -totals[-1][:, cell]
        return cells.rule_list(steps, int(default.argmax()))


def _polytope(cells: Cells, n_end_actions: int) -> tuple[Program, list[Ints], Ints]:
    """Return the program, the columns y_l (S, n_l, p - l, A) and the columns z (n_D, A), none of them without actions."""
    b = ProgramBuilder()
    nodes = [
        b.columns(f"y{level}", (*on.shape, n_end_actions or 1), upper=1.0, integer=True)
        for level, on in enumerate(cells.on)
    ]
    z = b.columns("z", (cells.sizes[-1], n_end_actions), upper=1.0, integer=True)
    leaving = [np.moveaxis(y, 1, 0).reshape(size, -1) for y, size in zip(nodes, cells.sizes, strict=False)]
    if n_end_actions:
        leaving.append(z)
    b.rows((leaving[0], 1.0), lower=1.0, upper=1.0)  # (1)
    for on, y, out in zip(cells.on, nodes, leaving[1:], strict=False):
        entering, present = _by_cell(on, y, len(out))
        b.rows((out, 1.0), (entering, -present), lower=0.0, upper=0.0)  # (2), (3)
    return b.build(integral=True), nodes, z


def _by_cell(on: Ints, y: Ints, n_cells: int) -> tuple[Ints, Floats]:
    """Return the columns (n_cells, k) that enter each cell, and which entries are some (1.0) and which only fill."""
    cells, columns = np.repeat(on.ravel(), y.shape[-1]), y.ravel()
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells, minlength=n_cells)
    entering = np.zeros((n_cells, counts.max()), dtype=np.int64)
    present = np.arange(counts.max()) < counts[:, None]
    entering[present] = columns[order]
    return entering, present.astype(float)


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
    """Return, for the cells of ``chosen`` (combinations, l), the literals outside (n_l, p - l) and the cells (2, n_l, p - l).

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


def _tests(literals: Literals, contexts: Floats) -> list[tuple[int, float, bool]]:
    """Return (feature, threshold, whether the feature is 0 or 1) of each literal."""
    binary = np.asarray(np.isin(contexts, (0.0, 1.0)).all(axis=0))[literals.feature]
    return list(zip(literals.feature.tolist(), literals.threshold.tolist(), binary.tolist(), strict=True))


def _rules(tests: Sequence[tuple[int, float, bool]], below: Sequence[bool], actions: Sequence[int]) -> tuple[Rule, ...]:
    return tuple(
        Rule(feature, threshold, side, action, binary)
        for (feature, threshold, binary), side, action in zip(tests, below, actions, strict=True)
    )
