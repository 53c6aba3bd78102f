"""The tables of a config, and the line of what is wrong with one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from milpcb.core.checks import check_file
from milpcb.core.gate import nests_deeply
from milpcb.core.text import escaped
from milpcb.errors import InputError, SolverMissingError, clipped
from milpcb.experiments.study.options import KeyProblemError
from milpcb.experiments.study.sections import LONGEST

LARGEST_FILE = 4 * 2**20  # bytes
LISTED = ("learners", "constraints")  # always [[...]]; of environment, policies and oracle there may be one or many


def read_tables(path: Path) -> tuple[dict[str, Any], str]:
    """Return what a config holds, unchecked, and its text; raises InputError where it is no TOML."""
    text = _read_text(path)
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # integers of thousands of digits; brackets within brackets
        reason = "it nests too deeply" if isinstance(error, RecursionError) else clipped(str(error), 300)
        raise InputError(f"{path} is not valid TOML: {reason}") from error
    if nests_deeply(tables):
        raise InputError(f"{path} nests too deeply; no config of a study does")
    return tables, text


class Tables:
    """The tables of a config by section, with the text that they were read from and the name of its file."""

    def __init__(self, tables: dict[str, Any], text: str, where: str) -> None:
        self.sections, self._text, self.where = tables, text, where

    def of(self, section: str) -> list[dict[str, Any]]:
        """Return the tables of a section that may be written once or as a list."""
        found = self.sections.get(section, [] if section in LISTED else {})
        entries = [found] if isinstance(found, dict) else found
        if not isinstance(entries, list) or (isinstance(found, dict) and section in LISTED):
            written = f"[[{section}]]" if section in LISTED else f"[{section}]"
            advice = "add at least one [[learners]] section" if section == "learners" else "write it so"
            raise InputError(f"{self.where}{self.place(section)}: '{section}' must be a section {written}; {advice}")
        if not entries and section not in LISTED:
            raise InputError(f"{self.where}{self.place(section)}: '{section}' is empty; add a section [{section}]")
        return [entry if isinstance(entry, dict) else {} for entry in entries]

    def label(self, table: dict[str, Any], section: str, index: int) -> str:
        """Return the label of a section's table, "" without one; raises InputError for what cannot be shown."""
        label = table.get("label", "")
        with self.placing(section, index, "label"):
            if not (isinstance(label, str) and escaped(label) == label):
                owner = "learner" if section == "learners" else section
                raise InputError(f"a {owner}'s label is a string on one line, got {label!r}")
            if len(label) > LONGEST:
                raise InputError(
                    f"label '{clipped(label)}' has {len(label)} characters; at most {LONGEST} can be shown"
                )
        return label

    @contextmanager
    def placing(self, section: str, index: int = 0, key: str = "", keys: Collection[str] = ()) -> Iterator[None]:
        """Add file and line to an error: the line of ``key``, or of the key that the error carries or names."""
        try:
            yield
        except (InputError, SolverMissingError) as error:
            named = [known for known in keys if re.search(rf"\b{re.escape(known)}\b", str(error))]
            wrong = error.key if isinstance(error, KeyProblemError) else key or next(iter(named), "")
            kind = SolverMissingError if isinstance(error, SolverMissingError) else InputError
            line = self.line(section, wrong, index) or self.line("", section)
            raise kind(f"{self.where}{line}: {error}") from error

    def place(self, section: str) -> str:
        """Return ", line n" of a section's key above all sections, or of its heading."""
        return self.line("", section) or self.line(section, "")

    def line(self, section: str, key: str, index: int = 0) -> str:
        """Return ", line n" of a key, as ``line_of`` does."""
        return line_of(self._text, section, key, index)


def _read_text(path: Path) -> str:
    """Return the text of a config; raises InputError for what is no file, is too large, or is no UTF-8."""
    check_file(path, "config")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise InputError(f"cannot read config {path}: it is larger than {LARGEST_FILE // 2**20} MB")
        return content.decode("utf-8-sig")  # some editors put a byte order mark first
    except OSError as error:
        raise InputError(f"cannot read config {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read config {path}: it is not UTF-8 text") from error


def line_of(text: str, section: str, key: str, index: int = 0) -> str:
    """Return ', line n' of a key in the ``index``-th table called ``section``, or of the table's heading.

    Section '' is what stands above all sections. The text is '' when neither is written down.
    """
    seen, current, heading = (-1 if section else 0), "", 0
    for number, written in enumerate(text.splitlines(), start=1):
        line = written.split("#")[0]
        header = re.fullmatch(r"\s*\[\[?\s*([A-Za-z_\"][\w.\"-]*)\s*\]\]?\s*", line)
        if header:
            current = header.group(1).split(".")[0]
            if current == section and "." not in header.group(1):
                seen += 1
                heading = number if seen == index else heading
        elif key and current == section and seen == index and re.search(rf"(^|[\s{{,\"]){re.escape(key)}\"?\s*=", line):
            return f", line {number}"
    return f", line {heading}" if heading else ""
