"""Studies are killed, and the files that they wrote are damaged; resumed, they end as a run that nobody disturbed.

Their workers die with them, every damaged record and saved state is named, or the study refused in one line until the
file is put back; times apart the bytes are the same, and nothing outside changes.
"""

import contextlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from milpcb.cli import cli
from milpcb.errors import MilpcbError
from milpcb.experiments.run.runner import TaskFiles
from tests.processes import until
from tests.sketches import sketch
from tests.stress.damages import CHANGES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
STUDY = """\
[experiment]
name = "killed"
horizon = [200, 2_000]
seeds = {seeds}
checkpoints = 10
[environment]
name = "planted"
n_contexts = 40
n_features = 6
[policies]
name = "decision_trees"
depth = 2
[oracle]
kind = "search"
[[learners]]
name = "bistro_plus"
queries = "profile"
[[learners]]
name = "uniform"
[run]
workers = 2
save_seconds = 0.01
"""
BACKENDS = ("serial", "processes", "dask")
TIMES = ("seconds", "oracle_seconds")
NOT_COMPARED = (".lock", ".log")
BATCH = 3  # damages that one resume fixes


def milpcb(folder: Path, *arguments: str) -> tuple[str | None, str]:
    """Run the command line in a folder; return the line that it is refused with, if it is, and what it writes."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(cli, [*arguments, "--progress", "quiet"])
    if done.exception is not None and not isinstance(done.exception, MilpcbError):
        raise done.exception
    return None if done.exception is None else str(done.exception), done.output


def contents(directory: Path) -> dict[str, object]:
    """Return every file of a run directory by its name; times, and the checksums that cover times, are left out."""
    found: dict[str, object] = {}
    for file in sorted(path for path in directory.rglob("*") if path.is_file()):
        name = str(file.relative_to(directory))
        if file.name.endswith(NOT_COMPARED):
            continue
        if file.parent.name == "cells" and file.suffix == ".json":
            record = json.loads(file.read_bytes())
            found[name] = {key: value for key, value in record.items() if key not in {*TIMES, "checksum"}}
        elif name == "curves.csv":
            found[name] = pl.read_csv(io.BytesIO(file.read_bytes())).drop(TIMES).write_csv()
        else:
            found[name] = file.read_bytes()
    return found


def differing(found: dict[str, object], wanted: dict[str, object]) -> str:
    """Return the names of the files that are not as they should be; '' where there are none."""
    return ", ".join(sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name)))


def undisturbed(root: Path, study: str, backend: str = "serial") -> dict[str, object]:
    """Return the contents of a run that nobody disturbs."""
    (root / "study.toml").write_text(study)
    refused, _ = milpcb(root, "run", "study.toml", "--out", "out", "--backend", backend)
    assert refused is None
    return contents(root / "out")


@pytest.fixture(scope="module")
def study(pytestconfig: pytest.Config) -> str:
    """Return the config of a study of one seed, of two with --stress."""
    return STUDY.format(seeds=[0, 1] if pytestconfig.option.stress else [0])


def dice_of(what: str, number: int) -> random.Random:
    return random.Random(f"{what} {number}")  # noqa: S311 - dice


# Kills.

MOST = {".toml": 1, ".json": 5, ".part": 8, ".tmp": 3}  # writes of files of a kind after which a run is killed


def kill_at(kind: str, writes: int, folder: Path, study: str, backend: str) -> None:
    """Start the study in a folder, and kill it as soon as files of a kind have been written so often."""
    (folder / "study.toml").write_text(study)
    seen: set[tuple[str, int]] = set()
    command = [sys.executable, "-m", "milpcb", "run", "study.toml", "--out", "out", "--backend", backend]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(seen) < writes:
            for place in ("out", "out/cells"):
                with contextlib.suppress(FileNotFoundError), os.scandir(folder / place) as entries:
                    seen.update((e.name, e.stat().st_mtime_ns) for e in entries if e.name.endswith(kind))
            time.sleep(0.0005)
        process.kill()
    until(lambda: not processes_in(folder))  # its workers


def processes_in(folder: Path) -> list[int]:
    """Return the processes whose working directory is ``folder`` (Linux)."""
    there = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").resolve(strict=True) == folder.resolve():
                there.append(int(process.name))
    return there


@pytest.fixture(scope="module")
def whole(study: str, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> dict[str, object]:
    """Return the contents of an undisturbed run; with --stress those of all backends are compared."""
    backends = BACKENDS if pytestconfig.option.stress else BACKENDS[:1]
    played = [undisturbed(tmp_path_factory.mktemp(backend), study, backend) for backend in backends]
    assert all(not differing(found, played[0]) for found in played)
    return played[0]


@pytest.mark.cases(3)
def test_killed_studies_end_as_if_nothing_had_happened(
    numbers: range, study: str, whole: dict[str, object], tmp_path: Path
) -> None:
    """Killed at a drawn moment and resumed: the same bytes."""
    pytest.importorskip("distributed", reason="one of the three backends needs it")
    for number in numbers:
        dice, backend = dice_of("kill", number), BACKENDS[number % len(BACKENDS)]
        kind = dice.choice([".part", *MOST])
        writes = dice.randint(1, MOST[kind])
        folder = tmp_path / f"killed{number}"
        folder.mkdir()
        kill_at(kind, writes, folder, study, backend)
        out = folder / "out"
        again = ("resume", "out") if (out / "config.toml").exists() else ("run", "study.toml", "--out", "out")
        refused, written = milpcb(folder, *again, "--backend", "serial")
        case = f"{backend}, killed at {writes} {kind}, {again[0]}: {written}"
        assert refused is None, case
        assert "damaged" not in written, case
        assert differing(contents(out), whole) == "", case
        shutil.rmtree(folder)


# Damages.


DAMAGES = (*CHANGES, "lose", "swap", "link")


def damage(how: str, file: Path, other: Path, dice: random.Random) -> None:
    """Damage a file; the link leads to a file outside the directory, and in the folder is what nobody may remove."""
    content = file.read_bytes()
    if how in CHANGES:
        file.write_bytes(CHANGES[how](content, other.read_bytes(), dice))
        return
    file.unlink()
    if how == "swap":
        file.write_bytes(other.read_bytes())
        other.write_bytes(content)
    if how == "link":
        file.symlink_to(next(folder for folder in file.parents if folder.name == "out").parent / "outside.txt")
    if how == "folder":
        (file / "mine").mkdir(parents=True)


def wants_a_line(cells: dict[Path, bytes]) -> set[str]:
    """Return the cells whose record or saved state must be reported as damaged.

    ``cells`` holds every file of the folder of cells as it was before. A saved state beside a whole record is never
    read (a kill between writing the one and removing the other leaves both).
    """
    damaged = {
        file for file, content in cells.items() if file.exists() and (file.is_symlink() or file.read_bytes() != content)
    }
    records = {file for file in cells if file.suffix == ".json" and file.exists()}
    whole, read = ({file.stem for file in files} for files in (records - damaged, records))
    return {file.stem for file in damaged if (file.stem not in whole if file.suffix == ".part" else file.stem in read)}


def unfinished(out: Path) -> list[Path]:
    """Return the states that a resume goes on from: those of cells without a record."""
    return sorted(part for part in out.glob("cells/*.part") if not part.with_suffix(".json").exists())


def draw_files(out: Path, count: int, dice: random.Random) -> list[tuple[Path, Path]]:
    """Draw files to damage, each with a whole one, of its kind if there is one.

    A saved state that a resume goes on from is among them, where there is one.
    """
    every = sorted(path for path in out.rglob("*") if path.is_file() and path.stat().st_size)
    every = [file for file in every if file.name not in {"config.toml", ".milpcb.lock"}]
    states = unfinished(out)[:1]
    drawn = [*states, *dice.sample([file for file in every if file not in states], count - len(states))]
    whole = [file for file in every if file not in drawn]
    alike = [[other for other in whole if (other.parent, other.suffix) == (file.parent, file.suffix)] for file in drawn]
    return [(file, dice.choice(same or whole)) for file, same in zip(drawn, alike, strict=True)]


@dataclass(frozen=True)
class Bases:
    """Directories of the study to damage, with sketches for pictures: of a run that was stopped, and of a whole one."""

    stopped: Path
    finished: Path
    wanted: dict[str, object]


@pytest.fixture(scope="module")
def bases(study: str, tmp_path_factory: pytest.TempPathFactory) -> Bases:
    """Return them; the one was interrupted with two tasks finished, in the middle of the third."""
    root, save = tmp_path_factory.mktemp("bases"), TaskFiles.save
    (root / "stopped").mkdir()
    cells = root / "stopped/out/cells"

    def save_and_stop(self: TaskFiles, state: dict[str, object]) -> None:
        save(self, state)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", sketch)
        wanted = undisturbed(root, study)
        patch.setattr(TaskFiles, "save", save_and_stop)
        patch.setattr(TaskFiles, "save_due", property(lambda _: len(list(cells.glob("*.json"))) == 2))
        refused, _ = milpcb(root / "stopped", "run", "../study.toml", "--out", "out", "--backend", "serial")
    assert refused is not None
    assert len(unfinished(cells.parent)) == 1
    return Bases(cells.parent, root / "out", wanted)


@pytest.mark.cases(12)
@pytest.mark.usefixtures("sketches")
def test_damages_are_mended_and_named_or_refused(numbers: range, bases: Bases, tmp_path: Path) -> None:
    """Several files at a time, of a study that was stopped and of one that is done, are mended.

    A config that is damaged, or a folder in the place of a file, may be refused, in one line; once the file is put back
    the study ends as it should.
    """
    for number in numbers:
        dice, base = dice_of("damage", number), bases.finished if number % 3 else bases.stopped
        folder, may_be_refused = tmp_path / f"damaged{number}", number % 2
        out = folder / "out"
        shutil.copytree(base, out)
        (folder / "outside.txt").write_text("mine")
        if not may_be_refused:
            hurt = [(dice.choice(DAMAGES), *files) for files in draw_files(out, BATCH, dice)]
        elif number % 4 == 1:
            hurt = [("folder", *files) for files in draw_files(out, 1, dice)]
        else:
            how = dice.choice([how for how in DAMAGES if how != "swap"])
            hurt = [(how, out / "config.toml", out / "study.json")]
        before = {file: file.read_bytes() for file in (*out.glob("cells/*"), *(file for _, file, _ in hurt))}
        for how, file, other in hurt:
            damage(how, file, other, dice)
        case = ", ".join(f"{how}: {file.relative_to(out)}" for how, file, _ in hurt)
        cells = {file: content for file, content in before.items() if file.parent == out / "cells"}
        named = set() if may_be_refused else wants_a_line(cells)
        refused, written = milpcb(folder, "resume", "out", "--backend", "serial")
        lines = [line for line in written.splitlines() if "damaged" in line]
        assert [key for key in named if not any(key in line for line in lines)] == [], case
        if refused is not None:
            assert may_be_refused, (case, refused)
            assert "\n" not in refused, case
            ((how, file, _),) = hurt
            if how == "folder":
                assert (file / "mine").is_dir(), case
                shutil.rmtree(file)
            file.unlink(missing_ok=True)
            file.write_bytes(before[file])
            assert milpcb(folder, "resume", "out", "--backend", "serial")[0] is None, case
        assert differing(contents(out), bases.wanted) == "", case
        assert sorted(path.name for path in folder.iterdir()) == ["out", "outside.txt"], case
        assert (folder / "outside.txt").read_text() == "mine", case
        shutil.rmtree(folder)
