"""Mirror: costs written against a learner by somebody who knows it, and not the coins that it will draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from milpcb.contexts import FinitePool
from milpcb.core.checks import whole
from milpcb.environments.planted import Planted
from milpcb.environments.stream import TableStream, check_opening
from milpcb.errors import InputError, shown
from milpcb.plugins import injection, registry
from milpcb.protocols import Cache, Opened, PolicyClass, open_class
from milpcb.rng import child, draw_action
from milpcb.types import Floats, Ints

DIGITS = 9  # of mean probabilities: what differs by less is a tie, so that the last bits of a float decide nothing


@dataclass(frozen=True)
class Mirror:
    """In every round the action costs 1 that the learner is likeliest to play.

    Breaks learners whose play is nearly certain given the past. Several copies of ``learner`` play side by side on
    contexts as of ``Planted``; a round costs 1 for the action with the largest mean probability over the copies (of
    several the first), 0 for the others, and each copy learns from its own draw. The costs are a fixed sequence, so all
    guarantees for costs that are fixed in advance hold; a study computes them once for each seed and keeps them.

    Parameters
    ----------
    learner : registered name, or ``module:Class``, of the learner whose mirror it is
    options : that learner's own options
    oracle : kind of its oracle and the options of that; None takes the class's own search, else the default solver
    copies : R >= 1, the number that play side by side; with one, costs follow the coins of that one
    n_actions : K >= 2
    n_contexts, n_features : shape of the pool, each >= 1

    """

    learner: str = "epsilon_greedy"
    options: dict[str, Any] | None = None
    oracle: dict[str, Any] | None = None
    copies: int = 8
    n_actions: int = 3
    n_contexts: int = 200
    n_features: int = 12

    feature_names: ClassVar[tuple[str, ...]] = ()
    action_names: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        whole("copies", self.copies, 1, 1000)
        self._pool()
        for name, table in (("options", self.options), ("oracle", self.oracle)):
            if table is not None and not isinstance(table, Mapping):
                raise InputError(f"{name} must be a table of options by name, got {shown(table)}")
        cls = registry.load("learner", self.learner)
        if cls.full_information or injection.asks(cls, "best"):
            raise InputError(f"learner '{self.learner}' is shown more than the cost it paid, so it has no mirror")

    def open(self, policies: PolicyClass, horizon: int, seed: int, cache: Cache | None = None) -> TableStream:
        """Return the stream of one seed; costs that ``cache`` holds are not computed again. Raises InputError."""
        check_opening(self.n_actions, policies, horizon)
        contexts = self._pool().contexts(seed)
        rows = child(seed, "environment", "rows").integers(len(contexts), size=horizon)
        make = partial(self._copies, open_class(policies, contexts), contexts, horizon, seed)
        make()  # what is wrong with the options is known before anything is played
        return TableStream(contexts, rows, partial(self._costs, make, rows, seed, cache), known=False)

    def _pool(self) -> Planted:
        return Planted(self.n_actions, self.n_contexts, self.n_features)

    def _costs(self, make: Callable[[], list[Any]], rows: Ints, seed: int, cache: Cache | None) -> Floats:
        kept: Any = cache.load() if cache else None
        fits = isinstance(kept, list) and all(type(action) is int and 0 <= action < self.n_actions for action in kept)
        if not fits or len(kept) != len(rows):
            kept = list(costly_actions(make, rows, seed))
            if cache:
                cache.save(kept)
        return np.asarray(np.eye(self.n_actions)[kept])

    def _copies(self, opened: Opened, contexts: Floats, horizon: int, seed: int) -> list[Any]:
        cls = registry.load("learner", self.learner)
        own = dict(self.oracle or {"kind": "search" if "search" in opened.capabilities else "milp"})
        kind = registry.load("oracle", own.pop("kind", "milp"))
        asked = {"opened": opened, "contexts": contexts, "constraints": ()}
        oracle = injection.make(kind, asked, own) if injection.asks(cls, "oracle") else None
        supplied = {"oracle": oracle, "contexts": contexts, "horizon": horizon, "n_actions": self.n_actions}
        seeds = child(seed, "environment", "mirror", "copies").integers(2**32, 2**63 - 1, size=self.copies).tolist()
        try:
            return [
                injection.make(cls, {**supplied, "pool": FinitePool(contexts), "seed": own}, self.options)
                for own in seeds
            ]
        except InputError as error:
            raise InputError(f"the mirror of '{self.learner}': {error}") from error


def costly_actions(make: Callable[[], list[Any]], rows: Ints, seed: int) -> Iterator[int]:
    """Play fresh copies of a learner on context ``rows`` (T,), and yield for each round the action that costs."""
    copies = make()
    draws = [child(seed, "environment", "mirror", "actions", number) for number in range(len(copies))]
    for row in rows.tolist():
        q = np.array([copy.act(row) for copy in copies])
        likeliest = int(np.round(q.mean(axis=0), DIGITS).argmax())
        for copy, own, draw in zip(copies, q, draws, strict=True):
            action = draw_action(own, draw)
            copy.learn(row, action, float(action == likeliest), float(own[action]))
        yield likeliest
