"""Recommendations and claims where a log has no rows of an action, and where it has, on logs of known truth.

In a part that one test cuts off, or two, some action was never done: nobody is given it there, and giving it to
everybody has no value and no interval. A second outcome is no worse than under "wait".
"""

from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

from milpcb.estimators import LoggedPolicyTree
from milpcb.estimators.inputs import Columns
from milpcb.logs import words
from milpcb.logs.findings import Asked, Findings
from milpcb.logs.learning import find
from milpcb.logs.limits import limit_of
from milpcb.logs.source import make_source
from milpcb.offline import State, evaluate, inference, read_log, scores
from milpcb.rng import child
from milpcb.types import Bools, Floats, Ints
from policies import DecisionTrees
from tests.stress.known_truths import least

DRAWS = 60
BETWEEN = 1 / 16  # of the rows: between two cut points of a pass no rule can tell rows apart
METHODS = ("ips", "snips", "dr", "dm")
GIVEN = ("all", "own", "none")
REGIONS = np.array(["north", "south", "east"], dtype=object)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A log: columns, what was done, what came of it, chances, true means, and where an action is never done (n, K)."""

    frame: pl.DataFrame
    action: Ints
    outcome: Floats
    chance: Floats
    truth: Floats
    gap: Bools

    @property
    def names(self) -> list[str]:
        """The names of the actions."""
        return [f"a{k}" for k in range(self.chance.shape[1])]

    @property
    def done(self) -> Any:
        """Actions played, by name."""
        return np.array(self.names)[self.action]

    def propensity(self, given: str) -> Any:
        """Return the propensities of all actions, of what was done, or None."""
        own = self.chance[np.arange(len(self.action)), self.action]
        return {"all": self.chance, "own": own, "none": None}[given]


def log_without(number: int, n: int = 1500) -> Drawn:
    """Return a log in which some action is never done in a part that one test cuts off, or two."""
    rng = child(number, "no overlap")
    K, kind = 2 + number % 2, number // 2 % 3
    region, age = REGIONS[rng.integers(0, 3, n)], rng.integers(18, 80, n).astype(float)
    score = rng.normal(size=n).round(3)
    part = [region == "south", age > 55, (region != "south") & (score > -0.3)][kind]
    gap = np.zeros((n, K), dtype=bool)
    gap[:, 1] = part
    effect = np.where(part, -3.0, 1.0)
    return _drawn(rng, region, age, score, gap, effect)


def log_with(number: int, n: int = 800) -> Drawn:
    """Return a log in which every action has a chance of 0.15 or more everywhere."""
    rng = child(number, "overlap")
    K = 2 + number % 2
    region, age = REGIONS[rng.integers(0, 3, n)], rng.integers(18, 80, n).astype(float)
    effect = [0.0, 0.3, 0.6][number // 2 % 3] * np.where(region == "south", -1.0, 1.0)
    return _drawn(rng, region, age, rng.normal(size=n).round(3), np.zeros((n, K), dtype=bool), effect)


def _drawn(rng: np.random.Generator, region: Any, age: Floats, score: Floats, gap: Bools, effect: Floats) -> Drawn:
    n, K = gap.shape
    lean = np.zeros((n, K))
    lean[:, 1] = 0.8 * np.tanh(score)
    weight = np.where(gap, 0.0, np.exp(lean))
    chance = weight / weight.sum(axis=1, keepdims=True)
    action = (rng.random(n)[:, None] > chance.cumsum(axis=1)).sum(axis=1)
    truth = np.zeros((n, K))
    truth[:, 1] = effect
    outcome = truth[np.arange(n), action] + 0.5 * score + rng.normal(size=n)
    frame = pl.DataFrame({"region": region.tolist(), "age": age, "score": score})
    return Drawn(frame, action, outcome, chance, truth, gap)


# ------------------------------------------------------------------- where there are no rows


@pytest.mark.cases(6)
@pytest.mark.filterwarnings("ignore")  # of the logs, which are as they are
def test_nothing_is_claimed_where_no_row_stands(numbers: range) -> None:
    """In memory and in one pass, by every method, with propensities of all kinds."""
    for number in numbers:
        method, given = METHODS[number % 4], GIVEN[number % 3]
        assert [*in_memory(number, method, given, DRAWS), *in_one_pass(number, method, given)] == [], number


def in_memory(number: int, method: str, given: str, draws: int) -> list[str]:
    """Return what is wrong of what is said of a log in memory."""
    log = log_without(number)
    tree = LoggedPolicyTree(max_depth=2, method=method, min_propensity=0.01, random_state=number)
    tree.fit(log.frame, log.done, reward=log.outcome, propensity=log.propensity(given))
    problem, found = tree.problem(log.frame), tree.scores_
    if found is None:
        raise TypeError(found)
    claims = inference(problem.policies, problem.contexts, found, draws=draws, constraints=problem.constraints)
    labels = np.asarray(tree.policy_.predict(log.frame))
    value = evaluate(found, tree.policy_, contexts=log.frame)
    everybody = evaluate(found, ["a1"] * len(labels))
    wrong = {
        "the rule plays it": _played(log, labels),
        "the policy of inference plays it": _played(log, np.asarray(claims.policy.predict(problem.contexts))),
        "the reference plays it": (claims.reference.lottery[claims.reference.ways.stratum] * log.gap).sum() > 0,
        "a constant has a value": value.constants["a1"].known,
        "a policy that plays it has a value": everybody.value.known,
        "no warning": "'a1' was not done" not in " ".join(found.diagnostics.words()),
    }
    return [what for what, is_so in wrong.items() if is_so]


def in_one_pass(number: int, method: str, given: str) -> list[str]:
    """Return what is wrong of what is said of a log that is added up."""
    if method == "dm" or given == "none":
        return []
    log = log_without(number)
    names = [f"p{k}" for k in range(len(log.names))] if given == "all" else ["p"]
    known = log.propensity(given).reshape(len(log.action), -1)
    columns = {name: known[:, i] for i, name in enumerate(names)}
    every: Any = dict(zip(log.names, names, strict=True)) if given == "all" else "p"
    frame = log.frame.with_columns(done=pl.Series(log.done.tolist()), y=log.outcome, **columns)
    tree = LoggedPolicyTree(max_depth=2, method=method, thresholds=15, random_state=number)
    tree.fit_batches([frame[:700], frame[700:]], action="done", reward="y", propensity=every)
    wrong = {
        "the rule of one pass plays it": _played(log, np.asarray(tree.policy_.predict(log.frame)), BETWEEN),
        "a constant of one pass is known": bool(tree.compressed_.known[1]),
    }
    return [what for what, is_so in wrong.items() if is_so]


def _played(log: Drawn, labels: Ints, most: float = 0.0) -> bool:
    """Return whether the action is played in more than this share of the rows, all of which are in the gap."""
    return bool(log.gap[np.arange(len(labels)), labels].mean() > most)


# ------------------------------------------------------------------- where there are rows


@pytest.mark.cases(3)
@pytest.mark.filterwarnings("ignore")
def test_intervals_hold_where_rows_stand(runs: int, record_property: Any) -> None:
    """Of the rule, by the band, and of a fixed policy."""
    states, covered = Counter[str](), np.zeros(2)
    for number in range(runs):
        log, method = log_with(number), METHODS[number % 3]
        given = log.propensity(GIVEN[number // 3 % 3])
        table = np.column_stack([log.frame["region"] == "south", log.frame["age"], log.frame["score"]])
        found = scores(read_log(table, log.action, reward=log.outcome, propensity=given), method, seed=number)
        claims = inference(DecisionTrees(len(log.names), depth=2, thresholds=7), table, found, draws=DRAWS, seed=number)
        states[str(claims.state)] += 1
        fixed = (table[:, 0] == 0).astype(np.int64)
        value, rows = evaluate(found, fixed).value, np.arange(len(fixed))
        for i, (ends, labels) in enumerate(((claims.value, claims.policy.predict(table)), (value, fixed))):
            covered[i] += ends.lower <= log.truth[rows, labels].mean() <= ends.upper
    record_property("figure", f"{dict(states)}; intervals of the rule, of a fixed policy: {covered / runs}")
    assert (covered / runs >= least(0.95, runs)).all()


# ------------------------------------------------------------------- limits on a second outcome


@pytest.mark.cases(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rare", [True, False], ids=["rare", "usual"])
def test_recommendations_keep_the_limit(rare: bool, runs: int, record_property: Any) -> None:
    """In truth, in 95 of 100 logs."""
    kept: dict[str, list[bool]] = {}
    for number in range(runs):
        recommended, more = _recommended(*_limited(number, DRAWS, rare=rare))
        kept.setdefault(recommended, []).append(more <= 1e-12)
    record_property("figure", ", ".join(f"{what} {sum(each)} of {len(each)}" for what, each in sorted(kept.items())))
    assert sum(map(sum, kept.values())) >= least(0.95, runs) * runs


def _limited(number: int, draws: int, *, rare: bool) -> tuple[Findings, Floats]:
    """Return what is found of a log with a limit, and how much more harm "treat" does in each row."""
    rng, n = child(number, "limits"), 1000
    x = rng.integers(0, 2, (n, 3)).astype(float)
    treated = rng.integers(0, 2, n)
    first = treated * (0.2 + 0.4 * (2 * x[:, 0] - 1)) + rng.normal(size=n)
    harm = 0.008 * x[:, 1] if rare else np.where(x[:, 1] == 1, 0.3, -0.2)
    chance = 0.002 + treated * harm
    second = (rng.random(n) < chance).astype(float) if rare else treated * harm + 0.7 * rng.normal(size=n)
    done = np.where(treated == 1, "treat", "wait")
    frame = pl.DataFrame({**{f"x{i}": x[:, i] for i in range(3)}, "done": done, "earned": first, "harmed": second})
    columns = Columns("done", "earned", maximise=True, randomised=True, leave_out=("harmed",))
    source = make_source("drawn", frame, columns)
    asked = Asked(draws=draws, resamples=0, seed=number, limits=(limit_of("harmed at most wait", source.log.actions),))
    tree = LoggedPolicyTree(max_depth=2, method="snips", random_state=number)
    return find(source, tree, asked, lambda _what: nullcontext(lambda *_: None)), harm


def _recommended(found: Findings, harm: Floats) -> tuple[str, float]:
    """Return what is recommended, and how much more harm it does than waiting."""
    if found.state == State.TARGET:
        return "the rule", float((harm * (found.estimator.policy_.predict(found.source.frame) == 0)).mean())
    if not words.advice(found).startswith("Recommended"):
        return "nothing", 0.0
    return "treating all alike", float(found.reference.played(np.column_stack([harm, 0 * harm])).mean())
