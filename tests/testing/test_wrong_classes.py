"""Policy classes that are wrong in one thing fail the battery of a class; what they declare not to do is a skip."""

import numpy as np
import pytest

from milpcb import testing
from milpcb.errors import InputError, OracleInexact
from milpcb.protocols import Objective
from milpcb.testing.instances import Instance
from policies import ThresholdRules
from policies.paths.opened import PathEncoding
from policies.thresholds.policy_class import OpenedThresholds


def thresholds_with(**instead):
    """A class of threshold rules that opens with some methods replaced."""
    opened = type("Wrong", (OpenedThresholds,), instead)

    class Rules(ThresholdRules):
        def _on(self, contexts, names):
            right = super()._on(contexts, names)
            right.__class__ = opened
            for name in instead.keys() & vars(right).keys():
                delattr(right, name)
            return right

    return Instance("wrong", Rules(2), np.arange(3.0)[:, None])


def test_a_wrong_cost_map_fails_the_battery():
    """A class whose program prices one context wrongly is caught."""

    class Encoding(PathEncoding):
        def objective(self, costs):
            return Objective(super().objective(costs * np.linspace(1.0, 1.1, len(costs))[:, None]).coefficients)

    def program(self, *, constrained=False):
        return Encoding(self.own_terms.walked, self.contexts, constrained=constrained)

    with pytest.raises((AssertionError, OracleInexact)):
        testing.run_all("policies", thresholds_with(program=program))


def test_a_policy_outside_the_class_fails_the_battery():
    """A class that lists fewer policies than its program holds is caught."""

    def policies(self):
        return (rule for rule in OpenedThresholds.policies(self) if str(rule) != "play action 0")

    with pytest.raises(AssertionError):
        testing.run_all("policies", thresholds_with(policies=policies))


def test_a_search_that_is_declared_and_fails_is_no_skip():
    """What a class declares it must do: an error of its search is an error of its battery."""

    def search(_):
        raise InputError("broken")

    with pytest.raises(InputError, match="broken"):
        testing.run_all("policies", thresholds_with(search=search))


def test_a_class_may_declare_that_it_has_no_search():
    """Then the checks of the search are skipped, with the class's own reason."""
    instance = thresholds_with(capabilities=frozenset({"program", "policies"}), unsupported={"search": "too hard"})
    skipped = testing.run_all("policies", instance)
    assert len(skipped) == 5  # no weights, no terms, no side constraints and no forbidden actions either
    assert "search: too hard" in skipped[0]
