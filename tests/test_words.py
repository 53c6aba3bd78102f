"""Names, docstrings and comments use words of the field or of every day, none of a private theatre."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("milpcb", "policies", "scripts")

# Use record, report, return, update, resume, check, raise.
FORBIDDEN = re.compile(
    r"beats?|blame|confess|desk|gossip|hears?|heard|knots?|rehears(e|ed|al)"
    r"|says?|said|settled?|speak|teach|tells?|told|theatre|whisper"
)
IN_NAMES = re.compile(rf"lied?|{FORBIDDEN.pattern}")  # in a sentence, points may lie in an interval


def names() -> Iterator[tuple[str, str]]:
    """Yield the place and the name of every module, class, function and argument of ours."""
    for top in PACKAGES:
        for path in sorted((ROOT / top).rglob("*.py")):
            place = str(path.relative_to(ROOT))
            yield from ((place, part) for part in path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{place}:{node.lineno}", node.name
                elif isinstance(node, ast.arg):
                    yield f"{place}:{node.lineno}", node.arg


def words(name: str) -> set[str]:
    """Return the words of ``a_name`` or ``AName``, in small letters."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_no_private_vocabulary_in_names():
    """No module, class, function or argument has a word of the list above in its name."""
    found = [f"{place}: {name}" for place, name in names() if any(map(IN_NAMES.fullmatch, words(name)))]
    assert not found, "\n".join(found)


def test_no_private_vocabulary_in_docstrings_and_comments():
    """No line of milpcb or policies has a word of the list in it, be it a docstring, a comment or a message."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for top in ("milpcb", "policies")
        for path in sorted((ROOT / top).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if any(map(FORBIDDEN.fullmatch, re.findall("[a-z]+", line.lower())))
    ]
    assert not found, "\n".join(found)


def test_no_two_public_classes_share_a_name():
    """A class name means one thing: no two public classes of milpcb and policies, at the top of a module, share one."""
    places: dict[str, list[str]] = {}
    for top in ("milpcb", "policies"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    shared = [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]
    assert not shared, "\n".join(shared)
