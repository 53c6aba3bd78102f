"""Foreign folders: only files that a run itself wrote are changed, and pictures are as everywhere."""

import os

import matplotlib as mpl
import pytest
from click.testing import CliRunner

from milpcb import play
from milpcb.commands.learn import learn
from milpcb.core.files import digest, own_contents, sealed
from milpcb.errors import RunError
from milpcb.experiments.results.figures.drawing import draw_policy
from milpcb.logs.folder import INDEX, NAMES, check_folder
from policies import DecisionTrees
from policies.trees.rule import DecisionTree, Leaf, Split

ROWS = "x,treat,y\n" + "".join(f"{i % 7},{'ab'[i % 2]},{i % 3}\n" for i in range(40))
WORDS = ("log.csv", "--action", "treat", "--reward", "y", "--randomised", "--draws", "0", "--resamples", "0")


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Return a folder that milpcb learn wrote, and the function that calls it again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(ROWS)

    def call(*more):
        return CliRunner().invoke(learn, [*WORDS, "--depth", "1", "--out", "found", *more], catch_exceptions=True)

    assert call().exit_code == 0
    return tmp_path / "found", call


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_file_that_an_index_claims_is_kept(name, tmp_path):
    """The index of a foreign folder is foreign: a file whose content it does not know was not written by a run."""
    (tmp_path / name).write_text("mine")
    for written in ({}, {name: []}, {name: ["0" * 64]}, {name: None}, [name]):
        (tmp_path / INDEX).write_bytes(sealed({"written": written}))
        with pytest.raises(RunError, match=r"not as milpcb learn wrote it; move it away|milpcb learn did not write"):
            check_folder(tmp_path)
    (tmp_path / INDEX).write_bytes(sealed({"written": {name: ["1" * 64, digest(b"mine")]}}))
    check_folder(tmp_path)
    assert (tmp_path / name).read_text() == "mine"


def test_a_result_that_was_edited_is_kept(found):
    """Notes in policy.txt are the user's: the next call refuses before it searches, with the line that names it."""
    folder, call = found
    (folder / "policy.txt").write_text("my notes")
    refused = call()
    assert isinstance(refused.exception, RunError)
    assert "policy.txt is not as milpcb learn wrote it" in str(refused.exception)
    assert (folder / "policy.txt").read_text() == "my notes"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_among_the_results_changes_nothing_outside(link, found, tmp_path):
    """Files are replaced whole, so that what a link leads to stays as it is."""
    folder, call = found
    outside = tmp_path / "outside.txt"
    outside.write_bytes((folder / "policy.txt").read_bytes())
    (folder / "policy.txt").unlink()
    link(outside, folder / "policy.txt")
    before = outside.read_bytes()
    call("--never", "b: x >= 0")
    assert outside.read_bytes() == before
    assert ((folder / "policy.txt").read_bytes() == before) == (link is os.symlink)  # which is refused


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_page_shows_no_file_of_elsewhere(link, tmp_path):
    """A file in a run directory under the name of a rule may be a link to any file of the user's."""
    (tmp_path / "secret").write_text("secret")
    link(tmp_path / "secret", tmp_path / "best_policy_seed0.txt")
    with pytest.raises(OSError, match="it is a link to another file"):
        own_contents(tmp_path / "best_policy_seed0.txt")
    (tmp_path / "rule.txt").write_text("play a")
    assert own_contents(tmp_path / "rule.txt") == b"play a"


SETTINGS = {"lines.linewidth": 0, "font.size": 30, "text.usetex": True, "savefig.dpi": 10, "axes.facecolor": "red"}


def test_pictures_are_the_same_bytes_whatever_matplotlib_is_told(tmp_path):
    """Under settings that would hide curves, or run LaTeX, rules and plays look as they do elsewhere; they stay set."""
    plays = play("planted", "uniform", 20, policies=DecisionTrees(3, depth=1))
    rule = DecisionTree(Split(0, 0.5, Leaf(0), Leaf(1)))

    def pictures():
        plays.plot(tmp_path / "plays.svg")
        return draw_policy(rule), rule._repr_html_(), (tmp_path / "plays.svg").read_bytes()

    before = pictures()
    with mpl.rc_context(SETTINGS):
        assert pictures() == before
        assert SETTINGS.items() <= mpl.rcParams.items()
