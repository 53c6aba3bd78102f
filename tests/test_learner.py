"""The base class of learners: what it refuses, once for every learner, and what it leaves alone."""

import inspect
import json
from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool
from milpcb.errors import InputError, OracleInexact
from milpcb.learners import Hedge, Learner, Uniform
from milpcb.plugins import injection, registry
from milpcb.types import Answer, Floats, Stop
from tests.learners.rounds import listed
from tests.refused import refused

CONTEXTS = np.arange(4.0)[:, None]
LABELINGS = np.array([[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 0], [0, 0, 0, 0]])
ORACLE = listed(LABELINGS)


class Given(Learner):
    """Plays the q it is made with, and writes down what it learns."""

    kept = ("log",)

    def __init__(self, q: Any) -> None:
        super().__init__(n_actions=3)
        self.q, self.log = q, list[Any]()

    def _act(self, row: int) -> Floats:
        """Return q."""
        del row
        return self.q  # type: ignore[no-any-return]  # that is what is tried

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Write it down."""
        self.log.append((row, action, cost, probability))


class Shown(Given):
    """The same, shown every cost."""

    full_information = True

    def _learn_all(self, row: int, costs: Floats) -> None:
        """Write them down."""
        self.log.append((row, *costs))


Q = np.array([0.25, 0.75, 0.0])


# ------------------------------------------------------------------- q is a distribution


@pytest.mark.parametrize(
    ("q", "why"),
    [
        (np.array([1.0, 0.5, 0.5]), "sum to 2"),
        (np.array([1.5, -0.5, 0.0]), "negative"),
        (np.array([np.nan, 0.5, 0.5]), "sum to nan"),
        (np.array([0.5, 0.5]), r"shape \(3,\)"),
        (np.array([0.5, 0.5, 0.0], dtype=np.float32), "float array"),
        (None, "float array"),
        (np.array([0.5, 0.5, 2e-9]), "sum to 1.000000002"),
    ],
)
def test_what_is_no_distribution_is_refused_at_once(q: Any, why: str) -> None:
    """The error names learner, round and q; the learner is as it was."""
    learner = Given(q)
    before = learner.state()
    with pytest.raises(InputError, match=rf"round 1 of Given: .* q = .*{why}"):
        learner.act(0)
    assert learner.state() == before


@pytest.mark.parametrize("q", [[0.1] * 10, [1 / 3] * 3, [0.7, 0.2, 0.1], [0.5, 0.5 + 4e-10, 0.0]])
def test_rounding_is_no_mistake(q: list[float]) -> None:
    """Sums that are off by rounding pass, and the array itself is handed on."""
    learner = Given(np.array(q))
    learner.n_actions = len(q)
    assert learner.act(0) is learner.q


# ------------------------------------------------------------------- rounds are in order


# More of them are tried on every learner by milpcb.testing.
WRONG = {
    "another row": ((1, 1, 0.5, 0.75), "was played on row 0, got row 1"),
    "a cost above 1": ((0, 1, 1.1, 0.75), r"the cost of action 1 in round 1 is 1\.1"),
    "another probability": ((0, 1, 0.5, 0.7499999), r"was played with probability 0\.75, got 0\.7499999"),
    "an action that is never drawn": ((0, 2, 0.5, 0.0), "has probability 0 in the q that act"),
}


@pytest.mark.parametrize(("feedback", "message"), WRONG.values(), ids=WRONG)
def test_feedback_that_cannot_be_is_refused(feedback: tuple[Any, ...], message: str) -> None:
    """One line names what is wrong; the learner still waits for the right feedback, and takes it."""
    learner = Given(Q)
    learner.act(0)
    before = learner.state()
    with pytest.raises(InputError, match=message):
        learner.learn(*feedback)
    assert learner.state() == before
    learner.learn(0, 1, 0.5, 0.75)
    assert learner.log == [(0, 1, 0.5, 0.75)]


def test_numbers_of_numpy_are_numbers() -> None:
    """Rows, actions, costs and probabilities may be numpy's, and reach the algorithm as plain ones."""
    learner = Given(Q)
    learner.act(np.int32(2))  # type: ignore[arg-type]  # that is what is tried
    learner.learn(np.int64(2), np.uint8(1), np.float32(0.5), Q[1])  # type: ignore[arg-type]
    assert learner.log == [(2, 1, 0.5, 0.75)]
    assert [type(entry) for entry in learner.log[0]] == [int, int, float, float]


@pytest.mark.parametrize(
    "name", [n for n in registry.names("learner") if injection.asks(registry.load("learner", n), "oracle")]
)
def test_no_round_past_the_horizon(name: str) -> None:
    """Every learner with a horizon plays that many rounds and no more: its guarantee is for them."""
    cls = registry.load("learner", name)
    pool = {"pool": FinitePool(CONTEXTS)} if name in ("bistro_plus", "doubling", "policy_elimination") else {}
    learner = cls(ORACLE, **pool, horizon=3)
    for _ in range(3):
        q = learner.act(1)
        learner.learn(1, int(q.argmax()), 0.5, float(q.max()))
        if learner.full_information:
            learner.learn_all(1, np.full(3, 0.5))
    before = learner.state()
    with pytest.raises(InputError, match=r"round 4 of \w+ is past the horizon of 3"):
        learner.act(1)
    assert learner.state() == before


def test_all_costs_come_after_the_played_one() -> None:
    """A learner of full information is shown a round's costs after learn; the others never."""
    learner = Shown(Q)
    learner.act(3)
    refused(lambda: learner.learn_all(3, np.zeros(3)), "round 1 of Shown")
    learner.learn(3, 1, 0.5, 0.75)
    for costs, message in (
        ([0.0, 0.5, np.nan], "the cost of action 2 in round 1 is nan"),
        ([0.0, 0.5], "one per action"),
        ("abc", "must be numbers"),
    ):
        with pytest.raises(InputError, match=message):
            learner.learn_all(3, costs)  # type: ignore[arg-type]  # that is what is tried
    learner.learn_all(3, np.array([0.0, 0.5, 1.0]))
    assert learner.log == [(3, 1, 0.5, 0.75), (3, 0.0, 0.5, 1.0)]
    refused(lambda: Given(Q).learn_all(0, np.zeros(3)), "Given learns from the played action only")


# ------------------------------------------------------------------- state


@pytest.mark.parametrize("cls", [Given, Shown])
@pytest.mark.parametrize("steps", range(7))
def test_a_state_is_taken_anywhere(cls: Any, steps: int) -> None:
    """Between rounds, and between any two calls of one: the restored learner waits for the same call."""
    first, second = cls(Q), cls(Q)
    calls: list[Any] = [("act", 2), ("learn", 2, 1, 0.5, 0.75)]
    calls += [("learn_all", 2, np.array([0.0, 0.5, 1.0]))] if cls is Shown else []
    for name, *arguments in (calls * 4)[:steps]:
        getattr(first, name)(*arguments)
    second.restore(json.loads(json.dumps(first.state())))
    for learner in (first, second):
        for name, *arguments in (calls * 4)[steps:]:
            getattr(learner, name)(*arguments)
    assert first.state() == second.state()
    assert second.played == 4


# ------------------------------------------------------------------- constructors


@pytest.mark.parametrize("name", registry.names("learner"))
def test_every_learner_is_given_horizon_and_seed(name: str) -> None:
    """All are made alike, by name: those that use no seed or no horizon take one too."""
    asked = injection.arguments(registry.load("learner", name))
    assert {asked[each].kind for each in ("horizon", "seed")} == {inspect.Parameter.KEYWORD_ONLY}


# ------------------------------------------------------------------- the best policy so far


def test_a_learner_without_an_oracle_is_handed_one() -> None:
    """Else it says that the policies to compare with are not known; a learner with one may be handed another."""
    hedge, uniform = Hedge(ORACLE, horizon=10), Uniform(3)
    for ask in (uniform.policy, uniform.certificate, uniform.certificate_error):
        refused(ask, "Uniform has no oracle", "hand in an oracle", "certificate(oracle)")
    for learner in (hedge, uniform):
        q = learner.act(1)
        learner.learn(1, 1, 0.5, float(q[1]))
    assert uniform.certificate(ORACLE) == hedge.certificate() == hedge.certificate(ORACLE) == 0.5
    with pytest.raises(InputError, match="the play was on row 1, and the oracle has 1 contexts"):
        uniform.certificate(listed(LABELINGS[:, :1], 3))


def test_an_oracle_that_stops_early_still_certifies() -> None:
    """Its lower bound stands for the minimum, 0 where it is less; without a policy there is no error or best policy."""

    class Hurried:
        n_contexts, n_actions, contexts, lower = 4, 3, CONTEXTS, 1.25

        def minimise(self, costs: Any) -> Answer:
            """Return a bound alone."""
            assert costs.shape == (4, 3)
            return Answer(self.lower, np.inf, None, Stop.TIME_LIMIT, 0.0)

    uniform, hurried = Uniform(3), Hurried()
    for _ in range(4):
        uniform.act(0)
        uniform.learn(0, 1, 0.5, 1 / 3)
    assert uniform.certificate(hurried) == 2.0 - 1.25
    hurried.lower = -np.inf
    assert uniform.certificate(hurried) == 2.0
    assert np.isnan(uniform.certificate_error(hurried))
    with pytest.raises(OracleInexact, match="no policy in its time"):
        uniform.policy(hurried)


def test_an_estimate_below_zero_is_refused() -> None:
    """A learner that hides its law estimates costs itself, and no estimate is negative."""

    class Overdrawn(Given):
        def _learn(self, row: int, action: int, cost: float, probability: float) -> float:
            super()._learn(row, action, cost, probability)
            return -cost

    learner = Overdrawn(Q)
    learner.act(0)
    with pytest.raises(InputError, match=r"Overdrawn\._learn must return an estimate >= 0, got -0\.5"):
        learner.learn(0, 0, 0.5, float(Q[0]))
    assert learner.played == 0
    assert learner.ledger.state() == Given(Q).ledger.state()  # what the base class counts is not half counted
    learner.act(1)  # round 1, anew
