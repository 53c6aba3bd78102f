"""Rules of every form as one reads them aloud, and what is written of them to JSON."""

from policies import from_json

from .rules import RULES


def test_rules_read_aloud(assert_golden):
    """Names of features and actions, = 0 and = 1 for features of 0 and 1, what always holds left out."""
    assert_golden("\n\n".join(str(rule) for rule in RULES) + "\n", "rules.txt")


def test_rules_are_written_to_json_and_read_back():
    """A rule that is read compares, prints and is named as the one that was written."""
    for rule in RULES:
        again = from_json(rule.to_json())
        assert (again, str(again), again.names) == (rule, str(rule), rule.names)
