"""Strange files, folders, pipes and limits: a line on why, or the command goes on; nothing hangs, nothing is run."""

import io
import os
import subprocess
import sys

import pytest

from milpcb.commands.console import PlainConsole
from milpcb.core.decimals import number
from milpcb.core.text import encodable
from tests.cli.conftest import CONTEXTS, COSTS, without_notice

RUN = ("run", "tiny.toml", "--progress", "quiet", "--backend", "serial")


@pytest.mark.parametrize("safe", ["", "1"], ids=["python -m milpcb", "milpcb"])
def test_files_of_the_current_folder_are_not_imported(safe, tmp_path, process, write, config, monkeypatch):
    """They are none of milpcb's business; Python itself lets ``-m`` see the folder until milpcb takes it off."""
    monkeypatch.setenv("PYTHONSAFEPATH", safe)  # as for installed commands, whose path does not begin with the folder
    names = ("cplex.py", "policies.py", *(("numba.py", "scipy.py", "polars.py") if safe else ()))
    write(tmp_path, {"tiny.toml": config, **dict.fromkeys(names, "raise SystemExit('was imported')\n")})
    for arguments in (("solvers",), RUN):
        done = process(tmp_path, *arguments)
        assert (done.returncode, done.stderr) == (0, ""), arguments


def test_a_pipe_is_not_read(tmp_path, milpcb_, write, assert_one_line):
    """Nobody may ever write into it."""
    write(tmp_path, {"c.csv": COSTS})
    os.mkfifo(tmp_path / "fifo")
    assert_one_line(milpcb_(tmp_path, "solve", "fifo", "c.csv"), "it is a device or a pipe, not a file")


def test_a_class_that_ends_python_is_a_mistake(tmp_path, process, write, assert_one_line, config):
    """Its exit code would say that all went well."""
    source = "import sys\nfrom milpcb.environments.planted import Planted\n"
    source += "class Exits(Planted):\n    def open(self, *_):\n        sys.exit(0)\n"
    write(tmp_path, {"mine.py": source, "tiny.toml": config.replace('"planted"', '"mine:Exits"')})
    assert_one_line(process(tmp_path, "run", "tiny.toml", "--progress", "quiet"), "mine.py, line 5: SystemExit: 0")


def test_terminals_are_not_steered(tmp_path, milpcb_, write, config):
    """Escapes in headers, labels, paths and messages are printed as text, on standard output and in errors."""
    write(
        tmp_path, {"x.csv": CONTEXTS.replace("age", "a\x1b[2Jge"), "c.csv": COSTS.replace("treat", "tr\x1b]0;x\x07eat")}
    )
    solved = milpcb_(tmp_path, "solve", "x.csv", "c.csv", "--depth", "1")
    assert solved.returncode == 0
    assert 'if "a\\x1b[2Jge" <= ' in solved.stdout
    assert 'play "tr\\x1b]0;x\\x07eat"' in solved.stdout
    write(tmp_path, {"a.toml": config.replace('"uniform"', '"uni\\u001b[31mform\\u202e"')})
    refused = milpcb_(tmp_path, "run", "a.toml")
    assert refused.returncode == 2
    for output in (solved.stdout, refused.stderr, milpcb_(tmp_path, "run", "\x1b[2J").stderr):
        assert "\x1b" not in output
        assert "\u202e" not in output


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes of a shell")
def test_a_run_goes_on_when_nobody_reads_on(tmp_path, write, start, config, untimed):
    """As in ``milpcb run ... | head -1``: the study is finished, the exit code is 0 and nothing is complained of."""
    write(tmp_path, {"tiny.toml": config})
    with start(tmp_path, "run", "tiny.toml", "--out", "out", "--backend", "serial") as process:
        process.stdout.readline()
        process.stdout.close()
        assert (without_notice(process.stderr.read()), process.wait(timeout=600)) == ("", 0)
    assert len(untimed(tmp_path / "out")) > 2
    assert (tmp_path / "out/regret.png").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes of a shell")
@pytest.mark.parametrize("command", ["schema", "--help"])
def test_what_nobody_reads_is_no_error(command, tmp_path, start):
    """Where a pager is left early, or a pipe is closed, there is nothing to complain of."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = start(tmp_path, command, how=subprocess.run, check=False, stdout=writing)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes the streams")
def test_a_service_may_have_closed_the_standard_streams(tmp_path, write, start, config):
    """A run is finished with exit code 0, and a mistake ends with 2."""

    def shell(command, **options):
        return subprocess.run(["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command], check=False, **options)

    write(tmp_path, {"tiny.toml": config})
    ended = start(tmp_path, "run", "tiny.toml", "--out", "out", "--backend", "serial", how=shell)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "out/regret.png").read_bytes().startswith(b"\x89PNG")
    assert start(tmp_path, "report", "nothing", how=shell).returncode == 2


def test_classes_beside_the_config_are_played_and_resumed_from_anywhere(tmp_path, process, write, config):
    """Workers find them, and so does resume, which knows the folder from the resolved config."""
    own = "from milpcb.learners import Uniform\nclass Mine(Uniform):\n    pass\n"
    noise = "from milpcb.relaxations.paper import Half\nclass Noise(Half):\n    pass\n"
    text = config.replace('"uniform"', '"own_learner:Mine"').replace("queries", 'noise = "own_noise:Noise"\nqueries')
    write(tmp_path, {"study/a.toml": text, "study/own_learner.py": own, "study/own_noise.py": noise})
    (tmp_path / "elsewhere").mkdir()
    quiet = ("--progress", "quiet", "--backend", "processes", "--workers", "2")
    first = process(tmp_path, "run", "study/a.toml", "--out", "out", *quiet)
    assert (first.returncode, first.stderr) == (0, "")
    for record in (tmp_path / "out/cells").glob("*.json"):
        record.unlink()
    again = process(tmp_path / "elsewhere", "resume", "../out", "--trust", *quiet)
    assert (again.returncode, again.stderr) == (0, "")
    assert not list(tmp_path.rglob("__pycache__"))


TEXT = f"{number(-12345.6)} \u00b1 3 \u00b5s"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("utf-8", TEXT), ("ascii", "-12 346 ~ 3 us"), ("latin-1", "-12 346 ~ 3 us"), ("cp1252", "-12 346 ~ 3 us")],
)
def test_numbers_are_printed_in_the_letters_of_the_terminal(encoding, shown):
    """A thin space, a minus or a plus-minus that the encoding lacks becomes a plain letter of the same width."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    PlainConsole(file=file, highlight=False).print(TEXT)
    file.flush()
    assert file.buffer.getvalue().decode(encoding) == shown + "\n"
    assert len(shown) == len(TEXT)
    assert encodable("caf\u00e9 \u65e5\u672c", "ascii") == "caf? ??"  # a name of another script is no error
