"""The exact search over trees against the list of all derivations, the enumeration, and the program."""

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.types import Floats, Ints
from policies.literals import Literals
from policies.trees import DecisionTree, DecisionTrees, Leaf, Split

RNG = np.random.default_rng(0)
CONTEXTS = RNG.permutation(np.array(list(product((0.0, 1.0), repeat=4))))[[0, 1, 2, 3, 4, 5, 2, 6, 0]]  # two repeat
POOLS = {p: np.column_stack([np.ones(9), CONTEXTS[:, :p]]) for p in range(5)}  # p literals; the ones divide nothing
POOLS[3] = np.column_stack([RNG.normal(size=9).round(1), CONTEXTS[:, 0]])  # 3 from two columns of one is real
THRESHOLDS = {3: ((-0.5, 0.3), (0.5,))}
LISTED = [(p, K, depth) for p, K, depth in product(range(5), (2, 3), (1, 2, 3)) if depth < 3 or (K == 2 and p < 3)]


@cache
def trees_on(p: int, n_actions: int, depth: int, kind: str) -> Oracle:
    """Return an oracle that is opened once."""
    trees = DecisionTrees(n_actions, depth=depth, thresholds=THRESHOLDS.get(p, 3))
    assert len(Literals.of(POOLS[p], trees.thresholds)) == p
    return open_oracle(trees, POOLS[p], kind=kind)


def derivations(truth: Floats, n_actions: int, depth: int) -> Ints:
    """Return the labels (N, m) of every derivation: any literal at inner nodes, any action at leaves."""
    if depth == 0 or truth.shape[1] == 0:
        return np.repeat(np.arange(n_actions), len(truth)).reshape(n_actions, -1)
    below = derivations(truth, n_actions, depth - 1)
    pairs = [np.where(column, below[:, None], below[None]).reshape(-1, len(truth)) for column in truth.T.astype(bool)]
    return np.concatenate(pairs)


@pytest.mark.parametrize(("p", "n_actions", "depth"), LISTED)
@settings(max_examples=10)
@given(data=st.data())
def test_search_equals_enumeration(
    p: int, n_actions: int, depth: int, draw_costs: Callable[..., Floats], data: st.DataObject
) -> None:
    """Value, policy and profile are those of the explicit list, for whole and real costs of both signs."""
    search, listed = (trees_on(p, n_actions, depth, kind) for kind in ("search", "enumeration"))
    costs, row = draw_costs(data, 9, n_actions), data.draw(st.integers(0, 8))
    answer = search.minimise(costs)
    assert answer.value == pytest.approx(listed.value(costs), abs=1e-10)
    assert answer.policy is not None
    assert costs[np.arange(9), answer.policy.predict(POOLS[p])].sum() == pytest.approx(answer.value, abs=1e-10)
    assert search.value(costs) == pytest.approx(answer.value, abs=1e-10)
    assert search.profile(costs, row) == pytest.approx(listed.profile(costs, row), abs=1e-10)


@pytest.mark.parametrize(("p", "n_actions", "depth"), LISTED)
@settings(max_examples=5)
@given(data=st.data())
def test_action_weights_sum_over_derivations(
    p: int, n_actions: int, depth: int, draw_costs: Callable[..., Floats], data: st.DataObject
) -> None:
    """The Exp4 distribution counts every choice of literals and actions once, to 1e-10."""
    contexts, search = POOLS[p], trees_on(p, n_actions, depth, "search")
    costs, row, rate = draw_costs(data, 9, n_actions), data.draw(st.integers(0, 8)), data.draw(st.floats(0.0, 2.0))
    literals = Literals.of(contexts, THRESHOLDS.get(p, 3))
    truth = literals.truth[literals.group]
    labels = derivations(truth, n_actions, depth)
    logs = -rate * costs[np.arange(9), labels].sum(axis=1)
    mass = np.array([np.exp(logs - logs.max())[labels[:, row] == a].sum() for a in range(n_actions)])
    assert search.action_weights(costs, row, rate) == pytest.approx(mass / mass.sum(), abs=1e-10)


@settings(max_examples=50)
@given(data=st.data())
def test_whole_costs_beyond_single_precision_stay_exact(data: st.DataObject) -> None:
    """Costs around 2^24, where single precision begins to skip odd numbers, give the exact whole answers."""
    base = data.draw(st.sampled_from([2**20, 2**22, 2**24, 2**26, 2**40]))
    costs = data.draw(arrays(np.int64, (9, 2), elements=st.integers(-base - 9, base + 9)))
    labels = derivations(POOLS[3][:, [1]] > 0.5, 2, 1)
    totals = costs[np.arange(9), labels].sum(axis=1)
    oracle = open_oracle(DecisionTrees(2, depth=1), POOLS[3][:, [1]], kind="search")
    assert oracle.value(costs) == totals.min()
    assert oracle.minimise(costs).value == totals.min()
    assert oracle.profile(costs, 4).tolist() == [totals[labels[:, 4] == a].min() for a in range(2)]


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    """The arrays that are used again hold nothing from one question to the next."""
    rng = np.random.default_rng(3)
    search = DecisionTrees(3, depth=3).on(POOLS[4]).search()
    whole, real = rng.integers(-9, 10, (7, 3)).astype(float), rng.normal(size=(7, 3))

    def ask() -> list[object]:
        return [
            search.value(whole),
            search.log_weights(real, 2, 0.5).tolist(),
            search.profile(real, 3).tolist(),
            search.minimise(whole),
        ]

    assert ask() == ask()


def test_the_lowest_numbered_choice_wins_a_tie() -> None:
    """The first literal at each node and the first action; tests with equal sides are then left out."""
    contexts = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 1]], dtype=float)
    search = DecisionTrees(3, depth=2).on(contexts).search()
    assert search.minimise(np.zeros((5, 3))) == (0.0, DecisionTree(Leaf(0)))
    costs = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 1, 1]], dtype=float)
    below = Split(1, 0.5, Leaf(1), Leaf(0), binary=True)
    assert search.minimise(costs) == (0.0, DecisionTree(Split(0, 0.5, below, Leaf(0), binary=True)))


def test_costs_may_come_in_any_layout() -> None:
    """Read-only, integer and transposed tables are read alike."""
    search = DecisionTrees(3).on(POOLS[4]).search()
    costs = np.random.default_rng(4).integers(-9, 10, (7, 3)).astype(float)
    frozen = costs.copy()
    frozen.setflags(write=False)
    values = [search.value(table) for table in (costs, frozen, costs.astype(int), np.asfortranarray(costs))]
    assert len(set(values)) == 1


def test_nothing_is_compiled_for_those_who_do_not_search() -> None:
    """Importing the class and opening its program does not import numba."""
    program = (
        "import sys; from policies import DecisionTrees; from milpcb import open_oracle;"
        "open_oracle(DecisionTrees(2), [[0.0], [1.0]]).value([[0, 1], [1, 0]]); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
