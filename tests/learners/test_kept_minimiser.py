"""The kept minimiser: always a cheapest policy, the same one by every oracle, at few queries."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from milpcb import LabelConstraint, open_oracle
from milpcb.errors import OracleInexact
from milpcb.learners.kept_minimiser import KeptMinimiser
from milpcb.types import Answer, Floats, Ints, Stop
from policies import DecisionTrees, FiniteClass

Change = tuple[int, Floats]
TREES = DecisionTrees(n_actions=2, depth=2, max_leaves=3)
BITS = np.array([[i >> j & 1 for j in range(4)] for i in range(16)], float)
HALF_OF_THEM = LabelConstraint(np.tile([0.0, 1.0], (16, 1)), upper=8)


def order(n_contexts: int, n_actions: int = 2) -> Floats:
    """Return an order of contexts and actions."""
    return np.random.default_rng(5).random((n_contexts, 1 + n_actions))


def changes(rng: np.random.Generator, n_contexts: int, n_actions: int, count: int) -> list[Change]:
    """Return random changes of single rows: estimates and noise."""
    rows = rng.integers(n_contexts, size=count).tolist()
    return [(row, rng.integers(-2, 3, n_actions).astype(float)) for row in rows]


def played(
    kept: KeptMinimiser, now: list[Change], known: bool = True, later: Sequence[Change] = ()
) -> list[tuple[list[int], float]]:
    """Return the leader and its total after each change, where those to come are ``known``."""
    leaders, coming = [], [*now, *later]
    for t, (row, change) in enumerate(now):
        kept.change(row, change)

        def harm(actions: Ints, time: int, after: int = t + 1) -> Floats:
            found = np.zeros(len(actions))
            for other, more in coming[after : after + time if known else after]:
                found[other] += more[actions[other]] - more.min()
            return found

        if kept.in_doubt:
            kept.update(harm)
        leaders.append((list(kept.actions), kept.total))
    return leaders


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("known", "most"), [(True, 0.45), (False, 0.6)])
def test_the_leader_is_a_cheapest_policy_after_every_change(known: bool, most: float, ordered: bool) -> None:
    """On random lists of policies, whether or not the changes to come are known, and it stays while it is one."""
    rng, queries = np.random.default_rng(1), 0
    for _ in range(30):
        m, n_actions = int(rng.integers(1, 7)), int(rng.integers(2, 4))
        labelings = np.unique(rng.integers(0, n_actions, (int(rng.integers(2, 30)), m)), axis=0)
        oracle = open_oracle(FiniteClass(labelings, n_actions), np.arange(float(m))[:, None], kind="enumeration")
        costs = rng.integers(-3, 4, (m, n_actions)).astype(float)
        kept = KeptMinimiser(oracle, costs, partial(order, n_actions=n_actions) if ordered else None)
        coming = changes(rng, m, n_actions, 40)
        before: list[int] = []
        for t, (row, change) in enumerate(coming):
            [(actions, total), *_] = played(kept, coming[t : t + 1], known, coming[t + 1 :])
            costs[row] += change
            totals = oracle.totals(costs)
            assert costs[np.arange(m), actions].sum() == total == totals.min()
            if before and costs[np.arange(m), before].sum() == total:
                assert actions == before
            before = actions
            assert kept.queries - kept.ties <= 1 + kept.harms
        queries += kept.queries - kept.ties
        assert kept.queries == oracle.calls
        assert ordered or not kept.ties
    assert queries < most * 30 * 40


def by_every_oracle(constraints: Any) -> list[Any]:
    """Return oracles of one class by search, list and three solvers."""
    kinds = [{"kind": "search"}, {"kind": "enumeration"}]
    kinds += [{"kind": "milp", "solver": solver} for solver in ("highs", "scip", "scipy")]
    return [open_oracle(TREES, BITS, constraints=constraints, **kind) for kind in kinds]


@pytest.mark.parametrize("constraints", [(), (HALF_OF_THEM,)])
def test_every_exact_oracle_leads_to_the_same_leaders(constraints: Any) -> None:
    """Also where many policies are equal, and under side constraints."""
    coming = changes(np.random.default_rng(5), 16, 2, 15)
    runs = [played(KeptMinimiser(oracle, np.zeros((16, 2)), order), coming) for oracle in by_every_oracle(constraints)]
    assert len({tuple(actions) for actions, _ in runs[0]}) > 2
    assert all(run == runs[0] for run in runs[1:])


def test_a_known_harm_is_allowed_for() -> None:
    """Three policies on one context; harms that took no query pay for a look ahead, and what it sees asks no more."""
    oracle = open_oracle(FiniteClass([[0], [1], [2]], 3), [[0.0]], kind="enumeration")
    kept = KeptMinimiser(oracle, np.array([[0.0, 4.0, 9.0]]), partial(order, n_actions=3))
    one, others = np.array([1.0, 0.0, 0.0]), np.array([0.0, 2.0, 2.0])
    played(kept, [(0, 0 * one)])
    first, coming = kept.queries, [(0, others), *[(0, one)] * 5]
    assert [actions for actions, _ in played(kept, coming)] == [[0]] * 6
    assert (kept.queries - first, kept.harms) == (1, 5)
    kept.change(0, 2 * one)
    assert kept.in_doubt
    kept.update(lambda actions, _: np.zeros(len(actions)))
    assert (kept.actions, kept.harms) == ([1], 6)


def test_without_an_order_a_policy_known_succeeds_without_a_query() -> None:
    """Its total is at most what no policy is below."""
    oracle = open_oracle(FiniteClass([[0], [1], [2]], 3), [[0.0]], kind="enumeration")
    kept = KeptMinimiser(oracle, np.array([[0.0, 1.0, 9.0]]), None)
    for change in ([0.0, 0.0, 0.0], [2.0, 0.0, 0.0]):
        kept.change(0, np.array(change))
        kept.update(lambda actions, _: np.zeros(len(actions)))
    assert (kept.actions, kept.queries, kept.number) == ([1], 2, 2)
    kept.change(0, np.array([-2.0, 1.0, 0.0]))
    assert kept.in_doubt
    kept.change(0, np.array([1.0, 0.0, 0.0]))
    kept.update(lambda actions, _: np.zeros(len(actions)))
    assert (kept.actions, kept.total, kept.queries, kept.ties) == ([0], 1.0, 3, 0)


def test_which_leader_is_known_to_be_alone() -> None:
    """``first_by`` returns what some cheapest policy plays; alone is alone."""
    oracle = open_oracle(FiniteClass([[0, 0], [1, 0], [2, 1]], 3), [[0.0], [1.0]], kind="enumeration")
    kept = KeptMinimiser(oracle, np.zeros((2, 3)), None)
    kept.update(lambda actions, _: np.zeros(len(actions)))
    kept.change(0, np.full(3, 2.0))
    for rank, expected in (([0.0, 1.0, 2.0], 0), ([2.0, 0.0, 1.0], 1), ([2.0, 1.0, 0.0], 2)):
        assert not kept.leads_alone(0)
        assert kept.first_by(np.array(rank), 0) == expected
    kept.change(0, np.array([0.0, 5.0, 5.0]))
    kept.update(lambda actions, _: np.ones(len(actions)))
    assert kept.actions[0] == 0
    assert kept.leads_alone(0)


class Hasty:
    """An oracle that stops early: honest bounds, and a policy that need not be the best."""

    def __init__(self) -> None:
        self.exact: Any = open_oracle(FiniteClass([[0], [1]], 2), [[0.0]], kind="enumeration")
        self.contexts, self.n_contexts = self.exact.contexts, 1

    def minimise(self, costs: Floats) -> Answer:
        """Return the second policy, and a lower bound one below the least total."""
        least = float(costs.min())
        return Answer(
            least - 1,
            float(costs[0, 1]),
            self.exact.minimise(costs[:, ::-1] * 0 + [[1, 0]]).policy,
            Stop.TIME_LIMIT,
            0.0,
        )


def test_an_unproved_answer_is_an_error_or_a_doubt() -> None:
    """The leader may cost its total less the bound too much; it is not asked for again until it is harmed."""
    with pytest.raises(OracleInexact):
        KeptMinimiser(Hasty(), np.zeros((1, 2)), order).update(lambda actions, _: np.zeros(len(actions)))
    kept = KeptMinimiser(Hasty(), np.array([[1.0, 3.0]]), order, unproved=True)
    kept.update(lambda actions, _: np.zeros(len(actions)))
    assert (kept.total, kept.bound, kept.in_doubt) == (3.0, 0.0, False)
    kept.change(0, np.array([-1.0, -1.0]))
    assert (kept.total - kept.bound, kept.in_doubt) == (3.0, False)
    kept.change(0, np.array([0.0, 1.0]))
    assert (kept.total - kept.bound, kept.in_doubt) == (4.0, True)
