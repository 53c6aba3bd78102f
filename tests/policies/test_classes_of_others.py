"""An unfinished policy class of somebody else's: one line says what is missing. And what a class shows of itself."""

from types import SimpleNamespace

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InputError
from milpcb.experiments.study.sections import Component
from milpcb.experiments.study.worlds import build_policies
from milpcb.oracles.growing import GrowingOracle
from milpcb.protocols import Opened, PolicyClass, Search
from policies import FiniteClass
from policies.listed import OpenedList

CONTEXTS = np.array([[0.0], [1.0]])


class Promised(OpenedList):
    """Lists a search and a way to be kept among its capabilities, and has the methods of the base class."""

    capabilities = OpenedList.capabilities | {"fixed"}
    search, fixed, terms = Opened.search, Opened.fixed, Opened.terms


class Weightless(Search):
    """A search without weights."""

    value = minimise = profile = None


class Uncounted(PolicyClass):
    """A class that does not say how many actions there are, and whose opened form is Promised."""

    def on(self, contexts):
        """Return two policies."""
        opened = FiniteClass([[0, 1], [1, 0]], 2).on(contexts)
        opened.__class__ = Promised
        return opened


class Counted(Uncounted):
    """Sets n_actions as most classes do."""

    def __init__(self, n_actions: int = 2) -> None:
        self.n_actions, self.cuts, self._memory = n_actions, (0.5, 2.0), {}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: open_oracle(Counted(), CONTEXTS, kind="search"),
            "of Promised declares 'search' in capabilities and has no method",
        ),
        (lambda: GrowingOracle(Counted(), CONTEXTS), "of Promised declares 'fixed' in capabilities and has no method"),
        (lambda: Counted().on(CONTEXTS).terms(), "Promised has no recursion over totals that can be kept"),
        (lambda: Weightless().log_weights(CONTEXTS, 0, 1.0), "of Weightless declares 'action_weights' in capabilities"),
        (lambda: open_oracle(Uncounted(), CONTEXTS), "^Uncounted has no n_actions; set self.n_actions"),
        (lambda: GrowingOracle(Uncounted(), CONTEXTS), "^Uncounted has no n_actions; set self.n_actions"),
    ],
)
def test_what_is_missing_is_one_line(ask, message):
    """It names the class, what it lacks, and what to do."""
    with pytest.raises(InputError, match=message):
        ask()


def test_a_study_names_a_class_without_actions(monkeypatch):
    """Before it compares the number with that of the environment."""
    monkeypatch.setattr("milpcb.plugins.registry.load", lambda *_: Uncounted)
    environment = SimpleNamespace(n_actions=2, feature_names=None, action_names=None)
    with pytest.raises(InputError, match=r"^Uncounted has no n_actions"):
        build_policies(Component("own:Uncounted", {}, "own"), environment)
    monkeypatch.setattr("milpcb.plugins.registry.load", lambda *_: Counted)
    assert isinstance(build_policies(Component("own:Counted", {}, "own"), environment), Counted)


def test_a_class_shows_its_settings():
    """The public ones, cut short where they are long."""
    assert repr(Counted(3)) == "Counted(n_actions=3, cuts=(0.5, 2.0))"
    assert repr(FiniteClass([[0, 1]], 2)) == "FiniteClass(n_actions=2, table=array([[0, 1]]))"
    assert len(repr(FiniteClass(np.zeros((500, 40), dtype=int), 2))) < 120
