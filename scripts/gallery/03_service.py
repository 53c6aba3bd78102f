"""
A service that restarts, with late outcomes
===========================================

A clinic sends reminders. Whether somebody came is known days later, the process is restarted every night, and things
must never get much worse than they are today.
"""

# %%
# Today everybody gets a text. ``baseline`` promises that, with 95 % confidence and at every moment, the total cost is
# at most 10 % above that of today's way.

from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import milpcb
from milpcb.policies import DecisionTrees

trees = DecisionTrees(
    n_actions=3,
    depth=2,
    thresholds=[[30, 50, 65], [], [1, 3]],  # where a tree may cut; regions are strings, and tests by themselves
    feature_names=["age", "region", "missed"],
    action_names=["text", "call", "nothing"],
)
saved = Path(mkdtemp()) / "bandit.json"
milpcb.Bandit(
    trees,
    seed=1,
    estimates="optimistic",
    baseline="text",
    loss=0.1,
    values={"region": ["north", "south"], "age": [None]},  # the strings that count; an age may be missing
).save(saved)

# %%
# The world, which nobody sees: reminders help those who missed visits, and the old need a call.

rng = np.random.default_rng(7)


def missed_again(person: dict[str, object], action: str | int) -> float:
    """Return the cost of an action: 1 if the person does not come."""
    old = (person["age"] or 40) > 50
    right = ("call" if old else "text") if person["missed"] > 1 else "nothing"
    return float(rng.random() < (0.15 if action == right else 0.45))


# %%
# Eight weeks. Each day loads the file, learns what has become known, decides, and saves. A decision is stored with
# the visit it belongs to, as text, and comes back with its outcome one to four days later.

waiting: list[tuple[int, str, float]] = []
statements = []
for day in range(1, 57):
    bandit = milpcb.Bandit.load(saved)
    for _, decision, cost in [entry for entry in waiting if entry[0] <= day]:
        bandit.learn(milpcb.Decision.from_json(decision), cost=cost)
    waiting = [entry for entry in waiting if entry[0] > day]
    for _ in range(50):
        age = None if rng.random() < 0.1 else int(rng.integers(18, 90))
        person = {"age": age, "region": str(rng.choice(["north", "south"])), "missed": int(rng.integers(5))}
        decision = bandit.act(person)
        known = day + int(rng.integers(1, 5))
        waiting.append((known, decision.to_json(), missed_again(person, decision.action)))
    bandit.save(saved)
    if day % 28 == 0:
        statements.append(f"after {day} days\n{bandit.statement()}")

# %%
# What the service states about itself, every four weeks. Each sentence holds for this very run.

print("\n\n".join(statements))

# %%
# The rule that it has learnt so far.

print(bandit.policy())
