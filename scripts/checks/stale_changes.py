"""How stale_code.py breaks kernels, which are compiled functions: one place of one kernel at a time."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SWAPPED = {"min": "max", "lower": "max", "max": "min"}
METHODS = {"min": "max", "max": "min", "sum": "max"}
# Operators, by the class of their node: how they are written, and what is written instead.
OPPOSITES: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
    ast.BitXor: ("^", "|"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
Name = tuple[str, str]  # of a kernel: its file and its own


class Change(NamedTuple):
    """A change of a kernel: in words, and the text of the file with it."""

    words: str
    text: bytes


def kernels(root: Path) -> dict[Name, ast.FunctionDef]:
    """Return all kernels of the packages in a folder."""
    found = {}
    for path in sorted(file for package in ("milpcb", "policies") for file in (root / package).rglob("*.py")):
        text = path.read_bytes()
        for node in ast.walk(ast.parse(text)) if b"@compiled(" in text else ():
            if isinstance(node, ast.FunctionDef) and "compiled(" in "".join(map(ast.unparse, node.decorator_list)):
                found[path.relative_to(root).as_posix(), node.name] = node
    return found


def changes(text: bytes, kernel: ast.FunctionDef) -> Iterator[Change]:
    """Yield changes of a kernel. Lines keep their numbers, which are a part of the names of files of machine code."""
    nodes = [node for statement in kernel.body for node in ast.walk(statement) if hasattr(node, "lineno")]
    places = _Places(text)
    nodes.sort(key=places.begin)
    for kind in (_swapped, _opposite, _left_out):
        for node in nodes:
            yield from kind(node, places)


class _Places:
    """Where nodes are in a text."""

    def __init__(self, text: bytes) -> None:
        self._text, self._lines = text, [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def begin(self, node: Any) -> int:
        return self._lines[node.lineno - 1] + int(node.col_offset)

    def end(self, node: Any) -> int:
        return self._lines[node.end_lineno - 1] + int(node.end_col_offset)

    def changed(self, first: int, last: int, old: str, new: str) -> Change:
        """Return the change of the first ``old`` between two places."""
        part = self._text[first:last].replace(old.encode(), new.encode(), 1)
        line = self._text[:first].count(b"\n") + 1
        return Change(f"line {line}: {old} -> {new}", self._text[:first] + part + self._text[last:])

    def left_out(self, node: ast.stmt) -> Change:
        first, last = self.begin(node), self.end(node)
        return self.changed(first, last, self._text[first:last].decode(), "pass")


def _swapped(node: ast.AST, places: _Places) -> Iterator[Change]:
    """Yield a minimum as a maximum, or the other way round; a sum of an array as its maximum."""
    match node:
        case ast.Call(func=ast.Name(id=name) as called) if name in SWAPPED:
            yield places.changed(places.begin(called), places.end(called), name, SWAPPED[name])
        case ast.Call(func=ast.Attribute(attr=name) as called) if name in METHODS:
            yield places.changed(places.end(called.value), places.end(called), name, METHODS[name])


def _opposite(node: ast.AST, places: _Places) -> Iterator[Change]:
    """Yield an operator as its opposite."""
    match node:
        case ast.BinOp(left=before, op=operator, right=behind):
            pass
        case ast.AugAssign(target=before, op=operator, value=behind):
            pass
        case ast.BoolOp(op=operator, values=[before, behind, *_]):
            pass
        case ast.Compare(left=before, ops=[operator, *_], comparators=[behind, *_]):
            pass
        case _:
            return
    if type(operator) in OPPOSITES:
        yield places.changed(places.end(before), places.begin(behind), *OPPOSITES[type(operator)])


def _left_out(node: ast.AST, places: _Places) -> Iterator[Change]:
    """Yield nothing in place of a call for its effect, or of what is written into an array."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Subscript() | ast.Tuple(elts=[ast.Subscript(), *_])]):
            if node.lineno == node.end_lineno:
                yield places.left_out(node)
