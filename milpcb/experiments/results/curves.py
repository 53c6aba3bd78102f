"""The curves of a run as one frame, put together from its records."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from milpcb.core.files import remove
from milpcb.errors import InputError, RunError, shown
from milpcb.experiments.results import RECOVERY, TURNS, confident_column
from milpcb.experiments.results.store import RunDirectory, read_index, read_record
from milpcb.experiments.study.cells import NO_ORACLE
from milpcb.types import Floats

CSV = "curves.csv"

# Costs and regret in the environment's cost units. Only seconds and oracle_seconds differ between two runs of one
# config.
_PAID = ("cumulative_cost", "best_cost", "regret")
_BOUNDS = ("guarantee", "certificate", "certificate_error", "bound", "oracle_error")
SCHEMA = {
    **dict.fromkeys(("learner", "environment", "policies", "oracle"), pl.String),
    **dict.fromkeys(("seed", "horizon", "round"), pl.Int64),
    **dict.fromkeys((*_PAID, *_BOUNDS), pl.Float64),
    "oracle_calls": pl.Int64,
    **dict.fromkeys(("rule_changes", "seconds", "oracle_seconds"), pl.Float64),
    "key": pl.String,
}
ORDER = list(SCHEMA)[:7]
UNKNOWN = float("nan")
CONFIDENCE = 0.95
WINDOW = 1 / 40  # of all rounds, over which the pace of regret is taken
ROUNDING = 1e-6  # costs; a regret below is the rounding of sums, and its logarithm means nothing


def load(directory: str | Path) -> pl.DataFrame:
    """Return the finished curves of a run directory, one row for each checkpoint of each cell; raises RunError.

    Columns: learner, environment, policies, oracle (labels; "-" for a learner that asks none), seed, horizon, round,
    cumulative_cost (expected, sum of <q_t, c_t>), best_cost (of the best policy in hindsight after as many rounds),
    regret, guarantee (bound on expected regret at the horizon, inf where there is none), certificate (a bound that
    a run computes: the mean over runs bounds mean regret, one run's regret may lie above its own) and
    certificate_error (its standard error; both NaN where no oracle answered), bound (what the learner's own analysis
    gives of this run, like a certificate; NaN where it gives none), oracle_error (what inexact oracle answers may have
    added so far), oracle_calls, rule_changes (how often the rule in force has changed; NaN where none is), seconds (of
    the learner, its oracle included; certificates are no part of either), oracle_seconds, key. Where the config asks
    for a confidence of 0.95 there is certificate_95 too, which the regret of the actions that this run played exceeds,
    at any of all rounds, with a chance of 5 % at most; where it asks for changes = 3, regret_to_4 too, to the best 4
    policies in turn, and recovery, the mean number of rounds from a change of these until regret to them grows at no
    more than a quarter of random choice's pace, seen at checkpoints (as far as the next change where it never does).

    Parameters
    ----------
    directory : the path of a run directory, as ``milpcb run`` made it

    """
    if not isinstance(directory, (str, Path)):
        raise InputError(f"load needs the path of a run directory, got {shown(directory)}")
    path = Path(directory)
    frame = assemble(path)
    if frame.is_empty():
        raise RunError(f"{path} holds no finished curve yet; milpcb resume goes on with it")
    return frame


def assemble(path: Path) -> pl.DataFrame:
    """Return the sorted curves of every cell that has a record, and whose comparator has one."""
    frame = pl.concat([pl.DataFrame(schema=SCHEMA), *_curves(path)], how="diagonal")
    further = set(frame.columns) - set(SCHEMA)
    regrets = {name for name in further if name == RECOVERY or name.startswith(TURNS)}
    after = {"regret": sorted(regrets, reverse=True), "certificate_error": sorted(further - regrets)}
    columns = [each for name in SCHEMA for each in (name, *after.get(name, ()))]
    frame = frame.with_columns(regret=pl.col("cumulative_cost") - pl.col("best_cost"))
    return frame.select(columns).with_columns(pl.col(pl.Float64).fill_null(UNKNOWN)).sort(ORDER)


def write_curves(directory: RunDirectory) -> None:
    """Collect the curves and write them as CSV; there is no file where there is no curve."""
    frame = assemble(directory.path)
    if frame.is_empty():
        remove(directory.path / CSV)  # that of an earlier config
    else:
        directory.write(CSV, csv_text(frame).encode())


def csv_text(frame: pl.DataFrame) -> str:
    """Return the frame as CSV; an apostrophe stands before strings that a spreadsheet would run as formulas."""
    text = pl.col(pl.String)
    risky = text.str.contains(r"^[=+\-@\t\r\n'\uFF1D\uFF0B\uFF0D\uFF20]") & (text != NO_ORACLE)
    return frame.with_columns(pl.when(risky).then("'" + text).otherwise(text).name.keep()).write_csv()


def _curves(path: Path) -> Iterator[pl.DataFrame]:
    index = read_index(path)
    best: dict[str, dict[str, Any] | None] = {}
    for cell in index["cells"]:
        comparator = cell.pop("comparator")
        if comparator not in best:  # cells of one comparator follow each other
            best = {comparator: read_record(path, "comparator", comparator, cell["horizon"])}
        measured, record = best[comparator], read_record(path, "cell", cell["key"], cell["horizon"])
        if measured is None or record is None or measured["rounds"] != record["rounds"]:
            continue
        guarantee = record["guarantee"]
        columns = {
            **cell,
            "round": record["rounds"],
            "best_cost": measured["best_cost"],
            **{name: record[name] for name in SCHEMA if isinstance(record.get(name), list)},
            "guarantee": float("inf") if guarantee is None else guarantee,
            **_asked_for(measured, record),
        }
        yield pl.DataFrame(columns, schema_overrides={name: SCHEMA.get(name, pl.Float64) for name in columns})


def _asked_for(measured: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if {"confidence", "confident"} <= record.keys():
        found[confident_column(record["confidence"])] = record["confident"]
    if {"changes", "in_turn"} <= measured.keys():
        pairs = zip(record["cumulative_cost"], measured["in_turn"], strict=True)
        found[f"{TURNS}{measured['changes'] + 1}"] = [paid - least for paid, least in pairs]
    if "sequence" in measured:
        found[RECOVERY] = recovery(record["rounds"], record["cumulative_cost"], **measured["sequence"])
    return found


def recovery(
    rounds: Sequence[int], paid: Sequence[float], cost: Sequence[float], random: Sequence[float], after: Sequence[int]
) -> float:
    """Return the mean number of rounds after a change until a learner follows it; NaN without a change.

    ``paid``, ``cost`` and ``random`` (n,) are total costs after the ``rounds`` (n,): of the learner, of the best
    policies in turn, which change after the rounds ``after``, and of random choice. A learner follows at the first
    checkpoint before which, over a WINDOW of all rounds since the change, its regret grew by at most a quarter of that
    of random choice; the next change ends the search.
    """
    at, own, chance = np.asarray(rounds), np.subtract(paid, cost), np.subtract(random, cost)
    found = []
    for start, end in pairwise((*after, at[-1])):
        here = np.flatnonzero((start <= at) & (at <= end))
        before = np.searchsorted(at, at[here] - WINDOW * at[-1], side="right") - 1
        here, before = here[before >= here[:1]], before[before >= here[:1]]
        follows = own[here] - own[before] <= (chance[here] - chance[before]) / 4
        found.append((at[here[follows]][0] if follows.any() else end) - start)
    return float(np.mean(found)) if found else UNKNOWN


def mean_interval(values: Floats) -> tuple[Floats, Floats]:
    """Return mean (n,) and half the width (n,) of its 95 % interval over values (seeds, n); NaN for one seed."""
    n = len(values)
    if n < 2:
        return values.mean(axis=0), np.full(values.shape[1], np.nan)
    error = values.std(axis=0, ddof=1) / np.sqrt(n)
    student = float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2))
    return values.mean(axis=0), error * student
