"""Tables that oracles keep: against the full matrix of costs and each other, with noise, and over an interruption."""

import json
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.constraints import never, share_at_most
from milpcb.errors import InputError
from milpcb.oracles.growing import GrowingOracle
from milpcb.oracles.totals import CostTable, TermTable
from milpcb.protocols import PolicyClass, Table
from milpcb.types import Floats
from policies import (
    BoxRules,
    DecisionTrees,
    FiniteClass,
    Halfspaces,
    LinearRules,
    MonotoneRules,
    RuleLists,
    ThresholdRules,
)

CONTEXTS = np.random.default_rng(0).normal(size=(12, 2)).round(1)[[*range(12), 3, 3, 7]]  # some twice
CUTS = ((-0.5, 0.5), (0.0, 1.0))
LISTED = np.array([[0.0], [1.0], [0.0], [2.0]])
KEPT = [DecisionTrees(3), DecisionTrees(3, depth=1), ThresholdRules(3, 2), RuleLists(3, 2), BoxRules(3, 2)]
SOLVED = [*KEPT[1:], DecisionTrees(2, max_leaves=3), MonotoneRules(3), LinearRules(max_weight=2), Halfspaces()]


def played(tables: list[Table], n_actions: int, rounds: int = 12, seed: int = 1) -> Floats:
    """Add whole costs to all tables, one at a time; return the full matrix of them."""
    rng, costs = np.random.default_rng(seed), np.zeros((len(CONTEXTS), n_actions))
    for _ in range(rounds):
        row, action, amount = int(rng.integers(len(CONTEXTS))), int(rng.integers(n_actions)), float(rng.integers(1, 9))
        costs[row, action] += amount
        for table in tables:
            table.add(row, action, amount)
    return costs


@pytest.mark.parametrize("kind", ["search", "audited", "milp"])
@pytest.mark.parametrize("policies", [*KEPT, DecisionTrees(3, depth=3, thresholds=1)], ids=repr)
def test_many_cells_at_once_are_those_one_by_one(policies: PolicyClass, kind: str) -> None:
    """Also where costs are real: to the last bit, as they are added in the same order."""
    rng, n = np.random.default_rng(5), 40
    cells = rng.integers(len(CONTEXTS), size=n).tolist(), rng.integers(3, size=n).tolist(), rng.random(n).tolist()
    oracle = open_oracle(policies, CONTEXTS, kind=kind)
    one_by_one, at_once = oracle.table(noise=None), oracle.table(noise=None)
    for row, action, amount in zip(*cells, strict=True):
        one_by_one.add(row, action, amount)
    at_once.add_all(*cells)
    assert at_once.state() == one_by_one.state()


@pytest.mark.parametrize(("kind", "table"), [("search", TermTable), ("milp", CostTable), ("audited", CostTable)])
def test_without_noise_the_cheapest_table_is_taken(kind: str, table: type) -> None:
    """Totals of terms where a search keeps them; costs by context where a solver answers, so that audits go on."""
    assert type(open_oracle(DecisionTrees(3), CONTEXTS, kind=kind).table(noise=None)) is table
    assert type(open_oracle(MonotoneRules(3), CONTEXTS, kind=kind).table(noise=None)) is CostTable


def test_costs_by_context_make_room_for_contexts_that_arrive() -> None:
    """A class without terms is asked about all costs so far, saved ones included."""
    growing = GrowingOracle(DecisionTrees(2, thresholds=CUTS, max_leaves=3), CONTEXTS[:2], kind="milp")
    table, again = growing.table(noise=None), growing.table(noise=None)
    costs = np.zeros((0, 2))
    for context in CONTEXTS:
        row = int(growing.rows(context[None])[0])
        costs = np.vstack([costs, np.zeros((growing.n_contexts - len(costs), 2))])
        costs[row, row % 2] += 1.0
        table.add(row, row % 2, 1.0)
        again.restore(table.state())
        assert table.minimise().value == again.minimise().value == growing.value(costs)
    assert growing.contexts.tolist() == [
        CONTEXTS[growing.rows(CONTEXTS).tolist().index(j)].tolist() for j in range(len(costs))
    ]
    with pytest.raises(ValueError, match="read-only"):
        growing.contexts[0] = 0.0


@pytest.mark.parametrize("depth", [1, 2])
def test_noise_on_leaves_means_the_same_to_search_and_solver(depth: int) -> None:
    """Whole costs and whole noise: the profiles of the kept totals and of the program are equal."""
    trees = DecisionTrees(3, depth=depth)
    kept, solved = (open_oracle(trees, CONTEXTS, kind=kind).table("columns") for kind in ("search", "milp"))
    assert (kept.n_noisy, kept.n_moved) == (solved.n_noisy, solved.n_moved)
    assert [open_oracle(rules, CONTEXTS).table("columns").n_moved for rules in (MonotoneRules(3), Halfspaces())] == [
        2,
        1,
    ]
    played([kept, solved], 3)
    rng = np.random.default_rng(2)
    for row in range(3):
        noise = rng.integers(-9, 10, kept.n_noisy).astype(float)
        assert kept.profile(row, noise).tolist() == solved.profile(row, noise).tolist()
        assert kept.minimise(noise).value == solved.minimise(noise).value
        noise = rng.laplace(size=kept.n_noisy)
        assert kept.profile(row, noise) == pytest.approx(solved.profile(row, noise), abs=1e-6)


@pytest.mark.parametrize("policies", SOLVED, ids=repr)
def test_a_program_minimises_with_noise(policies: PolicyClass) -> None:
    """The minimum is the least entry of every profile, and its policy plays it; without noise all is as ever."""
    oracle = open_oracle(policies, CONTEXTS)
    table = oracle.table("columns")
    costs = played([table], policies.n_actions)
    noise = np.random.default_rng(3).integers(-4, 5, table.n_noisy).astype(float)
    answer = table.minimise(noise)
    for row in (0, 9):
        profile = table.profile(row, noise)
        assert profile.min() == profile[answer.policy.predict(CONTEXTS)[row]] == answer.value
    assert table.profile(2).tolist() == oracle.profile(costs, 2).tolist()
    with pytest.raises(InputError, match="no action weights"):
        table.action_weights(0, 0.1)


def test_noise_is_linear_in_the_program() -> None:
    """Noise that costs could have made is answered as those costs are."""
    for policies in (ThresholdRules(3, 2), BoxRules(3), MonotoneRules(3)):  # costs reach all of their columns
        oracle = open_oracle(policies, CONTEXTS)
        table, encoding = oracle.table("columns"), policies.on(CONTEXTS).program(constrained=True)
        oracle_costs = np.random.default_rng(4).integers(-5, 6, (len(CONTEXTS), policies.n_actions)).astype(float)
        grouped = np.zeros((int(policies.on(CONTEXTS).group.max()) + 1, policies.n_actions))
        np.add.at(grouped, policies.on(CONTEXTS).group, oracle_costs)
        objective = encoding.objective(grouped)
        profile = table.profile(1, objective.coefficients) + objective.offset
        assert profile.tolist() == oracle.profile(oracle_costs, 1).tolist()


@pytest.mark.parametrize("kind", ["search", "audited", "milp"])
def test_a_table_goes_on_from_its_state(kind: str) -> None:
    """A restored table gives the same bytes, whatever is added after."""
    tables = [open_oracle(DecisionTrees(3), CONTEXTS, kind=kind).table("columns") for _ in range(2)]
    for row in range(9):
        tables[0].add(row, row % 3, 0.1 + row / 7)
    tables[1].restore(json.loads(json.dumps(tables[0].state())))
    for table in tables:
        table.add(4, 1, 1 / 3)
    noise = np.random.default_rng(6).laplace(size=tables[0].n_noisy)
    assert tables[0].profile(4, noise).tobytes() == tables[1].profile(4, noise).tobytes()
    assert tables[0].state() == tables[1].state()


def test_lists_have_no_columns() -> None:
    """Kind "enumeration", and a search without terms, say what to use."""
    for policies, kind in ((DecisionTrees(2, depth=1), "enumeration"), (MonotoneRules(2), "search")):
        oracle = open_oracle(policies, CONTEXTS, kind=kind)
        assert "columns" not in oracle.capabilities
        with pytest.raises(InputError, match="contexts"):
            oracle.table("columns")
        costs = played([table := oracle.table("contexts")], 2)
        assert table.minimise().value == oracle.value(costs)


# ------------------------------------------------------------------- contexts that arrive


@pytest.mark.parametrize("policies", [*KEPT, MonotoneRules(3)], ids=repr)
def test_known_contexts_have_rows(policies: PolicyClass) -> None:
    """A context's row is the first labelled as it is; between other cut points, or other numbers, there is none."""
    oracle = open_oracle(policies, CONTEXTS)
    rows = oracle.rows(CONTEXTS)
    assert (rows <= np.arange(len(CONTEXTS))).all()
    assert (rows[rows] == rows).all()
    group = policies.on(CONTEXTS).group
    assert (group[rows] == group).all()
    with pytest.raises(InputError, match=r"context 1 is none of those .* GrowingOracle"):
        oracle.rows([CONTEXTS[0], [99.0, -99.0]])
    with pytest.raises(InputError, match="contexts have 3 columns"):
        oracle.rows(np.ones((1, 3)))


@pytest.mark.parametrize("cls", [DecisionTrees, ThresholdRules, RuleLists, BoxRules])
def test_from_nothing_to_a_known_pool(cls: type) -> None:
    """An oracle that begins with no context answers, at every step, as one opened on all that have come."""
    growing = GrowingOracle(cls(3, thresholds=CUTS))
    log_derivations = growing.log_derivations
    table = growing.table()
    rng = np.random.default_rng(7)
    costs = np.zeros((0, 3))
    assert growing.value(costs) == 0.0
    for context in rng.normal(size=(12, 2)):
        row = int(growing.rows(context[None])[0])
        costs = np.vstack([costs, np.zeros((growing.n_contexts - len(costs), 3))])
        action, amount = int(rng.integers(3)), float(rng.integers(1, 5))
        costs[row, action] += amount
        table.add(row, action, amount)
        known = open_oracle(cls(3, thresholds=CUTS), growing.contexts, kind="search")
        assert table.profile(row).tolist() == known.profile(costs, row).tolist() == growing.profile(costs, row).tolist()
        assert table.minimise().value == known.value(costs) == growing.value(costs)
        weights = growing.action_weights(costs, row, 0.5)
        assert table.action_weights(row, 0.5) == pytest.approx(weights, rel=1e-10)
    assert growing.n_contexts <= 9
    assert growing.log_derivations == log_derivations


def test_a_growing_oracle_with_terms_is_never_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the class has terms no list of contexts is opened; where it has none, by its limits, it is."""
    opened: list[int] = []
    on = DecisionTrees._on
    monkeypatch.setattr(DecisionTrees, "_on", lambda self, X, names: opened.append(len(X)) or on(self, X, names))
    for limit, expected in ((None, []), (3, [1, 2])):
        opened.clear()
        kind = "search" if limit is None else "milp"
        growing = GrowingOracle(DecisionTrees(2, thresholds=CUTS, max_leaves=limit), [[0.1, 0.1]], kind=kind)
        assert opened.pop(0) == 1  # the first contexts give the cut points
        growing.value(np.zeros((1, 2)))
        growing.rows([[0.9, 0.1]])
        growing.value(np.zeros((2, 2)))
        assert opened == expected


# ------------------------------------------------------------------- costs by context


@pytest.mark.parametrize("kind", ["search", "milp", "enumeration", "audited"])
def test_noise_on_contexts_is_in_one_answer_only(kind: str) -> None:
    """Costs add up, contexts that are labelled alike share their noise; each question is counted, adding is none."""
    labelings = [[0, 1, 0, 1], [1, 1, 1, 0], [2, 0, 2, 2]]  # rows 0 and 2 are labelled alike
    oracle, rng = open_oracle(FiniteClass(labelings, 3), LISTED, kind=kind), np.random.default_rng(0)
    table, totals = oracle.table(), np.zeros((4, 3))
    assert (table.n_noisy, table.n_moved) == (3 * 3, 1)
    for _ in range(8):
        row, action, amount = int(rng.integers(4)), int(rng.integers(3)), float(rng.integers(-3, 9))
        table.add(row, action, amount)
        totals[row, action] += amount
        noise = rng.integers(-5, 6, 9).astype(float)
        noisy = totals.copy()
        noisy[[0, 1, 3]] += noise.reshape(3, 3)
        before = oracle.calls
        found = table.profile(row, noise).tolist(), table.minimise(noise).value
        assert oracle.calls == before + 2
        assert found == (oracle.profile(noisy, row).tolist(), oracle.value(noisy))
        assert table.profile(row).tolist() == oracle.profile(totals, row).tolist()
        if "action_weights" in oracle.capabilities:
            assert table.action_weights(row, 0.3).tolist() == oracle.action_weights(totals, row, 0.3).tolist()


def test_contexts_labelled_apart_have_their_own_noise() -> None:
    """Equal contexts that some policy labels differently are two; contexts between the same cut points are one."""
    apart = FiniteClass([[0, 1, 2, 1], [1, 1, 1, 0], [2, 0, 2, 2]], 3)
    assert open_oracle(apart, LISTED, kind="search").table().n_noisy == 4 * 3
    contexts = np.array([[0.1], [0.2], [0.9]])
    table = open_oracle(DecisionTrees(2, 1, thresholds=[[0.5]]), contexts, kind="search").table()
    assert table.n_noisy == 2 * 2
    assert table.profile(1, np.array([5.0, 0.0, 0.0, 0.0])).tolist() == [5.0, 0.0]


# ------------------------------------------------------------------- which totals are kept


BINARY = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)


@pytest.mark.parametrize(
    ("policies", "constraints", "costs"),
    [
        *((DecisionTrees(3, depth=depth), [], depth == 4) for depth in (1, 2, 3, 4)),
        (ThresholdRules(3), [], False),
        (DecisionTrees(3, depth=4), [never(0, rows=[1])], True),
        (DecisionTrees(3, depth=2), [share_at_most(0, 0.5)], False),
    ],
    ids=[*(f"depth {depth}" for depth in (1, 2, 3, 4)), "thresholds", "forbidden actions", "a sum"],
)
def test_the_totals_that_are_kept_go_by_counted_steps(policies: PolicyClass, constraints: Any, costs: bool) -> None:
    """Leaf totals of deep trees are so many that a search from costs is far shorter; ``explain`` prints the choice."""
    oracle = open_oracle(policies, BINARY, kind="search", constraints=constraints)
    assert (oracle.table(None).totals.shape == (30, 3)) == costs
    if isinstance(policies, DecisionTrees) and not constraints:
        assert oracle.explain().splitlines()[-1] == f"running totals: {'costs' if costs else 'leaf totals'}"


def test_each_question_to_a_kept_table_is_counted() -> None:
    """Profiles, cheapest policies and weights are one call of the oracle each, as a study reports them."""
    oracle = open_oracle(DecisionTrees(3), CONTEXTS, kind="search")
    table, before = oracle.table(noise="columns"), oracle.calls
    for count, ask in enumerate((lambda: table.profile(0), table.minimise, lambda: table.action_weights(0, 0.1)), 1):
        ask()
        assert oracle.calls == before + count
