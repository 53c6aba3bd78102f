"""Local classes, ``module:Class`` in a config: the folders that they are looked for in, as ``.py`` files only."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any

from milpcb.core.gate import check_registered
from milpcb.errors import InputError, clipped


def look_in(folder: Path | str | None, *, trusted: bool = True) -> None:
    """Look for modules in the folder of the config too (None: in no other); untrusted, only registered names count."""
    wanted = None if folder is None else Path(folder)
    if wanted != _finder.folder:  # another folder may have other modules of the same names
        for name in _finder.loaded:
            sys.modules.pop(name, None)
        _finder.loaded.clear()
    _finder.folder, _finder.trusted = wanted, trusted


def folders() -> list[Path]:
    """Return the folder that ``module:Class`` is looked for in after the path of imports, if there is one."""
    return [] if _finder.folder is None else [_finder.folder]


def check(kind: str, called: str, name: str) -> None:
    """Raise InputError unless ``module:Class`` may be imported."""
    check_registered(kind, name)
    module, shown = name.partition(":")[0], f"{kind} '{clipped(name)}'"
    parts = module.split(".")
    if not _finder.trusted:
        files = [file for folder in folders() if (file := file_of(folder, parts))]
        run = files[0] if files else module
        raise InputError(f"{shown} is not registered, and would run {run}; read that code, then give --trust")
    if parts[0] in sys.stdlib_module_names or parts[-1] == "__main__":
        fix = "give your file another name"
        raise InputError(f"{shown} is no {called}: module {module} is Python's own; {fix}")


@contextmanager
def open_folder() -> Iterator[None]:
    """Make modules of the config's folder importable, after all installed ones; nothing is written there."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)  # first: the path of imports knows more kinds of files
    before, _finder.asked = _finder.asked, True
    try:
        yield
    finally:
        _finder.asked = before


def file_of(folder: Path, parts: Sequence[str]) -> Path | None:
    """Return the source file of a module below a folder: ``a/b.py`` or ``a/b/__init__.py`` for a.b."""
    path = folder.joinpath(*parts)
    return next((file for file in (path / "__init__.py", path.with_name(f"{path.name}.py")) if file.is_file()), None)


def installed(top: str) -> ModuleSpec | None:
    """Return the place of a module outside any package, by all finders except that of the config's folder."""
    found = (finder.find_spec(top, None) for finder in sys.meta_path if finder is not _finder)
    return next((spec for spec in found if spec and (spec.has_location or spec.submodule_search_locations)), None)


class _Source(SourceFileLoader):
    """Compiles the source each time: byte code beside it may be of another one."""

    def get_code(self, fullname: str) -> Any:
        """Return the code of the file as it is."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Finder:
    """Finds the modules of the config's folder: those that nobody else has, and all below such a one."""

    folder: Path | None = None  # where ``module:Class`` is looked for besides installed packages
    trusted = True  # whether such names are taken at all
    asked = False  # while a name is resolved

    def __init__(self) -> None:
        self.loaded = set[str]()  # modules that came from there

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return where a module is; None leaves the question to the other finders."""
        parts = fullname.split(".")
        ours = parts[0] in self.loaded
        if self.folder is None or not (ours or (self.asked and len(parts) == 1)):
            return None
        if not ours and any(finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self):
            return None
        finder = FileFinder(str(self.folder.joinpath(*parts[:-1])), (_Source, [".py"]))
        spec = finder.find_spec(fullname)
        if spec is not None:
            self.loaded.add(fullname)
        elif ours:
            raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)
        return spec


_finder = _Finder()
