"""The state of an inference: what the two claims and the number of events make of it."""

from dataclasses import dataclass

import pytest

from milpcb.offline import Claim, State
from milpcb.offline.band import Bounds
from milpcb.offline.inference import state_of


@dataclass
class Allowed:
    """A reference that keeps the constraints, or not."""

    allowed: bool = True


@pytest.mark.parametrize(
    ("crossed", "band", "most", "allowed", "enough", "state"),
    [
        (0.04, 0.04, 9.0, True, True, State.TARGET),
        (0.04, 0.30, 9.0, True, True, State.TARGET),  # the band points the same way
        (0.04, 0.60, 9.0, True, True, State.EARLY),  # it does not
        (0.06, 0.01, 9.0, True, True, State.EARLY),  # the band alone is no evidence
        (0.06, 0.60, 0.5, True, True, State.ALIKE),
        (0.06, 0.60, 0.5, False, True, State.EARLY),
        (0.04, 0.04, 9.0, True, False, State.EARLY),
    ],
)
def test_the_state_of_two_claims(
    crossed: float, band: float, most: float, allowed: bool, enough: bool, state: State
) -> None:
    """Evidence is that of policies learnt on other rows; the band must not point the other way."""
    first, second = (Claim(0.0, 0.0, 0.0, p) for p in (crossed, band))
    bounds = Bounds(second, (0.0, 0.0), most)
    assert state_of(first, bounds, Allowed(allowed), level=0.95, small=1.0, enough=enough) == state  # type: ignore[arg-type]
