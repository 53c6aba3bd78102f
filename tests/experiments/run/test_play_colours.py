"""One colour for one learner, in the picture of ``milpcb.play`` as in a study, whatever the learner is called there."""

from dataclasses import replace

import milpcb
from milpcb.experiments.results.figures.looks import looks
from milpcb.experiments.run.play_results import Plays
from milpcb.learners import Exp4
from milpcb.policies import ThresholdRules


def played(learners):
    """Return short plays."""
    return milpcb.play("planted", learners, 40, policies=ThresholdRules(n_actions=3), seeds=range(2))


def test_labels_do_not_change_colours(tmp_path):
    """The picture has the colour of the registered name under any label, and for the class itself."""
    plays = played({"our own": "exp4", "the class": Exp4, "dice": "uniform"})
    assert plays.names == {"our own": "exp4", "the class": "exp4", "dice": "uniform"}
    of_study = looks(["exp4", "uniform"])
    drawn = plays.plot(tmp_path / "plays.svg").read_text().lower()
    assert of_study["exp4"].colour.lower() in drawn
    assert of_study["uniform"].colour.lower() in drawn
    by_label = looks(["our own", "dice"])
    assert by_label["our own"].colour != of_study["exp4"].colour


def test_plays_made_by_hand_go_by_their_labels():
    """A play that holds no registered name is drawn by its label."""
    (first, *_) = played(["uniform"]).plays
    assert Plays((replace(first, name=""),), 40).names == {"uniform": "uniform"}
