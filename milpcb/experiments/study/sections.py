"""A resolved config as values: the settings measured, the lists that a study multiplies, how the study is run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PositiveFloat, with_config
from typing_extensions import TypedDict

from milpcb.blocks import PLANNED
from milpcb.core.text import escaped

SECTIONS = ("experiment", "environment", "policies", "oracle", "learners", "constraints", "run", "versions")
KIND_OF = {"environment": "environment", "policies": "policies", "learners": "learner", "constraints": "constraint"}
DEFAULT_KIND = "milp"  # of an oracle, as of open_oracle
LONGEST = 200  # characters of names and labels, which become names of files and lines of pictures
MOST_CELLS = 100_000  # of one study

Contexts = Literal["pool", "order", "empirical"]
Rounds = Annotated[int, Field(gt=0, le=2**53)]  # rounds are counted in float64 too
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]  # a column of integers in every table format


def typed(keys: dict[str, Any], **settings: Any) -> Any:
    """Return the type of a table with these keys, read strictly; ``settings`` are those of pydantic's ConfigDict."""
    make, read_as = cast("Any", TypedDict), cast("ConfigDict", {"extra": "forbid", "strict": True, **settings})
    return with_config(read_as)(make("Options", keys))


def _one_line(text: str) -> str:
    if escaped(text) != text:
        raise ValueError("write it on one line, without control characters")
    return text


def _several(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else (value,)


def _distinct(values: tuple[int, ...]) -> tuple[int, ...]:
    (value, times), *_ = Counter(values).most_common(1)
    if times > 1:
        raise ValueError(f"{value} is listed twice; each one is one run")
    return values


def _folder_name(name: str) -> str:
    if not (name[0].isalnum() or name[0] == "_") or name.endswith("."):
        raise ValueError("it names the run's folder: begin with a letter, a digit or _, and do not end with a dot")
    return name


OneOrMany = BeforeValidator(_several, json_schema_input_type=Rounds | tuple[Rounds, ...])
Printed = Annotated[str, Field(min_length=1), AfterValidator(_one_line)]
Label = Annotated[str, Field(min_length=1, max_length=LONGEST), AfterValidator(_one_line)]
Name = Annotated[str, Field(pattern=r"^[\w-][\w.-]*$", max_length=100), AfterValidator(_folder_name)]


@dataclass(frozen=True, kw_only=True)
class ExperimentSection:
    """``[experiment]``: horizons, seeds, checkpoints, and what is measured.

    A curve has points at ``checkpoints`` evenly spaced rounds, and as many log-spaced ones.
    ``confidence`` adds certificates that hold with this probability for each run, at all of these rounds, and
    ``changes`` adds regret to the best sequence of policies with at most so many changes, at the ends of 20 blocks.
    ``title`` stands above the pictures and the report, ``name`` where there is none.
    """

    name: Name
    title: Label | None = None
    horizon: Annotated[tuple[Rounds, ...], OneOrMany, Field(min_length=1), AfterValidator(_distinct)]
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(_distinct)] = (0,)
    checkpoints: Annotated[int, Field(gt=0, le=1_000_000)] = 40
    confidence: Annotated[float, Field(ge=0.5, le=0.999999)] | None = None
    changes: Annotated[int, Field(ge=1, lt=PLANNED)] | None = None


@dataclass(frozen=True, kw_only=True)
class RunSection:
    """``[run]``: where results go, the folder of own classes, and who computes: none of it changes a number."""

    out: Printed | None = None
    folder: Printed | None = None
    backend: str | None = None
    workers: Annotated[int, Field(gt=0, le=1024)] | None = None
    scheduler: str | None = None
    save_seconds: PositiveFloat = 5.0


@dataclass(frozen=True, kw_only=True)
class OwnKeys:
    """Keys of a section, beside the options of the class that it names."""

    label: Annotated[Label, Field(description="its name in curves and tables")] | None = None


@dataclass(frozen=True, kw_only=True)
class LearnerKeys(OwnKeys):
    """Keys of ``[[learners]]``, with an oracle of its own, its knowledge of contexts and its longest horizon."""

    oracle: dict[str, Any] | None = None
    contexts: Annotated[Contexts, Field(description="its knowledge of future contexts")] = "pool"
    max_horizon: Annotated[int, Field(gt=0, description="the longest horizon that it plays")] | None = None


@dataclass(frozen=True)
class Component:
    """A registered name (of an oracle its kind, with its solver), all options, and its ``label`` in curves."""

    name: str
    options: dict[str, Any]
    label: str = ""

    def labelled(self) -> dict[str, Any]:
        """Return the label, where it is not the name, and the options."""
        return {**({} if self.label in {"", self.name} else {"label": self.label}), **self.options}

    def table(self) -> dict[str, Any]:
        """Return the section as a config has it."""
        return {"name": self.name, **self.labelled()}


@dataclass(frozen=True, kw_only=True)
class LearnerSection(Component):
    """One ``[[learners]]`` section: ``oracle`` is its own table, {} for the common ``oracles``."""

    oracle: dict[str, Any]
    oracles: tuple[Component, ...]
    contexts: Contexts = "pool"
    max_horizon: int | None = None

    def table(self) -> dict[str, Any]:
        """Return the section as a config has it."""
        own = {"contexts": self.contexts, "max_horizon": self.max_horizon}
        oracle = {"oracle": self.oracle} if self.oracle else {}
        return {"label": self.label, "name": self.name, **self.options, **own, **oracle}


@dataclass(frozen=True)
class Config:
    """A whole resolved config: every combination of its lists is a cell of the study."""

    experiment: ExperimentSection
    environments: tuple[Component, ...]
    policies: tuple[Component, ...]
    oracles: tuple[Component, ...]
    constraints: tuple[Component, ...]
    learners: tuple[LearnerSection, ...]
    run: RunSection

    def table(self) -> dict[str, Any]:
        """Return everything but the run directory's own name, as plain data without Nones."""
        experiment, run = asdict(self.experiment), asdict(self.run)
        del run["out"]
        tables = {
            "experiment": {**experiment, "horizon": _one_or_all(experiment["horizon"])},
            "environment": _one_or_all([section.table() for section in self.environments]),
            "policies": _one_or_all([section.table() for section in self.policies]),
            "oracle": _one_or_all([section.labelled() for section in self.oracles]),
            "learners": [learner.table() for learner in self.learners],
            "constraints": [section.table() for section in self.constraints],
            "run": run,
        }
        return {key: _plain(value) for key, value in tables.items() if value != []}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _one_or_all(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else values
