"""Orders of actions: whichever order each table has them in, the answer is that of one order, by name.

Each set draws names of actions (strings, numbers, booleans), a log with two outcomes, and an order for each table. Four
questions are asked with these orders, and again with all tables in one: the limit of ``no_worse_than``, ``LowerEnds``,
``evaluate(reference=)``, and the replay of a log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from milpcb.constraints import share_at_most
from milpcb.data.actions import action_name
from milpcb.estimators import LoggedPolicyTree
from milpcb.experiments.run.player import LiveStream
from milpcb.offline import LoggedRounds, LowerEnds, Scores, best_reference, evaluate, no_worse_than, read_log, scores
from milpcb.offline.restrictions import Question
from milpcb.protocols import open_class
from policies import DecisionTrees

NAMES: tuple[tuple[Any, ...], ...] = (
    ("wait", "treat", "refer"),
    ("treat", "wait"),
    ("B", "a", "C"),
    (2, 10, 1),
    (1, 0),
    (True, False),
    ("10", "9"),
    (0.5, 3, 1),
)
ROWS = 60


@dataclass(frozen=True)
class Drawn:
    """A log of ``ROWS`` rows: ``done`` (n,) are numbers of the ``names``; ``seed`` draws the orders of tables."""

    names: tuple[Any, ...]
    X: Any
    done: Any
    outcomes: Any
    seed: int

    @classmethod
    def of(cls, seed: int) -> Drawn:
        """Draw one; the action with the last number helps where x0 is 1, and harms where x1 is 1."""
        rng = np.random.default_rng(seed)
        names = NAMES[seed % len(NAMES)]
        X = rng.integers(0, 2, (ROWS, 3)).astype(float)
        done = np.append(rng.integers(0, len(names), ROWS - len(names)), np.arange(len(names)))
        effect = np.column_stack([done * (X[:, 0] - 0.3), done * (X[:, 1] - 0.7)])
        return cls(names, X, done, effect + 0.1 * rng.normal(size=(ROWS, 2)), seed)

    @property
    def given(self) -> Any:
        """Actions played (n,), as they are handed in."""
        return np.array(self.names)[self.done]

    def order(self, table: int) -> list[Any]:
        """Return the names in the order of a table: 0 is that in which an estimator sorts them."""
        if not table:
            return np.unique(self.given).tolist()
        order = np.random.default_rng([self.seed, table]).permutation(len(self.names))
        return [self.names[k] for k in order]

    def scores(self, order: list[Any], which: int = 0, **options: Any) -> Scores:
        """Return scores of the first outcome, a reward, or of the second, a cost."""
        outcome = {("reward", "cost")[which]: self.outcomes[:, which]}
        propensity = np.full((ROWS, len(order)), 1 / len(order))
        return scores(read_log(self.X, self.given, propensity=propensity, actions=order, **outcome), "snips", **options)

    def trees(self, order: list[Any]) -> DecisionTrees:
        """Return a class that calls its actions by name, in an order."""
        return DecisionTrees(len(order), 1, action_names=[action_name(each) for each in order])


def limited(drawn: Drawn, orders: Callable[[int], list[Any]]) -> Any:
    """Return what is played under a limit on the second outcome, and where it is the action compared with."""
    rule = no_worse_than(action_name(drawn.names[0]), outcome=drawn.scores(orders(1), 1), margin=0.05, draws=20)
    tree = LoggedPolicyTree(max_depth=1, method="snips", constraints=[rule])
    tree.fit(drawn.X, drawn.given, reward=drawn.outcomes[:, 0], propensity=np.full(ROWS, 1 / len(drawn.names)))
    return [*map(action_name, tree.predict(drawn.X).tolist())]


def ends(drawn: Drawn, orders: Callable[[int], list[Any]]) -> Any:
    """Return the lower end of each constant over the best one."""
    policies, found = drawn.trees(orders(1)), drawn.scores(orders(2))
    reference = best_reference(drawn.scores(orders(3)))
    labels = [np.full(ROWS, orders(1).index(name)) for name in drawn.names]
    return LowerEnds(Question(policies, drawn.X), found, reference).of(labels, level=0.9, draws=20)


def gained(drawn: Drawn, orders: Callable[[int], list[Any]]) -> Any:
    """Return the gain of what was done over the best lottery that gives one action to few."""
    limit = share_at_most(drawn.names[-1], 0.3)
    reference = best_reference(drawn.scores(orders(1)), [limit])
    found = evaluate(drawn.scores(orders(2)), drawn.given, reference=reference)
    return [
        found.gain.estimate,
        found.gain.lower,
        found.gain.upper,
        *(found.constants[action_name(k)].estimate for k in drawn.names),
    ]


def replayed(drawn: Drawn, orders: Callable[[int], list[Any]]) -> Any:
    """Return the mean cost of always playing each action, replayed to a class with names of its own."""
    rounds = LoggedRounds(drawn.scores(orders(1)).log, outcome_range=(-9.0, 9.0))
    stream = LiveStream(rounds, open_class(drawn.trees(orders(2)), drawn.X), drawn.X)
    found = []
    for name in drawn.names:
        stream.begin(0)
        paid = [stream.cost(orders(2).index(name)) for t in range(ROWS) if stream.reveal(t) >= 0]
        found.append(np.mean([cost for cost in paid if cost is not None]))
    return found


QUESTIONS = (limited, ends, gained, replayed)


@pytest.mark.cases(8)
@pytest.mark.filterwarnings("ignore")  # of the logs, which are small
def test_answers_do_not_depend_on_the_orders_of_tables(numbers: range) -> None:
    """Strings, numbers and booleans as names, four questions each."""
    found = []
    for seed in numbers:
        drawn = Drawn.of(seed)
        for ask in QUESTIONS:
            mixed, plain = ask(drawn, drawn.order), ask(drawn, lambda _table, drawn=drawn: drawn.order(0))
            alike = mixed == plain if isinstance(mixed[0], str) else np.allclose(mixed, plain, rtol=1e-9, atol=1e-9)
            found += [] if alike else [f"set {seed}, actions {drawn.names}: {ask.__name__}"]
    assert found == []
