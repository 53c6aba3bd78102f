"""A learner in its environment, where all costs are known, or live. It needs the core only, and knows no algorithm."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from milpcb import rng
from milpcb.core.checks import context_array
from milpcb.data.actions import matched, own_names
from milpcb.errors import InputError, OracleInexact, shown
from milpcb.experiments.study.worlds import Entrant, World
from milpcb.learners import Learner
from milpcb.ledger import Certificate, Minimiser
from milpcb.protocols import Opened, Stream
from milpcb.rng import draw_action
from milpcb.types import Floats, Ints

Rounds = list[tuple[int, int, float, float]]


class LiveEnvironment(Protocol):
    """A live environment, see ``milpcb.play``."""

    def context(self) -> Any:
        """Return the context (d,) of the round that begins."""

    def cost(self, action: int) -> float | None:
        """Return the cost in [0, 1] of the action played, None where it never becomes known."""


class LiveStream:
    """A live environment whose contexts are rows of ``contexts`` (m, d), on which ``opened`` is open.

    A context has the number of the first row on which every policy plays alike, or else of the first equal row.
    """

    def __init__(self, environment: LiveEnvironment, opened: Opened, contexts: Floats) -> None:
        self.contexts = contexts
        self.order: Ints | None = None
        self._environment = environment
        self._number_of = _numbers(getattr(environment, "action_names", ()), opened)
        self._patterns = opened.fixed().patterns if "fixed" in opened.capabilities else np.asarray
        self._rows: dict[bytes, int] = {}
        for row, key in enumerate(self._keys(contexts)):
            self._rows.setdefault(key, row)

    def reveal(self, t: int) -> int:
        """Return the row of the context of round ``t`` (0-based); raises InputError where no row is like it."""
        shown = context_array(np.reshape(self._environment.context(), (1, -1)))
        if shown.shape[1] != self.contexts.shape[1]:
            columns = f"contexts= has {self.contexts.shape[1]} columns"
            raise InputError(f"round {t + 1} shows a context of {shown.shape[1]} numbers, {columns}")
        row = self._rows.get(self._keys(shown)[0])
        if row is None:
            raise InputError(
                f"round {t + 1} shows a context that policies distinguish from every row of contexts=; "
                "hand in all that may occur"
            )
        return row

    def _keys(self, contexts: Floats) -> list[bytes]:
        return [pattern.tobytes() for pattern in np.asarray(self._patterns(contexts)) + 0]  # so that -0.0 is 0.0

    def begin(self, seed: int) -> None:
        """Begin another play: from the start, where the environment can do that."""
        if hasattr(self._environment, "begin"):
            self._environment.begin(seed)

    def cost(self, action: int) -> float | None:
        """Return the cost of the action played, or None; see LiveEnvironment."""
        return self._environment.cost(self._number_of[action])


def _numbers(names: Sequence[str], opened: Opened) -> list[int]:
    if len(names) not in (0, opened.n_actions):
        raise InputError(f"the policy class has {opened.n_actions} actions, and the environment {shown(list(names))}")
    own = own_names(opened)
    return matched("the environment", names, own).tolist() if names and own else [*range(opened.n_actions)]


@dataclass
class Tally:
    """Rounds played; their expected cost sum_t <q_t, c_t>, live that of actions played; seconds of the learner."""

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
    stream: Stream | LiveStream,
    tally: Tally,
    until: int,
    actions: np.random.Generator,
    rounds: Rounds | None = None,
) -> None:
    """Play until ``until`` rounds are played; any cuts give the same numbers. Live, no round counts without a cost.

    ``rounds`` gets a row, an action, its cost and its probability for each round, where it is given.
    """
    while tally.round < until:
        row = stream.reveal(tally.round)
        costs = None if isinstance(stream, LiveStream) else stream.costs(tally.round)
        start = perf_counter()
        q = learner.act(row)
        action = draw_action(q, actions)
        seconds = perf_counter() - start
        cost = float(costs[action]) if costs is not None else stream.cost(action)  # type: ignore[union-attr]
        start = perf_counter()
        if cost is None:
            learner.give_up()
        else:
            learner.learn(row, action, cost, float(q[action]))
            if costs is not None and learner.full_information:
                learner.learn_all(row, costs)
        tally.seconds += seconds + perf_counter() - start
        if cost is not None:
            tally.cost += float(cost) if costs is None else float(q @ costs)
            tally.round += 1
            if rounds is not None:
                rounds.append((row, action, cost, float(q[action])))


class LearnerPlayer:
    """A learner in its environment, with the whole state of the play, which can be saved and continued bit by bit.

    ``at`` are increasing rounds at which the curve has a point, the last is the horizon; ``confidence`` is that of
    certificates about this very run. Certificates compare with the policies of the world: the class's own search is
    asked, or else an oracle like the learner's, opened for each query, as a solver's answer may depend on the queries
    before. Neither shares a state with the learner's own oracle.
    """

    def __init__(self, world: World, entrant: Entrant, seed: int, at: Ints, confidence: float | None = None) -> None:
        self.learner, self.oracle = world.learner(entrant, seed)
        self.stream: Stream | LiveStream = world.stream
        self.tally = Tally()
        self.at: list[int] = at.tolist()
        self.guarantee = float(self.learner.guarantee())
        self.points: list[dict[str, float | None]] = []
        self.confidence = confidence
        search = world.search()
        self._certifier: Callable[[], Minimiser] = lambda: search or world.oracle(entrant.oracle or {"kind": "milp"})
        self._certified: tuple[int, Certificate] | None = None  # the last answer, and its round
        self._rng = rng.child(seed, "actions")

    def advance(self, rounds: int) -> None:
        """Play at most ``rounds`` rounds, no further than the next point of the curve."""
        point = self.at[len(self.points)]
        until = min(point, self.tally.round + rounds)
        play(self.learner, self.stream, self.tally, until, self._rng)
        if self.tally.round == point:
            self.points.append(self._point())

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

    def record(self) -> dict[str, Any]:
        """Return the finished curve by columns, with the guarantee, None where there is none."""
        columns = {name: [point[name] for point in self.points] for name in self.points[0]}
        sure = {} if self.confidence is None else {"confidence": self.confidence}
        return {"guarantee": _known(self.guarantee), **sure, **columns}

    def certify(self) -> Certificate:
        """Return the certificate of the play so far, computed once a round; NaN, no policy where no oracle answers."""
        if self._certified is None or self._certified[0] != self.tally.round:
            try:
                found = self.learner.certify(self._certifier())
            except OracleInexact:
                found = Certificate(np.nan, np.nan, None)
            self._certified = (self.tally.round, found)
        return self._certified[1]

    def _sure(self) -> float:
        try:
            return float(self.learner.certificate(self._certifier(), confidence=self.confidence))
        except OracleInexact:
            return np.nan

    def _point(self) -> dict[str, float | None]:
        certificate = self.certify()
        point = {
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
        }
        return point if self.confidence is None else point | {"confident": _known(self._sure())}


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
