"""``milpcb verify`` as users meet it, with relaxations of other packages.

It judges a share of the games here: every relaxation, run and mutant is judged on its own in the tests beside this one.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from milpcb.commands import console
from milpcb.commands.verify import verify as command
from milpcb.errors import MilpcbError
from milpcb.theory import exact
from tests.inside import find_plug_ins_again

GAMES = exact.quick_games()[::16]  # two and three actions, small and large L: they reject every mutant
Verify = Callable[..., Result]

THIRD_PARTY = """\
from milpcb.relaxations.paper import Half

class Thin(Half):
    \"\"\"Two thirds of the noise that is needed.\"\"\"
    hit = 3

class Padded(Half):
    \"\"\"A third more noise than is needed.\"\"\"
    def law(self, n_actions):
        return [(p / 2, factor * noise) for p, noise in super().law(n_actions) for factor in (1, 2)]
"""


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch) -> Verify:
    """Return ``verify(*arguments)``: the command with ``--quick``, on few games; an error is in its result."""
    monkeypatch.setattr(console.out, "_width", 100)
    monkeypatch.setattr(exact, "quick_games", lambda: GAMES)
    return lambda *arguments: CliRunner().invoke(command, ["--quick", *arguments])


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lay out a package with relaxations behind entry points, as an installer would."""
    (tmp_path / "others.py").write_text(THIRD_PARTY)
    about = tmp_path / "others-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[milpcb.relaxation]\nthin = others:Thin\npadded = others:Padded\n")
    monkeypatch.syspath_prepend(tmp_path)
    find_plug_ins_again()
    yield
    find_plug_ins_again()


def warnings_in(done: Result) -> list[str]:
    """Return the lines on standard error but those on how far the command is."""
    return [line for line in done.stderr.splitlines() if not line.startswith("verifying: ")]


def test_all_verdicts_are_as_expected(verify: Verify) -> None:
    """Relaxations pass, mutants are rejected, and that is success."""
    done = verify()
    assert (done.exit_code, done.exception, warnings_in(done)) == (0, None, [])
    lines = [line.split() for line in done.stdout.splitlines()]
    verdicts = [line[-1] for line in lines if line and line[-1] in {"pass", "REJECT"}]
    assert len(verdicts) > 15
    assert verdicts == ["pass"] * (len(verdicts) - 15) + ["REJECT"] * 15
    assert ["M4", "no", "noise", "-1", "-9/10", "0", "0", "-631/800", "REJECT"] in lines
    assert "all 15 mutants are rejected" in done.stdout


@pytest.mark.usefixtures("others")
def test_relaxations_of_other_packages_are_verified(verify: Verify) -> None:
    """An admissible relaxation passes; one with too little noise is named in one line, with the game."""
    good = verify("--noise", "padded")
    assert (good.exit_code, good.exception, warnings_in(good)) == (0, None, [])
    assert "M0" not in good.stdout
    bad = verify("--noise", "thin")
    assert bad.stdout.count("REJECT") == 3
    assert isinstance(bad.exception, MilpcbError)
    assert str(bad.exception).startswith("3 of the variants above should pass and do not; 'thin': game is -1/3 for ")
