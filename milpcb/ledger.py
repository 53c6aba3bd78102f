"""Certificates: bounds on a run's regret, in expectation or with confidence, from the observed costs alone."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from milpcb.bets import STAKES, loss, price
from milpcb.blocks import Blocks, Changes, InTurn, ProvedChange, least_in_turn
from milpcb.core.checks import LARGEST, whole
from milpcb.errors import InputError
from milpcb.types import Answer, Floats, FoundPolicy, Stop

OWN = 3  # sums that are no stake's
AT_ONCE = 4096  # rounds that enter the sums together, at least
EACH = 6  # numbers of a round


class Certificate(NamedTuple):
    """A number whose mean bounds mean regret, its standard error, and the best policy; NaN and None for none."""

    value: float
    error: float
    policy: FoundPolicy


class Minimiser(Protocol):
    """Interface of an oracle that certificates minimise with."""

    n_contexts: int
    n_actions: int

    @property
    def log_union(self) -> float:
        """Return the log of the number of policies, known before the first round; NaN where contexts decide it."""
        ...

    @property
    def contexts(self) -> Floats:
        """Return the contexts (n_contexts, d)."""
        ...

    def minimise(self, costs: Floats) -> Answer:
        """Return bounds on the least total cost and a policy; ``costs`` is (m, K)."""
        ...


class Ledger:
    """Played costs, and proved bounds on all costs by block, context and action: the material of certificates.

    The estimate e >= 0 of a round is that of statement 9 of milpcb/theory/README.md: for every action a, the mean of e
    1[y = a] given the past is at most the cost of a, as that of c / q. The standard error of a certificate leaves out
    of account that the minimiser was chosen by the same numbers.

    Sums are, in this order: of e, (e - c)^2, c^2, of the proved costs by each stake, and of the gains it proves, 1
    - c, of which (1 - c) w is the estimate, w >= 0 with a mean of w 1[y = a] of at most 1.
    """

    def __init__(self, stakes: Sequence[float] = STAKES) -> None:
        self.cost = 0.0  # of all actions played
        self.last = 0.0  # the estimate of the last round
        self.rounds = 0
        # of rounds in which another action was played than the one drawn: how many, their costs, the squares of these
        self.overridden, self.others, self._squares = 0, 0.0, 0.0
        self.blocks = Blocks()
        self.stakes: tuple[float, ...] = ()
        self._recent: list[float] = []
        self._full = EACH * AT_ONCE
        self._keys = np.zeros((0, 3), dtype=np.int64)  # block, row, action, in this order
        self.bet(*stakes)

    def bet(self, *stakes: float) -> None:
        """Make confident certificates from these ``stakes`` too; before the first round."""
        self.stakes = tuple(dict.fromkeys((*self.stakes, *stakes)))
        self._sums = np.zeros((OWN + 2 * len(self.stakes), 0))

    def add(
        self,
        row: int,
        action: int,
        cost: float,
        estimate: float,
        *,
        begun: int | None = None,
        weight: float | None = None,
    ) -> None:
        """Take in a round: the cost of the action played, and its estimate; this is on the path of every round.

        ``begun`` is the number of rounds finished when it began, None for all; ``weight`` is w, None for e / c or 1.
        """
        self.last = estimate
        self.cost += cost
        if weight is None:
            weight = estimate / cost if cost else 1.0
        self._recent += (self.rounds if begun is None else begun, row, action, cost, estimate, weight)
        self.rounds += 1
        if len(self._recent) >= self._full:
            self._enter()

    def pay(self, cost: float) -> None:
        """Take in the cost of a round in which another action was played than the one drawn: its estimates are 0."""
        self.cost += cost
        self.overridden += 1
        self.others += cost
        self._squares += cost * cost

    def go_on(self, before: Ledger, added: Sequence[int]) -> None:
        """Take in the sums of a ledger of fewer actions, in whose rounds those ``added`` count as action 0."""
        before._enter()
        self.cost, self.last, self.rounds = before.cost, before.last, before.rounds
        self.overridden, self.others, self._squares = before.overridden, before.others, before._squares
        self.blocks.ends, self.blocks.planned = before.blocks.ends, before.blocks.planned
        keys, G = before._keys, len(before.stakes)
        places = [before.stakes.index(stake) if stake in before.stakes else None for stake in self.stakes]
        proved = [None if place is None else OWN + place + part for part in (0, G) for place in places]
        nothing = np.zeros(len(keys))
        sums = np.array([nothing if place is None else before._sums[place] for place in (*range(OWN), *proved)])
        first = np.flatnonzero(keys[:, 2] == 0)
        every = np.concatenate([np.arange(len(keys)), np.tile(first, len(added))])
        named = keys[every]
        named[len(keys) :, 2] = np.repeat(np.array(added, dtype=np.int64), len(first))
        order = np.lexsort(named.T[::-1])
        self._keys, self._sums = named[order], sums[:, every[order]]

    # ----------------------------------------------------------------- what there is

    def count(self) -> int:
        """Return the number of blocks up to the last one with rounds."""
        self._enter()
        return 1 + int(self._keys[:, 0].max(initial=0))

    def by_block(self, place: int, n_contexts: int, n_actions: int) -> Floats:
        """Return one of the sums of each block (n_blocks, n_contexts, n_actions), cut off where an oracle would."""
        found = np.zeros((self.count(), n_contexts, n_actions))
        if len(self._keys):
            found[tuple(self._keys.T)] = np.minimum(self._sums[place], LARGEST)
        return found

    def sums(self, place: int, n_contexts: int, n_actions: int) -> Floats:
        """Return one of the sums over all rounds (n_contexts, n_actions), cut off in the same way."""
        return np.asarray(np.minimum(self.by_block(place, n_contexts, n_actions).sum(axis=0), LARGEST))

    def totals(self, n_contexts: int, n_actions: int) -> Floats:
        """Return the sums of estimates (n_contexts, n_actions)."""
        return self.sums(0, n_contexts, n_actions)

    # ----------------------------------------------------------------- certificates

    def certify(self, oracle: Minimiser) -> Certificate:
        """Return the certificate against the policies of the oracle, whose rows are the play's: one minimisation."""
        self._check_rows(oracle)
        answer = oracle.minimise(self.totals(oracle.n_contexts, oracle.n_actions))
        value = self.cost - proved_total(answer)
        if answer.policy is None:
            return Certificate(value, np.nan, None)
        _, rows, actions = self._keys.T
        labels = np.asarray(answer.policy.predict(oracle.contexts)) if len(rows) else actions
        _, off, squared = self._sums[:OWN]
        squares = float(np.where(labels[rows] == actions, off, squared).sum())
        return Certificate(value, float(np.sqrt(squares + self._squares)), answer.policy)

    def confident(self, oracle: Minimiser, confidence: float) -> float:
        """Return a number that regret exceeds after any of all rounds with probability 1 - ``confidence`` at most."""
        self._check_union(oracle)
        least = 0.0  # what the best policy has paid, at least
        for table, paid_for in self._stakes(oracle, confidence):
            if float(table.max(axis=1, initial=0.0).sum()) - paid_for > least:  # else no policy can prove more
                least = max(least, oracle.minimise(table).lower - paid_for)
        return self.cost - least

    def covered(self, oracle: Minimiser, confidence: float) -> float:
        """Return the largest share of its price that a stake proves of every policy; nothing is certain below 1."""
        return max(oracle.minimise(table).lower / paid_for for table, paid_for in self._stakes(oracle, confidence))

    def _stakes(self, oracle: Minimiser, confidence: float) -> Iterator[tuple[Floats, float]]:
        """Yield what each stake proves, (n_contexts, n_actions), and its price."""
        self._check_rows(oracle)
        for place, stake in enumerate(self.stakes, OWN):
            paid_for = self.price(stake, oracle.log_union, confidence)
            yield self.sums(place, oracle.n_contexts, oracle.n_actions), paid_for

    def price(self, stake: float, log_size: float, confidence: float) -> float:
        """Return the price of a stake, which is subtracted from its sum, for exp(log_size) policies."""
        return price(stake, log_size, len(self.stakes), confidence)

    def in_turn(self, oracle: Minimiser, most: int, confidence: float | None = None) -> list[InTurn]:
        """Return the costs of the best 1, 2, ..., ``most`` policies in turn, and the rounds after which they change.

        These are means, as in ``certify``, or with a ``confidence`` lower bounds, for all numbers of policies at once
        (statements 20 and 21 of milpcb/theory/changes.md). It takes n (n + 1) / 2 minima for n blocks, of each stake.
        """
        self._check_rows(oracle)
        if confidence is None:
            return self._least(0, oracle, lambda t: proved_total(oracle.minimise(t)), most, 0.0)
        self._check_union(oracle)
        found = [InTurn(0.0, ())] * min(most, self.count())
        for place, stake in enumerate(self.stakes, OWN):
            prices = self._prices_in_turn(oracle, stake, len(found), confidence)
            together = oracle.minimise(self.sums(place, oracle.n_contexts, oracle.n_actions)).upper
            if all(together - own <= best.total for own, best in zip(prices, found, strict=True)):
                continue  # several in turn prove less before the price, and pay more
            turns = self._least(place, oracle, lambda table: oracle.minimise(table).lower, most, -1 / loss(stake))
            proved = (InTurn(turn.total - own, turn.after) for turn, own in zip(turns, prices, strict=True))
            found = [max(pair) for pair in zip(found, proved, strict=True)]
        return found

    def change(self, oracle: Minimiser, most: int, confidence: float) -> ProvedChange | None:
        """Return a proof that no policy has paid as little as the fewest of 2, ..., ``most`` in turn, None for none.

        It is wrong with probability 1 - ``confidence`` at most: half of that for each of its two sides (statement 22).
        """
        half = (1 + confidence) / 2
        single = self.cost - self.confident(oracle, half)
        played = self.rounds + self.overridden
        found = [InTurn(float(played), ())] * min(most, self.count())
        for place, stake in enumerate(self.stakes, OWN + len(self.stakes)):
            prices = self._prices_in_turn(oracle, stake, len(found), half)
            gains = self.by_block(place, oracle.n_contexts, oracle.n_actions).max(axis=2).sum()
            if played - gains + min(prices[1:], default=np.inf) >= single:
                continue  # nobody can have paid less
            paid = self._least(place, oracle, lambda t: min(0.0, oracle.minimise(-t).upper), most, 1 / loss(stake))
            proved = (InTurn(played + turn.total + own, turn.after) for turn, own in zip(paid, prices, strict=True))
            found = [min(pair) for pair in zip(found, proved, strict=True)]
        made = (ProvedChange(len(turn.after), turn.after, single, turn.total) for turn in found[1:])
        return next((change for change in made if change.in_turn < single), None)

    def changes(self, oracle: Minimiser, most: int, confidence: float | None = None) -> Changes:
        """Return certificates against the best 1, ..., ``most`` policies in turn; with a ``confidence``, a proof."""
        found = self.in_turn(oracle, most, confidence)
        proof = None if confidence is None else self.change(oracle, most, confidence)
        certificates = tuple(self.cost - turn.total for turn in found)
        return Changes(certificates, tuple(turn.after for turn in found), confidence, proof)

    def _least(
        self, place: int, oracle: Minimiser, ask: Callable[[Floats], float], most: int, toll: float
    ) -> list[InTurn]:
        """Return the least totals in turn of one of the sums, of which ``ask`` returns the least.

        A change adds ``toll`` times what it adds to the logarithm of the union.
        """
        tables = self.by_block(place, oracle.n_contexts, oracle.n_actions)
        least = least_in_turn(
            lambda j, k: ask(tables[j:k].sum(axis=0)), len(tables), most, lambda j: toll * self.blocks.log_change(j)
        )
        return [InTurn(total, tuple(self.blocks.ends[block - 1] for block in after)) for total, after in least]

    def _prices_in_turn(self, oracle: Minimiser, stake: float, most: int, confidence: float) -> list[float]:
        unions = (self.blocks.log_union(turns, oracle.log_union) for turns in range(1, most + 1))
        return [self.price(stake, union, confidence) for union in unions]

    def _check_union(self, oracle: Minimiser) -> None:
        if np.isnan(oracle.log_union):
            raise InputError(
                "the number of policies is not known before all contexts are; hand in an oracle that is opened on "
                "all contexts, or take a class with explicit cut points and kind 'search'"
            )

    def _check_rows(self, oracle: Minimiser) -> None:
        self._enter()
        rows = 1 + int(self._keys[:, 1].max(initial=-1))
        if rows > oracle.n_contexts:
            raise InputError(
                f"the play was on row {rows - 1}, and the oracle has {oracle.n_contexts} contexts; "
                "hand in one that is opened on the contexts of the play"
            )

    # ----------------------------------------------------------------- the sums

    def _enter(self) -> None:
        """Add the recent rounds to the sums, one by one, so that it does not matter when this is done."""
        if not self._recent:
            return
        numbers, self._recent = np.frombuffer(array("d", self._recent)).reshape(-1, EACH).T, []
        begun, rows, actions = numbers[:3].astype(np.int64)
        both = np.concatenate([self._keys.T, [self.blocks.of(begun), rows, actions]], axis=1)
        shape = tuple(both.max(axis=1) + 1)
        codes, places = np.unique(np.ravel_multi_index(tuple(both), shape), return_inverse=True)
        pairs = zip(self._sums, self._proved(*np.minimum(numbers[3:], LARGEST)), strict=True)
        self._sums = np.array([np.bincount(places, np.concatenate(pair), len(codes)) for pair in pairs])
        self._keys = np.stack(np.unravel_index(codes, shape), axis=1)
        self._full = EACH * max(AT_ONCE, len(codes))  # so that a round takes as long whatever is kept

    def _proved(self, costs: Floats, estimates: Floats, weights: Floats) -> Iterator[Floats]:
        """Yield what each round adds to each of the sums: proved() of milpcb.bets, of costs and of gains."""
        yield from (estimates, (estimates - costs) ** 2, costs**2)
        gains = np.maximum(1.0 - costs, 0.0)
        for shown, more in ((costs, estimates - costs), (gains, gains * weights - gains)):
            for stake in self.stakes:
                yield shown + np.log1p(stake * more) / loss(stake)

    def state(self) -> list[Any]:
        """Return everything that ``restore`` needs, as plain data."""
        self._enter()
        cells = zip(self._keys.tolist(), self._sums.T.tolist(), strict=True)
        others = [self.overridden, self.others, self._squares]
        return [self.cost, self.rounds, self.blocks.state(), [[*key, *sums] for key, sums in cells], others]

    def restore(self, state: Iterable[Any]) -> None:
        """Go on from a saved state; raises ValueError on one of other stakes."""
        cost, rounds, ends, cells, (overridden, others, squares) = state
        self.cost, self.last, self.rounds, self._recent = float(cost), 0.0, whole("rounds", rounds, 0), []
        self.blocks.restore(ends)
        self.overridden, self.others, self._squares = whole("overridden", overridden, 0), float(others), float(squares)
        keys = [[whole("a block, a row or an action", number, 0) for number in cell[:3]] for cell in cells]
        whole("the last block", max((key[0] for key in keys), default=0), 0, len(self.blocks.ends))
        self._keys = np.array(keys, dtype=np.int64).reshape(-1, 3)
        sums = [list(map(float, cell[3:])) for cell in cells]
        if any(len(each) != len(self._sums) for each in sums):
            raise ValueError(f"a cell has other than {len(self._sums)} sums")
        self._sums = np.array(sums).reshape(-1, len(self._sums)).T.copy()


def proved_total(answer: Answer) -> float:
    """Return the least total of costs >= 0, or a proved lower bound where the oracle stopped early."""
    return answer.upper if answer.stop is Stop.OPTIMAL else max(0.0, answer.lower)
