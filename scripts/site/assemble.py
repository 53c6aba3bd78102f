"""Put together what Sphinx reads: the READMEs at their places, the pages beside this file, and the reference.

Each fact has one source: a README, a docstring, a command's --help. Here are only the pages that lead to them. Usage:

    python scripts/site/assemble.py TARGET
"""

from __future__ import annotations

import importlib
import inspect
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click

import milpcb
from milpcb.cli import cli
from milpcb.plugins import registry

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

GITHUB = tuple(f".github/{name}" for name in ("CONTRIBUTING.md", "SECURITY.md", "CITATION.cff"))
# Page of the reference: what it is about, and the packages whose __all__ it explains, or the kind in the registry.
PACKAGES = {
    "decide": ("Deciding live, and playing", ("milpcb",)),
    "policies": ("Policy classes and rules", ("policies",)),
    "learners": ("Learners", ("milpcb.learners",)),
    "estimators": ("Estimators in the manner of scikit-learn", ("milpcb.estimators",)),
    "offline": ("Learning from logs", ("milpcb.offline", "milpcb.offline.restrictions")),
    "protocols": ("Interfaces: a policy class, a solver, an environment of your own", ("milpcb.protocols",)),
    "errors": ("Errors", ("milpcb.errors",)),
}
KINDS = {
    "environment": "Environments",
    "relaxation": "Relaxations of BISTRO+",
    "constraint": "Side constraints in configs",
}


@dataclass(frozen=True)
class Name:
    """A public name, and what it leads to: ``full`` is the name under which that was defined."""

    public: str
    full: str
    found: Any

    @classmethod
    def of(cls, public: str, found: Any) -> Name:
        """Return a name; what was defined under another one is explained under that."""
        own = found.__name__ if inspect.isclass(found) or inspect.isfunction(found) else None
        return cls(public, public if own in (None, public.rpartition(".")[2]) else f"{found.__module__}.{own}", found)

    def page(self) -> str:
        """Return what Sphinx reads of it: the docstring, and for a class those of its methods that are ours."""
        kind = "class" if inspect.isclass(self.found) else "function" if inspect.isfunction(self.found) else "data"
        lines = [title(self.full.rpartition(".")[2]), f".. auto{kind}:: {self.full}", ""]
        return "\n".join([*lines, *(f"   .. auto{what}:: {name}\n" for name, what in methods(self.found))])


def title(text: str) -> str:
    """Return a heading of reStructuredText."""
    return f"{text}\n{'=' * len(text)}\n"


def methods(found: Any) -> Iterator[tuple[str, str]]:
    """Yield the public methods and properties of a class that this project defines, each with its directive."""
    if not inspect.isclass(found):
        return
    for each in inspect.classify_class_attrs(found):
        ours = each.defining_class.__module__.partition(".")[0] in ("milpcb", "policies")
        if each.name.startswith("_") or each.name.endswith("_request") or not ours:
            continue
        if "method" in each.kind and callable(getattr(found, each.name)):
            yield each.name, "method"
        elif each.kind == "property" or isinstance(each.object, cached_property):
            yield each.name, "property"


def names(package: str) -> Iterator[Name]:
    """Yield the public names of a package, without those that are packages themselves."""
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", None) or own_classes(module):
        found = getattr(module, name)
        if not inspect.ismodule(found) and not name.startswith("__"):
            yield Name.of(f"{package}.{name}", found)


def own_classes(module: Any) -> list[str]:
    """Return the classes that a module without a list of names defines."""
    found = inspect.getmembers(module, inspect.isclass)
    return [name for name, each in found if each.__module__ == module.__name__ and not name.startswith("_")]


def registered(kind: str) -> Iterator[Name]:
    """Yield the parts of a kind under the names that configs have for them."""
    for name in registry.BUILTIN[kind]:
        part = registry.load(kind, name)
        yield Name(name, f"{part.__module__}.{part.__qualname__}", part)


def reference() -> dict[str, tuple[str, list[Name]]]:
    """Return the pages of the reference: a title and the names that each explains."""
    pages = {page: (about, [name for each in of for name in names(each)]) for page, (about, of) in PACKAGES.items()}
    return pages | {f"{kind}s": (about, list(registered(kind))) for kind, about in KINDS.items()}


def write_reference(place: Path) -> None:
    """Write a page with a table for each part of the reference, and a page for each thing that is explained there."""
    explained: set[str] = set()
    (place / "names").mkdir(parents=True)
    for page, (about, found) in reference().items():
        first = list(dict.fromkeys(name.full for name in found if name.full not in explained))
        explained |= set(first)
        for name in found:
            (place / "names" / f"{name.full}.rst").write_text(name.page())
        (place / f"{page}.rst").write_text(table(about, found, first))


def table(about: str, found: list[Name], first: list[str]) -> str:
    """Return a page of the reference: a line for each name; those explained ``first`` here belong to this page."""
    rows = [f".. autosummary::\n   :nosignatures:\n\n{listed(name.full for name in found)}"]
    others = [f"* ``{name.public}`` is :py:obj:`{name.full}`" for name in found if name.public != name.full]
    pages = f".. toctree::\n   :hidden:\n\n{listed(f'names/{name}' for name in first)}"
    return "\n".join([title(about), *rows, "\n".join(others), "", pages])


def listed(names: Iterable[str]) -> str:
    """Return names as the lines of a directive."""
    return "".join(f"   {name}\n" for name in dict.fromkeys(names))


def commands() -> str:
    """Return the page of the command line: what each command's --help prints."""
    parts = ["# Command line", block("milpcb --help", help_of(cli, "milpcb"))]
    for name in registry.entries("command"):
        command = registry.load("command", name)
        parts.append(f"## milpcb {name}\n\n{block(f'milpcb {name} --help', help_of(command, f'milpcb {name}'))}")
    return "\n\n".join(parts) + "\n"


def help_of(command: click.Command, title: str) -> str:
    """Return what a command prints when it is asked for help."""
    context = click.Context(command, info_name=title, max_content_width=90, terminal_width=90)
    return command.get_help(context)


def block(asked: str, text: str) -> str:
    """Return a text as it is printed, under the line that asks for it."""
    return f"```text\n$ {asked}\n{text}\n```"


def assemble(target: Path) -> None:
    """Write all that Sphinx reads below ``target``, which is made anew."""
    shutil.rmtree(target, ignore_errors=True)
    for file in tracked():
        place = target / file.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    shutil.copytree(HERE / "pages", target, dirs_exist_ok=True)
    shutil.copyfile(HERE / "conf.py", target / "conf.py")
    shutil.copytree(HERE / "static", target / "static")
    shutil.copytree(ROOT / "scripts" / "gallery", target / "gallery_of")
    write_reference(target / "reference")
    (target / "reference" / "commands.md").write_text(commands())


def tracked() -> Iterator[Path]:
    """Yield the READMEs, their pictures, and the files that they link to, which readers may download."""
    yield from (ROOT / name for name in ("README.md", "LICENSE", *GITHUB))
    for folder in ("milpcb", "policies", "scripts"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".md", ".png", ".py") and HERE not in file.parents and file.parent.name != "gallery":
                yield file


if __name__ == "__main__":
    milpcb.__version__  # noqa: B018  # an uninstalled checkout stops here, in one line
    assemble(Path(sys.argv[1]))
