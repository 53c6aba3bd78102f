"""Rules that score or order contexts do what they print: their text read by an interpreter of its own in exact numbers.

Numbers are read as the decimals they are written in, those of a context too, as people read them; nothing is rounded.
"""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

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
# Policies of each class: this many of each kind drawn, and as many in all as OPTIMAL and this times the kinds.
DRAWN, OPTIMAL = 24, 4
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
NUMBER = r"[+-]?\d+(?:\.\d+)?(?:e[+-]\d+)?"


class Scoring:
    """A printed score: ``score(x)`` and ``play(x)`` by nothing but the text."""

    def __init__(self, text: str) -> None:
        self.terms: list[tuple[Fraction, int, list[Fraction] | None]] = []
        self.plays: list[tuple[int, Fraction | None, Fraction | None]] = []
        first, *lines = text.splitlines()
        if first.startswith("play"):
            assert not lines
            self.plays.append((self._action(first), None, None))
            return
        points = {}
        while match := re.fullmatch(r"points\(x(\d+)\) = 1 point for (?:each of )?x(\d+) >= (.+)", lines[0]):
            assert match[1] == match[2]
            points[match[1]] = [self._number(step) for step in match[3].split(", ")]
            del lines[0]
        head, sum_of_terms = first.split(" = ")
        assert head == "score"
        for term in sum_of_terms.split(" "):
            match = re.fullmatch(rf"({NUMBER})\*(?:x(\d+)|points\(x(\d+)\))", term)
            assert match, term
            self.terms.append((Fraction(match[1]), int(match[2] or match[3]), None if match[2] else points[match[3]]))
        if len(lines) == 1:
            match = re.fullmatch(r"(play action \d+) if (.+), else (play action \d+)", lines[0])
            assert match, lines
            self.plays = [(self._action(match[1]), *self._range(match[2])), (self._action(match[3]), None, None)]
        else:
            for line in lines:
                play, where = line.split(" if ")
                self.plays.append((self._action(play), *self._range(where)))

    def score(self, x: Sequence[Fraction]) -> Fraction:
        """The score of a context, exactly."""
        return sum(
            (w * (x[i] if steps is None else sum(x[i] >= step for step in steps)) for w, i, steps in self.terms),
            start=Fraction(0),
        )

    def play(self, x: Sequence[Fraction]) -> int:
        """The first action whose range holds the score."""
        score = self.score(x)
        fits = [a for a, low, high in self.plays if (low is None or low <= score) and (high is None or score < high)]
        return fits[0]

    def doubtful(self, x: Sequence[Fraction]) -> bool:
        """Whether the score is within 1e-13 of its largest term of a cut: float64 may take the other side."""
        size = max((abs(w * x[i]) for w, i, steps in self.terms if steps is None), default=Fraction(0))
        ends = [end for _, *ends in self.plays for end in ends if end is not None]
        return any(abs(self.score(x) - end) < size / 10**13 for end in ends)

    def _range(self, where: str) -> tuple[Fraction | None, Fraction | None]:
        if match := re.fullmatch(r"score >= (.+)", where):
            return self._number(match[1]), None
        if match := re.fullmatch(r"score < (.+)", where):
            return None, self._number(match[1])
        match = re.fullmatch(r"(.+) <= score < (.+)", where)
        assert match, where
        return self._number(match[1]), self._number(match[2])

    @staticmethod
    def _number(text: str) -> Fraction:
        assert re.fullmatch(NUMBER, text), text
        return Fraction(text)

    @staticmethod
    def _action(text: str) -> int:
        match = re.fullmatch(r"play action (\d+)", text)
        assert match, text
        return int(match[1])


COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    ">=": lambda x, bound: x >= bound,
    "<=": lambda x, bound: x <= bound,
    ">": lambda x, bound: x > bound,
    "=": lambda x, bound: x == bound,
}


def play_in_order(text: str, x: Sequence[Fraction]) -> int:
    """What "if ... or ...: play, elif ..., else: play" says for a context."""

    def holds(condition: str) -> bool:
        match = re.fullmatch(rf"x(\d+) (>=|<=|>|=) ({NUMBER})", condition)
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


def test_there_are_a_hundred_of_each_class() -> None:
    """What the tests below try of every class."""
    assert len(KINDS) * (DRAWN + OPTIMAL) >= 100


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
        weights, cut = [Fraction(weight) for weight in policy.weights], Fraction(policy.cut)
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
