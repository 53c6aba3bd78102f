"""study.json, the index of a run directory: its cells, their labels in curves, and the names of its files.

Labels are kept here and not in the records, so that a new label costs no new run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from milpcb.core.files import contents, unsealed
from milpcb.errors import RunError
from milpcb.experiments.results.layout import CONFIG, INDEX
from milpcb.experiments.results.schemas import Index, checked
from milpcb.experiments.study.cells import FORMAT, Cell, Study
from milpcb.experiments.study.sections import Config

LONGEST = 50  # characters of the name of a file that come from labels; each takes up to 4 bytes of the 255 there are


def index_of(config: Config, study: Study) -> dict[str, Any]:
    """Return what study.json holds of a study, but for the policies that are written."""
    names, drawn = _policy_files(config, study), [cell for cell in study.cells if cell.draw]
    best = study.comparator_of
    return {
        "format": FORMAT,
        "name": config.experiment.name,
        "cells": [{"key": c.key, "comparator": best[c.key], **c.labels} for c in study.cells],
        "comparators": [
            {"key": c.key, "title": c.title, "file": name, "horizon": c.horizon, "seed": c.seed, "draw": c.draw}
            for c, name in zip(study.comparators, names, strict=True)
        ],
        "leaders": [
            {"key": c.key, "title": c.title, "file": name, "horizon": c.horizon, "comparator": best[c.key]}
            for c, name in zip(drawn, _leader_files(drawn), strict=True)
        ],
    }


def _policy_files(config: Config, study: Study) -> list[str]:
    """Return best_policy_seed0, or with what else there are several of: best_policy_planted_trees_T1000_seed0."""
    names: list[str] = []
    for comparator in study.comparators:
        parts = [comparator.environment.label] if len(config.environments) > 1 else []
        parts += [comparator.policies.label] if len(config.policies) > 1 else []
        parts += [f"T{comparator.horizon}"] if len(config.experiment.horizon) > 1 else []
        names.append(_free(["best_policy", *parts], comparator.seed, names))
    return names


def _leader_files(drawn: Sequence[Cell]) -> list[str]:
    """Return leader_bistro_plus_seed0, or with what else there are several of."""
    names: list[str] = []
    for cell in drawn:
        axes = [a for a in ("environment", "policies") if len({other.labels[a] for other in drawn}) > 1]
        axes += ["oracle"] if len(cell.learner.oracles) > 1 else []
        names.append(_free(["leader", *(str(cell.labels[axis]) for axis in ["learner", *axes])], cell.seed, names))
    return names


def _free(parts: Sequence[str], seed: int, names: Sequence[str]) -> str:
    """Return a name of these parts that a file system can keep and that is none of ``names``, whatever the case."""
    name = f"{'_'.join(map(_file_name, parts))[:LONGEST]}_seed{seed}"
    taken = {other.casefold() for other in names}
    candidates = (f"{name}_{i}" if i else name for i in range(len(names) + 1))
    return next(candidate for candidate in candidates if candidate.casefold() not in taken)


def _file_name(label: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", label)


def read_index(path: Path) -> dict[str, Any]:
    """Return the contents of study.json; raises RunError when the directory has none that is whole."""
    try:
        content = contents(path / INDEX)
    except OSError as error:
        raise RunError(
            f"{path} holds no curves that can be read ({INDEX}: {error.strerror}); is it a run directory? "
            f"milpcb run with its {CONFIG} fixes it"
        ) from error
    index = unsealed(content)
    if index is None:
        raise RunError(
            f"{path / INDEX} is damaged, or of another version of milpcb; milpcb resume {path} fixes the first, "
            "for the second run the experiment again in another directory"
        )
    if index.get("format") != FORMAT:
        raise RunError(f"{path / INDEX} is of another version of milpcb; run the experiment again in another directory")
    try:
        return dict(checked(Index, index))
    except ValueError as error:
        raise RunError(
            f"{path / INDEX} is not as milpcb writes it ({error}); milpcb run with its {CONFIG} fixes it"
        ) from error


def whole_index(path: Path) -> dict[str, Any] | None:
    """Return study.json if it is whole and of this format, else None."""
    with suppress(RunError):
        return read_index(path)
    return None
