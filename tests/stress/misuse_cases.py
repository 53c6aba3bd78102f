"""The wrong calls, group by group, made from the registry; see misuse.py."""

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import milpcb
from milpcb import FinitePool, LabelConstraint, Transductive, constraints, open_oracle, rng, testing
from milpcb.contexts import Empirical, Sampler
from milpcb.plugins import registry
from milpcb.protocols import PolicyClass
from milpcb.solvers import load_solver
from milpcb.testing.instances import Instance, instances
from policies import DecisionTrees, FiniteClass
from tests.stress.misuse_offline import OFFLINE
from tests.stress.misuse_values import (
    CHOICE,
    CONTEXTS,
    HORIZON,
    LABELINGS,
    REAL,
    ROW,
    TABLE,
    WHOLE,
    Case,
    K,
    learner,
    oracle,
    runnable,
    supplied,
    wrong,
    wrong_values,
)


def constructors(group: str, kind: str, base: Callable[[Any], dict[str, Any] | None]) -> Iterator[Case]:
    """Yield the constructors of a registered kind with one wrong argument each; ``base`` gives the right ones."""
    for name in runnable(kind):
        cls = registry.load(kind, name)
        right = base(cls)
        if right is None:
            continue
        for parameter in inspect.signature(cls).parameters.values():
            for value in wrong_values(parameter):
                arguments = right | {parameter.name: value.value}
                yield Case(group, f"{name}({parameter.name} = {value.name})", partial(_use, cls, arguments))


def _use(cls: Any, arguments: dict[str, Any]) -> None:
    """Make an object; a policy class is opened too, as names and cut points can only be held against contexts."""
    made = cls(**arguments)
    if isinstance(made, PolicyClass):
        open_oracle(made, CONTEXTS)


def small(cls: Any) -> dict[str, Any]:
    """Return arguments that a policy class or an environment can be made with."""
    asked = inspect.signature(cls).parameters
    right = {"n_actions": 2, "labelings": [[0, 1, 0, 1], [1, 0, 1, 1]]}
    return {name: value for name, value in right.items() if name in asked}


def policy_classes() -> Iterator[Case]:
    """Constructors, contexts, and what their policies are asked."""
    yield from constructors("policy classes", "policies", small)
    for table in wrong(
        none=None,
        text="a",
        words=[["a"]],
        halves=[[0.5]],
        out=[[7]],
        negative=[[-1]],
        flat=[0, 1],
        ragged=[[0], [0, 1]],
    ):
        yield Case("policy classes", f"finite_class(labelings = {table.name})", partial(FiniteClass, table.value, 2))
    for name in registry.names("policies"):
        instance = instances(name)[0]
        for table in TABLE:
            opened = partial(open_oracle, instance.policies, table.value)
            yield Case("policy classes", f"open_oracle({name}, contexts = {table.name})", opened)
        yield from predictions(name, instance)


def predictions(name: str, instance: Instance) -> Iterator[Case]:
    """Yield what a policy cannot be asked to label."""
    policy: Any = (
        open_oracle(instance.policies, instance.contexts)
        .minimise(
            np.arange(float(len(instance.contexts) * instance.policies.n_actions)).reshape(len(instance.contexts), -1)
        )
        .policy
    )
    for table in TABLE:
        yield Case("predict", f"{name}: predict({table.name})", partial(policy.predict, table.value))


def opening() -> Iterator[Case]:
    """Yield wrong arguments of open_oracle, for every kind of oracle."""
    trees, opened = DecisionTrees(K, 1), partial(open_oracle, contexts=CONTEXTS)
    for value in wrong(none=None, text="trees", number=3, a_class=DecisionTrees, a_list=[trees]):
        yield Case("open_oracle", f"policies = {value.name}", partial(opened, value.value))
    for value in CHOICE:
        yield Case("open_oracle", f"kind = {value.name}", partial(opened, trees, kind=value.value))
        if value.value is not None:  # which stands for the default
            yield Case("open_oracle", f"solver = {value.name}", partial(opened, trees, solver=value.value))
    for option, values in {
        "time_limit": [value for value in REAL if value.name not in ("none", "inf")],
        "gap": REAL,
        "constraints": wrong(
            number=5, text="abc", numbers=[1], none=None, nones=[None], one=LabelConstraint(np.ones((4, K)), 1.0)
        ),
    }.items():
        for value in values:
            yield Case(
                "open_oracle", f"{option} = {value.name}", partial(opened, trees, kind="milp", **{option: value.value})
            )
    for value in [*REAL, *wrong(zero=0.0, more=1.5)]:
        yield Case("open_oracle", f"audit = {value.name}", partial(opened, trees, kind="audited", audit=value.value))


def questions() -> Iterator[Case]:
    """Yield wrong costs, rows and rates, for every kind of oracle."""
    right = np.zeros((4, K))
    costs = [table for table in TABLE if table.value is not None]
    costs += wrong(transposed=np.zeros((K, 4)), few_rows=np.zeros((3, K)), few_columns=np.zeros((4, 2)), none=None)
    costs += wrong(one_nan=np.where(np.eye(4, K) > 0, np.nan, 0.0), mixed_inf=np.array([[np.inf, -np.inf, 0.0]] * 4))
    for kind in ("milp", "search", "enumeration", "audited"):
        asked = oracle(kind)
        for value in costs:
            yield Case("questions", f"{kind}: minimise({value.name})", partial(asked.minimise, value.value))
            yield Case("questions", f"{kind}: value({value.name})", partial(asked.value, value.value))
            yield Case("questions", f"{kind}: profile({value.name}, 0)", partial(asked.profile, value.value, 0))
        for value in ROW:
            yield Case("questions", f"{kind}: profile(row = {value.name})", partial(asked.profile, right, value.value))
            weigh = partial(asked.action_weights, right, value.value, 0.1)
            yield Case("questions", f"{kind}: action_weights(row = {value.name})", weigh)
        for value in REAL:
            weigh = partial(asked.action_weights, right, 0, value.value)
            yield Case("questions", f"{kind}: action_weights(rate = {value.name})", weigh)


def learner_constructors() -> Iterator[Case]:
    """Yield learners with an argument that is wrong, missing, unknown, out of place or exchanged."""
    asked = {name: inspect.signature(registry.load("learner", name)).parameters for name in runnable("learner")}
    right = supplied()
    yield from constructors(
        "learners", "learner", lambda cls: {k: v for k, v in right.items() if k in inspect.signature(cls).parameters}
    )
    for name, parameters in asked.items():
        cls = registry.load("learner", name)
        given = {key: value for key, value in right.items() if key in parameters}
        inside = {"inner": "bistro_plus"} if name in {"conservative", "guarded"} else {}  # one that asks for a pool
        places = [given[key] for key in parameters if parameters[key].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        named = {key: value for key, value in given.items() if parameters[key].kind is inspect.Parameter.KEYWORD_ONLY}
        yield Case("learners", f"{name}: one by position too many", partial(cls, *places, HORIZON, **named))
        yield Case("learners", f"{name}: unknown option", partial(cls, **given, no_such_option=1))
        yield Case("learners", f"{name}: seed = -1, whether it is used or not", partial(cls, **given | {"seed": -1}))
        yield Case(
            "learners", f"{name}: horizon = 0, whether it is used or not", partial(cls, **given | {"horizon": 0})
        )
        for key in given:
            if parameters[key].default is inspect.Parameter.empty:
                fewer = {other: value for other, value in given.items() if other != key}
                yield Case("learners", f"{name}: without {key}", partial(cls, **fewer))
        for key, values in {
            "oracle": wrong(none=None, text="search", number=3, a_class=DecisionTrees, the_pool=FinitePool(CONTEXTS)),
            "pool": wrong(
                none=None,
                text="pool",
                number=3,
                the_contexts=CONTEXTS,
                a_class=FinitePool,
                the_oracle=oracle(),
                fewer=FinitePool(CONTEXTS[:3]),
                others=FinitePool(CONTEXTS + 1),
                turned=FinitePool(CONTEXTS[::-1]),
                short=Transductive(CONTEXTS, [0, 1]),
                sampler=Sampler(lambda n, generator: generator.random((n, 2))),
            ),
            "best": wrong(
                none=None, text="abc", halves=[0.5, 1.0, 0, 0], out=[0, 9, 0, 0], table=[[0, 1]], negative=[-1, 0, 0, 0]
            ),
        }.items():
            for value in values if key in given else []:
                yield Case(
                    "learners", f"{name}({key} = {value.name})", partial(cls, **given | inside | {key: value.value})
                )


def states() -> Iterator[Case]:
    """Yield states that are none, and ask for the best policy so far where no oracle finds it, for every learner."""
    for name in runnable("learner"):
        other = {"learner": "SomebodyElse", "played": 0, "turn": None}
        for state in wrong(none=None, text="state", number=3, a_list=[], empty={}, other=other):
            yield Case(
                "rounds",
                f"{name}: restore({state.name})",
                partial(lambda n, s: learner(n).restore(s), name, state.value),
            )
        for key in learner(name).state():
            yield Case("states", f"{name}: restore(without {key})", partial(_restore_without, name, key))
            yield Case("states", f"{name}: restore({key} = text)", partial(_restore_spoilt, name, key, "text"))
            if learner(name).state()[key] is not None:
                yield Case("states", f"{name}: restore({key} = None)", partial(_restore_spoilt, name, key, None))
        if learner(name).oracle is None:
            yield Case("states", f"{name}: policy() without an oracle", learner(name).policy)


def _restore_without(name: str, key: str) -> None:
    made = learner(name)
    made.restore({other: value for other, value in made.state().items() if other != key})


def _restore_spoilt(name: str, key: str, value: Any) -> None:
    made = learner(name)
    made.restore(made.state() | {key: value})


def pools() -> Iterator[Case]:
    """Yield wrong contexts, weights, orders and samplers."""
    for table in TABLE:
        yield Case("pools", f"FinitePool({table.name})", partial(FinitePool, table.value))
        yield Case("pools", f"Transductive({table.name})", partial(Transductive, table.value, [0]))
        yield Case("pools", f"Empirical({table.name})", partial(Empirical, table.value))
    for value in wrong(
        nan=[1, 1, 1, np.nan],
        inf=[1, 1, 1, np.inf],
        negative=[1, 1, 1, -1],
        zero=[0, 0, 0, 0],
        few=[1, 1],
        table=np.ones((4, 1)),
        text="abcd",
        words=["a", "b", "c", "d"],
        digits=["1", "1", "1", "1"],
        number=1.0,
        complex=[1j] * 4,
        beyond=[1e200] * 4,
    ):
        yield Case("pools", f"FinitePool(weights = {value.name})", partial(FinitePool, CONTEXTS, value.value))
    for value in wrong(
        none=None,
        text="abc",
        number=3,
        empty=[],
        halves=[0.5, 1.0],
        negative=[-1],
        past=[4],
        table=[[0, 1]],
        true=[True, False],
        words=["a"],
        ragged=[[0], [0, 1]],
        huge=[10**400],
    ):
        yield Case("pools", f"Transductive(order = {value.name})", partial(Transductive, CONTEXTS, value.value))
    for value in wrong(none=None, text="draw", number=3, contexts=CONTEXTS):
        yield Case("pools", f"Sampler({value.name})", partial(Sampler, value.value))


def environments() -> Iterator[Case]:
    """Yield environments with wrong settings, and openings of a class, a horizon or a seed that are none."""
    files = {"contexts": "no_such_file.csv", "costs": "no_such_file.csv"}
    yield from constructors(
        "environments", "environment", lambda cls: None if "costs" in inspect.signature(cls).parameters else {}
    )
    replay = registry.load("environment", "replay")
    yield Case("environments", "replay of files that are not there", lambda: replay(**files).n_actions)
    for name in runnable("environment"):
        cls = registry.load("environment", name)
        if name == "replay":
            continue
        made = cls()
        trees = DecisionTrees(made.n_actions, 1)
        for value in wrong(
            none=None, text="trees", number=3, a_class=DecisionTrees, other_k=DecisionTrees(made.n_actions + 1, 1)
        ):
            yield Case(
                "environments", f"{name}: open(policies = {value.name})", partial(made.open, value.value, HORIZON, 0)
            )
        for value in [*WHOLE, *wrong(zero=0)]:
            yield Case(
                "environments", f"{name}: open(horizon = {value.name})", partial(made.open, trees, value.value, 0)
            )
        for value in WHOLE:
            if value.name != "huge":  # a seed may have any number of digits
                yield Case(
                    "environments",
                    f"{name}: open(seed = {value.name})",
                    partial(made.open, trees, HORIZON, value.value),
                )


def side_constraints() -> Iterator[Case]:
    """Yield side constraints that say nothing, by their functions and as tables of weights."""
    right: dict[str, dict[str, Any]] = {
        "share_at_most": {"action": 1, "share": 0.5, "weights": [1, 2, 1, 1]},
        "parity": {"action": 1, "group": [0, 1, 0, 1], "delta": 0.1},
        "mean_at_most": {"amounts": np.ones((4, K)), "bound": 1.0, "weights": [1, 2, 1, 1]},
        "never": {"action": 1, "rows": [0, 1]},
        "always": {"action": 1, "rows": [0, 1]},
    }
    between = [*REAL, *wrong(more=1.5)]
    tables = [value for value in TABLE if value.name not in ("beyond", "a_set", "huge")]
    tables += wrong(nans=np.full((4, K), np.nan), one_inf=np.where(np.eye(4, K) > 0, np.inf, 0.0))
    values = {
        "action": wrong(past=K, negative=-1, half=0.5, text="abc", none=None, a_list=[1]),
        "bound": [value for value in REAL if value.name != "negative"],
        "share": between,
        "delta": between,
        "amounts": tables,
        "weights": wrong(text="abc", few=[1, 2], negative=[1, -1, 1, 1], zeros=[0] * 4, nan=[1, np.nan, 1, 1]),
        "rows": wrong(
            none=None, text="abc", half=[0.5], past=[4], negative=[-1], empty=[], table=[[0, 1]], few=[True, False]
        ),
        "group": wrong(
            none=None, text="abcd", past=9, one_group=[0, 0, 0, 0], few=[0, 1], table=[[0, 1]], half=0.5, lists=[[0], 1]
        ),
    }
    for name, given in right.items():
        made = partial(_kept, getattr(constraints, name))
        for argument in given:
            for value in values[argument]:
                call = partial(made, **given | {argument: value.value})
                yield Case("constraints", f"{name}({argument} = {value.name})", call)
    for table in [*TABLE, *wrong(turned=np.ones((K, 4)))]:
        yield Case("constraints", f"LabelConstraint(weights = {table.name})", partial(_constrained, table.value, 1.0))
    for value in REAL:
        if value.name != "negative":
            yield Case(
                "constraints",
                f"LabelConstraint(upper = {value.name})",
                partial(_constrained, np.ones((4, K)), value.value),
            )


def _kept(make: Callable[..., Any], **given: Any) -> None:
    open_oracle(FiniteClass(LABELINGS, K), CONTEXTS, constraints=[make(**given)])


def _constrained(weights: Any, upper: Any) -> None:
    open_oracle(FiniteClass(LABELINGS, K), CONTEXTS, constraints=[LabelConstraint(weights, upper)])


def names() -> Iterator[Case]:
    """Yield names that nothing carries: in the registry, the batteries, solvers and files."""
    odd = wrong(
        unknown="no_such_thing",
        number=5,
        none=None,
        empty="",
        a_list=["x"],
        colon=":",
        no_module="no_such_module:Thing",
        long="x" * 10**5,
    )
    for value in odd:
        for kind in ("policies", "learner", "solver", "environment", "relaxation", "oracle"):
            yield Case("names", f"registry.load({kind}, {value.name})", partial(registry.load, kind, value.value))
        if value.name not in ("colon", "no_module"):
            yield Case("names", f"registry.names({value.name})", partial(registry.names, value.value))
            yield Case("names", f"registry.load(kind = {value.name})", partial(registry.load, value.value, "exp4"))
            yield Case("names", f"testing.battery({value.name})", partial(testing.battery, value.value, "exp4"))
        for kind in ("policies", "learner", "solver", "environment"):
            if not (kind == "learner" and value.name == "a_list"):
                yield Case(
                    "names", f"testing.battery({kind}, {value.name})", partial(testing.battery, kind, value.value)
                )
        yield Case("names", f"load_solver({value.name})", partial(load_solver, value.value))
        yield Case("names", f"bistro_plus(noise = {value.name})", partial(learner, "bistro_plus", noise=value.value))
        yield Case("names", f"doubling(inner = {value.name})", partial(learner, "doubling", inner=value.value))
    for value in wrong(missing="no_such_folder", none=None, number=3, a_list=[], folders=["no_such_folder"], empty=""):
        yield Case("names", f"milpcb.load({value.name})", partial(milpcb.load, value.value))
    for value in WHOLE:
        if value.name != "huge":
            yield Case("names", f"rng.child({value.name})", partial(rng.child, value.value, "x"))


GROUPS: list[Callable[[], Iterator[Case]]] = [
    policy_classes,
    opening,
    questions,
    learner_constructors,
    states,
    pools,
    environments,
    side_constraints,
    names,
    *OFFLINE,
]
