"""What ``milpcb learn`` writes of searches that it repeats, before they begin."""

from __future__ import annotations

import pytest

from milpcb.logs.findings import foreseen


@pytest.mark.parametrize(
    ("searches", "each", "words"),
    [
        (1000, 0.01, "its stability"),
        (1000, 34.0, "its stability, 1,000 searches of 34 s each, about 9 h 26 min (--resamples 0 leaves it out)"),
    ],
)
def test_hours_are_foreseen(searches: int, each: float, words: str) -> None:
    """A thousand searches like one of half a minute are hours, with the option that leaves them out."""
    assert foreseen("its stability", "--resamples", searches, each) == words
