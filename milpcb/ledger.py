"""Certificates: bounds on a run's regret, in expectation or with confidence, from what its learner was shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log1p
from typing import Any, NamedTuple, Protocol

import numpy as np

from milpcb.bets import STAKES, loss, price
from milpcb.blocks import Blocks, Changes, InTurn, ProvedChange
from milpcb.core.checks import LARGEST, whole
from milpcb.errors import InputError
from milpcb.types import Answer, Floats, FoundPolicy, Stop

OWN = 3  # sums of a cell that are no stake's


class Certificate(NamedTuple):
    """A number whose mean bounds mean regret (see ``Ledger``), its standard error, and the best policy by estimates.

    The error is NaN and the policy None where none was found in time.
    """

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
    """Played costs, and estimates of all costs by context and action: all that certificates are computed from.

    In round s the cost c of the action y was shown, and e >= 0 estimates it: for every action a, the mean of e 1[y = a]
    given the past is at most the cost of a, as that of c / q, q the probability that y was drawn with. Statement 9 of
    milpcb/theory/README.md: the mean of C = sum_s c_s - min_pi sum_s e_s 1[pi(x_s) = y_s], the certificate, bounds mean
    regret after every fixed number of rounds, if costs do not react to the play; that of one run may lie above its own.

    The standard error is the root of the sum of (e - c)^2 over rounds in which the minimiser plays y, and of c^2 over
    the others. That the minimiser was chosen by the same numbers is left out of account.
    """

    def __init__(self, stakes: Sequence[float] = STAKES) -> None:
        self.cost = 0.0  # of all actions played
        self.last = 0.0  # the estimate of the last round
        # of rounds in which another action was played than the one drawn: how many, their costs, the squares of these
        self.overridden, self.others, self._squares = 0, 0.0, 0.0
        # by row and action: sums of e, (e - c)^2, c^2, and of what each stake proves
        self._cells: dict[tuple[int, int], list[float]] = {}
        self.blocks = Blocks()
        self.stakes: tuple[float, ...] = ()
        self.bet(*stakes)

    def bet(self, *stakes: float) -> None:
        """Make confident certificates from these ``stakes`` too; before the first round."""
        self.stakes = tuple(dict.fromkeys((*self.stakes, *stakes)))
        self._bets = [(stake, 1 / loss(stake)) for stake in self.stakes]
        self.blocks.stakes = self.stakes

    def add(self, row: int, action: int, cost: float, estimate: float) -> None:
        """Take in a round: the cost of the action played, and its estimate; this is on the path of every round."""
        self.last = estimate
        if cost == 0.0:
            return
        self.cost += cost
        more = estimate - cost
        cell = self._cells.get((row, action))
        if cell is None:
            cell = self._cells[row, action] = [0.0] * (OWN + len(self._bets))
        cell[0] += estimate
        cell[1] += more * more
        cell[2] += cost * cost
        place = OWN
        for stake, inverse in self._bets:  # proved() of milpcb.bets
            cell[place] += cost + log1p(stake * more) * inverse
            place += 1

    def pay(self, cost: float) -> None:
        """Take in the cost of a round in which another action was played than the one drawn: its estimates are 0."""
        self.cost += cost
        self.overridden += 1
        self.others += cost
        self._squares += cost * cost

    def go_on(self, before: Ledger, added: Sequence[int]) -> None:
        """Take in the sums of a ledger of fewer actions: in its rounds those ``added`` stand for action 0."""
        self.cost, self.last = before.cost, before.last
        self.overridden, self.others, self._squares = before.overridden, before.others, before._squares
        self.blocks.go_on(before.blocks, list(added))
        known = {stake: OWN + place for place, stake in enumerate(before.stakes)}
        for (row, action), cell in before._cells.items():
            proved = [cell[known[stake]] if stake in known else 0.0 for stake in self.stakes]
            for other in (action, *added) if action == 0 else (action,):
                self._cells[row, other] = [*cell[:OWN], *proved]

    def totals(self, n_contexts: int, n_actions: int) -> Floats:
        """Return the sums of estimates (n_contexts, n_actions), cut off where an oracle would."""
        return self.sums(0, n_contexts, n_actions)

    def confident(self, oracle: Minimiser, confidence: float) -> float:
        """Return a number that regret exceeds after any of all rounds with probability 1 - ``confidence`` at most.

        Costs may react to all rounds before; each stake is one minimisation (statement 16 of
        milpcb/theory/confidence.md).
        """
        self._check_rows(oracle)
        self._check_union(oracle)
        least = 0.0  # what the best policy has paid, at least
        for table, paid_for in self._stakes(oracle, confidence):
            if float(table.max(axis=1, initial=0.0).sum()) - paid_for > least:  # else no policy can prove more
                least = max(least, oracle.minimise(table).lower - paid_for)
        return self.cost - least

    def covered(self, oracle: Minimiser, confidence: float) -> float:
        """Return what is proved of every policy by the best stake, as a part of its price.

        Above 1, ``confident`` is below what was paid. It grows in proportion to the rounds while costs go on alike.
        """
        return max(oracle.minimise(table).lower / paid_for for table, paid_for in self._stakes(oracle, confidence))

    def _stakes(self, oracle: Minimiser, confidence: float) -> Iterator[tuple[Floats, float]]:
        """Yield what each stake proves, (n_contexts, n_actions), and its price."""
        tables = self._tables(oracle.n_contexts, oracle.n_actions)[OWN:]
        for table, stake in zip(tables, self.stakes, strict=True):
            yield table, self.price(stake, oracle.log_union, confidence)

    def price(self, stake: float, log_size: float, confidence: float) -> float:
        """Return what is taken off a sum of one of the stakes, for exp(log_size) policies."""
        return price(stake, log_size, len(self.stakes), confidence)

    def in_turn(self, oracle: Minimiser, most: int, confidence: float | None = None) -> list[InTurn]:
        """Return what the best 1, 2, ..., ``most`` policies in turn have paid, and after which rounds they change.

        That is in the mean, as in ``certify``; or, with a ``confidence``, at least, for all numbers of policies at once
        (statements 20 and 21 of milpcb/theory/changes.md). It takes n (n + 1) / 2 minimisations for n blocks, of each
        stake that may prove more than those before it. ``most`` is cut off at n.
        """
        self._check_rows(oracle, self.blocks.contexts())
        shape = (oracle.n_contexts, oracle.n_actions)
        if confidence is None:
            return self.blocks.in_turn(0, shape, lambda t: proved_total(oracle.minimise(t)), most, 0.0)
        self._check_union(oracle)
        found = [InTurn(0.0, ())] * min(most, self.blocks.count())
        for place, stake in enumerate(self.stakes, 1):
            prices = self._prices_in_turn(oracle, stake, len(found), confidence)
            together = oracle.minimise(self.blocks.tables(place, *shape).sum(axis=0)).upper
            if all(together - own <= best.total for own, best in zip(prices, found, strict=True)):
                continue  # several in turn prove less before the price, and pay more
            turns = self.blocks.in_turn(
                place, shape, lambda table: oracle.minimise(table).lower, most, -1 / loss(stake)
            )
            proved = (InTurn(turn.total - own, turn.after) for turn, own in zip(turns, prices, strict=True))
            found = [max(pair) for pair in zip(found, proved, strict=True)]
        return found

    def change(self, oracle: Minimiser, most: int, confidence: float) -> ProvedChange | None:
        """Return a proof that no policy has paid as little as the fewest of 2, ..., ``most`` in turn, None for none.

        It is wrong with probability 1 - ``confidence`` at most: half of that for what the best policy has paid at
        least, half for what the others have paid at most, by their gains 1 - c (statement 22).
        """
        self._check_rows(oracle, self.blocks.contexts())
        half = (1 + confidence) / 2
        single = self.cost - self.confident(oracle, half)
        shape, G = (oracle.n_contexts, oracle.n_actions), len(self.stakes)
        played = self.blocks.played() + self.overridden
        found = [InTurn(float(played), ())] * min(most, self.blocks.count())
        for place, stake in enumerate(self.stakes, 1 + G):
            prices = self._prices_in_turn(oracle, stake, len(found), half)
            if played - self.blocks.tables(place, *shape).max(axis=2).sum() + min(prices[1:], default=np.inf) >= single:
                continue  # nobody can have paid less
            turns = self.blocks.in_turn(place, shape, lambda t: -gained(oracle, t), most, 1 / loss(stake))
            proved = (InTurn(played + turn.total + own, turn.after) for turn, own in zip(turns, prices, strict=True))
            found = [min(pair) for pair in zip(found, proved, strict=True)]
        made = (ProvedChange(len(turn.after), turn.after, single, turn.total) for turn in found[1:])
        return next((change for change in made if change.in_turn < single), None)

    def changes(self, oracle: Minimiser, most: int, confidence: float | None = None) -> Changes:
        """Return certificates against the best 1, ..., ``most`` policies in turn; with a ``confidence``, a proof."""
        found = self.in_turn(oracle, most, confidence)
        proof = None if confidence is None else self.change(oracle, most, confidence)
        certificates = tuple(self.cost - turn.total for turn in found)
        return Changes(certificates, tuple(turn.after for turn in found), confidence, proof)

    def _prices_in_turn(self, oracle: Minimiser, stake: float, most: int, confidence: float) -> list[float]:
        unions = (self.blocks.log_union(turns, oracle.log_union) for turns in range(1, most + 1))
        return [self.price(stake, union, confidence) for union in unions]

    def _check_union(self, oracle: Minimiser) -> None:
        if np.isnan(oracle.log_union):
            raise InputError(
                "how many policies there are is not known before all contexts are; hand in an oracle that is opened on "
                "all contexts, or take a class with explicit cut points and kind 'search'"
            )

    def _check_rows(self, oracle: Minimiser, rows: int = 0) -> None:
        rows = max(rows, max((row for row, _ in self._cells), default=-1) + 1)
        if rows > oracle.n_contexts:
            raise InputError(
                f"the play was on row {rows - 1}, and the oracle has {oracle.n_contexts} contexts; "
                "hand in one that is opened on the contexts of the play"
            )

    def sums(self, place: int, n_contexts: int, n_actions: int) -> Floats:
        """Return one of the sums of each cell (n_contexts, n_actions), cut off where an oracle would."""
        table: Floats = self._tables(n_contexts, n_actions)[place]
        return table

    def _tables(self, n_contexts: int, n_actions: int) -> Floats:
        """Return all sums of each cell (OWN + G, n_contexts, n_actions)."""
        tables = np.zeros((OWN + len(self._bets), n_contexts, n_actions))
        if self._cells:
            rows, actions = np.array(list(self._cells)).T
            tables[:, rows, actions] = np.minimum(np.array(list(self._cells.values())).T, LARGEST)
        return tables

    def certify(self, oracle: Minimiser) -> Certificate:
        """Return the certificate against the policies of the oracle, whose rows are the play's: one minimisation."""
        self._check_rows(oracle)
        answer = oracle.minimise(self.totals(oracle.n_contexts, oracle.n_actions))
        value = self.cost - proved_total(answer)
        if answer.policy is None:
            return Certificate(value, np.nan, None)
        labels = np.asarray(answer.policy.predict(oracle.contexts)).tolist() if self._cells else []
        squares = sum(cell[1 if labels[row] == action else 2] for (row, action), cell in self._cells.items())
        return Certificate(value, float(np.sqrt(squares + self._squares)), answer.policy)

    def state(self) -> list[Any]:
        """Return everything that ``restore`` needs, as plain data."""
        others = [self.overridden, self.others, self._squares]
        cells = [[row, action, *cell] for (row, action), cell in self._cells.items()]
        return [self.cost, cells, self.blocks.state(), others]

    def restore(self, state: Iterable[Any]) -> None:
        """Go on from a saved state."""
        cost, cells, blocks, (overridden, others, squares) = state
        self.cost, self.last = float(cost), 0.0
        self.blocks.restore(blocks)
        self.overridden, self.others, self._squares = whole("overridden", overridden, 0), float(others), float(squares)
        self._cells = {}
        for row, action, *sums in cells:
            if len(sums) != OWN + len(self._bets):
                raise ValueError(f"a cell has {len(sums)} sums, not {OWN + len(self._bets)}")
            self._cells[whole("row", row, 0), whole("action", action, 0)] = [float(number) for number in sums]


def proved_total(answer: Answer) -> float:
    """Return the least total of costs >= 0, or a proved lower bound where the oracle stopped early."""
    return answer.upper if answer.stop is Stop.OPTIMAL else max(0.0, answer.lower)


def gained(oracle: Minimiser, gains: Floats) -> float:
    """Return the largest total of gains >= 0, or that of a policy which the oracle found."""
    return max(0.0, -oracle.minimise(-gains).upper)
