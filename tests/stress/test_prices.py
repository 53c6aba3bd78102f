"""Prices of restrictions and fronts of two outcomes against lists of all policies, and how often intervals hold.

Instances are small: up to 8 rows, 3 columns and 3 actions, whole costs, trees, thresholds, rule lists, scoring systems,
boxes. All policies of the class are listed, those that keep a restriction are picked by what they do, and the least
total cost is taken: prices must be equal, and so must the points of fronts. The intervals are of logs with known truth.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint
from milpcb.offline import best_reference, read_log, scores
from milpcb.offline.restrictions import Question, gain_band, pareto, prices
from milpcb.oracles import open_oracle
from milpcb.rng import child
from milpcb.types import Floats, Ints
from policies import BoxRules, DecisionTrees, LinearRules, RuleLists, ThresholdRules
from tests.stress.known_truths import least

CLASSES: dict[str, Callable[[int], Any]] = {
    "trees": lambda K: DecisionTrees(K, depth=2, thresholds="all"),
    "quantiles": lambda K: DecisionTrees(K, depth=2, thresholds=2),
    "stumps": lambda K: DecisionTrees(K, depth=1, thresholds="all"),
    "thresholds": lambda K: ThresholdRules(K, max_cuts=2, thresholds="all"),
    "lists": lambda K: RuleLists(K, max_rules=2, thresholds="all"),
    "points": lambda K: LinearRules(K, max_weight=1),
    "boxes": lambda K: BoxRules(K, thresholds="all"),
}
Granted = Callable[[Any, Ints], bool]  # of a policy and what it plays in the rows


def instance(number: int) -> tuple[str, Question, Floats, Floats, np.random.Generator]:
    """Return a class, its question, two tables of whole costs, and a generator."""
    rng = child(number, "prices")
    name = list(CLASSES)[number % len(CLASSES)]
    K = 2 if name == "boxes" else int(rng.integers(2, 4))
    columns = 2 if K == 3 else int(rng.integers(2, 4))
    X = rng.integers(0, 3, size=(int(rng.integers(4, 9)), columns)).astype(float)
    X[0], X[1] = 0.0, 2.0  # every column has a cut
    a, b = rng.integers(-9, 10, size=(2, len(X), K)).astype(float)
    return name, Question(CLASSES[name](K), X), a, b, rng


def restrictions(question: Question, rng: np.random.Generator) -> Iterator[tuple[str, Question, Granted]]:
    """Yield restrictions by name, and by what a policy keeps them."""
    X, K = question.rows, question.policies.n_actions
    grid = _grid(X)
    column = int(rng.integers(X.shape[1]))
    yield "without a column", question.without(column), lambda policy, _: _blind(policy, grid, column)
    labels, here = rng.integers(0, K, len(X)), rng.random(len(X)) < 0.3
    others = here[:, None] & (labels[:, None] != np.arange(K))
    rule = LabelConstraint(others.astype(float), 0.0)
    yield "as labelled", question.under(rule), lambda _, own: bool((own == labels)[here].all())
    if isinstance(question.policies, DecisionTrees):
        if _has_cut(question, column):
            rooted = lambda tree, _: _depth(tree.root) < question.policies.depth or tree.root.feature == column  # noqa: E731
            yield "first", question.first(column), rooted
        yield "leaves", question.with_options(max_leaves=3), lambda policy, _: len(policy.leaf_actions) <= 3
        if question.policies.depth > 1:
            yield "depth", question.with_options(depth=1), lambda policy, _: _depth(policy.root) <= 1


def _has_cut(question: Question, column: int) -> bool:
    cuts, values = question.policies.on(question.rows).fixed().thresholds[column], question.rows[:, column]
    return any(0 < (values <= cut).sum() < len(values) for cut in cuts)


def _blind(policy: Any, X: Floats, column: int) -> bool:
    here = np.arange(X.shape[1]) == column
    played = np.array([policy.predict(np.where(here, value, X)) for value in (0.0, 1.0, 2.0)])
    return not np.diff(played, axis=0).any()


def _depth(node: Any) -> int:
    return 1 + max(_depth(node.yes), _depth(node.no)) if hasattr(node, "yes") else 0


def listed(question: Question) -> tuple[list[Any], Ints]:
    """Return all policies of the class, and what each plays in the rows (N, n).

    They are listed on a grid too, where no two columns divide the rows alike: on the rows, of two policies that play
    alike, one that tests the earlier column would stand for both.
    """
    known: Any = question.policies.on(question.rows)
    fixed = known.fixed() if "fixed" in known.capabilities else question.policies
    everywhere = np.vstack([question.rows, _grid(question.rows)])
    every = list(open_oracle(fixed, everywhere, kind="enumeration").opened.policies())
    return every, np.array([policy.predict(question.rows) for policy in every])


def _grid(X: Floats) -> Floats:
    return np.array(list(product(*([0.0, 1.0, 2.0] for _ in X.T))))


def compared(number: int) -> list[str]:
    """Return what of an instance differs from the lists."""
    name, question, a, b, rng = instance(number)
    every, labels = listed(question)
    rows = np.arange(labels.shape[1])
    totals = np.array([table[rows, labels].sum(axis=1) for table in (a, b)])
    wrong = []
    for restriction, restricted, keeps in restrictions(question, rng):
        kept = [total for policy, own, total in zip(every, labels, totals[0], strict=True) if keeps(policy, own)]
        wanted = min(kept) - totals[0].min() if kept else np.inf
        found = prices(question, a, {restriction: restricted})[0]
        if not (found.price == wanted or abs(found.price - wanted) < 1e-6):
            wrong.append(f"{number} {name} {restriction}: {found.price} for {wanted}")
    found = [(round(point.a), round(point.b)) for point in pareto(question, a, b)]
    corners, supported = (_supported(totals, strictly=strictly) for strictly in (True, False))
    if not set(corners) <= set(found) <= set(supported) or found != sorted(found):
        wrong.append(f"{number} {name} front: {found} for {corners}")
    return wrong


def _supported(totals: Floats, *, strictly: bool) -> list[tuple[int, int]]:
    """Return the totals (a, b) that no other betters, and that no two others have a segment below, or through."""
    best, below = list[tuple[int, int]](), 0 if strictly else 1
    for point in sorted({(int(a), int(b)) for a, b in totals.T.tolist()}):
        if not best or point[1] < best[-1][1]:
            best.append(point)
    return [
        point
        for number, point in enumerate(best)
        if all(
            (one[1] - other[1]) * (point[0] - one[0]) + (other[0] - one[0]) * (point[1] - one[1]) < below
            for one, other in product(best[:number], best[number + 1 :])
        )
    ]


def intervals(number: int, n: int = 500) -> bool:
    """Return whether the interval of the price of forbidding a column holds, in a log whose truth is known."""
    rng = child(number, "price intervals")
    everyone = np.array(list(product((0.0, 1.0), repeat=4)))
    X = rng.integers(0, 2, size=(n, 4)).astype(float)
    action = rng.integers(0, 2, size=n)
    reward = action * _effect(X) + rng.normal(size=n)
    found = scores(read_log(X, action, reward=reward, propensity=[0.5, 0.5]), "ips")
    trees = DecisionTrees(2, depth=2)
    question = Question(trees, X)
    band = gain_band(question, found, best_reference(found), draws=60, seed=number)
    price = prices(question, found.costs / n, {"without x0": question.without(0)}, band=band)[0]
    costs = np.column_stack([np.zeros(len(everyone)), -_effect(everyone)]) / len(everyone)
    every = Question(trees, everyone)
    truth = prices(every, costs, {"without x0": every.without(0)})[0].price
    return price.lower <= truth + 1e-9 and truth <= price.upper + 1e-9


def _effect(X: Floats) -> Floats:
    return 0.6 * X[:, 0] - 0.3 + 0.2 * X[:, 1]


@pytest.mark.cases(14)
def test_prices_and_fronts_are_those_of_lists(numbers: range) -> None:
    """Every restriction and the whole front of each class."""
    assert [wrong for number in numbers for wrong in compared(number)] == []


@pytest.mark.cases(4)
def test_intervals_of_prices_hold(runs: int, record_property: Any) -> None:
    """In 95 of 100 logs, by two standard errors."""
    share = np.mean([intervals(number) for number in range(runs)])
    record_property("figure", f"{share:.1%} hold")
    assert share >= least(0.95, runs)
