"""Requirements of every learner: the contract of ``Learner``, bit for bit, on a few contexts and a list of policies.

The base class checks in every round that q is a distribution.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from milpcb.contexts import FinitePool
from milpcb.errors import InputError
from milpcb.learners import Learner
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.plugins import injection, registry
from milpcb.testing import Check, Unmet, laws
from milpcb.types import Floats, Ints

HORIZON = 48
N_ACTIONS = 3
# Some action is played by no policy on the last context.
LABELINGS = [[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 0], [0, 0, 0, 0], [1, 2, 0, 1], [2, 2, 2, 1]]
Make = Callable[..., Learner]
ONCE = ("guarded", "capability")  # for the first instance alone


@dataclass(frozen=True)
class Scenario:
    """Labelings (N, m), and of T rounds the rows, the costs (T, K), and the uniform numbers that draw actions."""

    name: str
    labelings: Ints
    rows: Ints
    costs: Floats
    draws: Floats

    @property
    def contexts(self) -> Floats:
        """The contexts (m, 2), no two alike."""
        return np.arange(2.0 * self.labelings.shape[1]).reshape(-1, 2)

    def oracle(self) -> Oracle:
        """Return an oracle that lists the policies."""
        policies = registry.load("policies", "finite_class")(self.labelings, N_ACTIONS)
        return open_oracle(policies, self.contexts, kind="enumeration")

    def learner(self, make: Make, **instead: Any) -> Learner:
        """Return a learner, given the arguments of the runtime; ``instead`` replaces or adds some."""
        supplied = {
            "oracle": self.oracle(),
            "pool": FinitePool(self.contexts),
            "contexts": self.contexts,
            "horizon": HORIZON,
            "seed": 3,
            "n_actions": N_ACTIONS,
            "best": self.labelings[0],
        }
        asked = injection.arguments(make)
        return make(**{name: value for name, value in supplied.items() if name in asked} | instead)


def instances() -> list[Scenario]:
    """Return the instances: costs of several kinds, and a class of one policy."""
    rng = np.random.default_rng(0)
    labelings = np.array(LABELINGS)
    shape = (HORIZON, N_ACTIONS)
    mixed = np.where(rng.random(shape) < 0.5, rng.integers(0, 2, shape).astype(float), rng.random(shape))
    costs = {"six policies": mixed, "only losses": np.ones(shape), "no loss": np.zeros(shape), "one policy": mixed}
    found = []
    for name, table in costs.items():
        own = labelings[:1] if name == "one policy" else labelings
        found.append(Scenario(name, own, rng.integers(0, own.shape[1], HORIZON), table, rng.random(HORIZON)))
    return found


def transcript(
    learner: Learner, instance: Scenario, start: int = 0, stop: int = HORIZON, *, spoil: bool = False
) -> tuple[Floats, Ints]:
    """Play the rounds from ``start`` to ``stop`` and return each q (n, K) and action (n,); ``spoil`` overwrites q."""
    distributions, actions = [], []
    for t in range(start, stop):
        row, costs = int(instance.rows[t]), instance.costs[t]
        handed_out = learner.act(row)
        q = np.array(handed_out)
        if spoil and handed_out.flags.writeable:
            handed_out[:] = np.nan
        cumulative = q.cumsum()
        drawn = int(cumulative.searchsorted(instance.draws[t] * cumulative[-1], side="right"))
        action = min(drawn, N_ACTIONS - 1)
        learner.learn(row, action, float(costs[action]), float(q[action]))
        if learner.full_information:
            learner.learn_all(row, costs)
        distributions.append(q)
        actions.append(action)
    return np.array(distributions), np.array(actions)


def battery(entry: str | Make) -> list[Check]:
    """Return every check of a registered learner, a learner class, or functools.partial(MyLearner, option=...)."""
    make: Make = registry.load("learner", entry) if isinstance(entry, str) else entry
    supplied = registry.KINDS["learner"].supplied
    missing = [name for name, asked in injection.options(make, supplied).items() if asked.default is asked.empty]
    if missing:
        needed = ", ".join(missing)
        raise InputError(f"the learner needs {needed}: hand over functools.partial(TheLearner, {missing[0]}=...)")
    every = instances()
    checks = [
        Check(f"{instance.name}: {name}", partial(check, make, instance))
        for instance in every
        for name, check in CHECKS.items()
        if name not in ONCE
    ]
    return checks + [Check(name, partial(CHECKS[name], make, every[0])) for name in ONCE]


def check_made(make: Make, instance: Scenario) -> None:
    """The constructor called that of the base class, with oracle and horizon; full information is declared."""
    learner, asked = instance.learner(make), injection.arguments(make)
    assert "ledger" in vars(learner), "its __init__ does not call super().__init__(...)"
    if "oracle" in asked:
        assert learner.oracle is not None, "its __init__ does not hand the oracle to super().__init__"
    if "horizon" in asked:
        assert learner.horizon == HORIZON, "its __init__ does not hand horizon= to super().__init__"
    defines = type(learner)._learn_all is not Learner._learn_all  # noqa: SLF001 - whether it is there
    assert defines == learner.full_information, f"full_information is {learner.full_information}"


def check_same_seed(make: Make, instance: Scenario) -> None:
    """Two learners of one seed play the same bytes, also while a third is at work."""
    alone, _ = transcript(instance.learner(make), instance)
    pair = [instance.learner(make) for _ in range(2)]
    by_turns = [[transcript(learner, instance, t, t + 1)[0] for learner in pair] for t in range(HORIZON)]
    for played in zip(*by_turns, strict=True):
        _same(alone, np.concatenate(played), "two learners of one seed")


def check_restore(make: Make, instance: Scenario) -> None:
    """A learner restored from its state, as JSON, goes on bit-identically; a state handed out no longer changes."""
    for cut in (0, 1, HORIZON // 2, HORIZON - 1):
        first, second = instance.learner(make), instance.learner(make)
        transcript(first, instance, 0, cut)
        state = first.state()
        written = json.dumps(state)
        expected, _ = transcript(first, instance, cut)
        assert json.dumps(state) == written, f"the state of round {cut} changed when play went on"
        second.restore(json.loads(written))
        assert json.dumps(second.state()) == written, f"restored in round {cut}, its state is another"
        played, _ = transcript(second, instance, cut)
        _same(expected, played, f"restored in round {cut} (is a generator missing in kept?)")


def check_guarded(make: Make, instance: Scenario) -> None:
    """Changing a q after it was returned does not change later play."""
    expected, _ = transcript(instance.learner(make), instance)
    _same(expected, transcript(instance.learner(make), instance, spoil=True)[0], "after others were overwritten")


def check_unplayed_costs(make: Make, instance: Scenario) -> None:
    """Costs of actions that were not played do not matter: they may be NaN."""
    learner = instance.learner(make)
    if learner.full_information:
        raise Unmet("this learner is shown every cost")
    expected, actions = transcript(learner, instance)
    hidden = np.full_like(instance.costs, np.nan)
    every = np.arange(HORIZON)
    hidden[every, actions] = instance.costs[every, actions]
    blind = Scenario(instance.name, instance.labelings, instance.rows, hidden, instance.draws)
    _same(expected, transcript(instance.learner(make), blind)[0], "with unplayed costs NaN")


def check_bounds(make: Make, instance: Scenario) -> None:
    """The guarantee is 0 or more, perhaps infinite, the oracle error finite and 0 or more, before and after play."""
    learner = instance.learner(make)
    for _ in range(2):
        guarantee, error = learner.guarantee(), learner.oracle_error()
        assert isinstance(guarantee, float), guarantee
        assert guarantee >= 0.0, guarantee
        assert 0.0 <= error < np.inf, error
        transcript(learner, instance, 0, HORIZON // 2)


def check_capability(make: Make, instance: Scenario) -> None:
    """On an oracle that cannot answer, the constructor raises InputError, which names the kind that can."""
    if "oracle" not in injection.arguments(make):
        raise Unmet("this learner has no oracle")
    refusal = "it was made with an oracle that answers nothing"
    try:
        instance.learner(make, oracle=_Mute())
    except InputError as error:
        refusal = str(error)
    assert "kind" in refusal, refusal


class _Mute:
    capabilities: frozenset[str] = frozenset()
    contexts = np.arange(8.0).reshape(-1, 2)
    n_contexts, n_actions, log_size = 4, N_ACTIONS, 1.0


def _same(expected: Floats, seen: Floats, what: str) -> None:
    played = np.asarray(seen)
    if expected.tobytes() == played.tobytes():
        return
    assert expected.shape == played.shape, (what, expected, seen)
    row = int((expected != played).reshape(len(expected), -1).any(axis=1).argmax())
    raise AssertionError(f"{what}: entry {row} is {played[row]}, and {expected[row]} was expected")


CHECKS = laws(__name__)
