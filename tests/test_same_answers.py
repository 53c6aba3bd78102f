"""A small share of scripts/checks/same_answers.py: this version against itself, and what counts as different."""

import importlib
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from milpcb import LabelConstraint, open_oracle
from policies import ThresholdRules

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "scripts" / "checks"


@pytest.fixture(scope="module")
def script():
    """The script as a module; what it imports is beside it."""
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module("same_answers")
    sys.path.remove(str(SCRIPTS))


def question(script, label, kind="search", *, whole=True):
    """Return the first question about a class and kind without constraints, on integer costs or others."""
    for number in range(5_000):
        found = script.draw_question(0, number)
        costs = np.array(found["costs"])
        fits = bool((costs == np.rint(costs)).all()) == whole and 0.0 < np.abs(costs).sum() <= script.EXACT[kind]
        if (found["label"], found["kind"], found["constraints"]) == (label, kind, []) and fits:
            return found
    raise AssertionError


def changed(answer, part, place, by):
    """Return an answer with one of its numbers changed."""
    other = deepcopy(answer)
    other[part]["numbers"][place] += by
    return other


def test_a_version_answers_as_itself():
    """Two processes answer the questions, the table counts all of them, and none is different."""
    command = [sys.executable, SCRIPTS / "same_answers.py", ROOT, "--questions", "13", "--first", "130"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    all_of_them = [int(cell) for cell in done.stdout.splitlines()[-2].replace("│", " ").split()[1:]]
    assert all_of_them[0] == sum(all_of_them[1:]) == 13
    assert all_of_them[1] > 7
    assert all_of_them[3:] == [0, 0, 0]


def test_integer_costs_are_compared_bit_for_bit(script):
    """The last digit of a value, of a profile or of the total of the policy makes a difference."""
    whole = question(script, "trees, depth 2")
    ours = script.answer(whole)
    assert script.verdict(whole, ours, ours) == (script.Verdict.SAME, "")
    for part in ("value", "profile", "minimise"):
        least = float(np.spacing(np.abs(ours[part]["numbers"][0])))
        became, what = script.verdict(whole, ours, changed(ours, part, 0, least))
        assert became is script.Verdict.DIFFERENT
        assert what.startswith(part)


def test_real_costs_are_compared_up_to_roundings(script):
    """A share of 1e-13 of their size is none, 1e-11 is; action weights are compared with their zeros."""
    real = question(script, "threshold rules", whole=False)
    ours, size = script.answer(real), float(np.abs(real["costs"]).sum())
    assert script.verdict(real, ours, changed(ours, "value", 0, 1e-13 * size))[0] is script.Verdict.SAME
    assert script.verdict(real, ours, changed(ours, "value", 0, 1e-11 * size))[0] is script.Verdict.DIFFERENT
    ours["action weights"] = {"numbers": [1.0, 0.0]}
    assert script.verdict(real, ours, changed(ours, "action weights", 0, 1e-13))[0] is script.Verdict.SAME
    assert script.verdict(real, ours, changed(ours, "action weights", 1, 1e-300))[0] is script.Verdict.DIFFERENT


def test_errors_are_answers(script):
    """Ours may answer what was refused, but not refuse what was answered, nor otherwise; nor end unforeseen."""
    whole, verdicts = question(script, "trees, depth 2"), script.Verdict
    ours = script.answer(whole)
    refused, other, unforeseen = (
        {"opening": {"error": name, "message": "", "foreseen": foreseen}}
        for name, foreseen in (("InputError", True), ("InfeasibleError", True), ("IndexError", False))
    )
    partly = ours | {"action weights": refused["opening"]}
    for found, before, expected in (
        (refused, refused, verdicts.REFUSED),
        (ours, refused, verdicts.NEW),
        (ours, partly, verdicts.NEW),
        (partly, ours, verdicts.DIFFERENT),
        (refused, ours, verdicts.DIFFERENT),
        (refused, other, verdicts.DIFFERENT),
        (unforeseen, unforeseen, verdicts.DIFFERENT),
        (ours, None, verdicts.UNKNOWN),
        (None, ours, verdicts.DIFFERENT),
    ):
        assert script.verdict(whole, found, before)[0] is expected
    assert script.answer(whole | {"name": "Forests"}) is None
    assert script.answer(whole | {"options": {"n_actions": 1}})["opening"]["error"] == "InputError"


def test_the_printed_program_opens_the_oracle(script):
    """Run as it is, it gives the value of the answer."""
    whole = question(script, "threshold rules")
    names = {"LabelConstraint": LabelConstraint, "ThresholdRules": ThresholdRules, "open_oracle": open_oracle}
    exec(script.program(whole), names)  # noqa: S102 - it is the script's own
    assert names["oracle"].value(names["costs"]) == script.answer(whole)["value"]["numbers"][0]
