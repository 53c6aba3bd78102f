"""What a learner with a baseline promises: the exact chance that it is broken, against costs that react to all."""

import pytest

from tests.theory.coins.baseline import GAMES, PROMISES, PROMISING, PROMISING_MUTANTS, Promising, broken, judge_promise


@pytest.mark.parametrize("judged", PROMISING, ids=lambda judged: judged.name)
def test_no_adversary_breaks_the_promise_more_often_than_it_may_be(judged: Promising) -> None:
    """Nor what it goes by, the floor; costs that come a round late included."""
    assert judge_promise(judged).passes


@pytest.mark.parametrize("judged", PROMISING_MUTANTS, ids=lambda judged: judged.name)
def test_promises_with_one_thing_wrong_are_caught(judged: Promising) -> None:
    """Every mutant breaks the first more often than it may, in the first game, and the verdict says where."""
    verdict = judge_promise(judged, GAMES[:1], PROMISES[:1])
    assert not verdict.passes
    assert "above" in verdict.violations()[0]


def test_the_floor_is_wrong_nearly_as_often_as_it_may_be() -> None:
    """The price is not too high by a factor: of a chance of 0.3 nine tenths are used, of one of 0.1 eight tenths."""
    chances = [broken(PROMISING[0], GAMES[0], promise).floor / promise.delta for promise in (PROMISES[0], PROMISES[3])]
    assert chances[0] > 0.89
    assert chances[1] > 0.8
