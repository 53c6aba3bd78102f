"""Trees under side constraints against the list of all their derivations."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from milpcb.errors import InfeasibleError, InputError, SearchTooLargeError
from milpcb.protocols import SideConstraint, Terms
from milpcb.types import Floats, Ints
from policies import DecisionTrees
from policies.literals import Literals
from policies.names import Names
from policies.trees import routes, usage
from policies.trees.limits import Limits, TreesOn, context_counts
from policies.trees.search import TreeSearch

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
def test_several_rows_are_kept_together(case: str, n_rows: int, whole: bool) -> None:
    """The same under two rows and three, one of them two-sided."""
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


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("scale", [1.0, 2.0**30, 1e-300, 0.3])
def test_the_adder_gives_every_derivation_its_total(depth: int, scale: float) -> None:
    """Whole costs are added up exactly, in any unit."""
    terms = DecisionTrees(3, depth, thresholds=((0.5,),) * 3).terms()
    leaves = np.array(list(every_derivation(3, 3, depth))) if depth < 3 else np.empty((0, 8), int)
    add_up = terms.adder(CONTEXTS)
    for seed in range(3):
        costs = scale * np.random.default_rng(seed).integers(-9, 10, (7, 3))
        added, totals = add_up(costs), terms.totals(CONTEXTS, costs)
        rtol = 1e-12 if scale in (1e-300, 0.3) else 0.0
        np.testing.assert_allclose(
            added[leaves].sum(axis=1), totals[leaves].sum(axis=1), rtol=rtol, atol=rtol * scale * 100
        )
        place = terms.places(CONTEXTS)[3]
        np.testing.assert_allclose(
            terms.profile(added, place), terms.profile(totals, place), rtol=rtol, atol=rtol * scale * 100
        )


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


@pytest.mark.parametrize("depth", [2, 3])
def test_trees_keep_the_row_with_the_cost_that_is_returned(depth: int) -> None:
    """Larger trees on contexts: the policy keeps a budget, one- or two-sided, and attains the value."""
    rng = np.random.default_rng(2)
    contexts = rng.integers(0, 2, (60, 6)).astype(float)
    terms = DecisionTrees(3, depth, thresholds=((0.5,),) * 6).terms()
    add_up, weights = terms.adder(contexts), rng.integers(0, 4, (60, 3)).astype(float)
    base = weights.sum(axis=0).min()  # the lightest of the trees that play one action
    for lower, upper in [(-np.inf, base), (base + 2.0, base + 3.0), (base + 5.0, np.inf)]:
        under = terms.under([SideConstraint(add_up(weights).copy(), lower, upper)])
        for _ in range(3):
            costs = rng.integers(-9, 10, (60, 3)).astype(float)
            value, tree = under.minimise(add_up(costs))
            labels = tree.predict(contexts)
            assert costs[np.arange(60), labels].sum() == value == under.value(add_up(costs))
            assert lower <= weights[np.arange(60), labels].sum() <= upper
            assert min(under.profile(add_up(costs), terms.places(contexts[:1])[0])) == value


def test_sums_of_weights_underflow_nowhere() -> None:
    """Trees of depth 3 whose costs differ by ten thousands: every sum has all its digits."""
    terms, leaves = trees("depth 3")
    rng = np.random.default_rng(8)
    weights = rng.integers(0, 3, terms.n_terms).astype(float)
    for scale in (1.0, 100.0, 300.0, 5000.0):
        check(
            terms, leaves, [row_of(weights, leaves, (0.05, 0.2))], scale * rng.normal(size=terms.n_terms), whole=False
        )


Ways = dict[tuple[float, ...], tuple[float, float]]


def ways(truth: Floats, rows: list[SideConstraint], costs: Floats, depth: int, kept: Limits, counts: Floats) -> Ways:
    """Return least total and summed exp(-total) of all trees by leaves and usage, by definition; costs may be infinite.

    Without limits trees are full, and leaves are not counted.
    """

    @cache
    def below(here: tuple[bool, ...], height: int) -> Ways:
        at, found = np.array(here), Ways()

        def add(key: tuple[float, ...], cost: float, mass: float) -> None:
            least, sums = found.get(key, (np.inf, 0.0))
            found[key] = min(least, cost), sums + mass

        if (kept or height == 0) and not kept.too_small(counts[at].sum(axis=0)):
            for a in range(costs.shape[1]):
                cost = float(costs[at, a].sum())
                if cost < np.inf:
                    add((1, *(round(float(row.weights[at, a].sum()), 9) for row in rows)), cost, np.exp(-cost))
        for column in truth.T if height else ():
            fails, holds = (below(tuple((at & side).tolist()), height - 1) for side in (~column, column))
            for (one, (cost, mass)), (two, (other, more)) in product(fails.items(), holds.items()):
                leaves, *usage = (round(x + y, 9) for x, y in zip(one, two, strict=True))
                if kept.max_leaves is None or leaves <= kept.max_leaves:
                    add((leaves if kept.max_leaves else 1, *usage), cost + other, mass * more)
        return found

    return below((True,) * len(costs), depth)


@pytest.mark.parametrize("seed", range(60))
def test_rows_and_limits_to_depth_6_are_those_of_the_definition(seed: int) -> None:
    """Values, profiles, sums of weights and trees from costs, free and within limits, by products and by codes."""
    rng = np.random.default_rng(seed)
    depth, n_actions = 1 + seed % 6, int(rng.integers(2, 4))
    contexts = rng.integers(0, 2, (6, int(rng.integers(1, 6 if depth < 3 else 4)))).astype(float)
    literals = Literals.of(contexts, 1)
    kept = Limits(*rng.choice([None, 3, 5, 7], 1), min_leaf_size=rng.choice([None, 1, 2])) if seed % 4 else Limits()
    counts, g = context_counts(literals.group, n_actions, None), len(literals.contexts)
    if not len(literals):
        return
    rows = []
    for _ in range(int(rng.integers(1, 3))):
        weights = rng.integers(-1, 3, (g, n_actions)) / float(rng.choice([1, 3]))
        middle = float(weights[np.arange(g), rng.integers(0, n_actions, g)].sum())
        rows.append(SideConstraint(weights, *[(-np.inf, middle + 0.1), (middle - 0.1, middle + 0.6)][seed % 2]))
    under = TreeSearch(TreesOn(literals, n_actions, depth, Names(), kept, counts), by_codes=bool(seed % 3)).under(rows)
    costs, row = rng.integers(-9, 10, (g, n_actions)).astype(float), int(rng.integers(g))

    def expected(costs: Floats) -> tuple[float, float]:
        found = ways(literals.truth, rows, costs, depth, kept, counts)
        left = [found[key] for key in found if all(row.holds(used) for row, used in zip(rows, key[1:], strict=True))]
        return min((cost for cost, _ in left), default=np.inf), sum(mass for _, mass in left)

    least = expected(costs)[0]
    at_row = [
        np.where((np.arange(g) == row)[:, None] & (np.arange(n_actions) != a), np.inf, costs) for a in range(n_actions)
    ]
    profile, masses = zip(*map(expected, at_row), strict=True)
    assert under.value(costs) == least
    assert under.profile(costs, row).tolist() == list(profile)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(under.log_weights(costs, row, 1.0), np.log(masses), rtol=1e-11, atol=1e-11)
    if least < np.inf:
        value, tree = under.minimise(costs)
        labels = tree.predict(literals.contexts)
        assert value == least == costs[np.arange(g), labels].sum()
        assert all(row.keeps(labels) for row in rows)
        assert not kept or kept.allow(tree.root, literals.contexts, counts)
