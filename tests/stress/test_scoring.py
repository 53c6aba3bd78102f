"""The search of scoring rules against products of whole support tables, and HiGHS where that is quick.

Each case is a class of scoring rules on drawn contexts: up to five 0/1 columns of up to seven with two actions, fewer
with three actions, with more values or with a score for each action, columns that are alike or turned round, repeats of
rows; costs are whole (small ones, so that many rules tie, and large ones) or real. Least totals, profiles, rules and
sums of weights are asked of costs by context and of totals that are kept, without and under side constraints, and
compared with the list of all rows of all tables; whole costs must be answered exactly. Where the contexts are few,
HiGHS must find the same least totals by the program that knows no tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast
from unittest.mock import patch

import numpy as np
import pytest

from milpcb import LabelConstraint, open_oracle
from milpcb.oracles.base import Oracle
from milpcb.types import Floats
from policies.linear import LinearRules
from policies.linear import program as program_module
from policies.linear.labelings import Labels
from policies.linear.supports import Supports
from tests.stress.drawn_cases import check_cases

if TYPE_CHECKING:
    from policies.linear.policy_class import OpenedLinear

# values of a column, actions, columns, the most of them with a weight
CLASSES = {
    "five of 0/1 columns": ((0, 1), 2, (5, 7), 5),
    "four of 0/1 columns": ((0, 1), 2, (4, 8), 4),
    "up to three of 0/1 columns": ((0, 1), 2, (1, 7), 3),
    "three actions": ((0, 1), 3, (1, 6), 3),
    "four values": ((-2, 0, 1, 5), 2, (1, 4), 2),
    "alike columns": ((0, 3), 3, (2, 5), 3),
    "a score each": ((0, 1), 3, (1, 6), 2),
    "a score each, three values": ((0, 1, 4), 3, (1, 3), 1),
}
MOST_CONTEXTS = 12  # of a question to HiGHS
RATE = 0.3


@dataclass(frozen=True)
class Case:
    """A class on contexts (m, d), costs (m, K), a row, a constraint, the labels (N, m) of all rows of all tables."""

    rules: LinearRules
    contexts: Floats
    costs: Floats
    row: int
    labels: Labels
    weights: Floats  # (m, K), of a side constraint
    upper: float
    whole: bool


@pytest.mark.cases(8)
def test_the_search_answers_as_the_tables(numbers: range) -> None:
    """Least totals, rules, profiles and sums, free and under constraints."""
    assert check_cases(CLASSES, draw_case, check, numbers)["constrained"]


def draw_case(name: str, rng: np.random.Generator) -> Case:
    """Return a case of a class."""
    values, n_actions, (fewest, most), limit = CLASSES[name]
    d = int(rng.integers(fewest, most + 1))
    m = int(rng.integers(2, MOST_CONTEXTS)) if rng.random() < 0.3 else int(rng.integers(10, 80))
    contexts = rng.choice(values, (m, d)).astype(float)
    if name == "alike columns":
        contexts[:, -1] = rng.choice([1, -1]) * contexts[:, 0] + rng.integers(3)
    weight = 5 if limit > 3 else int(rng.integers(1, 6 if len(values) == 2 and n_actions == 2 else 3))
    scores: Literal["one", "each"] = "each" if "each" in name else "one"
    rules = LinearRules(n_actions, max_weight=weight, max_features=min(limit, d), scores=scores)
    largest = int(rng.choice([1, 9, 10**6]))
    costs = rng.integers(-largest, largest + 1, (m, n_actions)).astype(float)
    whole = bool(rng.random() < 0.7)
    weights = rng.integers(0, 3, (m, n_actions)).astype(float)
    labels = _every_row(rules, contexts)
    upper = float(weights[np.arange(m), labels[int(rng.integers(len(labels)))]].sum())  # some row keeps it
    costs = costs if whole else costs * rng.random()
    return Case(rules, contexts, costs, int(rng.integers(m)), labels, weights, upper, whole)


def check(case: Case) -> Iterator[tuple[str, str]]:
    """Yield each thing that was compared, and what is wrong with it, or nothing."""
    free = open_oracle(case.rules, case.contexts, "search")
    totals = _totals(case.costs, case.labels)
    yield from _answers(case, free, totals, case.labels)
    keeps = _totals(case.weights, case.labels) <= case.upper
    constraint = LabelConstraint(case.weights, case.upper)
    held = open_oracle(case.rules, case.contexts, "search", constraints=[constraint])
    for _, wrong in _answers(case, held, totals[keeps], case.labels[keeps]):
        yield "constrained", wrong and f"constrained, {wrong}"
    if len(case.contexts) < MOST_CONTEXTS and case.whole:
        with patch.object(program_module, "MOST_COLUMNS", 0):
            program = open_oracle(case.rules, case.contexts, "milp")
        yield "HiGHS", _unlike("HiGHS", program.value(case.costs), totals.min(), 0.0)


def _answers(case: Case, oracle: Oracle, totals: Floats, labels: Labels) -> Iterator[tuple[str, str]]:
    """Yield what an oracle answers beside the list, from costs and from totals that are kept."""
    off = 0.0 if case.whole else 1e-12 * float(np.abs(case.costs).sum())
    here = [labels[:, case.row] == a for a in range(case.rules.n_actions)]
    profile = [totals[mine].min(initial=np.inf) for mine in here]
    rate = RATE / max(1.0, float(np.abs(case.costs).mean()))
    answer, kept = oracle.minimise(case.costs), oracle.table("columns")
    rows, actions = (each.ravel().tolist() for each in np.indices(case.costs.shape))
    kept.add_all(rows, actions, case.costs.ravel().tolist())
    yield "values", _unlike("value", [oracle.value(case.costs), answer.value], [totals.min()] * 2, off)
    yield "values", _unlike("kept", kept.minimise().value, totals.min(), off)
    played = answer.policy.predict(case.contexts)
    yield "rules", _unlike("rule", case.costs[np.arange(len(played)), played].sum(), totals.min(), off)
    yield "rules", "" if (labels == played).all(axis=1).any() else f"no row plays as {answer.policy}"
    yield "profiles", _unlike("profile", oracle.profile(case.costs, case.row), profile, off)
    yield "profiles", _unlike("kept profile", kept.profile(case.row), profile, off)
    weights = np.array([np.exp(-rate * (totals[mine] - totals.min())).sum() for mine in here])
    for found in (oracle.action_weights(case.costs, case.row, rate), kept.action_weights(case.row, rate)):
        yield "sums", _unlike("sum", found, weights / weights.sum(), 1e-9)


def _every_row(rules: LinearRules, contexts: Floats) -> Labels:
    """Return the labels (N, m) of the contexts by each row of each table, supports in turn."""
    opened = cast("OpenedLinear", rules.on(contexts))
    supports, found = Supports(opened.scored), []
    for batch in supports.batches:
        patterns = np.array([supports.patterns_at(batch, j) for j in range(len(opened.contexts))])
        found += [batch.table.labels[:, patterns[:, i]] for i in range(len(batch.supports))]
    return np.concatenate(found)[:, opened.group]


def _totals(costs: Floats, labels: Labels) -> Floats:
    """Return the totals (N,) of labelings (N, m), a context after the other: their table is long."""
    totals = np.zeros(len(labels))
    for j, played in enumerate(labels.T):
        totals += costs[j, played]
    return totals


def _unlike(what: str, found: Any, expected: Any, off: float) -> str:
    """Return what differs by more than ``off``, or nothing."""
    with np.errstate(invalid="ignore"):  # two infinities are alike
        like = (np.asarray(found) == expected) | (np.abs(np.asarray(found) - expected) <= off)
    return "" if like.all() else f"{what}: {found}, by the list {expected}"
