"""Settings that no learner can play with: each is refused by its name, when the learner is made or first asked."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb import Empirical, FinitePool, Transductive, open_oracle
from milpcb.learners import Hedge, Learner, Uniform
from milpcb.plugins import registry
from policies import DecisionTrees, FiniteClass, MonotoneRules
from tests.refused import refused

CONTEXTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 1]], float)
LABELINGS = [[0, 1, 2, 0, 1], [1, 1, 0, 0, 2], [2, 2, 2, 2, 2]]
LISTED = FiniteClass(LABELINGS, 3)
ORDER = Transductive(CONTEXTS, [0, 3, 1, 4])
MOVED = CONTEXTS + np.eye(5, 2, k=-3)
MANY = np.indices((16,) * 4).reshape(4, -1).T
ADAPTIVE = {"epsilon": "adaptive"}
SIGNED = {"noise": "signed"}
ONE_DRAW = {"future": "once"}


def opened(policies: Any = LISTED, kind: str = "enumeration", contexts: Any = CONTEXTS) -> Any:
    """Return an oracle on the five contexts."""
    return open_oracle(policies, contexts, kind=kind)


def made(name: str, **options: Any) -> Any:
    """Return a learner with all that it asks for."""
    cls = registry.load("learner", name)
    given = {"oracle": opened(), "pool": FinitePool(CONTEXTS), "horizon": 9, "seed": 0} | options
    asked = inspect.signature(cls).parameters
    return cls(**{key: value for key, value in given.items() if key in asked or key in options})


def played(learner: Learner, row: int = 0) -> Any:
    """Return a learner after a round."""
    q = learner.act(row)
    learner.learn(row, int(q.argmax()), 0.5, float(q.max()))
    return learner


OF_BISTRO: list[tuple[dict[str, Any], str]] = [
    ({"scale": 2.9}, "at least 3"),
    ({"scale": "relax"}, "scale"),
    ({"noise": "papr"}, "'paper'"),
    ({"leftover": "leader"}, "queries"),
    ({"pool": Empirical(CONTEXTS), "scale": "relaxation"}, "Empirical"),
    ({"pool": ORDER, "horizon": 5}, "horizon"),
    *(({"pool": FinitePool(other)}, "contexts") for other in (CONTEXTS[:3], CONTEXTS[:, :1], MOVED, CONTEXTS[::-1])),
    ({"anytime": True, "queries": "profile"}, "queries"),
    *(({"anytime": True, "noise": "bistro", **other}, "noise") for other in ({}, {"queries": "argmin"})),
    ({**SIGNED, "queries": "argmin", "estimator": "ips"}, "estimator"),
    ({**SIGNED, "scale": 3.9}, "at least 4"),
    ({"future": "fresh", "futures": 2}, "one draw"),
    ({"future": "fresh", "redraw": 5}, "one draw"),
    ({**ONE_DRAW, "queries": "all"}, "queries"),
    ({**ONE_DRAW, "estimator": "ips"}, "estimator"),
    ({**ONE_DRAW, "noise": "bistro"}, "psi"),
    ({**ONE_DRAW, "redraw": 0}, "redraw"),
    ({**ONE_DRAW, "draws": 2}, "draws"),
    ({"draws": 0}, "draws"),
    ({"leftover": "descending", "queries": "argmin"}, "queries"),
    ({**ONE_DRAW, **SIGNED, "anytime": True}, "anytime"),
    ({**ONE_DRAW, "pool": Empirical(CONTEXTS)}, "law"),
]
OF_OTHERS: list[tuple[str, dict[str, Any], str]] = [
    ("ftpl", {**ADAPTIVE, "separator": [0]}, "separator"),
    ("ftpl", {"epsilon": None, "horizon": None}, "horizon"),
    ("ftpl", {"epsilon": 0.1, "noise_on": "columns"}, "noise_on"),
    ("ftpl", {**ADAPTIVE, "noise_on": "columns"}, "noise on contexts"),
    ("ftpl", {"epsilon": 0.1, "law": "whole"}, "law"),
    ("ftpl", {**ADAPTIVE, "law": "laplac"}, "'laplace'"),
    ("ftpl", {"epsilon": "adaptve"}, "'adaptive'"),
    ("ftpl", {"epsilon": 0.0}, "epsilon"),
    ("ftpl", {"cap": 0}, "cap"),
    *(
        (name, {"oracle": opened(DecisionTrees(2, depth=1), "search"), "horizon": 99}, 'kind = "enumeration"')
        for name in ("hedge", "exp4p", "policy_elimination")
    ),
    ("exp4p", {"horizon": 100, "delta": 1.0}, "delta"),
    *(("best_in_hindsight", {"best": best, "n_actions": 3}, "best") for best in ([0, 3], [0.5, 1.0], [[0, 1]])),
    *(
        (name, {"inner": inner}, named)
        for name in ("conservative", "guarded")
        for inner, named in (
            ("hedge", "'hedge'"),
            (name, f"'{name}'"),
            (Hedge(opened(), horizon=9), "Hedge"),
            (Uniform(2), "2 actions"),
            (played(Uniform(3)), "played already"),
        )
    ),
    ("conservative", {"inner": "exp4", "options": {"rat": 1}}, "'rate'"),
    ("conservative", {"inner": "exp4", "options": 3}, "options"),
    *(("conservative", {"baseline": baseline}, "baseline") for baseline in (3, [0, 1, 5, 0, 0], [0, 1])),
    ("conservative", {"loss": -0.1}, "loss"),
    ("conservative", {"allowance": np.inf}, "allowance"),
    ("doubling", {"pool": ORDER}, "order"),
    *(("doubling", {"inner": inner}, f"'{inner}'") for inner in ("doubling", "hedge")),
    ("doubling", {"options": {"horizon": 5}}, "'horizon'"),
    ("doubling", {"options": {"scale": 1.0}}, "at least 3"),
    ("epsilon_greedy", {"scale": 0.0}, "scale"),
    ("epsilon_greedy", {"ratio": 0.9}, "ratio"),
    ("exp4", {"rate": "anytme"}, "'anytime'"),
    *(("exp4", {"rate": rate}, "rate") for rate in (-0.1, np.inf, True)),
    *(("exp4", {"delays": 1.0, **other}, "delays=") for other in ({"rate": "certified"}, {"estimates": "optimistic"})),
    ("forgetting", {"rounds": 1}, "rounds"),
    ("forgetting", {"by": "day"}, "window"),
    *(
        (name, {"oracle": oracle}, "action_weights")
        for name in ("exp4", "fixed_share", "guarded")
        for oracle in (opened(DecisionTrees(3, 1), "milp"), opened(MonotoneRules(2), "search"))
    ),
    *(("explore_then_commit", {"rounds": rounds}, "rounds") for rounds in (0, 10)),
    ("guarded", {"bound": -1.0}, "bound"),
    ("guarded", {"share": -0.1}, "share"),
    ("guarded", {"safe": "exp5"}, "exp5"),
    ("hedge", {"rate": -1.0}, "rate"),
    ("policy_elimination", {"growth": 0.9}, "growth"),
    ("ilovetoconbandits", {"psi": 0.0}, "psi"),
    ("ilovetoconbandits", {"delta": 1.0}, "delta"),
    (
        "policy_elimination",
        {"oracle": opened(FiniteClass(MANY, 16), contexts=CONTEXTS[:4]), "pool": FinitePool(CONTEXTS[:4])},
        "at most 60000",
    ),
]
CASES: list[tuple[Callable[[], object], str]] = [
    *((lambda options=options: made("bistro_plus", **options), named) for options, named in OF_BISTRO),
    *((lambda name=name, options=options: made(name, **options), named) for name, options, named in OF_OTHERS),
    (lambda: type("Forgetful", (Uniform,), {"kept": None})(2).state(), "does not name its state: set kept"),
    (lambda: played(played(made("bistro_plus", pool=ORDER, horizon=4)), 3).act(4), "row 1"),
    (lambda: made("conservative", baseline=lambda _row: 7, allowance=3.0).act(0), "baseline"),
    (
        lambda: made("exp4", estimates="optimistic", horizon=None).restore(
            played(made("exp4", estimates="optimistic", rate="certified")).state()
        ),
        "state",
    ),
    *(
        (
            lambda ask=ask, confidence=confidence: getattr(played(made("exp4", estimates="optimistic")), ask)(
                confidence=confidence
            ),
            "confidence",
        )
        for ask in ("certificate", "bound")
        for confidence in (0, 1, "0.95", True)
    ),
]


@pytest.mark.parametrize(("call", "named"), CASES)
def test_what_no_learner_takes_is_named(call: Callable[[], object], named: str) -> None:
    """Settings when the learner is made, questions and states when they come."""
    refused(call, named)
