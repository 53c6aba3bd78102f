"""A resolved config as values: what is measured, the lists that a study multiplies, how it is run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PositiveFloat

from milpcb.blocks import PLANNED

Contexts = Literal["pool", "order", "empirical"]
NAME = r"^[\w-][\w.-]*$"  # of the folder of a run; no path, and nothing hidden
PATH = r"^[^\x00-\x1f\x7f]+$"  # a path that can be printed
LONGEST = 200  # characters of names and labels, which become names of files and lines of pictures
MOST_CELLS = 100_000  # of one study
Rounds = Annotated[int, Field(gt=0, le=2**53)]  # rounds are counted in float64 too
Seed = Annotated[int, Field(le=2**63 - 1)]  # a column of integers in every table format


def _several(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else (value,)


def _folder_name(name: str) -> str:
    """Return a name that can be that of a folder in runs/, on every system: no '..', none that a device has."""
    if not (name[0].isalnum() or name[0] == "_") or name.endswith("."):
        raise ValueError("a run's folder is called so: begin with a letter, a digit or _, and do not end with a dot")
    if re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", name, re.IGNORECASE):
        raise ValueError("a run's folder is called so, and Windows keeps this name for a device")
    return name


class ExperimentSection(BaseModel):
    """``[experiment]``: what is measured.

    A curve has a point at each of its ``checkpoints``: so many evenly spaced rounds, and as many log-spaced ones.
    ``confidence`` asks for certificates that hold with it for each single run, at every one of these rounds, and
    ``changes`` for regret to the best policies in turn that change so often at most, at the ends of 20 blocks.
    ``title`` stands above the pictures and the report, ``name`` where there is none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: Annotated[str, Field(pattern=NAME, max_length=100), AfterValidator(_folder_name)]
    title: Annotated[str, Field(pattern=PATH, max_length=LONGEST)] | None = None
    horizon: Annotated[tuple[Rounds, ...], BeforeValidator(_several), Field(min_length=1)]
    seeds: tuple[Seed, ...] = Field(default=(0,), min_length=1)
    checkpoints: Annotated[int, Field(gt=0, le=1_000_000)] = 40
    confidence: Annotated[float, Field(ge=0.5, le=0.999999)] | None = None
    changes: Annotated[int, Field(ge=1, lt=PLANNED)] | None = None


class RunSection(BaseModel):
    """``[run]``: where the results go, how they are drawn, and who computes them; none of it changes a number.

    ``folder`` is where classes are that the config names as ``module:Class``: its own folder, unless another is given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    out: Annotated[str, Field(pattern=PATH)] | None = None
    folder: Annotated[str, Field(pattern=PATH)] | None = None
    loglog: bool = False
    backend: str | None = None
    workers: Annotated[int, Field(gt=0, le=1024)] | None = None
    scheduler: str | None = None
    save_seconds: PositiveFloat = 5.0


@dataclass(frozen=True)
class Component:
    """A registered name and its options, all defaults filled in; ``label`` is what curves call it."""

    name: str
    options: dict[str, Any]
    label: str = ""

    def table(self) -> dict[str, Any]:
        """Return the section as it would be written."""
        return {"name": self.name, **_unless_default(self.label, self.name), **self.options}


@dataclass(frozen=True)
class OracleSection:
    """The kind of an oracle and the options of that kind, all defaults filled in, and what curves call it."""

    label: str
    options: dict[str, Any]

    def table(self) -> dict[str, Any]:
        """Return the section as it would be written."""
        return {**_unless_default(self.label, oracle_label(self.options)), **self.options}


@dataclass(frozen=True)
class LearnerSection:
    """One ``[[learners]]`` section: ``label`` is its name in curves.

    ``oracle`` holds the keys that replace those of every common oracle, ``oracles`` what comes out, one for each.
    ``contexts`` is what the learner knows of contexts to come; it is left out at horizons beyond ``max_horizon``.
    """

    label: str
    component: Component
    oracle: dict[str, Any]
    oracles: tuple[OracleSection, ...]
    contexts: Contexts = "pool"
    max_horizon: int | None = None

    def table(self) -> dict[str, Any]:
        """Return the section as it would be written."""
        own = {"contexts": self.contexts, "max_horizon": self.max_horizon}
        return {
            "label": self.label,
            **self.component.table(),
            **own,
            **({"oracle": self.oracle} if self.oracle else {}),
        }


@dataclass(frozen=True)
class Config:
    """A whole resolved config: every combination of its lists is a cell of the study."""

    experiment: ExperimentSection
    environments: tuple[Component, ...]
    policies: tuple[Component, ...]
    oracles: tuple[OracleSection, ...]
    constraints: tuple[Component, ...]
    learners: tuple[LearnerSection, ...]
    run: RunSection

    def table(self) -> dict[str, Any]:
        """Return everything but the run directory's own name, as plain data without Nones."""
        experiment = self.experiment.model_dump()
        tables = {
            "experiment": {**experiment, "horizon": _one_or_all(experiment["horizon"])},
            "environment": _one_or_all([section.table() for section in self.environments]),
            "policies": _one_or_all([section.table() for section in self.policies]),
            "oracle": _one_or_all([section.table() for section in self.oracles]),
            "learners": [learner.table() for learner in self.learners],
            "constraints": [section.table() for section in self.constraints],
            "run": self.run.model_dump(exclude={"out"}),
        }
        return {key: _plain(value) for key, value in tables.items() if value != []}


def oracle_label(options: dict[str, Any]) -> str:
    """Return what an oracle is called that has no label: its kind, with its solver where it uses one."""
    return f"{options['kind']}:{options['solver']}" if "solver" in options else str(options["kind"])


def _plain(value: Any) -> Any:
    """Return nested plain data: no tuples, no Nones (TOML has none)."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _unless_default(label: str, default: str) -> dict[str, str]:
    return {} if label in {"", default} else {"label": label}


def _one_or_all(values: Any) -> Any:
    return values[0] if len(values) == 1 else values
