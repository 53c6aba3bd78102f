"""Whether the starts of fixed share pay what statement 23 of milpcb/theory/changes.md allows, on every path.

The statement holds whoever draws the actions. So the learner itself is played on paths in which two policies take turns
to pay nothing, actions that are seldom played are played often, a block is two rounds, and the rate falls fast, and
rises at alarms. The lemma of the proof is checked after every round, for every start awake and every policy: with
M_s what the mixture was charged in round s, A(pi) the estimates of the rounds since the start's birth, eta_0 the rate
then and eta_k that at the birth of each start k since, and rho the sum of 1/eta - 1/eta' where it rose since,

    sum of M_s since its birth <= A(pi) + log(1/alpha) / eta_0 + sum of log(1/(1 - alpha)) / eta_k
                                  + [log W + log u] / eta + rho log W + [1/eta - 1/eta_0 + rho] log J

(without log 1/alpha for start 0), and that no certificate is above its bound: after every round that to one policy, at
the end those to several in turn. The M_s are recomputed from q.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from milpcb import rng
from milpcb.learners import FixedShare
from milpcb.oracles import open_oracle
from milpcb.plugins import registry
from milpcb.types import Floats
from tests.theory.coins.slacks import Judged, Verdict, worst_of

ROUNDS, CHANGES, PATHS = 40, 3, 12
ROUNDING = 1e-6  # where q is nearly 1, little is known of 1 - q
LABELINGS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


class Hurried(FixedShare):
    """Fixed share with starts that come to weigh much, whose rate falls at once and stays low.

    ``paid`` is the part of what rises of the rate add that the lemma counts.
    """

    share: ClassVar[float] = 0.2
    calm: ClassVar[float] = np.inf
    C: ClassVar[float] = 1.0
    paid: ClassVar[float] = 1.0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._change = self.C


class Alarmed(Hurried):
    """The same with an alarm every nine rounds."""

    calm: ClassVar[float] = -np.inf

    def _counts(self, rounds: int) -> bool:
        return rounds % 9 == 0


class Steady(Hurried):
    """The same with a rate that does not fall."""

    C: ClassVar[float] = 1e6


def judge_paths(judged: Judged, paths: int = PATHS) -> Verdict:
    """Return the verdict on the lemma, and on bound - certificate, over so many paths."""
    names = "what a start may have been charged", "certificate <= bound"
    found = ((f"path {seed}", -np.array(slacks(judged.kind, seed))) for seed in range(paths))
    return worst_of(names, found, ROUNDING)


def slacks(kind: type[FixedShare], seed: int) -> tuple[float, float]:
    """Return the least slack of the lemma on one path, and that of bound - certificate at its end."""
    draws = rng.child(seed, "paths")
    policies = registry.load("policies", "finite_class")(LABELINGS, 2)
    learner = kind(open_oracle(policies, np.arange(2.0)[:, None], kind="enumeration"), horizon=ROUNDS)
    turns = np.resize(np.repeat([0, 2, 0, 2, 0], draws.integers(1, ROUNDS // 2, size=5)), ROUNDS)
    totals, charged, rates = np.zeros((ROUNDS + 1, len(LABELINGS))), np.zeros(ROUNDS + 1), [learner.rate]
    risen, least, alone = [0.0], np.inf, np.inf
    for turn in turns.tolist():
        row = int(draws.random() < 0.3)  # at context 1 the two agree
        q, eta, block = learner.act(row), learner.rate, learner.block
        right = int(LABELINGS[turn, row])
        action = 1 - right if q[1 - right] > 1e-3 else right
        cost, p = float(action != right), float(q[action])
        learner.learn(row, action, cost, p)
        totals[block] += cost / p * (LABELINGS[:, row] == action)
        charged[block] -= np.log1p(-p * -np.expm1(-eta * cost / p)) / eta
        rises = max(0.0, 1 / eta - 1 / learner.rate)
        risen[-1] += getattr(kind, "paid", 1.0) * rises
        rates += [learner.rate] * (learner.block > block)
        risen += [0.0] * (learner.block > block)
        least = min(least, _lemma(learner, totals, charged, rates, risen))
        alone = min(alone, learner.bound() - learner.certificate())
    stated = learner.changes(most=CHANGES).certificates
    return least, min(alone, *(learner.bound(changes=c) - stated[c] for c in range(1, CHANGES + 1)))


def _lemma(learner: Any, totals: Floats, charged: Floats, rates: Sequence[float], risen: Sequence[float]) -> float:
    """Return the least slack of all starts awake.

    All are by the number of the start that was born last: totals (n, N), charges (n,), first rates (n,), and the sums
    (n,) of 1/eta - 1/eta' where the rate rose from eta to eta' before the next was born, or as it was.
    """
    new, kept = np.log(learner.share), np.log1p(-learner.share)
    tables, slack = np.log(1 + 2 * (learner.block + 1).bit_length()), []
    for start, log_weight in learner.starts():
        rho, size = sum(risen[start:]), np.log(len(LABELINGS))
        shares = (new if start else 0.0) / rates[start] + kept * sum(1 / rate for rate in rates[start + 1 :])
        fallen = (1 / learner.rate - 1 / rates[start] + rho) * tables
        price = (size + log_weight) / learner.rate + rho * size + fallen - shares
        slack.append(totals[start:].sum(axis=0).min() + price - charged[start:].sum())
    return float(min(slack))


FOLLOWED = [
    Judged("fixed share", FixedShare),
    Judged("fixed share, rate falls", Hurried),
    Judged("fixed share, rate rises", Alarmed),
    Judged("fixed share, rate stays", Steady),
]


# ------------------------------------------------------------------- with one thing wrong


class _CarriedAlong(Hurried):
    def _set_rate(self, rate: float) -> None:
        logs = self._logs.copy()
        super()._set_rate(rate)
        self._logs = logs


class _RisesForNothing(Alarmed):
    paid: ClassVar[float] = 0.0


class HalfCharged(Steady):
    """Charges starts half of what their policies pay."""

    def _charge(self, played: Floats, action: int, estimate: float) -> None:
        super()._charge(played, action, estimate / 2)


class _StartsThatRemember(Steady):
    def _start(self, block: int) -> None:
        super()._start(block)
        tables = self._tables.state()
        self._tables.restore(
            [tables[0] if begun == block else own for begun, own in zip(self._starts, tables, strict=True)]
        )


class _NoPriceOfStarts(Steady):
    def _price(self, changes: int, n: int) -> float:
        return super()._price(changes, n) - self._pieces(changes, n) * float(self._log_count - np.log(self.share))


PATH_MUTANTS = [
    Judged("fixed share, weights carried along", _CarriedAlong),
    Judged("fixed share, starts charged half", HalfCharged),
    Judged("fixed share, starts that remember", _StartsThatRemember),
    Judged("fixed share, starts for nothing", _NoPriceOfStarts),
    Judged("fixed share, rises for nothing", _RisesForNothing),
]
