"""Classes whose policies can be listed as sums of a few parts, which is all that side constraints need of them.

A derivation (one way to write a policy) is a *head* and a *tail* that meet in one *state*. In a rule list the head is
the rules that lead to a set of contexts, the state is that set, and the tail is the last rule with the default. Where
the split gains nothing, as for boxes, the tails are whole derivations in one state, whose only head is empty.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from milpcb.core.marks import key_tables
from milpcb.protocols import Listing, SideConstraint, Terms, Within
from milpcb.types import Floats, Ints, Policy
from policies.near_lists import meet, side_of

MOST_HELD = 4 * 10**7  # numbers of parts: 160 MB


@dataclass(frozen=True)
class Derivations:
    """All derivations of a class: heads (n, h) and tails (n', t), each a list of the numbers of its parts.

    The number of parts itself stands for no part. ``head_state`` (n,) and ``tail_state`` (n',) count states from 0; no
    state is empty. At any context, either every head of a state has a part that decides the action, or every tail.
    """

    heads: Ints
    tails: Ints
    head_state: Ints
    tail_state: Ints

    @classmethod
    def whole(cls, derivations: Ints) -> Derivations:
        """Return ``derivations`` (N, L) as the tails of one state."""
        no_parts = np.zeros((1, 0), dtype=np.int64)
        return cls(no_parts, derivations, np.zeros(1, dtype=np.int64), np.zeros(len(derivations), dtype=np.int64))


class ListedTerms(Terms):
    """Terms of a class with a list of its derivations, for ``under`` (policies/weighted_folds.py).

    Its parts are the terms, unless the class defines others.
    """

    @abstractmethod
    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs (n, K) at these ``contexts`` (n, d) that returns their totals (n_terms,)."""

    def totals(self, contexts: Floats, costs: Floats) -> Floats:
        """Return the totals of ``costs`` at ``contexts``; whole costs stay exact."""
        return self.adder(contexts)(costs)

    @abstractmethod
    def derivations(self) -> Derivations:
        """Return all derivations, those that the recursion of the class runs over."""

    @abstractmethod
    def policy(self, parts: list[int]) -> Policy:
        """Return the policy of one derivation, given the numbers of its parts, those of the head first."""

    def near(self, contexts: Floats, asked: Within) -> Listing | None:
        """Return the policies asked for, from the heads and tails; see Terms.near.

        None where too many derivations break a row before one is found that keeps it.
        """
        add_up, every = self.adder(contexts), self.derivations()
        tables = [asked.costs, *key_tables(*asked.costs.shape), *(row.weights for row in asked.rows)]
        parts = [np.append(self.parts(add_up(table)), 0.0) for table in tables]
        heads = side_of(every.heads, every.head_state, self.sizes(every.heads), parts)
        tails = side_of(every.tails, every.tail_state, self.sizes(every.tails), parts)
        found = meet(heads, tails, asked.least, asked.bound, asked.rows)

        def policy(number: int) -> Policy:
            head, tail = every.heads[found.head[number]], every.tails[found.tail[number]]
            return self.policy([*head.tolist(), *tail.tolist()])

        return Listing(found.side.costs, policy, found.complete) if len(found.head) else None

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        """Return the terms with a recursion over the derivations alone that keep ``rows``."""
        from policies.weighted_folds import KeptTerms  # the compiler takes its time: only for those who have rows

        return KeptTerms(self, rows)

    def sizes(self, lists: Ints) -> Ints:
        """Return how large heads or tails (n, h) are: of policies that label alike the smallest is shown."""
        return np.asarray(np.count_nonzero(lists < lists.max(initial=0), axis=1))

    def parts(self, totals: Floats) -> Floats:
        """Return the totals (n_parts,) of the parts."""
        return totals

    def actions(self, place: Ints) -> Ints:
        """Return (n_parts,): the action of each part that decides what is played at ``place``, -1 for the others."""
        actions = np.full(self.n_terms, -1)
        actions[place] = np.arange(self.n_actions)
        return actions


def too_many(n_numbers: int) -> str:
    """Return why a list of derivations is too long for side constraints, or nothing when it is not."""
    if n_numbers <= MOST_HELD:
        return ""
    return (
        f"under side constraints the search lists the class by {n_numbers:,} numbers, more than {MOST_HELD:,}; "
        "use oracle kind 'milp', or a smaller class"
    )
