"""Origin of a policy in policy.json: the log that it was learnt from, and the settings to read another log."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from milpcb.data.columns import Values
from milpcb.data.fields import Field, UnfitError
from milpcb.data.schema import Schema, read_columns
from milpcb.errors import InputError
from milpcb.estimators.inputs import Columns
from milpcb.logs.findings import Findings
from milpcb.logs.read import EMPTY
from milpcb.logs.source import Source, actions_in
from milpcb.rng import Words, mixed

ACTION, OUTCOME = "\0action", "\0outcome"  # whatever these two columns are called


def digest(source: Source, features: Iterable[str]) -> str | None:
    """Return a digest of actions, outcomes and some columns; None where the log lacks one of these."""
    names = tuple(features)
    if not set(names) <= set(source.table.columns):
        return None
    columns = read_columns(source.table, source.table.columns, names)
    done = np.array(source.log.actions, dtype=object)[source.log.action]
    named = {**columns, ACTION: done, OUTCOME: source.log.outcome}
    with np.errstate(over="ignore"):  # of the rows as a multiset, each of them a sum over its named entries
        rows = sum(mixed(_words(column) ^ _word(f"column {name}")) for name, column in named.items())
    return hashlib.blake2b(np.sort(np.asarray(rows)).tobytes(), digest_size=16).hexdigest()


def _words(column: Values) -> Words:
    """Return 64 bits (n,) for each entry, of its number (or boolean) or text; equal for all missing ones."""
    if column.dtype != object:
        numbers = np.where(np.isnan(column), np.nan, np.asarray(column, dtype=float) + 0.0)  # -0 is 0
        return np.ascontiguousarray(numbers).view(np.uint64)
    listed = column.tolist()
    of_number = {
        each: np.nan if each is None else float(each) + 0.0 for each in set(listed) if not isinstance(each, str)
    }
    known = {each: np.uint64(np.array(number).view(np.uint64)) for each, number in of_number.items()}
    known |= {each: _word(f"text {each}") for each in set(listed) - set(known)}
    return np.array([known[entry] for entry in listed], dtype=np.uint64)


def _word(text: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))


ORIGIN = "learnt_from"  # the key of policy.json under which it stands


@dataclass(frozen=True)
class Origin:
    """Log and settings that a policy was learnt from."""

    rows: int  # how many there were
    # of what was done, what came of it and the features, see milpcb.logs.origin; None where rows were not kept
    digest: str | None
    schema: Schema  # the features, and what was done and what came of it, by their roles
    maximise: bool  # whether more of the outcome is better
    unit: str  # what outcomes are in, such as "$"; "" for no word

    @classmethod
    def of(cls, found: Findings) -> Self:
        """Return the origin for a log and its findings; without a digest after one pass, which leaves only a sample."""
        source = found.source
        known = None if found.files else digest(source, source.frame.columns)
        return cls(found.n, known, schema_of(source), source.columns.maximise, found.questions.unit)

    @classmethod
    def read(cls, document: Any) -> Self | None:
        """Return the origin that ``document`` wrote; None for anything else, such as a damaged entry."""
        try:
            schema = Schema.of_document(document["schema"])
            found = cls(**{**document, "schema": schema})
        except (AttributeError, LookupError, TypeError, ValueError):
            return None
        return found if {"action", "outcome"} <= {field.role for field in schema.fields} else None

    def document(self) -> dict[str, Any]:
        """Return the origin as plain data."""
        return {**vars(self), "schema": self.schema.document()}

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that policies could read."""
        return self._called("feature")

    @property
    def outcome(self) -> str:
        """The column of outcomes."""
        return self._called("outcome")[0]

    def completed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a command, with the columns of actions and outcomes where neither is named."""
        (action,) = self._called("action")
        found = {**given, "action": given["action"] or action}
        if given["reward"] is None and given["cost"] is None:
            found["reward" if self.maximise else "cost"] = self.outcome
        return found

    def is_of(self, source: Source) -> bool:
        """Return whether a log is the one that the policy was learnt from."""
        return self.digest is not None and self.digest == digest(source, self.features)

    def applied(self, columns: Columns, name: str) -> Columns:
        """Return the roles of the columns of another log, with the features and marks of missing values of this one.

        Raises InputError where other features, or the same outcome with the other sign, are named to policy ``name``.
        """
        if set(columns.features or self.features) - {*columns.leave_out} != set(self.features):
            raise InputError(f"{name} was learnt from other columns; leave --features and --leave-out out")
        if columns.outcome == self.outcome and columns.maximise != self.maximise:
            option = f"--{'reward' if self.maximise else 'cost'} {self.outcome}"
            raise InputError(f"{name} was learnt with {option}; name the outcome so here too")
        taken = (columns.action, columns.outcome, *columns.propensity, columns.group, columns.weight)
        own = tuple(feature for feature in self.features if feature not in taken)
        marks = (mark for field in self.schema.fields if field.role == "outcome" for mark in field.missing_as)
        return replace(columns, missing=tuple(dict.fromkeys((*marks, *columns.missing))), features=own)

    def check(self, frame: pl.DataFrame) -> None:
        """Raise InputError where a column of another log holds another kind of values."""
        there = [name for name in self.features if name in frame.columns]
        try:
            self.schema.allowing_missing().read(frame.select(there), there)
        except UnfitError as error:
            raise error.of_file() from error

    def _called(self, role: str) -> tuple[str, ...]:
        return tuple(field.name for field in self.schema.fields if field.role == role)


def as_logged(estimator: Any, source: Source) -> None:
    """Make a fitted estimator return actions as the log has them, and read its marks and strings of all its rows."""
    estimator.actions_ = actions_in(source)
    known = Schema(tuple(_with_all(field, source.frame[field.name]) for field in estimator.schema_.fields))
    names, estimator.schema_ = estimator.policy_.names, Schema(tuple(_marked(known, source)))
    estimator.policy_ = estimator.policy_.with_columns(estimator.schema_, names.columns, names.actions)


def schema_of(source: Source) -> Schema:
    """Return the features of a log as they were read, with the columns of actions and outcomes."""
    columns, marks = source.columns, source.columns.missing
    features = _marked(Schema.infer(source.frame), source)
    done = Field(columns.action, "category", source.log.actions, role="action", missing_as=marks)
    ends = (float(source.log.outcome.min()), float(source.log.outcome.max()))
    return Schema((*features, done, Field(columns.outcome, "number", ends, role="outcome", missing_as=marks)))


def _with_all(field: Field, column: pl.Series) -> Field:
    """Return a field that knows all values of its column; whether a number is missing is a matter of the rule."""
    if field.is_number:
        return field
    there = set(column.drop_nulls().unique().to_list()) if field.texts else set()
    values = (*field.values, *sorted(there - set(field.values)))
    order = tuple if field.kind == "ordered category" else sorted
    return replace(field, values=tuple(order(values)), missing=field.missing or column.null_count() > 0)


def _marked(schema: Schema, source: Source) -> Iterator[Field]:
    """Yield the fields of features with the marks that were named, and those that were found in each."""
    for field in schema.fields:
        found = (mark for mark in source.missing.get(field.name, {}) if mark != EMPTY)
        yield replace(field, missing_as=tuple(dict.fromkeys((*source.columns.missing, *found))))
