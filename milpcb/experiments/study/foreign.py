"""What a config needs that milpcb does not bring: classes, files of data, a scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from milpcb.core.gate import named_classes
from milpcb.experiments.study.fingerprints import file_options, source_file
from milpcb.experiments.study.sections import Component, Config


def folder_of(named: str | None, place: Path) -> Path:
    """Return the folder that a config's classes are in: the one that ``[run] folder`` names, as seen from the config.

    ``place`` is the folder of the config, and the one of its classes where it names none.
    """
    return (place / named if named else place).resolve()


def asked_for(config: Config) -> list[str]:
    """Return what a config asks for beside what milpcb brings, a phrase for each."""
    return [*_classes(config), *_files(config), *_scheduler(config)]


def _classes(config: Config) -> Iterator[str]:
    for name in dict.fromkeys(named_classes(config.table())):
        if file := source_file(name):
            yield f"it runs {file} ({name})"


def _files(config: Config) -> Iterator[str]:
    sections: dict[str, list[Component]] = {
        "environment": list(config.environments),
        "policies": list(config.policies),
        "constraint": list(config.constraints),
        "learner": [section.component for section in config.learners],
    }
    for kind, components in sections.items():
        for component in components:
            for option in file_options(kind, component.name, component.options):
                yield f"it reads {component.options[option]} ({option} of {component.name})"


def _scheduler(config: Config) -> Iterator[str]:
    if config.run.scheduler is not None:
        yield f"it connects to {config.run.scheduler}, which can run any code here"
