"""Configs: defaults are filled in, and what is wrong is told with its line and the nearest name."""

import os
import sys
import tomllib
from pathlib import Path

import pytest
import tomli_w

from milpcb.errors import InputError
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import KeyProblemError, check_options, parse_config, read_config
from milpcb.experiments.study.worlds import open_world


def parse(text):
    """Return the config of a string."""
    return parse_config(tomllib.loads(text), text, "my.toml")


def refusal(text, error=InputError):
    """Return the one line that a config is refused with."""
    with pytest.raises(error) as refused:
        parse(text)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_defaults_are_filled_in(tiny):
    """Every option that the config leaves out is there afterwards with its default."""
    config = parse(tiny)
    assert config.experiment.seeds == (0,)
    assert config.environments[0].options["cost_right"] == 0.3
    assert config.policies[0].options["thresholds"] == 3
    assert config.oracles[0].options.items() >= {"kind": "enumeration"}.items()
    milp = parse(tiny.replace('"enumeration"', '"milp"')).oracles[0].options
    assert milp == {"kind": "milp", "solver": "highs", "time_limit": None, "gap": 0.0}
    (learner,) = config.learners
    assert learner.label == "bistro_plus"
    assert learner.options.items() >= {"queries": "profile", "anytime": False, "scale": 8.0}.items()


def test_the_table_of_a_config_is_a_config_of_its_own(tiny):
    """The config written beside the results parses to the same config, with versions added."""
    config = parse(tiny)
    text = tomli_w.dumps({**config.table(), "versions": {"milpcb": "0"}})
    assert parse(text).table() == config.table()


def test_a_learner_may_have_its_own_label_and_oracle(tiny):
    """Keys of a learner's oracle replace those of [oracle] for this learner alone."""
    config = parse(tiny + '[[learners]]\nname = "bistro_plus"\nlabel = "by MILP"\noracle = { kind = "milp" }\n')
    assert [learner.label for learner in config.learners] == ["bistro_plus", "by MILP"]
    assert [learner.oracles[0].options["kind"] for learner in config.learners] == ["enumeration", "milp"]
    assert [learner.oracles[0].label for learner in config.learners] == ["enumeration", "milp:highs"]
    assert config.oracles[0].options["kind"] == "enumeration"


def test_n_actions_of_the_class_is_written_only_if_given(tiny):
    """The class takes K from the environment; a K of its own stays in the config."""
    assert "n_actions" not in parse(tiny).policies[0].options
    assert parse(tiny.replace("depth = 1", "depth = 1\nn_actions = 3")).policies[0].options["n_actions"] == 3


SECOND = '[[learners]]\nname = "bistro_plus"\n'
WRONG = {  # what is replaced, and by what; None for more lines at the end
    "key after a comment that names it": ("depth = 1", "# depth = 2\ndepth = -1", "line 14: depth"),
    "quoted key": ("depth = 1", '"depth" = -1', "line 13: depth"),
    "key after a list over several lines": (
        "depth = 1",
        "thresholds = [\n  [0.5],\n  [0.5],\n  [0.5]\n]\ndepth = -1",
        "line 18: depth",
    ),
    "key that is nearly right": ("n_features", "n_featurs", "did you mean 'n_features'?"),
    "section that is missing": (
        '[policies]\nname = "decision_trees"\ndepth = 1\n',
        "",
        "my.toml: [policies] needs a name",
    ),
    "learners in a section": ("[[learners]]", "[learners]", "add at least one [[learners]] section"),
    "option of another kind": (
        'kind = "enumeration"',
        'kind = "enumeration"\nsolver = "highs"',
        "line 17: oracle kind 'enumeration' has no option 'solver'; leave it out, or take kind 'audited' or 'milp'",
    ),
    "option that is nearly right": ('"enumeration"', '"audited"\naudi = 0.5', "did you mean 'audit'?"),
    "environment twice": (
        "[environment]",
        '[[environment]]\nname = "planted"\n[[environment]]',
        "line 8: two [[environment]] sections are called 'planted'; give each [[environment]] its own label",
    ),
    "label taken": (None, SECOND, "line 22: two learners are called 'bistro_plus'"),
    "label on two lines": (None, SECOND + 'label = "a\\nb"\n', "line 24: label in [[learners]]: write it on one line"),
    "oracle that is a name": (
        None,
        SECOND + 'label = "b"\noracle = "milp"\n',
        "line 25: oracle in [[learners]]: input should be a table, got 'milp'",
    ),
    "oracle of a learner without a kind": (
        None,
        SECOND + 'label = "b"\noracle = { solver = "highs" }\n',
        'line 25: the oracle of a learner takes the place of [oracle]: give its kind = "..." too',
    ),
    "no name": (None, "[[learners]]\n", "line 22: [[learners]] needs a name"),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_line_of_what_is_wrong_is_found(case, tiny):
    """However the config is laid out, the line named is that of the key, or none."""
    old, new, message = WRONG[case]
    assert old is None or tiny.count(old) == 1
    assert message in refusal(tiny + new if old is None else tiny.replace(old, new))


LIMITS = {
    "name that is long": ('name = "tiny"', f'name = "{"x" * 100_000}"', "at most 100 characters"),
    "label that is long": ("scale = 8", f'label = "{"x" * 100_000}"', "at most 200 characters"),
    "integer beyond 64 bits": ("depth = 1", f"depth = {2**63}", "up to 2**63 - 1"),
    "very many seeds": (
        "checkpoints = 4",
        f"seeds = {list(range(100_001))}",
        "a study of 100 001 cells; at most 100 000",
    ),
    "nothing of the standard library": ('"planted"', '"os:system"', "module os is Python's own"),
    "a foreign class for an environment": ('"planted"', '"click:Command"', "without action_names"),
    "a foreign class for a learner": (
        '"bistro_plus"',
        '"click:Command"',
        "does not inherit from milpcb.learners:Learner",
    ),
    "no module": ('"planted"', '":edit"', "write module:Class"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_what_is_out_of_bounds_is_one_short_line(case, tiny):
    """It is refused before anything is opened or called, and the message does not repeat thousands of characters."""
    old, new, message = LIMITS[case]
    assert tiny.count(old) == 1
    assert message in refusal(tiny.replace(old, new))
    assert len(refusal(tiny.replace(old, new))) < 600


def read(tmp_path, content):
    """Return what reading a config of these bytes says."""
    (tmp_path / "a.toml").write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_config(tmp_path / "a.toml")
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_byte_order_mark_is_no_mistake(tiny, tmp_path):
    """Some editors put it at the start of a file."""
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf" + tiny.encode())
    assert read_config(tmp_path / "a.toml").experiment.name == "tiny"


def test_files_that_are_no_configs_are_refused(tmp_path, tiny):
    """Deep nesting, thousands of digits, sizes beyond all configs, directories and devices get a line each."""
    assert "nests too deeply" in read(tmp_path, b"a = " + b"[" * 5000)
    assert "not valid TOML" in read(tmp_path, tiny.replace("horizon = 40", f"horizon = {'9' * 5000}").encode())
    assert "larger than 4 MB" in read(tmp_path, b"#" * (2**22 + 1))
    os.mkfifo(tmp_path / "fifo")
    for path, what in ((tmp_path, "directory"), (tmp_path / "fifo", "device or a pipe"), (Path("/dev/zero"), "device")):
        with pytest.raises(InputError, match=f"cannot read config .*: it is a {what}"):
            read_config(path)
    (tmp_path / "a.toml").write_bytes(tiny.encode() + b"#" * (2**22 - len(tiny)))
    assert read_config(tmp_path / "a.toml").experiment.horizon == (40,)  # of 4 MB just so


OWN = """from milpcb.environments.planted import Planted
class Mine(Planted):
    pass
"""


def test_classes_of_the_configs_folder_are_found_from_anywhere(tmp_path, tiny, monkeypatch):
    """``module:Class`` is looked for beside the config; one in the current folder is not seen; nothing is written."""
    (tmp_path / "study").mkdir()
    (tmp_path / "study/mine_here.py").write_text(OWN)
    (tmp_path / "mine_there.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "study/a.toml"
    config.write_text(tiny.replace('"planted"', '"mine_here:Mine"'))
    found = read_config(config)
    assert found.run.folder == str(tmp_path / "study")
    again = parse_config(tomllib.loads(tomli_w.dumps(found.table())), folder=tmp_path)
    assert again.run.folder == found.run.folder
    assert open_world(build_study(found).cells[0]).environment.n_contexts == found.environments[0].options["n_contexts"]
    assert not list(tmp_path.rglob("__pycache__"))
    assert str(tmp_path / "study") not in sys.path
    config.write_text(tiny.replace('"planted"', '"mine_there:Mine"'))
    with pytest.raises(InputError, match=r"No module named 'mine_there'; looked in .*study"):
        read_config(config)


@pytest.mark.parametrize("default", ["Path('x')", "frozenset({1})", "{1: 2}", "(1, None)"])
def test_an_option_that_no_config_can_hold_is_refused(default, tmp_path, tiny):
    """Also where it is a default of a class of one's own: a run writes down every option."""
    written = "from typing import Any\nfrom pathlib import Path\nfrom milpcb.learners.comparators import Uniform\n"
    written += f"class Mine(Uniform):\n    def __init__(self, n_actions: int, where: Any = {default}) -> None: ...\n"
    (tmp_path / "mine_odd.py").write_text(written)
    (tmp_path / "a.toml").write_text(tiny + '[[learners]]\nname = "mine_odd:Mine"\n')
    with pytest.raises(InputError, match=r"a\.toml, line \d+: where in \[\[learners\]\] is .* a config cannot hold"):
        read_config(tmp_path / "a.toml")


class Component:
    """A component with an option of each type that configs use."""

    def __init__(self, seed: int, count: int = 2, rate: float = 0.5, cuts: int | tuple[float, ...] = 3) -> None:
        self.options = (seed, count, rate, cuts)


def test_options_are_read_strictly_but_a_list_is_a_tuple():
    """Nothing else is converted; what the runtime hands over can neither be set nor be missing."""
    read = check_options(Component, {"rate": 1, "cuts": [0.5, 2]}, "[c]", supplied=("seed",))
    assert read == {"count": 2, "rate": 1.0, "cuts": (0.5, 2.0)}
    for key, value in {"count": True, "rate": "1", "cuts": "3"}.items():
        with pytest.raises(KeyProblemError, match=rf"^{key} in \[c\]: ") as refused:
            check_options(Component, {key: value}, "[c]", supplied=("seed",))
        assert refused.value.key == key

    with pytest.raises(KeyProblemError, match="unknown key 'seed'"):
        check_options(Component, {"seed": 1}, "[c]", supplied=("seed",))
    with pytest.raises(KeyProblemError, match="needs the key 'seed'"):
        check_options(Component, {}, "[c]")
