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
    """The packages, their modules and their classes are the same objects; nothing is loaded twice or renamed."""
    second = import_module("milpcb.policies")
    assert second is policies
    assert milpcb.policies is policies
    for name in ("trees", "trees.rule", "linear.search_tables", "rule"):
        module = import_module(f"milpcb.policies.{name}")
        assert module is import_module(f"policies.{name}")
        assert module.__name__ == module.__spec__.name == f"policies.{name}"


def test_what_leaves_the_process_keeps_its_name() -> None:
    """Classes are pickled under ``policies``, as they always were, and registered under their names."""
    assert policies.DecisionTrees.__module__ == "policies.trees.policy_class"
    assert b"milpcb.policies" not in pickle.dumps(policies.DecisionTrees(2))
    assert registry.load("policies", "decision_trees") is import_module("milpcb.policies.trees").DecisionTrees


def test_a_module_that_is_not_there_is_missed_by_its_name() -> None:
    """The message names what was asked for."""
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'milpcb\.policies\.forests'") as missed:
        import_module("milpcb.policies.forests")
    assert missed.value.name == "milpcb.policies.forests"  # by which an import that may fail is told from another


@pytest.mark.parametrize("hiding", ["policies.py", "policies/readme.txt"])
def test_nothing_on_the_path_hides_it(hiding: str, tmp_path: Path) -> None:
    """A file or folder ``policies`` of somebody's own does not come between, whether or not it is a package."""
    (tmp_path / hiding).parent.mkdir(exist_ok=True)
    (tmp_path / hiding).write_text("")
    done = run(
        "from milpcb.policies import DecisionTrees; import milpcb\n"
        "print(milpcb.open_oracle(DecisionTrees(2), [[0], [1]], kind='search').value([[1, 0], [0, 1]]))",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("0.0\n", "")


def test_another_package_of_that_name_that_came_first_is_named(tmp_path: Path) -> None:
    """Two packages cannot have one name in one process: the error names the other one, and what to do."""
    (tmp_path / "policies.py").write_text("")
    done = run("import policies, milpcb.policies", tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == (
        f"ImportError: {tmp_path / 'policies.py'} was imported as 'policies' before milpcb's package of that name: "
        "give yours another name, or import milpcb.policies first"
    )


def test_it_is_loaded_only_when_it_is_asked_for() -> None:
    """Importing milpcb loads no policy class; the names that are found later are listed all the same."""
    done = run("import sys, milpcb; print('policies' in sys.modules, {'play', 'policies'} <= set(dir(milpcb)))", Path())
    assert done.stdout == "False True\n"
