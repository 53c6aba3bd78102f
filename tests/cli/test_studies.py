"""Studies on several processes, and what a run tells: killed workers, failed cells, progress, dry runs."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

import milpcb

GRID = """\
[experiment]
name = "grid"
horizon = [30, 600]
seeds = [0, 1]
checkpoints = 5
[environment]
name = "planted"
n_contexts = 6
n_features = 3
[policies]
name = "decision_trees"
depth = 1
[oracle]
kind = "search"
[[learners]]
name = "held:Held"
label = "bistro_plus"
queries = "profile"
[[learners]]
name = "uniform"
[run]
backend = "processes"
workers = 2
save_seconds = 1e-9
"""
RUN = ("run", "grid.toml", "--out", "out", "--progress", "quiet")
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture
def grid(tmp_path, write, held):
    """Return a folder with the config of a study; with a file ``hold`` there two of its cells wait in their middle."""
    write(tmp_path, {"grid.toml": GRID, "held.py": held})
    return tmp_path


@pytest.fixture
def busy(grid, start):
    """Start the study; return its process when both workers are in the middle of a cell, where they wait."""
    (grid / "hold").touch()
    with start(grid, *RUN) as process:
        while len(list(grid.glob("out/cells/*.part"))) < 2:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.005)
        yield process


@pytest.fixture(scope="module")
def whole(tmp_path_factory, process, write, untimed, held):
    """Return the untimed curves of the study, run in one process without a break."""
    folder = tmp_path_factory.mktemp("whole")
    write(folder, {"grid.toml": GRID, "held.py": held})
    done = process(folder, *RUN, "--backend", "serial")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return untimed(folder / "out")


def processes(folder):
    """Return the numbers of the processes that run in a folder, each with its parent's."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve(strict=True) == folder.resolve():
                found[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def workers(folder, first):
    """Return the numbers of the worker processes: grandchildren of the process ``first``."""
    parents = processes(folder)
    return [number for number, parent in parents.items() if parents.get(parent) == first]


def wait_for(happened, seconds=600):
    """Wait until something holds, and return it."""
    deadline = time.monotonic() + seconds
    while not (found := happened()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return found


@needs_proc
def test_neither_another_run_nor_a_killed_worker_changes_anything(grid, busy, whole, process, assert_one_line, untimed):
    """A second run on the directory is refused; a killed worker is replaced."""
    assert_one_line(process(grid, *RUN), "another run is at work in out", "--out")
    victim, _ = workers(grid, busy.pid)
    os.kill(victim, signal.SIGKILL)
    (grid / "hold").unlink()
    assert busy.wait(timeout=600) == 0, busy.stderr.read()
    assert untimed(grid / "out") == whole


@needs_proc
def test_an_interrupt_stops_the_workers(grid, busy, assert_one_line):
    """SIGTERM ends the run and its workers in one line that says what is kept."""
    busy.terminate()
    _, stderr = busy.communicate(timeout=600)
    done = type("Ended", (), {"returncode": busy.returncode, "stdout": "", "stderr": stderr})
    assert_one_line(done, "interrupted: ", "of 8 curves are kept in out", "goes on from there")
    assert wait_for(lambda: not processes(grid)), processes(grid)


def test_failed_cells_are_told_at_the_end(tmp_path, write, held, process, monkeypatch):
    """One line for each failed cell, ten at most, and one at the end; the others are there, and the exit code is 2."""
    plugin = "from milpcb.learners.comparators import Uniform\nclass Fails(Uniform):\n def _act(self, row): 1 / 0\n"
    points = "[milpcb.learner]\nfails = faulty_plugin:Fails\n"
    info = {"METADATA": "Metadata-Version: 2.1\nName: faulty\nVersion: 1\n", "entry_points.txt": points}
    write(tmp_path, {"site/faulty_plugin.py": plugin, **{f"site/faulty-1.dist-info/{n}": t for n, t in info.items()}})
    many = GRID.replace("seeds = [0, 1]", f"seeds = {list(range(6))}").replace("[30, 600]", "[30, 40]")
    write(tmp_path, {"held.py": held, "grid.toml": many.replace("[run]", '[[learners]]\nname = "fails"\n[run]')})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    done = process(tmp_path, *RUN, "--backend", "serial")
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    *told, last = done.stderr.splitlines()
    assert len(told) == 10
    assert all(line.startswith("failed: fails, T = ") and line.endswith("division by zero") for line in told)
    assert last.startswith("milpcb: 12 of the cells failed, of which 10 are shown; the others are kept in out")
    assert set(milpcb.load(tmp_path / "out")["learner"]) == {"bistro_plus", "uniform"}
    assert len(list((tmp_path / "out/logs").iterdir())) == 12
    assert "ZeroDivisionError" in next((tmp_path / "out/logs").iterdir()).read_text()


def test_a_dry_run_plays_nothing(grid, process, write, held):
    """The cells are counted, a line a learner; nothing is written. Afterwards it says what is finished."""
    short = GRID.replace('name = "uniform"', 'name = "uniform"\nmax_horizon = 30')
    write(grid, {"held.py": held, "grid.toml": short})
    dry = process(grid, "run", "grid.toml", "--out", "out", "--dry-run")
    assert (dry.returncode, dry.stderr) == (0, "")
    assert not (grid / "out").exists()
    steps = "beside them the best policy in hindsight, 4 times"
    for line in ("6 cells, of which 0 are finished", steps):
        assert line in dry.stdout
    rows = [line.replace("\u202f", "'").split() for line in dry.stdout.splitlines()]
    assert ["bistro_plus", "4", "0", "1'260"] in rows
    assert ["uniform", "2", "0", "60"] in rows
    assert process(grid, *RUN, "--backend", "serial").returncode == 0
    dry = process(grid, "run", "grid.toml", "--out", "out", "--dry-run")
    assert "6 cells, of which 6 are finished in out" in dry.stdout
