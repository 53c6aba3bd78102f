"""One draw against fresh draws, exactly: the same mean costs in every round; what must not be done, differs."""

import pytest

from milpcb.theory.one_draw import BEHIND, DRAW_MUTANTS, SCHEMES, SHORT, Scheme, judge_draw


@pytest.mark.parametrize(("scheme", "settings"), SCHEMES, ids=lambda each: getattr(each, "name", ""))
def test_one_draw_costs_what_fresh_draws_do(scheme, settings):
    """In every round of every game, and expected regret is not above Rel; the quickest settings are played."""
    verdict = judge_draw(scheme, settings[1:] if settings is SHORT else settings[:1])
    assert verdict.slacks.difference == 0
    assert verdict.slacks.slack > 0
    assert verdict.passes
    assert verdict.slacks.games == (16 if settings is SHORT else 64)


@pytest.mark.parametrize(("scheme", "settings"), DRAW_MUTANTS, ids=lambda each: getattr(each, "name", ""))
def test_mutants_are_rejected(scheme, settings):
    """Each with what it breaks: the mean cost of a round, or Rel where a leader is followed that is none, or tied."""
    verdict = judge_draw(scheme, settings[:1])
    assert len(verdict.violations) == 1
    assert (verdict.slacks.slack < 0) == (scheme.kept is not False)


def test_a_kept_leader_of_signed_noise_breaks_its_guarantee_by_a_tenth():
    """At T = 1 and L = 5 two tied constants have regret 4/5 where Rel is 7/10."""
    [verdict] = [judge_draw(*mutant) for mutant in DRAW_MUTANTS if mutant[0].name == "signed, a leader kept"]
    assert str(verdict.slacks.slack) == "-1/10"


def test_a_past_counts():
    """Where a policy is behind, following it is refused, and following the leader is not."""
    assert not judge_draw(Scheme("none", kept=None), BEHIND[:1]).passes
    assert judge_draw(Scheme("leader", kept=True), BEHIND[:1]).passes
    assert judge_draw(Scheme("leader"), SHORT[1:]).slacks.difference == 0
