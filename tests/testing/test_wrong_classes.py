"""Policy classes that are wrong in one thing fail the battery of a class; what they declare not to do is a skip."""

import numpy as np
import pytest

from milpcb import testing
from milpcb.errors import InputError, OracleInexact
from milpcb.protocols import Objective
from milpcb.testing.instances import Instance
from policies import ThresholdRules
from policies.paths.policy_class import PathEncoding
from policies.thresholds import OpenedThresholds


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


class WrongCosts(PathEncoding):
    """Prices one context wrongly."""

    def objective(self, costs):
        """Return too large costs of all rows but the first."""
        return Objective(super().objective(costs * np.linspace(1.0, 1.1, len(costs))[:, None]).coefficients)


def program(self, *, constrained=False):
    """Return a program with a wrong cost map."""
    return WrongCosts(self.own_terms.walked, self.contexts, constrained=constrained)


def policies(self):
    """List fewer policies than the program holds."""
    return (rule for rule in OpenedThresholds.policies(self) if str(rule) != "play action 0")


def search(_):
    """Fail, although a search is declared."""
    raise InputError("broken")


@pytest.mark.parametrize(
    ("method", "error", "check"),
    [
        (program, (AssertionError, OracleInexact), "program"),
        (policies, AssertionError, "program"),
        (search, InputError, "search"),
    ],
)
def test_a_wrong_class_fails_the_battery(method, error, check):
    """The check that is there for the mistake fails; an error of a search that is declared is no skip."""
    wrong = thresholds_with(**{method.__name__: method})
    with pytest.raises(error):
        testing.run_all("policies", wrong)
    (alone,) = (each for each in testing.battery("policies", wrong) if each.id == f"wrong: {check}")
    with pytest.raises(error):
        alone.run()


def test_a_class_may_declare_that_it_has_no_search():
    """Then the checks of the search are skipped, with the class's own reason."""
    instance = thresholds_with(capabilities=frozenset({"program", "policies"}), unsupported={"search": "too hard"})
    skipped = testing.run_all("policies", instance)
    assert len(skipped) == 5  # no weights, no terms, no side constraints and no forbidden actions either
    assert "search: too hard" in skipped[0]
