"""Functions that are compiled: with and without a folder for machine code, and the line that says so."""

import ast
import errno
import importlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

import milpcb
from milpcb.core import kernels, surroundings
from tests.processes import Ended, one_by_one

Notice = kernels._Notice


def programs(folder: Path, *codes: str) -> list[Ended]:
    """Return how programs end that keep machine code in a folder; each has imported what compiles, and no code yet."""
    ended = one_by_one("import milpcb.core.kernels, policies", *codes, NUMBA_CACHE_DIR=str(folder))
    assert [done.returncode for done in ended] == [0] * len(codes), ended
    return ended


@pytest.fixture
def notice(monkeypatch: pytest.MonkeyPatch) -> Notice:
    """Replace the process-wide notice by one that has written nothing."""
    fresh = Notice()
    monkeypatch.setattr(kernels, "_notice", fresh)
    return fresh


def _no_folder(_kernel: object) -> object:
    raise RuntimeError("no locator available")


def test_kernels_compile_where_nothing_can_be_written(
    monkeypatch: pytest.MonkeyPatch, notice: Notice, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a folder for the machine code, kernels are compiled in each process, and the line says what to do."""
    monkeypatch.setattr(kernels, "_Cache", _no_folder)
    dispatcher = kernels.compiled({"nnan"})(lambda x: x + 1.0)
    notice.on_start(SimpleNamespace(data={"dispatcher": dispatcher}))
    assert capsys.readouterr().err == f"{kernels.LINE}\n"
    assert dispatcher(1.0) == 2.0


IMPORT = "from milpcb.core.kernels import compiled\n"
ROOT = Path(milpcb.__file__).parents[1]
SOURCES = [file for package in ("milpcb", "policies") for file in sorted((ROOT / package).rglob("*.py"))]


def _compiled_in() -> set[str]:
    """Return the names of the files that define a kernel, or anything else by a name that a kernel has."""
    modules = set()
    for file in SOURCES:
        text = file.read_text(encoding="utf-8")
        if "core.kernels import" not in text:
            continue
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        members = vars(importlib.import_module(module)).values()
        own = [member for member in members if isinstance(member, Dispatcher) and member.py_func.__module__ == module]
        modules |= {module} if own else set()
        named = {name for kernel in own for name in kernel.py_func.__code__.co_names}
        imports = [line for line in ast.parse(text).body if isinstance(line, ast.ImportFrom)]
        modules |= {str(line.module) for line in imports if named & {alias.name for alias in line.names}}
    return {f"{name.replace('.', '/')}.py" for name in modules if name.startswith(("milpcb.", "policies."))}


def test_a_change_of_any_kernel_moves_the_machine_code_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever file of a copy changes, with a kernel, a constant or a named tuple that kernels read: all are moved."""
    names = _compiled_in()
    assert {"policies/trees/recursion.py", "policies/trees/totals.py", "milpcb/core/kernels.py"} <= names
    for package in ("milpcb", "policies"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "milpcb" / "core" / "kernels.py"))
    monkeypatch.setattr(kernels, "kernels_digest", kernels.kernels_digest.__wrapped__)
    monkeypatch.setattr(surroundings, "is_own", lambda _: True)  # and no folder is made
    monkeypatch.setattr(kernels.config, "CACHE_DIR", "kept")

    def place() -> str:
        """Return the folder of a function that itself never changes."""
        return str(kernels._Locator.from_function(_add_one, __file__)._folder)  # type: ignore[union-attr]

    now = place()
    for name in sorted(names):
        text = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(text.replace(b"min", b"max") + b"#")
        assert place() != now, f"{name} may change without new machine code"
        (tmp_path / name).write_bytes(text)
    assert place() == now


def test_the_notice_is_ours_and_once(notice: Notice, capsys: pytest.CaptureFixture[str]) -> None:
    """Compilation by others is not announced; of our functions the first is, the next are not."""
    ours = [kernels.compiled()(lambda x: x + 1), kernels.compiled()(lambda x: x - 1)]
    notice.on_start(SimpleNamespace(data={"dispatcher": object()}))
    assert capsys.readouterr().err == ""
    for dispatcher in ours:
        notice.on_start(SimpleNamespace(data={"dispatcher": dispatcher}))
    assert capsys.readouterr().err == f"{kernels.LINE}\n"


TWICE = (
    IMPORT
    + """
@compiled()
def twice(x):
    return 2.0 * x

@compiled()
def more(x):
    return 1.0 + twice(x)
"""
)


def test_python_may_call_what_other_kernels_call(tmp_path: Path) -> None:
    """Whichever calls first, in the process that compiles, and says so, and in the next one, which loads."""
    (tmp_path / "both.py").write_text(TWICE)
    start = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from both import *"
    first, second = (f"{start}; print({calls})" for calls in ("more(3.0), twice(4.0)", "twice(4.0), more(3.0)"))
    forget = f"from pathlib import Path\nfor kept in Path({str(tmp_path / 'kept')!r}).rglob('*.nb*'): kept.unlink()"
    *compiled, _, again, loaded = programs(tmp_path / "kept", first, first, forget, second, second)
    for done, said in zip((*compiled, again, loaded), (f"{kernels.LINE}\n", "") * 2, strict=True):
        assert sorted(done.stdout.split()) == ["7.0", "8.0"]
        assert done.stderr == said


def _add_one(x: float) -> float:
    return x + 1.0


def _hits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often a process that keeps machine code in a folder finds some; the answer is right."""
    monkeypatch.setattr(kernels.config, "CACHE_DIR", str(folder))
    kernel: Any = kernels.compiled()(_add_one)
    assert kernel(1.0) == 2.0
    return sum(kernel.stats.cache_hits.values())


def _flipped(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "damage", [lambda _: b"", lambda c: c[:50], lambda c: bytes(len(c)), _flipped, lambda c: b"+" + c]
)
def test_damaged_machine_code_is_compiled_anew(
    damage: Callable[[bytes], bytes], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk or a power cut leaves files that are short, or all zeros: they are as if not there, and replaced."""
    assert [_hits(tmp_path, monkeypatch) for _ in range(2)] == [0, 1]
    (file,) = tmp_path.rglob(f"*.{kind}")
    file.write_bytes(damage(file.read_bytes()))
    assert [_hits(tmp_path, monkeypatch) for _ in range(2)] == [0, 1]


def test_where_there_is_no_room_functions_work_without_machine_code_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up after the folder was made ends no search, and leaves no half of a file."""

    def full(_self: object, _path: str) -> object:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kernels._File, "_open_for_write", full)
    assert _hits(tmp_path, monkeypatch) == 0
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_machine_code_is_kept_only_where_no_other_user_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machine code that is loaded is code that runs: a folder of others, or open to them, is none for it."""
    is_own = surroundings.is_own.__wrapped__
    assert is_own(tmp_path / "base" / "code")
    assert stat.S_IMODE((tmp_path / "base" / "code").stat().st_mode) == 0o700
    modes = {(0o755, 0o777): False, (0o755, 0o770): False, (0o777, 0o700): False}
    modes |= {(0o775, 0o755): True, (0o1777, 0o700): True}
    for (base, inner), right in modes.items():
        (tmp_path / "base" / "code").chmod(inner)
        (tmp_path / "base").chmod(base)
        assert is_own(tmp_path / "base" / "code") == right, (oct(base), oct(inner))
    monkeypatch.setattr(os, "getuid", lambda: (tmp_path / "base").stat().st_uid + 1)
    assert is_own(tmp_path / "base" / "code") == ((tmp_path / "base").stat().st_uid == 0)
    monkeypatch.chdir(tmp_path)
    assert not is_own(Path("base/code"))
    assert not is_own(Path("~/other"))
    assert not (tmp_path / "~").exists()
