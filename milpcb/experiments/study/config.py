"""TOML configs: strict keys, messages that name the key, the line and the nearest known name."""

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from milpcb.core.checks import check_file
from milpcb.core.decimals import spaced
from milpcb.core.gate import named_classes, nests_deeply
from milpcb.errors import InputError, SolverMissingError, UnknownNameError, clipped
from milpcb.experiments.study import sections
from milpcb.experiments.study.fingerprints import foreign_parts
from milpcb.experiments.study.options import KeyProblemError, check_options, check_plain, option_names
from milpcb.oracles import unknown_option
from milpcb.plugins import injection, local_classes, registry
from milpcb.solvers import load_solver

LARGEST_FILE = 4 * 2**20  # bytes
LISTED = ("learners", "constraints")  # always [[...]]; of environment, policies and oracle there may be one or many
KNOWN_LATER = {"policies": ("n_actions",)}  # options that the environment sets where the config does not

T = TypeVar("T")


def read_config(path: Path, *, trusted: bool = True) -> sections.Config:
    """Read, check and resolve a config; raises InputError with the key and its line.

    Classes that it names as ``module:Class`` are looked for in its folder. Unless it is ``trusted``, these are refused,
    and so are files of data and a scheduler.
    """
    check_file(path, "config")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise InputError(f"cannot read config {path}: it is larger than {LARGEST_FILE // 2**20} MB")
        text = content.decode("utf-8-sig")  # some editors put a byte order mark first
        tables = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"cannot read config {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read config {path}: it is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:  # integers of thousands of digits; brackets within brackets
        reason = "it nests too deeply" if isinstance(error, RecursionError) else clipped(str(error), 300)
        raise InputError(f"{path} is not valid TOML: {reason}") from error
    if nests_deeply(tables):
        raise InputError(f"{path} nests too deeply; no config of a study does")
    return parse_config(tables, text, str(path), path.absolute().parent, trusted=trusted)


def parse_config(
    tables: dict[str, Any],
    text: str = "",
    where: str = "config",
    folder: Path | None = None,
    *,
    trusted: bool = True,
) -> sections.Config:
    """Check and resolve the tables of a config; ``text`` is only used to find the line of a wrong key.

    Environments and policy classes are made once, and thrown away, so that their settings are checked here too.
    """
    reader = _Reader(tables, text, where)
    run: sections.RunSection = reader.section("run", sections.RunSection)
    wanted = folder is not None and any(named_classes(tables))
    run = replace(run, folder=str((folder / (run.folder or "")).resolve()) if folder and wanted else None)
    local_classes.look_in(run.folder, trusted=trusted)
    if not trusted:
        run = replace(run, folder=None)  # no task looks there
    if not reader.tables("learners"):
        raise InputError(f"{where} has no learner; add at least one [[learners]] section")
    oracles = tuple(oracle for found in reader.each("oracle", reader.oracles) for oracle in found)
    config = sections.Config(
        learners=reader.each("learners", partial(reader.learner, oracles)),
        experiment=reader.section("experiment", sections.ExperimentSection),
        environments=reader.each("environment", reader.component),
        policies=reader.each("policies", reader.component),
        oracles=oracles,
        constraints=reader.each("constraints", reader.component),
        run=run,
    )
    reader.check_labels(config)
    reader.check_experiment(config)
    if not trusted and (foreign := foreign_parts(config)):
        more = f"; and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise InputError(
            f"{where} asks for more than milpcb brings: {foreign[0]}{more}; look at that, then give --trust"
        )
    reader.check_settings(config)
    return config


class _Reader:
    """Takes the sections of a config apart, and adds file and line to whatever is wrong with them."""

    def __init__(self, tables: dict[str, Any], text: str, where: str) -> None:
        self._sections, self._text, self._where = tables, text, where
        for section in tables:
            if section not in sections.SECTIONS:
                raise InputError(
                    f"{where}{self._place(section)}: {UnknownNameError('section', section, sections.SECTIONS)}"
                )

    def tables(self, section: str) -> list[dict[str, Any]]:
        """Return the tables of a section that may be written once or as a list."""
        found = self._sections.get(section, [] if section in LISTED else {})
        entries = [found] if isinstance(found, dict) else found
        if not isinstance(entries, list) or (isinstance(found, dict) and section in LISTED):
            heading = f"[[{section}]]" if section in LISTED else f"[{section}]"
            advice = "add at least one [[learners]] section" if section == "learners" else "write it so"
            raise InputError(f"{self._where}{self._place(section)}: '{section}' must be a section {heading}; {advice}")
        if not entries and section not in LISTED:
            raise InputError(f"{self._where}{self._place(section)}: '{section}' is empty; add a section [{section}]")
        return [entry if isinstance(entry, dict) else {} for entry in entries]

    def each(self, section: str, read: Callable[[str, int, dict[str, Any]], T]) -> tuple[T, ...]:
        return tuple(read(section, index, dict(table)) for index, table in enumerate(self.tables(section)))

    def section(self, section: str, make: Callable[..., T]) -> T:
        table = self._sections.get(section, {})
        with self._placing(section, keys=table if isinstance(table, dict) else ()):
            if not isinstance(table, dict):
                raise InputError(f"'{section}' must be a section [{section}]")
            return make(**check_options(make, table, f"[{section}]"))

    def component(self, section: str, index: int, table: dict[str, Any]) -> sections.Component:
        own = self._own(sections.OwnKeys, table, section, index)
        kind, name = sections.KIND_OF[section], table.pop("name", None)
        if not isinstance(name, str):
            line = self._line(section, "", index)
            raise InputError(f"{self._where}{line}: {self._heading(section)} needs a name, a string")
        with self._placing(section, index, "name"):
            cls = registry.load(kind, name)
        unset = [key for key in KNOWN_LATER.get(kind, ()) if key not in table]
        options = self._checked(cls, table, section, index, (*registry.KINDS[kind].supplied, *unset))
        return sections.Component(name, options, own.label or name)

    def learner(
        self, common: tuple[sections.Component, ...], section: str, index: int, table: dict[str, Any]
    ) -> sections.LearnerSection:
        own = self._own(sections.LearnerKeys, table, section, index)
        found, asked = self.component(section, index, table), own.oracle or {}
        if asked and "kind" not in asked:
            with self._placing(section, index, "oracle"):
                raise InputError('the oracle of a learner takes the place of [oracle]: give its kind = "..." too')
        oracles = self.oracles(section, index, dict(asked)) if asked else common
        knows: dict[str, Any] = {"contexts": own.contexts, "max_horizon": own.max_horizon}
        label = own.label or found.name
        return sections.LearnerSection(found.name, found.options, label, oracle=asked, oracles=oracles, **knows)

    def oracles(self, section: str, index: int, table: dict[str, Any]) -> tuple[sections.Component, ...]:
        """Return the oracles of a table, one for each solver where a list of solvers is given."""
        label, solvers = self._own(sections.OwnKeys, table, section, index).label, table.get("solver")
        if not isinstance(solvers, list):
            return (self._oracle(label, table, section, index),)
        if not solvers:
            with self._placing(section, index, "solver"):
                raise InputError('the list of solvers is empty; name at least one, such as "highs"')
        labelled = [(label and f"{label}:{solver}", {**table, "solver": solver}) for solver in solvers]
        return tuple(self._oracle(name, each, section, index) for name, each in labelled)

    def check_labels(self, config: sections.Config) -> None:
        """Raise InputError where a label is taken, as two curves would then look alike."""
        lists: dict[str, Collection[sections.Component]] = {
            "learners": config.learners,
            "environment": config.environments,
            "policies": config.policies,
            "oracle": config.oracles,
        }
        for section, entries in lists.items():
            labels = [entry.label for entry in entries]
            for index, label in enumerate(labels):
                if label in labels[:index]:
                    place = self._line(section, "label", index) or self._place(section)
                    called = "learners" if section == "learners" else f"[[{section}]] sections"
                    advice = f"give each [[{section}]] its own label"
                    raise InputError(f"{self._where}{place}: two {called} are called '{label}'; {advice}")

    def check_experiment(self, config: sections.Config) -> None:
        """Raise InputError for an unknown backend, and for a study that is too large."""
        experiment = config.experiment
        with self._placing("run", key="backend"):
            if config.run.backend is not None:
                registry.target("backend", config.run.backend)
        players = sum(len(learner.oracles) for learner in config.learners)
        worlds = len(config.environments) * len(config.policies) * len(experiment.horizon) * len(experiment.seeds)
        if players * worlds > sections.MOST_CELLS:
            most = f"at most {spaced(sections.MOST_CELLS)} are one study"
            with self._placing("experiment"):
                raise InputError(f"this is a study of {spaced(players * worlds)} cells; {most}")

    def check_settings(self, config: sections.Config) -> None:
        """Make the environments, the policy classes, and constraints by names, which is cheap: none is opened."""
        for index, section in enumerate(config.constraints):
            rule = registry.load("constraint", section.name)
            if not any(injection.asks(rule, name) for name in registry.KINDS["constraint"].supplied):
                with self._placing("constraints", index, keys=section.options):
                    injection.make(rule, {}, section.options)
        for index, section in enumerate(config.environments):
            with self._placing("environment", index, keys=self.tables("environment")[index]):
                environment = injection.make(registry.load("environment", section.name), {}, section.options)
            for number, classes in enumerate(config.policies):
                known = {} if "n_actions" in classes.options else {"n_actions": environment.n_actions}
                with self._placing("policies", number, keys=self.tables("policies")[number]):
                    injection.make(registry.load("policies", classes.name), known, classes.options)

    def _own(self, keys: Callable[..., T], table: dict[str, Any], section: str, index: int) -> T:
        found = {key: table.pop(key) for key in option_names(keys) if key in table}
        return keys(**self._checked(keys, found, section, index, ()))

    def _checked(
        self, cls: Callable[..., Any], options: Mapping[str, Any], section: str, index: int, supplied: Collection[str]
    ) -> dict[str, Any]:
        with self._placing(section, index, keys=options):
            checked = check_options(cls, options, self._heading(section), supplied)
            check_plain(checked, self._heading(section))
        return checked

    def _oracle(self, label: str | None, table: dict[str, Any], section: str, index: int) -> sections.Component:
        kind = table.pop("kind", sections.DEFAULT_KIND)
        with self._placing(section, index, "kind"):
            if not isinstance(kind, str):
                raise InputError(f"kind in [oracle] must be a string, got {clipped(repr(kind))}")
            cls, supplied = registry.load("oracle", kind), registry.KINDS["oracle"].supplied
            known = option_names(cls, supplied)
        for key in table:
            if key not in known:
                with self._placing(section, index, key):
                    raise InputError(unknown_option(kind, key))
        checked = {"kind": kind, **self._checked(cls, table, section, index, supplied)}
        if "solver" in checked:
            with self._placing(section, index, "solver"):
                load_solver(checked["solver"])
        name = f"{kind}:{checked['solver']}" if "solver" in checked else kind
        return sections.Component(name, checked, label or name)

    def _heading(self, section: str) -> str:
        return f"[[{section}]]" if isinstance(self._sections.get(section), list) else f"[{section}]"

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

    def _place(self, section: str) -> str:
        return self._line("", section) or self._line(section, "")

    def _line(self, section: str, key: str, index: int = 0) -> str:
        """Return ', line n' of a key in the ``index``-th table ``section`` ('': above all), or of its heading."""
        seen, current, heading = (-1 if section else 0), "", 0
        for number, written in enumerate(self._text.splitlines(), start=1):
            line = written.split("#")[0]
            header = re.fullmatch(r"\s*\[\[?\s*([A-Za-z_\"][\w.\"-]*)\s*\]\]?\s*", line)
            is_key = key and current == section and seen == index
            if header:
                current = header.group(1).split(".")[0]
                if current == section and "." not in header.group(1):
                    seen += 1
                    heading = number if seen == index else heading
            elif is_key and re.search(rf"(^|[\s{{,\"]){re.escape(key)}\"?\s*=", line):
                return f", line {number}"
        return f", line {heading}" if heading else ""
