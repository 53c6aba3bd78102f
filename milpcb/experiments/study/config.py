"""TOML configs: strict keys, messages that name the key, the line and the nearest known name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, get_args

from milpcb import registry
from milpcb.checks import whole
from milpcb.errors import InputError, SolverMissingError, UnknownNameError
from milpcb.experiments.study.options import KeyProblemError, check_options, option_names, validate
from milpcb.experiments.study.sections import (
    WITH_SOLVER,
    Component,
    Config,
    Contexts,
    ExperimentSection,
    LearnerSection,
    OracleSection,
    RunSection,
    oracle_label,
    used_options,
)
from milpcb.learners import needs
from milpcb.oracles import open_oracle
from milpcb.solvers import load_solver

# What the runtime hands to constructors; everything else is a config key.
SUPPLIED = {
    "policies": (),
    "environment": (),
    "learner": needs.SUPPLIED,
    "oracle": ("policies", "contexts", "constraints"),
    "constraint": ("contexts", "n_actions", "feature_names"),
}
SECTIONS = ("experiment", "environment", "policies", "oracle", "learners", "constraints", "run", "versions")
LISTED = ("learners", "constraints")  # always [[...]]; of environment, policies and oracle there may be one or many
KINDS = {"environment": "environment", "policies": "policies", "learners": "learner", "constraints": "constraint"}

T = TypeVar("T")


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

    Environments and policy classes are made once, and thrown away, so that their settings are checked here too.
    """
    for section in tables:
        if section not in SECTIONS:
            line = _line(text, section, "") or _line(text, "", section)
            raise InputError(f"{where}{line}: {UnknownNameError('section', section, SECTIONS)}")
    reader = _Reader(tables, text, where)
    if not reader.tables("learners"):
        raise InputError(f"{where} has no learner; add at least one [[learners]] section")
    config = Config(
        learners=reader.each("learners", reader.learner),
        experiment=reader.model("experiment", ExperimentSection),
        environments=reader.each("environment", reader.component),
        policies=reader.each("policies", reader.component),
        oracles=reader.oracles(),
        constraints=reader.each("constraints", reader.component),
        run=reader.model("run", RunSection),
    )
    reader.check_labels(config)
    reader.check_experiment(config.experiment, config.run)
    reader.check_settings(config)
    return config


class _Reader:
    """Takes sections apart and adds file and line to whatever is wrong with them."""

    def __init__(self, tables: dict[str, Any], text: str, where: str) -> None:
        self._tables, self._text, self._where = tables, text, where

    def tables(self, section: str) -> list[dict[str, Any]]:
        """Return the tables of a section that may be written once or as a list."""
        found = self._tables.get(section, [] if section in LISTED else {})
        entries = [found] if isinstance(found, dict) else found
        if not isinstance(entries, list) or (isinstance(found, dict) and section in LISTED):
            written = f"[[{section}]]" if section in LISTED else f"[{section}]"
            advice = "add at least one [[learners]] section" if section == "learners" else "write it so"
            raise InputError(f"{self._where}{self._place(section)}: '{section}' must be a section {written}; {advice}")
        if not entries and section not in LISTED:
            raise InputError(f"{self._where}{self._place(section)}: '{section}' is empty; add a section [{section}]")
        return [entry if isinstance(entry, dict) else {} for entry in entries]

    def each(self, section: str, read: Callable[[str, int], T]) -> tuple[T, ...]:
        """Read every table of a section."""
        return tuple(read(section, index) for index in range(len(self.tables(section))))

    def model(self, section: str, model: type[Any]) -> Any:
        with self._placing(section):
            table = self._tables.get(section, {})
            if not isinstance(table, dict):
                raise InputError(f"'{section}' must be a section [{section}]")
            return validate(model, table, f"[{section}]")

    def component(self, section: str, index: int) -> Component:
        table = self.tables(section)[index]
        label = self._label(table, section, index)
        return self._component({key: table[key] for key in table if key != "label"}, section, index, label)

    def learner(self, section: str, index: int) -> LearnerSection:
        table = dict(self.tables(section)[index])
        label = self._label(table, section, index)
        own = {key: table.pop(key, None) for key in ("oracle", "contexts", "max_horizon", "label")}
        component = self._component(table, section, index)
        oracle = {} if own["oracle"] is None else own["oracle"]
        contexts: Contexts = "pool" if own["contexts"] is None else own["contexts"]
        with self._placing(section, index, "oracle"):
            if not isinstance(oracle, dict):
                raise InputError(f'a learner\'s oracle is a table like {{ kind = "milp" }}, got {oracle!r}')
        with self._placing(section, index, "contexts"):
            if contexts not in get_args(Contexts):
                raise UnknownNameError("contexts", str(contexts), get_args(Contexts))
        with self._placing(section, index, "max_horizon"):
            most = None if own["max_horizon"] is None else whole("max_horizon", own["max_horizon"], 1)
        merged = self._merged(oracle, index) if oracle else self.oracles()
        return LearnerSection(label or component.name, component, oracle, merged, contexts, most)

    def oracles(self) -> tuple[OracleSection, ...]:
        """Return the common oracles, one for each solver where a list of solvers is given."""
        found: list[OracleSection] = []
        for index in range(len(self.tables("oracle"))):
            for label, table in self._by_solver(index):
                options = self._checked_oracle(table, "oracle", index)
                found.append(OracleSection(label or oracle_label(options), options))
        return tuple(found)

    def check_labels(self, config: Config) -> None:
        """Raise InputError where a label is taken, so that two curves could not be told apart."""
        self._check_labels("learners", "learners", config.learners)
        self._check_labels("environment", "[[environment]] sections", config.environments)
        self._check_labels("policies", "[[policies]] sections", config.policies)
        self._check_labels("oracle", "[[oracle]] sections", config.oracles)

    def check_experiment(self, experiment: ExperimentSection, run: RunSection) -> None:
        """Raise InputError for what no single value of a list shows, and for a backend that is not there."""
        with self._placing("experiment", key="seeds"):
            if min(experiment.seeds) < 0:
                raise InputError("seeds must be non-negative integers")
            if len(set(experiment.seeds)) < len(experiment.seeds):
                raise InputError("a seed is listed twice; each one is one run")
        with self._placing("experiment", key="horizon"):
            if len(set(experiment.horizon)) < len(experiment.horizon):
                raise InputError("a horizon is listed twice; each one is one run")
        with self._placing("run", key="backend"):
            if run.backend is not None:
                registry.target("backend", run.backend)

    def check_settings(self, config: Config) -> None:
        """Make the environments and the policy classes, which is cheap: none is opened."""
        for index, section in enumerate(config.environments):
            with self._placing("environment", index, keys=self.tables("environment")[index]):
                environment = registry.load("environment", section.name)(**section.options)
            for number, classes in enumerate(config.policies):
                policies, options = registry.load("policies", classes.name), dict(classes.options)
                if "n_actions" in option_names(policies):
                    options.setdefault("n_actions", environment.n_actions)
                with self._placing("policies", number, keys=self.tables("policies")[number]):
                    policies(**options)

    def _check_labels(
        self, section: str, what: str, entries: Sequence[Component | OracleSection | LearnerSection]
    ) -> None:
        labels = [entry.label for entry in entries]
        for index, label in enumerate(labels):
            if label in labels[:index]:
                line = self._line(section, "label", index) or self._place(section)
                raise InputError(
                    f"{self._where}{line}: two {what} are called '{label}'; give each [[{section}]] its own label"
                )

    def _component(self, table: dict[str, Any], section: str, index: int, label: str = "") -> Component:
        options, kind = dict(table), KINDS[section]
        heading = f"[[{section}]]" if isinstance(self._tables.get(section), list) else f"[{section}]"
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise InputError(f"{self._where}{self._line(section, '', index)}: {heading} needs a name, a text")
        with self._placing(section, index, "name"):
            cls = registry.load(kind, name)
        optional = ("n_actions",) if kind == "policies" else ()
        given = {key: options[key] for key in optional if key in options}
        unset = tuple(key for key in optional if key not in options)
        with self._placing(section, index):
            checked = check_options(cls, options, heading, (*SUPPLIED[kind], *unset))
        return Component(name, {**given, **checked}, label or name)

    def _label(self, table: dict[str, Any], section: str, index: int) -> str:
        label = table.get("label", "")
        with self._placing(section, index, "label"):
            if not (isinstance(label, str) and label.isprintable()):
                owner = "learner" if section == "learners" else section
                raise InputError(f"a {owner}'s label is a text on one line, got {label!r}")
        return label

    def _by_solver(self, index: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield label and table of one [oracle] section, once for each solver in its list."""
        table = self.tables("oracle")[index]
        label, solvers = self._label(table, "oracle", index), table.get("solver")
        plain = {key: table[key] for key in table if key != "label"}
        if not isinstance(solvers, list):
            yield label, plain
            return
        if not solvers:
            with self._placing("oracle", index, "solver"):
                raise InputError('the list of solvers is empty; name at least one, such as "highs"')
        for solver in solvers:
            yield f"{label}:{solver}" if label else "", {**plain, "solver": solver}

    def _merged(self, own: dict[str, Any], index: int) -> tuple[OracleSection, ...]:
        """Return the common oracles with a learner's own keys put over them; equal ones once."""
        found: dict[str, OracleSection] = {}
        for common in range(len(self.tables("oracle"))):
            for label, table in self._by_solver(common):
                options = self._checked_oracle({**table, **own}, "learners", index)
                found.setdefault(repr(used_options(options)), OracleSection(label, options))
        names = [oracle_label(section.options) for section in found.values()]
        distinct = len(set(names)) == len(names)
        return tuple(
            OracleSection(name if distinct else section.label or name, section.options)
            for name, section in zip(names, found.values(), strict=True)
        )

    def _checked_oracle(self, table: dict[str, Any], section: str, index: int) -> dict[str, Any]:
        with self._placing(section, index):
            options = check_options(open_oracle, table, "[oracle]", SUPPLIED["oracle"])
        with self._placing(section, index, "kind"):
            registry.target("oracle", options["kind"])
        if options["kind"] in WITH_SOLVER:
            with self._placing(section, index, "solver"):
                load_solver(options["solver"])
        return options

    def _place(self, section: str) -> str:
        return self._line("", section) or self._line(section, "")

    def _line(self, section: str, key: str, index: int = 0) -> str:
        return _line(self._text, section, key, index)

    @contextmanager
    def _placing(self, section: str, index: int = 0, key: str = "", keys: Collection[str] = ()) -> Iterator[None]:
        """Add file and line to an error: the line of ``key``, or of the key that the error carries or names."""
        try:
            yield
        except (InputError, SolverMissingError) as error:
            named = [known for known in keys if re.search(rf"\b{re.escape(known)}\b", str(error))]
            wrong = error.key if isinstance(error, KeyProblemError) else key or next(iter(named), "")
            kind = SolverMissingError if isinstance(error, SolverMissingError) else InputError
            line = self._line(section, wrong, index) or self._line("", section)
            raise kind(f"{self._where}{line}: {error}") from error


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
