"""A share of the attacks of scripts/checks/hostile.py: with the gate none does harm, without it some do."""

from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts/checks/hostile.py"


OPEN = ("--quick", "--without-gate", "--only")


@pytest.mark.parametrize(
    ("arguments", "harm"), [(("--quick",), False), ((*OPEN, "code"), True), ((*OPEN, "settings"), True)]
)
def test_attacks_do_no_harm_but_without_the_gate(arguments, harm, tmp_path, forks):
    """No code of a file runs, nothing outside is written, each ends in one line; the attacks are real ones."""
    program = (
        f"import runpy, sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); sys.argv[1:] = {list(arguments)};"
        f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    )
    done = forks.run(tmp_path, (), {}, program=program)  # pictures as they are: they are compared
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("ran code of a file: 0" not in done.stdout) == harm, done.stdout
