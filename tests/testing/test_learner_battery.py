"""The battery of learners has teeth: a sound learner passes, and each way to break it fails the check for it."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from milpcb import testing
from milpcb.errors import InputError
from milpcb.learners import Learner
from milpcb.learners.needs import require
from milpcb.rng import child, thaw
from milpcb.types import Floats
from tests.refused import refused


class Sound(Learner):
    """Exponential weights over the listed labelings, blurred by its own draws: keeps the contract."""

    kept: Any = ("rng", "totals", "log")

    def __init__(self, oracle: Any, *, horizon: int, seed: int) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require("sound", oracle, "enumerate")
        self.labelings, self.q = oracle.labelings, np.ones(3)
        self.rng, self.totals, self.log = child(seed, "sound"), np.zeros(len(oracle.labelings)), [0]

    def _act(self, row: int) -> Floats:
        """Return the blurred weights of the actions, at least 0.1 each."""
        weights = np.exp(-self.totals) * self.rng.uniform(0.5, 1.0, len(self.totals))
        self.q = 0.1 + 0.7 * np.bincount(self.labelings[:, row], weights, minlength=3) / weights.sum()
        return self.q.copy()

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Add the estimate to the totals."""
        self.totals += (self.labelings[:, row] == action) * cost / probability
        self.log[0] += 1


ACT, LEARN = Sound._act, Sound._learn


class Shown(Learner):
    """Draws evenly, needs neither oracle nor horizon, and must be shown every cost of every round."""

    full_information = True
    kept: Any = ("shown",)

    def __init__(self, *, n_actions: int) -> None:
        super().__init__(n_actions=n_actions)
        self.shown = 0

    def guarantee(self) -> float:
        """Promise the most that can be promised."""
        return 0.0

    def _act(self, row: int) -> Floats:
        del row
        assert self.shown == self.played
        return np.full(self.n_actions, 1 / self.n_actions)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Learn nothing."""

    def _learn_all(self, row: int, costs: Floats) -> None:
        del row, costs
        self.shown += 1


# ------------------------------------------------------------------- ways to break it


def unseeded(self: Sound, row: int) -> Floats:
    """Draw what no seed gives."""
    self.rng = np.random.default_rng()
    return ACT(self, row)


def exposing(self: Sound, row: int) -> Floats:
    """Hand out the very array that learn reads."""
    ACT(self, row)
    return self.q


def trusting(self: Sound, row: int, action: int, cost: float, _probability: float) -> None:
    """Read the probability from what was handed out."""
    LEARN(self, row, action, cost, np.nan_to_num(self.q, nan=0.5)[action])


def redrawing(self: Sound, state: dict[str, Any]) -> None:
    """Draw again what was drawn before the state was taken."""
    self.totals, self.log = np.array(state["totals"]), list(state["log"])


def forgetting(self: Sound, state: dict[str, Any]) -> None:
    """Leave the totals out."""
    thaw(self.rng, state["rng"])
    self.log = list(state["log"])


def peeping(self: Sound, row: int, action: int, cost: float, probability: float) -> None:
    """Look at the other costs, over the caller's shoulder."""
    LEARN(self, row, action, cost, probability)
    costs = inspect.currentframe().f_back.f_back.f_locals["costs"]  # type: ignore[union-attr]  # there are two callers
    self.totals += np.nan_to_num(costs)[self.labelings[:, row]]


def constructor(
    before: Callable[[Any, int, int], tuple[Any, int, int]] = lambda *given: given,
    after: Callable[[Sound], object] = lambda _self: None,
) -> Any:
    """Return a constructor that changes what it is given, or the learner that was made."""

    def made(self: Sound, oracle: Any, *, horizon: int, seed: int) -> None:
        oracle, horizon, seed = before(oracle, horizon, seed)
        Sound.__init__(self, oracle, horizon=horizon, seed=seed)
        after(self)

    return made


def unasking(oracle: Any, horizon: int, seed: int) -> tuple[Any, int, int]:
    """Do not ask whether the oracle can."""
    oracle.capabilities, oracle.labelings = {"enumerate"}, getattr(oracle, "labelings", np.zeros((1, 4), int))
    return oracle, horizon, seed


def vague(oracle: Any, horizon: int, seed: int) -> tuple[Any, int, int]:
    """Say no, but not what to do."""
    if "enumerate" not in oracle.capabilities:
        raise InputError("this oracle will not do")
    return oracle, horizon, seed


MISTAKES: list[tuple[str, dict[str, Any]]] = [
    ("same seed", {"_act": lambda self, row: ACT(self, row) * 1.1}),
    ("same seed", {"_act": lambda self, row: ACT(self, row) + np.array([0.8, -0.8, 0.0])}),
    ("same seed", {"_act": lambda self, row: ACT(self, row).tolist()}),
    ("same seed", {"_act": unseeded}),
    ("restore", {"_restore": redrawing}),
    ("restore", {"_restore": forgetting}),
    ("restore", {"kept": ("rng", "log")}),
    ("restore", {"state": lambda self: Learner.state(self) | {"totals": self.totals}}),
    ("guarded", {"_act": exposing, "_learn": trusting}),
    ("unplayed costs", {"_learn": peeping}),
    ("bounds", {"guarantee": lambda _self: float("nan")}),
    ("bounds", {"guarantee": lambda _self: -1.0}),
    ("bounds", {"guarantee": lambda self: float("nan") if self.played else 0.0}),
    ("bounds", {"oracle_error": lambda _self: np.inf}),
    ("made", {"_learn_all": lambda _self, _row, _costs: None}),
    ("made", {"full_information": True}),
    ("same seed", {"_act": lambda self, row: ACT(self, row) * np.nan}),
    ("capability", {"__init__": constructor(unasking)}),
    ("capability", {"__init__": constructor(vague)}),
    ("made", {"__init__": constructor(after=lambda self: delattr(self, "ledger"))}),
    ("made", {"__init__": constructor(after=lambda self: setattr(self, "horizon", None))}),
    ("made", {"__init__": constructor(after=lambda self: setattr(self, "oracle", None))}),
]


def broken(methods: dict[str, Any]) -> type[Learner]:
    """Return the sound learner with other methods, put into the finished class.

    So a mistake also gets past what the base class does when a class is made.
    """
    made = type("Broken", (Sound,), {})
    for name, method in methods.items():
        setattr(made, name, method)
    return made


def fails(check: testing.Check) -> bool:
    """Return whether a check fails, in whatever way."""
    try:
        check.run()
    except (AssertionError, AttributeError, LookupError, InputError, TypeError):
        return True
    return False


def test_a_sound_learner_passes() -> None:
    """The learners that broken ones are made from keep the contract, and nothing is skipped."""
    assert testing.run_all("learner", Sound) == []


def test_a_sound_learner_without_an_oracle_passes() -> None:
    """It is asked nothing about an oracle; with full information no cost is left unplayed."""
    skipped = {line.split(": ", 1)[-1] for line in testing.run_all("learner", Shown)}
    assert skipped == {"unplayed costs: this learner is shown every cost", "this learner has no oracle"}


def test_options_without_a_default_are_asked_for() -> None:
    """A learner with a required option of its own is handed over with it."""

    class Wanting(Sound):
        def __init__(self, oracle: Any, *, blur: float, horizon: int, seed: int) -> None:
            assert blur == 0.5
            super().__init__(oracle, horizon=horizon, seed=seed)

    refused(lambda: testing.battery("learner", Wanting), "hand over functools.partial(TheLearner, blur=...)")
    testing.battery("learner", partial(Wanting, blur=0.5))[0].run()


@pytest.mark.parametrize(("name", "methods"), MISTAKES)
def test_a_broken_learner_is_caught(name: str, methods: dict[str, Any]) -> None:
    """The check that is there for the mistake fails."""
    checks = testing.battery("learner", broken(methods))
    assert any(fails(check) for check in checks if check.id.rpartition(": ")[2] == name)


@pytest.mark.parametrize(
    ("methods", "error", "message", "check"),
    [
        ({"guarantee": lambda _self: -1.0}, AssertionError, "-1.0", "six policies: bounds'"),
        ({"guarantee": lambda _self: {}["T"]}, KeyError, "T", ""),
        # a learner that keeps only its totals is asked for its generator, without whole arrays
        ({"kept": ("totals", "log")}, AssertionError, r"in kept\?\): entry \d+ is .{,200} was expected", ""),
    ],
)
def test_the_failing_check_is_named(methods: Any, error: type[Exception], message: str, check: str) -> None:
    """``run_all`` stops at the first failure, and names the law that was broken and how to run that check alone."""
    with pytest.raises(error, match=message) as caught:
        testing.run_all("learner", broken(methods))
    assert caught.value.__notes__[0].startswith(f"learner, check '{check}")
    assert ".run()" in caught.value.__notes__[1]
