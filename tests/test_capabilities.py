"""Capabilities of classes and oracles, and the names ``can`` and ``cannot`` that they had, which keep working."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InputError
from milpcb.learners import EpsilonGreedy
from milpcb.protocols import Opened, open_class
from milpcb.protocols.capabilities import Capabilities, Capable, capabilities_of
from policies import MonotoneRules, ThresholdRules

CONTEXTS = np.arange(8.0).reshape(-1, 2)


class Declared(Capable):
    """A class of somebody's from before: attributes of the class."""

    can = Opened.can | {"search"}
    cannot = {"fixed": "it grows"}  # noqa: RUF012 - as others wrote it


class Assigned(Capable):
    """Attributes of the object."""

    def __init__(self) -> None:
        self.can = Opened.can | {"search"}
        self.cannot = {"fixed": "it grows"}


@dataclass(frozen=True)
class Frozen(Capable):
    """Fields of a frozen dataclass."""

    can: frozenset[str] = Opened.can | {"search"}
    cannot: tuple[tuple[str, str], ...] = ()


class Computed(Capable):
    """A property that is found when it is first asked for."""

    @cached_property
    def can(self) -> frozenset[str]:
        """Return what may be asked for."""
        return Opened.can | {"search"}


@pytest.mark.parametrize("cls", [Declared, Assigned, Frozen, Computed])
def test_classes_that_declare_by_the_old_names_are_read_by_the_new(cls):
    """However a class declares ``can`` and ``cannot``, they are its ``capabilities`` and ``unsupported``."""
    opened = cls()
    assert opened.capabilities == opened.can == {"program", "policies", "search"}
    assert opened.unsupported is opened.cannot or opened.unsupported == opened.cannot
    assert ("fixed" in opened.unsupported) == (cls in {Declared, Assigned})


def test_the_old_names_of_our_own_classes_are_the_new():
    """Programs that read ``can`` and ``cannot`` of opened classes and oracles go on doing so."""
    opened = MonotoneRules(n_actions=2).on(CONTEXTS)
    assert opened.can is opened.capabilities
    assert opened.cannot is opened.unsupported
    assert "constraints" in opened.cannot
    assert Opened.can is Opened.capabilities
    oracle = open_oracle(ThresholdRules(n_actions=2), CONTEXTS, kind="search")
    assert oracle.can is oracle.capabilities
    assert "minimise" in oracle.can


def test_an_oracle_of_somebody_else_may_have_the_old_name_alone():
    """An oracle that is no Oracle of ours is asked for ``can`` where it has no ``capabilities``."""
    ours = open_oracle(ThresholdRules(n_actions=2), CONTEXTS, kind="search")
    names = ("n_contexts", "n_actions", "contexts", "log_size", "log_union", "minimise", "table")
    theirs = SimpleNamespace(can=frozenset({"minimise"}), **{name: getattr(ours, name) for name in names})
    assert capabilities_of(theirs) == {"minimise"}
    assert EpsilonGreedy(theirs, horizon=5, seed=0).act(0).shape == (2,)
    with pytest.raises(InputError, match="asks its oracle to 'minimise', which this one cannot"):
        EpsilonGreedy(SimpleNamespace(**{**vars(theirs), "can": frozenset()}), horizon=5, seed=0)


OLD = {"terms": "totals", "side_rows": "constraints"}
LINE = "{} in capabilities is called {} now; its old name works until"


@pytest.mark.parametrize(("old", "new"), OLD.items())
def test_an_old_name_of_a_capability_is_the_new_with_a_line(old, new):
    """Programs that ask whether a class has a capability by its old name get the same answer, and read the new name."""
    for policies in (ThresholdRules(n_actions=2), MonotoneRules(n_actions=2)):
        opened = policies.on(CONTEXTS)
        with pytest.warns(FutureWarning, match=LINE.format(old, new)):
            assert (old in opened.capabilities) == (new in opened.capabilities)
        assert old not in set(opened.capabilities)


@pytest.mark.parametrize("names", [{"search", "terms", "side_rows"}, frozenset({"search", "terms", "side_rows"})])
def test_a_class_that_declares_capabilities_by_old_names_has_the_new(names):
    """Old names in a class of somebody's, whether added to those of Opened or by themselves, are read as the new."""
    with pytest.warns(FutureWarning, match="old name works until"):

        class Theirs(Capable):
            capabilities = names if isinstance(names, frozenset) else Opened.capabilities | names

    assert Theirs.capabilities & {"search", "totals", "constraints"} == {"search", "totals", "constraints"}
    assert "totals" in Theirs().capabilities


def test_an_object_that_sets_capabilities_by_old_names_has_the_new(monkeypatch):
    """A class of somebody's that is opened with capabilities of the object is asked by the new names."""
    policies = ThresholdRules(n_actions=2)
    opened = policies.on(CONTEXTS)
    opened.capabilities = frozenset({"search", "terms"})
    monkeypatch.setattr(ThresholdRules, "on", lambda *_: opened)
    with pytest.warns(FutureWarning, match=LINE.format("terms", "totals")):
        assert open_class(policies, CONTEXTS).capabilities == {"search", "totals"}
    assert open_oracle(policies, CONTEXTS, kind="search").table("columns").totals.ndim == 1


def test_sets_of_capabilities_stay_such_sets():
    """What is made of capabilities by |, & and - knows old names as well, and takes any collection of names."""
    some = Capabilities(["search", "totals"])
    for made in (some | {"fixed"}, some & ["totals"], some - {"search": ""}.keys()):
        assert type(made) is Capabilities
        assert "totals" in made
