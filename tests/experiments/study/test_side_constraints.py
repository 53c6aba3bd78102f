"""Side constraints of a config: each means what its words say, on every labeling, and studies keep it."""

import tomllib
from itertools import product

import numpy as np
import pytest

from milpcb.constraints import bind_to
from milpcb.errors import InputError, UnknownNameError
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import check_options, parse_config, read_config
from milpcb.experiments.study.worlds import open_world
from milpcb.plugins import registry
from milpcb.plugins.injection import make

CONTEXTS = np.array([[0.0, 1.0, 3.0], [1.0, 0.5, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 5.0]])
COLUMNS = ("group", "spent", "exposure")
OUTCOME = np.array([[0.0, 1.0, 2.0], [3.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.5, 0.0, 2.0]])
LABELINGS = [np.array(labels) for labels in product(range(3), repeat=4)]
SPENT, EXPOSURE = CONTEXTS[:, 1], CONTEXTS[:, 2]


def apart(labels, action, groups):
    """Return the largest difference of the rates of an action in two groups."""
    return np.ptp([(labels[groups == group] == action).mean() for group in np.unique(groups)])


def mean(labels, outcome):
    """Return the mean of what the actions take, of a table (4, 3)."""
    return outcome[np.arange(4), labels].mean()


def exposed(labels):
    """Return whether action 1 is played on at most 45 % of the exposure."""
    return (labels == 1) @ EXPOSURE <= 0.45 * EXPOSURE.sum()


def equal(labels):
    """Return whether the rates of action 1 in the groups of the first column differ by at most a half."""
    return apart(labels, 1, CONTEXTS[:, 0]) <= 0.5


BY_COLUMN = np.column_stack([np.zeros(4), SPENT, np.full(4, 2.0)])
PARITY = ("parity", {"action": 1, "delta": 0.5})
SECTIONS = {
    "a share": ("share_at_most", {"action": 1, "share": 0.5}, lambda y: (y == 1).mean() <= 0.5),
    "by weights": ("share_at_most", {"action": 1, "share": 0.45, "weights": EXPOSURE.tolist()}, exposed),
    "by a column of weights": ("share_at_most", {"action": 1, "share": 0.45, "weights": "exposure"}, exposed),
    "groups of a column": (PARITY[0], PARITY[1] | {"group": "group"}, equal),
    "of a column by its number": (PARITY[0], PARITY[1] | {"group": 0}, equal),
    "that are listed": (
        "parity",
        {"action": 1, "group": ["a", "b", "a", "a"], "delta": 0.4},
        lambda y: apart(y, 1, np.array([0, 1, 0, 0])) <= 0.4,
    ),
    "a mean of numbers": ("mean_at_most", {"amounts": {"1": 1.0, "2": 2.0}, "bound": 1.0}, lambda y: y.mean() <= 1.0),
    "of numbers and columns": (
        "mean_at_most",
        {"amounts": {"1": "spent", "2": 2}, "bound": 0.9},
        lambda y: mean(y, BY_COLUMN) <= 0.9,
    ),
    "of a number for each row": (
        "mean_at_most",
        {"amounts": {"1": SPENT.tolist(), "2": 2}, "bound": 0.9},
        lambda y: mean(y, BY_COLUMN) <= 0.9,
    ),
    "of a table": ("mean_at_most", {"amounts": OUTCOME.tolist(), "bound": 1.0}, lambda y: mean(y, OUTCOME) <= 1.0),
    "of one row for all": ("mean_at_most", {"amounts": [0.0, 1.0, 2.0], "bound": 1.0}, lambda y: y.mean() <= 1.0),
    "a weighted mean": (
        "mean_at_most",
        {"amounts": OUTCOME.tolist(), "bound": 0.9, "weights": "exposure"},
        lambda y: OUTCOME[np.arange(4), y] @ EXPOSURE / EXPOSURE.sum() <= 0.9,
    ),
    "never where": ("never", {"action": 2, "where": "spent >= 1 and group <= 1"}, lambda y: 2 not in y[[0, 3]]),
    "never on rows": ("never", {"action": 2, "rows": [0, 3]}, lambda y: 2 not in y[[0, 3]]),
    "never on some": ("never", {"action": 2, "rows": [True, False, False, True]}, lambda y: 2 not in y[[0, 3]]),
    "always where": ("always", {"action": 0, "where": "exposure = 1"}, lambda y: not y[[1, 2]].any()),
    "always on a row": ("always", {"action": 0, "rows": [1]}, lambda y: y[1] == 0),
}


@pytest.mark.parametrize("case", SECTIONS)
def test_a_section_means_what_it_says(case):
    """A labeling keeps the constraints exactly when it satisfies the definition."""
    name, options, definition = SECTIONS[case]
    cls = registry.load("constraint", name)
    made = make(cls, {}, check_options(cls, options, "[[constraints]]"))
    rules = bind_to(made, CONTEXTS, COLUMNS, range(3))
    kept = [
        all(rule.matrix(4, 3)[np.arange(4), labels].sum() <= rule.upper + 1e-12 for rule in rules)
        for labels in LABELINGS
    ]
    expected = [bool(definition(labels)) for labels in LABELINGS]
    assert 0 < sum(expected) < len(expected)
    assert kept == expected


IRIS = """
[experiment]
name = "iris"
horizon = 60
[environment]
name = "supervised"
data = "iris"
[policies]
name = "decision_trees"
depth = 2
[[learners]]
name = "exp4"
rate = "certified"
"""
NEVER = """
[[constraints]]
name = "never"
action = {action}
where = "{where}"
"""


def best_of(text):
    """Return the policy that is the best in hindsight, and the contexts, of a config's only world."""
    (task,) = build_study(parse_config(tomllib.loads(text), text)).comparators
    world = open_world(task)
    costs = np.ones((len(world.stream.contexts), world.policies.n_actions))
    costs[:, 2] = 0.0
    return world.comparator_oracle().minimise(costs).policy, world.stream.contexts


@pytest.mark.parametrize("action", [2, '"virginica"'])
def test_conditions_read_the_columns_of_the_environment(action):
    """Actions go by name or number, and the cheapest action is played everywhere but where the condition holds."""
    where = "petal width (cm) > 1.5 and sepal length (cm) <= 7"
    policy, contexts = best_of(IRIS + NEVER.format(action=action, where=where))
    forbidden = (contexts[:, 3] > 1.5) & (contexts[:, 0] <= 7)
    assert 0 < forbidden.sum() < len(contexts)
    assert not (policy.predict(contexts)[forbidden] == 2).any()
    assert (best_of(IRIS)[0].predict(contexts) == 2).all()


def test_columns_without_names_are_numbered(tiny):
    """They are x0, x1, ..."""
    policy, contexts = best_of(tiny + NEVER.format(action=2, where="x1 <= 0.5"))
    assert 0 < (contexts[:, 1] <= 0.5).sum() < len(contexts)
    assert not (policy.predict(contexts)[contexts[:, 1] <= 0.5] == 2).any()


WRONG = {
    "a share": ('name = "share_at_most"\naction = 1\nshare = 2', InputError, "line 25: share must be between 0 and 1"),
    "no condition": ('name = "never"\naction = 1', InputError, "line 22: never needs either a condition"),
    "a type": ('name = "never"\naction = 1\nrows = "x0 = 1"', InputError, "line 25: rows in "),
    "a column": (
        'name = "parity"\naction = 0\ngroup = "x_1"\ndelta = 0.1',
        UnknownNameError,
        "column of a constraint 'x_1'; did you mean 'x1'",
    ),
    "amounts": ('name = "mean_at_most"\namounts = 3\nbound = 1', InputError, "line 24: amounts in "),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_with_its_line(case, tiny):
    """Without a world; only columns are known no sooner than the environment is open."""
    section, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        best_of(f"{tiny}[[constraints]]\n{section}\n")


OWN = '''
from milpcb.constraints import LabelConstraint, NamedConstraint, never
import numpy as np

class Nowhere(NamedConstraint):
    """An action is played nowhere."""
    def __init__(self, action: int) -> None:
        self.action = action
    def tables(self, rows):
        return {"": rows.table(np.ones(len(rows)), self.action)}
    def rules(self, sums, weight):
        return [LabelConstraint(sums[""], 0.0, "nowhere")]

def forbid(action: int, *, n_contexts: int, n_actions: int) -> list[LabelConstraint]:
    """Forbid an action, by a table."""
    return [LabelConstraint(np.tile(np.arange(n_actions) == action, (n_contexts, 1)).astype(float), 0.0, "forbidden")]

def below(action: int, column: str) -> never:
    """Forbid an action where a column is below 9."""
    return never(action, f"{column} < 9")
'''


@pytest.mark.parametrize("section", ["own:Nowhere", "own:forbid", 'own:below"\ncolumn = "x0'])
def test_a_constraint_of_ones_own_is_one_like_any_other(section, tiny, tmp_path):
    """A class of NamedConstraint, a function that makes LabelConstraints, and one that says it by names."""
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "study.toml").write_text(f'{tiny}[[constraints]]\nname = "{section}"\naction = 2\n')
    (task,) = build_study(read_config(tmp_path / "study.toml")).comparators
    world = open_world(task)
    costs = np.array([[1.0, 2.0, 0.0]] * len(world.stream.contexts))
    assert world.comparator_oracle().value(costs) == len(costs)
