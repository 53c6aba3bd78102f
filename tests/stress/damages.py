"""Damages: to the bytes of files, and values that are replaced in plain data."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

STRANGE: list[Any] = [
    None, True, -1, 2**80, 1e308, float("nan"), float("inf"), "x", "", "../../x", "/etc/passwd", "a\nb", "\x1b]0;x\x07",
    "<script>alert(1)</script>", "$\\frac{", [], {}, [[]], {"a": 1}, [None], "9" * 3000, [[[[0]]]],
]  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value of plain data, of lists the first."""
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else enumerate(data[:1]) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def put(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(data)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def flipped(content: bytes, dice: random.Random, bits: int = 1) -> bytes:
    """Return a content with so many bits flipped."""
    changed = bytearray(content)
    for _ in range(bits if content else 0):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def other_digit(content: bytes, dice: random.Random) -> bytes:
    """Return a content in which a digit is another one."""
    place = dice.choice([i for i, byte in enumerate(content) if chr(byte).isdigit()] or [0])
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def edited(content: bytes, change: Callable[[dict[str, object]], object]) -> bytes:
    """Return a changed JSON object; a content that is none loses its first half."""
    try:
        table = json.loads(content)
    except ValueError:
        return content[len(content) // 2 :]
    change(table)
    return json.dumps(table).encode()


Change = Callable[[bytes, bytes, random.Random], bytes]  # of a file's content, with that of another file
CHANGES: dict[str, Change] = {
    "flip a digit": lambda content, _, dice: other_digit(content, dice),
    "flip a bit": lambda content, _, dice: flipped(content, dice),
    "cut": lambda content, _, dice: content[: dice.randrange(len(content))],
    "empty": lambda *_: b"",
    "replace": lambda _, other, __: other,
    "remove a key": lambda content, _, dice: edited(content, lambda table: table.pop(dice.choice(sorted(table)))),
    "add a key": lambda content, _, __: edited(content, lambda table: table.update(more=1)),
    "change a type": lambda content, _, dice: edited(
        content, lambda table: table.update({dice.choice(sorted(table)): ["x"]})
    ),
}
