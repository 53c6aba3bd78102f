"""Schemas of the files in a run directory. A checksum shows damage; a schema shows that a file is well formed.

Whoever makes a directory can write any checksum, so nothing that is read back is used before it has passed: keys are
the names of files, names of policies' files lead nowhere else, pictures are png or svg, numbers are numbers.
"""

from __future__ import annotations

import re
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,  # pydantic brings it, and asks for it before Python 3.12
    TypeVar,
)

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from milpcb.errors import clipped
from milpcb.experiments.study.cells import FORMAT
from milpcb.experiments.study.sections import MOST_CELLS

T = TypeVar("T")
CLOSED = ConfigDict(extra="forbid", strict=True)
OPEN = ConfigDict(extra="allow", strict=True)  # of what has keys of its own, which nothing here reads


def _policy_file(name: str) -> str:
    """Return a name that a policy's file can have; read by Python's own letters, as the names are made."""
    if re.fullmatch(r"(best_policy|leader)_[\w.+-]+", name) is None:
        raise ValueError("it is no name of a policy's file")
    return name


Key = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, Field(max_length=2000)]  # a label, or a title, which is made of labels
File = Annotated[str, Field(max_length=200), AfterValidator(_policy_file)]
Version = Annotated[str, Field(max_length=100)]
Versions = Annotated[dict[Version, Version], Field(max_length=100)]
Whole = Annotated[int, Field(ge=0, le=2**53)]
Round = Annotated[int, Field(ge=1, le=2**53)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Number = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
Confidence = Annotated[float, Field(ge=0.5, le=0.999999)]
Actions = Annotated[str, Field(pattern=r"^[0-9a-z]*$")]
Pictures = dict[Literal["png", "svg"], Digest]


@with_config(CLOSED)
class CellEntry(TypedDict):
    """A cell in study.json, with the labels that curves call it by."""

    key: Key
    comparator: Key
    learner: Text
    environment: Text
    policies: Text
    oracle: Text
    seed: Seed
    horizon: Round


@with_config(CLOSED)
class ComparatorEntry(TypedDict):
    """A best policy in hindsight in study.json, with the name of its files."""

    key: Key
    title: Text
    file: File
    horizon: Round
    seed: Seed
    draw: bool


@with_config(CLOSED)
class LeaderEntry(TypedDict):
    """A drawn policy that a learner ended with in study.json."""

    key: Key
    title: Text
    file: File
    horizon: Round
    comparator: Key


@with_config(CLOSED)
class Index(TypedDict):
    """study.json."""

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    name: Annotated[str, Field(max_length=100)]
    cells: Annotated[list[CellEntry], Field(min_length=1, max_length=MOST_CELLS)]
    comparators: Annotated[list[ComparatorEntry], Field(min_length=1, max_length=MOST_CELLS)]
    leaders: Annotated[list[LeaderEntry], Field(max_length=MOST_CELLS)]
    written: list[Text]


@with_config(CLOSED)
class CellRecord(TypedDict):
    """cells/KEY.json of a cell: a curve by columns, and the policy that the learner ended with."""

    key: Key
    guarantee: Number | None
    rounds: Annotated[list[Round], Field(min_length=1)]
    cumulative_cost: list[Number]
    certificate: list[Number | None]
    certificate_error: list[Number | None]
    bound: list[Number | None]
    oracle_error: list[float]
    oracle_calls: list[Whole]
    rule_changes: NotRequired[list[Whole | None]]
    seconds: list[Number]
    oracle_seconds: list[Number]
    confidence: NotRequired[Confidence]
    confident: NotRequired[list[Number | None]]
    leader: NotRequired[str]
    actions: NotRequired[Actions | None]
    pictures: Pictures
    versions: Versions


@with_config(CLOSED)
class ComparatorRecord(TypedDict):
    """cells/KEY.json of a comparator: costs of the best policy after each round, and the policy of the last one."""

    key: Key
    rounds: Annotated[list[Round], Field(min_length=1)]
    best_cost: list[Number]
    changes: NotRequired[Whole]
    in_turn: NotRequired[list[Number]]
    policy: str
    actions: Actions | None
    pictures: Pictures
    versions: Versions


@with_config(CLOSED)
class Point(TypedDict):
    """A point of a curve, as a saved state keeps it."""

    rounds: Round
    cumulative_cost: Number
    certificate: Number | None
    certificate_error: Number | None
    bound: Number | None
    oracle_error: float
    oracle_calls: Whole
    rule_changes: NotRequired[Whole | None]
    seconds: Number
    oracle_seconds: Number
    confident: NotRequired[Number | None]


@with_config(CLOSED)
class SavedState(TypedDict):
    """cells/KEY.part: a play that is not over; the learner checks its own state."""

    key: Key
    versions: Versions
    round: Whole
    cost: Number
    seconds: Number
    learner: dict[str, Any]
    actions: dict[str, Any]
    oracle: Annotated[list[Number], Field(min_length=2, max_length=2)] | None
    points: list[Point]


@with_config(CLOSED)
class KeptCosts(TypedDict):
    """costs/KEY.json: what an environment keeps, which it checks itself."""

    key: Key
    data: Any


@with_config(OPEN)
class LivePosition(TypedDict):
    """live/KEY.json: how far a task is."""

    first: NotRequired[Whole]
    started: Number
    round: Whole
    cost: Number


@with_config(CLOSED)
class Learned(TypedDict):
    """learned.json, in a folder of ``milpcb learn``: the files that were written there, with the digests they had."""

    written: Annotated[dict[Text, Annotated[list[Digest], Field(max_length=100)]], Field(max_length=100)]


@with_config(CLOSED)
class CountedBlock(TypedDict):
    """The sums over 2^level files of a log: those to learn from and those kept aside, as base64."""

    level: Annotated[int, Field(ge=0, le=60)]
    parts: Annotated[list[str], Field(min_length=1, max_length=2)]


@with_config(CLOSED)
class Counted(TypedDict):
    """counted.json, in a folder of ``milpcb learn``: the sums over the first files of a log; ``of`` is of which."""

    of: Digest
    blocks: Annotated[list[CountedBlock], Field(max_length=60)]


@with_config(OPEN)
class Section(TypedDict):
    """A table of config.toml, as far as pages and figures read it."""

    name: NotRequired[Text]
    label: NotRequired[Text]


@with_config(OPEN)
class Experiment(TypedDict):
    """``[experiment]`` of config.toml, as far as pages and figures read it."""

    name: Annotated[str, Field(max_length=100)]
    seeds: NotRequired[list[Seed]]


@with_config(CLOSED)
class Settings(TypedDict):
    """config.toml, as far as pages and figures read it."""

    experiment: Experiment
    environment: NotRequired[Section | list[Section]]
    policies: NotRequired[Section | list[Section]]
    oracle: NotRequired[Section | list[Section]]
    learners: NotRequired[list[Section]]
    constraints: NotRequired[Section | list[Section]]
    run: NotRequired[Section]
    versions: NotRequired[Section]


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def checked(schema: type[T], data: Any) -> T:
    """Return plain data of a schema; raises ValueError with the place and the reason on one line."""
    if schema not in _ADAPTERS:
        _ADAPTERS[schema] = TypeAdapter(schema)
    try:
        found: T = _ADAPTERS[schema].validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(clipped(str(part), 40) for part in first["loc"])
        raise ValueError(f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}") from error
    return found
