"""The folder that ``milpcb learn`` writes: the policy in every form, and the page."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from milpcb.errors import RunError
from milpcb.experiments.results.schemas import Learned, checked
from milpcb.files import contents, remove, sealed, unsealed, write_file
from milpcb.logs.digest import ORIGIN, origin
from milpcb.logs.findings import Findings
from milpcb.logs.page import page, rule_pictures

INDEX = "learned.json"  # a checksum, and which files were written; only these are ever replaced or removed
POLICY, PAGE = "policy.json", "report.html"
NAMES = {
    POLICY,
    PAGE,
    *(f"policy.{ending}" for ending in ("txt", "png", "svg", "sql", "py")),
}  # whatever an index names


def check_folder(folder: Path) -> None:
    """Raise RunError unless the folder is new, empty, or one that ``write`` made."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RunError(f"{folder} exists and is no folder; choose another with --out")
    if folder.is_dir() and any(folder.iterdir()) and _index(folder) is None:
        raise RunError(f"{folder} holds files that milpcb learn did not write; choose another folder with --out")


def write(found: Findings, folder: Path, command: str) -> Path:
    """Write everything, and remove what an earlier call wrote here and this one does not; return the page."""
    files = _files(found, command)
    earlier = _index(folder) or {"written": []}
    write_file(folder / INDEX, sealed({"written": sorted({*files, *earlier["written"]})}))
    for name, content in files.items():
        write_file(folder / name, content)
    for stale in NAMES & set(earlier["written"]) - set(files):
        remove(folder / stale)
    write_file(folder / INDEX, sealed({"written": sorted(files)}))
    return folder / PAGE


def _files(found: Findings, command: str) -> dict[str, bytes]:
    """Return the content of each file by its name."""
    estimator = found.estimator
    files = {
        POLICY: _policy(found).encode(),
        "policy.txt": f"{estimator.policy_}\n".encode(),
        PAGE: page(found, command).encode(),
    }
    files |= {f"policy.{suffix}": content for suffix, content in rule_pictures(found).items()}
    if getattr(estimator.policy_, "decision", lambda: None)() is not None:
        files |= {"policy.sql": f"{estimator.to_sql()}\n".encode(), "policy.py": estimator.to_python().encode()}
    return files


def _policy(found: Findings) -> str:
    """Return the policy as JSON, with the digest of its log: evaluate warns where it is handed the same."""
    document = json.loads(found.estimator.to_json())
    document[ORIGIN] = origin(found.source, found.learnt.frame.columns)
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _index(folder: Path) -> dict[str, Any] | None:
    """Return which files were written here, None where the index is not there or not whole."""
    with suppress(OSError, ValueError):
        return dict(checked(Learned, unsealed(contents(folder / INDEX))))
    return None
