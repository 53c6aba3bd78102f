"""
A rule in force, and its changes
================================

A shop decides whom to write to. Its front end is no Python program: it is handed a rule with probabilities, as a file,
whenever the rule changes. BISTRO+ with one draw of the future changes it some twenty times in five months.
"""

# %%
# The people that may come are known, so they are the ``contexts``. ``future="once"`` draws the noise of all rounds
# before the first one. Expected regret stays as it is, and one rule is in force at any time.

import json
import shutil
import subprocess
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import milpcb
from milpcb.policies import DecisionTrees

rng = np.random.default_rng(3)
people = [{"age": int(rng.integers(18, 80)), "region": str(rng.choice(["north", "south"]))} for _ in range(200)]
trees = DecisionTrees(
    n_actions=3, depth=2, thresholds=[[30, 45, 60], []], feature_names=["age", "region"],
    action_names=["mail", "call", "wait"],
)  # fmt: skip
bandit = milpcb.Bandit(
    trees, learner="bistro_plus", contexts=people, values={"region": ["north", "south"]}, horizon=1500,
    noise="half", future="once", seed=0,
)  # fmt: skip

# %%
# Five months with ten decisions a day. Each decision names the rule that it followed, and the leaf. A call helps with
# the old in the south, mail with the others.

rules: dict[int, str] = {}
for _ in range(1500):
    person = people[rng.integers(len(people))]
    decision = bandit.act(person)
    right = "call" if person["age"] > 45 and person["region"] == "south" else "mail"
    bandit.learn(decision, cost=float(rng.random() < (0.2 if decision.action == right else 0.6)))
    if decision.rule_number not in rules:
        rules[decision.rule_number] = bandit.rule().to_json()  # what the front end gets

# %%
# The log: which rule was in force, from which decision on. The last one plays its action with ``1 - 2 * exploration``,
# and each other action with ``exploration``.

log = bandit.rules()
for rule in log[-3:]:
    print(f"rule {rule.number}, from decision {rule.since} on, exploration {rule.exploration:.3f}")
print(bandit.rule().policy)

# %%
# The file is read by any language. This JavaScript program of 30 lines (``rule_in_force.js``) draws the actions.

folder = Path(mkdtemp())
(folder / "rule.json").write_text(rules[log[-1].number], encoding="utf-8")
node = shutil.which("node")
if node is not None:
    reader = Path(milpcb.__file__).parents[1] / "scripts" / "gallery" / "rule_in_force.js"
    command = [node, str(reader), str(folder / "rule.json")]
    drawn = subprocess.run(command, input=json.dumps(people), capture_output=True, text=True, check=True)
    for line, person in zip(drawn.stdout.splitlines()[:3], people, strict=False):
        print(person, line)

# %%
# Whoever publishes a rule should know: costs that react to it break the guarantee. What the certificate states with
# 95 % confidence holds even then.

print(f"with 95 % confidence regret is at most {bandit.certificate(confidence=0.95):.0f} of {1500} decisions")
