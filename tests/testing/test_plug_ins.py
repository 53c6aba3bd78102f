"""Classes and solvers of other packages, known by their entry points alone: those that ``milpcb new`` begins with."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from milpcb import open_oracle, testing
from milpcb.commands.listing import STARTERS
from milpcb.errors import InputError
from milpcb.learners import Learner
from milpcb.plugins import registry
from tests.inside import find_plug_ins_again

POINTS = "[milpcb.policies]\nbands = my_rules:Bands\n\n[milpcb.solver]\nmy_solver = my_solver:MySolver\n"


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Put the files that ``milpcb new`` writes, and their entry points, on the path, as installing them does."""
    site = tmp_path_factory.mktemp("site")
    for kind, name in (("class", "my_rules.py"), ("solver", "my_solver.py")):
        (site / name).write_bytes((STARTERS / kind / f"{name}.txt").read_bytes())
    info = site / "mine-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(POINTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        find_plug_ins_again()
        yield
    find_plug_ins_again()


def test_a_class_of_a_plug_in_gets_the_same_battery() -> None:
    """All laws that it does not declare to be without; these are skipped."""
    skipped = {line.split(": ")[1] for line in testing.run_all("policies", "bands")}
    laws = {check.id.partition(": ")[2] for check in testing.battery("policies", "bands")}
    assert skipped == {"terms", "json", "source code"}
    assert laws == {check.id.partition(": ")[2] for check in testing.battery("policies", "decision_trees")}


def test_a_plug_in_is_used_by_name() -> None:
    """A plug-in's class and solver work together through the oracle, by their names."""
    rules = registry.load("policies", "bands")(n_actions=3)
    options: dict[str, Any] = {"kind": "audited", "solver": "my_solver", "audit": 1}
    answer = open_oracle(rules, [[0.0], [1.0]], **options).minimise([[1, 0, 4], [1, 3, 0]])
    assert (answer.value, str(answer.policy)) == (0.0, "up to 0.5: play 1, above: play 2")


def test_a_plug_in_with_a_name_that_is_taken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two owners of one name are an error that names both."""
    taken = EntryPoint("highs", "somebody.else:Highs", "milpcb.solver")
    monkeypatch.setattr("milpcb.plugins.registry.entry_points", lambda **_: [taken])
    find_plug_ins_again()
    try:
        with pytest.raises(InputError, match=r"registered twice: by milpcb\.solvers\.highs:Highs and somebody\.else"):
            registry.names("solver")
        assert issubclass(registry.load("learner", "exp4"), Learner)  # other kinds are not concerned
    finally:
        monkeypatch.undo()
        find_plug_ins_again()
