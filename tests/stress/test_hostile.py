"""Attacks on all that milpcb reads: with the gate none does harm, without it some do."""

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def attacked(forks: Any, folder: Path, *arguments: Any, **options: Any) -> dict[str, list[str]]:
    """Return what each attack did that it may not; a process of its own is attacked, and pictures are compared."""
    called = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.stress.hostile import attack; import json; "
    done = forks.run(folder, (), {}, program=f"{called}print(json.dumps(attack(*{arguments}, **{options})))")
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.cases(56)
def test_attacks_do_no_harm(runs: int, tmp_path: Path, forks: Any) -> None:
    """No code of a file runs, nothing outside is written, each ends in one line."""
    harms = attacked(forks, tmp_path, runs)
    assert len(harms) > runs // 2
    assert {name: found for name, found in harms.items() if found} == {}


@pytest.mark.cases(8)
@pytest.mark.parametrize("group", ["code", "settings"])
def test_attacks_do_harm_without_the_gate(runs: int, group: str, tmp_path: Path, forks: Any) -> None:
    """The attacks are real ones: where everything passes, code of files runs."""
    harms = attacked(forks, tmp_path, runs, group, gate=False)
    assert "ran code of a file" in {harm for found in harms.values() for harm in found}
