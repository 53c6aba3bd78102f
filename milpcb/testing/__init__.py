"""Conformance batteries, shipped: they run over the registry, so a new entry is tested without a new test.

``battery(kind, entry)`` is a list of checks; ``run_all(kind, entry)`` runs them. An entry is a registered name, or an
object as MADE has it. A check whose needs are unmet raises Unmet, which pytest shows as a skip:

    @pytest.mark.parametrize("check", testing.battery("policies", "my_rules"), ids=str)
    def test_my_rules(check):
        check.run()
"""

import sys
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from milpcb.errors import InputError, shown
from milpcb.plugins import registry

MADE = {  # objects that a battery takes in place of a name, and the attributes by which one is known
    "policies": ("an Instance of milpcb.testing.instances (a class of policies, and contexts)", "policies", "contexts"),
    "solver": ("a Solver", "open"),
    "learner": ("a class of learners", "__call__"),
    "environment": ("an Environment", "open"),
}


class Unmet(unittest.SkipTest):
    """A check that cannot run, as something that it needs is missing; the message names it."""


@dataclass(frozen=True)
class Check:
    """One requirement on one entry; ``run`` raises AssertionError with the wrong values, or Unmet."""

    id: str
    run: Callable[[], None]

    def __str__(self) -> str:
        return self.id


def laws(module: str) -> dict[str, Callable[..., None]]:
    """Return the functions ``check_...`` of a module by the words of their names, in the order of the module."""
    named = ((name.partition("check_"), entry) for name, entry in vars(sys.modules[module]).items())
    return {words.replace("_", " "): entry for (before, found, words), entry in named if found and not before}


def battery(kind: str, entry: Any) -> list[Check]:
    """Return the checks of an entry; raises UnknownNameError on a kind or name that is not there."""
    make = registry.load("battery", kind)
    if isinstance(entry, str):
        registry.target(kind, entry.partition(":")[0] if kind == "solver" else entry)
    elif kind in MADE and not all(hasattr(entry, name) for name in MADE[kind][1:]):
        wanted = f"a registered name or {MADE[kind][0]}"
        raise InputError(f"testing.battery('{kind}', ...) needs {wanted}, got {shown(entry)}")
    return cast("list[Check]", make(entry))


def run_all(kind: str, entry: Any) -> list[str]:
    """Run every check of an entry and return skipped ones with their reasons; raises the error of a failing one."""
    skipped = []
    for check in battery(kind, entry):
        try:
            check.run()
        except Unmet as reason:
            skipped.append(f"{check.id}: {reason}")
        except Exception as error:
            own = repr(entry) if isinstance(entry, str) else "..."
            error.add_note(f"{kind}, check '{check.id}': fix what the message names, then run this check alone:")
            error.add_note(f"next(c for c in milpcb.testing.battery('{kind}', {own}) if c.id == '{check.id}').run()")
            raise
    return skipped
