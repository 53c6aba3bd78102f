"""Answers and oracles in a console and in a notebook: short, and with the rule that was found."""

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.oracles.growing import GrowingOracle
from milpcb.types import Answer, Stop
from policies import DecisionTrees, FiniteClass

CONTEXTS = np.array([[0.0], [1.0], [1.0]])
COSTS = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize(("kind", "by"), [("milp", ", solver highs"), ("audited", ", solver highs"), ("search", "")])
def test_an_oracle_says_what_it_is(kind, by):
    """Kind, class, contexts, actions and solver, in one line."""
    oracle = open_oracle(DecisionTrees(2), CONTEXTS, kind=kind)
    assert repr(oracle) == f"<{kind.capitalize()}Oracle: DecisionTrees, 3 contexts, 2 actions{by}>"
    growing = GrowingOracle(DecisionTrees(2), CONTEXTS, kind=kind)
    assert repr(growing) == f"<GrowingOracle: DecisionTrees, kind {kind}, 2 contexts so far, 2 actions>"


def test_an_answer_shows_value_and_rule():
    """The proved value, why it stopped, and the rule; in a notebook the drawing too."""
    answer = open_oracle(DecisionTrees(2), CONTEXTS).minimise(COSTS)
    head, *rule = repr(answer).split("\n")
    assert head.startswith("<Answer: least total cost 0, stop = optimal, ")
    assert "\n".join(rule) == str(answer.policy) == "if x0 = 0:\n    play action 0\nelse:\n    play action 1"
    assert "<svg" in answer._repr_html_()


def test_an_answer_without_proof_shows_its_bounds():
    """Bounds instead of a value, and that there is no policy."""
    answer = Answer(1.5, np.inf, None, Stop.TIME_LIMIT, 2.0)
    assert repr(answer) == "<Answer: least total cost between 1.5 and inf, stop = time_limit, 2 s, no policy found>"
    assert answer._repr_html_() == f"<p>{repr(answer)[9:-1]}</p>"


def test_policies_without_a_drawing_are_shown_as_text():
    """A policy that only prints is shown as it prints, with signs escaped."""

    class Odd:
        def __str__(self):
            return "a < b"

    assert "<pre>a &lt; b</pre>" in Answer(0.0, 0.0, Odd(), Stop.OPTIMAL, 0.0)._repr_html_()
    listed = open_oracle(FiniteClass([[0, 1, 1]], 2), CONTEXTS, kind="search").minimise(COSTS)
    assert repr(listed).endswith(str(listed.policy))
