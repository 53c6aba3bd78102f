"""The data of the figures: curves by panel, final rows by learner, and their meaning by the config."""

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
from milpcb.experiments.results.curves import load, mean_interval
from milpcb.experiments.results.figures.line_styles import DISPLAYED, LineStyle, line_styles
from milpcb.experiments.results.schemas import Settings, checked
from milpcb.experiments.results.store import CONFIG
from milpcb.experiments.study.cells import NO_ORACLE
from milpcb.types import Floats

SECTIONS = {"environment": "environment", "policies": "policies", "learner": "learners"}  # by the column of the label
WIDE, NARROW = 9.0, 4.8  # inches of a figure, and of one for half a page or a phone
MANY_SEEDS = 5  # from so many on, an interval of the mean is more informative than the range
COMPARATORS, INFORMED = ("best_in_hindsight",), ("hedge",)  # they know all costs beforehand, or see all of a round
# Learners whose guarantee is for i.i.d. rounds, and environments that are such. They are listed, as
# reports and figures import no class of a study; a test compares the list of learners with the classes.
FOR_ONE_LAW = {
    *("epoch_greedy", "epsilon_greedy", "explore_then_commit", "ilovetoconbandits"),
    *("policy_elimination", "randomized_ucb"),
}
OF_ONE_LAW = {"planted", "parity", "supervised"}
LAST = pl.col("round") == pl.col("horizon")  # the last row of a run


@dataclass(frozen=True)
class Panel:
    """One environment and policy class, its name (only what differs in the study) and its rows.

    Where learners play with several oracles each, there is a panel for each; others are shown beside every one of them.
    Curves and ends are those of each learner at the longest horizon that it has.
    """

    name: str
    frame: pl.DataFrame

    @cached_property
    def finals(self) -> dict[str, Final]:
        """The last rows of every learner, by label, in the order of the study."""
        learners = self.frame["learner"].unique(maintain_order=True).to_list()
        return {learner: final_of(self._longest(learner).filter(LAST)) for learner in learners}

    @property
    def learners(self) -> list[str]:
        """The learners, in the order of the study."""
        return list(self.finals)

    @cached_property
    def highest(self) -> float:
        """The highest point of all learners' mean regret."""
        return max(float(self.curve(learner)[1].mean(axis=0).max()) for learner in self.learners)

    def of(self, learner: str) -> pl.DataFrame:
        """Return the rows of one learner."""
        return self.frame.filter(pl.col("learner") == learner)

    def curve(self, learner: str, column: str = "regret") -> tuple[Floats, Floats]:
        """Return rounds (n,) and a column (seeds, n) of a learner, at rounds that all its seeds have."""
        own = self._longest(learner)
        shared = own.filter(pl.len().over("round") == own["seed"].n_unique()).sort("round", "seed")
        rounds = shared["round"].unique().sort().to_numpy().astype(np.float64)
        return rounds, shared[column].to_numpy().reshape(len(rounds), -1).T

    def regrets(self, learner: str, by: str = "horizon") -> dict[Any, Floats]:
        """Return the regret (seeds,) of a learner in the end by horizon, or by another column."""
        groups = self.of(learner).filter(LAST).sort(by, "seed").group_by(by, maintain_order=True)
        return {x: rows["regret"].to_numpy().astype(np.float64) for (x,), rows in groups}

    def _longest(self, learner: str) -> pl.DataFrame:
        return self.of(learner).filter(pl.col("horizon") == pl.col("horizon").max())


@dataclass(frozen=True)
class Results:
    """The curves of a run directory, its title, and its resolved config (empty when several directories are drawn).

    ``width`` is the width of its figures in inches: WIDE, or NARROW with the panels below each other.
    """

    frame: pl.DataFrame
    title: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    width: float = WIDE

    @cached_property
    def styles(self) -> dict[str, LineStyle]:
        """The style of every learner, by its registered name."""
        return line_styles(
            self.frame["learner"].unique(maintain_order=True).to_list(), registered(self.settings, "learners")
        )

    @cached_property
    def finals(self) -> pl.DataFrame:
        """The last row of every finished run: that of round T."""
        return self.frame.filter(LAST)

    @cached_property
    def horizons(self) -> list[int]:
        """All horizons, sorted."""
        return self.frame["horizon"].unique().sort().to_list()

    @cached_property
    def seeds(self) -> int:
        """The number of seeds."""
        return self.frame["seed"].n_unique()

    @cached_property
    def panels(self) -> list[Panel]:
        """The panels, in the order of the study."""
        return list(panels_of(self.frame))

    @property
    def against(self) -> str:
        """The policy that regret compares with: the best in hindsight, of those that keep the constraints."""
        n = len(self.settings.get("constraints", []))
        keeping = f"that keeps the constraint{'s' * (n > 1)}" if n else "in hindsight"
        return f"the best policy {keeping}"

    @property
    def unconstrained(self) -> list[str]:
        """The learners that need not keep the side constraints of the study: those without an oracle."""
        if not self.settings.get("constraints"):
            return []
        rows = self.frame.filter((pl.col("oracle") == NO_ORACLE) & ~pl.col("learner").is_in(self.comparators()))
        return rows["learner"].unique(maintain_order=True).to_list()

    @property
    def randoms(self) -> list[str]:
        """The learners that choose at random, whatever they see."""
        return [label for label in self.styles if registered(self.settings, "learners").get(label, label) == "uniform"]

    def comparators(self, *, informed: bool = False) -> list[str]:
        """Return the learners that know the costs beforehand; ``informed`` adds those that see all of a round."""
        names = COMPARATORS + INFORMED * informed
        return [*names, *(label for label, name in registered(self.settings, "learners").items() if name in names)]


def panels_of(frame: pl.DataFrame) -> Iterator[Panel]:
    """Yield the panels that rows of a study are cut into, in their order."""
    several = pl.col("oracle").n_unique().over("learner") > 1  # in any world, as cells may be missing in others
    frame = frame.with_columns(several=several)
    oracles = frame.filter("several")["oracle"].unique(maintain_order=True).to_list()
    world = ("environment", "policies")
    for labels, rows in frame.group_by(world, maintain_order=True):
        names = [str(label) for axis, label in zip(world, labels, strict=True) if frame[axis].n_unique() > 1]
        asked = rows.filter("several")["oracle"].unique().to_list()
        for oracle in (oracle for oracle in oracles if oracle in asked):
            own = rows.filter((pl.col("oracle") == oracle) | ~pl.col("several"))
            yield Panel(", ".join([*names, oracle]), own.drop("several"))
        if not asked:
            yield Panel(", ".join(names), rows.drop("several"))


def read_results(directory: Path) -> Results:
    """Read curves and config of a run directory, in words, without guarantees that do not apply; raises RunError."""
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
    """Return the results with words in place of bare registered names, where no other label is called so."""
    frame, settings = results.frame, dict(results.settings)
    for column, section in SECTIONS.items():
        names = registered(settings, section)
        bare = {label: DISPLAYED.get(label, label.replace("_", " ")) for label, name in names.items() if label == name}
        words = {label: shown for label, shown in bare.items() if shown not in names}
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
    once = ["learner", "environment", "policies", "oracle", "seed", "horizon", "round"]
    if frame.select(once).is_duplicated().any() or not settings["learners"]:
        return None
    return Results(in_order(frame, settings), parts[0].title, {**parts[0].settings, **settings})


def in_order(frame: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows in the order in which the config lists environments, policy classes and learners."""
    places = []
    for column, section in SECTIONS.items():
        order = {entry["label"]: place for place, entry in enumerate(entries(settings, section))}
        places.append(pl.col(column).replace_strict(order, default=len(order), return_dtype=pl.Int64))
    return frame.sort(places, maintain_order=True)


def spread(values: Floats) -> tuple[Floats, Floats]:
    """Return the ends (n,) of the bars and bands of values (seeds, n): the range, or the 95 % interval of the mean."""
    if len(values) < MANY_SEEDS:
        return values.min(axis=0), values.max(axis=0)
    mean, half = mean_interval(values)
    return mean - half, mean + half


@dataclass(frozen=True)
class Final:
    """The last rows of one learner in a panel: ``labels`` and columns (seeds,) of numbers, by their names."""

    labels: Mapping[str, str]
    columns: Mapping[str, Floats]

    @property
    def learner(self) -> str:
        """The label of the learner."""
        return self.labels["learner"]

    @property
    def seeds(self) -> int:
        """The number of runs."""
        return len(self.columns["seed"])

    def mean(self, column: str) -> float:
        """Return the mean of a column; NaN where a value of it is unknown, or there is no such column."""
        return float(self.columns[column].mean()) if column in self.columns else np.nan

    def per_round(self, column: str) -> float:
        """Return the mean of a column per round."""
        return self.mean(column) / self.horizon

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.columns["round"].max())

    @property
    def regret(self) -> float:
        """The mean regret."""
        return self.mean("regret")

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the spread of regret."""
        low, high = spread(self.columns["regret"][:, None])
        return float(low[0]), float(high[0])

    @property
    def guarantee(self) -> float:
        """The largest guarantee, inf without one."""
        return float(self.columns["guarantee"].max())

    def half_width(self, column: str = "regret") -> float:
        """Return half the 95 % interval of the mean of a column; NaN for one seed."""
        return float(mean_interval(self.columns[column][:, None])[1][0])


def final_of(rows: pl.DataFrame) -> Final:
    """Return the last rows of runs that differ in their seed only, by seed."""
    rows = rows.sort("seed")
    labels = {name: rows[name][0] for name, kind in rows.schema.items() if kind == pl.String}
    columns = {name: np.asarray(rows[name].to_numpy(), dtype=np.float64) for name in rows.columns if name not in labels}
    return Final(labels, columns)


def entries(settings: Mapping[str, Any], section: str) -> list[dict[str, Any]]:
    """Return the tables of a section, one or several, each with its label."""
    written = settings.get(section, [])
    tables = written if isinstance(written, list) else [written]
    return [{**table, "label": table.get("label", table.get("name", ""))} for table in tables]


def registered(settings: Mapping[str, Any], section: str) -> dict[str, str]:
    """Return the registered name of each label of a section; empty where the config is not known."""
    return {table["label"]: str(table.get("name", table["label"])) for table in entries(settings, section)}


def void(settings: Mapping[str, Any]) -> pl.Expr:
    """Return the rows whose guarantee does not apply: it assumes i.i.d. costs, and the environment's are not."""
    learners = [label for label, name in registered(settings, "learners").items() if name in FOR_ONE_LAW]
    found = entries(settings, "environment")
    worlds = [each["label"] for each in found if each.get("name") not in OF_ONE_LAW or each.get("permute_every")]
    return pl.col("learner").is_in(learners) & pl.col("environment").is_in(worlds)


def without_void(frame: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows with an infinite guarantee, which means none, where it does not apply."""
    return frame.with_columns(guarantee=pl.when(void(settings)).then(float("inf")).otherwise("guarantee"))
