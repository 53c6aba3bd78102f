"""Wrong calls of what learns from tables and logs: estimators, offline, restrictions, growing oracles, exports."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from milpcb import LabelConstraint, estimators, offline, open_oracle
from milpcb.offline import restrictions as restricting
from milpcb.oracles.growing import GrowingOracle
from policies import DecisionTrees, from_json
from tests.stress.misuse_values import CHOICE, CUTS, FLAG, REAL, ROW, TABLE, WHOLE, Case, Wrong, but, calls, wrong

N, NAMES = 40, ["treat", "wait"]
RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (N, 2)).astype(float)
DONE = [NAMES[k % 2] for k in range(N)]
Y = RNG.normal(size=N)
TREES = DecisionTrees(2, depth=1, thresholds=[[0.5], [1.5]])

BETWEEN = [*REAL, *wrong(zero=0.0, one=1.0, more=1.5)]
SHARE = [*REAL, *wrong(more=1.5)]
COUNT = [*WHOLE, *wrong(zero=0)]
SEED = but(WHOLE, "huge")
PER_ROW = wrong(
    text="abc", number=3, few=[1.0, 2.0], table=np.ones((N, 3)), nan=np.full(N, np.nan), inf=np.full(N, np.inf),
    words=["a"] * N, ragged=[[1.0], [1.0, 2.0]], a_dict={"a": 1}, an_object=object(), complex=np.ones(N) * 1j,
    dates=np.zeros(N, "datetime64[s]"), a_set={1.0},
)  # fmt: skip
NO_SCORES = wrong(none=None, text="dr", number=3, a_table=np.ones((N, 2)), a_class=offline.Scores, a_list=[1])
NO_CLASS = wrong(none=None, text="trees", number=3, a_class=DecisionTrees, other_k=DecisionTrees(3, 1))
NO_REFERENCE = wrong(none=None, text="wait", number=3, a_list=[0.5, 0.5], a_class=offline.Reference)
NO_RULES = wrong(number=5, text="abc", numbers=[1], nones=[None], few_rows=[LabelConstraint(np.ones((4, 2)), 1.0)])
NO_ACTIONS = wrong(
    number=3, few=["wait"] * 3, unknown=["cure"] * N, past=[7] * N, halves=[0.5] * N, nones=[None] * N,
        nan=[np.nan] * N,
    text="abc", an_object=object(), cube=np.ones((2, 2, 2)), sums=np.ones((N, 2)), names={"cure": 1.0, "wait": 0.0},
    few_rows=np.full((3, 2), 0.5), ragged=[[1], [1, 2]], a_set={1}, words=[["a", "b"]] * N,
)  # fmt: skip
NO_ROWS_TABLE = but(TABLE, "one_dimension")


@cache
def log(**options: Any) -> Any:
    """Return a log of even chances."""
    return offline.read_log(X, DONE, reward=Y, propensity=[0.5, 0.5], **options)


@cache
def scored() -> Any:
    """Return its scores."""
    return offline.scores(log(), "snips")


@cache
def reference() -> Any:
    """Return what gains are over."""
    return offline.best_reference(scored())


def logs() -> Iterator[Case]:
    """Yield logs, scores, values and rows kept aside."""
    right = {"features": X, "action": DONE, "reward": Y, "propensity": [0.5, 0.5]}
    no_chances = but(PER_ROW, "a_set")
    no_chances += wrong(
        sums=[0.5, 0.6], zero=np.zeros(N), negative=[-0.5, 1.5], unknown="even", names={"cure": 0.5, "wait": 0.5}
    )
    yield from calls("read_log", offline.read_log, right, {
        "features": wrong(none=None, few=X[:3], number=3, text="abc"),
        "action": wrong(none=None, few=DONE[:3], number=3, text="abc", one=["wait"] * N, missing=[None, *DONE[1:]],
                        table=np.ones((N, 2)), dose=Y, ragged=[[1], [1, 2]]),
        "reward": [*PER_ROW, *wrong(none=None)],
        "cost": [Wrong("both", Y)],
        "propensity": no_chances,
        "actions": wrong(one=["wait"], other=["a", "b"], more=["wait", "treat", "cure"], twice=["wait", "wait"],
            number=3,
                         text="ab"),
        "group": wrong(few=[1, 2], number=3, text="abc", one=[1] * N, table=np.ones((N, 2)), missing=[None] * N),
    })  # fmt: skip
    yield from calls("scores", offline.scores, {"log": log(), "method": "snips"}, {
        "log": wrong(none=None, text="log", number=3, table=X, a_class=offline.Log),
        "method": CHOICE,
        "cv": [*WHOLE, *wrong(one=1, many=1000, few=np.array([0, 1]), halves=np.ones(N) / 2)],
        "seed": SEED,
        "min_propensity": [*REAL, *wrong(one=1.0)],
        "treatment_cost": [*PER_ROW[:2], *PER_ROW[3:], *wrong(unknown={"cure": 1.0}, text_of={"wait": "much"},
            nan_of={"wait": np.nan})],
        "sample_weight": [*PER_ROW, *wrong(negative=-np.ones(N), zero=np.zeros(N))],
    })  # fmt: skip
    yield from calls("scores dr", offline.scores, {"log": log(), "method": "dr"}, {
        "model_outcome": wrong(text="forest", number=3, a_class=dict, a_list=[1]),
    })  # fmt: skip
    right = {"scores": scored(), "policy": DONE}
    yield from calls("evaluate", offline.evaluate, right, {
        "scores": NO_SCORES,
        "policy": [*NO_ACTIONS, *wrong(none=None)],
        "interval": CHOICE,
        "level": BETWEEN,
        "outcome_range": wrong(number=3, text="ab", one=[1.0], turned=(1.0, 0.0), narrow=(0.0, 0.1), nan=(np.nan, 1.0)),
        "reference": but(NO_REFERENCE, "none"),
        "in_sample": FLAG,
    })  # fmt: skip
    bootstrap = {**right, "interval": "bootstrap"}
    yield from calls("evaluate by bootstrap", offline.evaluate, bootstrap, {"seed": SEED})
    policy = open_oracle(TREES, X).minimise(scored().costs).policy
    few = but(NO_ROWS_TABLE, "none")
    yield from calls("evaluate a tree", offline.evaluate, {"scores": scored(), "policy": policy}, {"contexts": few})
    right = {"procedure": lambda _scores, _rows: ["wait"] * N, "log": log(), "method": "snips"}
    yield from calls("cross_evaluate", offline.cross_evaluate, right, {
        "procedure": wrong(none=None, text="tree", number=3, returns_none=lambda _scores, _rows: None),
        "log": wrong(none=None, text="log", number=3),
        "folds": [*WHOLE, *wrong(one=1)],
        "level": BETWEEN,
        "method": CHOICE,
    })  # fmt: skip
    yield from calls("kept_aside", offline.kept_aside, {"log": log(), "share": 0.3}, {
        "log": wrong(none=None, text="log", number=3), "share": [*BETWEEN, *wrong(tiny=1e-9)], "seed": SEED,
    })  # fmt: skip
    yield from calls("LoggedRounds", offline.LoggedRounds, {"log": log(), "outcome_range": (-9.0, 9.0)}, {
        "log": wrong(none=None, text="log", number=3),
        "outcome_range": wrong(number=3, text="ab", one=[1.0], turned=(1.0, 0.0), narrow=(0.0, 0.1), none=None),
        "seed": SEED,
    })  # fmt: skip


def claims() -> Iterator[Case]:
    """Yield what is claimed after a search, and limits with confidence."""
    right = {"policies": TREES, "contexts": X, "scores": scored()}
    searched = {
        "policies": NO_CLASS, "contexts": [*NO_ROWS_TABLE, *wrong(few=X[:3])], "scores": NO_SCORES,
        "kind": CHOICE, "constraints": NO_RULES, "seed": SEED, "policy": wrong(text="tree", number=3, a_list=[1]),
    }  # fmt: skip
    yield from calls("inference", offline.inference, {**right, "draws": 20}, {
        **searched, "draws": [*COUNT, *wrong(few=3)], "level": BETWEEN, "holdout": [*SHARE, *wrong(one=1.0)], "small": [
            value for value in REAL if value.value is not None],
    })  # fmt: skip
    yield from calls("stability", offline.stability, {**right, "resamples": 2}, {**searched, "resamples": COUNT})
    yield from calls("no_worse_than", offline.no_worse_than, {"than": "wait", "outcome": scored(), "draws": 20},
        {
        "than": but(NO_ACTIONS, "number", "nones"),
        "outcome": NO_SCORES, "confidence": BETWEEN, "draws": [*COUNT, *wrong(few=3)],
        "margin": but(REAL, "negative"), "seed": SEED,
    })  # fmt: skip
    limit = offline.no_worse_than("wait", outcome=scored(), draws=20)
    yield from calls("no_worse_than().rule", limit.rule, {"policies": TREES, "contexts": X}, {
        "policies": NO_CLASS, "contexts": searched["contexts"], "constraints": NO_RULES, "kind": CHOICE,
        "actions": wrong(other=["a", "b"], one=["wait"], more=["wait", "treat", "cure"]),
    })  # fmt: skip
    yield from calls("best_reference", offline.best_reference, {"scores": scored()}, {
        "scores": NO_SCORES, "constraints": NO_RULES,
    })  # fmt: skip
    ends = {**right, "reference": reference(), "labels": [np.zeros(N, dtype=int)], "draws": 20}
    yield from calls("LowerEnds.of", _ends, ends, {
        **{name: searched[name] for name in ("policies", "contexts", "scores", "kind", "constraints", "seed")},
        "reference": NO_REFERENCE, "level": BETWEEN, "draws": COUNT,
        "labels": wrong(none=None, number=3, few=[[0, 1]], flat=[0] * N, past=[[7] * N], halves=[[0.5] * N],
                        negative=[[-1] * N], words=[["wait"] * N], ragged=[[0], [0, 1]]),
    })  # fmt: skip


def _ends(**arguments: Any) -> None:
    asked = {name: arguments.pop(name) for name in ("labels", "draws")}
    level = arguments.pop("level", 0.9)
    offline.LowerEnds(**arguments).of(**asked, level=level)


def prices_and_fronts() -> Iterator[Case]:
    """Yield questions, restrictions, prices and fronts."""
    costs = RNG.integers(0, 5, (N, 2)).astype(float)
    no_costs = [
        *but(TABLE, "none"),
        *wrong(few=costs[:3], turned=costs.T, none=None),
    ]
    asked = {"policies": TREES, "contexts": X}
    one = {**asked, "costs": costs, "restrictions": [restricting.Without((0,))]}
    yield from calls("Question", _priced, one, {
        "policies": NO_CLASS, "contexts": [*NO_ROWS_TABLE, *wrong(few=X[:3])], "constraints": NO_RULES, "kind": CHOICE,
        "costs": no_costs,
        "restrictions": wrong(none=None, text="abc", number=3, numbers=[1], one=restricting.Without((0,)),
            a_class=[restricting.Without]),
    })  # fmt: skip
    columns = wrong(none=None, text="a", empty_text="", number=0, past=(9,), negative=(-1,), half=(0.5,),
        words=("age",),
                    true=(True,), nan=(np.nan,), empty=())  # fmt: skip
    pairs = wrong(none=None, number=3, text="ab", flat=[0, 1], past=[(0, N)], negative=[(-1, 0)], halves=[(0.5, 1)],
                  three=[(0, 1, 2)], words=[("a", "b")], nan=[(np.nan, 1)])  # fmt: skip
    yield from calls("Without", _restricted(restricting.Without), {"columns": (0,)}, {"columns": columns})
    yield from calls("First", _restricted(restricting.First), {"columns": (0,)}, {"columns": columns})
    yield from calls("Option", _restricted(restricting.Option), {"options": {"depth": 1}}, {
        "options": wrong(none=None, text="depth", number=1, unknown={"dept": 1}, bad={"depth": -1}, a_list=["depth"],
                         number_key={1: 1}),
    })  # fmt: skip
    yield from calls("Monotone", _restricted(restricting.Monotone), {"columns": {0: 1}}, {
        "columns": wrong(none=None, text="a", number=0, past={9: 1}, way={0: 2}, word={0: "more"}, a_list=[0],
                         words={"age": 1}, half={0.5: 1}, nan={0: np.nan}),
    })  # fmt: skip
    yield from calls("InOrder", _restricted(restricting.InOrder), {"joints": []}, {
        "joints": wrong(none=None, text="a", number=0, numbers=[1], empty=[]),
    })  # fmt: skip
    no_rules = {"constraints": [*NO_RULES, *wrong(none=None)]}
    yield from calls("Under", _restricted(restricting.Under), {"constraints": ()}, no_rules)
    kept = {"labels": np.zeros(N, dtype=int), "rows": np.ones(N, dtype=bool), "n_actions": 2}
    yield from calls("keep", _restricted(restricting.keep), kept, {
        "labels": wrong(none=None, text="abc", number=0, few=[0, 1], past=[7] * N, halves=[0.5] * N, words=["wait"] * N,
                        ragged=[[0], [0, 1]], nan=[np.nan] * N, table=np.zeros((N, 2))),
        "rows": wrong(none=None, text="abc", number=1, few=[True], words=["a"] * N, table=np.ones((N, 2)),
            nan=[np.nan] * N,
                      ragged=[[0], [0, 1]], numbers=np.arange(N)),
        "n_actions": [*WHOLE, *wrong(zero=0, one=1)],
    })  # fmt: skip
    yield from calls("alike", _restricted(restricting.alike), {"pairs": [(0, 1)], "n": N, "n_actions": 2}, {
        "pairs": pairs, "n": [*WHOLE, *wrong(zero=0, fewer=3)], "n_actions": [*WHOLE, *wrong(zero=0, one=1)],
    })  # fmt: skip
    question = restricting.Question(TREES, X)
    front = {"question": question, "costs_a": costs, "costs_b": costs[:, ::-1]}
    no_question = wrong(none=None, text="q", number=3, the_class=TREES)
    for name, call in {"pareto": restricting.pareto, "supported": restricting.supported}.items():
        yield from calls(
            name, call, front, {"question": no_question, "costs_a": no_costs, "costs_b": no_costs, "most": COUNT}
        )
    given = {"question": question, "scores": scored(), "reference": reference(), "draws": 20}
    of_band = {"question": no_question, "scores": NO_SCORES, "reference": NO_REFERENCE, "level": BETWEEN,
        "draws": COUNT,
               "seed": SEED}  # fmt: skip
    yield from calls("gain_band", restricting.gain_band, given, of_band)
    priced = {**given, "restrictions": [restricting.Without((0,))]}
    yield from calls(
        "price_intervals",
        restricting.price_intervals,
        priced,
        {**of_band, "restrictions": wrong(none=None, text="abc", number=3, numbers=[1])},
    )
    made = {"question": question, "costs": costs, "restrictions": [restricting.Without((0,))]}
    yield from calls(
        "prices by a band",
        restricting.prices,
        made,
        {"question": no_question, "band": wrong(text="b", number=3, the_scores=scored())},
    )


def _priced(costs: Any, restrictions: Any, **asked: Any) -> None:
    restricting.prices(restricting.Question(**asked), costs, restrictions)


def _restricted(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call for the price of a restriction."""

    def call(**arguments: Any) -> None:
        restricting.prices(restricting.Question(TREES, X), np.ones((N, 2)), [make(**arguments)])

    return call


def growing() -> Iterator[Case]:
    """Yield growing oracles, and the policies near the best."""
    yield from calls("GrowingOracle", GrowingOracle, {"policies": TREES, "contexts": X}, {
        "policies": but(NO_CLASS, "other_k"),
        "contexts": but(NO_ROWS_TABLE, "none"),
        "kind": CHOICE, "solver": but(CHOICE, "none"), "constrained": FLAG,
    })  # fmt: skip
    made = partial(GrowingOracle, TREES, X)
    m = made().n_contexts
    costs = [*but(TABLE, "none"), *wrong(none=None, few=np.ones((m + 1, 2)))]
    for name, values in {"rows": NO_ROWS_TABLE, "extend": NO_ROWS_TABLE, "minimise": costs, "value": costs,
                         "hold": NO_RULES, "under": NO_RULES, "table": [*CHOICE[:2], *CHOICE[3:]]}.items():  # fmt: skip
        for value in values:
            yield Case(f"{name}({value.name})", partial(_ask, made, name, value.value))
    zero = np.zeros((m, 2))
    for value in [*ROW[:1], *wrong(past=99), *ROW[2:]]:
        yield Case(f"profile(row = {value.name})", partial(_ask, made, "profile", zero, value.value))
        call = partial(_ask, made, "action_weights", zero, value.value, 0.1)
        yield Case(f"action_weights(row = {value.name})", call)
    for value in REAL:
        yield Case(f"near_best(slack = {value.name})", partial(_ask, made, "near_best", zero, value.value))
        call = partial(_ask, made, "action_weights", zero, 0, value.value)
        yield Case(f"action_weights(rate = {value.name})", call)
    for kind in ("search", "milp", "enumeration"):
        oracle = open_oracle(TREES, X, kind=kind)
        for value in REAL:
            call = partial(oracle.near_best, np.zeros((N, 2)), value.value)
            yield Case(f"{kind}: near_best(slack = {value.name})", call)
        for value in TABLE:
            call = partial(oracle.near_best, value.value, 1.0)
            yield Case(f"{kind}: near_best(costs = {value.name})", call)
        near = oracle.near_best(np.arange(2.0 * N).reshape(N, 2), 5.0)
        for value in COUNT:
            yield Case(f"{kind}: different({value.name})", partial(near.different, value.value))
        for value in wrong(
            none=None, text="a", number=3, past=[N], halves=[0.5], words=["a"], negative=[-1], table=[[0]]
        ):
            yield Case(f"{kind}: played({value.name})", partial(near.played, value.value))


def _ask(make: Callable[[], Any], name: str, *arguments: Any) -> Any:
    return getattr(make(), name)(*arguments)


def exports() -> Iterator[Case]:
    """Yield what leaves a policy, and what comes back."""
    policy: Any = open_oracle(TREES, X).minimise(scored().costs).policy
    actions = wrong(
        text="ab", number=3, one=["a"], nones=[None, None], nan=[np.nan, 1.0],
        lists=[[1], [2]], objects=[object(), object()], a_dict={0: "a"}, inf=[np.inf, 1.0], a_set={"a",
            "b"})  # fmt: skip
    names = wrong(
        number=3, none=None, empty="", blank="a b", keyword="class", digits="1a", a_list=["f"], code="f():\n x"
    )
    yield from calls("to_sql", policy.to_sql, {}, {"actions": actions})
    yield from calls("to_python", policy.to_python, {}, {"actions": actions, "name": names})
    fitted = estimators.OptimalPolicyTree(max_depth=1).fit(X, np.ones((N, 2)) * [1, 2])
    yield from calls("estimator.to_python", fitted.to_python, {}, {"name": names})
    texts = wrong(none=None, number=3, empty="", words="abc", a_list="[]", null="null", other='{"class": "x"}',
        a_dict={},
                  bytes=b"{}", deep="[" * 10**5, half=policy.to_json()[:40], nan="NaN")  # fmt: skip
    for name, call in {"policies.from_json": from_json, "estimators.from_json": estimators.from_json}.items():
        for value in texts:
            yield Case(f"{name}({value.name})", partial(call, value.value))


COSTS = RNG.normal(size=(N, 2))
LOGGED = {"action": DONE, "reward": Y, "propensity": "randomised"}


def settings() -> Iterator[Case]:
    """Yield wrong parameters of estimators."""
    shared = {
        "features": wrong(number=3, text="y", unknown=["y"], past=[9], negative=[-9], none_of=[], twice=["x0", "x0"],
                          halves=[0.5]),
        "missing": CHOICE, "most_subsets": COUNT, "kind": CHOICE,
        "constraints": wrong(number=5, text="abc", numbers=[1], none=None, nones=[None],
                             label=[LabelConstraint(COSTS, 1.0)]),
        "monotone": wrong(number=3, text="x0", way={"x0": "up"}, unknown={"y": "more"}, a_list=["x0"]),
    }  # fmt: skip
    by_solver = {
        "solver": but(CHOICE, "none"),
        "time_limit": but(REAL, "none", "inf"), "gap": REAL,
    }  # fmt: skip
    cuts = but(CUTS, "true")
    own: dict[str, dict[str, list[Wrong]]] = {
        "PolicyTree": {"max_depth": [*WHOLE, *wrong(deep=99)], "min_samples_leaf": COUNT,
                       "max_leaves": but(COUNT, "none"), "thresholds": cuts,
                           **shared},
        "ThresholdRule": {"max_cuts": COUNT, "thresholds": cuts},
        "RuleList": {"max_rules": COUNT, "thresholds": cuts},
        "ScoringRule": {"max_tests": but(COUNT, "none"), "max_weight": COUNT},
        "Policy": {"policies": wrong(none=None, text="no_such", number=3, a_class=DecisionTrees)},
    }  # fmt: skip
    for name, values in own.items():
        call = partial(_set, f"Optimal{name}", y=COSTS)
        yield from calls(f"Optimal{name}", call, {}, values)
    call = partial(_set, "OptimalPolicyTree", y=COSTS)
    yield from calls("OptimalPolicyTree by a solver", call, {"kind": "milp"}, by_solver)
    priced = [*PER_ROW[:2], *PER_ROW[3:], *wrong(unknown={"cure": 1.0}, column={"wait": "price"})]
    yield from calls("LoggedPolicyTree", partial(_set, "LoggedPolicyTree", **LOGGED), {"method": "snips"}, {
        "method": CHOICE, "cv": [*WHOLE, *wrong(one=1)], "min_propensity": [*REAL, *wrong(one=1.0)],
        "random_state": SEED, "objective": CHOICE, "treatment_cost": priced,
    })  # fmt: skip


def fits() -> Iterator[Case]:
    """Yield wrong tables, targets and weights, and wrong questions to what is fitted."""
    tables = but(TABLE, "one_dimension")
    read = ("nan", "words", "digits_as_text")  # as numbers that are missing, and as strings
    targets = [value for value in tables if value.name not in read[1:]]
    targets += wrong(effects=Y, few=COSTS[:3], none=None, nones=[None] * N)
    weights = but(PER_ROW, "number")
    yield from calls("OptimalPolicyTree().fit", partial(_fitted, "OptimalPolicyTree", {}), {"X": X, "y": COSTS},
        {
        "X": [*[value for value in tables if value.name not in read], *wrong(few=X[:3])], "y": targets,
        "sample_weight": [*weights, *wrong(negative=-np.ones(N), zero=np.zeros(N))],
    })  # fmt: skip
    fit = partial(_fitted, "LoggedPolicyTree", {"method": "snips"})
    yield from calls("LoggedPolicyTree().fit", fit, LOGGED, {"reward": PER_ROW, "propensity": PER_ROW})
    for value in targets:
        yield Case(f"score(y = {value.name})", partial(_then, "score", X, value.value))
    for method in ("predict", "predict_value", "apply", "decision_path", "problem"):
        for value in tables:
            yield Case(f"{method}({value.name})", partial(_then, method, value.value))
    curve = {"estimator": estimators.OptimalPolicyTree(max_depth=1), "X": X, "y": COSTS, "action": 1, "shares": [0.5]}
    yield from calls("budget_curve", estimators.budget_curve, curve, {
        "estimator": wrong(none=None, text="tree", number=3, a_class=estimators.OptimalPolicyTree),
        "action": wrong(none=None, unknown="cure", past=7, half=0.5), "X": tables,
        "shares": wrong(none=None, number=0.5, text="ab", empty=[], more=[1.5], negative=[-1.0], nan=[np.nan],
                        words=["a"]),
    })  # fmt: skip


def named() -> Iterator[Case]:
    """Yield wrong constraints by names."""
    right = {"share_at_most": {"action": 1, "share": 0.5}, "parity": {"action": 1, "group": "x0", "delta": 0.1},
             "mean_at_most": {"amounts": {1: 1.0}, "bound": 1.0}, "never": {"action": 1,
                 "where": "x0 = 1"}}  # fmt: skip
    values = {
        "action": wrong(unknown="cure", past=7, half=0.5, none=None, a_list=[1]), "share": SHARE, "delta": SHARE,
        "group": wrong(unknown="sex", number=3, none=None),
        "bound": but(REAL, "negative"),
        "amounts": wrong(none=None, text="a", number=3, empty={}, unknown={"cure": 1.0}, words={1: "much"},
                         nan={1: np.nan}),
        "where": wrong(none=None, number=3, empty="", words="x0", unknown="sex = f", half="x0 =", a_list=["x0 = 1"]),
    }  # fmt: skip
    for name, arguments in right.items():
        yield from calls(name, partial(_held, name), arguments, {key: values[key] for key in arguments})


def _fitted(name: str, options: Mapping[str, Any], X: Any = X, **given: Any) -> Any:
    return getattr(estimators, name)(**options).fit(X, **given)


def _then(method: str, *arguments: Any) -> Any:
    return getattr(_fitted("OptimalPolicyTree", {"max_depth": 1}, y=np.column_stack([X[:, 0], 1 - X[:, 0]])), method)(
        *arguments
    )


def _held(name: str, **arguments: Any) -> Any:
    rule = getattr(estimators, name)(**arguments)
    return _fitted("OptimalPolicyTree", {"max_depth": 1, "constraints": [rule]}, y=COSTS)


def _set(
    name: str, *, y: Any = None, action: Any = None, reward: Any = None, propensity: Any = None, **options: Any
) -> Any:
    given = {"y": y} if y is not None else {"action": action, "reward": reward, "propensity": propensity}
    return _fitted(name, options, **given)


OFFLINE: list[Callable[[], Iterator[Case]]] = [logs, claims, prices_and_fronts, growing, exports, settings, fits, named]
