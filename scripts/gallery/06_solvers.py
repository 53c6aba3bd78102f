"""
Swap the solver
===============

An oracle answers "which policy of the class is cheapest for these costs?". The answer is the optimal value of a
mixed-integer program, so any solver can give it. With integer costs all of them give the very same number.
"""

# %%
# 120 people, three actions, integer costs; trees of depth 2 under a budget for the first action.

import numpy as np

import milpcb
from milpcb.constraints import share_at_most
from milpcb.policies import DecisionTrees

rng = np.random.default_rng(0)
contexts = rng.integers(0, 2, (120, 6)).astype(float)
costs = rng.integers(0, 100, (120, 3)).astype(float)
trees = DecisionTrees(n_actions=3, depth=2)
budget = share_at_most(0, 0.2)

# %%
# The exact search of the class, and three ways to ask a solver. ``milpcb solvers`` lists those that run here; Gurobi,
# CPLEX, SCIP, COPT and Xpress are an extra each.

solvers = ["highs", "scipy", "pulp:PULP_CBC_CMD"]
for oracle in ({"kind": "search"}, *({"kind": "milp", "solver": name} for name in solvers)):
    asked = milpcb.open_oracle(trees, contexts, **oracle, constraints=[budget])
    answer = asked.minimise(costs)
    name = oracle.get("solver", "search of the class")
    print(f"{name:20s} {answer.value:8.0f}   {'proved' if answer.stop == 'optimal' else 'not proved'}")

# %%
# The policy, and what it costs to keep the budget.

free = milpcb.open_oracle(trees, contexts, kind="search").minimise(costs)
print(f"the budget costs {answer.value - free.value:.0f} more than {free.value:.0f}")
answer.policy
