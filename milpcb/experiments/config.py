"""TOML configs: strict keys, messages that name the key, the line and the nearest known name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from milpcb import registry
from milpcb.errors import InputError, SolverMissingError, UnknownNameError
from milpcb.experiments.options import KeyProblemError, check_options, option_names, validate
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
    horizon: int = Field(gt=0, le=2**53)  # rounds are counted in float64 too
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
    """Check and resolve the tables of a config; ``text`` is only used to find the line of a wrong key.

    Environment and policy class are made once, and thrown away, so that their settings are checked here too.
    """
    for section in tables:
        if section not in SECTIONS:
            line = _line(text, section, "") or _line(text, "", section)
            raise InputError(f"{where}{line}: {UnknownNameError('section', section, SECTIONS)}")
    reader = _Reader(tables, text, where)
    learners = tuple(reader.learner(i) for i in range(len(reader.learner_tables)))
    labels = [learner.label for learner in learners]
    for i, label in enumerate(labels):
        if label in labels[:i]:
            line = _line(text, "learners", "label", i)
            raise InputError(f"{where}{line}: two learners are called '{label}'; give each [[learners]] its own label")
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
    reader.check_settings(config)
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
        with self._placing(section):
            return validate(model, self._table(section), f"[{section}]")

    def component(self, section: str, kind: str, optional: tuple[str, ...] = ()) -> Component:
        return self._component(self._table(section), section, kind, 0, optional)

    def learner(self, i: int) -> LearnerSection:
        table = dict(self.learner_tables[i]) if isinstance(self.learner_tables[i], dict) else {}
        own_oracle, label = table.pop("oracle", {}), table.pop("label", None)
        component = self._component(table, "learners", "learner", i)
        with self._placing("learners", i, "label"):
            if label is not None and not (isinstance(label, str) and label.isprintable()):
                raise InputError(f"a learner's label is a text on one line, got {label!r}")
        with self._placing("learners", i, "oracle"):
            if not isinstance(own_oracle, dict):
                raise InputError(f'a learner\'s oracle is a table like {{ kind = "milp" }}, got {own_oracle!r}')
        oracle = self._checked_oracle({**self._table("oracle"), **own_oracle}, "learners", i)
        return LearnerSection(label or component.name, component, oracle)

    def check_settings(self, config: Config) -> None:
        """Make the environment and the policy class, which is cheap: neither is opened."""
        with self._placing("environment", keys=self._table("environment")):
            environment = registry.load("environment", config.environment.name)(**config.environment.options)
        policies, options = registry.load("policies", config.policies.name), dict(config.policies.options)
        if "n_actions" in option_names(policies):
            options.setdefault("n_actions", environment.n_actions)
        with self._placing("policies", keys=self._table("policies")):
            policies(**options)

    def _component(
        self, table: dict[str, Any], section: str, kind: str, index: int, optional: tuple[str, ...] = ()
    ) -> Component:
        options = dict(table)
        heading = f"[[{section}]]" if kind == "learner" else f"[{section}]"
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise InputError(f"{self._where}{_line(self._text, section, '', index)}: {heading} needs a name, a text")
        with self._placing(section, index, "name"):
            cls = registry.load(kind, name)
        given = {key: options[key] for key in optional if key in options}
        unset = tuple(key for key in optional if key not in options)
        with self._placing(section, index):
            checked = check_options(cls, options, heading, (*SUPPLIED[kind], *unset))
        return Component(name, {**given, **checked})

    def _checked_oracle(self, table: dict[str, Any], section: str, index: int) -> dict[str, Any]:
        with self._placing(section, index):
            options = check_options(open_oracle, table, "[oracle]", SUPPLIED["oracle"])
        with self._placing(section, index, "kind"):
            registry.target("oracle", options["kind"])
        if options["kind"] == "milp":
            with self._placing(section, index, "solver"):
                load_solver(options["solver"])
        return options

    def _table(self, section: str) -> dict[str, Any]:
        table = self._tables.get(section, {})
        if not isinstance(table, dict):
            raise InputError(
                f"{self._where}{_line(self._text, '', section)}: '{section}' must be a section [{section}]"
            )
        return table

    @contextmanager
    def _placing(self, section: str, index: int = 0, key: str = "", keys: Collection[str] = ()) -> Iterator[None]:
        """Add file and line to an error: the line of ``key``, or of the key that the error carries or names."""
        try:
            yield
        except (InputError, SolverMissingError) as error:
            named = [known for known in keys if re.search(rf"\b{re.escape(known)}\b", str(error))]
            wrong = error.key if isinstance(error, KeyProblemError) else key or next(iter(named), "")
            kind = SolverMissingError if isinstance(error, SolverMissingError) else InputError
            raise kind(f"{self._where}{_line(self._text, section, wrong, index)}: {error}") from error


def _line(text: str, section: str, key: str, index: int = 0) -> str:
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


def _plain(value: Any) -> Any:
    """Return nested plain data: no tuples, no Nones (TOML has none)."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
