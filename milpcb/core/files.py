"""Files that are replaced as a whole and carry a checksum; nothing is ever written through a link."""

import errno
import hashlib
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from milpcb.core import gate
from milpcb.errors import RunError

TEMPORARY = re.compile(r"\.milpcb-[a-z0-9_]{8}\.tmp")  # exactly what write_file makes before it renames it
contents = gate.read_bytes  # of a plain file
_SEAL = re.compile(rb'\{"checksum": "([0-9a-f]{64})",')


def sealed(body: Mapping[str, Any], indent: int | None = None, default: Callable[[Any], Any] | None = None) -> bytes:
    """Return ``body`` as JSON, see json.dumps, whose first key, ``checksum``, is the SHA-256 of the text without it."""
    text = json.dumps(body, indent=indent, default=default).encode()
    return b'{"checksum": "' + digest(text).encode() + b'",' + text[1:]


def unsealed(content: bytes) -> dict[str, Any] | None:
    """Return the body that ``sealed`` was given, None where a byte has changed; forgers can write a checksum too."""
    seal = _SEAL.match(content)
    if seal is None:
        return None
    text = b"{" + content[seal.end() :]
    if digest(text) != seal.group(1).decode():
        return None
    try:
        return dict(gate.read_json(text, finite=False))
    except ValueError:
        return None


def own_contents(path: Path) -> bytes:
    """Return the content of a plain file for a page; raises OSError where it may be another file of the user."""
    check_sole(path)
    return contents(path)


def digest(content: bytes) -> str:
    """Return the SHA-256 in 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def is_temporary(path: Path) -> bool:
    """Return whether a name is that of a temporary file of ``write_file``, which has it until it is written."""
    return TEMPORARY.fullmatch(path.name) is not None and (path.is_symlink() or path.is_file())


def write_file(target: Path, content: bytes, *, durable: bool = True, temporary: Path | None = None) -> Path:
    """Write a file so that a reader sees the old one or the new one; raises RunError when the disk refuses.

    A link of that name is replaced; the umask decides who may read the file. Any number of processes may write it at
    the same time: each writes a ``temporary`` file in the same folder. Without ``durable`` a power cut may leave a file
    that is cut short.
    """
    make_folder(target.parent)
    temporary = temporary or target.with_name(f".milpcb-{secrets.token_hex(4)}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as part:
            _lock(part, wait=True)
            if not temporary.exists():  # another save took it for one that was stopped, before it was locked
                return write_file(target, content, durable=durable, temporary=temporary)
            _replace(temporary, target, part, content, durable=durable)
    except OSError as error:
        kept = "what was finished before is kept, fix that and run again"
        raise RunError(f"cannot write {target}: {error.strerror}; {kept}") from error
    return target


def write_over(target: Path, content: bytes) -> Path:
    """Write a file as ``write_file`` does; remove temporary files of calls that were stopped, which nobody locks."""
    start = f".milpcb-{digest(target.name.encode())[:16]}-"
    for left in target.parent.glob(f"{start}*.tmp"):
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        with suppress(OSError), os.fdopen(os.open(left, flags), "rb") as part:  # another user's, or finished meanwhile
            if _lock(part, wait=False):
                left.unlink(missing_ok=True)
    return write_file(target, content, temporary=target.with_name(f"{start}{secrets.token_hex(4)}.tmp"))


def _lock(part: IO[bytes], *, wait: bool) -> bool:
    """Return whether a file is now locked, until it is closed; Windows has no such locks, and keeps what was left."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(part, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # somebody else has it, or the disk knows no locks
        return False
    return True


def check_sole(path: Path) -> None:
    """Raise OSError where a file is a link, or has another name elsewhere (a hard link)."""
    if path.is_symlink() or (path.exists() and path.stat().st_nlink > 1 and path.is_file()):
        raise OSError(errno.EMLINK, "it is a link to another file", str(path))


def append(target: Path, text: str) -> None:
    """Add text to the end of a file, made if need be; raises OSError where it is a pipe or a link of any kind."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(target, flags, 0o666), "a", encoding="utf-8") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
            raise OSError(errno.EINVAL, "it is no plain file, or has a second name", str(target))
        file.write(text)


def remove(target: Path) -> None:
    """Remove a file, or a link itself, if it is there; raises RunError where that cannot be done."""
    try:
        target.unlink(missing_ok=True)
    except OSError as error:
        raise RunError(f"cannot remove {target}: {error.strerror}; move it away and run again") from error


def make_folder(path: Path) -> None:
    """Make a folder and those above it; raises RunError where that cannot be done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make the directory {path}: {error.strerror}; choose another with --out") from error


def _replace(temporary: Path, target: Path, part: IO[bytes], content: bytes, *, durable: bool) -> None:
    try:
        part.write(content)
        part.flush()
        if durable:
            os.fsync(part.fileno())
        temporary.replace(target)
    finally:  # on a full disk and on an interrupt alike; after the replacement nothing is left to remove
        temporary.unlink(missing_ok=True)
