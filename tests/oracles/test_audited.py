"""The audited oracle: the search's answers, and a lie caught with both values."""

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import OracleDisagreement, OracleInexact
from milpcb.listed import ListedSearch
from milpcb.types import Stop
from policies import FiniteClass

CONTEXTS = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
LABELINGS = [[0, 1, 2], [1, 1, 1], [2, 0, 0], [0, 0, 1]]


class LyingSearch(ListedSearch):
    """A search through a list that adds ``lie`` to its values; where ``wrong``, it returns other policies for them."""

    lie, wrong = 0.0, False

    def value(self, costs):
        """Return the least total, or a lie."""
        return super().value(costs) + self.lie

    def minimise(self, costs):
        """Return the least total, or a lie, and a policy, or a wrong one."""
        totals = self.totals(costs)
        return self.value(costs), self.policies[int(totals.argmax() if self.wrong else totals.argmin())]

    def profile(self, costs, row):
        """Return the profile, lying about the first action."""
        profile = super().profile(costs, row)
        profile[0] += self.lie
        return profile


class Searched(FiniteClass):
    """A plug-in class with a search that may lie."""

    def __init__(self, lie=0.0, wrong=False):
        super().__init__(LABELINGS, 3)
        self.lie, self.wrong = lie, wrong

    def on(self, contexts):
        """Return the list with the lying search."""
        opened = super().on(contexts)
        right = opened.search()
        search = LyingSearch(right.policies, right.labels, 3)
        search.lie, search.wrong = self.lie, self.wrong
        opened.search = lambda: search
        return opened


def costs_of(seed):
    """Whole costs of both signs (3, 3)."""
    return np.random.default_rng(seed).integers(-9, 10, (3, 3)).astype(float)


def opened(policies, **options):
    """An audited oracle on the contexts."""
    return open_oracle(policies, CONTEXTS, kind="audited", **options)


@pytest.mark.parametrize("costs", [costs_of(0), np.random.default_rng(1).normal(size=(3, 3)) * 1e4])
def test_an_honest_search_is_believed(costs):
    """With every question audited, values, policies, profiles and weights are those of the list."""
    oracle, reference = opened(Searched(), audit=1), open_oracle(Searched(), CONTEXTS, kind="enumeration")
    assert oracle.value(costs) == reference.value(costs)
    answer = oracle.minimise(costs)
    assert answer.policy.labels.tolist() == reference.minimise(costs).policy.labels.tolist()
    assert (answer.lower, answer.upper, answer.stop) == (reference.value(costs), reference.value(costs), Stop.OPTIMAL)
    for row in range(3):
        assert (oracle.profile(costs, row) == reference.profile(costs, row)).all()
        weights = reference.action_weights(costs, row, 1e-4)
        assert np.allclose(oracle.action_weights(costs, row, 1e-4), weights)
    assert oracle.audits == 5
    assert oracle.calls == 8


@pytest.mark.parametrize("lie", [1.0, -1.0, np.inf, np.nan])
@pytest.mark.parametrize(
    "question", [lambda o, c: o.value(c), lambda o, c: o.minimise(c), lambda o, c: o.profile(c, 1)]
)
def test_a_lie_is_an_error_with_both_values(lie, question):
    """The first audited wrong answer raises OracleDisagreement, which names what was found and what was proved."""
    costs = costs_of(3)
    honest = open_oracle(Searched(), CONTEXTS, kind="enumeration")
    with pytest.raises(OracleDisagreement) as caught:
        question(opened(Searched(lie)), costs)
    proved = [honest.value(costs), honest.profile(costs, 1)[0]]
    assert any(f"found {value + lie:g}" in str(caught.value) and f"{value:g};" in str(caught.value) for value in proved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("share", "every"), [(1.0, 1), (0.5, 2), (0.3, 3), (0.01, 100)])
def test_the_share_that_is_audited_is_fixed(share, every):
    """Questions 0, every, 2 * every ... are audited, whatever is asked, and no others."""
    oracle = opened(Searched(), audit=share)
    for question in range(2 * every + 1):
        assert oracle.audits == -(-question // every)
        oracle.value(costs_of(question))
    assert oracle.audits == 3


def test_a_lie_between_audits_is_caught_at_the_next():
    """A search that starts to lie is believed until the next audited question, and no longer."""
    oracle = opened(Searched(), audit=0.25)
    oracle.value(costs_of(0))
    oracle.opened.search().lie = 2.0
    right = opened(FiniteClass(LABELINGS, 3))
    assert [oracle.value(costs_of(seed)) - right.value(costs_of(seed)) for seed in range(3)] == [2.0] * 3
    with pytest.raises(OracleDisagreement, match="query 5"):
        oracle.value(costs_of(4))


def test_real_values_may_differ_by_rounding_only():
    """For real costs a difference within what solvers prove is rounding, a larger one a lie, in any unit."""
    costs = costs_of(3) + 0.25
    for unit in (1e-300, 1.0, 1e300):
        value = opened(Searched(lie=1e-8 * unit)).value(costs * unit)
        assert value / unit == pytest.approx(opened(Searched()).value(costs), abs=1e-7)
        with pytest.raises(OracleDisagreement):
            opened(Searched(lie=1e-7 * unit)).value(costs * unit)


@pytest.mark.parametrize(
    ("search", "options", "error", "words"),
    [
        (Searched(wrong=True), {}, OracleDisagreement, "that policy costs"),
        (Searched(lie=1.0), {"solver": "scipy"}, OracleDisagreement, "scipy"),
        (Searched(), {"time_limit": 0}, OracleInexact, "time"),
    ],
    ids=["a wrong policy for the right value", "the solver that is configured", "no time to prove anything"],
)
def test_what_is_not_proved_is_an_error(search, options, error, words):
    """A policy that costs something else, a lie to another solver, and an audit that was cut short."""
    with pytest.raises(error, match=words):
        opened(search, **options).minimise(costs_of(3))
