"""Lines of an oracle on the way in which it answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from milpcb import constraints, open_oracle
from milpcb.cli import cli
from milpcb.core.decimals import spaced
from milpcb.oracles import chain
from milpcb.oracles.growing import GrowingOracle
from milpcb.oracles.milp import MilpOracle
from policies import BoxRules, DecisionTrees, LinearRules, MonotoneRules, RuleLists, ThresholdRules

CONTEXTS = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 1], [1, 1, 0], [1, 1, 0]], dtype=float)
SIDE = [constraints.share_at_most(1, 0.4), constraints.never(1, rows=[0])]


def lines(oracle: Any) -> dict[str, str]:
    """Return what ``explain`` prints, by the first word of each line."""
    return dict(line.split(": ", 1) for line in oracle.explain().splitlines())


@pytest.mark.parametrize(
    ("policies", "way"),
    [
        (DecisionTrees(2, depth=2), "all trees of depth 2 by products of literals: the fewest steps for 2 tests"),
        (DecisionTrees(2, depth=2, max_leaves=3), "all trees of depth 2 within the limits of size, by products of"),
        (LinearRules(2), "support tables: 1 supports of 3 features"),
        (BoxRules(2), "the totals of all 3 boxes"),
        (ThresholdRules(2), "a dynamic program over the bins"),
        (RuleLists(2), "shortest paths over the sets of up to 2 of 2 tests"),
        (MonotoneRules(2), "a minimum cut"),
    ],
)
def test_a_search_names_what_it_goes_through(policies: Any, way: str) -> None:
    """Every class says what its search goes through, on how many contexts and actions."""
    explained = lines(open_oracle(policies, CONTEXTS, kind="search"))
    assert explained["answers"].startswith(f"by {way}")
    assert explained["contexts"].startswith("5, ")
    assert explained["policies"].startswith(type(policies).__name__)


def test_a_program_is_described_by_its_size() -> None:
    """Kind "milp" prints solver and size of the program, with the rows of the constraints."""
    free, held = (open_oracle(DecisionTrees(2), CONTEXTS, constraints=side) for side in ((), SIDE))
    assert isinstance(free, MilpOracle)
    columns, rows = free.program.n_columns, free.program.n_rows
    size = f"{spaced(columns)} columns, {spaced(rows)} rows"
    assert f"solver highs, a linear program, as its vertices are policies, of {size}" in lines(free)["answers"]
    assert "constraints" not in lines(free)
    assert "a mixed-integer program" in lines(held)["answers"]
    assert lines(held)["constraints"] == "2 rows of the program"


def test_a_search_says_where_constraints_are_kept() -> None:
    """A guard-rail forbids cells, a budget is a sum that the recursion keeps."""
    explained = lines(open_oracle(DecisionTrees(2), CONTEXTS, kind="search", constraints=SIDE))
    assert explained["forbidden"] == "1 of 8 pairs of a context and an action, by side constraints"
    assert explained["first"].startswith("the best policy without side constraints, by all trees of depth 2")
    assert explained["answers"] == "by the same search, constraints kept as sums: 1"
    explained = lines(open_oracle(ThresholdRules(2), CONTEXTS, kind="search", constraints=SIDE))
    assert explained["answers"] == "by a recursion over 12 leaf totals, constraints kept as sums: 1"


INTEGERS = np.random.default_rng(4).integers(0, 12, (24, 8)).astype(float)
CHAINS: dict[str, tuple[Any, np.ndarray, dict[str, Any], list[str]]] = {
    "free": (DecisionTrees(2), CONTEXTS, {}, ["answers"]),
    "until a time": (DecisionTrees(2), CONTEXTS, {"time_limit": 60.0}, ["answers"]),
    "guard-rails": (DecisionTrees(2), CONTEXTS, {"constraints": SIDE[1:]}, ["answers"]),
    "rows": (DecisionTrees(2), CONTEXTS, {"constraints": SIDE}, ["first", "answers"]),
    "rows of leaf totals": (ThresholdRules(2), CONTEXTS, {"constraints": SIDE}, ["first", "answers"]),
    "a solver": (LinearRules(2, max_weight=5), INTEGERS, {}, ["route"]),
}


@pytest.mark.parametrize(("policies", "contexts", "options", "names"), CHAINS.values(), ids=CHAINS)
def test_explain_prints_the_steps_that_run(
    policies: Any, contexts: np.ndarray, options: dict[str, Any], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all steps those that a query goes through are those that are printed, in this order."""
    asked: list[str] = []

    def watched(step: chain.SearchStep) -> chain.SearchStep:
        def ask() -> chain.Ask:
            own = step.ask()  # type: ignore[misc]

            def answer(*given: Any) -> Any:
                asked.append(f"{step.name}: {step.why}")
                return own(*given)

            return answer

        return step._replace(ask=step.ask and ask)

    steps = chain.steps
    monkeypatch.setattr(chain, "steps", lambda under: map(watched, steps(under)))
    oracle = open_oracle(policies, contexts, "search", **options)
    asked.clear()
    oracle.minimise(np.tile([1.0, -1.0], (len(contexts), 1)))
    assert [line.split(":")[0] for line in asked] == names
    assert "\n".join(asked) in oracle.explain()


def test_contexts_that_arrive_are_counted() -> None:
    """An oracle whose contexts arrive explains the recursion that it asks."""
    oracle = GrowingOracle(DecisionTrees(2, thresholds=[[0.5]] * 3))
    oracle.extend(CONTEXTS)
    assert "leaf totals" in lines(oracle)["running totals"]
    assert lines(oracle)["contexts"].startswith("4, 4 of them different to policies")


def test_the_command_explains(tmp_path: Path) -> None:
    """``milpcb solve --explain`` prints the lines after the answer."""
    contexts, costs = tmp_path / "x.csv", tmp_path / "c.csv"
    contexts.write_text("a,b\n0,1\n1,0\n1,1\n")
    costs.write_text("call,write\n0,1\n1,0\n1,0\n")
    given = ["solve", str(contexts), str(costs), "--kind", "search", "--depth", "1", "--explain"]
    result = CliRunner().invoke(cli, given)
    assert result.exit_code == 0, result.output
    assert "answers: by all trees of depth 1 by products of literals" in result.output
