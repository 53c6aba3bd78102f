"""Rules of every form as one reads them aloud."""

from .rules import RULES


def test_rules_read_aloud(assert_golden):
    """Names of features and actions, = 0 and = 1 for features of 0 and 1, what always holds left out."""
    assert_golden("\n\n".join(str(rule) for rule in RULES) + "\n", "rules.txt")
