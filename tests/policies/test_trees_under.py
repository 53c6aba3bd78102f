"""Trees under side constraints against the list of all their derivations."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from milpcb.errors import InfeasibleError, InputError, SearchTooLargeError
from milpcb.protocols import SideConstraint, Terms
from milpcb.types import Floats, Ints
from policies import DecisionTrees
from policies.trees import routes, usage

CONTEXTS = np.random.default_rng(0).integers(0, 2, (7, 3)).astype(float)
CASES = {  # depth, literals, actions
    "stumps": (1, 3, 3),
    "depth 2": (2, 3, 2),
    "depth 2, three actions": (2, 2, 3),
    "depth 3": (3, 2, 2),
    "one literal": (2, 1, 3),
}
BOUNDS = {"at most": (-np.inf, 0.3), "at least": (0.6, np.inf), "between": (0.35, 0.6), "exactly": (0.5, 0.5)}


def every_derivation(p: int, n_actions: int, depth: int) -> Iterator[list[int]]:
    """Yield the leaves of every derivation, by the definition: a test, then a derivation on either side of it."""

    def below(path: int, height: int) -> Iterator[list[int]]:
        if height == 0:
            yield from ([path * n_actions + a] for a in range(n_actions))
            return
        for f in range(p):
            fails, holds = (below(path * 2 * p + 2 * f + s, height - 1) for s in (0, 1))
            for one, other in product(list(fails), list(holds)):
                yield one + other

    return below(0, depth)


def trees(case: str) -> tuple[Terms, Ints]:
    """Return the terms of a case, and the leaves (N, 2^D) of all derivations."""
    depth, p, n_actions = CASES[case]
    terms = DecisionTrees(n_actions, depth, thresholds=((0.5,),) * p).terms()
    return terms, np.array(list(every_derivation(p, n_actions, depth)))


def drawn(terms: Terms, rng: np.random.Generator, *, whole: bool) -> Floats:
    """Return totals (n_terms,)."""
    return rng.integers(-9, 10, terms.n_terms).astype(float) if whole else rng.normal(size=terms.n_terms)


def row_of(weights: Floats, leaves: Ints, bounds: tuple[float, float]) -> SideConstraint:
    """Return a row whose bounds are the weights of derivations, at these shares of them in order of weight."""
    every = np.sort(weights[leaves].sum(axis=1))
    ends = [share if np.isinf(share) else every[round(share * (len(every) - 1))] for share in bounds]
    slack = 1e-9  # as side constraints have it
    return SideConstraint(weights, ends[0] - slack, ends[1] + slack)


def keeps(rows: list[SideConstraint], leaves: Ints) -> Floats:
    """Return which derivations (N,) keep all rows."""
    weights = [row.weights[leaves].sum(axis=1) for row in rows]
    return np.all([(row.lower <= w) & (w <= row.upper) for row, w in zip(rows, weights, strict=True)], axis=0)


def check(terms: Terms, leaves: Ints, rows: list[SideConstraint], totals: Floats, *, whole: bool) -> None:
    """Compare every answer under ``rows`` with that of the list."""
    under, kept = terms.under(rows), keeps(rows, leaves)
    costs = np.where(kept, totals[leaves].sum(axis=1), np.inf)
    rtol = 0.0 if whole else 1e-12
    for place in terms.places(CONTEXTS):
        reached = [np.isin(leaves, place[:, a]).any(axis=1) for a in range(terms.n_actions)]
        least = [costs[here].min() for here in reached]
        np.testing.assert_allclose(under.profile(totals, place), least, rtol=rtol, atol=rtol)
        for rate in (0.0, 0.3, 50.0):
            with np.errstate(invalid="ignore"):
                scaled = np.where(kept, -rate * costs, -np.inf)
            logs = [np.logaddexp.reduce(scaled[here]) for here in reached]
            np.testing.assert_allclose(under.log_weights(totals, place, rate), logs, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(under.log_derivations, np.log(kept.sum()), rtol=1e-12)
    value, tree = under.minimise(totals)
    np.testing.assert_allclose(value, costs.min(), rtol=rtol, atol=rtol)
    for context, place in zip(CONTEXTS, terms.places(CONTEXTS), strict=True):
        profile = under.profile(totals, place)
        np.testing.assert_allclose(profile[tree.predict(context[None])[0]], value, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("case", CASES)
def test_one_row_is_kept_and_nothing_else(case: str, bounds: str, whole: bool) -> None:
    """Least totals, sums of weights, counts and policies under a row, with noise on leaves that no context reaches."""
    terms, leaves = trees(case)
    rng = np.random.default_rng(5)
    rows = [row_of(drawn(terms, rng, whole=whole), leaves, BOUNDS[bounds])]
    assert 0 < keeps(rows, leaves).sum() < len(leaves)
    check(terms, leaves, rows, drawn(terms, rng, whole=whole), whole=whole)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("n_rows", [2, 3])
@pytest.mark.parametrize("case", [case for case in CASES if case != "depth 3"])
def test_several_rows_are_kept_together(case: str, n_rows: int, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same under two rows and three, one of them two-sided; with three, few pairs are put in order at a time."""
    monkeypatch.setattr(usage, "AT_ONCE", usage.AT_ONCE if n_rows == 2 else 40)
    terms, leaves = trees(case)
    rng = np.random.default_rng(6)
    shares = [(-np.inf, 0.7), (0.2, 0.9), (0.3, np.inf)][:n_rows]
    rows = [row_of(drawn(terms, rng, whole=whole), leaves, bounds) for bounds in shares]
    assert 0 < keeps(rows, leaves).sum() < min(keeps([row], leaves).sum() for row in rows)
    check(terms, leaves, rows, drawn(terms, rng, whole=whole), whole=whole)


@pytest.mark.parametrize("n_rows", [1, 2])
def test_weights_of_the_kept_survive_far_cheaper_trees_that_are_not(n_rows: int) -> None:
    """Sums over trees that cost thousands more than the cheapest of all lose no digits, and nothing is NaN."""
    terms, leaves = trees("depth 2")
    weights = np.random.default_rng(7).integers(0, 5, terms.n_terms).astype(float)
    row = row_of(weights, leaves, (-np.inf, 0.1))
    check(terms, leaves, [row] * n_rows, -3000.0 * weights, whole=True)


@pytest.mark.parametrize("n_rows", [1, 2])
@pytest.mark.parametrize("case", [*CASES, "no literal"])
def test_rows_that_no_tree_keeps(case: str, n_rows: int) -> None:
    """Profiles are infinite, weights are none, and there is no least policy."""
    terms = trees(case)[0] if case in CASES else DecisionTrees(2, thresholds=((),)).terms()
    totals = np.arange(terms.n_terms, dtype=float)
    under = terms.under([SideConstraint(totals, -np.inf, -1.0)] * n_rows)
    place = terms.places(CONTEXTS)[0]
    assert (under.profile(totals, place) == np.inf).all()
    assert (under.log_weights(totals, place, 0.1) == -np.inf).all()
    with pytest.raises(InfeasibleError):
        under.minimise(totals)


def test_without_literals_the_actions_that_keep_the_rows_are_left() -> None:
    """A tree over no literal is one leaf."""
    terms = DecisionTrees(3, thresholds=((),)).terms()
    under = terms.under([SideConstraint(np.array([0.0, 1.0, 2.0]), 0.5, np.inf)])
    totals, place = np.array([-5.0, 4.0, 3.0]), terms.places(CONTEXTS)[0]
    assert under.profile(totals, place).tolist() == [np.inf, 4.0, 3.0]
    assert under.log_weights(totals, place, 2.0).tolist() == [-np.inf, -8.0, -6.0]
    value, leaf = under.minimise(totals)
    assert value == 3.0
    assert leaf.predict(CONTEXTS).tolist() == [2] * 7


def test_what_would_be_too_much_to_keep_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its size and with the way out: by the class where no rule is small enough, else when the rows are known."""
    opened = DecisionTrees(3, depth=3, thresholds=50).on(np.random.default_rng(0).normal(size=(99, 1)))
    assert "constraints" not in opened.capabilities
    with pytest.raises(InputError, match=r"lists the class by 51 950 200 numbers, more than .* kind 'milp'"):
        opened.require("constraints")  # 100 (49 * 102^2 + 102) + 4 * 1225 (48 * 2^2 + 2 * 2)
    terms = DecisionTrees(3, depth=2, thresholds=((*range(5),),)).terms()
    monkeypatch.setattr(usage, "MOST_LEFT", 4)
    with pytest.raises(SearchTooLargeError, match=r"compares 5 policies, more than 4; use oracle kind 'milp'"):
        # Where all weigh nothing a merged state has one item: a pair for each of 5 roots.
        terms.under([SideConstraint(np.zeros(terms.n_terms), -np.inf, 0.0)] * 2)
    monkeypatch.setattr(usage, "MOST_LEFT", 5)
    under, totals = terms.under([SideConstraint(np.zeros(terms.n_terms), -np.inf, 0.0)] * 2), np.arange(terms.n_terms)
    assert under.value(totals.astype(float)) == terms.value(totals.astype(float))


def test_the_counted_pairs_are_those_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights without equal sums do not merge: 4 states of 2 tests, on either side 2 * 2^2 items."""
    terms = DecisionTrees(2, depth=3, thresholds=((0.5,),) * 2).terms()
    row = SideConstraint(np.random.default_rng(0).normal(size=terms.n_terms), -np.inf, 0.0)
    monkeypatch.setattr(routes, "MOST_PAIRS", 4 * 4 * 2 * 8**2)  # an item counts four times, and all are of one pair
    assert terms.under([row]).value(np.zeros(terms.n_terms)) == 0.0
    monkeypatch.setattr(routes, "MOST_PAIRS", 4 * 4 * 2 * 8**2 - 1)
    with pytest.raises(SearchTooLargeError, match="by 2 048 numbers, more than 2 047; use oracle kind 'milp'"):
        terms.under([row])
    monkeypatch.setattr(routes, "MOST_PAIRS", 4 * 2 * 8**2 - 1)
    with pytest.raises(SearchTooLargeError, match="by 512 numbers, more than 511"):
        terms.under([row])


def test_equal_weights_merge() -> None:
    """A budget on one action has at most 2 p + 2 items a state of depth D - 1, and above it one for each count."""
    contexts = np.random.default_rng(1).integers(0, 2, (40, 5)).astype(float)
    terms = DecisionTrees(3, depth=3, thresholds=((0.5,),) * 5).terms()
    counts = terms.adder(contexts)(np.tile([0.0, 0.0, 1.0], (40, 1))).copy()
    sizes = states_of(terms.under([SideConstraint(counts, -np.inf, 8.0)]))
    assert all(level.max() <= most for level, most in zip(sizes, (2, 12, 41), strict=True))
    rates = np.array([1.0 / 7.0, -1.0 / 11.0])[(contexts[:, 0] > 0).astype(int)]  # sums that differ by rounding
    parity = terms.adder(contexts)(rates[:, None] * np.array([0.0, 0.0, 1.0])).copy()
    assert states_of(terms.under([SideConstraint(parity, -0.1, 0.1)]))[1].max() <= 12


def states_of(under: Any) -> list[Ints]:
    """Return how many nodes the states of depth 3 over five literals have: leaves, those of height 1, of height 2."""
    return np.split(np.diff(under.trees._graph.start)[4:], [1000, 1100])
