"""
Five learners on a mirror
=========================

Costs need not follow a law. In the environment ``mirror`` they were fixed in advance, to the harm of epsilon-greedy:
what it is about to prefer gets expensive. Learners with a guarantee for all costs do not mind.
"""

# %%
# Five learners, three seeds, 1 000 decisions each, over trees of depth 2. The certificates are what each run states
# about its own regret from nothing but what it saw; those of 95 % hold for the very run.

import milpcb
from milpcb.policies import DecisionTrees

learners = {
    "Exp4": {"name": "exp4", "rate": "certified", "estimates": "optimistic"},
    "adaptive leader": {"name": "ftpl", "epsilon": "adaptive"},
    "epsilon-greedy": {"name": "epsilon_greedy"},
    "explore-then-commit": {"name": "explore_then_commit"},
    "uniform": {"name": "uniform"},
}
plays = milpcb.play(
    "mirror", learners, 1000, policies=DecisionTrees(n_actions=3, depth=2), seeds=range(3), confidence=0.95
)
plays

# %%
# The rule that looks best to Exp4 in the end, by what it was shown.

plays.policies["Exp4"][0]
