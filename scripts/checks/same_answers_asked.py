"""Answers questions by whichever version of the project is found first on the path; see same_answers.py.

Only names that outside programs call are used here, as both versions must have them.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import milpcb
import policies
from milpcb.errors import MilpcbError


def answer_all(questions: Path, checkout: Path) -> None:
    """Write the answer to each line of a file of questions as a line on the standard output, and nothing else."""
    if checkout not in Path(milpcb.__file__).parents or checkout not in Path(policies.__file__).parents:
        raise SystemExit(f"{milpcb.__file__} was imported, which is not of {checkout}")
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # where solvers print
        with questions.open(encoding="utf-8") as lines:
            for line in lines:
                out.write(json.dumps(answer(json.loads(line))) + "\n")
                out.flush()


def answer(question: dict[str, Any]) -> dict[str, Any] | None:
    """Return each part of the answer: numbers, or the error in their place; None where the class is unknown."""
    options = {key: tuple(value) if key == "directions" else value for key, value in question["options"].items()}
    try:
        settings = getattr(policies, question["name"])
    except AttributeError:
        return None
    try:
        rules = [milpcb.LabelConstraint(np.array(rule["weights"]), rule["upper"]) for rule in question["constraints"]]
        contexts = np.array(question["contexts"])
        oracle = milpcb.open_oracle(
            settings(**options), contexts, question["kind"], constraints=rules, **question["kind_options"]
        )
    except Exception as error:  # noqa: BLE001 - an error is an answer too
        unknown = isinstance(error, TypeError) and "unexpected keyword" in str(error)
        return None if unknown else {"opening": _refusal(error)}
    costs, row = np.array(question["costs"]), question["row"]

    def minimise() -> dict[str, Any]:
        found = oracle.minimise(costs)
        labels = found.policy.predict(contexts) if found.policy is not None else []
        return {"numbers": [found.lower, found.upper], "labels": [int(label) for label in labels]}

    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "minimise": minimise,
        "value": lambda: {"numbers": [oracle.value(costs)]},
        "opposite costs": lambda: {"numbers": [oracle.value(-costs)]},
        "profile": lambda: {"numbers": oracle.profile(costs, row).tolist()},
        "action weights": lambda: {"numbers": oracle.action_weights(costs, row, question["rate"]).tolist()},
    }
    if np.isfinite(costs).all() and row < len(costs):
        parts["running totals"] = lambda: {"numbers": _kept(oracle, costs, question["noise"]).profile(row).tolist()}
        parts["running weights"] = lambda: {
            "numbers": _kept(oracle, costs, question["noise"]).action_weights(row, question["rate"]).tolist()
        }
    found: dict[str, Any] = {"opening": {"numbers": []}}
    for name, ask in parts.items():
        try:
            found[name] = ask()
        except Exception as error:  # noqa: BLE001 - as above
            found[name] = _refusal(error)
    return found


def _kept(oracle: Any, costs: Any, noise: str | None) -> Any:
    """Return a table that keeps totals, with the sizes of the costs added: none of them may be below 0."""
    table = oracle.table(noise)
    for row, action in np.argwhere(costs):
        table.add(int(row), int(action), float(abs(costs[row, action])))
    return table


def _refusal(error: Exception) -> dict[str, Any]:
    return {"error": type(error).__name__, "message": str(error), "foreseen": isinstance(error, MilpcbError)}


def main() -> None:
    """Answer the questions of a file by a checkout, both named by the command line."""
    answer_all(Path(sys.argv[1]), Path(sys.argv[2]))
