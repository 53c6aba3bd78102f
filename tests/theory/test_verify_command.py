"""``milpcb verify`` as users meet it, with relaxations of other packages."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

THIRD_PARTY = """\
from milpcb.relaxations.half import Half

class Thin(Half):
    \"\"\"Two thirds of the noise that is needed.\"\"\"
    hit = 3

class Padded(Half):
    \"\"\"A third more noise than is needed.\"\"\"
    def law(self, n_actions):
        return [(p / 2, factor * noise) for p, noise in super().law(n_actions) for factor in (1, 2)]
    def noise(self, counts, n_actions, rng):
        twice = rng.binomial(counts, 0.5)
        return super().noise(counts - twice, n_actions, rng) + 2 * super().noise(twice, n_actions, rng)
    def guarantee(self, scale, horizon, n_actions, log_size):
        explored = super().guarantee(scale, horizon, n_actions, 0.0)
        return explored + 2.5 ** 0.5 * (super().guarantee(scale, horizon, n_actions, log_size) - explored)

class Silent(Padded):
    \"\"\"Draws less than its law says.\"\"\"
    def noise(self, counts, n_actions, rng):
        return Half.noise(self, counts, n_actions, rng)
"""


def verify(*arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command, with the packages of ``path`` installed."""
    return subprocess.run(
        [sys.executable, "-m", "milpcb.cli", "verify", "--quick", *arguments],
        check=False,
        env={**os.environ, "COLUMNS": "100", "PYTHONPATH": str(path or "")},
        capture_output=True,
        text=True,
        timeout=600,
    )


def install(path: Path) -> None:
    """Lay out a package with relaxations behind entry points, as an installer would."""
    (path / "others.py").write_text(THIRD_PARTY)
    about = path / "others-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[milpcb.relaxation]\nthin = others:Thin\npadded = others:Padded\nsilent = others:Silent\n"
    )


def test_all_verdicts_are_as_expected() -> None:
    """Relaxations pass, mutants are rejected, and that is success."""
    done = verify()
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    heads = (["run"], ["learner"], ["with", "confidence"], ["with", "a"])
    starts = [next(i for i, line in enumerate(lines) if line[: len(head)] == head) for head in heads]
    for (start, end), mutants in zip(pairwise([0, *starts, len(lines)]), (15, 9, 18, 8, 7), strict=True):
        table = lines[start:end]
        verdicts = [line[-1] for line in table if line and line[-1] in {"pass", "REJECT"}]
        assert verdicts == ["pass"] * (len(verdicts) - mutants) + ["REJECT"] * mutants
    assert ["ftpl,", "adaptive", "0.0000", "0.1500", "0.0000", "-", "pass"] in lines
    assert ["epsilon-greedy", "0.0000", "-", "-", "-", "pass"] in lines
    assert ["doubling,", "exp4", "0.0000", "-", "-", "0.0000", "pass"] in lines
    assert ["half,", "leader", "0", "0", "0", "0", "0", "pass"] in lines
    assert ["M4", "no", "noise", "-1", "-9/10", "0", "0", "-631/800", "REJECT"] in lines
    assert "all 18 mutants are rejected" in done.stdout
    assert "all 9 mutants are rejected" in done.stdout
    assert "all 8 mutants are rejected" in done.stdout
    assert "all 7 mutants are rejected" in done.stdout.splitlines()[-1]


def test_relaxations_of_other_packages_are_verified(tmp_path: Path) -> None:
    """One that is admissible passes; one with too little noise is told in one line, with the game, and exit code 2."""
    install(tmp_path)
    good, bad = verify("--noise", "padded", path=tmp_path), verify("--noise", "thin", path=tmp_path)
    assert (good.returncode, good.stderr) == (0, "")
    assert "M0" not in good.stdout
    assert "learner" not in good.stdout
    silent = verify("--noise", "silent", path=tmp_path)
    assert silent.returncode == 2
    assert silent.stderr.count("\n") == 1
    assert silent.stderr.startswith("milpcb: 6 of the variants above should pass and do not; 'silent: all': futures")
    assert bad.returncode == 2
    assert bad.stdout.count("REJECT") == 4
    assert bad.stderr.count("\n") == 1
    assert bad.stderr.startswith(
        "milpcb: 4 of the variants above should pass and do not; 'thin': game is -1/3 for labelings"
    )


def test_unknown_relaxation() -> None:
    """A misspelt name is one line with the nearest name."""
    done = verify("--noise", "hlaf")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "milpcb: unknown relaxation 'hlaf'; did you mean 'half'?\n"


def test_help_says_what_each_column_means() -> None:
    """Every column has its own lines in the help."""
    lines = verify("--help").stdout.splitlines()
    for column in ("game  ", "(1)  ", "(2)  ", "bias  ", "reg  ", "E cert - E reg, E bound - E reg"):
        assert any(line.strip().startswith(column) for line in lines), column
