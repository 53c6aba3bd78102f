"""The parts of a rule for people: who is in each, in words, and what stands in the drawing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from milpcb.logs.findings import Findings
from milpcb.logs.unit import Unit

_AT_MOST = re.compile(r"(.+) <= (\S+)( \(or missing\)| \(not missing\))?")
_IS = re.compile(r"(.+) = (.+)")
_BOUND = re.compile(r"(.+) (up to|above) (\S+)")  # as ``in_words`` writes a comparison without missing values
JOINED = (" and ", " or ", "\n", ": ")  # more than one comparison


@dataclass(frozen=True)
class DrawnPart:
    """One part of a rule as a drawing has it: its action, its share (0..1) of the rows, and further lines."""

    name: str
    share: float
    note: str

    def lines(self, part: int) -> list[str]:
        """Return what stands in a drawing of part number ``part``, a line each."""
        return [f"{part + 1}: {self.name}", f"{self.share:.0%} of rows", *self.note.split("\n")]


def part_of(leaf: Any, note: str) -> DrawnPart:
    """Return a part with the action and share of a leaf; each line of ``note`` is one of the drawing."""
    return DrawnPart(leaf.name, leaf.share, note)


def parts(found: Findings) -> list[DrawnPart]:
    """Return the parts of the rule, with what each is worth in rows kept aside.

    Without such rows there is no interval that holds for a part, and its value is marked as what it looks like.
    """
    unit, seen = Unit.of(found), found.held_out or found.evaluation
    known = {leaf.part: _note(unit, leaf.value, held_out=found.held_out is not None) for leaf in seen.leaves}
    leaves = found.estimator.policy_.leaves(found.learnt.frame)
    return [part_of(leaf, known.get(number, "")) for number, leaf in enumerate(leaves)]


def _note(unit: Unit, value: Any, *, held_out: bool) -> str:
    of = " of 100" if unit.binary else ""
    if held_out:
        return f"{unit.value(value.value)}{of}\n{unit.ends(value.lower, value.upper)}"
    return f"looks like {unit.value(value.value)}{of}"


def who(policy: Any) -> dict[int, str]:
    """Return for each part of a rule the tests on the way to it, in words; {} for a rule without a graph."""
    if not hasattr(policy, "graph"):
        return {}
    graph = policy.graph()
    root = next(node for node in graph if not graph.in_degree(node))
    found: dict[int, str] = {}
    waiting: list[tuple[Any, tuple[str, ...]]] = [(root, ())]
    while waiting:
        node, way = waiting.pop()
        data = graph.nodes[node]
        if "part" in data:
            found[data["part"]] = ", ".join(way) or "everybody"
        for _, child, answer in graph.out_edges(node, data="label"):
            step = in_words(data["label"], holds=answer == "yes") if answer in ("yes", "no") else answer
            waiting.append((child, (*(earlier for earlier in way if not _implies(step, earlier)), step)))
    return found


def _implies(later: str, earlier: str) -> bool:
    """Return whether one bound implies another of the same column: above 7 implies above 6."""
    tight, loose = _BOUND.fullmatch(later), _BOUND.fullmatch(earlier)
    if not tight or not loose or tight[1] != loose[1] or tight[2] != loose[2]:
        return False
    try:
        cut, other = float(tight[3]), float(loose[3])
    except ValueError:  # such as a day
        return False
    return cut >= other if tight[2] == "above" else cut <= other


def in_words(test: str, *, holds: bool) -> str:
    """Return a test, or that it does not hold, in words; one of several comparisons is left as it is."""
    if not any(word in test for word in JOINED):
        compared, equal = _AT_MOST.fullmatch(test), _IS.fullmatch(test)
        if compared:
            name, cut, missing = compared.groups()
            also = " or missing" if missing and holds == ("or" in missing) else ""
            return f"{name} {'up to' if holds else 'above'} {cut}{also}"
        if equal:
            return test if holds else f"{equal[1]} other than {equal[2]}"
    return test if holds else f"not ({test})"
