"""The scripts that a clone is tried with: what they say of themselves, and what their quick way leaves out."""

import re
import subprocess
from pathlib import Path

import pytest

from milpcb.commands.machine import JOBS
from milpcb.experiments.study.config import read_config

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_test_script_explains_itself(option: str) -> None:
    """Help is printed, and nothing is installed or run."""
    done = subprocess.run([ROOT / "scripts/test", option], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: ./scripts/test [--quick]")
    assert "tests/slow.py" in done.stdout
    assert done.stderr == ""


def test_the_demo_plays_what_the_first_page_recommends() -> None:
    """Exp4 at the certified rate and the adaptive leader stand beside BISTRO+; the files it shows are written."""
    config = read_config(ROOT / "scripts/experiments/quickstart.toml")
    found = {learner.name: learner.options for learner in config.learners}
    assert found["exp4"]["rate"] == "certified"
    assert found["ftpl"]["epsilon"] == "adaptive"
    assert {"bistro_plus", "uniform"} <= found.keys()
    demo = (ROOT / "scripts/demo").read_text()
    assert "leader_exp4_seed0.txt" in demo
    assert "best_policy_seed0.txt" in demo


def test_the_demo_ends_with_a_command_that_works_as_printed() -> None:
    """The last line names the clone, the program in its environment, and a config that is there."""
    last = (ROOT / "scripts/demo").read_text().splitlines()[-1]
    found = re.fullmatch(r'echo "cd \$PWD && \.venv/bin/milpcb run (scripts/[\w/.]+)"', last)
    assert found
    assert read_config(ROOT / found[1]).learners


def test_what_is_left_out_is_there(slow: dict[str, str]) -> None:
    """Each entry of the table names a folder, a file or a test, and says why it is left out."""
    for place, reason in slow.items():
        path, _, test = place.partition("::")
        assert (ROOT / path).exists(), place
        assert not test or re.search(rf"^def {test}\(", (ROOT / path).read_text(), re.MULTILINE), place
        assert reason


def test_what_is_compiled_while_pip_installs_is_there() -> None:
    """The script of the tests names jobs of ``milpcb compile``; nothing shows if one of them fails."""
    named = re.findall(r'first="(.*)"', (ROOT / "scripts/test").read_text())
    assert len(named) == 2
    assert set(re.findall("'(.*?)'", " ".join(named))) < set(JOBS)
