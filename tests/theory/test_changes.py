"""What runs state of policies in turn: the exact chance of being wrong, against costs that react to every action."""

from fractions import Fraction

import pytest

from tests.theory.coins.changes import (
    IN_TURN,
    IN_TURN_GAMES,
    IN_TURN_MUTANTS,
    StatedInTurn,
    in_turn_chances,
    judge_in_turn,
    sequences,
)


@pytest.mark.parametrize("judged", IN_TURN, ids=lambda judged: judged.name)
def test_no_adversary_makes_a_wrong_statement_likelier_than_delta(judged: StatedInTurn) -> None:
    """Of all sequences of policies at once: what they cost at least and at most, and regret to them, at any time."""
    assert judge_in_turn(judged).passes


@pytest.mark.parametrize("judged", IN_TURN_MUTANTS, ids=lambda judged: judged.name)
def test_statements_with_one_thing_wrong_are_caught(judged: StatedInTurn) -> None:
    """Every mutant is wrong more often than it may be, and the verdict states where."""
    verdict = judge_in_turn(judged)
    assert not verdict.passes
    assert "above" in verdict.violations()[0]


def test_chances_are_fractions_that_are_known() -> None:
    """Of fair coins, four rounds: the first two are alike with the chance 1/2, and a mutant takes that for certain."""
    found = in_turn_chances(IN_TURN[0], IN_TURN_GAMES[0])
    assert found[:2] == (Fraction(1, 4), Fraction(1, 4))
    assert all(isinstance(chance, Fraction) for chance in found)


def test_sequences_are_counted() -> None:
    """N^S C(n - 1, S - 1) of S policies in turn on n blocks."""
    found = [pieces for pieces, _, _ in sequences(3, 4)]
    assert [found.count(pieces) for pieces in (1, 2, 3, 4)] == [3, 9 * 3, 27 * 3, 81]
