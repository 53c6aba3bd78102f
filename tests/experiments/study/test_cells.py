"""The grid: which cells there are, what they are called, and what makes two cells the same."""

import tomllib

import pytest

from milpcb.errors import InputError
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import parse_config

TWO_SOLVERS = ('[oracle]\nkind = "enumeration"', '[[oracle]]\nsolver = "highs"\n[[oracle]]\nsolver = "scipy"')
RULE = '[[constraints]]\nname = "share_at_most"\naction = {action}\nshare = 0.5\n'


def study_of(text):
    """Return the study of a config."""
    return build_study(parse_config(tomllib.loads(text)))


SETTINGS = {
    "horizon": ("horizon = 40", "horizon = 41"),
    "checkpoints": ("checkpoints = 4", "checkpoints = 5"),
    "seed": ("checkpoints", "seeds = [1]\ncheckpoints"),
    "environment": ('"planted"', '"switching"'),
    "option of the environment": ("n_contexts = 8", "n_contexts = 9"),
    "policy class": ('name = "decision_trees"\ndepth = 1', 'name = "threshold_rules"'),
    "option of the class": ("depth = 1", "depth = 2"),
    "constraint": ("[oracle]", RULE.format(action=1) + "[oracle]"),
    "another constraint": ("[oracle]", RULE.format(action=2) + "[oracle]"),
    "kind of oracle": ('"enumeration"', '"search"'),
    "solver": ('"enumeration"', '"milp"'),
    "another solver": ('"enumeration"', '"milp"\nsolver = "scipy"'),
    "time limit of a solver": ('"enumeration"', '"milp"\ntime_limit = 1.0'),
    "option of the learner": ("scale = 8", "scale = 9"),
    "contexts": ("scale = 8", 'scale = 8\ncontexts = "order"'),
}


def test_every_setting_makes_another_cell(tiny):
    """No two configs that differ in a setting share a key: records are never taken for those of another cell."""
    keys = [study_of(tiny).cells[0].key]
    for old, new in SETTINGS.values():
        assert tiny.count(old) == 1
        keys.append(study_of(tiny.replace(old, new)).cells[0].key)
    assert len(set(keys)) == len(keys)


UNCHANGED = {
    "label of the learner": ("scale = 8", 'scale = 8\nlabel = "mine"'),
    "label of the environment": ("n_contexts", 'label = "mine"\nn_contexts'),
    "label of the oracle": ('"enumeration"', '"enumeration"\nlabel = "mine"'),
    "comments and the order of keys": ("horizon = 40\ncheckpoints = 4", "# the same\ncheckpoints = 4\nhorizon = [40]"),
    "name of the experiment": ('"tiny"', '"other"'),
    "a default written down": ("depth = 1", "depth = 1\nthresholds = 3"),
    "max_horizon": ("scale = 8", "scale = 8\nmax_horizon = 40"),
    "one more seed": ("checkpoints", "seeds = [0, 1]\ncheckpoints"),
    "one more horizon": ("horizon = 40", "horizon = [40, 50]"),
    "where and how it runs": ("[oracle]", '[run]\nout = "x"\nbackend = "dask"\nworkers = 9\n[oracle]'),
}


@pytest.mark.parametrize("change", UNCHANGED)
def test_presentation_makes_no_other_cell(change, tiny):
    """Labels, defaults, further cells and how the study is run leave a cell what it is."""
    old, new = UNCHANGED[change]
    assert tiny.count(old) == 1
    first, other = study_of(tiny), study_of(tiny.replace(old, new))
    assert first.cells[0].key == other.cells[0].key
    assert first.comparators[0].key == other.comparators[0].key


def test_the_comparator_does_not_depend_on_learners_and_oracles(tiny):
    """All learners of an environment, class, horizon and seed share one; constraints make another."""
    text = (
        tiny.replace('kind = "enumeration"', 'solver = "highs"\n[[oracle]]\nsolver = "scipy"').replace(
            "[oracle]", "[[oracle]]", 1
        )
        + '[[learners]]\nname = "uniform"\n'
    )
    study = study_of(text)
    assert len(study.cells) == 3
    (comparator,) = study.comparators
    assert set(study.comparator_of.values()) == {comparator.key}
    assert comparator.key == study_of(tiny).comparators[0].key
    assert comparator.key != study_of(text + RULE.format(action=1)).comparators[0].key
    assert comparator.key not in {cell.key for cell in study.cells}


def test_titles_tell_what_there_are_several_of(tiny):
    """A title names the learner and the seed, and the other axes only where they have several entries."""
    assert [task.title for task in study_of(tiny).tasks] == ["best policy in hindsight, seed 0", "bistro_plus, seed 0"]
    text = tiny.replace("horizon = 40", "horizon = [40, 50]").replace(*TWO_SOLVERS)
    titles = [task.title for task in study_of(text).tasks]
    assert titles[:3] == [
        "best policy in hindsight, T = 50, seed 0",
        "bistro_plus, milp:highs, T = 50, seed 0",
        "bistro_plus, milp:scipy, T = 50, seed 0",
    ]
    assert len(set(titles)) == 6


def test_a_learners_own_oracle_takes_the_place_of_all_common_ones(tiny):
    """It is one cell, and has none of the common options."""
    common = tiny.replace(
        '[oracle]\nkind = "enumeration"', '[[oracle]]\nlabel = "quick"\ntime_limit = 1.0\n[[oracle]]\nkind = "search"\n'
    )
    own = '[[learners]]\nname = "exp4"\noracle = {{ kind = {} }}\n'
    listed = study_of(common + own.format('"enumeration"'))
    assert [cell.labels["oracle"] for cell in listed.cells] == ["quick", "search", "enumeration"]
    (solved,) = study_of(common + own.format('"milp", solver = "scipy"')).cells[2:]
    assert solved.labels["oracle"] == "milp:scipy"
    assert solved.oracle.options["time_limit"] is None


def test_equal_cells_are_refused(tiny):
    """Two cells whose numbers would be the same are told by name, whatever their labels."""
    again = '[[learners]]\nname = "bistro_plus"\nlabel = "again"\nqueries = "profile"\nscale = {}\n'
    with pytest.raises(InputError, match="'bistro_plus, seed 0' and 'again, seed 0' have the same settings"):
        study_of(tiny + again.format(8))
    assert len({cell.key for cell in study_of(tiny + again.format(9)).cells}) == 2


def test_longest_tasks_come_first(tiny):
    """Comparator and learners of the longest horizon are begun first."""
    horizons = [task.horizon for task in study_of(tiny.replace("horizon = 40", "horizon = [9, 40, 20]")).tasks]
    assert horizons == [40, 40, 20, 20, 9, 9]
