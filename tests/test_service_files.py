"""The file of a bandit, and its copies: whole, recognised, and harmless whoever wrote it."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Any

import numpy as np
import pytest

from milpcb import Bandit
from milpcb.bandit import saved
from milpcb.core import files
from policies import DecisionTrees
from tests.inside import learner_of
from tests.refused import refused

BITS = np.array([[i >> j & 1 for j in range(2)] for i in range(4)], dtype=float)
TREES = DecisionTrees(2, 1, thresholds=[[0.5], [0.5]])


def played() -> Bandit:
    """Return a bandit that has learnt a little."""
    bandit = Bandit(TREES, seed=4)
    for cost in (0.0, 1.0, 0.25):
        bandit.learn(bandit.act([0, 1]), cost=cost)
    return bandit


@pytest.mark.parametrize(
    "settings",
    [
        {"learner": "mine:Own"},
        {"learner": "doubling", "options": {"inner": "mine:Own"}},
        {"oracle": {"kind": "mine:Own"}},
        {"oracle": {"kind": "milp", "solver": "pulp:PULP_CBC_CMD"}, "learner": "mine:Own"},
        {"policies": "mine:Own"},
    ],
)
def test_a_saved_file_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]) -> None:
    """A module that it names anywhere is not imported, also where a harmless name with a colon comes first."""
    path = tmp_path / "bandit.json"
    Bandit(TREES, contexts=BITS).save(path)
    state = files.unsealed(path.read_bytes()) or {}
    if "policies" in settings:
        state["policies"]["name"] = settings["policies"]
    else:
        state["settings"] |= settings
    path.write_bytes(files.sealed(state))
    (tmp_path / "mine.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    refused(lambda: Bandit.load(path), "'mine")
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.name == "nt", reason="there are neither links nor pipes here")
@pytest.mark.parametrize("kind", ["link", "dead link", "pipe", "folder", "device"])
def test_only_a_plain_file_is_replaced(tmp_path: Path, kind: str) -> None:
    """Whatever else is there stays as it is, and so does what it points to."""
    path, other = tmp_path / "bandit.json", tmp_path / "other"
    if kind == "link":
        other.write_text("mine")
    if kind.endswith("link"):
        path.symlink_to(other)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    path = Path(os.devnull) if kind == "device" else path
    before = path.lstat()
    kinds = "it is a folder, a link, a pipe or a device; give the path of a plain file, or a new one"
    refused(lambda: played().save(path), f"cannot write {path}: {kinds}")
    assert path.lstat() == before
    assert other.exists() == (kind == "link")


def test_a_file_that_load_would_refuse_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old one stays; once what is lost is given up there is room again."""
    bandit, path = played(), tmp_path / "bandit.json"
    bandit.save(path)
    before = path.read_bytes()
    monkeypatch.setattr("milpcb.core.gate.MOST_BYTES", len(before) + 1000)
    for _ in range(10):
        bandit.act([0, 0])
    refused(lambda: bandit.save(path), "load reads at most ", "; give up decisions")
    assert path.read_bytes() == before
    bandit.give_up(older_than=timedelta(0))
    bandit.save(path)
    assert learner_of(Bandit.load(path)).played == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_what_a_stopped_save_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """Of the same path, whatever stopped it; what another path's left, and what is being written, stays."""
    path = tmp_path / "bandit.json"

    def stop(name: str, how: signal.Signals) -> set[Path]:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup hands it on as ignored
            files._replace = lambda *_given, **_named: os.kill(os.getpid(), how)
            played().save(tmp_path / name)
            os._exit(0)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        return set(tmp_path.iterdir())

    others = stop("other.json", signal.SIGKILL)
    assert len(others) == 1
    for how in (signal.SIGHUP, signal.SIGKILL):
        (left,) = stop("bandit.json", how) - others - {path}
        with left.open("wb") as part:
            files._lock(part, wait=True)
            played().save(path)
            assert set(tmp_path.iterdir()) == {*others, path, left}
        played().save(path)
        assert set(tmp_path.iterdir()) == {*others, path}


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("made", [lambda b: pickle.loads(pickle.dumps(b)), copy.deepcopy, copy.copy])  # noqa: S301 - ours
def test_a_copy_goes_on_as_the_bandit_would(made: Any) -> None:
    """With decisions of its own."""
    bandit = Bandit(TREES, seed=4)
    waiting = bandit.act([0, 1])
    other = made(bandit)
    for one in (bandit, other):
        one.learn(waiting, cost=1.0)
    first, second = bandit.act([0, 0]), other.act([0, 0])
    assert (first.action, first.probabilities) == (second.action, second.probabilities)
    assert first.id != second.id


FORKED = """
import os, sys, threading
from milpcb import Bandit
from policies import DecisionTrees

bandit, stop = Bandit(DecisionTrees(2, 1, thresholds=[[0.5]])), threading.Event()

def work():
    while not stop.is_set():
        bandit.learn(bandit.act([0]), cost=0.5)
        bandit.save(sys.argv[1])

threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
for _ in range(20):
    child = os.fork()
    if child == 0:
        bandit.learn(bandit.act([1]), cost=0.5)
        bandit.save(sys.argv[1])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
[thread.join() for thread in threads]
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_other_threads_act_and_save_goes_on(tmp_path: Path) -> None:
    """Neither lock is held by a thread that the child has not, and no decision is half made."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "bandit.json")],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("part", ["sealed", "write"])
def test_nobody_waits_for_a_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """While a state is made text, and while that is written, decisions are made; they are not in the file."""
    bandit, working, acted, real = played(), Signal(), Signal(), getattr(saved, part)
    bandit.act([0, 1])

    def slow(*given: Any) -> Any:
        working.set()
        assert acted.wait(600)
        return real(*given)

    monkeypatch.setattr(saved, part, slow)
    thread = Thread(target=bandit.save, args=(tmp_path / "bandit.json",))
    thread.start()
    assert working.wait(600)
    bandit.act([0, 0])
    acted.set()
    thread.join()
    kept = json.loads((tmp_path / "bandit.json").read_text())["book"]
    assert [len(kept["open"]), *kept["sessions"].values()] == [1, 4]
