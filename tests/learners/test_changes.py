"""Certificates against the best policies in turn: against lists of all sequences, saved, late, with more actions."""

import json
from itertools import combinations, product
from math import comb, factorial, log
from typing import Any

import numpy as np
import pytest

from milpcb import Bandit, blocks, ledger
from milpcb.bandit.sums import as_count
from milpcb.bets import loss, proved
from milpcb.blocks import Blocks, Changes, ProvedChange
from milpcb.errors import InputError
from milpcb.learners import ContextualFTPL, EpsilonGreedy, Exp4, Learner, Uniform
from milpcb.ledger import OWN, Ledger
from policies import DecisionTrees
from tests.learners.rounds import each_round, listed

LABELINGS = np.array([[0, 1, 2], [1, 1, 1], [2, 0, 0], [0, 0, 1]])
ENDS = {30: (6, 12, 18, 24), None: (5, 10, 20)}
LEARNERS = {
    "exp4": Exp4,
    "exp4, optimistic": lambda oracle, horizon: Exp4(oracle, horizon=horizon, rate="certified", estimates="optimistic"),
    "ftpl": lambda oracle, horizon: ContextualFTPL(oracle, horizon=horizon, epsilon="adaptive", seed=1),
    "epsilon-greedy": EpsilonGreedy,
}
Played = list[tuple[int, int, float, float, float]]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five blocks of a run with a horizon, and ends after 5, 10, 20 and 1000 rounds without."""
    monkeypatch.setattr(blocks, "PLANNED", 5)
    monkeypatch.setattr(Blocks.__init__, "__defaults__", ((5, 10, 20, 1000),))


def play(learner: Learner, rounds: int = 30, seed: int = 0) -> Played:
    """Return row, action, cost, the estimate of the cost and that of the gain of each round."""
    first, played = learner.played, []

    def costs(_row: int, rng: Any) -> Any:
        shown = rng.random(3) * (rng.random(3) < 0.6)
        shown[(learner.played - first) // 10 % 3] = 0.0
        return shown

    for row, action, cost, q in each_round(learner, rounds, costs, seed):
        weight = learner.ledger.last / cost if cost else 1.0 if learner.hides_law else 1 / float(q[action])
        played.append((row, action, cost, learner.ledger.last, (1 - cost) * weight))
    return played


def sequences(most: int, n: int) -> Any:
    """Yield the policy (n,) of each block, and after which it changes, for all sequences of ``most`` in n blocks."""
    for policies in product(range(len(LABELINGS)), repeat=most):
        for after in combinations(range(1, n), most - 1):
            yield np.repeat(policies, np.diff([0, *after, n])), after


def of_block(ends: tuple[int, ...]) -> list[int]:
    """Return the block of each of 30 rounds."""
    return [sum(end <= t for end in ends) for t in range(30)]


def price(horizon: int | None, pieces: int, after: Any, delta: float, stakes: int) -> float:
    """Return the logarithm of what the union is over, divided by delta."""
    where = comb(4, pieces - 1) if horizon else np.prod([j * (j + 1) for j in after]) / factorial(pieces - 1)
    return pieces * log(len(LABELINGS)) + log(where) + log(pieces * (pieces + 1)) + log(stakes / delta)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("horizon", [30, None])
def test_certificates_are_what_their_definition_says(name: str, horizon: int | None) -> None:
    """In the mean and with confidence, for 1 to 4 policies in turn, with planned and with growing blocks."""
    learner = LEARNERS[name](listed(LABELINGS), horizon=horizon)
    played, block = play(learner), of_block(ENDS[horizon])
    n, paid, stakes = max(block) + 1, sum(each[2] for each in played), learner.ledger.stakes
    table = learner.changes(confidence=0.9, most=3)
    for pieces in range(1, 5):
        mean, least = np.inf, 0.0
        floors = dict.fromkeys(stakes, np.inf)
        for which, after in sequences(pieces, n):
            own = [each for each, b in zip(played, block, strict=True) if LABELINGS[which[b], each[0]] == each[1]]
            mean = min(mean, sum(e for *_, e, _ in own))
            for stake in stakes:
                own_price = price(horizon, pieces, after, 1 - 0.9, len(stakes)) / loss(stake)
                floors[stake] = min(floors[stake], sum(proved(c, e, stake) for _, _, c, e, _ in own) - own_price)
        least = max(0.0, *floors.values())
        assert learner.certificate(changes=pieces - 1) == pytest.approx(paid - mean)
        assert learner.certificate(confidence=0.9, changes=pieces - 1) == pytest.approx(paid - least)
        assert table.certificates[pieces - 1] == pytest.approx(paid - least)
    assert learner.certificate(changes=0) == pytest.approx(learner.certificate())
    assert learner.certificate(changes=99) >= learner.certificate(changes=3) >= learner.certificate(changes=1)


@pytest.mark.parametrize("horizon", [4000, None])
def test_the_proof_is_what_its_definition_says(horizon: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs that change at half-time: the fewest policies in turn that have paid less, at most, than one at least."""
    monkeypatch.setattr(Blocks.__init__, "__defaults__", ((800, 1600, 2400, 3200, 10**9),))
    learner, asked, rng = Uniform(3, horizon=horizon), listed(LABELINGS), np.random.default_rng(1)
    sums = {stake: np.zeros((5, 3)) for stake in learner.ledger.stakes}
    for t in range(4000):
        learner.act(0)
        action, right = int(rng.integers(3)), 2 if t < 1600 else 1
        learner.learn(0, action, float(action != right), 1 / 3)
        for stake, table in sums.items():
            table[t // 800, action] += proved(1.0, 3.0, stake) * (action == right)
        if t == 1000:
            assert learner.changes(asked, confidence=0.9).proof is None
    single = learner.ledger.cost - learner.certificate(asked, confidence=0.95)
    most = min(
        4000 - table[np.arange(5), LABELINGS[which, 0]].sum() + price(horizon, 2, after, 1 - 0.95, 9) / loss(stake)
        for stake, table in sums.items()
        for which, after in sequences(2, 5)
    )
    assert learner.changes(asked, confidence=0.9).proof == (1, (1600,), pytest.approx(single), pytest.approx(most))
    assert most < single


def test_a_saved_run_goes_on_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether rounds enter the sums by the thousand or each by itself, saved in between or not."""
    one, other = Exp4(listed(LABELINGS), horizon=30), Exp4(listed(LABELINGS), horizon=30)
    play(one, 20)
    state = json.loads(json.dumps(one.state()))
    play(one, 10, seed=1)
    monkeypatch.setattr(ledger, "AT_ONCE", 1)
    play(other, 20)
    assert other.state() == state
    again = Exp4(listed(LABELINGS), horizon=30)
    again.restore(state)
    play(again, 10, seed=1)
    assert again.state() == one.state()
    assert again.changes(confidence=0.9) == one.changes(confidence=0.9)
    state["ledger"][3][0].append(1.0)
    with pytest.raises(InputError, match="no state of a Exp4"):
        Exp4(listed(LABELINGS), horizon=30).restore(state)


def test_late_rounds_are_in_the_block_in_which_they_began() -> None:
    """Which was known before their actions were drawn; those that nobody knows of are in the first."""
    learner = Exp4(listed(LABELINGS), horizon=30)
    q = learner.act(0)
    aside = learner.set_aside()
    play(learner, 15)
    learner.take_up(aside)
    learner.learn(0, 0, 1.0, float(q[0]))
    before = learner.ledger.by_block(0, 3, 3)
    learner.take_over(0, [0.5, 0.5, 0.0])
    learner.learn(0, 1, 1.0, 0.5)
    after = learner.ledger.by_block(0, 3, 3)
    assert np.argwhere(after != before).tolist() == [[0, 0, 1]]
    assert learner.ledger.by_block(0, 3, 3)[0, 0, 0] >= 1.0 / float(q[0])
    assert np.allclose(after.sum(axis=0), learner.ledger.totals(3, 3))


def test_a_new_action_stands_for_the_first_in_all_rounds_before() -> None:
    """In every block, of costs and of gains; a stake that was not bet has proved nothing."""
    before, after = Ledger([0.1, 0.2]), Ledger([0.2, 0.4])
    before.blocks = Blocks((2, 4), planned=True)
    for row, action, cost, estimate in [(1, 0, 1.0, 2.0), (0, 1, 0.5, 2.0), (1, 0, 0.0, 0.0), (1, 0, 0.5, 1.5)]:
        before.add(row, action, cost, estimate)
    after.go_on(before, [2, 3])
    after.add(0, 3, 1.0, 2.0, begun=3)
    for place, old in ((0, 0), (1, 1), (2, 2), (OWN, OWN + 1), (OWN + 2, OWN + 3)):
        sums, expected = after.by_block(place, 2, 4), before.by_block(old, 2, 2)
        assert np.allclose(sums[:, :, :2], expected)
        assert np.allclose(sums[0, :, 2:], expected[0, :, :1])
        assert np.allclose(sums[1, 1, 2:], expected[1, 1, 0])
    assert after.by_block(0, 2, 4)[1, 0].tolist() == [0.0, 0.0, 0.0, 2.0]
    assert after.by_block(OWN + 1, 2, 4).any(axis=(1, 2)).tolist() == [False, True]
    assert after.rounds == 5


def test_blocks_are_planned_or_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the horizon 20 of them, as many as there are rounds if these are fewer; without, by a tenth of what was."""
    monkeypatch.undo()
    planned = Exp4(listed(LABELINGS), horizon=1001).ledger.blocks.ends
    assert len(planned) == 20
    assert planned[-1] == 1001
    assert set(np.diff(planned)) == {50, 51} or set(np.diff(planned)) == {50}
    assert Exp4(listed(LABELINGS), horizon=3).ledger.blocks.ends == (1, 2, 3)
    assert Exp4(listed(LABELINGS)).ledger.blocks.ends == blocks.GROWING
    assert blocks.GROWING[:12] == (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1210)


def test_a_table_of_changes_ends_with_what_is_proved() -> None:
    """A line for each number of changes, and one for the proof, if there is one."""
    proof = ProvedChange(2, (1000, 1948), 1060.5, 941.25)
    found = [Changes((90.0, 1040.5), ((), (1000,)), 0.95, made) for made in (None, proof)]
    tables = [str(each).replace("\u202f", " ") for each in found]
    assert tables[0] == "changes   95 %  after\n      0          90.0  \n      1       1 040.5  1 000"
    assert tables[1].removeprefix(tables[0]) == (
        "\nproved with the same confidence: 3 policies in turn, changing after 1 000, 1 948, paid at most 941.2; "
        "every single one more than 1 060.5"
    )


@pytest.mark.parametrize("changes", [0, 1, 2])
@pytest.mark.parametrize("reward_range", [None, (0, 10)])
def test_a_statement_names_changes_where_they_are_proved(
    changes: int, reward_range: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And only there: not before they are, and not where the same actions are right throughout."""
    monkeypatch.undo()
    bandit = Bandit(DecisionTrees(2, depth=1, thresholds=[[0.5]]), learner="uniform", seed=0, reward_range=reward_range)
    ends = (1000, 1948)[:changes]  # of blocks
    for t in range(1000 * (changes + 1)):
        decision = bandit.act([t % 2])
        cost = float(decision.action == sum(t >= end for end in ends) % 2)
        bandit.learn(decision, **({"cost": cost} if reward_range is None else {"reward": 10 - 10 * cost}))
        if t == 999:
            assert "in turn" not in bandit.statement()
    sentences = [line for line in bandit.statement().splitlines() if "in turn" in line]
    best = "cost as little" if reward_range is None else "earned as much"
    shown = (
        f"With 95 % confidence no single one of them would have {best} as {changes + 1} in turn, which change once "
        f"{' and '.join(map(as_count, ends))} decisions were learnt: none is the best throughout."
    )
    assert sentences == [shown] * bool(changes)
