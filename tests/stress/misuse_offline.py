"""Wrong calls of what learns from tables and logs: estimators, offline, restrictions, growing oracles, exports."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from milpcb import LabelConstraint, estimators, offline, open_oracle
from milpcb.offline import restrictions as restricting
from milpcb.oracles.growing import GrowingOracle
from policies import DecisionTrees, from_json
from tests.stress.misuse_values import CHOICE, FLAG, REAL, ROW, TABLE, USUAL, WHOLE, Case, Wrong, but, calls, wrong

N, NAMES = 40, ["treat", "wait"]
RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (N, 2)).astype(float)
DONE = [NAMES[k % 2] for k in range(N)]
Y, COSTS = RNG.normal(size=N), RNG.normal(size=(N, 2))
INTEGERS = RNG.integers(0, 5, (N, 2)).astype(float)
TREES = DecisionTrees(2, depth=1, thresholds=[[0.5], [1.5]])
LOGGED = {"y": DONE, "reward": Y, "propensity": "randomised"}
FITTED = {*LOGGED, "y", "sample_weight"}  # arguments of fit


COUNT = WHOLE | wrong(zero=0)
PER_ROW = wrong(
    text="abc", number=3, few=[1.0, 2.0], table=np.ones((N, 3)), nan=np.full(N, np.nan), inf=np.full(N, np.inf),
    words=["a"] * N, ragged=[[1.0], [1.0, 2.0]], a_dict={"a": 1}, an_object=object(), a_set={1.0},
    complex=np.ones(N) * 1j, dates=np.zeros(N, "datetime64[s]"),
)  # fmt: skip
NO_ACTIONS = wrong(
    number=3, few=["wait"] * 3, unknown=["cure"] * N, past=[7] * N, halves=[0.5] * N, nones=[None] * N,
    nan=[np.nan] * N, text="abc", an_object=object(), cube=np.ones((2, 2, 2)), sums=np.ones((N, 2)),
    names={"cure": 1.0, "wait": 0.0}, few_rows=np.full((3, 2), 0.5), ragged=[[1], [1, 2]], a_set={1},
    words=[["a", "b"]] * N,
)  # fmt: skip
TABLES = but(TABLE, "one_dimension")
PRICED = but(PER_ROW, "few") | wrong(unknown={"cure": 1.0})  # two numbers are one for each action
NO_NUMBERS = wrong(none=None, text="abc", number=0, few=[0, 1], words=["a"] * N, ragged=[[0], [0, 1]], nan=[np.nan] * N)
BY_KIND = {  # wrong values of arguments that mean the same wherever they are taken
    "level confidence": REAL | wrong(zero=0.0, one=1.0, more=1.5),
    "share delta": REAL | wrong(more=1.5),
    "seed random_state": but(WHOLE, "huge"),
    "draws resamples most most_subsets max_cuts max_rules max_weight min_samples_leaf": COUNT,
    "max_tests max_leaves": but(COUNT, "none"),
    "kind method interval missing objective": CHOICE,
    "solver table": but(CHOICE, "none"),
    "in_sample constrained": FLAG,
    "margin bound": but(REAL, "negative"),
    "gap slack rate": REAL,
    "cv folds": WHOLE | wrong(one=1),
    "n_actions": WHOLE | wrong(zero=0, one=1),
    "min_propensity": REAL | wrong(one=1.0),
    "log": wrong(none=None, text="log", number=3),
    "scores outcome": wrong(none=None, text="dr", number=3, a_table=COSTS, a_class=offline.Scores, a_list=[1]),
    "policies": wrong(none=None, text="trees", number=3, a_class=DecisionTrees, other_k=DecisionTrees(3, 1)),
    "contexts": TABLES | wrong(few=X[:3]),
    "reference": wrong(none=None, text="wait", number=3, a_list=[0.5, 0.5], a_class=offline.Reference),
    "constraints": wrong(
        number=5, text="abc", numbers=[1], nones=[None], few_rows=[LabelConstraint(np.ones((4, 2)), 1)]
    ),
    "policy": wrong(text="tree", number=3, a_list=[1]),
    "question": wrong(none=None, text="q", number=3, the_class=TREES),
    "restrictions": wrong(none=None, text="abc", number=3, numbers=[1], no_question={"a": TREES}),
    "costs costs_a costs_b": TABLE | wrong(few=INTEGERS[:3], turned=INTEGERS.T),
    "columns": wrong(
        none=None, text="a", empty_text="", number=0, past=(9,), negative=(-1,), half=(0.5,), words=("age",),
        true=(True,), nan=(np.nan,), empty=(),
    ),
    "outcome_range": wrong(number=3, text="ab", one=[1.0], turned=(1.0, 0.0), narrow=(0.0, 0.1)),
    "sample_weight": PER_ROW | wrong(negative=-np.ones(N), zero=np.zeros(N)),
    "thresholds": wrong(text="many", negative=-1, half=1.5, nan=np.nan, words=[["a"], ["b"]], an_object=object()),
}  # fmt: skip
USUAL |= {name: values for names, values in BY_KIND.items() for name in names.split()}


log = cache(lambda: offline.read_log(X, DONE, reward=Y, propensity=[0.5, 0.5]))  # of even chances
scored = cache(lambda: offline.scores(log(), "snips"))
reference = cache(lambda: offline.best_reference(scored()))


def of_values(name: str, call: Callable[[Any], Any], values: Wrong) -> Iterator[Case]:
    for what, value in values.items():
        yield f"{name}({what})", partial(call, value)


def logs() -> Iterator[Case]:
    """Yield logs, scores, values and rows kept aside."""
    right = {"features": X, "action": DONE, "reward": Y, "propensity": [0.5, 0.5]}
    yield from calls("read_log", offline.read_log, right,
        features=wrong(none=None, few=X[:3], number=3, text="abc"),
        action=wrong(
            none=None, few=DONE[:3], number=3, text="abc", one=["wait"] * N, missing=[None, *DONE[1:]],
            table=np.ones((N, 2)), dose=Y, ragged=[[1], [1, 2]],
        ),
        reward=PER_ROW | wrong(none=None), cost={"both": Y},
        propensity=but(PER_ROW, "a_set") | wrong(
            sums=[0.5, 0.6], zero=np.zeros(N), negative=[-0.5, 1.5], unknown="even", names={"cure": 1, "wait": 0}
        ),
        actions=wrong(
            one=["wait"], other=["a", "b"], more=["wait", "treat", "cure"], twice=["wait", "wait"], number=3,
            text="ab",
        ),
        group=wrong(few=[1, 2], number=3, text="abc", one=[1] * N, table=np.ones((N, 2)), missing=[None] * N),
    )  # fmt: skip
    usual = "method seed min_propensity sample_weight"
    yield from calls("scores", offline.scores, {"log": log(), "method": "snips"}, usual,
        log=USUAL["log"] | wrong(table=X, a_class=offline.Log),
        cv=USUAL["cv"] | wrong(many=1000, few=np.array([0, 1]), halves=np.ones(N) / 2),
        treatment_cost=PRICED | wrong(text_of={"wait": "much"}, nan_of={"wait": np.nan}),
    )  # fmt: skip
    models = wrong(text="forest", number=3, a_class=dict, a_list=[1])
    yield from calls("scores dr", offline.scores, {"log": log(), "method": "dr"}, model_outcome=models)
    right = {"scores": scored(), "policy": DONE}
    yield from calls("evaluate", offline.evaluate, right, "scores interval level in_sample",
        policy=NO_ACTIONS | wrong(none=None), reference=but(USUAL["reference"], "none"))  # fmt: skip
    right["policy"] = open_oracle(TREES, X).minimise(scored().costs).policy
    yield from calls("evaluate a tree", offline.evaluate, right, contexts=but(TABLES, "none"))
    shares = USUAL["level"] | wrong(tiny=1e-9)
    yield from calls("kept_aside", offline.kept_aside, {"log": log(), "share": 0.3}, "log seed", share=shares)
    rounds = {"log": log(), "outcome_range": (-9.0, 9.0)}
    yield from calls("LoggedRounds", offline.LoggedRounds, rounds, "log seed",
        outcome_range=USUAL["outcome_range"] | wrong(none=None))  # fmt: skip


def claims() -> Iterator[Case]:
    """Yield what is claimed after a search, and limits with confidence."""
    draws = COUNT | wrong(few=3)
    right = {"policies": TREES, "contexts": X, "scores": scored()}
    searched = "policies contexts scores kind constraints seed"
    yield from calls("inference", offline.inference, {**right, "draws": 20}, f"{searched} policy level",
        draws=draws, small=but(REAL, "none"))  # fmt: skip
    yield from calls("stability", offline.stability, {**right, "resamples": 2}, f"{searched} policy resamples")
    limit = {"than": "wait", "outcome": scored(), "draws": 20}
    yield from calls("no_worse_than", offline.no_worse_than, limit, "outcome confidence margin seed",
        than=but(NO_ACTIONS, "number", "nones"), draws=draws)  # fmt: skip
    yield from calls("rule", offline.no_worse_than(**limit).rule, {"policies": TREES, "contexts": X},
        "policies contexts",
        actions=wrong(other=["a", "b"], one=["wait"], more=["wait", "treat", "cure"]))  # fmt: skip
    yield from calls("best_reference", offline.best_reference, {"scores": scored()}, "scores constraints")
    ends = {"question": restricting.Question(TREES, X), "scores": scored(), "reference": reference()}
    ends |= {"labels": [np.zeros(N, dtype=int)], "draws": 20}
    yield from calls("LowerEnds.of", _ends, ends, "question scores seed reference level draws",
        labels=wrong(
            none=None, number=3, few=[[0, 1]], flat=[0] * N, past=[[7] * N], halves=[[0.5] * N], negative=[[-1] * N],
            words=[["wait"] * N], ragged=[[0], [0, 1]],
        ))  # fmt: skip


def _ends(labels: Any, draws: Any, level: Any = 0.9, **arguments: Any) -> None:
    offline.LowerEnds(**arguments).of(labels, draws=draws, level=level)


def prices_and_fronts() -> Iterator[Case]:
    """Yield questions, restrictions, prices and fronts."""
    question = restricting.Question(TREES, X)
    restrictions = {"blind": question.without(0)}
    one = {"policies": TREES, "contexts": X, "costs": INTEGERS, "restrictions": restrictions}
    yield from calls("Question", _priced, one, "policies contexts constraints kind costs restrictions")
    yield from of_values("without", question.without, but(USUAL["columns"], "number"))
    yield from of_values("with_options", lambda depth: question.with_options(depth=depth).oracle, WHOLE)
    yield from of_values("under", lambda rules: question.under(rules).oracle, USUAL["constraints"] | wrong(none=None))
    front = {"question": question, "costs_a": INTEGERS, "costs_b": INTEGERS[:, ::-1]}
    yield from calls("pareto", restricting.pareto, front, "question costs_a costs_b most")
    given = {"question": question, "scores": scored(), "reference": reference(), "draws": 20}
    yield from calls("gain_band", restricting.gain_band, given, "question scores reference level draws seed")
    banded = {"question": question, "costs": INTEGERS, "restrictions": restrictions}
    yield from calls("prices by a band", restricting.prices, banded, "question",
        band=wrong(text="b", number=3, the_scores=scored()))  # fmt: skip


def _priced(costs: Any, restrictions: Any, **asked: Any) -> None:
    restricting.prices(restricting.Question(**asked), costs, restrictions)


def growing() -> Iterator[Case]:
    """Yield growing oracles, and the policies near the best."""
    made = partial(GrowingOracle, TREES, X)
    m = made().n_contexts
    yield from calls("GrowingOracle", GrowingOracle, {"policies": TREES, "contexts": X},
        "kind constrained", policies=but(USUAL["policies"], "other_k"),
        contexts=but(TABLE, "none", "one_dimension"))  # fmt: skip
    costs, rules = TABLE | wrong(few=np.ones((m + 1, 2))), USUAL["constraints"]
    tables = {"rows": TABLES, "extend": TABLES, "minimise": costs, "value": costs, "hold": rules, "under": rules}
    for name, values in {**tables, "table": USUAL["table"]}.items():
        yield from of_values(name, partial(_ask, made, name), values)
    right = {"costs": np.zeros((m, 2)), "row": 0}
    rows = but(ROW, "past") | wrong(past=99)
    yield from calls("profile", partial(_ask, made, "profile"), right, row=rows)
    yield from calls("weights", partial(_ask, made, "action_weights"), {**right, "rate": 0.1}, "rate", row=rows)
    yield from calls("near_best", partial(_ask, made, "near_best"), {"costs": right["costs"]}, "slack")
    no_rows = wrong(none=None, text="a", number=3, past=[N], halves=[0.5], words=["a"], negative=[-1], table=[[0]])
    for kind in ("search", "milp", "enumeration"):
        oracle = open_oracle(TREES, X, kind=kind)
        right = {"costs": np.zeros((N, 2)), "slack": 1.0}
        yield from calls(f"{kind}: near_best", oracle.near_best, right, "slack", costs=TABLE)
        near = oracle.near_best(np.arange(2.0 * N).reshape(N, 2), 5.0)
        yield from of_values(f"{kind}: different", near.different, COUNT)
        yield from of_values(f"{kind}: played", near.played, no_rows)


def _ask(make: Callable[[], Any], name: str, *given: Any, **named: Any) -> Any:
    return getattr(make(), name)(*given, *named.values())


def exports() -> Iterator[Case]:
    """Yield what leaves a policy, and what comes back."""
    policy: Any = open_oracle(TREES, X).minimise(scored().costs).policy
    actions = wrong(
        text="ab", number=3, one=["a"], nones=[None, None], nan=[np.nan, 1.0], inf=[np.inf, 1.0], lists=[[1], [2]],
        objects=[object(), object()], a_dict={0: "a"}, a_set={"a", "b"},
    )  # fmt: skip
    names = wrong(
        number=3, none=None, empty="", blank="a b", keyword="class", digits="1a", a_list=["f"], code="f():\n x"
    )
    yield from calls("to_sql", policy.to_sql, {}, actions=actions)
    yield from calls("to_python", policy.to_python, {}, actions=actions, name=names)
    fitted = estimators.OptimalPolicyTree(max_depth=1).fit(X, np.ones((N, 2)) * [1, 2])
    yield from of_values("estimator.to_python", fitted.to_python, names)
    texts = wrong(
        none=None, number=3, empty="", words="abc", a_list="[]", null="null", other='{"class": "x"}', nan="NaN",
        a_dict={}, bytes=b"{}", deep="[" * 10**5, half=policy.to_json()[:40],
    )  # fmt: skip
    yield from of_values("policies.from_json", from_json, texts)


def settings() -> Iterator[Case]:
    """Yield wrong parameters of estimators."""
    usual = "min_samples_leaf max_leaves thresholds missing most_subsets kind"
    yield from calls("OptimalPolicyTree", partial(_fitted, "OptimalPolicyTree", y=COSTS), {}, usual,
        max_depth=WHOLE | wrong(deep=99),
        features=wrong(
            number=3, text="y", unknown=["y"], past=[9], negative=[-9], none_of=[], halves=[0.5], twice=["x0", "x0"],
        ),
        constraints=but(USUAL["constraints"], "few_rows") | wrong(none=None, label=[LabelConstraint(COSTS, 1.0)]),
        monotone=wrong(number=3, text="x0", way={"x0": "up"}, unknown={"y": "more"}, a_list=["x0"]),
    )  # fmt: skip
    for name, usual in {
        "OptimalThresholdRule": "max_cuts thresholds",
        "OptimalRuleList": "max_rules thresholds",
        "OptimalScoringRule": "max_tests max_weight",
    }.items():
        yield from calls(name, partial(_fitted, name, y=COSTS), {}, usual)
    classes = wrong(none=None, text="no_such", number=3, a_class=DecisionTrees)
    yield from calls("OptimalPolicy", partial(_fitted, "OptimalPolicy", y=COSTS), {}, policies=classes)
    by_solver = partial(_fitted, "OptimalPolicyTree", y=COSTS, kind="milp")
    yield from calls("by a solver", by_solver, {}, "gap solver", time_limit=but(REAL, "none", "inf"))
    yield from calls("LoggedPolicyTree", partial(_fitted, "LoggedPolicyTree", **LOGGED), {"method": "snips"},
        "method cv min_propensity random_state objective",
        treatment_cost=PRICED | wrong(column={"wait": "price"}))  # fmt: skip


def fits() -> Iterator[Case]:
    """Yield wrong tables, targets and weights, and wrong questions to what is fitted."""
    read = ("words", "digits_as_text")  # as strings; NaN is a missing number
    targets = but(TABLES, *read) | wrong(effects=Y, few=COSTS[:3], nones=[None] * N)
    fit = partial(_fitted, "OptimalPolicyTree")
    yield from calls("fit to costs", fit, {"X": X, "y": COSTS}, y=targets,
        X=but(TABLES, *read, "nan") | wrong(few=X[:3]),
        sample_weight=but(USUAL["sample_weight"], "number"))  # fmt: skip
    fit = partial(_fitted, "LoggedPolicyTree", method="snips")
    yield from calls("fit to a log", fit, LOGGED, reward=PER_ROW, propensity=PER_ROW)
    yield from of_values("score", partial(_then, "score", X), targets)
    for method in ("predict", "apply", "problem"):
        yield from of_values(method, partial(_then, method), TABLES)


def named() -> Iterator[Case]:
    """Yield wrong constraints by names."""
    action = wrong(unknown="cure", past=7, half=0.5, none=None, a_list=[1])
    group = wrong(unknown="sex", number=3, none=None)
    amounts = wrong(none=None, text="a", number=3, empty={}, unknown={"cure": 1.0}, words={1: "much"}, nan={1: np.nan})
    where = wrong(none=None, number=3, empty="", words="x0", unknown="sex = f", half="x0 =", a_list=["x0 = 1"])
    held = {name: partial(_held, name) for name in ("share_at_most", "parity", "mean_at_most", "never")}
    yield from calls("share_at_most", held["share_at_most"], {"action": 1, "share": 0.5}, "share", action=action)
    right: dict[str, Any] = {"action": 1, "group": "x0", "delta": 0.1}
    yield from calls("parity", held["parity"], right, "delta", action=action, group=group)
    right = {"amounts": {1: 1.0}, "bound": 1.0}
    yield from calls("mean_at_most", held["mean_at_most"], right, "bound", amounts=amounts)
    yield from calls("never", held["never"], {"action": 1, "where": "x0 = 1"}, action=action, where=where)


def _fitted(name: str, X: Any = X, **given: Any) -> Any:
    options = {key: value for key, value in given.items() if key not in FITTED}
    return getattr(estimators, name)(**options).fit(X, **{key: given[key] for key in given if key in FITTED})


def _then(method: str, *arguments: Any) -> Any:
    fitted = _fitted("OptimalPolicyTree", max_depth=1, y=np.column_stack([X[:, 0], 1 - X[:, 0]]))
    return getattr(fitted, method)(*arguments)


def _held(name: str, **arguments: Any) -> Any:
    rule = getattr(estimators, name)(**arguments)
    return _fitted("OptimalPolicyTree", max_depth=1, constraints=[rule], y=COSTS)


OFFLINE: list[Callable[[], Iterator[Case]]] = [logs, claims, prices_and_fronts, growing, exports, settings, fits, named]
