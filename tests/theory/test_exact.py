"""The exact verification against hand-derived slacks, and wrong relaxations."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from milpcb.errors import InputError
from milpcb.plugins import registry
from milpcb.relaxations import base as rounds
from milpcb.relaxations.paper import Half, Paper
from milpcb.theory.exact import UNIFORM, ExactRun, Game, Leftover, Player, Variant, quick_games
from milpcb.theory.verdicts import Slacks, judge, slacks, variants, violations, worst_plan
from tests.theory.relaxations import ADMISSIBLE, MUTANTS, changed

F = Fraction
ONE, CONSTANTS = ((0, 0),), ((0, 0), (1, 1))


def named(name: str) -> Variant:
    """Return a variant by the first word of its name."""
    return next(variant for variant in [*MUTANTS, *ADMISSIBLE] if variant.name.split(" ")[0].strip(",") == name)


def run_of(variant: Variant, labelings, scale: int, law=UNIFORM) -> ExactRun:
    """Return a variant on a game of two actions."""
    return ExactRun(Player(variant, 2, F(scale)), Game(labelings, law, 2, F(scale), 3))


@pytest.mark.parametrize(
    ("mutant", "labelings", "slack"),
    [
        # one policy: no noise has any effect; the slack is the price less 1 - q of the policy's action
        ("M0", ONE, F(0) - F(1, 20)),
        ("M5", ONE, F(0) - F(1, 20)),
        ("M7", ONE, F(2, 20) - F(1, 2)),
        ("M8", ONE, F(2, 20) - F(19, 20)),
        # two constants: phi = 0 and both actions can be charged, which costs 1; noise lifts Rel by E max(xi_0, xi_1)
        ("M1", CONSTANTS, F(3, 4) + F(2, 20) - 1),
        ("M2", CONSTANTS, F(1, 2) + F(2, 20) - 1),
        ("M3", CONSTANTS, F(1, 4) + F(2, 20) - 1),
        ("M4", CONSTANTS, F(0) + F(2, 20) - 1),
        # signed: with costs counted less 1/2 the two constants lose 1/2 at a tie, of which noise pays half at half the
        # rate
        ("M9", CONSTANTS, F(1, 4) + F(1, 20) - F(1, 2)),
        ("M13", CONSTANTS, F(1, 2) + F(1, 20) - (1 - F(1, 20))),
        ("M14", ONE, F(0) - F(1, 20)),
    ],
)
def test_one_round_catches_the_mutants(mutant: str, labelings, slack: F) -> None:
    """At T = 1, K = 2, L = 20 condition (1) has the slack that a line of algebra gives, and it is negative."""
    found = slacks(run_of(named(mutant), labelings, 20), 1)
    assert found.first == slack < 0
    assert found.bias == 0


def test_no_mixing_is_caught_by_its_bias_alone() -> None:
    """Without exploration an action that is never played is never charged; every inequality holds all the same."""
    found = judge(named("M6"), quick_games()[:12]).slacks
    assert found.bias == -1
    assert min(found._replace(bias=F(0))) == 0
    assert slacks(run_of(named("M6"), CONSTANTS, 20), 2).bias == -1  # there are ties as well, which have none


def test_wrong_estimates_are_caught_by_their_bias() -> None:
    """A hit of the wrong sign is off by 2 (c - 1/2), c for c - 1/2 with hits of L/2 by 1/2; both fail condition (2)."""
    for mutant, bias in (("M11", F(1)), ("M12", F(1, 2))):
        found = slacks(run_of(named(mutant), ONE, 20), 1)
        assert -found.bias == bias
        assert found.second < 0


def test_too_small_a_scale_is_caught_where_the_rate_is_cut_off() -> None:
    """K = 3 and L = 3 ask for 4/3 rounds in one: at a tie of three the noise lifts 3/4 where 1 is lost."""
    game = Game(((0, 0), (1, 1), (2, 2)), UNIFORM, 3, F(3), 1)
    found = slacks(ExactRun(Player(named("M10"), 3, F(3)), game), 1)
    assert found.game == F(-1, 4)
    assert found.first == F(3, 4) + F(2, 3) - 1  # the price of exploring, 2/3, hides it from condition (1)


@pytest.mark.parametrize("column", Slacks._fields)
def test_one_violation_is_enough(column: str) -> None:
    """Nothing is violated only if no column is negative, and the line names the game."""
    place = (quick_games()[0], 1)
    fine = Slacks(*[F(0)] * 5)
    assert violations(fine, [place] * 5) == []
    (line,) = violations(fine._replace(**{column: F(-1, 10**9)}), [place] * 5)
    assert str(place[0]) in line


@pytest.mark.parametrize(
    ("leftover", "profile", "q_star"),
    [
        ("uniform", (0, 1, 9), (F(2, 3), F(1, 6), F(1, 6))),  # phi is 1/2: hit is 2
        ("leader", (0, 1, 9), (F(1), F(0), F(0))),
        ("uniform", (9, 0, 0), (F(1, 3), F(1, 3), F(1, 3))),
        ("leader", (9, 0, 0), (F(0), F(1, 2), F(1, 2))),
    ],
)
def test_leftover_rules(leftover: Leftover, profile: tuple[int, ...], q_star: tuple[Fraction, ...]) -> None:
    """The rest that phi leaves is shared as the learner's option of that name says; then exploration is mixed in."""
    player = Player(Variant("half", Half(), leftover=leftover), 3, F(6))
    assert player.reply(profile)[0] == tuple(share / 2 + F(1, 6) for share in q_star)


@pytest.mark.parametrize(
    ("name", "labelings", "horizon", "column", "value"),
    [
        ("paper", CONSTANTS, 1, "game", F(1)),  # E max(xi_0, xi_1) = 2: twice what is needed
        ("half", CONSTANTS, 1, "game", F(0)),
        ("coordinate", CONSTANTS, 1, "game", F(0)),
        ("signed", CONSTANTS, 3, "game", F(0)),  # K = 2: the lift is the game's value whatever the gap
        ("signed", ONE, 3, "first", F(0)),
        ("signed", ONE, 3, "regret", F(0)),
        ("bistro", CONSTANTS, 1, "game", F(10)),  # L = 20 are lifted and L / 2 are lost
        ("paper", ONE, 3, "first", F(1, 20)),
        ("centred", ONE, 3, "first", F(0)),
        ("paper", ONE, 3, "regret", F(3, 20)),
        ("half", ONE, 3, "regret", F(0)),
        ("M3", CONSTANTS, 2, "regret", F(-29, 100)),
        ("M4", CONSTANTS, 2, "regret", F(-311, 400)),
    ],
)
def test_known_slacks(name: str, labelings, horizon: int, column: str, value: F) -> None:
    """Single entries at L = 20 that were derived by hand, or found by an independent enumeration."""
    assert getattr(slacks(run_of(named(name), labelings, 20), horizon), column) == value


@pytest.mark.parametrize("variant", ADMISSIBLE, ids=lambda variant: variant.name)
def test_what_is_registered_is_admissible(variant: Variant) -> None:
    """Every relaxation, leftover rule and estimator passes; the per-round game is tight, and Rel where E is K - 1."""
    verdict = judge(variant, quick_games())
    assert verdict.passes, verdict.violations
    tight = variant.relaxation.exploration(2) == 1
    least = F(0) if tight else F(1, 20)
    assert verdict.slacks == Slacks(game=F(0), first=least, second=F(0), bias=F(0), regret=least)


@pytest.mark.parametrize("variant", MUTANTS, ids=lambda variant: variant.name)
def test_mutants_are_rejected(variant: Variant) -> None:
    """The quick games reject every mutant, and say by which inequality and where."""
    verdict = judge(variant, quick_games())
    assert not verdict.passes
    assert all("labelings" in line and "T = " in line for line in verdict.violations)


@pytest.mark.parametrize("name", registry.names("relaxation"))
def test_guarantees_are_no_less_than_what_was_verified(name: str) -> None:
    """On games of two actions and up to 24 rounds, of three and up to eight: the closed form is above Rel(empty)."""
    relaxation = registry.load("relaxation", name)()
    for K, factor, T in ((2, 1, 24), (2, 4, 24), (3, 2, 8)):
        scale = factor * F(relaxation.least_scale(K))
        game = Game(tuple((action,) for action in range(K)), (F(1),), K, scale, T)
        run = ExactRun(Player(variants(name)[0], K, scale), game)
        stated = [relaxation.guarantee(float(scale), n, K, float(np.log(K))) for n in range(1, T + 1)]
        assert all(bound >= float(run.rel(run.empty, n)) - 1e-9 for n, bound in enumerate(stated, 1))


def test_worst_plan_is_the_maximum_over_all_plans() -> None:
    """A plan knows the round and the context, not the contexts before."""
    regrets, law = np.random.default_rng(0).integers(-9, 10, (2, 3, 2, 3)).astype(object), [F(3, 4), F(1, 4)]
    plans = product(range(3), repeat=4)
    by_hand = max(
        sum(law[x] * law[z] * regrets[x, plan[x], z, plan[2 + z]] for x in (0, 1) for z in (0, 1)) for plan in plans
    )
    assert worst_plan(regrets, law) == by_hand


# --------------------------------------------------------------------------- wrong estimates, wrong types


class Doubled(Player):
    """Counts every cost twice."""

    def estimate(self, cost: int, q: F) -> tuple[F, F]:
        """Return the chance, and twice the step."""
        chance, step = super().estimate(cost, q)
        return chance, 2 * step


def test_condition_two_sees_estimates_that_are_too_large() -> None:
    """Where one policy pays 1 in each of two rounds and 2 are counted, condition (2) fails by 2."""
    run = ExactRun(Doubled(named("paper"), 2, F(20)), Game(ONE, UNIFORM, 2, F(20), 2))
    assert slacks(run, 2).second == -2
    assert slacks(run, 2).bias == -1


@pytest.mark.parametrize("profile", [[F(1), F(1)], [F(1, 3), F(2)], [F(0), np.inf], [F(2), F(1, 2), F(1, 2)]])
def test_the_mathematics_of_a_round_keeps_fractions(profile: list[F]) -> None:
    """Fractions in, Fractions out: no function of the framework's round lets a float in."""
    V, K = np.array(profile, dtype=object), len(profile)
    psi = rounds.psi_from_profile(V, 1)
    phi = rounds.phi_from_psi(psi, 1)
    equal = np.array([F(1, K)] * K)
    filled = [rounds.fill(phi, equal, descending=descending) for descending in (False, True)]
    played = [*filled, rounds.water_fill(psi[1:], 1)]
    for numbers in (psi, phi, *played, *(rounds.mix(q, F(7)) for q in played)):
        assert all(isinstance(number, F) for number in numbers)


FLOATING = changed(Paper, respond=lambda _self, _psi, _leftover, **_: np.array([1 / 3, 2 / 3]))


@pytest.mark.parametrize(
    ("relaxation", "scale", "message"),
    [
        (FLOATING, 4, "wrong: q is .* rounded number"),
        (Half(), 2, "wrong: the law of the noise is no law at K = 2, L = 2"),
    ],
)
def test_what_cannot_be_verified_is_told(relaxation, scale: int, message: str) -> None:
    """Rounded numbers and what is no distribution are one clear line, not a verdict."""
    with pytest.raises(InputError, match=message):
        slacks(run_of(Variant("wrong", relaxation), CONSTANTS, scale), 1)


def test_no_game_is_no_verdict() -> None:
    """A relaxation that needs a larger L than any game has is an error."""
    with pytest.raises(InputError, match="nothing to verify"):
        judge(named("half"), [Game(ONE, UNIFORM, 2, F(2), 1)])
    assert judge(named("half"), [Game(ONE, UNIFORM, 2, F(4), 1)]).passes
