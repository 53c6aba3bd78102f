"""TOML configs: strict keys, messages that name the key, the line and the nearest known name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from milpcb.core.checks import whole
from milpcb.core.gate import named_classes
from milpcb.errors import InputError, UnknownNameError, clipped
from milpcb.experiments.study.fingerprints import file_options, source_file
from milpcb.experiments.study.options import check_options, check_plain, option_names, validate
from milpcb.experiments.study.sections import (
    MOST_CELLS,
    Component,
    Config,
    Contexts,
    ExperimentSection,
    LearnerSection,
    OracleSection,
    RunSection,
    oracle_label,
)
from milpcb.experiments.study.toml_tables import Tables, line_of, read_tables
from milpcb.oracles import unknown_option
from milpcb.plugins import injection, local_classes, registry
from milpcb.solvers import load_solver


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


SECTIONS = ("experiment", "environment", "policies", "oracle", "learners", "constraints", "run", "versions")
KIND_OF = {"environment": "environment", "policies": "policies", "learners": "learner", "constraints": "constraint"}
DEFAULT_KIND = "milp"  # of an oracle, as of open_oracle

T = TypeVar("T")


def read_config(path: Path, *, trusted: bool = True) -> Config:
    """Read, check and resolve a config; raises InputError with the key and its line.

    Classes that it names as ``module:Class`` are looked for in its folder. Unless it is ``trusted``, these are refused,
    and so are files of data and a scheduler.
    """
    tables, text = read_tables(path)
    return parse_config(tables, text, str(path), path.absolute().parent, trusted=trusted)


def parse_config(
    tables: dict[str, Any],
    text: str = "",
    where: str = "config",
    folder: Path | None = None,
    *,
    trusted: bool = True,
) -> Config:
    """Check and resolve the tables of a config; ``text`` is only used to find the line of a wrong key.

    Environments and policy classes are made once, and thrown away, so that their settings are checked here too.
    """
    for section in tables:
        if section not in SECTIONS:
            line = line_of(text, section, "") or line_of(text, "", section)
            raise InputError(f"{where}{line}: {UnknownNameError('section', section, SECTIONS)}")
    placed = Tables(tables, text, where)
    reader = _Reader(placed)
    run = _with_folder(reader.model("run", RunSection), tables, folder)
    local_classes.look_in(run.folder, trusted=trusted)
    if not trusted:
        run = run.model_copy(update={"folder": None})  # no task looks there
    if not placed.of("learners"):
        raise InputError(f"{where} has no learner; add at least one [[learners]] section")
    config = Config(
        learners=reader.each("learners", reader.learner),
        experiment=reader.model("experiment", ExperimentSection),
        environments=reader.each("environment", reader.component),
        policies=reader.each("policies", reader.component),
        oracles=_common_oracles(placed),
        constraints=reader.each("constraints", reader.component),
        run=run,
    )
    reader.check_labels(config)
    reader.check_experiment(config)
    if not trusted and (asked := asked_for(config)):
        more = f"; and {len(asked) - 1} more" if len(asked) > 1 else ""
        raise InputError(
            f"{where} asks for more than milpcb brings: {asked[0]}{more}; "
            "you have not run this config here before: look at that, then give --trust"
        )
    reader.check_settings(config)
    return config


def _with_folder(run: RunSection, tables: dict[str, Any], folder: Path | None) -> RunSection:
    """Return [run] with the folder that the config's own classes are in, None where it names none."""
    wanted = folder is not None and any(named_classes(tables))
    return run.model_copy(update={"folder": str(folder_of(run.folder, folder)) if folder and wanted else None})


# Options that the runtime knows, once the environment is there, where the config does not set them.
_KNOWN_LATER = {"policies": ("n_actions",)}


class _Reader:
    """Takes sections apart and adds file and line to whatever is wrong with them."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def each(self, section: str, read: Callable[[str, int], T]) -> tuple[T, ...]:
        return tuple(read(section, index) for index in range(len(self._tables.of(section))))

    def model(self, section: str, model: type[Any]) -> Any:
        table = self._tables.sections.get(section, {})
        with self._tables.placing(section, keys=table if isinstance(table, dict) else ()):
            if not isinstance(table, dict):
                raise InputError(f"'{section}' must be a section [{section}]")
            return validate(model, table, f"[{section}]")

    def component(self, section: str, index: int) -> Component:
        table = self._tables.of(section)[index]
        label = self._tables.label(table, section, index)
        return self._component({key: table[key] for key in table if key != "label"}, section, index, label)

    def learner(self, section: str, index: int) -> LearnerSection:
        table = dict(self._tables.of(section)[index])
        label = self._tables.label(table, section, index)
        own = {key: table.pop(key, None) for key in ("oracle", "contexts", "max_horizon", "label")}
        component = self._component(table, section, index)
        oracle = {} if own["oracle"] is None else own["oracle"]
        contexts: Contexts = "pool" if own["contexts"] is None else own["contexts"]
        with self._tables.placing(section, index, "oracle"):
            if not isinstance(oracle, dict):
                raise InputError(f'a learner\'s oracle is a table like {{ kind = "milp" }}, got {oracle!r}')
        with self._tables.placing(section, index, "contexts"):
            if contexts not in get_args(Contexts):
                raise UnknownNameError("contexts", str(contexts), get_args(Contexts))
        with self._tables.placing(section, index, "max_horizon"):
            most = None if own["max_horizon"] is None else whole("max_horizon", own["max_horizon"], 1)
        merged = _merged_oracles(self._tables, oracle, index) if oracle else _common_oracles(self._tables)
        return LearnerSection(label or component.name, component, oracle, merged, contexts, most)

    def check_labels(self, config: Config) -> None:
        """Raise InputError where a label is taken, as two curves would then look alike."""
        self._check_labels("learners", "learners", config.learners)
        self._check_labels("environment", "[[environment]] sections", config.environments)
        self._check_labels("policies", "[[policies]] sections", config.policies)
        self._check_labels("oracle", "[[oracle]] sections", config.oracles)

    def check_experiment(self, config: Config) -> None:
        """Raise InputError for what no single value of a list shows, and for a backend that is not there."""
        experiment, run = config.experiment, config.run
        with self._tables.placing("experiment", key="seeds"):
            if min(experiment.seeds) < 0:
                raise InputError("seeds must be non-negative integers")
            if len(set(experiment.seeds)) < len(experiment.seeds):
                raise InputError("a seed is listed twice; each one is one run")
        with self._tables.placing("experiment", key="horizon"):
            if len(set(experiment.horizon)) < len(experiment.horizon):
                raise InputError("a horizon is listed twice; each one is one run")
        with self._tables.placing("run", key="backend"):
            if run.backend is not None:
                registry.target("backend", run.backend)
        with self._tables.placing("experiment"):
            players = sum(len(learner.oracles) for learner in config.learners)
            worlds = len(config.environments) * len(config.policies) * len(experiment.horizon) * len(experiment.seeds)
            if players * worlds > MOST_CELLS:
                raise InputError(f"this is a study of {players * worlds:,} cells; at most {MOST_CELLS:,} are one study")

    def check_settings(self, config: Config) -> None:
        """Make the environments, the policy classes, and constraints by names, which is cheap: none is opened."""
        for index, section in enumerate(config.constraints):
            rule = registry.load("constraint", section.name)
            if not any(injection.asks(rule, name) for name in registry.KINDS["constraint"].supplied):
                with self._tables.placing("constraints", index, keys=self._tables.of("constraints")[index]):
                    injection.make(rule, {}, section.options)
        for index, section in enumerate(config.environments):
            with self._tables.placing("environment", index, keys=self._tables.of("environment")[index]):
                environment = injection.make(registry.load("environment", section.name), {}, section.options)
            for number, classes in enumerate(config.policies):
                known = {} if "n_actions" in classes.options else {"n_actions": environment.n_actions}
                with self._tables.placing("policies", number, keys=self._tables.of("policies")[number]):
                    injection.make(registry.load("policies", classes.name), known, classes.options)

    def _check_labels(
        self, section: str, what: str, entries: Sequence[Component | OracleSection | LearnerSection]
    ) -> None:
        labels = [entry.label for entry in entries]
        for index, label in enumerate(labels):
            if label in labels[:index]:
                place = self._tables.line(section, "label", index) or self._tables.place(section)
                advice = f"give each [[{section}]] its own label"
                raise InputError(f"{self._tables.where}{place}: two {what} are called '{label}'; {advice}")

    def _component(self, table: dict[str, Any], section: str, index: int, label: str = "") -> Component:
        options, kind = dict(table), KIND_OF[section]
        heading = f"[[{section}]]" if isinstance(self._tables.sections.get(section), list) else f"[{section}]"
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise InputError(
                f"{self._tables.where}{self._tables.line(section, '', index)}: {heading} needs a name, a string"
            )
        with self._tables.placing(section, index, "name"):
            cls = registry.load(kind, name)
        fixed = registry.KINDS[kind].supplied
        unset = tuple(key for key in _KNOWN_LATER.get(kind, ()) if key not in options)
        with self._tables.placing(section, index, keys=options):
            checked = check_options(cls, options, heading, (*fixed, *unset))
            check_plain(checked, heading)
        return Component(name, checked, label or name)


def _common_oracles(tables: Tables) -> tuple[OracleSection, ...]:
    """Return the common oracles, one for each solver where a list of solvers is given."""
    found: list[OracleSection] = []
    for index in range(len(tables.of("oracle"))):
        for label, table in _by_solver(tables, index):
            options = _checked_oracle(tables, table, "oracle", index)
            found.append(OracleSection(label or oracle_label(options), options))
    return tuple(found)


def _merged_oracles(tables: Tables, own: dict[str, Any], index: int) -> tuple[OracleSection, ...]:
    """Return the common oracles with a learner's own keys put over them; equal ones once.

    Common options that the learner's own kind does not have were written for other kinds, and are left out.
    """
    found: dict[str, OracleSection] = {}
    for common in range(len(tables.of("oracle"))):
        for label, table in _by_solver(tables, common):
            kind = own.get("kind", table.get("kind", DEFAULT_KIND))
            known = ("kind", *_oracle_options(tables, kind, "learners", index))
            options = _checked_oracle(
                tables, {**{key: table[key] for key in table if key in known}, **own}, "learners", index
            )
            found.setdefault(repr(options), OracleSection(label, options))
    names = [oracle_label(section.options) for section in found.values()]
    distinct = len(set(names)) == len(names)
    return tuple(
        OracleSection(name if distinct else section.label or name, section.options)
        for name, section in zip(names, found.values(), strict=True)
    )


def _by_solver(tables: Tables, index: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield label and table of one [oracle] section, once for each solver in its list."""
    table = tables.of("oracle")[index]
    label, solvers = tables.label(table, "oracle", index), table.get("solver")
    plain = {key: table[key] for key in table if key != "label"}
    if not isinstance(solvers, list):
        yield label, plain
        return
    if not solvers:
        with tables.placing("oracle", index, "solver"):
            raise InputError('the list of solvers is empty; name at least one, such as "highs"')
    for solver in solvers:
        yield f"{label}:{solver}" if label else "", {**plain, "solver": solver}


def _oracle_options(tables: Tables, kind: Any, section: str, index: int) -> list[str]:
    with tables.placing(section, index, "kind"):
        if not isinstance(kind, str):
            raise InputError(f"kind in [oracle] must be a string, got {clipped(repr(kind))}")
        return option_names(registry.load("oracle", kind), registry.KINDS["oracle"].supplied)


def _checked_oracle(tables: Tables, table: dict[str, Any], section: str, index: int) -> dict[str, Any]:
    options = {key: table[key] for key in table if key != "kind"}
    kind = table.get("kind", DEFAULT_KIND)
    own = _oracle_options(tables, kind, section, index)
    with tables.placing(section, index, next((key for key in options if key not in own), "")):
        for key in options:
            if key not in own:
                raise InputError(unknown_option(kind, key))
        checked = check_options(registry.load("oracle", kind), options, "[oracle]", registry.KINDS["oracle"].supplied)
        check_plain(checked, "[oracle]")
    if "solver" in checked:
        with tables.placing(section, index, "solver"):
            load_solver(checked["solver"])
    return {"kind": kind, **checked}
