"""Checks that a rule read from a file is one that its class could write; otherwise its exports could disagree."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

ACTIONS = ("action", "actions", "inside", "outside", "default", "least")  # fields that hold numbers of actions
INCREASING = ("cuts", "steps")


def check_sound(rule: Any) -> None:
    """Raise ValueError on numbers not finite, cuts out of order or place, features or actions that are not there."""
    names = rule.names
    n_features, n_actions = len(names.columns or names.features), len(names.actions)
    _check_binary(rule)
    for field in fields(rule):
        if field.name != "names":
            _check(field.name, getattr(rule, field.name), n_features, n_actions)
    for column in names.columns:
        _check("columns", column, 0, 2)  # what is inside a set of values is 0 or 1
        if column.name not in names.schema.names:
            raise ValueError("a column is not in its schema")


def _check(name: str, value: Any, n_features: int, n_actions: int) -> None:
    if is_dataclass(value):
        _check_binary(value)
        for field in fields(value):
            _check(field.name, getattr(value, field.name), n_features, n_actions)
    elif isinstance(value, tuple):
        numbers = [entry for entry in value if isinstance(entry, (int, float))]
        if name in INCREASING and numbers != sorted(numbers):
            raise ValueError(f"its {name} are not in increasing order")
        for entry in value:
            _check(name, entry, n_features, n_actions)
    elif isinstance(value, float) and not isfinite(value):
        raise ValueError(f"its {name} is {value}, which is no finite number")
    elif name in ("feature", *ACTIONS) and type(value) is int:
        most = n_features if name == "feature" else n_actions
        if value < 0 or (most and value >= most):
            raise ValueError(f"its {name} {value} is not there")


def _check_binary(part: Any) -> None:
    """Raise ValueError where a feature of 0 and 1, which words compare with these, is cut anywhere but between them."""
    if getattr(part, "binary", False):
        cuts = [cut for name in INCREASING for cut in getattr(part, name, None) or ()]
        cuts += [getattr(part, name, None) for name in ("threshold", "lower", "upper")]
        if not all(cut is None or 0.0 <= cut < 1.0 for cut in cuts):
            raise ValueError("a feature that is 0 or 1 is not cut between the two")
