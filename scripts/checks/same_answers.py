"""Is anything answered otherwise than it was? Asks the code of two checkouts the same random questions and compares.

    python scripts/checks/same_answers.py CHECKOUT [--questions 10000] [--seed 0] [--first 0]

CHECKOUT is a folder with another version of this project. A question is a class (trees of depth 1 to 4 on every sort of
cuts, with structure limits and without, threshold rules, rule lists, boxes, monotone and scoring rules, halfspaces,
lists), a few contexts, a kind of oracle, up to three side constraints and a table of costs of any sign and unit. It is
drawn from the seed and its number, and each version answers all of them in a process of its own. Compared are both
bounds of ``minimise`` and the total of its policy, ``value``, also of the opposite costs, ``profile``,
``action_weights``, and both of a table of running totals: bit for bit where costs are integers, else up to 1e-12 of the
sum of their sizes. An error is an answer too, and its type must agree; but ours may answer what the other refused, and
classes that the other does not know are left out. The first differences are printed with a program that opens the
oracle; exit code 1 if there is any.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from enum import StrEnum
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import numpy as np
from questions import draw_question
from rich.console import Console
from rich.progress import track
from rich.table import Table

import milpcb
import policies
from milpcb.errors import MilpcbError

ROOT = Path(__file__).parents[2]
SHOWN = 10  # differences that are printed
CLOSE = 1e-12
WEIGHTS = ("action weights", "running weights")
# Sums of integers up to this are exact; solvers separate totals up to a smaller one.
EXACT = {"search": 2.0**53, "enumeration": 2.0**53, "milp": 2e8, "audited": 2e8}
# Run with -P, so that the packages of the checkout are found before anything else.
ASK = "import sys; sys.path.append({!r}); from same_answers import answer_all; answer_all(*sys.argv[1:])"

Parts = dict[str, Any]


# ------------------------------------------------------------------- by either version

# Only names that outside programs call are used here, as both versions must have them.


def answer_all(questions: str, checkout: str) -> None:
    """Write the answer to each line of a file of questions as a line on the standard output, and nothing else."""
    if any(Path(checkout) not in Path(str(package.__file__)).parents for package in (milpcb, policies)):
        raise SystemExit(f"{milpcb.__file__} was imported, which is not of {checkout}")
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # where solvers print
        with Path(questions).open(encoding="utf-8") as lines:
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


# ------------------------------------------------------------------- compared


class Verdict(StrEnum):
    """Result of a question, also the column of the table that counts it."""

    SAME = "the same"
    REFUSED = "refused by both"
    NEW = "newly answered"
    DIFFERENT = "different"
    UNKNOWN = "left out"


def answers(checkout: Path, questions: Path, count: int, console: Console) -> Iterator[Parts | None]:
    """Yield the answers of a checkout to a file of questions, in order."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-P", "-B", "-c", ASK.format(here), str(questions), str(checkout)]
    environ = os.environ | {"PYTHONPATH": str(checkout)}
    with (
        TemporaryFile("w+", encoding="utf-8") as printed,
        subprocess.Popen(
            command, cwd=questions.parent, env=environ, stdout=subprocess.PIPE, stderr=printed, text=True
        ) as process,
    ):
        found = 0
        for line in track(process.stdout or (), f"answers of {checkout}", count, console=console):
            found += 1
            yield json.loads(line)
        if process.wait() or found < count:
            printed.seek(0)
            raise SystemExit(f"{checkout} ended after {found} answers:\n{printed.read()[-4000:]}")


def verdict(question: dict[str, Any], ours: Parts | None, theirs: Parts | None) -> tuple[Verdict, str]:
    """Return what became of a question, and what differs."""
    if theirs is None:
        return Verdict.UNKNOWN, ""
    if ours is None:
        return Verdict.DIFFERENT, "the class is not known any more"
    new, refused = False, True
    for name, one in ours.items():
        refused = refused and ("error" in one or name == "opening")
        other = theirs[name if name in theirs else "opening"]  # if it was not opened, nothing else was asked
        if "error" in one and not one["foreseen"]:
            return Verdict.DIFFERENT, f"{name}: {_shown(one)}, an error that nobody foresaw; {_shown(other)} before"
        if name not in theirs:
            continue
        if "error" in other and "error" not in one:
            new = True
        elif one.get("error") != other.get("error") or not _alike(question, name, one, other):
            return Verdict.DIFFERENT, f"{name}: {_shown(one)}, {_shown(other)} before"
    return Verdict.NEW if new else Verdict.REFUSED if refused else Verdict.SAME, ""


def _alike(question: dict[str, Any], name: str, one: Parts, other: Parts) -> bool:
    """Return whether two answers have the same numbers, as near as this question's costs ask for."""
    if "error" in one or name == "opening":
        return True
    found, before = (np.array(_numbers(question, part)) for part in (one, other))
    if name in WEIGHTS:
        return bool(((found == 0.0) == (before == 0.0)).all() and np.allclose(found, before, rtol=0.0, atol=CLOSE))
    close = _closeness(question)
    with np.errstate(invalid="ignore"):  # of two infinities
        return bool(((found == before) | (np.abs(found - before) <= close)).all())


def _numbers(question: dict[str, Any], part: Parts) -> list[float]:
    """Return what is compared of a part: its numbers, and the total of its policy, added up exactly."""
    if "labels" not in part:
        return list(part["numbers"])
    total = fsum(costs[label] for costs, label in zip(question["costs"], part["labels"], strict=True))
    return [*part["numbers"], total]


def _closeness(question: dict[str, Any]) -> float:
    """Return by how much two totals may differ: by nothing where all sums are of integers."""
    costs = np.array(question["costs"])
    size = float(np.abs(costs).sum())
    whole = size <= EXACT[question["kind"]] and bool((costs == np.rint(costs)).all())
    return 0.0 if whole else CLOSE * size


def _shown(part: Parts) -> str:
    return f"{part['error']} ({part['message']})" if "error" in part else str(part)


def program(question: dict[str, Any]) -> str:
    """Return a program of one line that opens the oracle of a question."""
    options = ", ".join(f"{key}={value!r}" for key, value in question["options"].items())
    rules = ", ".join(f"LabelConstraint({rule['weights']}, {rule['upper']!r})" for rule in question["constraints"])
    kind = "".join(f", {key}={value!r}" for key, value in question["kind_options"].items())
    return (
        f"oracle = open_oracle({question['name']}({options}), {question['contexts']}, {question['kind']!r}, "
        f"constraints=[{rules}]{kind}); costs, row, rate = "
        f"{question['costs']}, {question['row']}, {question['rate']!r}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first question")
    asked = parser.parse_args()
    progress, console = Console(stderr=True), Console(width=120, highlight=False)
    numbers = range(asked.first, asked.first + asked.questions)
    questions = [draw_question(asked.seed, n) for n in track(numbers, "questions", console=progress)]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "questions.jsonl"
        file.write_text("".join(json.dumps(question) + "\n" for question in questions), encoding="utf-8")
        theirs, ours = (
            list(answers(checkout, file, len(questions), progress)) for checkout in (asked.checkout.resolve(), ROOT)
        )
    counts, shown = defaultdict[tuple[str, str], Counter[Verdict]](Counter), 0
    for question, found, before in zip(questions, ours, theirs, strict=True):
        became, what = verdict(question, found, before)
        counts[question["label"], question["kind"]][became] += 1
        if what and (shown := shown + 1) <= SHOWN:
            where = f"question {question['number']} of seed {asked.seed}: {question['label']}, {question['kind']}"
            print(f"{where}\n  {what}\n  {program(question)}", flush=True)
    table = Table("class", "kind", "questions", *Verdict)
    for key in sorted(counts):
        table.add_row(*key, f"{counts[key].total():,}", *(f"{counts[key][column]:,}" for column in Verdict))
    total = sum(counts.values(), Counter())
    table.add_section()
    table.add_row("all", "", f"{total.total():,}", *(f"{total[column]:,}" for column in Verdict))
    console.print(table)
    raise SystemExit(1 if total[Verdict.DIFFERENT] else 0)


if __name__ == "__main__":
    main()
