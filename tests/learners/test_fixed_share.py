"""Fixed share over starts: their tables, the ruler, bounds, late costs, saved states."""

import json
from itertools import pairwise
from math import log, log1p, sqrt
from typing import Any, ClassVar

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.learners import FixedShare
from milpcb.learners.fixed_share import Alarm
from milpcb.protocols import SeveralTables
from policies import DecisionTrees
from policies.trees.several import SeveralTrees
from tests.learners.rounds import each_round, listed
from tests.theory.coins.paths import Alarmed, Hurried

BITS = np.array([[row >> bit & 1 for bit in range(4)] for row in range(16)], dtype=float)
LABELINGS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
CUTS = [[0.5]] * 4


def of_trees(depth: int, n_actions: int = 3) -> Any:
    """Return the search of trees on four bits."""
    return open_oracle(DecisionTrees(n_actions, depth, thresholds=CUTS), BITS, kind="search")


def play(learner: Any, rounds: int, seed: int = 0) -> None:
    """Play rounds whose good action changes a few times."""
    every = np.arange(learner.n_actions)

    def costs(row: int, rng: Any) -> Any:
        good = every == (row + learner.played // 40) % learner.n_actions
        return rng.random() < np.where(good, 0.2, 0.7)

    for _ in each_round(learner, rounds, costs, seed):
        pass


@pytest.mark.parametrize(("depth", "n_actions"), [(0, 3), (1, 2), (2, 3), (3, 2)])
def test_trees_weigh_several_tables_as_they_weigh_each(depth: int, n_actions: int) -> None:
    """The recursion over all tables answers as each table does, whatever its totals and the rate."""
    oracle, rng = of_trees(depth, n_actions), np.random.default_rng(depth)
    table = oracle.table("columns")
    together, separate = table.several(), SeveralTables(table)
    assert type(together) is SeveralTrees
    for both in (together, separate):
        both.begin(0)
    for step in range(150):
        if step % 20 == 10:
            place = int(rng.integers(1 + len(together.state())))
            for both in (together, separate):
                both.begin(place)
        row, action = int(rng.integers(16)), int(rng.integers(n_actions))
        amount = float(rng.choice([0.0, 0.3, 2.0, 90.0, 2000.0]))
        for both in (together, separate):
            both.add(row, action, amount)
        if step % 3 == 0:
            rate = float(rng.choice([0.01, 0.3, 4.0])) if step % 5 == 0 else 0.3
            found, expected = (both.action_weights(row, rate) for both in (together, separate))
            assert found.shape == (len(together.state()), n_actions)
            np.testing.assert_allclose(found, expected, atol=1e-12)
    assert together.state() == separate.state()


def test_tables_go_on_to_the_last_bit_after_any_history() -> None:
    """Sums kept from call to call are a function of the totals, which go through JSON."""
    oracle, rng = of_trees(2), np.random.default_rng(3)
    kept = oracle.table("columns").several()
    kept.begin(0)
    kept.begin(1)
    for _ in range(100):
        row = int(rng.integers(16))
        kept.add(row, int(rng.integers(3)), float(rng.exponential(20.0)))
        weights = kept.action_weights(row, 0.7)
        again = oracle.table("columns").several()
        again.restore(json.loads(json.dumps(kept.state())))
        assert (again.action_weights(row, 0.7) == weights).all()


def test_starts_live_as_the_ruler_says_and_weights_stay_a_distribution() -> None:
    """Start k is awake until 4 lowbit(k) more are born, start 0 for ever."""
    learner = FixedShare(listed(LABELINGS))
    for _ in range(3_000):
        block = learner.block
        awake = {0, *(k for k in range(1, block + 1) if k + 4 * (k & -k) > block)}
        starts, logs = zip(*learner.starts(), strict=True)
        assert set(starts) == awake
        assert np.exp(logs).sum() == pytest.approx(1.0)
        play(learner, 1)
    assert len(learner.starts()) <= 1 + 2 * learner.block.bit_length()


def test_as_many_starts_are_counted_as_any_policies_in_turn_need() -> None:
    """The next piece begins where a start is born, as late as the one before is awake, that lives longest."""
    learner = FixedShare(listed(LABELINGS))
    for n in (1, 2, 5, 20, 63, 64, 200):
        needed = 0
        for begin in range(1, n):
            pieces, block = 1, begin
            while block + 4 * (block & -block) < n:
                reach = range(block + 1, block + 4 * (block & -block) + 1)
                pieces, block = pieces + 1, max(reach, key=lambda k: k & -k)
            needed = max(needed, pieces)
        assert min(n, 1 + needed) <= learner._pieces(1, n) <= n


@pytest.mark.parametrize("kind", [FixedShare, Hurried, Alarmed])
def test_the_bound_is_the_statement_and_no_certificate_is_above_it(kind: Any) -> None:
    """At any number of changes, whether the rate falls or not."""
    learner = kind(listed(LABELINGS), horizon=120)
    assert learner.bound() == 0.0
    for rounds in (1, 59, 60):
        play(learner, rounds, seed=rounds)
        stated = learner.changes(most=4).certificates
        bounds = [learner.bound(changes=c) for c in range(5)]
        assert all(one <= other for one, other in pairwise(bounds))
        assert all(bound >= value for bound, value in zip(bounds, stated, strict=False))
    n, J = learner.block + 1, 1 + 2 * (learner.block + 1).bit_length()
    price = log(4) - (n - 1) * log1p(-kind.share) + log(J)
    stated = price / learner.state()["least"] + log(4 * J) * learner.state()["risen"] + learner.state()["gaps"]
    assert learner.bound() == pytest.approx(stated)
    assert np.isnan(learner.bound(0.95))


def test_the_guarantee_is_the_bound_with_all_that_a_horizon_allows() -> None:
    """After T rounds, an alarm in each block, and gaps of V = C K T."""
    planned = FixedShare(listed(LABELINGS), horizon=100)
    n = 3 + 2 * sum(end < 100 for end in planned.ledger.blocks.ends)
    J = 1 + 2 * n.bit_length()
    price, C = log(4) - (n - 1) * log1p(-planned.share) + log(J), log(4) - log(planned.share)
    V = C * planned.n_actions * 100
    risen = sqrt(2 * V)
    assert planned.guarantee() == pytest.approx(
        price + (price / C + 1) * (0.5 + sqrt(0.25 + 1.05 * V) + risen) + log(4 * J) * risen / C
    )
    assert planned.guarantee(changes=3) > planned.guarantee()
    assert FixedShare(listed(LABELINGS)).guarantee() == np.inf


def test_what_is_certain_is_bounded_where_estimates_are_optimistic() -> None:
    """On every path, at any confidence; nothing is known beforehand, or where estimates are unbiased."""
    learner = FixedShare(listed(LABELINGS), horizon=120, estimates="optimistic")
    play(learner, 120)
    for changes in (0, 2):
        assert learner.bound(changes=changes) >= learner.certificate(changes=changes)
        for sure in (0.6, 0.95):
            assert learner.bound(sure, changes=changes) >= learner.certificate(confidence=sure, changes=changes)
    assert learner.guarantee() == np.inf


def test_the_rate_falls_with_what_rounds_add_to_the_bound() -> None:
    """It is C / Delta, up to the step."""
    learner, rates = FixedShare(listed(LABELINGS), horizon=2000), []
    for seed in range(100):
        play(learner, 20, seed)
        rates.append(learner.rate)
    assert all(one >= other for one, other in pairwise(rates))
    wanted = (log(4) - log(FixedShare.share)) / learner.state()["gaps"]
    assert wanted <= learner.rate <= 1.05 * wanted < 0.7


class Watched(FixedShare):
    """The rounds are noted after which starts were born."""

    born: ClassVar[list[int]] = []

    def _start(self, number: int) -> None:
        self.born.append(self.played + 1)
        super()._start(number)


def test_an_alarm_brings_a_start_and_the_first_rate() -> None:
    """Once in a block, where costs rise that had been low; a restored learner hears it in the same round."""
    Watched.born.clear()
    learner, T = Watched(listed(LABELINGS), horizon=4000), 4000
    for t in range(T):
        if t == 2500:
            state, learner = json.loads(json.dumps(learner.state())), Watched(listed(LABELINGS), horizon=T)
            learner.restore(state)
        q = learner.act(t % 2)
        action = int(q.argmax())
        cost = float(t % 3 == 0) if t < 2450 else 1.0
        learner.learn(t % 2, action, cost, float(q[action]))
        if t >= 2450 and learner.rate == 1.0:
            break
    (heard,) = set(Watched.born) - set(range(200, T, 200))
    assert 2450 < heard == t + 1 < 2550
    assert learner.block == len(Watched.born) == heard // 200 + 1
    assert learner.state()["least"] < 1.0
    assert learner.state()["risen"] == pytest.approx(1 / learner.state()["least"] - 1)


def test_alarms_ring_seldom_where_nothing_changes() -> None:
    """In at most 8 % of runs of 20 000 rounds, by its docstring; where costs rise by a fifth it takes some 300."""
    rng, rung, after = np.random.default_rng(0), 0, []
    for _ in range(12):
        alarm = Alarm(FixedShare.calm)
        costs = rng.random(22_000) < np.where(np.arange(22_000) < 20_000, 0.3, 0.5)
        heard = [t for t, cost in enumerate(costs.tolist(), 1) if alarm.rings(float(cost), t)]
        rung += heard[0] <= 20_000
        after.append(heard[0] - 20_000)
    assert rung <= 1
    assert np.median(after) < 400


def test_late_rounds_keep_the_bound_above_the_certificates() -> None:
    """In any order of learning, across the ends of blocks."""
    learner, waiting, rng = FixedShare(listed(LABELINGS), horizon=150), [], np.random.default_rng(1)
    for t in range(150):
        row = int(rng.integers(2))
        action = int(rng.choice(2, p=learner.act(row)))
        waiting.append((learner.set_aside(), action))
        if len(waiting) > 12 or t == 149:
            for aside, played in waiting[:: 1 if t % 2 else -1]:
                learner.take_up(aside)
                wrong = played != LABELINGS[(t // 50) % 4, aside.row]
                learner.learn(aside.row, played, float(wrong), aside.q[played])
            waiting.clear()
            stated = learner.changes(most=3).certificates
            assert all(learner.bound(changes=c) >= value for c, value in enumerate(stated))


def test_the_best_policy_is_that_since_the_leading_start() -> None:
    """It is the least by the estimates of its blocks, whichever they are; the certificate is over all rounds."""
    learner = FixedShare(listed(LABELINGS), horizon=400)
    for seed in range(20):
        play(learner, 20, seed)
        leader = max(learner.starts(), key=lambda start: start[1])[0]  # no alarm: one start a block
        table = learner.ledger.by_block(0, 2, 2)[leader:].sum(axis=0)
        least = min(table[[0, 1], labels].sum() for labels in LABELINGS)
        assert table[[0, 1], learner.policy().predict(np.arange(2.0)[:, None])].sum() == pytest.approx(least)
    assert learner.certify().policy is not None
