"""The walks of .github/CONTRIBUTING.md: each is played, and its functions are called in the order of the page."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from milpcb import open_oracle
from policies import ThresholdRules
from tests.learned import command

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / ".github/CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## Five walks through the code\n")[1]
MOST_FILES = {0: 15, 2: 12}  # from a line of a config to a probability, and from a log to its page
STUDY = """\
[experiment]
name = "walk"
horizon = 20
checkpoints = 2
{constraints}
[environment]
name = "planted"
n_contexts = 8
n_features = 3

[policies]
name = "threshold_rules"

[oracle]
kind = "{kind}"

[[learners]]
name = "bistro_plus"
"""
HALF = '[[constraints]]\nname = "share_at_most"\naction = 0\nshare = 0.5\n'


def walks() -> list[list[tuple[str, str]]]:
    """Return the steps of each walk, a file and a function."""
    return [re.findall(r"^\d+\. `([^`]+)`, `([^`]+)`: ", walk, re.MULTILINE) for walk in PAGE.split("\n**")[1:]]


def study(folder: Path, kind: str = "search", constraints: str = "") -> None:
    """Play a study of one cell."""
    (folder / "walk.toml").write_text(STUDY.format(kind=kind, constraints=constraints))
    out = str(folder / f"out_{kind}_{len(constraints)}")
    command("run", str(folder / "walk.toml"), "--out", out, "--backend", "serial", "--progress", "quiet")


def value(folder: Path) -> None:
    """Ask oracles of both kinds for a value."""
    del folder
    rng = np.random.default_rng(0)
    contexts, costs = rng.normal(size=(12, 2)), rng.integers(5, size=(12, 3))
    milp, search = (open_oracle(ThresholdRules(3), contexts, kind=kind).value(costs) for kind in ("milp", "search"))
    assert milp == search


def learn(folder: Path) -> None:
    """Learn a rule from a log of 60 rows."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(18, 80)},{'call' if t % 2 else 'write'},{rng.random():.3f}" for t in range(60)]
    (folder / "log.csv").write_text("\n".join(["age,action,reward", *rows]))
    columns = ("--action", "action", "--reward", "reward", "--randomised")
    quick = ("--depth", "1", "--draws", "0", "--resamples", "0")
    command("learn", str(folder / "log.csv"), *columns, *quick, "--out", str(folder / "learnt"))


def constrain(folder: Path) -> None:
    """Play a study under a constraint, by the search and by a solver."""
    study(folder, "search", HALF)
    study(folder, "milp", HALF)


def plot(folder: Path) -> None:
    """Draw a study."""
    study(folder)
    command("plot", str(folder / "out_search_0"))


PLAYED: list[Callable[[Path], None]] = [study, value, learn, constrain, plot]


@pytest.mark.usefixtures("sketches")
@pytest.mark.parametrize("number", range(len(PLAYED)), ids=lambda number: PLAYED[number].__name__)
def test_a_walk_is_what_happens(number, tmp_path, monkeypatch):
    """The functions of a walk are called in its order, whatever else is called between them."""
    steps = walks()[number]
    assert len(steps) >= 9
    assert [*dict.fromkeys(steps)] == steps
    monkeypatch.chdir(tmp_path)
    reached, before = 0, sys.getprofile()

    def on_call(frame, event, _argument):
        nonlocal reached
        code = frame.f_code
        if (
            event == "call"
            and code.co_qualname == steps[reached][1]
            and code.co_filename == str(ROOT / steps[reached][0])
        ):
            reached += 1
            if reached == len(steps):
                sys.setprofile(before)  # the rest runs at its own speed

    sys.setprofile(on_call)
    try:
        PLAYED[number](tmp_path)
    finally:
        sys.setprofile(before)
    assert reached == len(steps), f"not called after {steps[:reached][-1:]}: {steps[reached]}"


def test_five_walks_are_numbered():
    """Every step is read by the test: numbers go up from 1 in each of the five."""
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", PAGE, re.MULTILINE)]
    assert numbers == [number for steps in walks() for number in range(1, len(steps) + 1)]
    assert len(walks()) == len(PLAYED)


@pytest.mark.parametrize("number", MOST_FILES)
def test_a_reader_of_a_walk_opens_few_files(number):
    """A probability is few files from its config, and a page from its log."""
    assert len({file for file, _ in walks()[number]}) <= MOST_FILES[number]
