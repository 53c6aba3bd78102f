"""Consequences of a config for its numbers: side constraints, and guarantees that do not apply.

Reports and figures import no class of a study, so the registered names that matter are listed; a test compares the
list of learners with the classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from milpcb.constraints.by_names import called
from milpcb.core.decimals import THIN
from milpcb.core.text import listed
from milpcb.experiments.results.figures.looks import DISPLAYED
from milpcb.experiments.study.cells import NO_ORACLE

COMPARATORS, INFORMED = ("best_in_hindsight",), ("hedge",)  # they know all costs beforehand, or see all of a round
RANDOM = "uniform"
# Learners whose guarantee is for independent rounds of one law, and environments that are such.
FOR_ONE_LAW = {
    *("epoch_greedy", "epsilon_greedy", "explore_then_commit", "ilovetoconbandits"),
    *("policy_elimination", "randomized_ucb"),
}
OF_ONE_LAW = {"planted", "parity", "heavy_noise", "supervised"}


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
    worlds = [
        table["label"]
        for table in entries(settings, "environment")
        if table.get("name") not in OF_ONE_LAW or table.get("permute_every")
    ]
    return pl.col("learner").is_in(learners) & pl.col("environment").is_in(worlds)


def without_void(frame: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows with an infinite guarantee, which is none, where it does not apply."""
    return frame.with_columns(guarantee=pl.when(void(settings)).then(float("inf")).otherwise("guarantee"))


def void_words(frame: pl.DataFrame, settings: Mapping[str, Any]) -> str:
    """Return a sentence on the guarantees that are omitted, as they do not apply; "" where there are none."""
    rows = frame.filter(void(settings))
    if rows.is_empty():
        return ""
    learners = rows["learner"].unique(maintain_order=True).to_list()
    several = frame["environment"].n_unique() > 1
    where = f" in {listed(rows['environment'].unique(maintain_order=True).to_list())}" if several else " here"
    return f"The guarantees of {listed(learners)} assume i.i.d. costs; they do not apply{where} and are omitted."


def constraint_words(settings: Mapping[str, Any]) -> str:
    """Return what the side constraints of the study ask of a policy, in words; "" where there are none."""
    return listed([_rule(table) for table in settings.get("constraints", [])])


def unconstrained(frame: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return the learners that need not keep the side constraints of the study: those that ask no oracle."""
    if not settings.get("constraints"):
        return []
    rows = frame.filter((pl.col("oracle") == NO_ORACLE) & ~pl.col("learner").is_in(comparators(settings)))
    return rows["learner"].unique(maintain_order=True).to_list()


def comparators(settings: Mapping[str, Any], *, informed: bool = False) -> list[str]:
    """Return the labels of learners that know the costs beforehand; ``informed`` adds those that see all of a round."""
    names = COMPARATORS + INFORMED * informed
    return [*names, *(label for label, name in registered(settings, "learners").items() if name in names)]


def randoms(frame: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return the labels of the learners that choose at random, whatever they see."""
    names = registered(settings, "learners")
    return [label for label in frame["learner"].unique(maintain_order=True) if names.get(label, label) == RANDOM]


def displayed(settings: Mapping[str, Any], section: str) -> dict[str, str]:
    """Return the words for the labels of a section that are bare registered names; none that another label has."""
    names = registered(settings, section)
    words = {label: DISPLAYED.get(label, label.replace("_", " ")) for label, name in names.items() if label == name}
    return {label: shown for label, shown in words.items() if shown not in names}


def against_what(settings: Mapping[str, Any]) -> str:
    """Return the policy that regret is against: the best in hindsight, of those that keep the constraints."""
    n = len(settings.get("constraints", []))
    keeping = f"that keeps {'it' if n == 1 else 'them'}" if n else "in hindsight"
    return f"the best policy {keeping}"


def _rule(table: Mapping[str, Any]) -> str:
    options = {key: value for key, value in table.items() if key not in {"name", "label"}}
    return " ".join(_words(str(table.get("name")), options))


def _words(name: str, options: Mapping[str, Any]) -> Iterator[str]:
    action = called(options.get("action"))
    weighted = "weighted " * ("weights" in options)
    if name == "share_at_most":
        yield f"{action} on at most {100 * options['share']:g}{THIN}% of the {weighted}contexts"
    elif name == "mean_at_most":
        yield f"a second cost of at most {options['bound']:g} on {weighted}average"
    elif name == "parity":
        group = options["group"]
        of = "" if isinstance(group, list) else f" of {group if isinstance(group, str) else f'column {group}'}"
        yield f"rates of {action} that differ by at most {options['delta']:g} between the groups{of}"
    elif name in {"never", "always"}:
        rows = options.get("rows", ())
        n = sum(rows) if rows and isinstance(rows[0], bool) else len(rows)
        where = f"on {n} of the contexts" if rows else f"where {options['where']}"
        yield f"{name} {action} {where}"
    else:
        yield f"{name} ({', '.join(f'{key} = {value}' for key, value in options.items())})"
