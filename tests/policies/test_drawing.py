"""Drawings of policies: everything is written, nothing meets anything else, and the page is as large as it must be."""

import xml.etree.ElementTree as ET
from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from policies import BoxRules, DecisionTrees, RuleLists, ThresholdRules
from policies.drawing import SMALLEST, figure
from policies.linear import HighestScore
from policies.names import Names
from policies.trees import DecisionTree, Leaf, Split

LONG = ["body mass index (kg/m^2)", "age", "has_prior_admission_within_one_year", "systolic blood pressure, mmHg"]
ACTIONS = ["wait and see", "refer to the specialist in the clinic", "treat"]
CLASSES = {
    "trees": DecisionTrees(3, depth=2),
    "deep trees, long names": DecisionTrees(3, depth=4, feature_names=LONG, action_names=ACTIONS),
    "lists, long names": RuleLists(3, max_rules=4, thresholds=1, feature_names=LONG, action_names=ACTIONS),
    "boxes, long names": BoxRules(3, max_features=2, feature_names=LONG, action_names=ACTIONS),
    "thresholds": ThresholdRules(3, max_cuts=3),
}


def contexts_and_costs(rng):
    """Return 40 contexts of four features, and costs of three actions."""
    table = np.column_stack([rng.normal(27.31, 4, 40), rng.integers(18, 90, 40), rng.integers(0, 2, 40)])
    return np.column_stack([table, rng.normal(130.123, 10, 40)]), rng.random((40, 3))


def boxes(figure):
    """Return the drawn rectangle of each text that stands in a box of its own, and of each answer."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    return {text: text.get_window_extent(renderer) for text in figure.axes[0].texts}


@pytest.mark.parametrize("name", CLASSES)
def test_nothing_meets_in_a_figure(name):
    """No text touches another, none is cut off, and shares and mean costs stand in every leaf that holds a context."""
    rng = np.random.default_rng(0)
    contexts, costs = contexts_and_costs(rng)
    opened = CLASSES[name].on(contexts)
    for _ in range(5):
        rule = opened.draw(rng)
        leaves = rule.leaves(contexts, costs)
        figure = rule.figure(leaves)
        drawn = boxes(figure)
        for (one, a), (other, b) in combinations(drawn.items(), 2):
            assert not a.overlaps(b), (one.get_text(), other.get_text())
        page = figure.bbox
        assert all(page.x0 <= box.x0 and box.x1 <= page.x1 for box in drawn.values())
        assert all(page.y0 <= box.y0 and box.y1 <= page.y1 for box in drawn.values())
        texts = [text.get_text() for text in drawn]
        assert sum("% of contexts" in text for text in texts) == len(leaves)
        assert sum("mean cost" in text for text in texts) == sum(leaf.share > 0 for leaf in leaves)
        assert figure.get_figwidth() <= 24


def test_letters_shrink_on_axes_that_are_too_small():
    """On axes of a given size the tree is as large as fits; on a page of its own its letters are readable."""
    rng = np.random.default_rng(1)
    contexts, _ = contexts_and_costs(rng)
    rule = CLASSES["deep trees, long names"].on(contexts).draw(rng)
    sizes = {}
    for width in (3.0, 7.0, 30.0):
        axes = Figure(figsize=(width, 5.0)).subplots()
        rule.draw(axes)
        sizes[width] = max(text.get_fontsize() for text in axes.texts)
    assert SMALLEST == sizes[3.0] <= sizes[7.0] < sizes[30.0] <= 9.0
    assert max(text.get_fontsize() for text in rule.figure().axes[0].texts) >= 6.0


def test_names_between_dollars_are_no_formulas():
    """Names of actions and features are drawn letter by letter wherever they stand, and none of them ends a drawing."""
    names = Names(("price in $", "$\\weight$"), ("pay $5 or $10", "$\\foo{$"))
    rule = HighestScore(((1, 0), (0, 1)), (0, 0), (None, None), names)
    written = {text.get_text() for text in rule.figure().axes[0].texts}
    assert "pay $5 or $10 has the highest" in written
    assert not any(text.get_parse_math() for text in rule.figure().axes[0].texts)
    assert "<svg" in rule._repr_html_()


def test_a_comparison_stays_with_its_number():
    """Where a long label is broken into lines, no line ends in a sign of comparison."""
    tree = DecisionTree(Split(0, 31.25, Leaf(0), Leaf(1)), Names(("body mass index (kg/m^2) x",), ()))
    (label,) = (text.get_text() for text in tree.figure().axes[0].texts if "31.25" in text.get_text())
    assert label == "body mass index (kg/m^2) x\n\u2264 31.25"


@pytest.mark.parametrize("name", CLASSES)
def test_notebooks_show_rules_and_a_drawing(name):
    """The view of a notebook has the rules, with signs escaped, and an SVG picture that is well-formed."""
    contexts, _ = contexts_and_costs(np.random.default_rng(2))
    rule = CLASSES[name].on(contexts).draw(np.random.default_rng(3))
    shown = rule._repr_html_()
    rules, _, picture = shown.partition("</pre>")
    assert rules.startswith("<pre>if ")
    assert "&lt;=" in rules or "&gt;" in rules or " = " in rules
    assert ET.fromstring(picture).tag.endswith("svg")  # noqa: S314 - our own text
    assert repr(rule) == f"<{type(rule).__name__}>\n{rule}"


def test_leaves_count_contexts_as_often_as_they_occurred():
    """With counts, shares and mean costs are those of the table in which each context is repeated so often."""
    rng = np.random.default_rng(4)
    contexts, costs = contexts_and_costs(rng)
    rule, counts = CLASSES["trees"].on(contexts).draw(rng), rng.integers(0, 4, 40)
    weighted = rule.leaves(contexts, costs, counts)
    repeated = rule.leaves(np.repeat(contexts, counts, axis=0), np.repeat(costs, counts, axis=0))
    assert [leaf.share for leaf in weighted] == pytest.approx([leaf.share for leaf in repeated])
    assert [leaf.mean_cost for leaf in weighted] == pytest.approx([leaf.mean_cost for leaf in repeated])


@pytest.mark.parametrize(("actions", "named"), [((0, 9), True), ((1, 8), False)])
def test_a_legend_tells_actions_apart_by_colour(actions, named):
    """There are seven colours: of ten actions those of a tree are named unless two of them share a colour."""
    tree = DecisionTree(Split(0, 0.5, Leaf(actions[0]), Leaf(actions[1])))
    assert bool(figure(tree.graph()).legends) == named
