"""Schemas of the files in a run directory: a checksum shows damage alone, as anybody can write a file with one."""

from functools import cache
from typing import Annotated, Any, NotRequired, cast

from pydantic import Field, TypeAdapter, ValidationError

from milpcb.errors import clipped
from milpcb.experiments.study.sections import MOST_CELLS, typed

_list, _sometimes = cast("tuple[Any, ...]", (list, NotRequired))  # of values, not of types


def table(*, closed: bool = True, **keys: Any) -> Any:
    """Return the schema of a table with these keys; others are refused, unless the table is not ``closed``."""
    # Patterns are read by Python, as the names of files are made of its letters.
    return typed(keys, extra="forbid" if closed else "allow", regex_engine="python-re")


Key = Annotated[str, Field(pattern=r"^[0-9a-f]{16}\Z")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\Z")]
Text = Annotated[str, Field(max_length=2000)]  # a label, or a title, which is made of labels
Short = Annotated[str, Field(max_length=100)]
File = Annotated[str, Field(max_length=200, pattern=r"^best_policy_[\w.+-]+\Z")]
Versions = Annotated[dict[Short, Short], Field(max_length=100)]
Whole = Annotated[int, Field(ge=0, le=2**53)]
Round = Annotated[int, Field(ge=1, le=2**53)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Number = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]

# study.json: cells with the labels that curves call them by; policies with the names of their files.
Cells = table(
    key=Key, comparator=Key, learner=Text, environment=Text, policies=Text, oracle=Text, seed=Seed, horizon=Round
)
Comparators = table(key=Key, title=Text, file=File, horizon=Round, seed=Seed, draw=bool)

Several = Field(min_length=1, max_length=MOST_CELLS)
Index = table(
    format=int,
    name=Short,
    cells=Annotated[_list[Cells], Several],
    comparators=Annotated[_list[Comparators], Several],
    written=list[Text],
)

# A point of a curve: a saved state, cells/KEY.part, has a list of them, and a record, cells/KEY.json, their columns.
POINT: dict[str, Any] = {
    "cumulative_cost": Number,
    "certificate": Number | None,
    "certificate_error": Number | None,
    "bound": Number | None,
    "oracle_error": float,
    "oracle_calls": Whole,
    "seconds": Number,
    "oracle_seconds": Number,
}
PERHAPS: dict[str, Any] = {"rule_changes": Whole | None, "confident": Number | None}
FINISHED: dict[str, Any] = {"key": Key, "rounds": Annotated[list[Round], Field(min_length=1)], "versions": Versions}
CellRecord = table(
    **FINISHED,
    guarantee=Number | None,
    **{name: _list[kind] for name, kind in POINT.items()},
    **{name: _sometimes[_list[kind]] for name, kind in PERHAPS.items()},
    confidence=NotRequired[Annotated[float, Field(ge=0.5, le=0.999999)]],
    leader=NotRequired[str],
)
ComparatorRecord = table(
    **FINISHED,
    best_cost=list[Number],
    changes=NotRequired[Whole],
    in_turn=NotRequired[list[Number]],
    sequence=NotRequired[table(after=_list[Round], cost=_list[Number], random=_list[Number])],
    policy=str,
    drawing=NotRequired[str],
)
SavedState = table(  # the learner checks its own state
    key=Key,
    versions=Versions,
    round=Whole,
    cost=Number,
    seconds=Number,
    learner=dict[str, Any],
    actions=dict[str, Any],
    oracle=Annotated[list[Number], Field(min_length=2, max_length=2)] | None,
    points=_list[table(rounds=Round, **POINT, **{name: _sometimes[kind] for name, kind in PERHAPS.items()})],
)
KeptCosts = table(key=Key, data=Any)  # costs/KEY.json: the environment checks its own data

# learned.json, in a folder of ``milpcb learn``: digests of the files there.
Learned = table(written=Annotated[dict[Text, Annotated[list[Digest], Field(max_length=100)]], Field(max_length=100)])

# config.toml, as far as pages and figures read it.
Section = table(closed=False, name=NotRequired[Text], label=NotRequired[Text])
Sections = _sometimes[Section | _list[Section]]
Settings = table(
    experiment=table(closed=False, name=Short, seeds=NotRequired[list[Seed]]),
    environment=Sections,
    policies=Sections,
    oracle=Sections,
    learners=_sometimes[_list[Section]],
    constraints=Sections,
    run=_sometimes[Section],
    versions=_sometimes[Section],
)

_adapter = cache(TypeAdapter)


def checked(schema: Any, data: Any) -> dict[str, Any]:
    """Return plain data of a schema; raises ValueError with the place and the reason on one line."""
    try:
        return dict(_adapter(schema).validate_python(data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(clipped(str(part), 40) for part in first["loc"])
        raise ValueError(f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}") from error
