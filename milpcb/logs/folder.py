"""The folder that ``milpcb learn`` writes: the policy in every form, and the page."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from milpcb.core.files import contents, digest, remove, sealed, unsealed, write_file
from milpcb.core.text import escaped
from milpcb.errors import InputError, RunError
from milpcb.experiments.results.schemas import Learned, checked
from milpcb.logs.findings import Findings
from milpcb.logs.origin import ORIGIN, Origin
from milpcb.logs.page import page
from milpcb.logs.rule import card_of, colophon, rule_pictures

INDEX = "learned.json"  # which files were written, with their digests; only these are ever replaced or removed
POLICY, PAGE, CARD, CARD_PDF = "policy.json", "report.html", "card.html", "card.pdf"
NAMES = {POLICY, PAGE, CARD, CARD_PDF, *(f"policy.{ending}" for ending in ("txt", "png", "svg", "sql", "py"))}
SQL_USE = (
    "To use it: SELECT (this expression) AS action FROM a table with these columns; NULL where a value does not fit."
)
PYTHON_USE = "To use it: decide(row), where row is a mapping from names of columns to values, returns the action."


def check_folder(folder: Path) -> None:
    """Raise RunError unless the folder is new, empty, or still as ``write`` left it, by the digests of its index."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RunError(f"{folder} exists and is no folder; choose another with --out")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    written = _written(folder)
    if written is None:
        raise RunError(f"{folder} holds files that milpcb learn did not write; choose another folder with --out")
    for name in sorted(NAMES):  # an index alone, which anybody can write, is no leave to replace a file
        path, found = folder / name, ""
        if path.is_symlink() or path.exists():
            with suppress(OSError):
                found = digest(contents(path))
            if found not in written.get(name, ()):
                raise RunError(f"{path} is not as milpcb learn wrote it; move it away, or choose another with --out")


def write(found: Findings, folder: Path, command: str) -> Path:
    """Write policy and page in place of those of an earlier call, and return the page; RunError on other files."""
    kept = Origin.of(found)
    made = [*colophon(found, command, kept.digest), *(f"It was asked to keep: {asked}." for asked, *_ in found.asked)]
    files = policy_files(found, kept, page(found, command, kept.digest), made)
    check_folder(folder)
    earlier, now = _written(folder) or {}, {name: [digest(content)] for name, content in files.items()}
    _write_index(folder, {name: [*earlier.get(name, []), *now.get(name, [])] for name in NAMES})  # if this is cut short
    for name, content in files.items():
        write_file(folder / name, content)
    for stale in NAMES - set(files):
        remove(folder / stale)
    _write_index(folder, now)
    return folder / PAGE


def policy_files(found: Findings, kept: Origin, html: str, made: Sequence[str]) -> dict[str, bytes]:
    """Return each file by its name; ``made`` are lines of the comment that source code begins with."""
    estimator = found.estimator
    document = {**json.loads(estimator.to_json()), ORIGIN: kept.document()}
    files = {
        POLICY: json.dumps(document, ensure_ascii=False, allow_nan=False).encode(),
        "policy.txt": f"{estimator.policy_}\n".encode(),
        "policy.sql": f"{_commented('--', made, SQL_USE)}{estimator.to_sql()}\n".encode(),
        "policy.py": f"{_commented('#', made, PYTHON_USE)}{estimator.to_python()}".encode(),
        PAGE: html.encode(),
    }
    files |= {f"policy.{suffix}": content for suffix, content in rule_pictures(found).items()}
    card = card_of(found)
    if card is not None:
        note = f"{estimator.policy_}"
        files[CARD] = card.html(note=note).encode()
        with suppress(InputError):  # letters that the PDF has not: the page is printed from a browser
            files[CARD_PDF] = card.pdf(note=note)
    return files


def _commented(mark: str, made: Sequence[str], use: str) -> str:
    return "".join(f"{mark} {escaped(line)}\n" for line in (*made, use))


def _written(folder: Path) -> dict[str, list[str]] | None:
    with suppress(OSError, ValueError):
        return dict(checked(Learned, unsealed(contents(folder / INDEX)))["written"])
    return None


def _write_index(folder: Path, written: Mapping[str, Sequence[str]]) -> None:
    write_file(folder / INDEX, sealed({"written": {name: written[name] for name in sorted(written)}}))
