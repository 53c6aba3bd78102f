"""Estimators in words and files: joined docstrings, errors by the names given, JSON, and what a notebook displays."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import cleandoc
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from milpcb.constraints.by_names import NAMES, as_documents, of_document
from milpcb.errors import MilpcbError, UnknownNameError
from milpcb.plugins import registry

FORMAT = 2
ARRAYS = ("constant_values_", "leaf_values_")
SINGLE = ("policy_value_", "lower_bound_", "optimal_", "maximise_", "n_features_in_")


def to_json(estimator: Any) -> str:
    """Return a fitted estimator as JSON; parameters that are no plain data, such as models, are left out."""
    check_is_fitted(estimator)
    parameters = {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}
    names = getattr(estimator, "feature_names_in_", None)
    document = {
        "milpcb_estimator": FORMAT,
        "class": type(estimator).__name__,
        "parameters": {name: value for name, value in parameters.items() if _is_plain(value)},
        "left_out": [name for name, value in parameters.items() if not _is_plain(value)],
        "policy": estimator.policy_.document(),
        "actions": {"type": estimator.actions_.dtype.str, "names": estimator.actions_.tolist()},
        "feature_names_in_": None if names is None else names.tolist(),
        **{name: getattr(estimator, name) for name in SINGLE},
        **{
            name: np.where(np.isnan(array := getattr(estimator, name)), np.array(None), array).tolist()
            for name in ARRAYS
        },
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def restored(cls: Any, document: dict[str, Any]) -> Any:
    """Return the estimator of a class that ``to_json`` wrote; raises LookupError, TypeError, ValueError on others."""
    parameters = {name: _unplain(value) for name, value in document["parameters"].items()}
    if isinstance(named := parameters.get("policies"), str) and not registry.is_installed("policies", named):
        raise UnknownNameError("policy class", named, registry.names("policies"))
    estimator = cls(**parameters)
    policy = document["policy"]
    if policy["class"] not in registry.names("policy"):
        raise UnknownNameError("policy", policy["class"], registry.names("policy"))
    estimator.policy_ = registry.load("policy", policy["class"]).from_document(policy)
    estimator.schema_ = estimator.policy_.schema
    estimator.actions_ = _actions(**document["actions"])
    if document["feature_names_in_"] is not None:
        estimator.feature_names_in_ = np.array(document["feature_names_in_"], dtype=object)
    for name in SINGLE:
        setattr(estimator, name, document[name])
    for name in ARRAYS:
        setattr(estimator, name, np.array(document[name], dtype=float))
    return estimator


def _actions(type: str, names: list[Any]) -> Any:  # noqa: A002 - the key of the document
    kind = np.dtype(type).kind
    if kind not in "biufUO" or not all(isinstance(name, (bool, int, float, str)) for name in names):
        raise ValueError(f"names of actions of type {type}")
    return np.array(names, dtype=str if kind == "U" else type)  # strings of any length would take as much for each name


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if type(value) in NAMES.values():
        return as_documents([value])[0]
    return value.item() if isinstance(value, np.generic) else value


def _unplain(value: Any) -> Any:
    if isinstance(value, list):
        return [_unplain(entry) for entry in value]
    if isinstance(value, dict) and "constraint" in value:
        return of_document(value)
    return value


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
