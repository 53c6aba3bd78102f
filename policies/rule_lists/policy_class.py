"""The class of rule lists: its settings, and what it is on given contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from math import comb, log, perm
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import InvertibleEncoding, Objective, Opened, TermSearch
from milpcb.types import Bools, Floats, Ints
from policies.cuts import CuttingClass, Thresholds, check_thresholds
from policies.literals import LARGEST, Literals, Test, every_test, outcomes
from policies.names import Names
from policies.paths.terms import PathTerms, too_many
from policies.rule_lists.geometry import Cells, HeldCells, clauses
from policies.rule_lists.rule import Clause, RuleList

if TYPE_CHECKING:
    from policies.paths.graph import Graph


class RuleListTerms(PathTerms):
    """The cells of levels 1 to D, or the one of level 0 where there are no literals, each with every action.

    ``turned`` (p,) marks the literals of which outcome 1 means that they do not hold.

    The leaf totals of rule lists, (cell, action), and the lists as paths from cell to cell.

    A path goes from the cell of all contexts to a larger set of outcomes with every test. Each of its edges is a test
    of another literal, with the action of the outcome that ends there; the last edge is the default. So there are
    p (p - 1) ... (p - D + 1) 2^(D - 1) K^(D + 1) derivations, and every policy of the class has at least one.

    The program has a column for each way to a cell, so noise on its columns is not noise on these terms.
    """

    def __init__(self, cells: Cells, tests: Sequence[Test], turned: Bools, n_actions: int, names: Names) -> None:
        self.n_actions = n_actions
        self._cells, self._tests, self._turned, self._names = cells, list(tests), turned, names
        self._skipped = min(1, cells.depth)  # the empty cell ends no list that has a test
        self._first = np.cumsum([0, *cells.sizes]) - sum(cells.sizes[: self._skipped])  # leaf of a level's first cell
        self.n_features = 1 + max((feature for feature, *_ in self._tests), default=0)
        self.n_touched = sum(len(chosen) for chosen in cells.chosen[self._skipped :])
        self.n_terms = int(self._first[-1]) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the cells that hold each context, one for each set of literals."""
        own = self._cells.own(outcomes(contexts, self._tests) ^ self._turned)
        levels = [first + level for first, level in zip(self._first, own, strict=False)][self._skipped :]
        return list((np.concatenate(levels, axis=1) * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``: by what holds there, then less that, what does not."""
        by_cell = self._cells.totals_of(outcomes(contexts, self._tests) ^ self._turned)

        def add_up(costs: Floats) -> Floats:
            return np.concatenate([table.T for table in by_cell(costs)[self._skipped :]]).ravel()

        return add_up

    @cached_property
    def graph(self) -> Graph:
        """A node for each cell; the outcome of a test that ends plays its cheapest action, and so does the default."""
        from policies.paths.graph import Graph

        cells, node = self._cells, np.cumsum([0, *self._cells.sizes])
        source, to, leaf = [], [], []
        for level, (on, fired) in enumerate(zip(cells.on, cells.fired, strict=True)):
            cell = np.broadcast_to(np.arange(cells.sizes[level])[None, :, None], on.shape)
            source.append(node[level] + cell.ravel())
            to.append(node[level + 1] + on.ravel())
            leaf.append(self._first[level + 1] + fired.ravel())
        last = np.unique(cells.on[-1]) if cells.depth else np.zeros(1, dtype=np.int64)
        source.append(node[-2] + last)
        to.append(np.full(len(last), node[-1]))
        leaf.append(self._first[-2] + last)
        used, numbered = np.unique(np.concatenate(source), return_inverse=True)
        term = self.n_terms + np.concatenate(leaf)
        return Graph(
            numbered, np.searchsorted(used, np.concatenate(to)), term, self.n_terms // self.n_actions, self.n_actions
        )

    def policy(self, terms: list[int]) -> RuleList:
        """Return the list that ends in these cells, in their order."""
        cells, cell, steps = self._cells, 0, []
        for level, term in enumerate(terms[:-1]):
            ended = term // self.n_actions - int(self._first[level + 1])
            s, i = np.argwhere(cells.fired[level][:, cell] == ended)[0].tolist()
            steps.append((int(cells.literal[level][cell, i]), s, term % self.n_actions))
            cell = int(cells.on[level][s, cell, i])
        return RuleList(clauses(steps, self._tests, self._turned), terms[-1] % self.n_actions, self._names)


class ShortListSearch(TermSearch):
    """The search whose best list is written as short as it goes on the contexts, which are those of ``cells``."""

    def __init__(self, terms: RuleListTerms, contexts: Floats, cells: HeldCells, names: Names) -> None:
        super().__init__(terms, contexts)
        self._parts = terms, contexts, cells, names

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._parts

    def minimise(self, costs: Floats) -> tuple[float, RuleList]:
        """Return the least total cost and a list that attains it, without rules that divide no contexts."""
        total, policy = super().minimise(costs)
        *_, cells, names = self._parts
        found = cast("RuleList", policy)
        return total, cells.rule_list(cells.steps(found), found.default, names)


class RuleListEncoding(InvertibleEncoding):
    """Rule lists: if, else if, ..., else; a shortest path through the sets of conditions that failed so far.

    Policy class
        "if l_1 play a_1, else if l_2 play a_2, ..., else play a_0" with at most R conditions; a condition is a literal
        ``x[feature] <= threshold`` or its negation, any action anywhere. What is known after l conditions have failed
        is the *set* of l outcomes, in whatever order they were asked for. With p literals and D = min(R, p),
        N = K + sum_{r=1..D} p (p - 1) ... (p - r + 1) 2^(r-1) K^r (K - 1).
    Variables
        A *cell* of level l is a set of l different literals with an outcome s in {0, 1} of each.
        y_l[s, cell, i, a] in {0, 1}, l = 0..D-1: in the cell, the i-th literal f outside it is tested; its outcome s
        goes on, its outcome 1 - s plays a. At the last level s = 0 only: there both outcomes end the list.
        z[cell, a] in {0, 1} for the cells of level D: the default is a. Encodings without side constraints drop z and
        a.
    Constraints
        (1)  sum y_0 = 1                                                      (sum z = 1 when D = 0)
        (2)  sum_{s, i, a} y_l[s, cell, i, a] = what y_{l-1} sends into the cell     l = 1..D-1
        (3)  sum_a z[cell, a] = what y_{D-1} sends into the cell              constrained encodings only
        A path through the cells: each column leaves one and enters one (the end needs no row), a directed incidence
        matrix, totally unimodular: every vertex is 0/1.
    Cost map
        C[cell, a], the total of costs[., a] over the contexts in the cell, is linear in the costs. y_l[s, cell, i, a]
        costs C[cell + (f, 1 - s), a], z[cell, a] costs C[cell, a]. Without side constraints each outcome that ends
        takes its cheapest action: y_l costs min_a C[cell + (f, 1 - s), a], at the last level plus min_a C[cell + (f,
        0), a].
    Size
        n_l = C(p, l) 2^l cells of level l; 2 n_l (p - l) columns at level l < D - 1, n_l (p - l) at the last; n_l rows.
        For 30 literals 1 800 columns at D = 2, but 52 260 at D = 3. Side constraints cost a factor K and n_D K columns.
        No big-M.
    """

    def __init__(self, cells: HeldCells, n_actions: int, names: Names, *, constrained: bool) -> None:
        self._cells, self._names = cells, names
        self._full = constrained or cells.depth == 0  # without literals there are only defaults
        self.program, self._nodes, self._defaults = _polytope(cells, n_actions if self._full else 0)

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
        """Return the list whose path is 1 in ``x``; a rule plays its column's action, or its contexts' cheapest."""
        cells, cell, steps = self._cells, 0, []
        totals = cells.totals(costs)
        for level, y in enumerate(self._nodes):
            s, i, a = np.unravel_index(x[y[:, cell]].argmax(), y[:, cell].shape)
            action = a if self._full else totals[level + 1][:, cells.fired[level][s, cell, i]].argmin()
            steps.append((int(cells.literal[level][cell, i]), int(s), int(action)))
            cell = cells.on[level][s, cell, i]
        default = x[self._defaults[cell]] if self._full else -totals[-1][:, cell]
        return cells.rule_list(steps, int(default.argmax()), self._names)

    def encode(self, policy: RuleList) -> Floats:
        """Return the path of the list; rules that it lacks play its default."""
        cells, cell, default = self._cells, 0, policy.default
        x, steps = np.zeros(self.program.n_columns), cells.steps(policy)
        for level, y in enumerate(self._nodes):
            f, s, action = steps[level] if level < len(steps) else (cells.literal[level][cell, 0], 0, default)
            if s == len(y):  # at the last level outcome 0 goes on: what outcome 1 would go on to is the default
                s, action, default = 0, default, action
            i = int(np.flatnonzero(cells.literal[level][cell] == f)[0])
            x[y[s, cell, i, action]] = 1.0
            cell = cells.on[level][s, cell, i]
        x[self._defaults[cell, default]] = 1.0
        return x


def _polytope(cells: Cells, n_end_actions: int) -> tuple[Program, list[Ints], Ints]:
    """Return the program, the columns y_l (S, n_l, p - l, A) and z (n_D, A), none of them without actions."""
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


MOST_ENTRIES = 2 * 10**8  # of literals on contexts: beyond them memory runs out


@dataclass(frozen=True)
class RuleLists(CuttingClass):
    """If-then-else lists of conditions on one feature each.

    Parameters
    ----------
    n_actions : K >= 2
    max_rules : R >= 1, the most conditions of a list; beyond 3 the program and the search become large
    thresholds : number of quantile cuts per feature, "all" for a cut between any two values of a feature, or one list
        of cut points per feature; a feature that only takes 0 and 1 gives one literal
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
        reason = self.too_large(len(tests), 1)
        if reason:
            raise InputError(reason)
        as_they_are = np.zeros(len(tests), dtype=bool)
        return RuleListTerms(Cells(len(tests), self.max_rules), tests, as_they_are, self.n_actions, names)

    def too_large(self, p: int, g: int) -> str:
        """Return why lists over p literals on g contexts are too many, or nothing when they are not."""
        if p * g > MOST_ENTRIES:
            return f"{p:,} literals on {g:,} contexts are more than {MOST_ENTRIES:,} entries; use fewer thresholds"
        most = min(self.max_rules, p)
        if not most or comb(p, most - 1) * 2 ** (most - 1) * (p - most + 1) <= LARGEST:
            return ""
        return (
            f"lists of {most} rules over {p} literals need more than {LARGEST:,} columns; "
            "use fewer rules or fewer thresholds"
        )


class OpenedRuleLists(Opened):
    """Rule lists on fixed contexts. ``log_size`` is exact for lists as written, an upper bound for labelings."""

    capabilities = Opened.capabilities | {"search", "action_weights", "fixed", "totals", "constraints"}

    def __init__(self, lists: RuleLists, literals: Literals, names: Names) -> None:
        """Take rule lists with explicit cut points."""
        self._lists, self._literals, self._names = lists, literals, names
        self.n_actions = k = lists.n_actions
        self.group, self.contexts = literals.group, literals.contexts
        p = len(literals)
        self._most = most = min(lists.max_rules, p)
        self.log_size = log(k + sum(perm(p, r) * 2 ** (r - 1) * k**r * (k - 1) for r in range(1, most + 1)))
        if reason := lists.too_large(p, len(literals.contexts)):
            self.capabilities = Opened.capabilities - {"program"} | {"fixed"}
            self.unsupported = dict.fromkeys(("program", "search", "action_weights", "totals", "constraints"), reason)
        elif reason := too_many(perm(p, most) * 2 ** max(0, most - 1) * k ** (most + 1)):
            self.capabilities, self.unsupported = self.capabilities - {"constraints"}, {"constraints": reason}

    def program(self, *, constrained: bool = False) -> RuleListEncoding:
        """Return the shortest-path encoding; an LP suffices unless side constraints are added."""
        return RuleListEncoding(self._cells, self.n_actions, self._names, constrained=constrained)

    def describe_search(self) -> str:
        """Name what ``search`` goes through."""
        return f"shortest paths over the sets of up to {self._most} of {len(self._literals)} tests"

    def search(self) -> TermSearch:
        """Return the exact search: the same shortest paths; its lists have no rules that divide no contexts."""
        return ShortListSearch(self._own_terms, self.contexts, self._cells, self._names)

    def terms(self) -> RuleListTerms:
        """Return the cells over the literals that divide these contexts."""
        return self._own_terms

    @cached_property
    def _own_terms(self) -> RuleListTerms:
        return RuleListTerms(self._cells, self._literals.tests, self._cells.turned, self.n_actions, self._names)

    def policies(self) -> Iterator[RuleList]:
        """List all rule lists once, short ones first.

        A list tests no literal twice and does not end in a rule that plays the default; its last condition is not
        negated, as "if l play a else b" is "if not l play b else a".
        """
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
        r = int(rng.integers(self._most + 1))
        default = int(rng.integers(self.n_actions))
        if r == 0:
            return RuleList((), default, self._names)
        chosen = [tests[f] for f in rng.permutation(len(tests))[:r]]
        below = [*rng.integers(2, size=r - 1).astype(bool).tolist(), True]
        last = (default + int(rng.integers(1, self.n_actions))) % self.n_actions
        actions = [*rng.integers(self.n_actions, size=r - 1).tolist(), last]
        return RuleList(tuple(map(Clause.of, chosen, below, actions)), default, self._names)

    def fixed(self) -> RuleLists:
        """Return the class with these cut points, explicit from now on."""
        return self._lists

    @cached_property
    def _cells(self) -> HeldCells:
        """The cells that program and search share; lists and draws need none."""
        return HeldCells(self._literals, self._lists.max_rules)
