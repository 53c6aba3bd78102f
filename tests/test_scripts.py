"""The scripts that a clone is tried with: what they say of themselves, and what their quick way leaves out."""

import re
import subprocess
import sys
from pathlib import Path

from milpcb.commands.machine import JOBS
from milpcb.experiments.study.config import read_config
from tests.test_walks import study

ROOT = Path(__file__).parents[1]


def test_the_test_script_explains_itself() -> None:
    """Help is printed, and nothing is installed or run."""
    done = subprocess.run([ROOT / "scripts/test", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: ./scripts/test [--quick]")
    assert done.stderr == ""


def test_the_demo_ends_with_a_command_that_works_as_printed() -> None:
    """Its own config is read, and the last line names the program in its environment and a config that is there."""
    assert read_config(ROOT / "scripts/experiments/quickstart.toml").learners
    last = (ROOT / "scripts/demo").read_text().splitlines()[-1]
    found = re.fullmatch(r'echo "cd \$PWD && \.venv/bin/milpcb run (scripts/[\w/.]+)"', last)
    assert found
    assert read_config(ROOT / found[1]).learners


def test_the_demo_prints_the_policies_that_learners_end_with(tmp_path: Path) -> None:
    """Its lines of Python are played on a run directory."""
    study(tmp_path)
    lines = (ROOT / "scripts/demo").read_text().partition("<<'END'\n")[2].partition("\nEND\n")[0]
    folder = str(tmp_path / "out_search_0")
    done = subprocess.run([sys.executable, "-c", lines, folder], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("bistro_plus, planted, threshold_rules, search:\nif ")


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
