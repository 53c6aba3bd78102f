"""``help()`` of a public name explains every parameter in place, in a section of numpydoc."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

import pytest

import milpcb
import policies
from milpcb import estimators, learners, offline
from milpcb.plugins import registry

KINDS = ("environment", "relaxation", "constraint")  # whose built-in parts users name in configs and in code


def public() -> Iterator[tuple[str, Any]]:
    """Yield all that the packages offer for calling, by its name."""
    for package in (milpcb, policies, learners, estimators, offline):
        for name in package.__all__:
            found = getattr(package, name)
            if inspect.isfunction(found) or (inspect.isclass(found) and not issubclass(found, Enum)):
                yield f"{package.__name__}.{name}", found
    for kind in KINDS:
        for name in registry.BUILTIN[kind]:
            yield f"{kind}.{name}", registry.load(kind, name)


PUBLIC = dict(public())
assert len(PUBLIC) > 80  # else nothing is looked at


def explained(text: str) -> set[str]:
    """Return the names that stand in the section Parameters of a docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", text, re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) :", section[1] if section else "", re.MULTILINE)
    return {name.lstrip("*") for head in heads for name in head.split(", ")}


# What functions return, and nobody makes: their docstrings say what each field is, in sentences or in a section.
RESULTS = {
    "milpcb.Decision",
    *(f"milpcb.offline.{name}" for name in offline.__all__ if is_dataclass(getattr(offline, name))),
}


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - RESULTS))
def test_every_parameter_is_explained(name: str) -> None:
    """The section Parameters names each parameter of the signature, and no others."""
    found = PUBLIC[name]
    assert explained(inspect.getdoc(found) or "") == set(inspect.signature(found).parameters)


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() & RESULTS))
def test_every_field_of_a_result_is_named(name: str) -> None:
    """The class of a result names all its fields in its docstring."""
    found = PUBLIC[name]
    text = inspect.getdoc(found) or ""
    assert [field for field in inspect.signature(found).parameters if not re.search(rf"\b{field}\b", text)] == []
