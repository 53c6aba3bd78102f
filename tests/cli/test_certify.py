"""``milpcb certify``: a log of anybody's plays, against what a learner of this package says of the same rounds."""

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.learners import Exp4
from policies import DecisionTrees

BITS = np.random.default_rng(0).integers(0, 2, (12, 3)).astype(float)
GOOD = "a,b,action,cost,probability\n0,1,1,0.5,0.5\n1,0,0,1,0.25\n"


@pytest.fixture(scope="module")
def logged():
    """Return the log of a learner, and its certificate: value, error, policy."""
    rng, lines = np.random.default_rng(1), ["wet,cold,late,action,cost,probability"]
    learner = Exp4(open_oracle(DecisionTrees(3, 1), BITS, kind="search"), rate="certified")
    for t in range(300):
        row = int(rng.integers(len(BITS)))
        q = learner.act(row)
        action = int(rng.choice(3, p=q))
        cost = float(action != int(BITS[row, t % 2]))
        learner.learn(row, action, cost, float(q[action]))
        lines.append(",".join([*(f"{x:g}" for x in BITS[row]), str(action), f"{cost:g}", repr(float(q[action]))]))
    return "\n".join(lines) + "\n", learner.certify()


@pytest.fixture
def certified(tmp_path, milpcb_):
    """Return ``certified(text, *options)``: what the command prints of a log."""

    def run(text, *options):
        (tmp_path / "log.csv").write_text(text)
        done = milpcb_(tmp_path, "certify", "log.csv", "--depth", "1", *options)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    return run


@pytest.mark.parametrize("options", [(), ("--kind", "milp"), ("--kind", "enumeration"), ("--actions", "3")])
def test_a_log_certifies_as_its_learner_did(options, logged, certified):
    """Value and error are the learner's, whichever oracle is asked; the policy is named in the words of the header."""
    text, known = logged
    said = certified(text, *options)
    assert f"certificate: {known.value:,.6g}   standard error: {known.error:,.6g}" in said
    assert any(name in said.splitlines()[0] for name in ("wet", "cold", "late", "play"))


@pytest.mark.parametrize(
    ("old", "new", "options", "fragments"),
    [
        ("0.25", "0", (), ("round 2", "probability is 0", "above 0 and at most 1")),
        ("0.5,0.5", "-0.5,0.5", (), ("round 1", "cost is -0.5", "0 or more")),
        ("1,0,0,1", "1,0,0.5,1", (), ("round 2", "action is 0.5", "0, 1, 2")),
        ("cost,prob", "prob,cost", (), ("are action, prob, costability; they must be action, cost, probability",)),
        ("1,0,0,1", "1,0,x,1", (), ("round 2", "action is x", "0, 1, 2, ..., or a name")),
        ("1,0,0,1", "1,0,,1", (), ("round 2", "action is missing")),
        ("1,0,0,1", "1,0,3,1", (), ("the log plays the actions 1, 3: give --actions 4 if",)),
        (GOOD, "1,0.5,1\n", (), ("has 3 columns; write those of the context, then action, cost, probability",)),
        ("", "", ("--actions", "1"), ("--actions is 1; the log plays action 1",)),
        ("", "", ("--confidence", "95"), ("confidence must be above 0 and below 1",)),
        ("", "", ("--changes", "-1"), ("--changes must be an integer of at least 0",)),
    ],
)
def test_what_cannot_be_certified_is_one_line(old, new, options, fragments, milpcb_, assert_one_line, tmp_path):
    """Which round, which column, and what it must be; options that nobody has."""
    (tmp_path / "log.csv").write_text(GOOD.replace(old, new, 1))
    done = milpcb_(tmp_path, "certify", "log.csv", "--depth", "1", *options)
    assert done.stdout == ""
    assert_one_line(done, *fragments)


def test_a_file_without_commas_is_said_to_be_read_so(milpcb_, write, tmp_path):
    """On standard error, with the answers of the same file with commas."""
    write(tmp_path, {"log.csv": GOOD, "tabs.csv": GOOD.replace(",", "\t")})
    plain, tabs = (milpcb_(tmp_path, "certify", name, "--depth", "1") for name in ("log.csv", "tabs.csv"))
    assert (plain.stderr, tabs.stderr) == ("", "note: tabs.csv is read as separated by tabs.\n")
    assert (tabs.returncode, tabs.stdout) == (0, plain.stdout)


def test_a_certificate_with_confidence_is_printed(logged, certified):
    """It holds for this very run, at the level asked for, more at a higher one; for costs from 0 to 1 only."""
    said = "\n".join(certified(logged[0], "--confidence", level) for level in ("0.95", "0.999"))
    found = [line.split("% certificate: ") for line in said.splitlines() if "% certificate: " in line]
    assert [level for level, _ in found] == ["95", "99.9"]
    assert logged[1].value < float(found[0][1].replace("\u202f", "")) < float(found[1][1].replace("\u202f", ""))
    said = certified(GOOD.replace("1,0,0,1,0.25", "1,0,0,7,0.25"))
    assert "% certificate: " not in said
    assert "some costs are above 1" in " ".join(said.split())


@pytest.mark.parametrize("calls", [{"0": "call", "1": "write"}, {"0": "write", "1": "call"}])
def test_the_certificate_does_not_depend_on_what_actions_are_called(calls, certified):
    """Names are compared with each other, and with no action that nobody has."""
    rng = np.random.default_rng(3)
    drawn = zip(rng.integers(20, 80, 60), rng.integers(0, 2, 60), rng.random(60) < 0.1, strict=True)
    rounds = [(age, str(a), int((a == (age > 50)) == slip)) for age, a, slip in drawn]
    said = []
    for names in ({"0": "0", "1": "1"}, calls):
        lines = ["age,action,cost,probability", *(f"{age},{names[a]},{cost},0.5" for age, a, cost in rounds)]
        said.append(certified("\n".join(lines) + "\n").splitlines())
    assert len({tuple(line for line in lines if "certificate" in line) for lines in said}) == 1
    plays = [[line.split()[-1] for line in lines if "play " in line][:2] for lines in said]
    assert [calls[number] for number in plays[0]] == plays[1]


def test_a_log_that_may_have_an_action_zero_is_told_apart(certified):
    """With --actions 3 the actions 1 and 2 are two of 0, 1 and 2, as they always were."""
    assert "action 0" in certified("a,action,cost,probability\n0,1,1,0.5\n1,2,1,0.5\n", "--actions", "3")


def test_certificates_against_policies_in_turn_are_printed(logged, certified):
    """In the mean and with confidence, a line for each number of changes."""
    lines = certified(logged[0], "--changes", "2").splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("changes   certificate"))
    assert [line.split()[0] for line in lines[first + 1 : first + 8]] == ["0", "1", "2", "changes", "0", "1", "2"]
    assert f"{logged[1].value:,.1f}" in lines[first + 1]
