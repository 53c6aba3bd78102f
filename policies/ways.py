"""The ways through a rule: for each part the tests that lead there, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx

_AT_MOST = re.compile(r"(.+) <= (\S+)( \(or missing\)| \(not missing\))?")
_IS = re.compile(r"(.+) = (.+)")
_BOUND = re.compile(r"(.+) (up to|above) (\S+)")  # as ``in_words`` writes a comparison without missing values
JOINED = (" and ", " or ", "\n", ": ")  # more than one comparison


def ways_of(graph: nx.DiGraph) -> dict[int, tuple[str, ...]]:
    """Return for each part of the graph of a rule the tests on the way to it, in words."""
    root = next(node for node in graph if not graph.in_degree(node))
    found: dict[int, tuple[str, ...]] = {}
    waiting: list[tuple[Any, tuple[str, ...]]] = [(root, ())]
    while waiting:
        node, way = waiting.pop()
        data = graph.nodes[node]
        if "part" in data:
            found[data["part"]] = way
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
