"""Docstrings that were wrapped anew are whole: no summary stops at an abbreviation, no word is left on its own line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ABBREVIATION = re.compile(r"\b(?:i\.i\.d|e\.g|i\.e|cf|vs|resp)\.$")
LEFT_OVER = re.compile(r"\s+[a-z]+(?: [a-z]+)?")  # a line of one or two words


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield place and text of every docstring of ours."""
    for top in ("milpcb", "policies", "scripts", "tests"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    text = ast.get_docstring(node, clean=False)
                    if text:
                        yield f"{path.relative_to(ROOT)}: {getattr(node, 'name', 'module')}", text


def broken(text: str) -> str:
    """Return the line at which a docstring is broken, "" where it is whole."""
    lines = text.splitlines()
    if ABBREVIATION.search(lines[0]) and len(lines) > 1:
        return lines[0]
    for before, line, following in zip(lines, lines[1:], lines[2:], strict=False):
        within = before.strip("- ") and following.strip()
        if within and LEFT_OVER.fullmatch(line) and not re.match(r"\s*[\w, ]+ :|.* -?->? ", following):
            return line
    return ""


def test_docstrings_are_whole() -> None:
    """Every docstring of both packages, the scripts and the tests reads on from line to line."""
    found = {place: line for place, text in docstrings() if (line := broken(text))}
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "Return the bound for i.i.d.\n\n    rounds.\n    ",
        "Play.\n\n    horizon : how they are played does not depend\n        on\n        it. None: no end\n    ",
        "Play.\n\n    horizon : how they are played does not\n        depend on\n        it. None: no end\n    ",
    ],
)
def test_a_broken_docstring_is_found(text: str) -> None:
    """The three ways in which docstrings have been broken by wrapping."""
    assert broken(text)
