"""Side rows in classes whose derivations are paths: the walks against the list of all paths, and who has none."""

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint, always, share_at_most
from milpcb.core.decimals import spaced
from milpcb.errors import InfeasibleError, InputError
from milpcb.oracles import open_oracle
from milpcb.protocols import SideConstraint
from policies import BoxRules, LinearRules, MonotoneRules, RuleLists, ThresholdRules
from policies.paths import policy_class as paths

RNG = np.random.default_rng(5)
CONTEXTS = RNG.integers(0, 2, (40, 8)).astype(float)
REALS = RNG.normal(size=(40, 3))
LARGER = {
    "lists of three rules": (RuleLists(3, max_rules=3), CONTEXTS[:, :6]),
    "lists of two rules": (RuleLists(2, max_rules=2), CONTEXTS),
    "rectangles": (BoxRules(3, max_features=2), REALS),
    "three cuts": (ThresholdRules(2, max_cuts=3, thresholds=6), REALS),
}


def test_rows_on_rows_are_all_kept() -> None:
    """Rows that are added to others hold with them; where they exclude each other nothing is left."""
    rules, contexts = LARGER["lists of two rules"]
    terms = rules.on(contexts).terms()
    counts = terms.totals(contexts, np.tile([0.0, 1.0], (len(contexts), 1)))
    both = terms.under([SideConstraint(counts, 10.0, np.inf)]).under([SideConstraint(counts, -np.inf, 12.0)])
    assert both.minimise(counts)[0] == terms.under([SideConstraint(counts, 10.0, 12.0)]).minimise(counts)[0]
    nobody = terms.under([SideConstraint(counts, 10.2, 10.8)])
    assert np.isinf(nobody.profile(counts, terms.places(contexts[:1])[0])).all()
    with pytest.raises(InfeasibleError):
        nobody.minimise(counts)


def test_more_actions_than_a_byte_holds_keep_the_rows() -> None:
    """Profiles of 130 actions under a budget are those of the list."""
    n_actions, contexts = 130, np.array([[0.0], [1.0]])
    costs = np.random.default_rng(0).integers(0, 50, (2, n_actions)).astype(float)
    budget = LabelConstraint(np.tile(np.arange(n_actions) > 80, (2, 1)).astype(float), 1.0)
    rules = ThresholdRules(n_actions)
    search, listed = (open_oracle(rules, contexts, kind, constraints=[budget]) for kind in ("search", "enumeration"))
    assert np.array_equal(search.profile(costs, 0), listed.profile(costs, 0))


def test_a_class_of_too_many_paths_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number is in the message, and is that of the paths; without side constraints the search goes on as before."""
    for rules, contexts in LARGER.values():
        opened = rules.on(contexts)
        monkeypatch.setattr(paths, "MOST_WALKED", 100)
        refused, number = rules.on(contexts), round(np.exp(opened.terms().log_derivations))
        assert f"{spaced(number)} ways" in refused.unsupported["constraints"]
        assert "constraints" not in refused.capabilities
        budget = share_at_most(0, 0.2)
        with pytest.raises(InputError, match="use oracle kind 'milp'"):
            open_oracle(rules, contexts, "search", constraints=[budget])
        assert open_oracle(rules, contexts, "search").value(np.zeros((40, rules.n_actions))) == 0.0
        monkeypatch.undo()
        assert "constraints" in rules.on(contexts).capabilities


def test_scoring_rules_without_tables_hold_no_side_constraints() -> None:
    """Branch and bound says so; guard-rails are answered all the same."""
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 2, (30, 8)).astype(float)
    budget = share_at_most(0, 0.2)
    with pytest.raises(InputError, match="branch and bound knows no side constraints"):
        open_oracle(LinearRules(2), contexts, "search", constraints=[budget])
    rail = always(1, rows=[3])
    oracle = open_oracle(LinearRules(2), contexts, "search", constraints=[rail])
    assert oracle.profile(np.zeros((30, 2)), 3).tolist() == [np.inf, 0.0]


def test_monotone_rules_take_guard_rails_alone() -> None:
    """A budget is no minimum cut."""
    budget = share_at_most(0, 0.2)
    with pytest.raises(InputError, match="NP-hard"):
        open_oracle(MonotoneRules(2), REALS, "search", constraints=[budget])
    rail = always(1, rows=[3])
    oracle = open_oracle(MonotoneRules(2), REALS, "search", constraints=[rail])
    assert oracle.profile(np.zeros((40, 2)), 3).tolist() == [np.inf, 0.0]
