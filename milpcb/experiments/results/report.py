"""The HTML page on a study: what was run, what came out, how to run it again. It loads nothing from anywhere."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from milpcb.core.files import own_contents
from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.drawing import Drawing, render
from milpcb.experiments.results.figures.horizons import fits
from milpcb.experiments.results.figures.meaning import against_what, constraint_words, entries, unconstrained
from milpcb.experiments.results.figures.results import Results, read_results
from milpcb.experiments.results.figures.words import count, legible, sentences, verdict, with_separators
from milpcb.experiments.results.index import read_index
from milpcb.experiments.results.layout import CONFIG
from milpcb.experiments.results.records import read_record
from milpcb.experiments.results.report_table import FREE, report_table

LARGE = 400_000  # bytes of a vector picture; beyond, its pixels are smaller
POLICIES = 1_000_000  # bytes of drawings of policies; those that come after are shown as rules alone
PIXELS = 96  # CSS pixels per inch


@dataclass(frozen=True)
class DrawnPolicy:
    """A policy file of a run directory: its heading, its rules, its drawing (perhaps empty), and a remark on it."""

    heading: str
    rules: str
    svg: bytes
    remark: str = ""


def report_page(
    results: Results,
    config: str,
    policies: Sequence[DrawnPolicy] = (),
    leaders: Sequence[DrawnPolicy] = (),
    n_runs: int = 0,
) -> str:
    """Return the HTML page of a study.

    ``config`` is the text of its resolved config, ``n_runs`` how many runs it has, of which some may not be finished.
    """
    name = results.settings.get("experiment", {}).get("name", results.title)
    return fill(
        "report.html.jinja",
        title=legible(results.title, 200),
        subtitle=_subtitle(results),
        verdict=verdict(results),
        warnings=list(_warnings(results, n_runs)),
        summary=report_table(results),
        pictures=[picture(drawing) for drawing in draw(results)],
        slopes=list(_slopes(results)),
        policies=list(_policies(policies)),
        leaders=list(_policies(leaders)),
        settings=list(_settings(results.settings)),
        config_name=f"{name}.toml",
        command=f"milpcb run {name}.toml --out {name}",
        config=config,
    )


def fill(template: str, **values: Any) -> str:
    """Return the page that a template of this package makes of the values."""
    environment = Environment(
        loader=PackageLoader("milpcb.experiments.results"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(values)


def report(directory: Path) -> str:
    """Return the page of a run directory; raises RunError where it holds no curves."""
    results = read_results(directory)
    config = own_contents(directory / CONFIG).decode()
    n_runs = len(read_index(directory)["cells"])
    return report_page(results, config, read_policies(directory), read_leaders(directory), n_runs)


def read_policies(directory: Path) -> list[DrawnPolicy]:
    """Return the best policies in hindsight that a run directory holds, for one seed and the longest horizon."""
    found = []
    yardsticks = read_index(directory)["yardsticks"]
    horizon, seed = max(y["horizon"] for y in yardsticks), min(y["seed"] for y in yardsticks)
    for yardstick in (y for y in yardsticks if (y["horizon"], y["seed"]) == (horizon, seed)):
        found += _read(directory, yardstick["file"], yardstick["title"].removeprefix("best policy in hindsight, "))
    return found


def read_leaders(directory: Path) -> list[DrawnPolicy]:
    """Return the leaders that a run directory holds drawn."""
    found = []
    for leader in read_index(directory)["leaders"]:
        cell = read_record(directory, "cell", leader["key"], leader["horizon"])
        yardstick = read_record(directory, "yardstick", leader["yardstick"], leader["horizon"])
        found += _read(directory, leader["file"], leader["title"], remark(cell, yardstick))
    return found


def remark(cell: Mapping[str, Any] | None, yardstick: Mapping[str, Any] | None) -> str:
    """Return a sentence on how a cell's leader differs from the best policy in hindsight.

    Both are records, of which older versions wrote less; the sentence is empty where they do not hold the policies.
    """
    if not (cell and yardstick and "leader" in cell):
        return ""
    if cell["leader"] == yardstick["policy"]:
        return "The best policy in hindsight, rule for rule."
    mine, best = cell.get("actions"), yardstick.get("actions")
    if not (mine and best and len(mine) == len(best)):
        return "Its rules are not those of the best policy in hindsight."
    differ = sum(one != other for one, other in zip(mine, best, strict=True))
    if differ:
        return (
            f"Differs from the best policy in hindsight on {with_separators(differ)} of {count(len(best), 'context')}."
        )
    return f"Plays like the best policy in hindsight on all {count(len(best), 'context')}, by other rules."


def _read(directory: Path, file: str, heading: str, note: str = "") -> list[DrawnPolicy]:
    """Return the policy of a file with its heading and remark, as a list that is empty where there is no such file."""
    rules, drawing = (directory / f"{file}.{suffix}" for suffix in ("txt", "svg"))
    if not rules.exists():
        return []
    svg = own_contents(drawing) if drawing.exists() else b""
    return [DrawnPolicy(heading, own_contents(rules).decode("utf-8", "replace").rstrip(), svg, note)]


def _subtitle(results: Results) -> str:
    frame = results.finals
    parts = [(frame[axis].n_unique(), noun) for axis, noun in (("learner", "learner"), ("environment", "environment"))]
    parts += [(frame["seed"].n_unique(), "seed")]
    rounds = ", ".join(with_separators(horizon) for horizon in results.horizons)
    played = ", ".join([*(count(n, noun) for n, noun in parts), f"{rounds} rounds"])
    return sentences(f"{played}.", _kept(results))


def _kept(results: Results) -> str:
    """Return what the side constraints of the study ask, and who need not keep them; "" where there are none."""
    rules = constraint_words(results.settings)
    if not rules:
        return ""
    free = ", ".join(legible(name) for name in unconstrained(results.frame, results.settings))
    without = f" Not bound by that, and marked {FREE}: {free}." if free else ""
    return f"Every policy keeps: {rules}. Regret is against {against_what(results.settings)}.{without}"


def _warnings(results: Results, n_runs: int) -> Iterator[str]:
    """Yield sentences on what of the study is missing: runs that were interrupted or failed."""
    missing = n_runs - len(results.finals)
    if missing > 0:
        yield (
            f"{with_separators(missing)} of the {count(n_runs, 'run')} of this study "
            "had not finished when this page was made."
        )


def picture(drawing: Drawing) -> dict[str, Any]:
    """Return what the page needs of a figure; it is embedded as a vector picture, or as pixels where that is large."""
    drawing.figure.suptitle("")  # it is the heading of the page
    svg = render(drawing.figure, ("svg",))["svg"]
    vector = len(svg) <= LARGE
    content = svg if vector else render(drawing.figure, ("png",))["png"]
    width, height = drawing.figure.get_size_inches().tolist()
    return {
        "name": drawing.name,
        "heading": drawing.heading,
        "source": _source(content, "svg+xml" if vector else "png"),
        "width": round(PIXELS * width),
        "height": round(PIXELS * height),
        "alt": drawing.alt,
        "caption": drawing.caption,
    }


def _source(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _slopes(results: Results) -> Iterator[dict[str, str]]:
    if len(results.horizons) < 2:
        return
    for panel in results.panels(results.finals):
        for learner, slope in fits(panel).items():
            interval = f"{slope.low:.3f} to {slope.high:.3f}" if np.isfinite(slope.low) else ""
            value = f"{slope.slope:.3f}" if slope.fitted else "none"
            yield {
                "where": legible(panel.name),
                "learner": legible(learner),
                "slope": value,
                "interval": interval,
                "note": slope.note,
            }


def _policies(policies: Sequence[DrawnPolicy]) -> Iterator[dict[str, str]]:
    left = POLICIES
    for policy in policies:
        left -= len(policy.svg)
        source = _source(policy.svg, "svg+xml") if policy.svg and left >= 0 else ""
        yield {"heading": policy.heading, "rules": policy.rules, "source": source, "remark": policy.remark}


def _settings(settings: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield a line per table of the config."""
    for section in settings:
        for table in entries(settings, section):
            name = str(table["label"])
            rest = {
                key: value for key, value in table.items() if key != "label" and not (key == "name" and value == name)
            }
            options = ", ".join(f"{key} = {_plain(value)}" for key, value in rest.items())
            yield {"section": section, "name": name, "options": options}


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_plain(item)}' for key, item in value.items())} }}"
    return str(value)
