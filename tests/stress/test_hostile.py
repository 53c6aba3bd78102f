"""Attacks on all that milpcb reads: with the gate none does harm, without it some do."""

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def called(forks: Any, folder: Path, call: str, **more: Any) -> Any:
    """Return what a call to hostile.py returns, in a process of its own, which is attacked."""
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import json; from pathlib import Path; "
    program += f"from tests.stress.hostile import attack, prepare; print(json.dumps({call}))"
    done = forks.run(folder, (), {}, program=program, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def honest(forks: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what honest users have; its pictures are drawn."""
    folder = tmp_path_factory.mktemp("honest")
    called(forks, folder, f"prepare(Path({str(folder)!r}))")
    return folder


@pytest.mark.cases(40)
def test_attacks_do_no_harm(runs: int, honest: Path, tmp_path: Path, forks: Any) -> None:
    """No code of a file runs, nothing outside is written, each ends in one line."""
    harms = called(forks, tmp_path, f"attack(Path({str(honest)!r}), {runs})", sketches=True)
    assert len(harms) > runs // 2
    assert {name: found for name, found in harms.items() if found} == {}


@pytest.mark.cases(8)
@pytest.mark.parametrize("group", ["code", "settings"])
def test_attacks_do_harm_without_the_gate(runs: int, group: str, honest: Path, tmp_path: Path, forks: Any) -> None:
    """The attacks are real ones: where everything passes, code of files runs."""
    harms = called(forks, tmp_path, f"attack(Path({str(honest)!r}), {runs}, {group!r}, gate=False)", sketches=True)
    assert "ran code of a file" in {harm for found in harms.values() for harm in found}
