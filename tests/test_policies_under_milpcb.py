"""``milpcb.policies`` is the package ``policies``, whatever else is called so on the path."""

import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import milpcb
import policies
from milpcb.plugins import registry


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, whose modules come first on the path."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)


def test_both_names_are_one_package() -> None:
    """The packages, their modules and their classes are the same objects, pickled and registered under ``policies``."""
    assert import_module("milpcb.policies") is milpcb.policies is policies
    for name in ("trees", "trees.rule", "linear.search_tables", "rule"):
        module = import_module(f"milpcb.policies.{name}")
        assert module is import_module(f"policies.{name}")
        assert module.__name__ == module.__spec__.name == f"policies.{name}"
    assert b"milpcb.policies" not in pickle.dumps(policies.DecisionTrees(2))
    assert registry.load("policies", "decision_trees") is policies.DecisionTrees
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'milpcb\.policies\.forests'"):
        import_module("milpcb.policies.forests")


def test_nothing_on_the_path_hides_it(tmp_path: Path) -> None:
    """A file ``policies`` of somebody's own does not come between; imported before, it is named with the remedy.

    Importing milpcb loads no policy class; names that are found later are listed all the same.
    """
    (tmp_path / "policies.py").write_text("")
    done = run(
        "import sys, milpcb; print('policies' in sys.modules, {'play', 'policies'} <= set(dir(milpcb)))\n"
        "from milpcb.policies import DecisionTrees\n"
        "print(milpcb.open_oracle(DecisionTrees(2), [[0], [1]], kind='search').value([[1, 0], [0, 1]]))",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("False True\n0.0\n", "")
    last = run("import policies, milpcb.policies", tmp_path).stderr.splitlines()[-1]
    assert last == (
        f"ImportError: {tmp_path / 'policies.py'} was imported as 'policies' before milpcb's package of that name: "
        "give yours another name, or import milpcb.policies first"
    )
