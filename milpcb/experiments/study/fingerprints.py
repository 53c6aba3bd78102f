"""Digests of the files that a component's numbers depend on, beside its options: data and source code."""

import ast
import hashlib
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from milpcb.core.gate import named_classes
from milpcb.errors import InputError
from milpcb.experiments.study.sections import Config
from milpcb.plugins import local_classes, registry
from milpcb.plugins.local_classes import file_of

_OWN = [Path(__file__).parents[3] / package for package in ("milpcb", "policies")]
_NAMED = ("solver", "oracle", "relaxation", "learner", "policies", "environment")  # kinds that options may name


def fingerprint(kind: str, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that decides the numbers of a component: name, options, digests of its files and of foreign source."""
    target = registry.target(kind, name)
    read = {option: content_digest(Path(str(options[option]))) for option in file_options(kind, name, options)}
    foreign = {target} - {*registry.BUILTIN[kind].values()}
    sources = sources_of(options) | {cls: digest for cls in foreign if (digest := source_digest(cls))}
    contents = {**options, **{key: {"sha256": read[key]} for key in read}}
    settings: dict[str, Any] = {"name": name, "options": contents}
    return {**settings, "source": sources} if sources else settings


def sources_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of the source of each class of others that options name: solvers, inner learners, and so on."""
    foreign = {*named_classes(options), *_installed_classes(options)}
    return {cls: digest for cls in sorted(foreign) if (digest := source_digest(cls))}


def _installed_classes(value: Any) -> Iterator[str]:
    """Yield the ``module:Class`` of each string in nested plain data that an installed package has registered."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _installed_classes(item)
    elif isinstance(value, str):
        family = value.partition(":")[0]  # of a solver, before its argument
        for kind in _NAMED:
            for name in {family, family.strip().lower()} - {*registry.BUILTIN[kind]}:
                if name in registry.entries(kind):
                    yield registry.target(kind, name)


def source_file(name: str) -> Path | None:
    """Return the file of the module in ``module:Class``, found without importing it; None where there is none."""
    parts = name.partition(":")[0].split(".")
    spec = local_classes.installed(parts[0])
    if spec is None:
        within = local_classes.folders()
    elif len(parts) == 1:
        return Path(spec.origin) if spec.origin else None
    else:
        within, parts = [Path(folder) for folder in spec.submodule_search_locations or ()], parts[1:]
    return next((file for folder in within if (file := file_of(folder, parts))), None)


def is_installed_file(file: Path) -> bool:
    """Return whether a file of source code belongs to Python, to an installed package, or to milpcb itself."""
    paths = sysconfig.get_paths()
    folders = [Path(paths[name]) for name in ("purelib", "platlib", "stdlib", "platstdlib")]
    resolved = file.resolve()
    return any(resolved.is_relative_to(folder.resolve()) for folder in (*folders, *_OWN))


def source_digest(name: str) -> str | None:
    """Return the SHA-256 of the source of ``module:Class`` and of its imports beside it; None for milpcb's own."""
    file = source_file(name)
    if file is None or not file.is_file() or any(map(file.is_relative_to, _OWN)):
        return None
    module = name.partition(":")[0].split(".")
    root = file.parents[len(module) - (file.name != "__init__.py")]
    files = [file] if is_installed_file(file) else sorted(_with_imports({file, *_files_of(root, module)}, root))
    parts = [f"{each.relative_to(root).as_posix()} {content_digest(each)}" for each in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def content_digest(path: Path) -> str:
    """Return the SHA-256 of a file's contents; raises InputError where it cannot be read."""
    try:
        state = path.stat()
        return _content_digest(path.resolve(), state.st_mtime_ns, state.st_size, state.st_ino)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


@lru_cache(maxsize=256)
def _content_digest(path: Path, *_state: int) -> str:
    """Read a file once, as long as it is not written again: a study may have thousands of cells that read it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_options(kind: str, name: str, options: Mapping[str, Any]) -> list[str]:
    """Return the options that are paths of files: by ``file_options``; in foreign classes without it, any file."""
    declared = getattr(registry.load(kind, name), "file_options", None)
    if declared is not None:
        return [option for option in declared if options.get(option) is not None]
    if registry.target(kind, name) in registry.BUILTIN[kind].values():
        return []
    return [option for option, value in options.items() if isinstance(value, str) and _is_file(value)]


def foreign_parts(config: Config) -> list[str]:
    """Return a phrase for each part of a config that milpcb does not bring: classes, files of data, a scheduler."""
    found = [
        f"it runs {file} ({name})"
        for name in dict.fromkeys(named_classes(config.table()))
        if (file := source_file(name))
    ]
    lists = {"environment": config.environments, "policies": config.policies, "constraint": config.constraints}
    for kind, components in {**lists, "learner": config.learners}.items():
        for each in components:
            read = file_options(kind, each.name, each.options)
            found += [f"it reads {each.options[option]} ({option} of {each.name})" for option in read]
    if config.run.scheduler is not None:
        found.append(f"it connects to {config.run.scheduler}, which can run any code here")
    return found


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long, or with a zero byte
        return False


def _with_imports(files: set[Path], root: Path) -> set[Path]:
    found, waiting = set(files), list(files)
    while waiting:
        file = waiting.pop()
        names = _imported_names(file, root, content_digest(file))
        imported = {each for name in names for each in _files_of(root, name)}
        waiting += imported - found
        found |= imported
    return found


@lru_cache(maxsize=256)
def _imported_names(file: Path, root: Path, _content: str) -> list[list[str]]:
    """Return what a file imports; what follows "from a import" may be a module or a name in one."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # importing it will raise with the reason
        return []
    package, found = list(file.parent.relative_to(root).parts), list[list[str]]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = [*above, *(node.module.split(".") if node.module else [])]
            found += [[*base, alias.name] for alias in node.names]
    return found


def _files_of(root: Path, parts: Sequence[str]) -> list[Path]:
    return [found for n in range(1, len(parts) + 1) if (found := file_of(root, parts[:n]))]
