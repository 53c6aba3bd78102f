"""Estimators in words and files: joined docstrings, errors by the names given, JSON, and what a notebook displays."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import cleandoc
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from milpcb.constraints.by_names import NAMES, as_documents
from milpcb.errors import MilpcbError

FORMAT = 3
VALUES = ("policy_value_", "lower_bound_", "optimal_", "maximise_")


def to_json(estimator: Any) -> str:
    """Return a fitted estimator as JSON: its policy, its values, and the parameters that are plain data."""
    check_is_fitted(estimator)
    parameters = {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}
    document = {
        "milpcb_estimator": FORMAT,
        "class": type(estimator).__name__,
        "parameters": {name: value for name, value in parameters.items() if _is_plain(value)},
        "policy": estimator.policy_.document(),
        "constant_values_": estimator.constant_values_.tolist(),
        **{name: getattr(estimator, name) for name in VALUES},
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if type(value) in NAMES.values():
        return as_documents([value])[0]
    return value.item() if isinstance(value, np.generic) else value


def _is_plain(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)  # keys of mappings may change to strings
    except (TypeError, ValueError):
        return False


SECTIONS = ("Parameters", "Attributes")


def joined(cls: type) -> str | None:
    """Return the class's own docstring with the sections of its bases; as it is where it has sections of its own."""
    own = cleandoc(cls.__doc__ or "")
    if not own or any(_section(own, title) for title in SECTIONS):
        return cls.__doc__
    for title in SECTIONS:
        texts = [_section(cleandoc(base.__dict__.get("__doc__") or ""), title) for base in cls.__mro__[1:]]
        own += "\n".join([f"\n\n{title}", "-" * len(title), *filter(None, texts)])
    return f"{own}\n"


def _section(text: str, title: str) -> str:
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
