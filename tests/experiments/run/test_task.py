"""One task in a worker: checkpoints that a play goes on from, positions, logs, failures."""

import json
import logging
import pickle
import tomllib
import warnings
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from milpcb.core.files import sealed, unsealed
from milpcb.errors import InputError, OracleInexact
from milpcb.experiments.results.store import file_of
from milpcb.experiments.run import player as players
from milpcb.experiments.run import runner
from milpcb.experiments.run.runner import TaskFiles, cell_player, compute
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import parse_config
from milpcb.experiments.study.worlds import open_world
from milpcb.learners.comparators import Uniform
from milpcb.oracles.base import Oracle
from milpcb.oracles.milp import MilpOracle
from milpcb.oracles.search import SearchOracle
from milpcb.plugins import registry
from policies import MonotoneRules
from tests.inside import find_plug_ins_again

TIMES = {"seconds", "oracle_seconds"}
LEARNERS = {
    "bistro_plus": 'name = "bistro_plus"\nqueries = "profile"\nscale = 8\n',
    "empirical": 'name = "bistro_plus"\nqueries = "profile"\nscale = 8\ncontexts = "empirical"\n',
    "order": 'name = "bistro_plus"\nqueries = "all"\nscale = 8\ncontexts = "order"\n',
    "hedge": 'name = "hedge"\n',
    "uniform": 'name = "uniform"\n',
    "best": 'name = "best_in_hindsight"\n',
}


def cell_of(text, learner="bistro_plus"):
    """Return the cell of a config with one learner."""
    head = text[: text.index("[[learners]]")]
    (cell,) = build_study(parse_config(tomllib.loads(f"{head}[[learners]]\n{LEARNERS.get(learner, learner)}"))).cells
    return cell


def timeless(record):
    """Return a record without its times."""
    return {name: value for name, value in record.items() if name not in TIMES}


def play_to(cell, round_):
    """Return the player of a cell after so many rounds."""
    player = cell_player(cell, open_world(cell))
    while player.tally.round < round_:
        player.advance(round_ - player.tally.round)
    return player


def save(cell, directory, round_=23):
    """Write the state of a cell after so many rounds where its next attempt goes on from; return the file."""
    TaskFiles(directory, cell, 1.0).save(play_to(cell, round_).state())
    return file_of(directory, "part", cell.key)


def sent(value):
    """Return what arrives of a value in another process."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - its own bytes


def played(player, cuts):
    """Play a player to its end, at most so many rounds at a time; return its record."""
    while player.tally.round < player.at[-1]:
        player.advance(int(next(cuts)))
    return player.record()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("seed", range(2))
def test_a_restored_play_ends_as_if_it_had_never_stopped(learner, seed, tiny):
    """Saved after any round as JSON and restored into a new player: record and oracle calls are the same to the bit."""
    cell = cell_of(tiny, learner)
    rng = np.random.default_rng(seed)
    whole = played(cell_player(cell, open_world(cell)), iter(lambda: 7, None))
    first, stop = cell_player(cell, open_world(cell)), int(rng.integers(1, cell.horizon))
    while first.tally.round < stop:
        first.advance(min(int(rng.integers(1, 5)), stop - first.tally.round))
    saved = json.loads(json.dumps(first.state()))
    assert saved["round"] == stop
    second = cell_player(cell, open_world(cell))
    second.restore(saved)
    assert timeless(played(second, iter(lambda: int(rng.integers(1, 9)), None))) == timeless(whole)
    if second.oracle and learner != "hedge":
        assert second.oracle.calls >= cell.horizon


def test_a_cell_goes_on_from_its_checkpoint(tiny, tmp_path, monkeypatch):
    """Computing a cell whose checkpoint is there plays only the rounds after it; the record is that of a whole play."""
    cell = cell_of(tiny)
    whole = compute(cell, tmp_path / "whole", 1e9)
    save(cell, tmp_path / "run")
    seen = []

    def spy(learner, stream, tally, until, rng):
        seen.append((tally.round, until))
        return real(learner, stream, tally, until, rng)

    real = players.play
    monkeypatch.setattr(players, "play", spy)
    again = compute(cell, tmp_path / "run", 1e9)
    assert seen[0][0] == 23
    assert seen[-1][1] == 40
    assert timeless(again.record) == timeless(whole.record)


DAMAGED = {  # what becomes of its bytes
    "empty": lambda _: b"",
    "one digit changed": lambda content: content.replace(b'"round": 23', b'"round": 24'),
    "without a checksum": lambda content: json.dumps(unsealed(content)).encode(),
}
UNFIT = {  # with a checksum that fits: what becomes of its content, and why it does not serve
    "of another cell": (lambda state: state | {"key": "0" * 16}, "is damaged"),
    "of another version": (
        lambda state: state | {"versions": {"milpcb": "0.0.1"}},
        "was made with other versions, milpcb 0.0.1",
    ),
    "with another learner": (lambda state: state | {"learner": {}}, "does not serve ("),
    "without its points": (lambda state: state | {"points": []}, "does not serve (ValueError)"),
    "of a round past the horizon": (lambda state: state | {"round": 41}, "does not serve (ValueError)"),
}


@pytest.fixture(scope="module")
def whole(tiny):
    """Return the record of a cell that nobody disturbs."""
    with TemporaryDirectory() as folder:
        return timeless(compute(cell_of(tiny), Path(folder), 1e9).record)


@pytest.mark.parametrize("case", [*DAMAGED, *UNFIT])
def test_a_checkpoint_that_does_not_serve_is_given_up(case, tiny, whole, tmp_path):
    """Whatever is wrong with it, the cell is played from its first round, to the same numbers, and a line says why."""
    cell = cell_of(tiny)
    part = save(cell, tmp_path)
    before = part.read_bytes()
    if case in DAMAGED:
        part.write_bytes(DAMAGED[case](before))
        reason = "is damaged"
    else:
        change, reason = UNFIT[case]
        part.write_bytes(sealed(change(unsealed(before))))
    assert part.read_bytes() != before
    outcome = compute(cell, tmp_path, 1e9)
    assert timeless(outcome.record) == whole
    (line,) = outcome.remarks
    assert line.startswith(f"saved state {cell.key} of 'bistro_plus, seed 0' {reason}")
    assert line.endswith("; it is played from its first round")


def test_checkpoints_change_no_number(tiny, whole, tmp_path, monkeypatch):
    """However often the state is saved, the record is the same."""
    monkeypatch.setattr(runner, "MOST_SAVING", np.inf)
    assert timeless(compute(cell_of(tiny), tmp_path, 0.0).record) == whole


def test_data_that_change_while_a_study_runs_are_a_failure(tiny, tmp_path):
    """A record never says the numbers of other data than those of its key."""
    for name, text in {"x.csv": "a\n0\n1\n", "c.csv": "p,q\n0,1\n1,0\n"}.items():
        (tmp_path / name).write_text(text)
    replay = f'name = "replay"\ncontexts = "{tmp_path}/x.csv"\ncosts = "{tmp_path}/c.csv"'
    text = tiny.replace('name = "planted"\nn_contexts = 8\nn_features = 3', replay).replace("= 40", "= 2")
    cell = cell_of(text, "uniform")
    assert cell.key, "it is computed when the study begins"
    assert not compute(sent(cell), tmp_path / "run", 1e9).failure
    (tmp_path / "c.csv").write_text("p,q\n0,1\n1,0.50\n")
    outcome = compute(sent(cell), tmp_path / "run", 1e9)
    assert outcome.failure.startswith("the files or the source code that it reads are not those the run began with")


@pytest.fixture
def register(monkeypatch):
    """Return ``register(learner class)``: make it known to configs under the name 'faulty'."""

    def add(cls):
        monkeypatch.setattr(runner, "Faulty", cls, raising=False)
        monkeypatch.setitem(registry.BUILTIN["learner"], "faulty", "milpcb.experiments.run.runner:Faulty")
        find_plug_ins_again()

    yield add
    monkeypatch.undo()
    find_plug_ins_again()


def faulty(raised):
    """Return a learner that raises in its fifth round."""

    class Faulty(Uniform):
        rounds = 0

        def _act(self, row):
            self.rounds += 1
            if self.rounds == 5:
                raise raised
            return super()._act(row)

    return Faulty


FAILURES = {
    "a mistake of the user": (InputError("fix it so"), "fix it so", ""),
    "a mistake in the learner": (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero", "in _act"),
    "out of memory": (MemoryError(), "out of memory; make the policy class", ""),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_is_a_result(case, tiny, tmp_path, register):
    """Whatever a learner raises during a play comes back as one line, with the trace of what was not foreseen."""
    raised, message, trace = FAILURES[case]
    register(faulty(raised))
    outcome = compute(cell_of(tiny, 'name = "faulty"\n'), tmp_path, 1e9)
    assert message in outcome.failure
    assert trace in outcome.trace
    assert bool(outcome.trace) == bool(trace)
    assert sent(outcome) == outcome


def test_what_is_logged_or_warned_of_is_in_the_log_of_the_cell(tiny, tmp_path, register):
    """Warnings and log lines of a learner go to its cell's log, and nothing else makes one."""

    class Talkative(Uniform):
        def _act(self, row):
            logging.getLogger("any.name").warning("row %d", row)
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.warn("beware", stacklevel=1)
            return super()._act(row)

    register(Talkative)
    cell = cell_of(tiny, 'name = "faulty"\n')
    compute(cell, tmp_path, 1e9)
    log = file_of(tmp_path, "log", cell.key).read_text()
    assert "WARNING row " in log
    assert "beware" in log
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == [f"{cell.key}.log"]


@pytest.mark.parametrize("kind", ["enumeration", "search", "milp"])
def test_a_record_ends_with_the_leader(kind, tiny, tmp_path):
    """It is a policy of least estimated cost; the curve does not count the question."""
    cell = cell_of(tiny.replace("enumeration", kind))
    outcome = compute(cell, tmp_path, 1e9)
    player, world = cell_player(cell, open_world(cell)), open_world(cell)
    points = timeless(played(player, iter(lambda: 7, None)))
    assert {name: outcome.record[name] for name in points} == points
    contexts = world.stream.contexts
    totals = player.learner.ledger.totals(8, player.learner.n_actions)
    leaders = {str(policy): policy for policy in world.policies.on(contexts).policies()}
    labels = leaders[outcome.record["leader"]].predict(contexts)
    least = min(totals[np.arange(8), policy.predict(contexts)].sum() for policy in leaders.values())
    assert totals[np.arange(8), labels].sum() == least


def test_a_resumed_solver_finds_the_same_leader(tiny, tmp_path):
    """Where estimates tie, the leader does not depend on what was asked before: it is the same after a resume."""
    cell = cell_of(tiny.replace("enumeration", "milp"))
    whole = compute(cell, tmp_path / "whole", 1e9)
    for stop in (1, 13, 39):
        save(cell, tmp_path / "run", stop)
        assert timeless(compute(cell, tmp_path / "run", 1e9).record) == timeless(whole.record)


@pytest.mark.parametrize("kind", ["enumeration", "milp", "search"])
def test_certificates_leave_the_learner_s_oracle_alone(kind, tiny):
    """They are those of the best policy by enumeration, whoever is asked; the learner's oracle counts no question."""
    cell = cell_of(tiny.replace("enumeration", kind))
    player, world = cell_player(cell, open_world(cell)), open_world(cell)
    every = world.oracle({"kind": "enumeration"})
    while player.tally.round < 10:
        asked, state = player.oracle.calls, json.dumps(player.learner.state())
        found = player.certify()
        assert found.value == pytest.approx(player.learner.certificate(every), abs=1e-9)
        assert (player.oracle.calls, json.dumps(player.learner.state())) == (asked, state)
        player.advance(1)


def test_a_learner_without_an_oracle_is_certified_too(tiny, tmp_path):
    """Uniform play is compared with the same policies, and side constraints leave fewer, so less to be sure of."""
    tiny = tiny.replace("horizon = 40", "horizon = 400")
    free = compute(cell_of(tiny, "uniform"), tmp_path, 1e9).record
    assert all(error > 0 for error in free["certificate_error"][2:])
    rule = '[[constraints]]\nname = "never"\naction = 0\nrows = [0, 1, 2, 3, 4, 5, 6, 7]\n\n'
    bound = compute(cell_of(tiny.replace("[[learners]]", rule + "[[learners]]"), "uniform"), tmp_path, 1e9).record
    assert bound["cumulative_cost"] == free["cumulative_cost"]
    assert all(less <= more + 1e-9 for less, more in zip(bound["certificate"], free["certificate"], strict=True))
    assert bound["certificate"] != free["certificate"]


def test_the_search_finds_the_best_policy_where_it_holds_the_constraints(tiny):
    """Elsewhere, as for monotone rules under a budget, a solver does."""
    rules = {"budget": 'name = "share_at_most"\nshare = 0.4', "guard": 'name = "never"\nrows = [0, 1]'}
    answered_by = {}
    for name, rule in rules.items():
        section = f"[[constraints]]\n{rule}\naction = 0\n\n[[learners]]"
        cell = cell_of(tiny.replace("[[learners]]", section, 1), "uniform")
        trees = open_world(cell)
        for world in (trees, replace(trees, policies=MonotoneRules(trees.policies.n_actions))):
            assert cell_player(cell, world).certify().value == 0.0
            answered_by[name, type(world.policies)] = type(world.comparator_oracle())
    assert answered_by.pop(("budget", MonotoneRules)) is MilpOracle
    assert set(answered_by.values()) == {SearchOracle}


def test_no_leader_is_no_failure(tiny, whole, tmp_path, monkeypatch):
    """Learners that ask no oracle have none, nor has a play whose oracle fails at the end: the record is whole."""
    for learner in ("uniform", "best"):
        assert "leader" not in compute(cell_of(tiny, learner), tmp_path, 1e9).record

    def fail(*_):
        raise OracleInexact("no time left")

    monkeypatch.setattr(Oracle, "minimise", fail)
    failed = compute(cell_of(tiny), tmp_path, 1e9)
    unknown = {name: [None] * len(whole["rounds"]) for name in ("certificate", "certificate_error")}
    left = {name: whole[name] for name in whole if name != "leader"}
    assert timeless(failed.record) == left | unknown
