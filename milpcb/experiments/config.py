"""TOML configs: strict keys, messages that name the key, the line and the nearest known name."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from milpcb import registry
from milpcb.errors import InputError, UnknownNameError
from milpcb.experiments.options import KeyProblemError, check_options, validate
from milpcb.oracles import open_oracle
from milpcb.solvers import load_solver

# What the runtime hands to constructors; everything else is a config key.
SUPPLIED = {
    "policies": (),
    "environment": (),
    "learner": ("oracle", "pool", "horizon", "seed", "n_actions"),
    "oracle": ("policies", "contexts", "constraints"),
}
SECTIONS = ("experiment", "environment", "policies", "oracle", "learners", "run", "versions")


class ExperimentSection(BaseModel):
    """``[experiment]``: what is measured. ``checkpoints`` log-spaced and as many evenly spaced rounds are logged."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(pattern=r"^[\w.-]+$")
    horizon: PositiveInt
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1)
    checkpoints: PositiveInt = 40


class RunSection(BaseModel):
    """``[run]``: where the results go and how they are drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    out: str | None = None
    loglog: bool = False


@dataclass(frozen=True)
class Component:
    """A registered name and its options, all defaults filled in."""

    name: str
    options: dict[str, Any]

    def table(self) -> dict[str, Any]:
        """Return the section as it would be written."""
        return {"name": self.name, **self.options}


@dataclass(frozen=True)
class LearnerSection:
    """One ``[[learners]]`` section: ``label`` is its name in curves; ``oracle`` may replace the common one."""

    label: str
    component: Component
    oracle: dict[str, Any]

    def table(self) -> dict[str, Any]:
        """Return the section as it would be written."""
        return {"label": self.label, **self.component.table(), "oracle": self.oracle}


@dataclass(frozen=True)
class Config:
    """A whole resolved config."""

    experiment: ExperimentSection
    environment: Component
    policies: Component
    oracle: dict[str, Any]
    learners: tuple[LearnerSection, ...]
    run: RunSection

    def table(self) -> dict[str, Any]:
        """Return everything that decides the numbers, as plain data without Nones."""
        tables = {
            "experiment": self.experiment.model_dump(),
            "environment": self.environment.table(),
            "policies": self.policies.table(),
            "oracle": self.oracle,
            "learners": [learner.table() for learner in self.learners],
        }
        return {key: _plain(value) for key, value in tables.items()}


def read_config(path: Path) -> Config:
    """Read, check and resolve a config; raises InputError with the key and its line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read config {path}: {reason}") from error
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    return parse_config(tables, text, str(path))


def parse_config(tables: dict[str, Any], text: str = "", where: str = "config") -> Config:
    """Check and resolve the tables of a config; ``text`` is only used to find the line of a wrong key."""
    for section in tables:
        if section not in SECTIONS:
            line = _line(text, section, "")
            raise InputError(f"{where}{line}: {UnknownNameError('section', section, SECTIONS)}")
    reader = _Reader(tables, text, where)
    learners = tuple(reader.learner(i) for i in range(len(reader.learner_tables)))
    labels = [learner.label for learner in learners]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"{where}: two learners are called '{label}'; give each [[learners]] its own label")
    config = Config(
        experiment=reader.model("experiment", ExperimentSection),
        environment=reader.component("environment", "environment"),
        policies=reader.component("policies", "policies", optional=("n_actions",)),
        oracle=reader.oracle,
        learners=learners,
        run=reader.model("run", RunSection),
    )
    if any(seed < 0 for seed in config.experiment.seeds):
        raise InputError(f"{where}{_line(text, 'experiment', 'seeds')}: seeds must be non-negative integers")
    if len(set(config.experiment.seeds)) < len(config.experiment.seeds):
        raise InputError(f"{where}{_line(text, 'experiment', 'seeds')}: a seed is listed twice; each one is one run")
    return config


class _Reader:
    """Takes sections apart and adds file and line to whatever is wrong with them."""

    def __init__(self, tables: dict[str, Any], text: str, where: str) -> None:
        self._tables, self._text, self._where = tables, text, where
        self.learner_tables = tables.get("learners", [])
        if not (isinstance(self.learner_tables, list) and self.learner_tables):
            raise InputError(f"{where} has no learner; add at least one [[learners]] section")
        self.oracle = self._checked_oracle(self._table("oracle"), "oracle", 0)

    def model(self, section: str, model: type[Any]) -> Any:
        try:
            return validate(model, self._table(section), f"[{section}]")
        except KeyProblemError as error:
            raise self._placed(error, section) from error

    def component(self, section: str, kind: str, optional: tuple[str, ...] = ()) -> Component:
        return self._component(self._table(section), section, kind, 0, optional)

    def learner(self, i: int) -> LearnerSection:
        table = dict(self.learner_tables[i]) if isinstance(self.learner_tables[i], dict) else {}
        own_oracle, label = table.pop("oracle", {}), table.pop("label", None)
        component = self._component(table, "learners", "learner", i)
        if not isinstance(label, (str, type(None))) or not isinstance(own_oracle, dict):
            raise InputError(f"{self._where}: a learner's label is a text and its oracle a table")
        oracle = self._checked_oracle({**self._table("oracle"), **own_oracle}, "learners", i)
        return LearnerSection(label or component.name, component, oracle)

    def _component(
        self, table: dict[str, Any], section: str, kind: str, index: int, optional: tuple[str, ...] = ()
    ) -> Component:
        options = dict(table)
        heading = f"[[{section}]]" if kind == "learner" else f"[{section}]"
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise InputError(f"{self._where}{_line(self._text, section, '', index)}: {heading} needs a name, a text")
        try:
            cls = registry.load(kind, name)
        except UnknownNameError as error:
            raise self._placed(KeyProblemError("name", str(error)), section, index) from error
        given = {key: options[key] for key in optional if key in options}
        unset = tuple(key for key in optional if key not in options)
        try:
            checked = check_options(cls, options, heading, (*SUPPLIED[kind], *unset))
        except KeyProblemError as error:
            raise self._placed(error, section, index) from error
        return Component(name, {**given, **checked})

    def _checked_oracle(self, table: dict[str, Any], section: str, index: int) -> dict[str, Any]:
        try:
            options = check_options(open_oracle, table, "[oracle]", SUPPLIED["oracle"])
            registry.target("oracle", options["kind"])
            if options["kind"] == "milp":
                load_solver(options["solver"])
        except KeyProblemError as error:
            raise self._placed(error, section, index) from error
        except InputError as error:
            raise self._placed(
                KeyProblemError("solver" if "solver" in str(error) else "kind", str(error)), section, index
            ) from error
        return options

    def _table(self, section: str) -> dict[str, Any]:
        table = self._tables.get(section, {})
        if not isinstance(table, dict):
            raise InputError(
                f"{self._where}{_line(self._text, '', section)}: '{section}' must be a section [{section}]"
            )
        return table

    def _placed(self, error: KeyProblemError, section: str, index: int = 0) -> InputError:
        return InputError(f"{self._where}{_line(self._text, section, error.key, index)}: {error}")


def _line(text: str, section: str, key: str, index: int = 0) -> str:
    """Return ', line n' of a key in the ``index``-th table called ``section`` ('' when it is not written there)."""
    seen, current, heading = -1, "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\[?\s*([\w.\"-]+)\s*\]\]?", line)
        if header:
            current = header.group(1).split(".")[0]
            if current == section and "." not in header.group(1):
                seen += 1
                heading = number if seen == index else heading
        elif key and current == section and (seen == index) and re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", line):
            return f", line {number}"
    return f", line {heading}" if heading else ""


def _plain(value: Any) -> Any:
    """Return nested plain data: no tuples, no Nones (TOML has none)."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
