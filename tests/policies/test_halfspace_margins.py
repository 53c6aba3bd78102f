"""The printed rule of a halfspace: few digits, and a margin that is no narrower than half the widest."""

import numpy as np

from milpcb.types import Bools, Floats
from policies.halfspaces.separator import _widest, rule_of
from policies.names import Names


def margin(contexts: Floats, labels: Bools, weights: Floats) -> float:
    """Return how far scores of the two labels are apart, as a share of their range."""
    scores = contexts @ weights
    return float((scores[labels].min() - scores[~labels].max()) / np.ptp(scores))


def test_few_digits_keep_half_the_widest_margin() -> None:
    """Of the weights with fewer digits some give the labels, and hold them too close to the cut; they are not taken."""
    rng, one_digit = np.random.default_rng(0), 0
    for _ in range(40):
        contexts = rng.normal(size=(100, 3))
        labels = contexts @ rng.normal(size=3) >= 0.2
        if labels.all() or not labels.any():
            continue
        rule = rule_of(contexts, labels, Names())
        widest = _widest(contexts, labels)
        assert margin(contexts, labels, np.array(rule.weights)) >= 0.5 * margin(contexts, labels, widest) > 0.0
        assert (rule.predict(contexts) == labels).all()
        one_digit += all(float(f"{weight:.0e}") == weight for weight in rule.weights)
    assert one_digit > 5, "a rule has no more digits than that takes"
