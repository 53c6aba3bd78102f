"""The class of rule lists: its settings, and what it is on given contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from math import comb, log, perm

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.protocols import Opened, TermSearch
from milpcb.types import Floats
from policies.cuts import CuttingClass, Thresholds, check_thresholds
from policies.literals import LARGEST, Literals, every_test
from policies.names import Names
from policies.paths.terms import too_many
from policies.rule_lists.geometry import Cells, HeldCells
from policies.rule_lists.program import RuleListEncoding
from policies.rule_lists.rule import Clause, RuleList
from policies.rule_lists.terms import RuleListTerms, ShortListSearch

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
