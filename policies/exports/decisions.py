"""A rule as nested decisions, the common form that SQL and Python source are made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policies.names import Names


@dataclass(frozen=True)
class Test:
    """The comparison of a feature with a number; ``sign`` is "<=", ">" or ">=", ``binary``: the feature is 0 or 1."""

    feature: int
    sign: str
    cut: float
    binary: bool = False

    def in_words(self, names: Names) -> str:
        """Return ``x <= cut`` or what it is; of a binary feature ``x = 0`` or ``x = 1``."""
        return names.test(self.feature, self.sign, self.cut, binary=self.binary)


@dataclass(frozen=True)
class AllOf:
    """All of the conditions hold; there is at least one."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf:
    """One of the conditions holds, or several; there is at least one."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Term:
    """``weight`` times a feature, or times the number of ``steps`` at or below it."""

    weight: float
    feature: int
    steps: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Reaches:
    """The sum of the terms is ``cut`` or more."""

    terms: tuple[Term, ...]
    cut: float


Condition = Test | AllOf | AnyOf | Reaches


@dataclass(frozen=True)
class If:
    """One decision where a condition holds, another elsewhere."""

    condition: Condition
    yes: Decision
    no: Decision


Decision = If | int  # an int is the number of the action that is played


def chain_of(conditions: Sequence[Condition], actions: Sequence[int]) -> Decision:
    """Return "if condition 0: action 0, else if condition 1: action 1, ..., else: the last action"."""
    decision: Decision = actions[-1]
    for condition, action in zip(reversed(conditions), reversed(actions[:-1]), strict=True):
        decision = If(condition, action, decision)
    return decision


def tested(decision: Decision) -> frozenset[int]:
    """Return the features that a decision depends on."""
    return frozenset(feature for feature, _ in _compared(decision))


def cut_points(decision: Decision) -> dict[int, tuple[float, ...] | None]:
    """Return the numbers that each feature is compared with, sorted; None for one whose value itself counts."""
    found: dict[int, set[float]] = {}
    whole = set()
    for feature, cuts in _compared(decision):
        found.setdefault(feature, set()).update(cuts or ())
        whole |= {feature} if cuts is None else set()
    return {feature: None if feature in whole else tuple(sorted(cuts)) for feature, cuts in found.items()}


def _compared(decision: Decision) -> Iterator[tuple[int, tuple[float, ...] | None]]:
    """Yield features with numbers that they are compared with, None where the value itself counts."""
    if isinstance(decision, If):
        yield from _read(decision.condition)
        yield from _compared(decision.yes)
        yield from _compared(decision.no)


def _read(condition: Condition) -> Iterator[tuple[int, tuple[float, ...] | None]]:
    if isinstance(condition, Test):
        yield condition.feature, (condition.cut,)
    elif isinstance(condition, Reaches):
        yield from ((term.feature, term.steps) for term in condition.terms)
    else:
        for part in condition.parts:
            yield from _read(part)
