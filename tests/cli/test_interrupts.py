"""Full disks, signals and kills: what was finished is kept, and the same command goes on."""

import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

import milpcb
from milpcb.errors import RunError
from milpcb.experiments.results.store import read_index

RUN_LONG = ("run", "long.toml", "--out", "out", "--backend", "serial")


def long(config):
    """Return a config whose second curve waits for the test in its middle."""
    first, second = config[config.index("[[learners]]") :].strip().split("[[learners]]")[1:]
    text = config[: config.index("[[learners]]")].replace("horizon = 30", "horizon = 600\ncheckpoints = 5")
    waits = first.replace('"bistro_plus"', '"held:Held"\nlabel = "bistro_plus"')
    return f"{text}[[learners]]{second}\n[[learners]]{waits}[run]\nsave_seconds = 1e-9\n"


def in_second_curve(out):
    """Tell whether a checkpoint of the second curve is on disk."""
    try:
        cells = read_index(out)["cells"]
    except RunError:  # not yet written
        return False
    second = {cell["key"] for cell in cells if cell["learner"] == "bistro_plus"}
    return any(part.stem in second for part in out.glob("cells/*.part"))


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_a_full_disk_keeps_what_was_finished(backend, tmp_path, process, write, assert_one_line, config):
    """Each finished curve stays on disk, the first record or not, and the same command goes on later."""
    many = config.replace("horizon = 30", "horizon = 1000\ncheckpoints = 1000")  # two curves are 300 kB
    write(tmp_path, {"big.toml": f"{many}[run]\nsave_seconds = 1e6\n"})  # a checkpoint would not fit either
    arguments = ("run", "big.toml", "--out", "out", "--backend", backend)
    failed = process(tmp_path, *arguments, limits={"RLIMIT_FSIZE": 8_000})
    assert_one_line(failed, "cannot write out/cells/", "too large", "run again")
    if backend == "serial":
        failed = process(tmp_path, *arguments, limits={"RLIMIT_FSIZE": 170_000})
        assert_one_line(failed, "cannot write out/curves.csv", "too large", "finished before is kept", "run again")
        assert set(milpcb.load(tmp_path / "out")["learner"]) == {"bistro_plus", "uniform"}
        left = [file for file in (tmp_path / "out").rglob(".*") if file.name != ".milpcb.lock"]
        assert not left, "the part that was written is left behind"
    kept = {record: record.read_bytes() for record in tmp_path.glob("out/cells/*.json")}
    assert len(kept) == (3 if backend == "serial" else 0)  # the best policy, and two learners
    again = process(tmp_path, *arguments)
    assert again.returncode == 0, again.stderr
    assert all(record.read_bytes() == content for record, content in kept.items()), "a curve was played again"
    assert (tmp_path / "out/curves.csv").read_text().count("\n") == 1 + 2 * 1000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_one_line(tmp_path, process):
    """A full disk behind standard output is no traceback either."""
    with Path("/dev/full").open("w") as full:
        done = process(tmp_path, "solvers", stdout=full)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "standard output" in done.stderr


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory, process, write, untimed, config, held):
    """Return the untimed curves of the long study, run without a break."""
    folder = tmp_path_factory.mktemp("whole")
    write(folder, {"long.toml": long(config), "held.py": held})
    assert process(folder, *RUN_LONG).returncode == 0
    return untimed(folder / "out")


@pytest.fixture
def stop_in_second_curve(tmp_path, write, start, config, held):
    """Return a function: start a long run, signal it at the second curve's first checkpoint, return how it ended.

    A shell starts what runs in its background with Ctrl-C ignored, and children inherit that, so the child sets it.
    """

    def stop(number):
        write(tmp_path, {"long.toml": long(config), "held.py": held, "hold": ""})
        interruptible = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        with start(tmp_path, *RUN_LONG, preexec_fn=interruptible) as process:
            while not in_second_curve(tmp_path / "out"):
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.005)
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=600)
        (tmp_path / "hold").unlink()
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    return stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_finished_curves(
    number, tmp_path, whole_run, process, assert_one_line, untimed, stop_in_second_curve
):
    """One line says what is kept; the same command plays the rest only, and ends with the curves of a whole run."""
    assert_one_line(stop_in_second_curve(number), "interrupted", "1 of 2 curves", "out", "the same command goes on")
    first = (tmp_path / "out/curves.csv").read_text()
    assert set(milpcb.load(tmp_path / "out")["learner"]) == {"uniform"}
    again = process(tmp_path, *RUN_LONG)
    assert again.returncode == 0, again.stderr
    played_again = set(first.splitlines()) - set((tmp_path / "out/curves.csv").read_text().splitlines())
    assert not played_again, "the finished curve was played again: its times differ"
    assert untimed(tmp_path / "out") == whole_run
