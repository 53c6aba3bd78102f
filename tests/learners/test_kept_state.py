"""The state of a learner that only names what changes from round to round."""

import json
from typing import Any

import numpy as np
import pytest

from milpcb import rng
from milpcb.errors import InputError
from milpcb.learners import Learner
from milpcb.types import Floats


class Drawing(Learner):
    """Keeps a count, an array, a list and a generator."""

    kept: Any = ("_count", "sums", "_seen", "_rng")

    def __init__(self) -> None:
        super().__init__(n_actions=2)
        self._count, self.sums, self._seen, self._rng = 0, np.zeros((2, 2)), list[int](), rng.child(0, "drawing")

    def _act(self, row: int) -> Floats:
        """Return two probabilities that depend on everything that is kept."""
        share = (1 + self._rng.random() + self.sums[row].sum() + self._count + len(self._seen)) / 1e3
        return np.array([share, 1 - share])

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Change everything."""
        self._count, self._seen = self._count + 1, [*self._seen, action]
        self.sums[row, action] += cost / probability


class Forgetful(Drawing):
    """Names nothing."""

    kept = None


def played(learner: Learner, rounds: int) -> list[list[float]]:
    """Return the probabilities of some rounds."""
    found = []
    for t in range(rounds):
        q = learner.act(t % 2)
        found.append(q.tolist())
        learner.learn(t % 2, 1, 0.5, q[1])
    return found


def test_named_attributes_are_saved_by_their_kind() -> None:
    """From its state, as JSON, a learner goes on to the last bit; a state that was handed out no longer changes."""
    first, second = Drawing(), Drawing()
    played(first, 5)
    state = first.state()
    written = json.dumps(state)
    assert {"count", "sums", "seen", "rng"} <= state.keys()
    rest = played(first, 5)
    assert json.dumps(state) == written
    second.restore(json.loads(written))
    assert played(second, 5) == rest


@pytest.mark.parametrize("spoilt", [{"sums": [[0.0]]}, {"count": "many"}, {"rng": 3}, {"seen": 1}], ids=str)
def test_what_does_not_fit_is_refused(spoilt: dict[str, Any]) -> None:
    """An array of another shape, or another kind of value, is no state of this learner."""
    with pytest.raises(InputError, match="this is no state of a Drawing"):
        Drawing().restore({**Drawing().state(), **spoilt})


def test_whoever_names_no_state_is_asked_for_it() -> None:
    """A learner without kept is not saved as if it had no state."""
    with pytest.raises(InputError, match="does not name its state: set kept"):
        Forgetful().state()
    assert played(Forgetful(), 3) == played(Drawing(), 3)  # it plays all the same
