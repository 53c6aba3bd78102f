"""Rules that score or order contexts do what they print: their text is read in exact numbers.

Numbers are read as the decimals they are written in, those of a context too, as people read them; nothing is rounded.
"""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.protocols import PolicyClass
from milpcb.types import Floats
from policies import Halfspaces, LinearRules, MonotoneRules

KINDS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(size=(n, 3)),
    "a million times that": lambda rng, n: 1e6 * rng.normal(size=(n, 3)),
    "unix times": lambda rng, n: np.column_stack(
        [1.7e9 + rng.uniform(0, 3e7, n), 1.7e9 + rng.uniform(0, 3_600, n).round(3), rng.normal(size=n)]
    ),
    "unix times beside counts": lambda rng, n: np.column_stack(
        [1.7e9 + rng.uniform(0, 3e7, n), rng.integers(0, 5, n), rng.integers(0, 2, n)]
    ).astype(float),
}
DRAWN, OPTIMAL = 12, 4  # policies of each class on each kind of contexts
SCORING = {
    "linear": LinearRules(),
    "linear, three actions": LinearRules(3, max_weight=4, max_features=2, thresholds=5),
    "halfspaces": Halfspaces(),
}
ORDERING = {
    "monotone": MonotoneRules(2),
    "monotone, three actions": MonotoneRules(3, directions=[1, -1, 1]),
    "monotone, cut points": MonotoneRules(3, directions=[-1, 1, -1], thresholds=4),
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
NUMBER = r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]\d+)?(?![\w.])"


class Scoring:
    """A printed score, run as the Python that it nearly is, with all numbers as exact fractions."""

    def __init__(self, text: str) -> None:
        steps = re.finditer(r"^points\((x\d+)\) = 1 point for (?:each of )?\1 >= (.+)$", text, re.MULTILINE)
        self.steps = {each[1]: [Fraction(step) for step in each[2].split(", ")] for each in steps}
        first, *lines = [line for line in text.splitlines() if not line.startswith("points(")]
        self.terms = first.removeprefix("score = ").split(" ") if first.startswith("score = ") else []
        cases = [part for line in lines or [first] for part in line.split(", else ")]
        found = [re.fullmatch(r"play action (\d+)(?: if (.+))?", case) for case in cases]
        assert all(found), text
        self.plays = [(int(each[1]), each[2] or "True") for each in found if each]

    def run(self, expression: str, x: Sequence[Fraction], **more: Fraction) -> Any:
        """Return what an expression is for a context."""
        names: dict[str, Any] = {f"x{i}": value for i, value in enumerate(x)} | more
        names |= {f"points_{name}": sum(names[name] >= step for step in steps) for name, steps in self.steps.items()}
        source = re.sub(r"points\((x\d+)\)", r"points_\1", expression)
        return eval(re.sub(NUMBER, r"Fraction('\g<0>')", source), {"Fraction": Fraction}, names)  # noqa: S307 - ours

    def score(self, x: Sequence[Fraction]) -> Fraction:
        """The score of a context, exactly."""
        return Fraction(self.run(" ".join(self.terms) or "0", x))

    def play(self, x: Sequence[Fraction]) -> int:
        """The first action whose range holds the score."""
        score = self.score(x)
        return next(action for action, where in self.plays if self.run(where, x, score=score))

    def doubtful(self, x: Sequence[Fraction]) -> bool:
        """Whether the score is within 1e-13 of its largest term of a cut: float64 may take the other side."""
        size = max((abs(self.run(term, x)) for term in self.terms if "points" not in term), default=Fraction(0))
        ends = [Fraction(end) for _, where in self.plays for end in re.findall(rf"-?{NUMBER}", where)]
        return any(abs(self.score(x) - end) < size / 10**13 for end in ends)


COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    ">=": lambda x, bound: x >= bound,
    "<=": lambda x, bound: x <= bound,
    ">": lambda x, bound: x > bound,
    "=": lambda x, bound: x == bound,
}


def play_in_order(text: str, x: Sequence[Fraction]) -> int:
    """The action of "if ... or ...: play, elif ..., else: play" for a context."""

    def holds(condition: str) -> bool:
        match = re.fullmatch(rf"x(\d+) (>=|<=|>|=) (-?{NUMBER})", condition)
        assert match, condition
        return COMPARE[match[2]](x[int(match[1])], Fraction(match[3]))

    steps = re.findall(r"(?:(?:el)?if ([^:]+)|else):\n    play action (\d+)(?:\n|$)", text)
    for conditions, action in steps or [("", text.removeprefix("play action "))]:
        if not conditions or any(all(map(holds, one.split(" and "))) for one in conditions.split("\nor ")):
            return int(action)
    raise AssertionError(text)


def exact(contexts: Floats) -> list[list[Fraction]]:
    """Contexts as the decimals that they are printed as."""
    return [[Fraction(repr(value)) for value in row] for row in contexts.tolist()]


def some_policies(policies: PolicyClass, contexts: Floats, rng: np.random.Generator):
    """Drawn ones, and optimal ones of costs with and without a pattern."""
    opened = policies.on(contexts)
    yield from (opened.draw(rng) for _ in range(DRAWN))
    oracle = open_oracle(opened, contexts, kind="search" if "search" in opened.capabilities else "milp")
    for i in range(OPTIMAL):
        costs = rng.normal(size=(len(contexts), policies.n_actions))
        if i % 2:
            costs[np.arange(len(costs)), opened.draw(rng).predict(contexts)] -= 1.0
        yield oracle.minimise(costs).policy


@EVERY_KIND
@pytest.mark.parametrize("name", SCORING)
def test_a_printed_score_read_literally_labels_as_predict_does(name: str, kind: str) -> None:
    """On the contexts it was made for, and on fresh ones.

    The one exception are real weights on fresh contexts: float64, in which ``predict`` adds up, may take the other side
    where a score is within 1e-13 of its largest term of the cut.
    """
    policies, rng = SCORING[name], np.random.default_rng(sorted(KINDS).index(kind))
    contexts, fresh = KINDS[kind](rng, 16), KINDS[kind](rng, 40)
    read, read_fresh = exact(contexts), exact(fresh)
    compared = 0
    for policy in some_policies(policies, contexts, rng):
        printed = Scoring(str(policy))
        assert [printed.play(x) for x in read] == policy.predict(contexts).tolist(), str(policy)
        for x, action in zip(read_fresh, policy.predict(fresh).tolist(), strict=True):
            if name != "halfspaces" or not printed.doubtful(x):
                assert printed.play(x) == action, (str(policy), x)
                compared += 1
    assert compared >= (0.99 if name == "halfspaces" else 1.0) * (DRAWN + OPTIMAL) * len(fresh)


@EVERY_KIND
def test_a_halfspace_labels_alike_whatever_its_numbers_are_taken_for(kind: str) -> None:
    """Taken for the float64 numbers nearest to them, weights, cut and contexts give the same labels, exactly."""
    rng = np.random.default_rng(0)
    contexts = KINDS[kind](rng, 16)
    for policy in some_policies(Halfspaces(), contexts, rng):
        weights, cut = [Fraction(weight) for weight in policy.weights], Fraction(policy.cuts[0])
        scores = [sum(w * Fraction(x) for w, x in zip(weights, row, strict=True)) for row in contexts.tolist()]
        assert [int(score >= cut) for score in scores] == policy.predict(contexts).tolist()


@EVERY_KIND
@pytest.mark.parametrize("name", ORDERING)
def test_a_printed_order_read_literally_labels_as_predict_does(name: str, kind: str) -> None:
    """On the contexts it was made for and on fresh ones: numbers are compared, never added."""
    policies, rng = ORDERING[name], np.random.default_rng(sorted(KINDS).index(kind))
    contexts, fresh = KINDS[kind](rng, 25), KINDS[kind](rng, 40)
    every = np.vstack([contexts, fresh])
    read = exact(every)
    for policy in some_policies(policies, contexts, rng):
        text = str(policy)
        assert [play_in_order(text, x) for x in read] == policy.predict(every).tolist(), text


def test_the_interpreter_notices_a_digit() -> None:
    """A score printed with one digit less, or one comparison turned round, is read as another rule."""
    contexts = KINDS["unix times"](np.random.default_rng(0), 16)
    policy = Halfspaces().on(contexts).draw(np.random.default_rng(1))
    labels = policy.predict(contexts).tolist()
    shortened = re.sub(r"(score >= -?\d\d\d)\d+(\.\d+)?", r"\g<1>", str(policy))
    assert [Scoring(shortened).play(x) for x in exact(contexts)] != labels
    rule = MonotoneRules(2).on(contexts).draw(np.random.default_rng(2))
    assert rule.levels
    turned = str(rule).replace(">=", ">")
    assert [play_in_order(turned, x) for x in exact(contexts)] != rule.predict(contexts).tolist()
