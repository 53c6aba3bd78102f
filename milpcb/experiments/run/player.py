"""A learner in its environment: the loops with all costs known and live, and LearnerPlayer around them.

Studies and ``milpcb.play`` use it alike. It needs the core only, and knows no algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from milpcb import rng
from milpcb.errors import OracleInexact
from milpcb.experiments.run.live import LiveStream
from milpcb.learners import Learner
from milpcb.ledger import Certificate, Minimiser
from milpcb.oracles.base import Oracle
from milpcb.protocols import Stream
from milpcb.rng import draw_action
from milpcb.types import Ints

Rounds = list[tuple[int, int, float, float]]


@dataclass
class Tally:
    """Where a play stands: rounds played, their expected cost sum_t <q_t, c_t>, and the seconds spent in the learner.

    In live play the cost is that of the actions played, which has the same mean.
    """

    round: int = 0
    cost: float = 0.0
    seconds: float = 0.0


def checkpoints(horizon: int, count: int) -> Ints:
    """Return at most 2 count + 1 increasing rounds: log-spaced for the slope, evenly spaced for the bend, and T."""
    logged = np.geomspace(1, horizon, count)
    even = np.linspace(1, horizon, count)
    return np.unique(np.rint(np.concatenate([logged, even, [horizon]])).astype(np.int64))


def play(
    learner: Learner,
    stream: Stream,
    tally: Tally,
    until: int,
    actions: np.random.Generator,
    rounds: Rounds | None = None,
) -> None:
    """Play on from where ``tally`` stands until ``until`` rounds are played; any cuts give the same numbers.

    ``rounds`` gets a row, an action, its cost and its probability for each round, where it is given.
    """
    cost, seconds = tally.cost, tally.seconds
    for t in range(tally.round, until):
        row, costs = stream.reveal(t), stream.costs(t)
        start = perf_counter()
        q = learner.act(row)
        action = draw_action(q, actions)
        learner.learn(row, action, float(costs[action]), float(q[action]))
        if learner.full_information:
            learner.learn_all(row, costs)
        seconds += perf_counter() - start
        cost += float(q @ costs)
        if rounds is not None:
            rounds.append((row, action, float(costs[action]), float(q[action])))
    tally.round, tally.cost, tally.seconds = until, cost, seconds


def play_live(learner: Learner, stream: LiveStream, tally: Tally, until: int, actions: np.random.Generator) -> None:
    """Play on as ``play`` does where only the cost of the action played is known; without one no round counts."""
    while tally.round < until:
        row = stream.reveal(tally.round)
        start = perf_counter()
        q = learner.act(row)
        action = draw_action(q, actions)
        tally.seconds += perf_counter() - start
        cost = stream.cost(action)
        start = perf_counter()
        if cost is None:
            learner.give_up()
        else:
            learner.learn(row, action, cost, float(q[action]))
            tally.cost += float(cost)
            tally.round += 1
        tally.seconds += perf_counter() - start


class LearnerPlayer:
    """A learner in its environment: what must be saved together so that a play can go on bit by bit as it would have.

    Parameters
    ----------
    learner : the learner
    oracle : its oracle, whose queries are counted; None for a learner that asks none
    stream : contexts and costs
    certifier : returns an oracle for a query of a certificate; it shares no state with the learner's own
    at : increasing rounds at which the curve has a point, the last of them the horizon
    seed : actions are drawn from a child of it
    confidence : of certificates about this very run, at every point of the curve; None for none

    """

    def __init__(
        self,
        learner: Learner,
        oracle: Oracle | None,
        stream: Stream | LiveStream,
        certifier: Callable[[], Minimiser],
        at: Collection[int],
        seed: int,
        confidence: float | None = None,
    ) -> None:
        self.learner, self.oracle, self.stream = learner, oracle, stream
        self.tally = Tally()
        self.at = list(at)
        self.guarantee = float(learner.guarantee())
        self.points: list[dict[str, float | None]] = []
        self.confidence = confidence
        self._certifier = certifier
        self._certified: tuple[int, Certificate] | None = None  # the last answer, and its round
        self._rng = rng.child(seed, "actions")

    def advance(self, rounds: int) -> int:
        """Play at most ``rounds`` rounds, no further than the next point of the curve; return how many were played."""
        before, point = self.tally.round, self.at[len(self.points)]
        until = min(point, before + rounds)
        if isinstance(self.stream, LiveStream):
            play_live(self.learner, self.stream, self.tally, until, self._rng)
        else:
            play(self.learner, self.stream, self.tally, until, self._rng)
        if self.tally.round == point:
            self.points.append(self._point())
        return self.tally.round - before

    def state(self) -> dict[str, Any]:
        """Return everything that ``restore`` needs, as plain data; between two rounds only."""
        return {
            **asdict(self.tally),
            "learner": self.learner.state(),
            "actions": rng.freeze(self._rng),
            "oracle": [self.oracle.calls, self.oracle.seconds] if self.oracle else None,
            "points": self.points,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state; raises ValueError where its points are not those of its round."""
        known = [point["rounds"] for point in state["points"]]
        if known != [round_ for round_ in self.at if round_ <= state["round"]] or state["round"] > self.at[-1]:
            raise ValueError(f"a state after round {state['round']} with points at {known}")
        self.tally = Tally(state["round"], state["cost"], state["seconds"])
        self.learner.restore(state["learner"])
        rng.thaw(self._rng, state["actions"])
        if self.oracle:
            self.oracle.calls, self.oracle.seconds = state["oracle"]
        self.points = state["points"]

    def certify(self) -> Certificate:
        """Return what the play proves of itself so far: nothing (NaN, no policy) where no oracle answers.

        Asked twice after one round it is computed once.
        """
        if self._certified is None or self._certified[0] != self.tally.round:
            self._certified = (self.tally.round, self._certify())
        return self._certified[1]

    def _certify(self) -> Certificate:
        try:
            return self.learner.certify(self._certifier())
        except OracleInexact:
            return Certificate(np.nan, np.nan, None)

    def _confident(self) -> dict[str, float | None]:
        """Return the certificate with confidence, as an entry of a point; nothing where none is asked for."""
        if self.confidence is None:
            return {}
        try:
            return {"confident": _known(self.learner.certificate(self._certifier(), confidence=self.confidence))}
        except OracleInexact:
            return {"confident": None}

    def _point(self) -> dict[str, float | None]:
        certificate = self.certify()
        return {
            "rounds": self.tally.round,
            "cumulative_cost": self.tally.cost,
            "certificate": _known(certificate.value),
            "certificate_error": _known(certificate.error),
            "bound": _known(self.learner.bound()),
            "oracle_error": float(self.learner.oracle_error()),
            "oracle_calls": int(self.oracle.calls) if self.oracle else 0,
            "rule_changes": getattr(self.learner, "rule_changes", None),
            "seconds": round(self.tally.seconds, 6),
            "oracle_seconds": round(self.oracle.seconds, 6) if self.oracle else 0.0,
            **self._confident(),
        }


def _known(value: float) -> float | None:
    """Return a number for a record: None for what is not known, as JSON has no NaN."""
    return float(value) if np.isfinite(value) else None
