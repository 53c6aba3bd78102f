"""The published way to an optimal tree: a flow formulation, built in PuLP and solved by HiGHS afresh for every query.

Source
    FlowOCT: Aghaei, Gomez & Vayanos, "Strong optimal classification trees", arXiv:2103.15965, counts correctly labelled
    contexts. A reward for each action instead is the generalisation of Jo, Aghaei, Gomez & Vayanos, "Learning optimal
    prescriptive trees from observational data", arXiv:2108.13628. There is no regularisation, so every node above the
    leaves tests: leaves with equal actions stand for a tree that stops early. That drops the papers' p variables;
    with them HiGHS takes several times as long.
Rewards
    r[j, k] = max_a costs[j, a] - costs[j, k] >= 0, whatever the signs of the costs. A context that the flow leaves out
    pays its largest cost, so the least total cost is sum_j max_a costs[j, a] less the largest flow.
Variables
    Nodes 1..2^D - 1 test, nodes 2^D..2^(D+1) - 1 are leaves; 2n and 2n + 1 are the children of n.
    b[n, f] in {0, 1}: node n tests literal f;  w[n, k] in [0, 1]: leaf n predicts k;
    z[j, n] in [0, 1]: flow of context j into node n > 1;  zeta[j, n, k] in [0, 1]: flow from leaf n to the sink of k.
Constraints
    (1)  sum_f b[n, f] = 1;  sum_k w[n, k] = 1
    (2)  z[j, 2n] + z[j, 2n + 1] = z[j, n];  at the root <= 1
    (3)  z[j, 2n] <= sum of b[n, f] over f that fail at j;  z[j, 2n + 1] <= the sum over f that hold at j
    (4)  sum_k zeta[j, n, k] = z[j, n];  zeta[j, n, k] <= w[n, k]
"""

import warnings
from typing import Any

import pulp

from milpcb.types import Floats


def flow_oct(literals: Floats, costs: Floats, depth: int) -> float:
    """Return the least total cost of a tree; ``literals`` is (m, p) of 0 and 1, ``costs`` (m, K) of any sign.

    Raises RuntimeError when HiGHS does not prove the optimum.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PuLP 3 announces PuLP 4
        problem = _program(literals, costs, depth)
        problem.solve(pulp.HiGHS(msg=False, threads=1, gapRel=0.0, gapAbs=0.0))
    if problem.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"HiGHS stopped with '{pulp.LpSolution[problem.sol_status]}' on a flow formulation")
    return float(costs.max(axis=1).sum()) - float(pulp.value(problem.objective))


def _program(literals: Floats, costs: Floats, depth: int) -> Any:
    (m, p), n_actions = literals.shape, costs.shape[1]
    contexts, features, actions = range(m), range(p), range(n_actions)
    tests, leaves = range(1, 2**depth), range(2**depth, 2 ** (depth + 1))
    rewards = costs.max(axis=1, keepdims=True) - costs
    b = pulp.LpVariable.dicts("b", (tests, features), cat=pulp.LpBinary)
    w = pulp.LpVariable.dicts("w", (leaves, actions), 0, 1)
    z = pulp.LpVariable.dicts("z", (contexts, range(2, 2 ** (depth + 1))), 0, 1)
    zeta = pulp.LpVariable.dicts("zeta", (contexts, leaves, actions), 0, 1)
    problem = pulp.LpProblem("FlowOCT", pulp.LpMaximize)
    problem += pulp.lpSum(float(rewards[j, k]) * zeta[j][n][k] for j in contexts for n in leaves for k in actions)
    for n in tests:
        problem += pulp.lpSum(b[n].values()) == 1  # (1)
    for n in leaves:
        problem += pulp.lpSum(w[n].values()) == 1
    for j in contexts:
        problem += z[j][2] + z[j][3] <= 1  # (2)
        for n in tests[1:]:
            problem += z[j][2 * n] + z[j][2 * n + 1] == z[j][n]
        for n in tests:  # (3)
            for child, outcome in ((2 * n, 0), (2 * n + 1, 1)):
                problem += z[j][child] <= pulp.lpSum(b[n][f] for f in features if literals[j, f] == outcome)
        for n in leaves:  # (4)
            problem += pulp.lpSum(zeta[j][n].values()) == z[j][n]
            for k in actions:
                problem += zeta[j][n][k] <= w[n][k]
    return problem
