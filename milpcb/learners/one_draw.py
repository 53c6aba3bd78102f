"""One draw of the future for a whole run: the noise is drawn before the first round and taken away round by round.

The law of play is that of fresh futures (milpcb/theory/one_draw.md). Few totals change in a round.
"""

from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from milpcb import rng
from milpcb.core.checks import whole
from milpcb.core.kept import SavedPart
from milpcb.learners.kept_minimiser import KeptMinimiser
from milpcb.protocols import ContextModel, ValueOracle
from milpcb.relaxations.base import Relaxation
from milpcb.types import Floats, Ints


class FutureLaw(NamedTuple):
    """The law of a future: all rounds after the first carry noise with the relaxation's rate."""

    oracle: ValueOracle
    pool: ContextModel
    relaxation: Relaxation
    horizon: int
    scale: float
    seed: int
    redraw: int | None  # rounds after which all futures are drawn anew, None for never
    unproved: bool  # whether play goes on with the bounds of an oracle that stops early
    past: Callable[[], Floats]  # returns a copy of the past estimates (m, K)

    def order(self, n_contexts: int) -> Floats:
        """Return the order (m, 1 + K) that decides between cheapest policies."""
        draws = rng.child(self.seed, "learner", "order")
        return draws.random((n_contexts, 1 + self.oracle.n_actions))


class Future:
    """The rest of one draw, and the cheapest policy on past estimates plus that rest.

    Totals are in units of the relaxation, times ``parts``: 1, but m + 1 where it matters whether the cheapest policy
    has equals. There each row is allowed one part of harm, so that a proof excludes them.
    """

    def __init__(self, law: FutureLaw, number: int) -> None:
        self._law, self._number = law, number
        self.since = 0
        self._draw(0)

    def begin(self) -> None:
        """Begin to keep a minimiser, once all imagined contexts are known."""
        law, ties = self._law, self._law.relaxation.even_ties
        any_of_equals = ties or not getattr(law.oracle, "settles_ties", True)
        self._parts = len(law.past()) + 1.0 if ties else 1.0
        order = None if any_of_equals else law.order
        self.kept = KeptMinimiser(law.oracle, self._totals(), order, unproved=law.unproved)

    def play(self, t: int, row: int) -> int | None:
        """Return the action of the cheapest policy on ``row`` in round ``t``; None if no policy was found in time."""
        kept, redraw = self.kept, self._law.redraw
        if redraw is not None and t // redraw != self._block:
            self._draw(t // redraw)
            self._at = bisect_right(self._times, t)
            kept.replace(self._totals())
        while self._times[self._at] <= t:
            kept.change(int(self._rows[self._at]), -self._parts * self._noise[self._at])
            self._at += 1
        if row >= len(kept.costs):
            kept.grow()
        if kept.in_doubt:
            before = kept.number
            kept.update(partial(self._foreseen, t))
            if kept.number != before:
                self.since = t + 1
        return kept.actions[row] if kept.number else None

    def count(self, row: int, action: int, units: float) -> None:
        """Add an estimate of the cost of an action."""
        change = np.zeros(self.kept.costs.shape[1])
        change[action] = self._parts * units
        self.kept.change(row, change)

    def excess(self) -> float:
        """Return a bound on the cost per round, before mixing, of playing a policy not proved to be the cheapest."""
        kept = self.kept
        return min(1.0, max(0.0, kept.total - kept.bound) / (self._parts * self._law.relaxation.hit))

    def left(self) -> Floats:
        """Return past estimates plus the rest of the draw (m, K), in units."""
        return self.kept.costs / self._parts

    def state(self) -> dict[str, Any]:
        """Return everything but the past, as plain data."""
        return {"block": self._block, "at": self._at, "since": self.since, **self.kept.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state: the same future is drawn again."""
        self._draw(int(state["block"]))
        self._at = whole("at", state["at"], 0, len(self._rows))
        self.since = int(state["since"])
        self.kept.restore(state, self._totals())

    def _draw(self, block: int) -> None:
        """Draw the rounds from a block on, by a generator of its own, so that they are the same when restored."""
        law = self._law
        draws = rng.child(law.seed, "learner", "future", self._number, block)
        n_actions = law.oracle.n_actions
        rate = law.relaxation.rate(law.scale, n_actions)
        times, self._rows = law.pool.future_rounds(block * (law.redraw or 0), law.horizon, rate, draws)
        self._times = [*times.tolist(), np.inf]
        noise = law.relaxation.noise(np.ones(len(times), dtype=np.int64), n_actions, draws)
        self._noise = noise.astype(np.min_scalar_type(-int(np.abs(noise).max(initial=1))))  # bytes, mostly
        self._block, self._at = block, 0

    def _totals(self) -> Floats:
        totals = self._law.past()
        np.add.at(totals, self._rows[self._at :], self._noise[self._at :])
        return self._parts * totals

    def _foreseen(self, t: int, actions: Ints, time: int) -> Floats:
        """Return the harm (m,) that the rounds after ``t`` bring: of noise, and of costs as if all were 1/2."""
        m, law = len(actions), self._law
        until = bisect_right(self._times, t + time)
        rows, leaving = self._rows[self._at : until], -self._noise[self._at : until].astype(float)
        harm = leaving[np.arange(len(rows)), actions[rows]] - leaving.min(axis=1, initial=np.inf)
        hits = np.floor(0.5 + min(time, law.horizon - t) / (2 * law.scale * m))
        units = np.bincount(rows, harm, minlength=m) + hits * law.relaxation.hit
        return np.asarray(self._parts * units + float(law.relaxation.even_ties))


class OneDraw(SavedPart):
    """The ``number`` futures of a run, drawn from one law, of which each round takes one at random."""

    kept = ("_now", "_futures", "_pick", "_ranks")

    def __init__(self, law: FutureLaw, number: int) -> None:
        self._ties, self._n_actions = law.relaxation.even_ties, law.oracle.n_actions
        self._pick = rng.child(law.seed, "learner", "pick")
        self._ranks = rng.child(law.seed, "learner", "ties")
        self._futures = [Future(law, n) for n in range(number)]
        for future in self._futures:
            future.begin()
        self._now = 0  # the number of the future that was taken last

    @property
    def taken(self) -> Future:
        """The future of the latest round."""
        return self._futures[self._now]

    @property
    def only(self) -> Future | None:
        """The future whose minimiser is the rule in force; None where several futures, or equal leaders, take turns."""
        return None if self._ties or len(self._futures) > 1 else self._futures[0]

    @property
    def leaders(self) -> list[KeptMinimiser]:
        """The minimisers of all futures."""
        return [future.kept for future in self._futures]

    def play(self, t: int, row: int) -> int | None:
        """Return the action that q* is concentrated on, None for the uniform distribution."""
        if len(self._futures) > 1:
            self._now = int(self._pick.integers(len(self._futures)))
        now = self.taken
        action = now.play(t, row)
        if self._ties:
            ranks = self._ranks.random(self._n_actions)  # in every round, so that they are the same for all oracles
            if not now.kept.leads_alone(row):
                return now.kept.first_by(ranks, row)
        return action

    def count(self, row: int, action: int, units: float) -> None:
        """Add an estimate of the cost of an action."""
        for future in self._futures:
            future.count(row, action, units)
