"""Reads printed rules literally: a second reading of the text, which shares no code with the package.

The language:

    rules     := leaf | "if" condition ":" block ("elif" condition ":" block)* "else" ":" block
    block     := rules, indented by four more spaces
    leaf      := "play" NAME
    condition := test ("and" test)*
    test      := NUMBER "<" FEATURE "<=" NUMBER | FEATURE ("<=" | ">" | "=") NUMBER

Names of features are any string; one that could be read as anything else is in double quotes, as in JSON. Names of
actions are any string without a line break, so they are looked up.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

INDENT = "    "
NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)"
ODD = re.compile(rf'[<>=!{{}}"\\]|^ | $|\b(?:is|not|and)\b|^{NUMBER}$')  # names that have quotes


Test = tuple[int, Callable[[float], bool]]  # a column, and what its value must fulfil


@dataclass(frozen=True)
class Case:
    """Rules to follow where all ``tests`` hold: an action, or further cases of which the first that fits is taken."""

    tests: list[Test]
    then: int | list[Case]


class Reader:
    """Knows what the features and actions are called."""

    def __init__(self, features: Sequence[str], actions: Sequence[str]) -> None:
        features = [json.dumps(name, ensure_ascii=False) if ODD.search(name) else name for name in features]
        self._column: Mapping[str, int] = {name: i for i, name in enumerate(features)}
        self._action: Mapping[str, int] = {name: a for a, name in enumerate(actions)}
        name = "|".join(re.escape(feature) for feature in sorted(features, key=len, reverse=True))
        between = rf"(?P<low>{NUMBER}) < (?P<inner>{name}) <= (?P<high>{NUMBER})"
        side = rf"(?P<name>{name}) (?P<sign><=|>|=) (?P<number>{NUMBER})"
        self._test = re.compile(rf"(?:{between}|{side})(?: and (?=.)|$)", re.DOTALL)
        self._bar = re.compile(rf"(?P<name>{name}) (?P<sign><=|> ) (?P<number>{NUMBER})")

    def play(self, text: str, rows: Sequence[Sequence[float]]) -> list[int]:
        """Return the action that a printed rule plays on each context."""
        then, rest = self._rules(text.split("\n"), 0)
        assert not rest, f"more text than rules: {rest}"
        return [_followed(then, row) for row in rows]

    def play_exported(self, text: str, rows: Sequence[Sequence[float]]) -> list[int]:
        """Return the action that a tree in the style of scikit-learn's ``export_text`` plays on each context."""
        then, rest = self._bars(text.removesuffix("\n").split("\n"), 0)
        assert not rest, f"more text than a tree: {rest}"
        return [_followed(then, row) for row in rows]

    def _rules(self, lines: list[str], depth: int) -> tuple[int | list[Case], list[str]]:
        """Return the rules at the start of ``lines``, and the lines after them."""
        indent = INDENT * depth
        assert lines, "no rules"
        assert lines[0].startswith(indent), lines[0]
        if (said := lines[0].removeprefix(indent + "play ")) in self._action:
            return self._action[said], lines[1:]
        cases: list[Case] = []
        word = "if "
        while word != "else":
            assert lines[0].startswith(indent + word), lines[0]
            assert lines[0].endswith(":"), lines[0]
            tests = self._tests(lines[0].removeprefix(indent + word).removesuffix(":"))
            then, lines = self._rules(lines[1:], depth + 1)
            cases.append(Case(tests, then))
            word = "else" if lines and lines[0] == f"{indent}else:" else "elif "
            assert lines, "no else"
        then, lines = self._rules(lines[1:], depth + 1)
        return [*cases, Case([], then)], lines

    def _tests(self, condition: str) -> list[Test]:
        """Return the tests of a condition; there is at least one."""
        assert condition, "no condition"
        at, tests = 0, []
        while at < len(condition):
            found = self._test.match(condition, at)
            assert found, f"no test: {condition[at:]}"
            at = found.end()
            if found["inner"] is None:
                tests.append(self._side(found))
            else:
                low, high = float(found["low"]), float(found["high"])
                tests.append((self._column[found["inner"]], lambda x, low=low, high=high: low < x <= high))
        return tests

    def _side(self, found: re.Match[str]) -> Test:
        holds = {"<=": operator.le, ">": operator.gt, "=": operator.eq}[found["sign"].strip()]
        number = float(found["number"])
        return self._column[found["name"]], lambda x: holds(x, number)

    def _bars(self, lines: list[str], depth: int) -> tuple[int | list[Case], list[str]]:
        """Return the tree at the start of ``lines``, and the lines after it."""
        head = "|   " * depth + "|--- "
        assert lines[0].startswith(head), lines[0]
        if (said := lines[0].removeprefix(head + "class: ")) in self._action:
            return self._action[said], lines[1:]
        cases = []
        for _ in range(2):
            found = self._bar.fullmatch(lines[0].removeprefix(head))
            assert found, lines[0]
            then, lines = self._bars(lines[1:], depth + 1)
            cases.append(Case([self._side(found)], then))
        return cases, lines


def _followed(rules: int | list[Case], row: Sequence[float]) -> int:
    while not isinstance(rules, int):
        rules = next(case.then for case in rules if all(holds(row[column]) for column, holds in case.tests))
    return rules
