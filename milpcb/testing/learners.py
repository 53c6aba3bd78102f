"""What every learner must satisfy, whatever its algorithm: the contract of ``Learner``, bit for bit.

Each check makes learners from their class and plays them on worlds of a few contexts, whose oracle lists its policies and
so answers every question. It raises AssertionError with what it saw, or Unmet where it does not apply.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from milpcb import registry, supply
from milpcb.contexts import FinitePool
from milpcb.errors import InputError
from milpcb.learners.needs import SUPPLIED
from milpcb.oracles import open_oracle
from milpcb.protocols import Learner
from milpcb.testing import Check, Unmet
from milpcb.types import Floats, Ints

HORIZON = 48
N_ACTIONS = 3
# Some action is played by no policy on the last context.
LABELINGS = [[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 0], [0, 0, 0, 0], [1, 2, 0, 1], [2, 2, 2, 1]]
Make = Callable[..., Learner]


@dataclass(frozen=True)
class World:
    """The labelings (N, m) that a learner competes with, and what each round shows: rows (T,), costs (T, K).

    ``draws`` (T,) are the uniform numbers that actions are drawn with.
    """

    name: str
    labelings: Ints
    rows: Ints
    costs: Floats
    draws: Floats

    def learner(self, make: Make, **instead: Any) -> Learner:
        """Return a learner, given what the runtime gives it; ``instead`` replaces some of that."""
        contexts = np.arange(2.0 * self.labelings.shape[1]).reshape(-1, 2)
        policies = registry.load("policies", "finite_class")(self.labelings, N_ACTIONS)
        supplied = {
            "oracle": open_oracle(policies, contexts, kind="enumeration"),
            "pool": FinitePool(contexts),
            "horizon": HORIZON,
            "seed": 3,
            "n_actions": N_ACTIONS,
            "best": self.labelings[0],
        } | instead
        asked = supply.arguments(make)
        return make(**{name: value for name, value in supplied.items() if name in asked})


def worlds() -> list[World]:
    """Return the worlds: costs of several kinds, and a class of one policy."""
    rng = np.random.default_rng(0)
    labelings = np.array(LABELINGS)
    shape = (HORIZON, N_ACTIONS)
    mixed = np.where(rng.random(shape) < 0.5, rng.integers(0, 2, shape).astype(float), rng.random(shape))
    costs = {"six policies": mixed, "only losses": np.ones(shape), "no loss": np.zeros(shape), "one policy": mixed}
    return [
        World(
            name,
            labelings[:1] if name == "one policy" else labelings,
            rng.integers(0, labelings.shape[1], HORIZON),
            table,
            rng.random(HORIZON),
        )
        for name, table in costs.items()
    ]


def battery(entry: str | Make) -> list[Check]:
    """Return every check of a registered learner, or of a learner class.

    A class with required options is given as ``functools.partial(MyLearner, option=...)``.
    """
    make: Make = registry.load("learner", entry) if isinstance(entry, str) else entry
    missing = [name for name, asked in supply.arguments(make).items() if _unmet(name, asked)]
    if missing:
        raise InputError(
            f"the learner needs {', '.join(missing)}: hand over functools.partial(TheLearner, {missing[0]}=...)"
        )
    every = worlds()
    checks = [
        Check(f"{world.name}: {name}", partial(check, make, world)) for world in every for name, check in CHECKS.items()
    ]
    return checks + [Check(name, partial(check, make, every[0])) for name, check in CHECKS_ONCE.items()]


def transcript(learner: Learner, world: World, start: int = 0, stop: int = HORIZON) -> tuple[Floats, Ints]:
    """Play the rounds from ``start`` to ``stop`` and return each q (n, K) and action (n,)."""
    distributions, actions = [], []
    for t in range(start, stop):
        q = learner.act(int(world.rows[t]))
        distributions.append(np.array(q))
        actions.append(_drawn(q, world.draws[t]))
        _teach(learner, int(world.rows[t]), world.costs[t], q, actions[-1])
    return np.array(distributions), np.array(actions)


def check_distribution(make: Make, world: World) -> None:
    """Every q is a distribution over the K actions, as floats."""
    learner = world.learner(make)
    assert learner.n_actions == N_ACTIONS, learner.n_actions
    q = learner.act(int(world.rows[0]))
    assert isinstance(q, np.ndarray), q
    assert q.dtype == np.float64, q.dtype
    assert q.shape == (N_ACTIONS,), q.shape
    played, _ = transcript(world.learner(make), world)
    assert np.isfinite(played).all(), played
    assert played.min() >= 0.0, played
    assert np.allclose(played.sum(axis=1), 1.0, atol=1e-9), played.sum(axis=1)


def check_same_seed(make: Make, world: World) -> None:
    """Two learners of one seed play the same bytes, also while a third is at work."""
    alone, _ = transcript(world.learner(make), world)
    pair = [world.learner(make) for _ in range(2)]
    by_turns = [[transcript(learner, world, t, t + 1)[0] for learner in pair] for t in range(HORIZON)]
    for played in zip(*by_turns, strict=True):
        _same(alone, np.concatenate(played), "two learners of one seed")


def check_restore(make: Make, world: World) -> None:
    """A learner restored from its state, as JSON, goes on bit-identically; a state handed out no longer changes."""
    for cut in (0, 1, HORIZON // 2, HORIZON - 1):
        first, second = world.learner(make), world.learner(make)
        transcript(first, world, 0, cut)
        state = first.state()
        written = json.dumps(state)
        expected, _ = transcript(first, world, cut)
        assert json.dumps(state) == written, f"the state of round {cut} changed when play went on"
        second.restore(json.loads(written))
        assert json.dumps(second.state()) == written, f"restored in round {cut}, its state is another"
        _same(expected, transcript(second, world, cut)[0], f"restored in round {cut}")


def check_guarded(make: Make, world: World) -> None:
    """Nothing that is done to a q handed out changes later play."""
    learner = world.learner(make)
    expected, actions = transcript(world.learner(make), world)
    for t, action in enumerate(actions.tolist()):
        q = learner.act(int(world.rows[t]))
        _same(expected[t], q, f"after others were overwritten, round {t}")
        before = q.copy()
        if q.flags.writeable:
            q[:] = np.nan
        _teach(learner, int(world.rows[t]), world.costs[t], before, action)


def check_unplayed(make: Make, world: World) -> None:
    """Costs of actions that were not played do not matter: they may as well be NaN."""
    learner = world.learner(make)
    if learner.full_information:
        raise Unmet("this learner is shown every cost")
    expected, actions = transcript(learner, world)
    hidden = np.full_like(world.costs, np.nan)
    every = np.arange(HORIZON)
    hidden[every, actions] = world.costs[every, actions]
    blind = World(world.name, world.labelings, world.rows, hidden, world.draws)
    _same(expected, transcript(world.learner(make), blind)[0], "with unplayed costs NaN")


def check_bounds(make: Make, world: World) -> None:
    """The guarantee is a number, 0 or more, perhaps infinite, and the certificate a finite one, before and after play."""
    learner = world.learner(make)
    for _ in range(2):
        guarantee, certificate = learner.guarantee(), learner.certificate()
        assert isinstance(guarantee, float), guarantee
        assert guarantee >= 0.0, guarantee
        assert 0.0 <= certificate < np.inf, certificate
        transcript(learner, world, 0, HORIZON // 2)


def check_bad_cost(make: Make, world: World) -> None:
    """A cost that is NaN or outside [0, 1] is refused with InputError."""
    for bad in (-0.25, 1.25, np.nan, np.inf):
        learner, row = world.learner(make), int(world.rows[0])
        q = learner.act(row)
        refusal = _refusal(_teach, learner, row, np.full(N_ACTIONS, bad), q, int(q.argmax()))
        assert refusal is not None, f"cost {bad} was taken in"


def check_declared(make: Make, world: World) -> None:
    """Only a learner that declares ``full_information`` takes in all costs."""
    learner = world.learner(make)
    assert isinstance(learner, Learner), type(learner)
    assert isinstance(learner.full_information, bool), learner.full_information
    learner.act(0)
    if not learner.full_information:
        refusal = _refusal(learner.learn_all, 0, np.zeros(N_ACTIONS))
        assert refusal is not None, "learn_all works, but full_information is not declared"


def check_capability(make: Make, world: World) -> None:
    """On an oracle that cannot answer, the constructor raises InputError, which names the kind that can."""
    if "oracle" not in supply.arguments(make):
        raise Unmet("this learner has no oracle")
    message = _refusal(world.learner, make, oracle=_Mute())
    assert message is not None, "it was made with an oracle that answers nothing"
    assert "kind" in message, message


def check_settings(make: Make, world: World) -> None:
    """A horizon without rounds, and a seed that is none, are refused with InputError."""
    asked = supply.arguments(make)
    for name, bad in (("horizon", 0), ("seed", -1)):
        if name in asked:
            assert _refusal(world.learner, make, **{name: bad}) is not None, f"{name} = {bad} was taken"


CHECKS: dict[str, Callable[[Make, World], None]] = {
    "distribution": check_distribution,
    "same seed": check_same_seed,
    "restore": check_restore,
    "unplayed costs": check_unplayed,
    "bounds": check_bounds,
}
CHECKS_ONCE: dict[str, Callable[[Make, World], None]] = {
    "guarded": check_guarded,
    "bad cost": check_bad_cost,
    "declared": check_declared,
    "capability": check_capability,
    "settings": check_settings,
}


def _unmet(name: str, asked: inspect.Parameter) -> bool:
    return asked.default is inspect.Parameter.empty and name not in SUPPLIED


class _Mute:
    """An oracle that answers nothing."""

    can: frozenset[str] = frozenset()
    contexts = np.arange(8.0).reshape(-1, 2)
    n_contexts, n_actions, log_size = 4, N_ACTIONS, 1.0


def _drawn(q: Floats, uniform: float) -> int:
    cumulative = q.cumsum()
    return min(int(cumulative.searchsorted(uniform * cumulative[-1], side="right")), N_ACTIONS - 1)


def _teach(learner: Learner, row: int, costs: Floats, q: Floats, action: int) -> None:
    learner.learn(row, action, float(costs[action]), float(q[action]))
    if learner.full_information:
        learner.learn_all(row, costs)


def _same(expected: Floats, seen: Floats, what: str) -> None:
    assert expected.tobytes() == np.asarray(seen).tobytes(), (what, expected, seen)


def _refusal(call: Callable[..., object], *arguments: Any, **named: Any) -> str | None:
    """Return the message of the InputError that the call raises, None where it raises none."""
    try:
        call(*arguments, **named)
    except InputError as error:
        return str(error)
    return None
