"""Configs: defaults are filled in, and what is wrong is told with its line and the nearest name."""

from __future__ import annotations

import tomllib

import pytest
import tomli_w

from milpcb import registry
from milpcb.errors import InputError, SolverMissingError
from milpcb.experiments.study.config import parse_config
from milpcb.experiments.study.options import KeyProblemError, check_options


def parse(text):
    """Return the config of a text."""
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
    assert config.oracles[0].options.items() >= {"kind": "enumeration", "solver": "highs", "time_limit": None}.items()
    (learner,) = config.learners
    assert learner.label == "bistro_plus"
    assert learner.component.options.items() >= {"queries": "profile", "draws": 1, "scale": 8.0}.items()


def test_the_table_of_a_config_is_a_config_of_its_own(tiny):
    """What is written beside the results parses to the same config, with versions added."""
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


def test_a_config_without_text_is_refused_without_line(tiny):
    """Tables made by a program have no lines."""
    tables = tomllib.loads(tiny)
    tables["policies"]["depth"] = 0
    with pytest.raises(InputError, match=r"^config: depth must be a whole number of at least 1, got 0$"):
        parse_config(tables)


LAYOUTS = {
    "key after a comment that names it": ("depth = 1", "# depth = 2\ndepth = 0", "line 14: depth"),
    "key with a comment behind it": ("depth = 1", "depth = 0  # no test", "line 13: depth"),
    "quoted key": ("depth = 1", '"depth" = 0', "line 13: depth"),
    "key after a list over several lines": (
        "depth = 1",
        "thresholds = [\n  [0.5],\n  [0.5],\n  [0.5]\n]\ndepth = 0",
        "line 18: depth",
    ),
    "key before a longer one": ("n_contexts = 8", "n_contexts_ = 8", "line 8: unknown key 'n_contexts_'"),
    "same key in an earlier section": ('kind = "enumeration"', "name = 3", "line 16: unknown key 'name' in [oracle]"),
    "section that is missing": (
        '[policies]\nname = "decision_trees"\ndepth = 1\n',
        "",
        "my.toml: [policies] needs a name",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_line_of_a_wrong_key_is_found(layout, tiny):
    """However the config is laid out, the line named is that of the key, or none."""
    old, new, message = LAYOUTS[layout]
    assert tiny.count(old) == 1
    assert message in refusal(tiny.replace(old, new))


SECOND = '[[learners]]\nname = "bistro_plus"\n'
LEARNERS = {
    "second learner": (SECOND + 'label = "b"\nqueries = "most"\n', "line 25: queries in [[learners]]"),
    "inline oracle": (SECOND + 'label = "b"\noracle = { kind = "mlp" }\n', "line 25: unknown oracle 'mlp'"),
    "oracle in a section of its own": (
        SECOND + 'label = "b"\n[learners.oracle]\nkind = "milp"\nsolver = "hihgs"\n',
        "line 27: unknown solver 'hihgs'; did you mean 'highs'?",
    ),
    "label taken": (SECOND, "line 22: two learners are called 'bistro_plus'"),
    "label that is a number": (SECOND + "label = 3\n", "line 24: a learner's label is a text on one line, got 3"),
    "oracle that is a name": (SECOND + 'label = "b"\noracle = "milp"\n', "line 25: a learner's oracle is a table"),
    "no name": ("[[learners]]\n", "line 22: [[learners]] needs a name"),
}


@pytest.mark.parametrize("case", LEARNERS)
def test_each_learner_has_its_own_lines(case, tiny):
    """A mistake in the second [[learners]] section is placed there."""
    more, message = LEARNERS[case]
    assert message in refusal(tiny + more)


def test_learners_must_be_a_list_of_tables(tiny):
    """A plain [learners] section, or none, is told how learners are written."""
    assert "add at least one [[learners]] section" in refusal(tiny.replace("[[learners]]", "[learners]"))
    assert "needs a name" in refusal("learners = [3]\n" + tiny[: tiny.index("[[learners]]")])


def test_a_near_name_is_suggested_and_otherwise_all_are_listed(tiny):
    """A slip of the keyboard gets the nearest name; anything else the list."""
    assert refusal(tiny.replace("n_features", "n_featurs")).endswith("did you mean 'n_features'?")
    assert refusal(tiny.replace('"planted"', '"zzz"')).endswith(f"known: {', '.join(registry.names('environment'))}")


def test_a_missing_solver_is_placed_and_keeps_its_kind(tiny):
    """A solver that is not installed is no typing mistake: SolverMissingError, with the line that asks for it."""
    text = tiny.replace('kind = "enumeration"', 'solver = "pulp:GUROBI_CMD"')
    assert "my.toml, line 16: PuLP finds no GUROBI_CMD" in refusal(text, SolverMissingError)


def test_a_solver_that_is_not_used_need_not_be_there(tiny):
    """Enumeration asks no solver."""
    config = parse(tiny.replace('kind = "enumeration"', 'kind = "enumeration"\nsolver = "pulp:GUROBI_CMD"'))
    assert config.oracles[0].options["solver"] == "pulp:GUROBI_CMD"


class Component:
    """A component with an option of each type that configs use."""

    def __init__(self, seed: int, count: int = 2, rate: float = 0.5, cuts: int | tuple[float, ...] = 3) -> None:
        self.options = (seed, count, rate, cuts)


def test_options_are_read_strictly_but_a_list_is_a_tuple():
    """Whole numbers may stand for real ones and lists for tuples, nothing else is converted."""
    read = check_options(Component, {"rate": 1, "cuts": [0.5, 2]}, "[c]", supplied=("seed",))
    assert read == {"count": 2, "rate": 1.0, "cuts": (0.5, 2.0)}
    for key, value in {"count": True, "rate": "1", "cuts": "3"}.items():
        with pytest.raises(KeyProblemError, match=rf"^{key} in \[c\]: ") as refused:
            check_options(Component, {key: value}, "[c]", supplied=("seed",))
        assert refused.value.key == key


def test_what_the_runtime_supplies_is_no_key():
    """A config can neither set nor miss an argument that the runtime hands over."""
    with pytest.raises(KeyProblemError, match="unknown key 'seed'"):
        check_options(Component, {"seed": 1}, "[c]", supplied=("seed",))
    with pytest.raises(KeyProblemError, match="needs the key 'seed'"):
        check_options(Component, {}, "[c]")
