"""The parameters of estimators in words: docstrings assembled from base classes, and errors by the names given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import cleandoc

from milpcb.errors import MilpcbError

SECTIONS = ("Parameters", "Attributes")


def joined(cls: type) -> str | None:
    """Return the class's own docstring with the sections of its bases; as it is where it has sections of its own."""
    own = cleandoc(cls.__doc__ or "")
    if not own or any(_section(own, title) for title in SECTIONS):
        return cls.__doc__
    return "\n\n".join([own, *_joined_sections(cls)]) + "\n"


def _joined_sections(cls: type) -> Iterator[str]:
    for title in SECTIONS:
        texts = [_section(cleandoc(base.__dict__.get("__doc__") or ""), title) for base in cls.__mro__[1:]]
        entries = [text for text in texts if text]
        if entries:
            yield "\n".join([title, "-" * len(title), *entries])


def _section(text: str, title: str) -> str:
    """Return the entries of a section of numpydoc, "" where there is none."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n\w[\w ]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1].strip("\n") if found else ""


@contextmanager
def called(names: Mapping[str, str]) -> Iterator[None]:
    """Let errors name the parameters of an estimator, not those of its policy class, which ``names`` maps to them."""
    try:
        yield
    except MilpcbError as error:
        text = str(error)
        for other, own in names.items():
            text = re.sub(rf"\b{other}\b(?= must| =)", own, text)
        error.args = (text,)
        raise
