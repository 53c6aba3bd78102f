"""TOML configs, checked by typed tables of constructors' arguments; messages name key, line and nearest name."""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial, reduce
from inspect import Parameter
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NotRequired, TypeVar, Union, get_args, get_origin

from pydantic import Field, PlainValidator, TypeAdapter, ValidationError, WithJsonSchema
from pydantic.errors import PydanticUserError

from milpcb.core.checks import check_file
from milpcb.core.decimals import spaced
from milpcb.core.gate import named_classes, nests_deeply
from milpcb.errors import InputError, SolverMissingError, UnknownNameError, clipped, did_you_mean, shown
from milpcb.experiments.study import sections
from milpcb.experiments.study.fingerprints import foreign_parts
from milpcb.oracles import unknown_option
from milpcb.plugins import injection, local_classes, registry
from milpcb.solvers import load_solver

LARGEST = 2**63 - 1  # the integers of TOML
LARGEST_FILE = 4 * 2**20  # bytes
LISTED = ("learners", "constraints")  # always [[...]]; of environment, policies and oracle there may be one or many
KNOWN_LATER = {"policies": ("n_actions",)}  # options that the environment sets where the config does not

T = TypeVar("T")


class KeyProblemError(InputError):
    """The ``key`` of a table is wrong."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def check_options(
    component: Callable[..., Any], table: Mapping[str, Any], where: str, supplied: Collection[str] = ()
) -> dict[str, Any]:
    """Return all options with defaults filled in; raises KeyProblemError that names the key and the nearest one."""
    own = injection.options(component, supplied)
    try:  # as JSON, where a list may stand for a tuple
        given = table_of(component, frozenset(supplied)).validate_json(json.dumps(table, default=str))
    except ValidationError as error:
        raise _problem(error, list(own), where) from error
    return {key: given.get(key, parameter.default) for key, parameter in own.items()}


def _problem(error: ValidationError, known: list[str], where: str) -> KeyProblemError:
    problem = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    key, given = str(problem["loc"][0]), clipped(repr(problem["input"]), 200)
    if problem["type"] == "extra_forbidden":
        unknown = f"unknown key '{clipped(key)}' in {where}{did_you_mean(key, known)}"
        return KeyProblemError(key, unknown if known else f"{where} has no options")
    if problem["type"] == "missing" and len(problem["loc"]) == 1:
        return KeyProblemError(key, f"{where} needs the key '{key}'")
    reason = problem["msg"].lower().removeprefix("value error, ").replace("an object", "a table")
    return KeyProblemError(key, f"{key} in {where}: {reason}, got {given}")


@cache
def table_of(component: Callable[..., Any], supplied: frozenset[str]) -> TypeAdapter[Any]:
    """Return the typed table of a component's options."""
    return TypeAdapter(sections.typed(keys_of(component, supplied)))


def keys_of(component: Callable[..., Any], supplied: Collection[str] = ()) -> dict[str, Any]:
    """Return the types of a component's options by name, with defaults for the schema."""
    hints, found = injection.types(component, supplied), dict[str, Any]()
    for key, parameter in injection.options(component, supplied).items():
        found[key] = _readable(hints[key])
        if isinstance(parameter.default, (bool, int, float, str)):
            found[key] = Annotated[found[key], Field(json_schema_extra={"default": parameter.default})]
        if parameter.default is not Parameter.empty:
            found[key] = NotRequired[found[key]]
    return found


def _readable(kind: Any) -> Any:
    """Return the type of an option as a config can hold it: without parts such as arrays, which no file has."""
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    kept = []
    for part in parts:
        try:
            TypeAdapter(sections.typed({"value": part}))
        except (PydanticUserError, TypeError):
            continue
        kept.append(part)
    return reduce(or_, kept) if kept else Annotated[Any, PlainValidator(_refuse), WithJsonSchema({})]


def _refuse(_value: Any) -> Any:
    raise ValueError("it cannot be set in a config")


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(item is not None and _is_plain(item) for item in value)  # TOML has nothing for it
    return value is None or isinstance(value, (float, str)) or (isinstance(value, int) and abs(value) <= LARGEST)


def read_config(path: Path, *, trusted: bool = True) -> sections.Config:
    """Read, check and resolve a config; raises InputError with the key and its line.

    Classes are looked for in its folder. Unless it is ``trusted``, these, files of data and a scheduler are refused.
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
    tables: dict[str, Any], text: str = "", where: str = "config", folder: Path | None = None, *, trusted: bool = True
) -> sections.Config:
    """Check and resolve the tables of a config, making environments and classes once; ``text`` has their lines."""
    reader = _Reader(tables, text, where)
    run: sections.RunSection = reader.section("run", sections.RunSection)
    wanted = folder is not None and any(named_classes(tables))
    run = replace(run, folder=str((folder / (run.folder or "")).resolve()) if folder and wanted else None)
    local_classes.look_in(run.folder, trusted=trusted)
    if not trusted:
        run = replace(run, folder=None)  # no task looks there
    if not reader.tables("learners"):
        raise InputError(f"{where} has no learner; add at least one [[learners]] section")
    oracles = reader.each("oracle", reader.oracle)
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
        more = f"{foreign[0]}{f'; and {len(foreign) - 1} more' * (len(foreign) > 1)}"
        raise InputError(f"{where} uses parts from outside milpcb: {more}; read them, then give --trust")
    reader.check_settings(config)
    return config


class _Reader:
    def __init__(self, tables: dict[str, Any], text: str, where: str) -> None:
        self._sections, self._text, self._where = tables, text, where
        for section in tables:
            if section not in sections.SECTIONS:
                raise self._wrong(section, str(UnknownNameError("section", section, sections.SECTIONS)))

    def tables(self, section: str) -> list[dict[str, Any]]:
        """Return the tables of a section that may be written once or as a list."""
        found = self._sections.get(section, [] if section in LISTED else {})
        entries = [found] if isinstance(found, dict) else found
        if not isinstance(entries, list) or (isinstance(found, dict) and section in LISTED):
            heading = f"[[{section}]]" if section in LISTED else f"[{section}]"
            advice = "add at least one [[learners]] section" if section == "learners" else "write it so"
            raise self._wrong(section, f"'{section}' must be a section {heading}; {advice}")
        if not entries and section not in LISTED:
            raise self._wrong(section, f"'{section}' is empty; add a section [{section}]")
        return [dict(entry) if isinstance(entry, dict) else {} for entry in entries]

    def each(self, section: str, read: Callable[[str, int, dict[str, Any]], T]) -> tuple[T, ...]:
        return tuple(read(section, index, table) for index, table in enumerate(self.tables(section)))

    def section(self, section: str, make: Callable[..., T]) -> T:
        table = self._sections.get(section, {})
        if not isinstance(table, dict):
            raise self._wrong(section, f"'{section}' must be a section [{section}]")
        with self._placing(section):
            return make(**check_options(make, table, f"[{section}]"))

    def component(self, section: str, index: int, table: dict[str, Any]) -> sections.Component:
        own = self._own(sections.OwnKeys, table, section, index)
        kind, name = sections.KIND_OF[section], table.pop("name", None)
        if not isinstance(name, str):
            raise self._wrong(section, f"{self._heading(section)} needs a name, a string", "", index)
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
            advice = 'the oracle of a learner takes the place of [oracle]: give its kind = "..." too'
            raise self._wrong(section, advice, "oracle", index)
        oracles = (self.oracle(section, index, dict(asked)),) if asked else common
        more: dict[str, Any] = {"oracle": asked, "contexts": own.contexts, "max_horizon": own.max_horizon}
        return sections.LearnerSection(found.name, found.options, own.label or found.name, oracles=oracles, **more)

    def oracle(self, section: str, index: int, table: dict[str, Any]) -> sections.Component:
        label = self._own(sections.OwnKeys, table, section, index).label
        kind = table.pop("kind", sections.DEFAULT_KIND)
        with self._placing(section, index, "kind"):
            cls, supplied = registry.load("oracle", kind), registry.KINDS["oracle"].supplied
        for key in table:
            if key not in injection.options(cls, supplied):
                raise self._wrong(section, unknown_option(kind, key), key, index)
        checked = {"kind": kind, **self._checked(cls, table, section, index, supplied)}
        if "solver" in checked:
            with self._placing(section, index, "solver"):
                load_solver(checked["solver"])
        name = f"{kind}:{checked['solver']}" if "solver" in checked else kind
        return sections.Component(name, checked, label or name)

    def check_labels(self, config: sections.Config) -> None:
        """Raise InputError where a label is taken, as two curves would then look alike."""
        lists = {"environment": config.environments, "policies": config.policies, "oracle": config.oracles}
        for section, entries in {"learners": config.learners, **lists}.items():
            labels = [entry.label for entry in entries]
            for index, label in enumerate(labels):
                if label in labels[:index]:
                    called = "learners" if section == "learners" else f"[[{section}]] sections"
                    advice = f"give each [[{section}]] its own label"
                    raise self._wrong(section, f"two {called} are called '{label}'; {advice}", "label", index)

    def check_experiment(self, config: sections.Config) -> None:
        """Raise InputError for an unknown backend, and for a study that is too large."""
        if config.run.backend is not None:
            with self._placing("run", key="backend"):
                registry.target("backend", config.run.backend)
        cells = sum(len(learner.oracles) for learner in config.learners)
        for axis in (config.environments, config.policies, config.experiment.horizon, config.experiment.seeds):
            cells *= len(axis)
        if cells > sections.MOST_CELLS:
            most = f"at most {spaced(sections.MOST_CELLS)} are one study"
            raise self._wrong("experiment", f"this is a study of {spaced(cells)} cells; {most}")

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
        found = {key: table.pop(key) for key in injection.options(keys) if key in table}
        return keys(**self._checked(keys, found, section, index, ()))

    def _checked(
        self, cls: Callable[..., Any], options: Mapping[str, Any], section: str, index: int, supplied: Collection[str]
    ) -> dict[str, Any]:
        with self._placing(section, index, keys=options):
            checked = check_options(cls, options, self._heading(section), supplied)
            for key, value in checked.items():
                if not _is_plain(value):  # a run writes down all of them
                    held = "it holds strings, numbers, integers up to 2**63 - 1, and lists and tables of them"
                    problem = f"is {shown(value)}, which a config cannot hold; {held}"
                    raise KeyProblemError(key, f"{key} in {self._heading(section)} {problem}")
        return checked

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
            raise kind(str(self._wrong(section, str(error), wrong, index))) from error

    def _wrong(self, section: str, message: str, key: str = "", index: int = 0) -> InputError:
        line = self._line(section, key, index) or self._line("", section)
        return InputError(f"{self._where}{line}: {message}")

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
