"""The environment coba: costs from rewards, contexts from whatever coba shows, and what it cannot use."""

import json
import sys

import numpy as np
import pytest

from milpcb import testing
from milpcb.environments.coba import Coba, numbers
from milpcb.environments.replay import ReplayStream
from milpcb.errors import ExtraMissingError, InputError
from policies import DecisionTrees

TREES = DecisionTrees(3, depth=1)


@pytest.fixture(scope="module")
def coba():
    """Return the package, or skip."""
    return pytest.importorskip("coba", reason="the package coba is not installed")


def test_costs_and_contexts_are_those_of_coba(coba):
    """Round by round, with one minus the reward as the cost."""
    stream = Coba().open(TREES, 50, 4)
    assert isinstance(stream, ReplayStream)
    made = coba.Environments.from_mlp_synthetic(50, n_actions=3, n_context_features=5, n_action_features=0, seed=4)
    for t, one in enumerate(made[0].read()):
        np.testing.assert_allclose(
            stream.costs(t), [1 - one["rewards"](action) for action in one["actions"]], rtol=1e-12
        )
        np.testing.assert_array_equal(stream.contexts[stream.reveal(t)], one["context"])


def test_rewards_are_scaled_by_their_range(coba):
    """The least reward costs 1, the most 0."""
    del coba
    narrow, wide = Coba().open(TREES, 20, 0), Coba(reward_range=(-1.0, 3.0)).open(TREES, 20, 0)
    for t in range(20):
        np.testing.assert_allclose(wide.costs(t), (3 - (1 - narrow.costs(t))) / 4)


@pytest.mark.parametrize("maker", ["neighbors_synthetic", "mlp_synthetic"])
def test_makers_pass_the_battery(coba, maker):
    """An environment of coba's keeps the contract of environments."""
    del coba
    assert testing.run_all("environment", Coba(maker=maker, options={"n_action_features": 0, "n_actions": 4})) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"maker": "mlp_synthetc"}, "did you mean 'mlp_synthetic'"),
        ({"maker": "openml"}, "unknown maker of coba 'openml'"),
        ({"options": {"n_action": 3}}, "coba cannot make this environment: .*n_action"),
        ({"options": {"n_actions": 3}}, "round 2 offers other actions than round 1.*n_action_features = 0"),
        ({"reward_range": (0.0, 0.5)}, "rewards lie in .*, outside 0 to 0.5: set reward_range"),
        ({"reward_range": (1.0, 1.0)}, "reward_range must be two finite numbers"),
    ],
)
def test_what_cannot_be_used_is_one_line(coba, settings, message):
    """The line names what is wrong and how to fix it."""
    del coba
    with pytest.raises(InputError, match=message) as refused:
        Coba(**settings).open(TREES, 30, 0)
    assert "\n" not in str(refused.value)


def test_settings_of_the_current_folder_do_not_count(coba, tmp_path, monkeypatch):
    """Where data sets are cached, which are read from there, is not up to a file .coba of whoever made the folder."""
    (tmp_path / ".coba").write_text(json.dumps({"cacher": {"DiskCacher": "./foreign"}}))
    monkeypatch.chdir(tmp_path)
    coba.CobaContext.search_paths = [tmp_path]  # as coba finds the folder when it is imported there
    assert "foreign" in str(coba.CobaContext._load_file_configs())
    Coba().n_actions  # noqa: B018 - it asks coba
    assert "foreign" not in str(coba.CobaContext._load_file_configs())


def test_contexts_are_flattened(coba):
    """Nothing, a number, nested lists, and categories as 0/1."""
    del coba
    from coba.primitives import Categorical

    contexts = [None, 3, [1, [2.0, (3,)]], [Categorical("a", ["a", "b"]), 2.5]]
    assert list(map(numbers, contexts)) == [[0.0], [3.0], [1.0, 2.0, 3.0], [1.0, 0.0, 2.5]]


@pytest.mark.parametrize("context", ["red", {"size": 1}, [1, "red"], object()])
def test_contexts_that_are_no_numbers_are_refused(context):
    """Strings, sparse contexts and anything else."""
    with pytest.raises(InputError, match="contexts must be numbers"):
        numbers(context)


def test_an_absent_package_is_one_line(monkeypatch):
    """The line names the environment and how to install what it needs."""
    monkeypatch.setitem(sys.modules, "coba", None)
    with pytest.raises(
        ExtraMissingError, match=r"the environment 'coba' needs the extra 'coba': pip install '\.\[coba\]'"
    ):
        Coba().n_actions  # noqa: B018 - it raises
