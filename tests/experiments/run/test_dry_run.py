"""What a dry run estimates."""

from types import SimpleNamespace

import pytest

from milpcb.experiments.run import runner


class Clocked:
    """A player whose rounds take a millisecond, but for one that compiles for ten seconds."""

    def __init__(self, compiles: int) -> None:
        self.at, self.tally = [1000], SimpleNamespace(round=0)
        self.compiles, self.now = compiles, 0.0

    def advance(self, rounds: int) -> None:
        """Play, and let time pass."""
        self.tally.round += rounds
        self.now += 10.0 if self.tally.round == self.compiles else 0.001


@pytest.mark.parametrize("compiles", [1, 7, 2000])
def test_rounds_that_compile_do_not_count(compiles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever round it is; one that never comes changes nothing."""
    player = Clocked(compiles)
    monkeypatch.setattr(runner, "perf_counter", lambda: player.now)
    assert runner._measure(player) == pytest.approx(1000)  # type: ignore[arg-type]
