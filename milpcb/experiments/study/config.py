"""TOML configs: strict keys, messages that name the key, the line and the nearest known name."""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, get_args

from milpcb.core.checks import check_file, whole
from milpcb.core.gate import named_classes, nests_deeply
from milpcb.core.text import escaped
from milpcb.errors import InputError, SolverMissingError, UnknownNameError, clipped
from milpcb.experiments.study.foreign import asked_for, folder_of
from milpcb.experiments.study.options import KeyProblemError, check_options, option_names, validate
from milpcb.experiments.study.sections import (
    LONGEST,
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
from milpcb.oracles import unknown_option
from milpcb.plugins import own_folder, registry, supply
from milpcb.solvers import load_solver

DEFAULT_KIND = "milp"  # as of open_oracle
LARGEST_FILE = 4 * 2**20  # bytes
SECTIONS = ("experiment", "environment", "policies", "oracle", "learners", "constraints", "run", "versions")
LISTED = ("learners", "constraints")  # always [[...]]; of environment, policies and oracle there may be one or many
KIND_OF = {"environment": "environment", "policies": "policies", "learners": "learner", "constraints": "constraint"}

T = TypeVar("T")

_log = logging.getLogger(__name__)


def read_config(path: Path, *, trusted: bool = True) -> Config:
    """Read, check and resolve a config; raises InputError with the key and its line.

    Classes that it names as ``module:Class`` are looked for in its folder. Unless it is ``trusted``, these are refused,
    and so are files of data and a scheduler.
    """
    tables, text = read_tables(path)
    return parse_config(tables, text, str(path), path.absolute().parent, trusted=trusted)


def read_tables(path: Path) -> tuple[dict[str, Any], str]:
    """Return what a config holds, unchecked, and its text; raises InputError where it is no TOML."""
    text = _read_text(path)
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # integers of thousands of digits; brackets within brackets
        reason = "it nests too deeply" if isinstance(error, RecursionError) else clipped(str(error), 300)
        raise InputError(f"{path} is not valid TOML: {reason}") from error
    if nests_deeply(tables):
        raise InputError(f"{path} nests too deeply; no config of a study does")
    return tables, text


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
            line = _line(text, section, "") or _line(text, "", section)
            raise InputError(f"{where}{line}: {UnknownNameError('section', section, SECTIONS)}")
    reader = _Reader(tables, text, where)
    run = _with_folder(reader.model("run", RunSection), tables, folder)
    own_folder.look_in(run.folder, trusted=trusted)
    if not trusted:
        run = run.model_copy(update={"folder": None})  # no task looks there
    if not reader.tables("learners"):
        raise InputError(f"{where} has no learner; add at least one [[learners]] section")
    config = Config(
        learners=reader.each("learners", reader.learner),
        experiment=reader.model("experiment", ExperimentSection),
        environments=reader.each("environment", reader.component),
        policies=reader.each("policies", reader.component),
        oracles=reader.oracles(),
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


def _read_text(path: Path) -> str:
    """Return the text of a config; raises InputError for what is no file, is too large, or is no UTF-8."""
    check_file(path, "config")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise InputError(f"cannot read config {path}: it is larger than {LARGEST_FILE // 2**20} MB")
        return content.decode("utf-8-sig")  # some editors put a byte order mark first
    except OSError as error:
        raise InputError(f"cannot read config {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read config {path}: it is not UTF-8 text") from error


def _with_folder(run: RunSection, tables: dict[str, Any], folder: Path | None) -> RunSection:
    """Return [run] with the folder that the config's own classes are in, None where it names none."""
    wanted = folder is not None and any(named_classes(tables))
    return run.model_copy(update={"folder": str(folder_of(run.folder, folder)) if folder and wanted else None})


# section -> old name of a key -> its name
_NEW_NAMES = {"run": {"checkpoint_seconds": "save_seconds"}}

# Options that the runtime knows, once the environment is there, where the config does not set them.
_KNOWN_LATER = {"policies": ("n_actions",)}


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
            return validate(model, self._renamed(section, table), f"[{section}]")

    def _renamed(self, section: str, table: dict[str, Any]) -> dict[str, Any]:
        """Return a table with the new names of its keys, each with a line; raises InputError where one has both."""
        new = _NEW_NAMES.get(section, {})
        for old in new.keys() & table.keys():
            if new[old] in table:
                raise KeyProblemError(old, f"{old} is the old name of {new[old]} in [{section}]; leave it out")
            where = f"{self._where}{self._line(section, old)}"
            _log.warning("%s: %s in [%s] is called %s now; its old name works until 0.2", where, old, section, new[old])
        return {new.get(key, key): value for key, value in table.items()}

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
        """Raise InputError where a label is taken, as two curves would then look alike."""
        self._check_labels("learners", "learners", config.learners)
        self._check_labels("environment", "[[environment]] sections", config.environments)
        self._check_labels("policies", "[[policies]] sections", config.policies)
        self._check_labels("oracle", "[[oracle]] sections", config.oracles)

    def check_experiment(self, config: Config) -> None:
        """Raise InputError for what no single value of a list shows, and for a backend that is not there."""
        experiment, run = config.experiment, config.run
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
        with self._placing("experiment"):
            players = sum(len(learner.oracles) for learner in config.learners)
            worlds = len(config.environments) * len(config.policies) * len(experiment.horizon) * len(experiment.seeds)
            if players * worlds > MOST_CELLS:
                raise InputError(f"this is a study of {players * worlds:,} cells; at most {MOST_CELLS:,} are one study")

    def check_settings(self, config: Config) -> None:
        """Make the environments and the policy classes, which is cheap: none is opened."""
        for index, section in enumerate(config.environments):
            with self._placing("environment", index, keys=self.tables("environment")[index]):
                environment = supply.make(registry.load("environment", section.name), {}, section.options)
            for number, classes in enumerate(config.policies):
                known = {} if "n_actions" in classes.options else {"n_actions": environment.n_actions}
                with self._placing("policies", number, keys=self.tables("policies")[number]):
                    supply.make(registry.load("policies", classes.name), known, classes.options)

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
        options, kind = dict(table), KIND_OF[section]
        heading = f"[[{section}]]" if isinstance(self._tables.get(section), list) else f"[{section}]"
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise InputError(f"{self._where}{self._line(section, '', index)}: {heading} needs a name, a string")
        with self._placing(section, index, "name"):
            cls = registry.load(kind, name)
        fixed = registry.KINDS[kind].supplied
        unset = tuple(key for key in _KNOWN_LATER.get(kind, ()) if key not in options)
        with self._placing(section, index):
            checked = check_options(cls, options, heading, (*fixed, *unset))
        return Component(name, checked, label or name)

    def _label(self, table: dict[str, Any], section: str, index: int) -> str:
        label = table.get("label", "")
        with self._placing(section, index, "label"):
            if not (isinstance(label, str) and escaped(label) == label):
                owner = "learner" if section == "learners" else section
                raise InputError(f"a {owner}'s label is a string on one line, got {label!r}")
            if len(label) > LONGEST:
                raise InputError(
                    f"label '{clipped(label)}' has {len(label)} characters; at most {LONGEST} can be shown"
                )
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
        """Return the common oracles with a learner's own keys put over them; equal ones once.

        Common options that the learner's own kind does not have were written for other kinds, and are left out.
        """
        found: dict[str, OracleSection] = {}
        for common in range(len(self.tables("oracle"))):
            for label, table in self._by_solver(common):
                kind = own.get("kind", table.get("kind", DEFAULT_KIND))
                known = ("kind", *self._oracle_options(kind, "learners", index))
                options = self._checked_oracle(
                    {**{key: table[key] for key in table if key in known}, **own}, "learners", index
                )
                found.setdefault(repr(options), OracleSection(label, options))
        names = [oracle_label(section.options) for section in found.values()]
        distinct = len(set(names)) == len(names)
        return tuple(
            OracleSection(name if distinct else section.label or name, section.options)
            for name, section in zip(names, found.values(), strict=True)
        )

    def _oracle_options(self, kind: Any, section: str, index: int) -> list[str]:
        with self._placing(section, index, "kind"):
            if not isinstance(kind, str):
                raise InputError(f"kind in [oracle] must be a string, got {clipped(repr(kind))}")
            return option_names(registry.load("oracle", kind), registry.KINDS["oracle"].supplied)

    def _checked_oracle(self, table: dict[str, Any], section: str, index: int) -> dict[str, Any]:
        """Return kind and options, which its class states, all defaults filled in."""
        options = {key: table[key] for key in table if key != "kind"}
        kind = table.get("kind", DEFAULT_KIND)
        own = self._oracle_options(kind, section, index)
        with self._placing(section, index, next((key for key in options if key not in own), "")):
            for key in options:
                if key not in own:
                    raise InputError(unknown_option(kind, key))
            checked = check_options(
                registry.load("oracle", kind), options, "[oracle]", registry.KINDS["oracle"].supplied
            )
        if "solver" in checked:
            with self._placing(section, index, "solver"):
                load_solver(checked["solver"])
        return {"kind": kind, **checked}

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
