"""Batteries have teeth: classes, solvers and environments that are wrong in one thing fail."""

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from milpcb import testing
from milpcb.environments.planted import Planted
from milpcb.errors import InputError, OracleInexact
from milpcb.protocols import Objective, PolicyClass, Stream
from milpcb.solvers.highs import Highs
from milpcb.testing.environments import HORIZON
from milpcb.testing.instances import Instance
from milpcb.types import Floats, Solution, Stop
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


class Spoilt(Highs):
    """HiGHS whose every solution is spoilt."""

    mistake: Callable[[Solution], Solution]

    def solve(self, objective: Any, **options: Any) -> Solution:
        """Solve, then spoil the answer."""
        return type(self).mistake(super().solve(objective, **options))


class Stuck(Highs):
    """HiGHS that ignores what the second query asks."""

    asked: Any = None

    def solve(self, objective: Any, **options: Any) -> Solution:
        """Solve for the first objective."""
        self.asked = objective if self.asked is None else self.asked
        return super().solve(self.asked, **options)


class AddsOnce(Highs):
    """HiGHS that takes one row, and no further ones."""

    taken = False

    def add_rows(self, matrix: Any, lower: Any, upper: Any) -> None:
        """Add the first row."""
        if not self.taken:
            self.taken = True
            super().add_rows(matrix, lower, upper)


class KeepsTheIncumbent(Highs):
    """HiGHS that returns its last point where added rows leave none."""

    last: Solution | None = None

    def solve(self, objective: Any, **options: Any) -> Solution:
        """Answer with what was found before, if there is no answer."""
        found = super().solve(objective, **options)
        if found.x is not None:
            self.last = found
        return self.last if found.stop is Stop.INFEASIBLE and self.last else found


SPOILT: list[Callable[[Solution], Solution]] = [
    lambda s: replace(s, bound=s.bound + 0.5),
    lambda s: replace(s, bound=s.bound - 0.5),
    lambda s: replace(s, objective=s.objective + 0.5),
    lambda s: replace(s, stop=Stop.OPTIMAL),
    lambda s: replace(s, x=None),
    lambda s: s if s.x is None else replace(s, x=s.x + 0.01),
    lambda _: Solution(Stop.UNKNOWN, np.inf, -np.inf),
]


def mistaken(**methods: Any) -> type[Highs]:
    """Return HiGHS with other methods."""
    return type("Mistaken", (Highs,), methods)


RELAXES = mistaken(open=lambda self, program, **_relax: Highs.open(self, program, relax=True))
ADDS_NO_ROWS = mistaken(add_rows=lambda *_given: None)
ADDS_UPPER_BOUNDS = mistaken(
    add_rows=lambda self, rows, lower, upper: Highs.add_rows(self, rows, np.full(len(lower), -np.inf), upper)
)
# Solvers, and a word of the name of a check that fails.
MISTAKEN: list[tuple[type[Highs], str]] = [
    *((type("Mistaken", (Spoilt,), {"mistake": staticmethod(mistake)}), "") for mistake in SPOILT),
    *((session, "") for session in (Stuck, RELAXES)),
    *((session, "rows|cut off") for session in (ADDS_NO_ROWS, ADDS_UPPER_BOUNDS, AddsOnce, KeepsTheIncumbent)),
]


@pytest.mark.parametrize(("solver", "word"), MISTAKEN)
def test_a_wrong_solver_fails_its_battery(solver: type[Highs], word: str) -> None:
    """Wrong bounds, values and points, and rows that are lost are caught by a named check."""
    with pytest.raises(AssertionError) as caught:
        testing.run_all("solver", solver())
    assert re.search(f"solver, check '.*({word})", " ".join(caught.value.__notes__))


OPENINGS = count()


class Handed:
    """A stream handed on as it is."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.contexts, self.order, self.read = stream, stream.contexts, stream.order, 0
        self.table: dict[int, Floats] = {}
        self.opened = next(OPENINGS)

    def reveal(self, t: int) -> int:
        """Return the row."""
        return self.stream.reveal(t)

    def costs(self, t: int) -> Floats:
        """Return the costs."""
        return self.stream.costs(t)


def counting(self: Handed, t: int) -> Floats:
    """Let costs depend on how often they were read."""
    self.read += 1
    return np.clip(self.stream.costs(t) + (self.read % 7) / 7, 0.0, 1.0)


def own(self: Handed, t: int) -> Floats:
    """Hand out the very table that is read again."""
    return self.table.setdefault(t, self.stream.costs(t).copy())


def with_contexts(change: Callable[[Floats], Floats], *, writable: bool = False) -> type[Handed]:
    """Return the stream with other contexts."""

    class Changed(Handed):
        def __init__(self, stream: Stream) -> None:
            super().__init__(stream)
            self.contexts = change(self.contexts.copy())
            self.contexts.setflags(write=writable)

    return Changed


class Lying(Handed):
    """The order told is not the one shown."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self.order = np.zeros(HORIZON, dtype=np.int64)


def spoilt(**methods: Any) -> type[Handed]:
    """Return the stream with other methods."""
    return type("Mistaken", (Handed,), methods)


MISTAKES = [
    ("rounds", spoilt(reveal=lambda self, t: np.int64(self.stream.reveal(t)))),
    ("rounds", spoilt(costs=lambda self, t: 2 * self.stream.costs(t))),
    ("rounds", spoilt(costs=lambda self, t: self.stream.costs(t)[:2])),
    ("rounds", spoilt(costs=lambda self, t: self.stream.costs(t) - 1.0)),
    ("rounds", spoilt(costs=lambda self, t: self.stream.costs(t).astype(np.float32))),
    ("rounds", spoilt(reveal=lambda self, t: self.stream.reveal(t) - 5)),
    ("rounds", spoilt(reveal=lambda self, t: self.stream.reveal(t) + 1)),
    ("same seed", spoilt(costs=lambda self, t: np.roll(self.stream.costs(t), self.opened))),
    ("rereadable", spoilt(costs=counting)),
    ("contexts", with_contexts(lambda contexts: contexts, writable=True)),
    ("contexts", with_contexts(lambda contexts: contexts + np.inf)),
    ("contexts", with_contexts(lambda contexts: contexts[:, :0])),
    ("contexts", with_contexts(lambda contexts: contexts.astype(np.float32))),
    ("contexts", with_contexts(np.ravel)),
    ("contexts", Lying),
    ("rereadable", spoilt(costs=own)),
]


def checks(stream: type[Handed], **names: Any) -> list[testing.Check]:
    """Return the checks of planted streams with a mistake, or of an environment with other names."""

    class Environment(Planted):
        def open(self, policies: PolicyClass, horizon: int, seed: int) -> Any:
            return stream(super().open(policies, horizon, seed))

    return testing.battery("environment", type("Named", (Environment,), names)(n_contexts=5))


@pytest.mark.parametrize(("name", "stream"), MISTAKES)
def test_a_mistaken_stream_is_caught(name: str, stream: type[Handed]) -> None:
    """The check that is there for the mistake fails, and passes for a stream that is handed on."""
    for made, fails in ((Handed, False), (stream, True)):
        (check,) = (each for each in checks(made) if each.id == name)
        with pytest.raises(AssertionError) if fails else nullcontext():
            check.run()


@pytest.mark.parametrize(
    ("fails", "names"),
    [
        (False, {"feature_names": tuple("abcdefghijkl"), "action_names": ("none", "half", "all")}),
        (True, {"feature_names": ("a", "b")}),
        (True, {"action_names": ("none", "all")}),
        (True, {"action_names": (0, 1, 2)}),
    ],
)
def test_names_of_a_stream_are_strings_for_all_or_none(fails: bool, names: dict[str, tuple[Any, ...]]) -> None:
    """One for each column, and one for each action."""
    (check,) = (each for each in checks(Handed, **names) if each.id == "settings")
    with pytest.raises(AssertionError) if fails else nullcontext():
        check.run()
