"""``--near`` of ``milpcb solve`` and ``milpcb learn``: all policies that do nearly as well as the best."""

import numpy as np
import pytest


@pytest.fixture
def solved(tmp_path, milpcb_):
    """Return ``solved(*options)``: what solve prints of two small files in which age decides, but for one context."""
    (tmp_path / "x.csv").write_text("age,visits\n20,0\n30,1\n40,0\n50,1\n60,0\n70,1\n")
    np.savetxt(tmp_path / "c.csv", [[0, 5], [0, 5], [1, 2], [5, 0], [5, 0], [5, 0]], delimiter=",", fmt="%d")

    def solved(*options):
        return milpcb_(tmp_path, "solve", "x.csv", "c.csv", "--depth", "1", "--thresholds", "all", *options)

    return solved


@pytest.mark.parametrize("kind", ["search", "milp", "enumeration"])
def test_near_policies_are_counted_and_shown_side_by_side(kind, solved):
    """How many there are, where their actions differ, what they need, and the policies with their costs."""
    lines = solved("--kind", kind, "--near", "1").stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("near: "))
    assert lines[start : start + 3] == [
        "near: 2 different policies cost at most 1 more than the least",
        "contested: on 1 of 6 contexts they do not all play the same action",
        "needed: age (10 more without it); no other feature is",
    ]
    assert [part.strip() for part in lines[start + 4].strip("┃").split("┃")] == ["cost 1", "cost 2"]
    assert "if age <= 40:" in lines[start + 6]
    assert "if age <= 30:" in lines[start + 6]


def test_one_policy_is_one(solved):
    """With slack 0 there is the best alone."""
    assert "near: 1 policy costs at most 0 more than the least\n" in solved("--near", "0").stdout


@pytest.mark.parametrize("slack", ["-1", "nan", "inf"])
def test_a_wrong_slack_is_one_line_before_anything_is_solved(slack, solved):
    """It names the option and what it wants."""
    done = solved("--near", slack)
    assert done.returncode == 2
    assert not done.stdout
    assert done.stderr.startswith("milpcb: --near must be finite and not negative, got ")
    assert done.stderr.count("\n") == 1


def test_lists_need_no_features(tmp_path, milpcb_):
    """A class whose policies are a list of labels is counted as every other."""
    (tmp_path / "x.csv").write_text("1\n2\n")
    (tmp_path / "c.csv").write_text("0,1\n1,0\n")
    options = ("--policies", "finite_class", "--labelings", "[[0, 1], [1, 1], [0, 0]]", "--near", "1")
    lines = milpcb_(tmp_path, "solve", "x.csv", "c.csv", *options).stdout
    assert "near: 3 different policies cost at most 1 more than the least\n" in lines
    assert "needed: policies of a list read no features\n" in lines


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (("--near", "-0.1"), "--near must be finite and not negative, got -0.1"),
        (("--near", "nan"), "--near must be finite and not negative, got nan"),
        (("--near", "0.1", "--monotone", "age=more"), "--near is for the rule that looks best; leave --no-worse"),
    ],
)
def test_mistakes_of_learn_are_one_line(options, fragment, tmp_path, milpcb_):
    """What is wrong with the amount, and exit code 2."""
    (tmp_path / "log.csv").write_text("age,do,paid\n" + "20,a,1\n30,b,0\n40,a,0\n50,b,1\n" * 10)
    given = ("--action", "do", "--reward", "paid", "--randomised", "--draws", "0", "--resamples", "0", "--out", "found")
    done = milpcb_(tmp_path, "learn", "log.csv", *given, *options)
    assert done.returncode == 2
    assert fragment in done.stderr
    assert done.stderr.splitlines()[-1].startswith("milpcb: ")
