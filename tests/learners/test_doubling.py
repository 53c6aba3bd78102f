"""Doubling: when phases start, what each one plays, the sum of the guarantees, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool
from milpcb.learners import BistroPlus, Doubling, Exp4, Learner, Uniform
from milpcb.plugins import registry
from milpcb.rng import child
from milpcb.types import Floats
from tests.learners.rounds import listed, one_round

CONTEXTS = np.arange(4.0)[:, None]
LABELINGS = np.array([[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 2], [0, 0, 0, 0]])
SEED = 11


def doubling(**options: Any) -> Doubling:
    """Return a doubling learner with phases of 20, 40, 80, ... rounds."""
    pool = options.pop("pool", FinitePool(CONTEXTS))
    return Doubling(listed(LABELINGS), pool, seed=SEED, **{"first": 20, **options})


def seed_of(phase: int) -> int:
    """Return the seed of the learner of a phase."""
    return int(child(SEED, "doubling", phase).integers(2**63))


def played(learner: Learner, start: int, stop: int) -> Floats:
    """Play the rounds from ``start`` to ``stop`` of a fixed game; return every q."""
    made = []
    for t in range(start, stop):
        rng = np.random.default_rng(t)
        made.append(one_round(learner, t % 4, rng.random(3) < [0.3, 0.5, 0.7], rng)[1])
    return np.array(made)


class Recorder(Uniform):
    """Notes down what it is made with."""

    horizon: int
    made: list[Recorder]

    def __init__(self, *, horizon: int, seed: int, n_actions: int) -> None:
        super().__init__(n_actions, horizon=horizon, seed=seed)
        self.made.append(self)

    def oracle_error(self) -> float:
        """Return the number of rounds."""
        return float(self.played)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> type[Recorder]:
    """Register the recorder under its name."""
    fresh = type("Fresh", (Recorder,), {"made": []})
    load = registry.load
    monkeypatch.setattr(registry, "load", lambda kind, name: fresh if name == "recorder" else load(kind, name))
    return fresh


# ------------------------------------------------------------------- phases


def test_phases_start_where_they_should(recorder: type[Recorder]) -> None:
    """Phases of 5, 10, 20, 40 rounds: each has its own learner, made for that many, with its own seed."""
    learner = doubling(inner="recorder", first=5)
    played(learner, 0, 75)
    assert [made.horizon for made in recorder.made] == [5, 10, 20, 40]
    assert [made.played for made in recorder.made] == [5, 10, 20, 40]
    assert len({made.seed for made in recorder.made}) == 4
    assert [made.seed for made in recorder.made] == [seed_of(phase) for phase in range(4)]
    played(learner, 75, 76)
    assert [made.played for made in recorder.made] == [5, 10, 20, 40, 1]


def test_oracle_errors_add_up_over_phases(recorder: type[Recorder]) -> None:
    """Certificates of finished phases are kept, also through a saved state."""
    first, second = (doubling(inner="recorder", first=5) for _ in range(2))
    for t in range(40):
        assert first.oracle_error() == t
        played(first, t, t + 1)
    second.restore(first.state())
    assert second.oracle_error() == 40
    assert (recorder.made[-1].horizon, recorder.made[-1].played) == (40, 5)


def test_the_second_phase_is_a_fresh_learner() -> None:
    """It starts without what was learnt before, for twice as many rounds."""
    plain = BistroPlus(listed(LABELINGS), FinitePool(CONTEXTS), horizon=40, seed=seed_of(1))
    assert (played(doubling(), 0, 60)[20:] == played(plain, 20, 60)).all()
    exp4 = Exp4(listed(LABELINGS), horizon=40)
    assert (played(doubling(inner="exp4"), 0, 60)[20:] == played(exp4, 20, 60)).all()


# ------------------------------------------------------------------- the guarantee


def test_a_round_that_is_given_up_is_given_up_inside() -> None:
    """Also the first round of a phase: the next act begins another, as if there had been none."""
    learner, without = doubling(inner="exp4"), doubling(inner="exp4")
    for start, stop in [(0, 20), (20, 25)]:
        learner.act(1)
        learner.give_up()
        assert (played(learner, start, stop) == played(without, start, stop)).all()
    assert learner.state() == without.state()


def test_the_guarantee_sums_the_phases_reached() -> None:
    """It is the sum of the plain guarantees for 20, 40, 80, ... rounds, as far as the horizon reaches."""
    plain = [Exp4(listed(LABELINGS), horizon=20 * 2**phase).guarantee() for phase in range(5)]
    for horizon, phases in ((1, 1), (20, 1), (21, 2), (60, 2), (61, 3), (140, 3), (141, 4), (300, 4), (301, 5)):
        assert doubling(inner="exp4", horizon=horizon).guarantee() == pytest.approx(sum(plain[:phases]))


def test_without_a_horizon_the_guarantee_is_of_the_rounds_played() -> None:
    """It grows when a phase begins; with a horizon it is that of the horizon from the start."""
    open_ended, told = doubling(inner="exp4"), doubling(inner="exp4", horizon=100)
    assert open_ended.guarantee() == pytest.approx(Exp4(listed(LABELINGS), horizon=20).guarantee())
    for learner in (open_ended, told):
        played(learner, 0, 61)
    assert open_ended.guarantee() == pytest.approx(told.guarantee())
    assert told.guarantee() == pytest.approx(sum(Exp4(listed(LABELINGS), horizon=T).guarantee() for T in (20, 40, 80)))
