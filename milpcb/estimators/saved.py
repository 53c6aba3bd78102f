"""Loads an estimator from JSON, as ``milpcb learn`` writes it."""

from __future__ import annotations

from typing import Any

from milpcb.core import gate
from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators import classes
from milpcb.estimators.base import PolicyEstimator
from milpcb.estimators.documents import FORMAT, restored


def from_json(text: str) -> Any:
    """Return the fitted estimator that ``to_json`` wrote; parameters that were left out are the defaults.

    Parameters
    ----------
    text : what ``estimator.to_json()`` returned; InputError on any other string

    """
    try:
        document = gate.read_json(text)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"this is no JSON of an estimator: {error}") from error
    if not isinstance(document, dict) or document.get("milpcb_estimator") != FORMAT:
        raise InputError(f"this is no JSON of an estimator in format {FORMAT}; give what estimator.to_json() wrote")
    known = {name: cls for name, cls in vars(classes).items() if _is_estimator(cls)}
    if not isinstance(document.get("class"), str) or document["class"] not in known:
        raise UnknownNameError("estimator", document.get("class"), known)
    try:
        return restored(known[document["class"]], document)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"the JSON of an estimator is damaged ({type(error).__name__}: {error})") from error


def _is_estimator(entry: Any) -> bool:
    return isinstance(entry, type) and issubclass(entry, PolicyEstimator)
