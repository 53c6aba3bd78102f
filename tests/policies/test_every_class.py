"""Every registered policy class on declared instances: polytope, size, draws, JSON, leaves and drawings.

The instances are those of tests/instances.py, on which the battery checks the answers. What only one class has
is in the test file of that class.
"""

from functools import cache
from itertools import islice

import networkx as nx
import numpy as np
import pytest

from milpcb.plugins import registry
from policies import from_json
from policies.rule import Rule
from tests.instances import instances
from tests.lp import lp_text
from tests.stress.definitions import boxed, written

CLASSES = {name: instances(name) for name in registry.names("policies")}
INSTANCES = {
    f"{name}: {instance.name}": (name, instance.policies, instance.contexts)
    for name, every in CLASSES.items()
    for instance in every
}
EVERY_INSTANCE = pytest.mark.parametrize("case", INSTANCES)
# What exp(log_size) counts, where that is exact: all policies listed, which then differ, or their labelings.
COUNTED = {
    "threshold_rules": "policies",
    "rule_lists": "policies",
    "box_rules": "labelings",
    "finite_class": "labelings",
}
# The classes whose draws reach every labeling.
DRAWS_REACH_ALL = {"threshold_rules", "rule_lists", "box_rules", "finite_class", "monotone_rules"}
# The classes without a search of their own, and the classes and instances whose programs need integer columns.
NOT_INTEGRAL = {"halfspaces", "decision_trees: three leaves", "decision_trees: one feature"}

TWO_FEATURES = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
TWO_COSTS, THREE_COSTS = [[3.0, 0.0], [-1.0, 5.0]], [[3.0, 0.0], [-1.0, 5.0], [2.0, 7.0]]
GOLDEN = {  # file: class, options, contexts, costs, constrained
    "decision_trees": ("decision_trees", {"depth": 1}, [[0.0], [1.0]], TWO_COSTS, False),
    "decision_trees_constrained": ("decision_trees", {"depth": 1}, [[0.0], [1.0]], TWO_COSTS, True),
    "threshold_rules": ("threshold_rules", {"max_cuts": 2}, [[1.0], [2.0], [4.0]], THREE_COSTS, False),
    "rule_lists": ("rule_lists", {"max_rules": 2, "thresholds": ((0.5,),) * 2}, TWO_FEATURES, THREE_COSTS, False),
    "rule_lists_constrained": (
        "rule_lists",
        {"max_rules": 2, "thresholds": ((0.5,),) * 2},
        TWO_FEATURES,
        THREE_COSTS,
        True,
    ),
    "box_rules": ("box_rules", {"max_features": 2}, TWO_FEATURES, THREE_COSTS, False),
    "box_rules_constrained": ("box_rules", {"max_features": 2}, TWO_FEATURES, THREE_COSTS, True),
    "finite_class": ("finite_class", {"labelings": [[0, 1], [1, 1], [0, 0]]}, [[1.0], [2.0]], TWO_COSTS, False),
}


@EVERY_INSTANCE
def test_the_relaxation_is_integral(case, assert_integral):
    """A program says that its polytope is integral where that is so by its theory; every LP optimum is whole there."""
    _, policies, contexts = INSTANCES[case]
    stated = policies.on(contexts).program().program.integral
    assert stated == NOT_INTEGRAL.isdisjoint({case, case.partition(":")[0]})
    if stated:
        assert_integral(policies, contexts, seed=0)


@EVERY_INSTANCE
def test_log_size_counts_the_policies(case):
    """log_size is the log of what the class says that it counts, and never below the number of labelings."""
    name, policies, contexts = INSTANCES[case]
    opened = policies.on(contexts)
    n_labelings, log_size = len(opened.labelings()), policies.log_size(contexts)
    assert np.log(n_labelings) <= log_size + 1e-9
    if COUNTED.get(name) == "labelings":
        assert np.exp(log_size) == pytest.approx(n_labelings)
    elif COUNTED.get(name) == "policies":
        listed = list(opened.policies())
        assert len(set(listed)) == len(listed)
        assert np.exp(log_size) == pytest.approx(len(listed))


@pytest.mark.parametrize("case", [case for case in INSTANCES if case.startswith(("threshold", "rule_lists", "box"))])
def test_labelings_are_all_those_of_the_definition(case):
    """Labelings of the class are those that the definition allows, and no others."""
    name, policies, contexts = INSTANCES[case]
    opened = policies.on(contexts)
    wanted = boxed(policies, contexts) if name == "box_rules" else written(policies, contexts, opened)
    assert set(map(tuple, opened.labelings().tolist())) == set(map(tuple, wanted.tolist()))


@pytest.mark.parametrize("case", [case for case in INSTANCES if not case.startswith("halfspaces")])
def test_draws_are_labelings_of_the_class(case):
    """Every drawn policy labels as one of the class; the draws of most classes reach all of its labelings.

    Those of halfspaces, each of which is fitted, are tested in a file of their own.
    """
    name, policies, contexts = INSTANCES[case]
    opened, rng = policies.on(contexts), np.random.default_rng(1)
    every = set(map(tuple, opened.labelings().tolist()))
    drawn = set()
    for _ in range(10_000 if name in DRAWS_REACH_ALL else 100):
        drawn.add(tuple(opened.draw(rng).predict(contexts).tolist()))
        if drawn == every:
            break
    assert drawn <= every
    assert name not in DRAWS_REACH_ALL or drawn == every


@EVERY_INSTANCE
def test_side_constraints_leave_the_cost_map_linear(case):
    """The cost map of a constrained encoding is linear in the costs."""
    _, policies, contexts = INSTANCES[case]
    opened = policies.on(contexts)
    encoding = opened.program(constrained=True)
    first, second = np.random.default_rng(0).normal(size=(2, len(opened.contexts), policies.n_actions))
    a, b, both = (encoding.objective(costs) for costs in (first, second, 2 * first - second))
    assert np.allclose(2 * a.coefficients - b.coefficients, both.coefficients, atol=1e-9)
    assert np.isclose(2 * a.offset - b.offset, both.offset, atol=1e-9)


@pytest.mark.parametrize("file", GOLDEN)
def test_golden_program(file, assert_golden):
    """The program of two or three contexts is the one on file, with and without the columns of side constraints."""
    name, options, contexts, costs, constrained = GOLDEN[file]
    opened = registry.load("policies", name)(n_actions=2, **options).on(np.array(contexts))
    encoding = opened.program(constrained=constrained)
    assert_golden(lp_text(encoding.program, encoding.objective(np.array(costs)).coefficients), f"{file}.lp")


@EVERY_INSTANCE
def test_policies_survive_json(case):
    """The document of ``to_json`` is read by ``from_json`` as an equal policy that prints and predicts alike."""
    contexts = INSTANCES[case][2]
    for policy in some_policies(case):
        again = from_json(policy.to_json())
        assert (again.to_json(), str(again), again.names) == (policy.to_json(), str(policy), policy.names)
        assert (again.predict(contexts) == policy.predict(contexts)).all()
        if type(policy).__eq__ is not object.__eq__:  # a policy that is a table has no equality
            assert again == policy


@EVERY_INSTANCE
def test_leaves_add_up(case):
    """The parts of a rule hold all contexts, play its actions, and cost what it costs."""
    _, policies, contexts = INSTANCES[case]
    costs = np.random.default_rng(0).normal(size=(len(contexts), policies.n_actions))
    for policy in some_policies(case):
        leaves, labels = policy.leaves(contexts, costs), policy.predict(contexts)
        shares = [sum(leaf.share for leaf in leaves if leaf.action == a) for a in range(policies.n_actions)]
        assert shares == pytest.approx(np.bincount(labels, minlength=policies.n_actions) / len(labels))
        total = sum(leaf.share * leaf.mean_cost for leaf in leaves if leaf.mean_cost is not None)
        assert total == pytest.approx(costs[np.arange(len(labels)), labels].mean())


@EVERY_INSTANCE
def test_graphs_show_every_leaf(case):
    """The graph of a rule is a tree whose leaves carry actions, with shares and mean costs where these are given."""
    _, policies, contexts = INSTANCES[case]
    costs = np.ones((len(contexts), policies.n_actions))
    for policy in some_policies(case):
        graph, leaves = policy.graph(policy.leaves(contexts, costs)), policy.leaves(contexts)
        assert nx.is_arborescence(graph)
        ends = [data for node, data in graph.nodes(data=True) if not graph.out_degree(node)]
        assert sorted(data["action"] for data in ends) == sorted(policy.leaf_actions)
        assert all("% of contexts" in data["label"] for data in ends)
        assert sum("mean cost 1" in data["label"] for data in ends) == sum(leaf.share > 0 for leaf in leaves)
        assert not any("action" in data for node, data in graph.nodes(data=True) if graph.out_degree(node))


@cache
def some_policies(case):
    """Return drawn policies, and some of the list; all of them are rules."""
    _, policies, contexts = INSTANCES[case]
    opened, rng = policies.on(contexts), np.random.default_rng(2)
    some = [*islice(opened.policies(), 8), *(opened.draw(rng) for _ in range(4))]
    assert all(isinstance(policy, Rule) for policy in some)
    return some
