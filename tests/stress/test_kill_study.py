"""Studies are killed, and the files that they wrote are damaged; resumed, they end as a run that nobody disturbed.

Kills: `milpcb run` of a small study on each of the three backends gets SIGKILL as soon as so many records, saved states
or bytes are in its directory (or one of its temporary files is); its workers must die with it, and `milpcb resume`, in
this process, must end with the bytes of an undisturbed run, times apart. Damages: bits are flipped, files cut, emptied,
removed, swapped, replaced by those of other cells, by links and by folders, keys of JSON removed and added. `milpcb
resume` must then end with the same bytes, having named every damaged record and saved state, or refuse with one line,
and end with the same bytes once the file is put back. Nothing outside the directory may change.
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from milpcb.cli import cli
from milpcb.errors import MilpcbError
from milpcb.experiments.run.task import TaskFiles
from tests.sketches import sketch

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
BATCH = 5  # damages that one resume fixes; it names at most ten records
PATIENCE = 600  # seconds, for processes to be gone: only what hangs takes as long


def milpcb(folder: Path, *arguments: str) -> tuple[str | None, str]:
    """Run the command line in a folder; return the line that it is refused with, if it is, and what else it writes."""
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
        elif name == "curves.parquet":
            found[name] = pl.read_parquet(io.BytesIO(file.read_bytes())).drop(TIMES).write_csv()
        else:
            found[name] = file.read_bytes()
    return found


def differing(found: dict[str, object], wanted: dict[str, object]) -> str:
    """Return the names of the files that are not as they should be; '' where there are none."""
    return ", ".join(sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name)))


def undisturbed(root: Path, study: str, backend: str) -> dict[str, object]:
    """Return the contents of a run that nobody disturbs."""
    (root / "study.toml").write_text(study)
    refused, _ = milpcb(root, "run", "study.toml", "--out", "out", "--backend", backend)
    assert refused is None, f"the study itself fails: {refused}"
    return contents(root / "out")


# Kills.


@dataclass(frozen=True)
class Moment:
    """When to kill: as soon as there is this much of something in the directory."""

    what: str  # "records", "states", "bytes", "temporaries", "config"
    amount: int

    def __str__(self) -> str:
        return f"{self.amount} {self.what}"


def draw_moment(dice: random.Random, seeds: int) -> Moment:
    """Draw a moment that a study with so many seeds comes to."""
    what = dice.choice(["records", "states", "states", "bytes", "temporaries", "config"])
    most = {"records": 5 * seeds, "states": 8 * seeds, "bytes": 50_000 * seeds, "temporaries": 3, "config": 1}[what]
    return Moment(what, dice.randint(1, most))


def unfinished(out: Path) -> list[Path]:
    """Return the states that a resume goes on from: those of cells without a record."""
    return sorted(part for part in out.glob("cells/*.part") if not part.with_suffix(".json").exists())


class Watch:
    """Counts what appears in a run directory."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._states: set[tuple[str, int]] = set()
        self._temporaries: set[str] = set()

    def reached(self, moment: Moment) -> bool:
        """Look once, and tell whether the moment has come."""
        sizes, records = 0, 0
        for folder in (self._out, self._out / "cells"):
            for entry in os.scandir(folder) if folder.is_dir() else ():
                try:
                    state = entry.stat()
                except FileNotFoundError:
                    continue
                sizes += state.st_size
                records += folder.name == "cells" and entry.name.endswith(".json")
                if entry.name.endswith(".part"):
                    self._states.add((entry.name, state.st_mtime_ns))
                if entry.name.endswith(".tmp"):
                    self._temporaries.add(entry.name)
        amounts = {"records": records, "bytes": sizes, "config": int((self._out / "config.toml").exists())}
        amounts |= {"states": len(self._states), "temporaries": len(self._temporaries)}
        return amounts[moment.what] >= moment.amount


def kill_at(moment: Moment, folder: Path, study: str, backend: str) -> str:
    """Start the study in a folder and kill it at a moment; return '' or what is wrong."""
    (folder / "study.toml").write_text(study)
    watch = Watch(folder / "out")
    command = [sys.executable, "-m", "milpcb.cli", "run", "study.toml", "--out", "out", "--backend", backend]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not watch.reached(moment):
            time.sleep(0.0005)
        process.kill()
    return "" if wait_until(lambda: not processes_in(folder)) else f"workers live on: {processes_in(folder)}"


def processes_in(folder: Path) -> list[int]:
    """Return the processes whose working directory is ``folder`` (Linux)."""
    there = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve(strict=True) == folder.resolve():
                there.append(int(process.name))
        except OSError:
            continue
    return there


def wait_until(happened: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def killed(root: Path, number: int, moment: Moment, study: str, wanted: dict[str, object]) -> tuple[str, str]:
    """Kill, resume, compare; return what was done, and '' or what is wrong."""
    backend = BACKENDS[number % len(BACKENDS)]
    folder = root / f"killed{number}"
    folder.mkdir()
    wrong = kill_at(moment, folder, study, backend)
    out = folder / "out"
    records, parts = (len(list(out.glob(f"cells/*.{suffix}"))) for suffix in ("json", "part"))
    again = ("resume", "out") if (out / "config.toml").exists() else ("run", "study.toml", "--out", "out")
    refused, written = milpcb(folder, *again, "--backend", "serial")
    wrong = wrong or refused or (f"a kill damaged a file: {written}" if "damaged" in written else "")
    wrong = wrong or differing(contents(out), wanted)
    shutil.rmtree(folder)
    return f"{backend}, killed at {moment} ({records} records, {parts} states there), {again[0]}", wrong


# Damages.


@dataclass(frozen=True)
class Place:
    """A file of a run directory to damage, and another one that is whole."""

    out: Path
    file: Path
    other: Path

    @property
    def name(self) -> str:
        """The file's name in the directory."""
        return str(self.file.relative_to(self.out))


def flip_digit(place: Place, dice: random.Random) -> None:
    content = bytearray(place.file.read_bytes())
    digits = [i for i, byte in enumerate(content) if chr(byte).isdigit()] or [0]
    content[dice.choice(digits)] ^= 1
    place.file.write_bytes(content)


def flip_bit(place: Place, dice: random.Random) -> None:
    content = bytearray(place.file.read_bytes())
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    place.file.write_bytes(content)


def cut(place: Place, dice: random.Random) -> None:
    content = place.file.read_bytes()
    place.file.write_bytes(content[: dice.randrange(len(content))])


def empty(place: Place, _dice: random.Random) -> None:
    place.file.write_bytes(b"")


def lose(place: Place, _dice: random.Random) -> None:
    place.file.unlink()


def replace(place: Place, _dice: random.Random) -> None:
    place.file.write_bytes(place.other.read_bytes())


def swap(place: Place, _dice: random.Random) -> None:
    mine = place.file.read_bytes()
    place.file.write_bytes(place.other.read_bytes())
    place.other.write_bytes(mine)


def remove_key(place: Place, dice: random.Random) -> None:
    edit(place.file, lambda table: table.pop(dice.choice(sorted(table))))


def add_key(place: Place, _dice: random.Random) -> None:
    edit(place.file, lambda table: table.update(more=1))


def change_type(place: Place, dice: random.Random) -> None:
    edit(place.file, lambda table: table.update({dice.choice(sorted(table)): ["x"]}))


def edit(file: Path, change: Callable[[dict[str, object]], object]) -> None:
    """Change the JSON object in a file; a file that holds none loses its first half."""
    content = file.read_bytes()
    if file.suffix in {".json", ".part"}:
        table = json.loads(content)
        change(table)
        file.write_text(json.dumps(table))
    else:
        file.write_bytes(content[len(content) // 2 :])


def link(place: Place, _dice: random.Random) -> None:
    """Put a link there, to a file outside the directory."""
    place.file.unlink()
    place.file.symlink_to(place.out.parent / "outside.txt")


def folder_there(place: Place, _dice: random.Random) -> None:
    """Put a folder there, with something in it that is nobody's to remove."""
    place.file.unlink()
    (place.file / "mine").mkdir(parents=True)


DAMAGES = (flip_digit, flip_bit, cut, empty, lose, replace, swap, remove_key, add_key, change_type, link)


def wants_a_line(cells: dict[Path, bytes]) -> set[str]:
    """Return the cells whose record or saved state must be reported as damaged.

    ``cells`` holds every file of the folder of cells as it was before. A saved state beside a whole record is never
    read (a kill between writing the one and removing the other leaves both). Pictures belong to a record: where there
    is none they are drawn again.
    """
    damaged = {file for file, content in cells.items() if file.exists() and changed(file, content)}
    records = {file for file in cells if file.suffix == ".json" and file.exists()}
    whole = {file.stem for file in records - damaged}
    return {
        file.stem
        for file in damaged
        if (file.stem not in whole if file.suffix == ".part" else file.stem in {record.stem for record in records})
    }


def damage_and_fix(
    root: Path, number: int, base: Path, dice: random.Random, wanted: dict[str, object]
) -> tuple[str, str]:
    """Damage files of a copy of ``base``, resume, compare; return what was done, and '' or what is wrong."""
    folder = copy_of(base, root / f"damaged{number}")
    out = folder / "out"
    places = draw_places(out, BATCH, dice)
    before = {file: file.read_bytes() for file in out.glob("cells/*")}
    done_what = []
    for place in places:
        damage = dice.choice(DAMAGES)
        damage(place, dice)
        done_what.append(f"{damage.__name__} {place.name}")
    hurt = wants_a_line(before)
    refused, written = milpcb(folder, "resume", "out", "--backend", "serial")
    lines = written.splitlines()
    unnamed = sorted(key for key in hurt if not any(key in line and "damaged" in line for line in lines))
    wrong = refused or (f"not named: {unnamed}" if unnamed else "")
    wrong = wrong or differing(contents(out), wanted) or outside_changed(folder)
    shutil.rmtree(folder)
    return ", ".join(done_what), wrong


def damage_and_refuse(
    root: Path, number: int, base: Path, dice: random.Random, wanted: dict[str, object]
) -> tuple[str, str]:
    """Do what resume cannot fix: it must refuse with one line; put the file back, and it must fix the rest."""
    folder = copy_of(base, root / f"refused{number}")
    out = folder / "out"
    config = Place(out, out / "config.toml", out / "study.json")
    if number % 2:
        (place,), damage = draw_places(out, 1, dice), folder_there
    else:
        place, damage = config, dice.choice([one for one in DAMAGES if one is not swap])
    original = place.file.read_bytes()
    damage(place, dice)
    refused, _ = milpcb(folder, "resume", "out", "--backend", "serial")
    wrong = "" if refused is None else "several lines" * ("\n" in refused)
    if refused is not None:
        if damage is folder_there:
            wrong = wrong or ("" if (place.file / "mine").is_dir() else "a folder of somebody else was removed")
            shutil.rmtree(place.file, ignore_errors=True)
        place.file.unlink(missing_ok=True)
        place.file.write_bytes(original)
        wrong = wrong or milpcb(folder, "resume", "out", "--backend", "serial")[0] or ""
    wrong = wrong or differing(contents(out), wanted) or outside_changed(folder)
    shutil.rmtree(folder)
    return f"{damage.__name__} {place.name}, {'fixed' if refused is None else 'refused'}", wrong


def draw_places(out: Path, count: int, dice: random.Random) -> list[Place]:
    """Draw files to damage, each with another one of its kind; a saved state is among them where there is one."""
    kinds: dict[str, list[Path]] = {}
    for file in sorted(path for path in out.rglob("*") if path.is_file() and path.stat().st_size):
        if file.name not in {"config.toml", ".milpcb.lock"}:
            kinds.setdefault(f"{file.parent.name}{file.suffix}", []).append(file)
    states = unfinished(out)[:1]
    every = [file for files in kinds.values() for file in files if file not in states]
    drawn = [*states, *dice.sample(every, count - len(states))]
    others = [file for file in every if file not in drawn]
    return [Place(out, file, alike(file, others, dice)) for file in drawn]


def alike(file: Path, others: list[Path], dice: random.Random) -> Path:
    """Take another file out of ``others``, of the same kind if there is one."""
    same = [other for other in others if (other.parent, other.suffix) == (file.parent, file.suffix)]
    return dice.choice(same or others)


def changed(file: Path, content: bytes) -> bool:
    return file.is_symlink() or file.read_bytes() != content


def copy_of(base: Path, folder: Path) -> Path:
    """Copy a run directory into a new folder, beside a file that is nobody's to change."""
    folder.mkdir()
    shutil.copytree(base, folder / "out")
    (folder / "outside.txt").write_text("mine")
    return folder


def outside_changed(folder: Path) -> str:
    there = sorted(path.name for path in folder.iterdir())
    same = there == ["out", "outside.txt"] and (folder / "outside.txt").read_text() == "mine"
    return "" if same else f"something outside the run directory changed: {there}"


def stopped(root: Path, study: str) -> Path:
    """Return a directory of a study that was interrupted with two tasks finished, in the middle of the third."""
    root.mkdir()
    (root / "study.toml").write_text(study)
    save, cells = TaskFiles.save, root / "out/cells"

    def save_and_stop(self: TaskFiles, state: dict[str, object]) -> None:
        save(self, state)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TaskFiles, "save", save_and_stop)
        patch.setattr(TaskFiles, "save_due", property(lambda _: len(list(cells.glob("*.json"))) == 2))
        refused, _ = milpcb(root, "run", "study.toml", "--out", "out", "--backend", "serial")
    assert refused is not None
    assert len(unfinished(root / "out")) == 1
    return root / "out"


@pytest.fixture(scope="module")
def seeds(pytestconfig: pytest.Config) -> int:
    """Return how many seeds the study has: one without --stress."""
    return 2 if pytestconfig.option.stress else 1


@pytest.fixture(scope="module")
def whole(seeds: int, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> dict[str, object]:
    """Return the contents of an undisturbed run; with --stress those of all backends are compared."""
    backends = BACKENDS if pytestconfig.option.stress else BACKENDS[:1]
    played = [undisturbed(tmp_path_factory.mktemp(backend), study_of(seeds), backend) for backend in backends]
    assert all(not differing(found, played[0]) for found in played)
    return played[0]


@pytest.mark.cases(3)
def test_killed_studies_end_as_if_nothing_had_happened(
    numbers: range, seeds: int, whole: dict[str, object], tmp_path: Path
) -> None:
    """Killed at a drawn moment and resumed: the same bytes."""
    pytest.importorskip("distributed", reason="one of the three backends needs it")
    for number in numbers:
        moment = draw_moment(dice_of("kill", number), seeds)
        done, wrong = killed(tmp_path, number, moment, study_of(seeds), whole)
        assert not wrong, done


@dataclass(frozen=True)
class Bases:
    """Directories of the study to damage, with sketches for pictures: of a run that was stopped, and of a whole one."""

    stopped: Path
    finished: Path
    wanted: dict[str, object]


@pytest.fixture(scope="module")
def bases(seeds: int, tmp_path_factory: pytest.TempPathFactory) -> Bases:
    """Return them."""
    root, text = tmp_path_factory.mktemp("bases"), study_of(seeds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", sketch)
        wanted = undisturbed(root, text, "serial")
        return Bases(stopped(root / "stopped", text), root / "out", wanted)


@pytest.mark.cases(6)
@pytest.mark.usefixtures("sketches")
def test_damages_are_mended_and_named(numbers: range, bases: Bases, tmp_path: Path) -> None:
    """Several files at a time, of a study that was stopped and of one that is done."""
    for number in numbers:
        base, dice = bases.finished if number % 3 else bases.stopped, dice_of("damage", number)
        done, wrong = damage_and_fix(tmp_path, number, base, dice, bases.wanted)
        assert not wrong, done


@pytest.mark.cases(6)
@pytest.mark.usefixtures("sketches")
def test_damages_that_cannot_be_mended_are_refused(numbers: range, bases: Bases, tmp_path: Path) -> None:
    """In one line; once the file is put back the study ends as it should."""
    for number in numbers:
        base, dice = bases.finished if number % 8 else bases.stopped, dice_of("refuse", number)
        done, wrong = damage_and_refuse(tmp_path, number, base, dice, bases.wanted)
        assert not wrong, done


def study_of(seeds: int) -> str:
    """Return the config of a study of so many seeds."""
    return STUDY.format(seeds=list(range(seeds)))


def dice_of(what: str, number: int) -> random.Random:
    """Return the dice of a case."""
    return random.Random(f"{what} {number}")  # noqa: S311 - dice


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """Return a folder of cells: ``both`` was killed after its record was written, ``part`` and ``none`` before."""
    folder = tmp_path / "out/cells"
    folder.mkdir(parents=True)
    for name in ("both.json", "both.part", "record.json", "record.png", "part.part", "none.png"):
        (folder / name).write_text(name)
    return folder


@pytest.mark.parametrize(
    ("damaged", "reported"),
    [
        (["both.part"], set()),
        (["both.json"], {"both"}),
        (["both.part", "both.json"], {"both"}),
        (["part.part"], {"part"}),
        (["none.png"], set()),
        (["record.png"], {"record"}),
    ],
)
def test_a_saved_state_counts_where_there_is_no_whole_record(
    cells: Path, damaged: list[str], reported: set[str]
) -> None:
    """A kill between writing a record and removing its saved state leaves both: the state is never read."""
    before = {file: file.read_bytes() for file in cells.iterdir()}
    for name in damaged:
        (cells / name).write_text("damaged")
    assert wants_a_line(before) == reported
