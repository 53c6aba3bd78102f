"""milpcb.play: the numbers of a study without its files, and live play where only the played action's cost is known."""

import tomllib

import numpy as np
import pytest

import milpcb
from milpcb import rng
from milpcb.environments.planted import Planted
from milpcb.errors import InputError, UnknownNameError
from milpcb.experiments.results.figures.line_styles import line_styles
from milpcb.experiments.run.play import POINTS
from milpcb.experiments.run.player import LiveStream
from milpcb.experiments.run.runner import cell_player
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import parse_config
from milpcb.experiments.study.worlds import open_world
from milpcb.learners import Exp4, Uniform
from milpcb.oracles import open_oracle
from policies import DecisionTrees, FiniteClass, Halfspaces

TREES = DecisionTrees(n_actions=2, depth=1)
SMALL = Planted(n_actions=2, n_contexts=12, n_features=3)
CORNERS = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=float)


class Shop:
    """A live environment that notes what it is asked; action x[0] is right."""

    def __init__(self, seed=0):
        self.rng, self.asked, self.x = np.random.default_rng(seed), [], None

    def context(self):
        """Show one of eight contexts."""
        self.asked.append("context")
        self.x = self.rng.integers(0, 2, 3)
        return self.x

    def cost(self, action):
        """Return 0 or 1."""
        self.asked.append("cost")
        return float(self.rng.random() < (0.2 if action == self.x[0] else 0.8))


CONFIG = """\
[experiment]
name = "same"
horizon = 150
seeds = [4]
checkpoints = {points}

[environment]
name = "planted"
n_actions = 2
n_contexts = 12
n_features = 3

[policies]
name = "decision_trees"
depth = 1

[oracle]
kind = "search"

[[learners]]
name = "{learner}"
"""


@pytest.mark.parametrize("learner", ["exp4", "bistro_plus", "epsilon_greedy", "uniform", "best_in_hindsight"])
def test_the_numbers_are_those_of_a_study(learner):
    """Costs and certificates of every checkpoint are those of the cell with the same settings, bit for bit."""
    (cell,) = build_study(parse_config(tomllib.loads(CONFIG.format(points=POINTS, learner=learner)))).cells
    player = cell_player(cell, open_world(cell))
    while player.tally.round < 150:
        player.advance(150)
    frame = milpcb.play(SMALL, learner, 150, policies=TREES, seeds=[4]).frame()
    record = player.record()
    assert frame["round"].to_list() == record["rounds"]
    assert frame["cumulative_cost"].to_list() == record["cumulative_cost"]
    assert frame["certificate"].to_list() == record["certificate"]
    assert frame["guarantee"][0] == (np.inf if record["guarantee"] is None else record["guarantee"])


def test_every_learner_plays_every_seed():
    """Regret is cost less best cost, the best policy in hindsight has none, and each play ends with a policy."""
    plays = milpcb.play(SMALL, ["exp4", "best_in_hindsight"], 60, policies=TREES, seeds=range(3))
    frame = plays.frame()
    assert (frame["regret"] == frame["cumulative_cost"] - frame["best_cost"]).all()
    last = frame.filter(frame["round"] == 60)
    assert last.height == 6
    assert last.filter(learner="best_in_hindsight")["regret"].to_list() == [0.0] * 3
    assert [list(by_seed) for by_seed in plays.policies.values()] == [[0, 1, 2], [0, 1, 2]]
    assert len(plays.policies["exp4"][2].predict(CORNERS)) == 8


class Fixed:
    """Action 0 costs 1 in every round."""

    n_actions, feature_names, action_names, order = 2, (), (), None
    contexts = CORNERS

    def open(self, policies, horizon, seed):
        """Return itself."""
        del policies, horizon, seed
        return self

    def reveal(self, t):
        """Show the contexts in turn."""
        return t % 8

    def costs(self, t):
        """Return the same costs always."""
        del t
        return np.array([1.0, 0.0])


def test_the_table_by_hand():
    """Uniform play pays 1/2 where one action is free: the certificate is what it paid, as the best policy pays 0."""
    plays = milpcb.play(Fixed(), {"coin": "uniform"}, 400, policies=TREES)
    last = plays.frame().row(-1, named=True)
    draws = rng.child(0, "actions")
    paid = [rng.draw_action(np.full(2, 0.5), draws) for _ in range(400)].count(0)
    assert (last["cumulative_cost"], last["regret"], last["certificate"]) == (200.0, 200.0, paid)
    heading, _, titles, row, _, words = str(plays).splitlines()
    assert heading == "400 rounds, 1 seed"
    assert titles.split() == ["learner", "mean", "cost", "regret", "certificate", "bound", "guarantee"]
    assert row.split() == ["coin", "0.500", "200", str(paid), "±", f"{np.sqrt(paid):.1f}", "-", "-"]
    assert words.startswith("The mean of certificates bounds mean regret; the regret of one play may lie above")


def test_ways_to_name_learners():
    """A name, a class, a table, a list and a mapping; labels are those given, else names."""

    def labels(learners):
        return list(milpcb.play(SMALL, learners, 5, policies=TREES).names)

    assert labels("exp4") == ["exp4"]
    assert labels(Uniform) == ["Uniform"]
    slow = {"name": "exp4", "label": "slow", "rate": 0.01}
    assert labels(["uniform", {"name": "exp4"}, slow]) == ["uniform", "exp4", "slow"]
    assert labels({"a": "uniform", "b": {"name": "hedge", "oracle": "enumeration"}}) == ["a", "b"]
    assert labels({"name": "hedge", "oracle": {"kind": "enumeration"}}) == ["hedge"]


# --------------------------------------------------------------------------- live


def test_live_play_knows_the_cost_of_the_action_played_only():
    """Context and cost in turn, once a round; the certificate is that of the same play by hand; no regret is shown."""
    shop = Shop()
    plays = milpcb.play(shop, "exp4", 300, policies=TREES, contexts=CORNERS, seeds=[7], confidence=0.95)
    assert shop.asked == ["context", "cost"] * 300
    by_hand = Exp4(open_oracle(TREES, CORNERS, kind="search"), horizon=300)
    draws, world = rng.child(7, "actions"), Shop()
    for _ in range(300):
        row = int(world.context() @ [4, 2, 1])
        q = by_hand.act(row)
        action = rng.draw_action(q, draws)
        by_hand.learn(row, action, world.cost(action), float(q[action]))
    last = plays.frame().row(-1, named=True)
    assert (last["certificate"], last["certificate_error"]) == by_hand.certify()[:2]
    assert last["certificate_95"] == by_hand.certificate(confidence=0.95)
    assert f"{last['certificate_95']:.1f}" in str(plays)
    assert "A 95\u202f% certificate is about one run" in str(plays)
    assert last["cumulative_cost"] == by_hand.ledger.cost
    assert (last["regret"], last["best_cost"]) == (None, None)
    assert plays.policies["exp4"][7].predict(CORNERS).tolist() == [0] * 4 + [1] * 4


def test_contexts_that_no_policy_can_tell_apart_are_one():
    """Between the same cut points a context may be any number; one that a policy distinguishes is refused in a line."""
    contexts = CORNERS[:, :1]
    world, strange = Shop(), Shop()
    world.context = lambda: [Shop.context(world)[0] + 0.25]
    assert milpcb.play(world, "exp4", 30, policies=TREES, contexts=contexts).live
    strange.context = lambda: [0.5, 0.5, 0.5]
    refusal = "round 1 shows a context that policies distinguish from every row of contexts="
    with pytest.raises(InputError, match=refusal):
        milpcb.play(strange, "uniform", 9, policies=Halfspaces(2), contexts=CORNERS)


@pytest.mark.parametrize(("shown", "row"), [([-0.0, 1.0], 0), ([2.0, 0.0], 1), ([1.0, 1.0], None)])
def test_contexts_are_known_by_their_numbers(shown, row):
    """A context with -0.0 is the one with 0.0, and the other way round; where no policy helps, others are unknown."""
    contexts, shop = np.array([[0.0, 1.0], [2.0, -0.0]]), Shop()
    shop.context = lambda: shown
    stream = LiveStream(shop, FiniteClass([[0, 1], [1, 0]], 2).on(contexts), contexts)
    if row is not None:
        assert stream.reveal(0) == row
        return
    with pytest.raises(InputError, match="policies distinguish from every row"):
        stream.reveal(0)


# --------------------------------------------------------------------------- pictures, progress


def test_pictures(tmp_path):
    """Regret in an environment, certificates in live play; the ending decides the format."""
    for number, (world, more) in enumerate([(SMALL, {}), (Shop(), {"contexts": CORNERS})]):
        plays = milpcb.play(world, ["exp4", "uniform"], 40, policies=TREES, seeds=[0, 1], **more)
        assert plays.plot(tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in plays.plot(str(tmp_path / f"{number}.svg")).read_text()
    with pytest.raises(InputError, match=r"plot writes \.png, \.svg and \.pdf files, got x\.jpg"):
        plays.plot("x.jpg")
    with pytest.raises(InputError, match=r"cannot write .*No such file"):
        plays.plot(tmp_path / "none" / "x.png")


def test_labels_do_not_change_colours(tmp_path):
    """The picture has the colour of the registered name, as in a study, under any label, and for the class itself."""
    learners = {"our own": "exp4", "the class": Exp4, "dice": "uniform"}
    plays = milpcb.play(SMALL, learners, 40, policies=TREES, seeds=range(2))
    assert plays.names == {"our own": "exp4", "the class": "exp4", "dice": "uniform"}
    drawn, of_study = plays.plot(tmp_path / "plays.svg").read_text().lower(), line_styles(["exp4", "uniform"])
    assert all(style.colour.lower() in drawn for style in of_study.values())
    assert line_styles(["our own", "dice"])["our own"].colour != of_study["exp4"].colour


# --------------------------------------------------------------------------- mistakes

WORLD = {"policies": TREES}
LIVE = {"policies": TREES, "contexts": CORNERS}
UNKNOWN = UnknownNameError


@pytest.mark.parametrize(
    ("arguments", "more", "error", "fragment"),
    [
        (("plantd", "exp4", 9), WORLD, UNKNOWN, "did you mean 'planted'"),
        (("planted", "exp4", 9), WORLD, InputError, "has 2 actions, the environment 3"),
        ((3, "exp4", 9), WORLD, InputError, "environment must be a registered name, an environment"),
        ((Planted, "exp4", 9), WORLD, InputError, "an environment such as Planted"),
        ((Shop(), "exp4", 9), WORLD, InputError, "a live environment needs contexts="),
        ((SMALL, "exp4", 9), LIVE, InputError, "contexts= is for live"),
        ((SMALL, "exp5", 9), WORLD, UNKNOWN, "did you mean 'exp4'"),
        ((SMALL, {"name": "exp4", "rat": 1}, 9), WORLD, InputError, "no option 'rat'; did you mean 'rate'"),
        ((SMALL, {"a": {"rate": 1}}, 9), WORLD, InputError, "a table with the key 'name', got {'rate': 1}"),
        ((SMALL, [], 9), WORLD, InputError, "there is no learner to play"),
        ((SMALL, ["exp4", "exp4"], 9), WORLD, InputError, "two learners are called 'exp4'"),
        ((SMALL, {"slow": {"name": "exp4", "rate": -1.0}}, 9), WORLD, InputError, "learner 'slow': "),
        ((SMALL, "hedge", 9), WORLD, InputError, 'oracle = { kind = "enumeration" }'),
        ((SMALL, "exp4", 9), WORLD | {"oracle": "serch"}, InputError, "did you mean 'search'"),
        ((SMALL, "exp4", 9), WORLD | {"oracle": 3}, InputError, "oracle must be a kind such as 'milp'"),
        ((SMALL, "exp4", 0), WORLD, InputError, "horizon must be an integer of at least 1"),
        ((SMALL, "exp4", 9), WORLD | {"seeds": 3}, InputError, r"seeds must be a list .* such as range\(5\)"),
        ((SMALL, "exp4", 9), WORLD | {"seeds": [-1]}, InputError, "seed must be a non-negative integer"),
        ((SMALL, "exp4", 9), WORLD | {"seeds": [1, 0, 1]}, InputError, "a seed is listed twice"),
        ((SMALL, "exp4", 9), {"policies": "trees"}, InputError, "policies must be a policy class"),
        ((SMALL, "exp4", 9), WORLD | {"confidence": 95}, InputError, "confidence"),
        ((Shop(), "best_in_hindsight", 9), LIVE, InputError, "hindsight': it learns from the costs of all actions"),
        ((Shop(), "exp4", 9), LIVE | {"contexts": CORNERS[:, :2]}, InputError, "of 3 numbers, contexts= has 2 columns"),
    ],
)
def test_mistakes_are_one_line(arguments, more, error, fragment):
    """Each names what is wrong and how to fix it."""
    with pytest.raises(error, match=fragment) as raised:
        milpcb.play(*arguments, **more)
    assert "\n" not in str(raised.value)


def test_a_mistake_comes_before_any_learner_plays():
    """A live environment is not asked for anything where one of the learners cannot be made."""
    shop = Shop()
    with pytest.raises(InputError, match="hedge"):
        milpcb.play(shop, ["exp4", "hedge"], 9, policies=TREES, contexts=CORNERS)
    assert shop.asked == []


def test_a_learner_of_ones_own():
    """A class that no registry knows plays by itself."""

    class First(Uniform):
        def __init__(self, *, n_actions: int, sure: float = 1.0):
            super().__init__(n_actions=n_actions)
            self.sure = sure

        def _act(self, row):
            del row
            return np.array([self.sure, 1 - self.sure])

    plays = milpcb.play(Fixed(), {"first": First, "half": {"name": First, "sure": 0.5}}, 20, policies=TREES)
    final = plays.frame().filter(plays.frame()["round"] == 20)
    assert final["cumulative_cost"].to_list() == [20.0, 10.0]
