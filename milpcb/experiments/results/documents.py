"""A policy as files: JSON for programs, a drawing for people."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from milpcb.core.files import write_file
from milpcb.errors import InputError
from milpcb.experiments.results.figures.drawing import FORMATS
from milpcb.experiments.results.figures.policy import draw_policy
from milpcb.types import Answer


def save_answer(answer: Answer, path: Path) -> Path:
    """Write an oracle's answer as .json, or its policy as a .png or .svg drawing, by the ending of the path."""
    kind = check_ending(path)
    if kind == "json":
        return write_file(path, answer_json(answer).encode())
    if answer.policy is None:
        raise InputError(f"no policy was found in time, so there is nothing to draw in {path}")
    return write_file(path, draw_policy(answer.policy)[kind])


def check_ending(path: Path) -> str:
    """Return the format by the ending of a path: json, png or svg; raises InputError for any other."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in {"json", *FORMATS}:
        raise InputError(f"cannot write '{path.name}': the ending decides the format, use .json, .png or .svg")
    return kind


def answer_json(answer: Answer) -> str:
    """Return bounds, stop reason, seconds and the policy; ``policies.from_json`` reads a policy that can be read back.

    Other policies are written as their class, their rules as text, and their fields. A bound that is not known is null:
    JSON has no infinity.
    """
    document = {
        "lower": answer.lower if np.isfinite(answer.lower) else None,
        "upper": answer.upper if np.isfinite(answer.upper) else None,
        "stop": str(answer.stop),
        "seconds": answer.seconds,
        "policy": None if answer.policy is None else _document(answer.policy),
    }
    return json.dumps(document, indent=2, default=_plain) + "\n"


def _document(policy: Any) -> dict[str, Any]:
    if hasattr(policy, "document"):
        return dict(policy.document())
    fields = asdict(policy) if is_dataclass(policy) and not isinstance(policy, type) else {}
    return {"class": type(policy).__name__, "rules": str(policy), **fields}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return str(value)
