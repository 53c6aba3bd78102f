"""The data of the figures: curves by panel, learners at their longest horizons, matrices over seeds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from milpcb.core.files import contents
from milpcb.errors import RunError, clipped
from milpcb.experiments.results.curves import load
from milpcb.experiments.results.figures.looks import Look, looks
from milpcb.experiments.results.figures.meaning import displayed, entries, registered, without_void
from milpcb.experiments.results.records import CONFIG
from milpcb.experiments.results.schemas import Settings, checked
from milpcb.experiments.results.slopes import mean_interval
from milpcb.types import Floats

AXES = ("environment", "policies", "oracle")
SECTIONS = {"environment": "environment", "policies": "policies", "learner": "learners"}  # by the column of the label
WIDE, NARROW = 9.0, 4.8  # inches of a figure, and of one for half a page or a phone
MANY_SEEDS = 5  # from so many on, an interval of the mean is more informative than the range


@dataclass(frozen=True)
class Panel:
    """One environment and policy class, its name (only what differs in the study) and its rows.

    Where learners play with several oracles each, there is a panel for each of these; a learner that has only one
    oracle, or none, is shown beside every one of them.
    """

    name: str
    frame: pl.DataFrame

    @cached_property
    def learners(self) -> list[str]:
        """The learners, in the order of the study."""
        return self.frame["learner"].unique(maintain_order=True).to_list()

    @cached_property
    def highest(self) -> float:
        """The highest point of all learners' mean regret."""
        return max(float(curve(self.frame, learner)[1].mean(axis=0).max()) for learner in self.learners)


@dataclass(frozen=True)
class Results:
    """The curves of a run directory, its title, and its resolved config (empty when several directories are drawn).

    ``width`` is that of its figures in inches: WIDE, or NARROW with the panels below each other.
    """

    frame: pl.DataFrame
    title: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    width: float = WIDE

    @cached_property
    def looks(self) -> dict[str, Look]:
        """The look of every learner, by its registered name."""
        return looks(self.frame["learner"].unique(maintain_order=True).to_list(), registered(self.settings, "learners"))

    @cached_property
    def finals(self) -> pl.DataFrame:
        """The last row of every finished run: that of round T."""
        return self.frame.filter(pl.col("round") == pl.col("horizon"))

    @cached_property
    def horizons(self) -> list[int]:
        """All horizons, sorted."""
        return self.frame["horizon"].unique().sort().to_list()

    @cached_property
    def seeds(self) -> int:
        """The number of seeds."""
        return self.frame["seed"].n_unique()

    @cached_property
    def longest_panels(self) -> list[Panel]:
        """The panels with the curves of each learner at its longest horizon."""
        return self.panels(longest(self.frame))

    def panels(self, frame: pl.DataFrame) -> list[Panel]:
        """Cut rows of the study into panels, in the order of the study."""
        return list(_panels(frame))


def _panels(frame: pl.DataFrame) -> Iterator[Panel]:
    several = pl.col("oracle").n_unique().over("learner") > 1  # in any world, as cells may be missing in others
    frame = frame.with_columns(several=several)
    oracles = frame.filter("several")["oracle"].unique(maintain_order=True).to_list()
    named = [axis for axis in ("environment", "policies") if frame[axis].n_unique() > 1]
    for (environment, policies), rows in frame.group_by("environment", "policies", maintain_order=True):
        world = {"environment": str(environment), "policies": str(policies)}
        names = [world[axis] for axis in named]
        asked = rows.filter("several")["oracle"].unique().to_list()
        for oracle in (oracle for oracle in oracles if oracle in asked):
            own = rows.filter((pl.col("oracle") == oracle) | ~pl.col("several"))
            yield Panel(", ".join([*names, oracle]), own.drop("several"))
        if not asked:
            yield Panel(", ".join(names), rows.drop("several"))


def read_results(directory: Path) -> Results:
    """Read curves and config of a run directory; raises RunError where it holds none."""
    frame = load(directory)
    try:
        settings: dict[str, Any] = dict(checked(Settings, tomllib.loads(contents(directory / CONFIG).decode())))
    except (OSError, ValueError, RecursionError) as error:
        reason = clipped(str(error), 200)
        raise RunError(f"cannot read {directory / CONFIG}: {reason}; run its config again into {directory}") from error
    experiment = settings["experiment"]
    title = experiment.get("title", experiment["name"].replace("_", " "))
    return in_words(Results(without_void(in_order(frame, settings), settings), title, settings))


def in_words(results: Results) -> Results:
    """Return the results with words in place of bare registered names: BISTRO+ for bistro_plus."""
    frame, settings = results.frame, dict(results.settings)
    for column, section in SECTIONS.items():
        words = displayed(settings, section)
        frame = frame.with_columns(pl.col(column).replace(words))
        tables = entries(settings, section)
        settings[section] = [{**table, "label": words.get(table["label"], table["label"])} for table in tables]
    return replace(results, frame=frame, settings=settings)


def joined(parts: Sequence[Results]) -> Results | None:
    """Return the parts of one study as one; None where they use a name for two things, or hold a run twice."""
    settings: dict[str, Any] = {}
    for section in ("environment", "policies", "oracle", "learners", "constraints"):
        tables: dict[str, dict[str, Any]] = {}
        for table in (table for part in parts for table in entries(part.settings, section)):
            if tables.setdefault(table["label"], table) != table:
                return None
        settings[section] = list(tables.values())
    frame = pl.concat([part.frame for part in parts], how="diagonal")
    once = ["learner", *AXES, "seed", "horizon", "round"]
    if frame.select(once).is_duplicated().any() or not settings["learners"]:
        return None
    return Results(in_order(frame, settings), parts[0].title, {**parts[0].settings, **settings})


def in_order(frame: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows in the order in which the config lists environments, policy classes and learners."""
    places = []
    for column, section in SECTIONS.items():
        labels = [entry["label"] for entry in entries(settings, section)]
        order = {label: place for place, label in enumerate(labels)}
        places.append(pl.col(column).replace_strict(order, default=len(order), return_dtype=pl.Int64))
    return frame.sort(places, maintain_order=True)


def longest(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of each learner at the longest horizon that it has in its environment."""
    return frame.filter(pl.col("horizon") == pl.col("horizon").max().over("learner", *AXES))


def curve(frame: pl.DataFrame, learner: str, column: str = "regret") -> tuple[Floats, Floats]:
    """Return rounds (n,) and regret (seeds, n) of one learner at one horizon, at the rounds that all its seeds have.

    Another column of numbers may be asked for in place of regret.
    """
    own = frame.filter(pl.col("learner") == learner)
    shared = own.filter(pl.len().over("round") == own["seed"].n_unique()).sort("round", "seed")
    rounds = shared["round"].unique().sort().to_numpy().astype(np.float64)
    return rounds, shared[column].to_numpy().reshape(len(rounds), -1).T


def regrets(frame: pl.DataFrame, learner: str) -> Floats:
    """Return the regret (seeds,) of one learner in rows of one panel and one round."""
    own = frame.filter(pl.col("learner") == learner).sort("seed")
    return own["regret"].to_numpy().astype(np.float64)


def spread(values: Floats) -> tuple[Floats, Floats]:
    """Return the ends (n,) of the bars and bands of values (seeds, n): the range, or the 95 % interval of the mean."""
    if len(values) < MANY_SEEDS:
        return values.min(axis=0), values.max(axis=0)
    mean, half = mean_interval(values)
    return mean - half, mean + half


def guarantee(frame: pl.DataFrame, learner: str) -> float:
    """Return the largest guarantee of a learner's rows: contexts, and so guarantees, may differ from seed to seed."""
    guarantees = frame.filter(pl.col("learner") == learner)["guarantee"].cast(pl.Float64)
    return float(guarantees.max())  # type: ignore[arg-type]  # a number: rows are never empty


def most_rounds(frame: pl.DataFrame) -> float:
    """Return the number of rounds of the rows: costs are at most 1, so no regret is above it."""
    return float(frame["round"].max())  # type: ignore[arg-type]  # a number: rows are never empty
