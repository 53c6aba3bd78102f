"""The first screen of the page on a log: parts in words, three bars, and numbers that people can read."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from milpcb.core.decimals import THIN
from milpcb.data.columns import Membership, Number
from milpcb.logs.page import Worth, bars, first
from milpcb.logs.questions import priced
from milpcb.logs.rule import DrawnPart, who
from milpcb.logs.sections import Unit, rule_text
from policies.exports.decisions import AllOf, step_of
from policies.exports.decisions import Test as Comparison
from policies.names import Names
from policies.thresholds import ThresholdRule
from policies.trees.rule import DecisionTree, Leaf, Split

TREE = DecisionTree(
    Split(0, 45.0, Leaf(1), Split(1, 0.5, Leaf(0), Leaf(2))),
    names=Names(("age", "member"), ("call", "write", "play cards")),
)
MONEY = Unit("spent", maximise=True, binary=False, error=130.0, sign="$")
SALES = Unit("bought", maximise=True, binary=True, error=0.012)
LINES = [
    Worth("this rule", 0.56, (0.4, 0.7), "band over all rules"),
    Worth("'call' for everybody", 0.5, (0.45, 0.55), ""),
    Worth("what was done", 0.4, None, ""),
    Worth("always 'write'", math.nan, None, "no rows of it among 7 people"),
    Worth("this rule, hold-out rows", 0.53, (0.48, 0.58), "100 other rows"),
    Worth("'call' for everybody, hold-out rows", 0.51, (0.45, 0.55), ""),
    Worth("what was done, hold-out rows", 0.41, None, ""),
]

READ = (Number("age"), Number("age", 50.0), Membership("region", ("north",)), Number("visits"))
NAMES = Names(("age", "region", "visits"), columns=READ)
UP_TO_45, NORTH = Comparison(0, "<=", 45.0), Comparison(2, "<=", 0.5)
TESTS = {
    (UP_TO_45, True): "age up to 45",
    (UP_TO_45, False): "age above 45",
    (Comparison(1, "<=", 55.0), True): "age up to 55 or missing",
    (Comparison(1, "<=", 45.0), False): "age above 45 or missing",
    (Comparison(1, "<=", 45.0), True): "age up to 45",
    (NORTH, True): "region = north",
    (NORTH, False): "region other than north",
    (AllOf((UP_TO_45,)), False): "age above 45",
    (AllOf((Comparison(0, ">", 30.0), UP_TO_45)), False): "not (30 < age <= 45)",
    (AllOf((UP_TO_45, Comparison(3, "<=", 3.0))), False): "not (age <= 45 and visits <= 3)",
    (Comparison(3, ">=", 3.0), True): "visits >= 3",
}


@pytest.mark.parametrize(("test", "holds"), TESTS)
def test_a_test_in_words(test, holds):
    """One comparison is written out, with missing values on their side; several are left as they are."""
    assert step_of(test, NAMES, holds=holds).words == TESTS[test, holds]


def test_parts_are_numbered_as_in_the_drawing():
    """Every part has the tests on its way, and its number stands in the drawing, with value and interval on lines."""
    assert who(TREE) == {0: "age up to 45", 1: "age above 45, member up to 0.5", 2: "age above 45, member above 0.5"}
    summary = DrawnPart("write", 0.456, "56.1 of 100\n48.0 to 63.0")
    drawn = TREE.graph([summary, summary, summary])
    labels = [label for _, label in drawn.nodes(data="label")]
    assert "1: write\n46\u202f% of rows\n56.1 of 100\n48.0 to 63.0" in labels
    assert not any("play" in label for label in labels)
    assert who(ThresholdRule(0, (), (1,))) == {0: "everybody"}


def test_the_way_to_a_part_names_no_bound_that_a_later_one_implies():
    """Above 6 and then above 7 is above 7; above 6 and then up to 7 are both needed, and so are two columns."""
    tree = Split(0, 6.0, Split(1, 6.5, Leaf(0), Leaf(1)), Split(0, 7.0, Leaf(0), Leaf(1)))
    assert who(DecisionTree(tree, names=Names(("visits", "age"), ("a", "b")))) == {
        0: "visits up to 6, age up to 6.5",
        1: "visits up to 6, age above 6.5",
        2: "visits above 6, visits up to 7",
        3: "visits above 7",
    }


def test_a_leaf_of_a_printed_rule_is_its_action():
    """Trees and lists print the action alone, whatever it is called; other rules are left as they are."""
    assert rule_text(TREE).splitlines()[1] == "    write"
    assert rule_text(TREE).splitlines()[-1].strip() == "play cards"
    assert rule_text("score = +1*age\nplay call if score >= 3, else play write").endswith("else play write")
    assert rule_text("play call") == "call"


def test_what_is_not_known_has_no_number():
    """An action without rows somewhere has the reason on its line, and no value."""
    assert LINES[3].cells(SALES) == ["always 'write'", "not known", "", "no rows of it among 7 people"]
    assert priced(SALES, None) == ("not known", "")


def test_bars_are_at_their_places():
    """Places are shares of the width: the reference is where its dot is, and intervals reach around their values."""
    drawn = bars(SALES, first(LINES), 0.95)
    own, alike, done = drawn["lines"]
    assert drawn["dashed"] == alike["dot"]
    assert float(own["left"]) < float(own["dot"]) < float(own["left"]) + float(own["width"]) < 100
    assert (own["own"], alike["own"]) == (True, False)
    assert (done["width"], done["ends"]) == ("0.00", "no interval")
    assert own["value"] == "53.0"


def test_amounts_have_the_digits_that_their_error_leaves():
    """Dollars without an exponent and with their sign; shares of people of 100; marks of axes with their own digits."""
    assert MONEY.value(11287.4) == f"11{THIN}290"
    assert (SALES.value(0.4953), SALES.gain(-0.0161)) == ("49.5", "\u22121.6 of 100")
    assert Unit("bought", maximise=True, binary=True, error=0.06).value(0.4953) == "50"
    assert Unit("bought", maximise=True, binary=True, error=math.nan).value(0.4953) == "49.5"
    assert (MONEY.tick(12500.0), SALES.tick(0.425), MONEY.tick(-0.05)) == (f"12{THIN}500", "42.5", "\u22120.05")
    assert not any(re.search(r"e[+-]", MONEY.amount(10.0**k)) for k in range(-9, 13))


def test_the_unit_of_what_treatments_cost():
    """Outcomes of 0 and 1 are shares of people, unless what treatments cost is taken off them."""
    scores = SimpleNamespace(log=SimpleNamespace(outcome=np.array([0.0, 1.0])), maximise=True, charge=np.zeros(2))
    assert Unit.of_scores("bought", scores).binary
    scores.charge = np.array([0.1, 0.0])
    assert not Unit.of_scores("bought", scores).binary
