"""A class given by its list alone is a whole policy class, and a config can name it where it stands."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from milpcb import open_oracle, testing
from milpcb.errors import InputError
from milpcb.testing.instances import Instance
from policies import DecisionTrees, ListedRules

MODULE = Path(__file__).parents[1] / "plugin" / "my_rules.py"
CONFIG = """
[experiment]
name = "bands"
horizon = 50
[environment]
name = "planted"
n_contexts = 8
n_features = 2
[policies]
name = "my_rules:Bands"
cuts = [0.5]
[[learners]]
name = "bistro_plus"
"""
CONTEXTS = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 5.0]])


def bands() -> ListedRules:
    """Return the class of the module, three actions and two cuts."""
    spec = spec_from_file_location("my_rules", MODULE)
    module = module_from_spec(spec)
    sys.modules["my_rules"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module.Bands(3, (0.5, 1.5))


@pytest.mark.parametrize("check", testing.battery("policies", Instance("bands", bands(), CONTEXTS)), ids=str)
def test_battery(check):
    """The list answers like any class: by program, by search, by enumeration."""
    check.run()


def test_it_equals_the_stumps_it_lists():
    """On one feature with these cuts the class is that of depth-1 trees."""
    stumps = open_oracle(DecisionTrees(3, 1, thresholds=[[0.5, 1.5], []]), CONTEXTS, kind="search")
    for kind in ("milp", "search", "enumeration"):
        listed = open_oracle(bands(), CONTEXTS, kind=kind)
        rng = np.random.default_rng(0)
        for _ in range(20):
            costs = rng.normal(size=(4, 3))
            answer = listed.minimise(costs)
            assert answer.value == pytest.approx(stumps.value(costs))
            assert str(answer.policy).startswith("up to")


@pytest.mark.parametrize("kind", ["milp", "search", "audited", "enumeration"])
def test_a_policy_may_predict_a_list(kind):
    """Every kind of oracle reads labels as arrays."""
    rules = bands()
    made = list(rules.policies(CONTEXTS))
    rules.policies = lambda _: (
        SimpleNamespace(predict=lambda contexts, own=policy: own.predict(contexts).tolist()) for policy in made
    )
    costs = np.random.default_rng(0).normal(size=(4, 3))
    wanted = open_oracle(bands(), CONTEXTS, kind=kind).profile(costs, 1)
    assert (open_oracle(rules, CONTEXTS, kind=kind).profile(costs, 1) == wanted).all()


def test_what_is_no_policy_is_told():
    """A prediction out of range, and a list that is empty, are one clear line."""
    wrong, none = bands(), bands()
    wrong.n_actions = 2
    wrong.policies = lambda contexts: bands().policies(contexts)
    none.cuts = ()
    with pytest.raises(InputError, match=r"must predict one action in 0\.\.1"):
        open_oracle(wrong, CONTEXTS)
    with pytest.raises(InputError, match="yield at least one"):
        open_oracle(none, CONTEXTS)
    wrong.n_actions = 3  # as its predictions have it
    assert open_oracle(wrong, CONTEXTS).value(np.eye(4, 3)) == open_oracle(bands(), CONTEXTS).value(np.eye(4, 3))


def test_a_config_names_a_class_of_its_folder(tmp_path):
    """``name = "module:Class"`` needs no installation; a module that is not there is one line."""
    (tmp_path / "my_rules.py").write_text(MODULE.read_text())
    (tmp_path / "bands.toml").write_text(CONFIG)
    (tmp_path / "wrong.toml").write_text(CONFIG.replace("my_rules:Bands", "my_rule:Bands"))
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}

    def run(config):
        command = [sys.executable, "-m", "milpcb.cli", "run", config, "--out", "out"]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=600
        )

    done = run("bands.toml")
    assert done.returncode == 0, done.stderr
    assert "up to 0.5: play" in done.stdout
    failed = run("wrong.toml")
    assert failed.returncode == 2
    assert failed.stderr.count("\n") == 1
    assert "line 10" in failed.stderr
    assert "'my_rule:Bands' cannot be loaded" in failed.stderr
