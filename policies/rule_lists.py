"""Rule lists: if, else if, ..., else: one list, the sets of contexts on the way through lists, the class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, compress, permutations, product
from math import comb, log, perm

import numpy as np

from milpcb.core.checks import whole
from milpcb.core.decimals import beyond, spaced
from milpcb.errors import InputError
from milpcb.protocols import Opened
from milpcb.types import Bools, Floats, Ints
from policies.cuts import CuttingClass, Thresholds, check_thresholds
from policies.exports.decisions import Test as Comparison
from policies.literals import LARGEST, Literals, Test, every_test, outcomes
from policies.names import Names
from policies.paths.graph import Graph
from policies.paths.policy_class import OpenedPaths, PathTerms
from policies.rule import ChainRule


@dataclass(frozen=True)
class Clause:
    """Play ``action`` if ``x[feature] <= threshold``, or if > when not ``below``; ``binary``: the feature is 0 or 1."""

    feature: int
    threshold: float
    below: bool
    action: int
    binary: bool = False

    @classmethod
    def of(cls, test: Test, below: bool, action: int) -> Clause:
        """Return the rule that plays an action where a literal holds, or does not hold."""
        feature, threshold, binary = test
        return cls(feature, threshold, below, action, binary)

    def holds(self, contexts: Floats) -> Bools:
        """Return (n,): where the condition holds."""
        return np.asarray((contexts[:, self.feature] <= self.threshold) == self.below)

    def test(self) -> Comparison:
        """Return the condition as a comparison."""
        return Comparison(self.feature, "<=" if self.below else ">", self.threshold, self.binary)


@dataclass(frozen=True, repr=False)
class RuleList(ChainRule):
    """The first of the ``rules`` whose condition holds plays its action, else ``default`` is played."""

    rules: tuple[Clause, ...]
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

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        return (*(rule.action for rule in self.rules), self.default)

    @property
    def _conditions(self) -> list[Comparison]:
        return [rule.test() for rule in self.rules]

    def _leaf(self, contexts: Floats) -> Ints:
        first = np.full(len(contexts), len(self.rules), dtype=np.int64)
        for i, rule in reversed(list(enumerate(self.rules))):
            first[rule.holds(contexts)] = i
        return first


def _parts(chosen: list[Ints]) -> list[Ints]:
    """Return, for each level, the number (combinations, 2**l), through all levels, of what outcomes 1 pick."""
    number = {tuple(c): i for i, c in enumerate(c for level in chosen for c in level.tolist())}
    found = []
    for level, every in enumerate(chosen):
        picks = list(product((0, 1), repeat=level))
        found.append(np.array([[number[tuple(compress(c, picked))] for picked in picks] for c in every.tolist()]))
    return found


def _steps(p: int, chosen: Ints) -> tuple[Ints, Ints]:
    """Return the literals outside of each cell (n_l, p - l), and the cells with outcome 0 or 1 of these as well."""
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


class RuleListTerms(PathTerms):
    """The leaf totals of rule lists, (cell, action), and the lists as paths from cell to cell.

    Policy class
        "if l_1 play a_1, else if l_2 play a_2, ..., else play a_0" with at most R conditions; a condition is a literal
        ``x[feature] <= threshold`` or its negation, any action anywhere. With p literals and D = min(R, p),
        N = K + sum_{r=1..D} p (p - 1) ... (p - r + 1) 2^(r-1) K^r (K - 1).
    Paths
        A cell of level l is the *set* of l outcomes known after l conditions have failed, in whatever order they were
        asked for: n_l = C(p, l) 2^l. Each edge of a path is a test of another literal, with the action of the outcome
        that ends there; the last edge is the default. So there are p (p - 1) ... (p - D + 1) 2^(D - 1) K^(D + 1)
        derivations, at least one of every policy. Free programs have 2 n_l (p - l) columns at level l < D - 1,
        n_l (p - l) at the last, and n_l rows: for 30 literals 1 800 columns at D = 2, but 52 260 at D = 3.

    Leaves are the cells of levels 1 to D, or of level 0 where there are no literals. ``turned`` (p,) marks literals of
    which outcome 1 means that they do not hold. On known ``contexts`` lists lose the rules that divide none of them.

    A cell of level l has the number ``combination * 2**l + outcomes``: its combination is the rank of its literals
    among all sets of l literals, ``_chosen[l]``, its outcomes are the binary digits of the number, first literal first.
    For l < D and every way (s, cell, i) to go on, ``_on[l]`` (S, n_l, p - l) is the cell that goes on, ``_fired[l]``
    the one that ends; S = 2, at the last level 1. ``_literal[l]`` (n_l, p - l) is the literal tested.
    """

    def __init__(
        self,
        tests: Sequence[Test],
        turned: Bools,
        max_rules: int,
        n_actions: int,
        names: Names,
        contexts: Floats | None = None,
    ) -> None:
        self.n_actions, self._contexts = n_actions, contexts
        self._tests, self._turned, self._names = list(tests), turned, names
        p, self._depth = len(tests), min(max_rules, len(tests))
        self._chosen = [np.array(list(combinations(range(p), k)), dtype=np.int64) for k in range(self._depth + 1)]
        self._sizes = [len(chosen) << level for level, chosen in enumerate(self._chosen)]
        steps = [_steps(p, chosen) for chosen in self._chosen[:-1]]
        self._literal, self._on = [literal for literal, _ in steps], [into for _, into in steps]
        self._fired = [into[::-1] for _, into in steps]
        if self._depth:
            self._on[-1], self._fired[-1] = self._on[-1][:1], self._fired[-1][:1]
        self._skipped = min(1, self._depth)  # the empty cell ends no list that has a test
        self._first = np.cumsum([0, *self._sizes]) - sum(self._sizes[: self._skipped])  # leaf of a level's first cell
        self.n_features = 1 + max((feature for feature, *_ in self._tests), default=0)
        self.n_touched = sum(len(chosen) for chosen in self._chosen[self._skipped :])
        self.n_terms = int(self._first[-1]) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        truth, levels = outcomes(contexts, self._tests) ^ self._turned, []
        for level, (first, chosen) in enumerate(zip(self._first, self._chosen, strict=False)):
            digits = truth[:, chosen] @ (1 << np.arange(level)[::-1])
            levels.append(first + (np.arange(len(chosen)) << level) + digits)
        leaves = np.concatenate(levels[self._skipped :], axis=1)
        return list((leaves * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``: sums where literals hold, the others by subtraction."""
        import scipy.sparse as sp  # only where there are rule lists, as it takes a tenth of a second to import

        truth, chosen = outcomes(contexts, self._tests) ^ self._turned, self._chosen
        member = sp.vstack([sp.csr_array(truth[:, c].all(axis=2).T.astype(float)) for c in chosen], format="csr")
        parts = _parts(chosen)

        def add_up(costs: Floats) -> Floats:
            held, totals = np.ascontiguousarray((member @ costs).T), []
            for level, part in enumerate(parts):
                table = held.take(part.ravel(), axis=1).reshape(-1, len(part), *(2,) * level)
                for axis in range(2, level + 2):  # from "it holds or not" to "it does not hold"
                    either, holds = np.moveaxis(table, axis, 0)
                    either -= holds
                totals.append(table.reshape(costs.shape[1], -1).T)
            return np.concatenate(totals[self._skipped :]).ravel()

        return add_up

    @cached_property
    def graph(self) -> Graph:
        node = np.cumsum([0, *self._sizes])
        source, to, leaf = [], [], []
        for level, (on, fired) in enumerate(zip(self._on, self._fired, strict=True)):
            cell = np.broadcast_to(np.arange(self._sizes[level])[None, :, None], on.shape)
            source.append(node[level] + cell.ravel())
            to.append(node[level + 1] + on.ravel())
            leaf.append(self._first[level + 1] + fired.ravel())
        last = np.unique(self._on[-1]) if self._depth else np.zeros(1, dtype=np.int64)
        source.append(node[-2] + last)
        to.append(np.full(len(last), node[-1]))
        leaf.append(self._first[-2] + last)
        used, numbered = np.unique(np.concatenate(source), return_inverse=True)
        into, term = np.searchsorted(used, np.concatenate(to)), self.n_terms + np.concatenate(leaf)
        return Graph(numbered, into, term, self.n_terms // self.n_actions, self.n_actions)

    def policy(self, terms: list[int]) -> RuleList:
        cell, rules = 0, []
        for level, term in enumerate(terms[:-1]):
            ended = term // self.n_actions - int(self._first[level + 1])
            s, i = np.argwhere(self._fired[level][:, cell] == ended)[0].tolist()
            f = int(self._literal[level][cell, i])
            rules.append(Clause.of(self._tests[f], bool((s == 0) != self._turned[f]), term % self.n_actions))
            cell = int(self._on[level][s, cell, i])
        found = RuleList(tuple(rules), terms[-1] % self.n_actions, self._names)
        return found if self._contexts is None else shortest(found, self._contexts)


def shortest(found: RuleList, contexts: Floats) -> RuleList:
    """Return a list of as few of the rules as possible that plays the same on the ``contexts`` (g, d)."""
    labels = np.array(found.leaf_actions)[found.apply(contexts)]
    rules = [(rule, rule.holds(contexts)) for rule in found.rules]
    for kept in (kept for size in range(len(rules)) for kept in combinations(rules, size)):
        played = np.full(len(labels), -1)
        for rule, holds in reversed(kept):
            played[holds] = rule.action
        defaults = np.unique(labels[played < 0])
        if len(defaults) == 1 and (played == labels)[played >= 0].all():
            return RuleList(tuple(rule for rule, _ in kept), int(defaults[0]), found.names)
    return found


MOST_ENTRIES = 2 * 10**8  # of literals on contexts: beyond them memory runs out


@dataclass(frozen=True)
class RuleLists(CuttingClass):
    """If-then-else lists of conditions on one feature each.

    Parameters
    ----------
    n_actions : K >= 2
    max_rules : R >= 1, the most conditions of a list; beyond 3 the program and the search become large
    thresholds : number of quantile cuts per feature, "all" for one between any two values, or one list per feature
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

    def _on(self, contexts: Floats, names: Names) -> OpenedRuleLists:
        fixed = self.with_cuts_of(contexts, names)
        return OpenedRuleLists(fixed, Literals.of(contexts, fixed.thresholds), names)

    def _terms(self, cuts: tuple[tuple[float, ...], ...], names: Names) -> RuleListTerms:
        tests = every_test(cuts)
        if reason := self.too_large(len(tests), 1):
            raise InputError(reason)
        as_they_are = np.zeros(len(tests), dtype=bool)
        return RuleListTerms(tests, as_they_are, self.max_rules, self.n_actions, names)

    def too_large(self, p: int, g: int) -> str:
        """Return why lists over p literals on g contexts are too many; "" when they are not."""
        most = min(self.max_rules, p)
        columns = comb(p, most - 1) * 2 ** (most - 1) * (p - most + 1) if most else 0
        size, lists = f"{spaced(p)} literals on {spaced(g)} contexts", f"lists of {most} rules over {p} literals"
        return beyond(p * g, MOST_ENTRIES, f"{size} have {{}} entries", "use fewer thresholds") or beyond(
            columns, LARGEST, f"{lists} need {{}} columns", "use fewer rules or fewer thresholds"
        )


class OpenedRuleLists(OpenedPaths):
    """Rule lists on fixed contexts. ``log_size`` is exact for lists as written, an upper bound for labelings."""

    def __init__(self, lists: RuleLists, literals: Literals, names: Names) -> None:
        self._literals, self._names, k, p = literals, names, lists.n_actions, len(literals)
        self._max_rules, self._most = lists.max_rules, (most := min(lists.max_rules, p))
        size = k + sum(perm(p, r) * 2 ** (r - 1) * k**r * (k - 1) for r in range(1, most + 1))
        ways = perm(p, most) * 2 ** max(0, most - 1) * k ** (most + 1)
        super().__init__(lists, literals.group, literals.contexts, log_size=log(size), n_derivations=ways)
        if reason := lists.too_large(p, len(literals.contexts)):
            self.capabilities = Opened.capabilities - {"program"} | {"fixed"}
            self.unsupported = dict.fromkeys(("program", "search", "action_weights", "totals", "constraints"), reason)

    @cached_property
    def own_terms(self) -> RuleListTerms:
        """The cells over the literals that divide these contexts; the rarer outcome of a literal is 1."""
        tests, turned = self._literals.tests, self._literals.truth.mean(axis=0) > 0.5
        return RuleListTerms(tests, turned, self._max_rules, self.n_actions, self._names, self.contexts)

    def describe_search(self) -> str:
        return f"shortest paths over the sets of up to {self._most} of {len(self._literals)} tests"

    def policies(self) -> Iterator[RuleList]:
        yield from (RuleList((), a, self._names) for a in range(self.n_actions))
        for r in range(1, self._most + 1):
            sides = [(*first, True) for first in product((True, False), repeat=r - 1)]
            for chosen, below in product(permutations(self._literals.tests, r), sides):
                for *actions, default in product(range(self.n_actions), repeat=r + 1):
                    if actions[-1] != default:
                        yield RuleList(tuple(map(Clause.of, chosen, below, actions)), default, self._names)

    def draw(self, rng: np.random.Generator) -> RuleList:
        """Return a random listed rule list: its length, then its tests, sides and actions, all uniform."""
        tests = self._literals.tests
        r, default = int(rng.integers(self._most + 1)), int(rng.integers(self.n_actions))
        if r == 0:
            return RuleList((), default, self._names)
        chosen = [tests[f] for f in rng.permutation(len(tests))[:r]]
        below = [*rng.integers(2, size=r - 1).astype(bool).tolist(), True]
        last = (default + int(rng.integers(1, self.n_actions))) % self.n_actions
        actions = [*rng.integers(self.n_actions, size=r - 1).tolist(), last]
        return RuleList(tuple(map(Clause.of, chosen, below, actions)), default, self._names)
