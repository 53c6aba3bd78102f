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
from policies import DecisionTrees, FiniteClass
from tests.instances import instances
from tests.stress.misuse_offline import OFFLINE
from tests.stress.misuse_values import (
    CHOICE,
    CONTEXTS,
    HORIZON,
    LABELINGS,
    LIST,
    REAL,
    ROW,
    TABLE,
    WHOLE,
    Case,
    K,
    but,
    calls,
)

from tests.stress.misuse_values import learner, oracle, runnable, supplied, wrong, wrong_values  # isort: skip


def constructors(kind: str, base: Callable[[Any], dict[str, Any] | None]) -> Iterator[Case]:
    """Yield the constructors of a registered kind with one wrong argument each; ``base`` gives the right ones."""
    for name in runnable(kind):
        cls = registry.load(kind, name)
        right = base(cls)
        if right is not None:
            asked = inspect.signature(cls).parameters
            values = {key: wrong_values(parameter) for key, parameter in asked.items()}
            yield from calls(name, partial(_use, cls), right, **values)


def _use(cls: Any, **arguments: Any) -> None:
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
    yield from constructors("policies", small)
    tables = wrong(
        none=None, text="a", words=[["a"]], halves=[[0.5]], out=[[7]], negative=[[-1]], flat=[0, 1],
        ragged=[[0], [0, 1]],
    )  # fmt: skip
    yield from calls("finite_class", FiniteClass, {"n_actions": 2}, labelings=tables)
    for name in registry.names("policies"):
        own = instances(name)[0]
        given = {"policies": own.policies, "contexts": own.contexts}
        yield from calls(f"{name}: open_oracle", open_oracle, given, contexts=TABLE)
        costs = np.arange(float(len(own.contexts) * own.policies.n_actions)).reshape(len(own.contexts), -1)
        policy: Any = open_oracle(own.policies, own.contexts).minimise(costs).policy
        yield from calls(f"{name}: predict", policy.predict, {}, contexts=TABLE)


def opening() -> Iterator[Case]:
    """Yield wrong arguments of open_oracle, for every kind of oracle."""
    trees = DecisionTrees(K, 1)
    right = {"policies": trees, "contexts": CONTEXTS}
    constrained = wrong(
        number=5, text="abc", numbers=[1], none=None, nones=[None], one=LabelConstraint(np.ones((4, K)), 1.0)
    )
    yield from calls(
        "open_oracle",
        open_oracle,
        right,
        policies=wrong(none=None, text="trees", number=3, a_class=DecisionTrees, a_list=[trees]),
        kind=CHOICE,
        solver=but(CHOICE, "none"),
        time_limit=but(REAL, "none", "inf"),
        gap=REAL,
        constraints=constrained,
    )
    audits = REAL | wrong(zero=0.0, more=1.5)
    yield from calls("open_oracle", open_oracle, {**right, "kind": "audited"}, audit=audits)


def questions() -> Iterator[Case]:
    """Yield wrong costs, rows and rates, for every kind of oracle."""
    costs = but(TABLE, "none") | wrong(none=None, transposed=np.zeros((K, 4)), few_rows=np.zeros((3, K)))
    costs |= wrong(few_columns=np.zeros((4, 2)), one_nan=np.where(np.eye(4, K) > 0, np.nan, 0.0))
    costs |= wrong(mixed_inf=np.array([[np.inf, -np.inf, 0.0]] * 4))
    right = {"costs": np.zeros((4, K))}
    for kind in ("milp", "search", "enumeration", "audited"):
        asked = oracle(kind)
        yield from calls(f"{kind}: minimise", asked.minimise, right, costs=costs)
        yield from calls(f"{kind}: value", asked.value, right, costs=costs)
        yield from calls(f"{kind}: profile", asked.profile, right | {"row": 0}, costs=costs, row=ROW)
        given = right | {"row": 0, "rate": 0.1}
        yield from calls(f"{kind}: action_weights", asked.action_weights, given, row=ROW, rate=REAL)


def learner_constructors() -> Iterator[Case]:
    """Yield learners with an argument that is wrong, or that belongs to another place."""
    every = supplied()
    pool_values = wrong(
        none=None, text="pool", number=3, the_contexts=CONTEXTS, a_class=FinitePool, the_oracle=oracle(),
        fewer=FinitePool(CONTEXTS[:3]), others=FinitePool(CONTEXTS + 1), turned=FinitePool(CONTEXTS[::-1]),
        short=Transductive(CONTEXTS, [0, 1]), sampler=Sampler(lambda n, generator: generator.random((n, 2))),
    )  # fmt: skip
    of_runtime = {
        "oracle": wrong(none=None, text="search", number=3, a_class=DecisionTrees, the_pool=FinitePool(CONTEXTS)),
        "pool": pool_values,
        "best": LIST | wrong(none=None),
        "horizon": wrong(zero=0),
    }
    yield from constructors(
        "learner", lambda cls: {k: v for k, v in every.items() if k in inspect.signature(cls).parameters}
    )
    for name in runnable("learner"):
        cls = registry.load("learner", name)
        given = {key: value for key, value in every.items() if key in inspect.signature(cls).parameters}
        inside = {"inner": "bistro_plus"} if name in {"conservative", "guarded"} else {}  # one that asks for a pool
        yield from calls(name, cls, given | inside, **{key: of_runtime[key] for key in of_runtime if key in given})


def states() -> Iterator[Case]:
    """Yield states that are none, and ask for the best policy so far where no oracle finds it, for every learner."""
    other = {"learner": "SomebodyElse", "played": 0, "turn": None}
    no_states = wrong(none=None, text="state", number=3, a_list=[], empty={}, other=other)
    for name in runnable("learner"):
        state = learner(name).state()
        spoilt = {f"without {key}": {k: v for k, v in state.items() if k != key} for key in state}
        spoilt |= {f"{key} = text": state | {key: "text"} for key in state}
        spoilt |= {f"{key} = None": state | {key: None} for key in state if state[key] is not None}
        yield from calls(f"{name}: restore", partial(_restored, name), {}, state=no_states | spoilt)
        if learner(name).oracle is None:
            yield f"{name}: policy() without an oracle", learner(name).policy


def _restored(name: str, state: Any) -> None:
    learner(name).restore(state)


def pools() -> Iterator[Case]:
    """Yield wrong contexts, weights, orders and samplers."""
    weights = wrong(
        nan=[1, 1, 1, np.nan], inf=[1, 1, 1, np.inf], negative=[1, 1, 1, -1], zero=[0, 0, 0, 0], few=[1, 1],
        table=np.ones((4, 1)), text="abcd", words=list("abcd"), digits=list("1111"), number=1.0, complex=[1j] * 4,
        beyond=[1e200] * 4,
    )  # fmt: skip
    orders = LIST | wrong(none=None, number=3, empty=[], true=[True, False])
    right = {"contexts": CONTEXTS}
    yield from calls("FinitePool", FinitePool, right, contexts=TABLE, weights=weights)
    yield from calls("Transductive", Transductive, right | {"order": [0]}, contexts=TABLE, order=orders)
    yield from calls("Empirical", Empirical, right, contexts=TABLE)
    yield from calls("Sampler", Sampler, {}, draw=wrong(none=None, text="draw", number=3, contexts=CONTEXTS))


def environments() -> Iterator[Case]:
    """Yield environments with wrong settings, and openings of a class, a horizon or a seed that are none."""
    yield from constructors("environment", lambda cls: None if "costs" in inspect.signature(cls).parameters else {})
    replay, files = registry.load("environment", "replay"), dict.fromkeys(("contexts", "costs"), "no_such_file.csv")
    yield "replay of files that are not there", lambda: replay(**files).n_actions
    for name in runnable("environment"):
        if name == "replay":
            continue
        made = registry.load("environment", name)()
        trees = {k: DecisionTrees(made.n_actions + k, 1) for k in (0, 1)}
        right = {"policies": trees[0], "horizon": HORIZON, "seed": 0}
        values = {
            "policies": wrong(none=None, text="trees", number=3, a_class=DecisionTrees, other_k=trees[1]),
            "horizon": WHOLE | wrong(zero=0),
            "seed": but(WHOLE, "huge"),  # a seed may have any number of digits
        }
        yield from calls(f"{name}: open", made.open, right, **values)


def side_constraints() -> Iterator[Case]:
    """Yield side constraints that say nothing, by their functions and as tables of weights."""
    right: dict[str, dict[str, Any]] = {
        "share_at_most": {"action": 1, "share": 0.5, "weights": [1, 2, 1, 1]},
        "parity": {"action": 1, "group": [0, 1, 0, 1], "delta": 0.1},
        "mean_at_most": {"amounts": np.ones((4, K)), "bound": 1.0, "weights": [1, 2, 1, 1]},
        "never": {"action": 1, "rows": [0, 1]},
        "always": {"action": 1, "rows": [0, 1]},
    }
    between = REAL | wrong(more=1.5)
    tables = but(TABLE, "beyond", "a_set", "huge") | wrong(
        nans=np.full((4, K), np.nan), one_inf=np.where(np.eye(4, K) > 0, np.inf, 0.0)
    )
    values = {
        "action": wrong(past=K, negative=-1, half=0.5, text="abc", none=None, a_list=[1]),
        "bound": but(REAL, "negative"),
        "share": between,
        "delta": between,
        "amounts": tables | wrong(few={0: [1, 2]}, nobody={K: 1.0}, column={0: "abc"}, wanting={0: np.nan}),
        "weights": wrong(text="abc", few=[1, 2], negative=[1, -1, 1, 1], zeros=[0] * 4, nan=[1, np.nan, 1, 1]),
        "rows": LIST | wrong(none=None, empty=[], few=[True, False]),
        "group": wrong(
            none=None, text="abcd", past=9, one_group=[0, 0, 0, 0], few=[0, 1], table=[[0, 1]], half=0.5, lists=[[0], 1]
        ),
    }
    for name, given in right.items():
        made = partial(_kept, getattr(constraints, name))
        made(**given)
        yield from calls(name, made, given, **{argument: values[argument] for argument in given})
    of_label = {"weights": TABLE | wrong(turned=np.ones((K, 4))), "upper": but(REAL, "negative")}
    yield from calls(
        "LabelConstraint", partial(_kept, LabelConstraint), {"weights": np.ones((4, K)), "upper": 1.0}, **of_label
    )


def _kept(make: Callable[..., Any], **given: Any) -> None:
    open_oracle(FiniteClass(LABELINGS, K), CONTEXTS, constraints=[make(**given)])


def names() -> Iterator[Case]:
    """Yield names that nothing carries: in the registry, the batteries, solvers and files."""
    odd = wrong(
        unknown="no_such_thing", number=5, none=None, empty="", a_list=["x"], colon=":",
        no_module="no_such_module:Thing", long="x" * 10**5,
    )  # fmt: skip
    kinds = but(odd, "colon", "no_module")
    for kind in ("policies", "learner", "solver", "environment", "relaxation", "oracle"):
        yield from calls(f"{kind}: registry.load", registry.load, {"kind": kind}, name=odd)
    for kind in ("policies", "learner", "solver", "environment"):
        entries = but(odd, "a_list") if kind == "learner" else odd
        yield from calls(f"{kind}: testing.battery", testing.battery, {"kind": kind}, entry=entries)
    yield from calls("registry.names", registry.names, {}, kind=kinds)
    yield from calls("registry.load", registry.load, {"name": "exp4"}, kind=kinds)
    yield from calls("testing.battery", testing.battery, {"entry": "exp4"}, kind=kinds)
    yield from calls("load_solver", load_solver, {}, spec=odd)
    yield from calls("bistro_plus", partial(learner, "bistro_plus"), {}, noise=odd)
    yield from calls("doubling", partial(learner, "doubling"), {}, inner=odd)
    folders = wrong(missing="no_such_folder", none=None, number=3, a_list=[], folders=["no_such_folder"], empty="")
    yield from calls("milpcb.load", milpcb.load, {}, directory=folders)
    yield from calls("rng.child", lambda seed: rng.child(seed, "x"), {}, seed=but(WHOLE, "huge"))


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
