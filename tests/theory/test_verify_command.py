"""``milpcb verify`` as users meet it, with relaxations of other packages.

It judges a share of the games here: every relaxation is judged on its own in the tests beside this one.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from milpcb.commands import console
from milpcb.commands.verify import verify as command
from milpcb.errors import MilpcbError
from milpcb.plugins import registry
from milpcb.theory import exact
from milpcb.theory.verdicts import variants
from tests.inside import find_plug_ins_again

GAMES = exact.quick_games()[::16]  # two and three actions, small and large L
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


def passed(done: Result) -> int:
    """Return how many variants pass, of a command that succeeds and warns of nothing."""
    warnings = [line for line in done.stderr.splitlines() if not line.startswith("verifying: ")]
    assert (done.exit_code, done.exception, warnings) == (0, None, [])
    assert "REJECT" not in done.stdout
    return done.stdout.count("pass")


def test_all_relaxations_pass(verify: Verify) -> None:
    """Each way to play each registered relaxation."""
    assert passed(verify()) == sum(len(variants(name)) for name in registry.names("relaxation"))


@pytest.mark.usefixtures("others")
def test_relaxations_of_other_packages_are_verified(verify: Verify) -> None:
    """An admissible relaxation passes; one with too little noise is named in one line, with the game."""
    assert passed(verify("--noise", "padded")) == 3
    bad = verify("--noise", "thin")
    assert bad.stdout.count("REJECT") == 3
    assert isinstance(bad.exception, MilpcbError)
    assert str(bad.exception).startswith("3 of the variants above should pass and do not; 'thin': game is -1/3 for ")
