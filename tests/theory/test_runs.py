"""A run does what was verified, and a relaxation states no less than its Rel: what verify says, and of mutants."""

from fractions import Fraction

import pytest

from milpcb.plugins import registry
from milpcb.theory.games import UNIFORM, Game
from milpcb.theory.runs import Run, judge_run, runs
from tests.theory.coins.run_mutants import RUN_MUTANTS

GAMES = [
    Game(((0, 0), (1, 1)), UNIFORM, 2, Fraction(4), 2),
    Game(((0, 0), (1, 1), (2, 2)), UNIFORM, 3, Fraction(4), 1),
]


@pytest.mark.parametrize("run", [runs(name)[-1] for name in registry.names("relaxation")], ids=lambda run: run.name)
def test_every_relaxation_runs_as_it_was_verified(run: Run) -> None:
    """Futures and answers are those of the exact player, and the guarantee is no less than Rel(empty)."""
    assert judge_run(run, GAMES).violations == []


@pytest.mark.parametrize("mutant", RUN_MUTANTS, ids=lambda mutant: mutant.name)
def test_what_only_a_run_shows_is_caught(mutant: Run) -> None:
    """Each mutant is rejected for the one thing that is wrong with it, or for what follows from that."""
    found = judge_run(mutant, GAMES)
    assert not found.passes
    wrong = {"stated": "guarantee", "no mixing": "answers"}
    expected = next((name for word, name in wrong.items() if word in mutant.name), "futures")
    assert [line for line in found.violations if line.startswith(expected)]


def test_every_way_to_ask_is_run() -> None:
    """All leftover rules, all queries and both estimators."""
    asked = {(run.variant.leftover, run.queries, run.variant.estimator) for run in runs("half")}
    assert {leftover for leftover, *_ in asked} == {"uniform", "leader"}
    assert {queries for _, queries, _ in asked} == {"all", "profile", "argmin"}
    assert {estimator for *_, estimator in asked} == {"bernoulli", "ips"}
