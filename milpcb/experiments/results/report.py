"""The HTML page on a study: its config, its results, how to run it again; and its table, as on the terminal."""

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.box import SIMPLE_HEAD
from rich.table import Table

from milpcb.core.decimals import THIN, fixed, number, places, spaced
from milpcb.core.files import own_contents
from milpcb.experiments.results import CONFIDENT, RECOVERY, TURNS, asked_for
from milpcb.experiments.results.figures import draw, words
from milpcb.experiments.results.figures.drawing import Drawing, render
from milpcb.experiments.results.figures.results import NARROW, Final, Results, final_of, read_results
from milpcb.experiments.results.figures.words import legible
from milpcb.experiments.results.store import CONFIG, read_index, read_record
from milpcb.experiments.study.cells import BEST, NO_ORACLE, Kind

LARGE = 400_000  # bytes of a vector picture; beyond, its pixels are smaller
PIXELS = 96  # CSS pixels per inch
ROWS = 24  # learners of all panels together that are shown beside their curves
FIRST, FOLDED = ("finals", "regret"), ("times",)  # figures of the first screen, and those that are folded away


@dataclass(frozen=True)
class DrawnPolicy:
    """A policy of a run directory: its heading, its rules, and its drawing, "" without one."""

    heading: str
    rules: str
    svg: str = ""

    @property
    def source(self) -> str:
        """The drawing as the page embeds it."""
        return _source(adaptive(self.svg.encode()), "svg+xml") if self.svg else ""


def report_page(
    results: Results,
    config: str,
    policies: Sequence[DrawnPolicy] = (),
    leaders: Sequence[DrawnPolicy] = (),
    n_runs: int = 0,
) -> str:
    """Return the page of a study with the text of its resolved config; of its ``n_runs`` some may not be finished."""
    name = results.settings.get("experiment", {}).get("name", results.title)
    panels = len(results.panels)
    small = panels <= words.FEW_PANELS and panels * len(results.styles) <= ROWS
    pictures = {}
    for wide, narrow in zip(draw(results), draw(replace(results, width=NARROW)), strict=True):
        pictures[wide.name] = picture(narrow) if small and wide.name in FIRST else picture(wide, narrow)
    first = [pictures.pop(key) for key in FIRST]
    folded = [pictures.pop(key) for key in FOLDED]
    missing = n_runs - len(results.finals)
    unfinished = f"{spaced(missing)} of the {words.count(n_runs, 'run')} of this study"
    return fill(
        "report.html.jinja",
        title=legible(results.title, 200),
        question=_question(results),
        kept=_kept(results),
        verdict=words.verdict(results),
        warnings=[f"{unfinished} had not finished when this page was made."] if missing > 0 else [],
        summary=report_table(results),
        glossary=list(words.glossary(results)),
        first=first,
        beside=small,
        pictures=list(pictures.values()),
        folded=folded,
        policies=policies,
        leaders=leaders,
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
    best = [
        DrawnPolicy(task["title"].removeprefix(f"{BEST}, "), record["policy"], record.get("drawing", ""))
        for task, record in _shown(directory, "comparator")
    ]
    return report_page(results, config, best, read_leaders(directory), len(read_index(directory)["cells"]))


def read_leaders(directory: Path) -> list[DrawnPolicy]:
    """Return the policies that learners of a run end with: the best by the costs of their own decisions."""
    return [
        DrawnPolicy(", ".join(cell[axis] for axis in ("learner", *RUN[:3])), record["leader"])
        for cell, record in _shown(directory, "cell")
        if "leader" in record
    ]


def _shown(directory: Path, kind: Kind) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the tasks of one seed and the longest horizon that are finished, each with its record."""
    every = read_index(directory)[f"{kind}s"]
    shown = max(each["horizon"] for each in every), min(each["seed"] for each in every)
    for each in every:
        wanted = (each["horizon"], each["seed"]) == shown
        if wanted and (record := read_record(directory, kind, each["key"], each["horizon"])):
            yield each, record


def _question(results: Results) -> str:
    frame, rounds = results.finals, ", ".join(map(spaced, results.horizons))
    counts = [words.count(frame[axis].n_unique(), axis) for axis in ("learner", "environment", "seed")]
    return f"Who pays least? {', '.join(counts)}, {rounds} rounds."


def _kept(results: Results) -> str:
    rules = words.constraint_words(results.settings)
    if not rules:
        return ""
    return words.sentences(f"Every policy keeps: {rules}. Regret is against {results.against}.", _free(results, "this"))


def _free(results: Results, rules: str) -> str:
    free = ", ".join(map(legible, results.unconstrained))
    return f"Not bound by {rules}, as they use no oracle: {free}." if free else ""


def picture(drawing: Drawing, narrow: Drawing | None = None) -> dict[str, Any]:
    """Return the data of a figure for the page, and of its variant for phones where there is one."""
    return {
        "name": drawing.name,
        "heading": drawing.heading,
        **_embedded(drawing),
        "alt": drawing.alt,
        "caption": drawing.caption,
        "narrow": None if narrow is None else _embedded(narrow),
    }


def _embedded(drawing: Drawing) -> dict[str, Any]:
    drawing.figure.suptitle("")  # it is the heading of the page
    svg = render(drawing.figure, ("svg",))["svg"]
    vector = len(svg) <= LARGE
    content = adaptive(svg) if vector else render(drawing.figure, ("png",))["png"]
    width, height = (round(PIXELS * inches) for inches in drawing.figure.get_size_inches().tolist())
    return {"source": _source(content, "svg+xml" if vector else "png"), "width": width, "height": height}


def adaptive(svg: bytes) -> bytes:
    """Return a picture without background, whose black, white and greys are exchanged in dark mode."""
    turned = _COLOUR.sub(lambda found: b"%b: var(--%b)" % (found[1], GREYS[found[2].lower()]), svg)
    return _ROOT.sub(lambda found: found[0] + VARIABLES, turned, count=1)


GREYS = {
    b"#ffffff": b"page", b"#000000": b"ink", b"#262626": b"ink", b"#333333": b"ink", b"#4c4c4c": b"soft",
    b"#595959": b"soft", b"#737373": b"soft", b"#808080": b"soft", b"#8c8c8c": b"soft", b"#b0b0b0": b"soft",
    b"#ebebeb": b"line",
}  # fmt: skip  # what pictures are drawn in, by the names of the page's colours
VARIABLES = (
    b"<style>:root { --page: #fff; --ink: #000; --soft: #5b6470; --line: #ebebeb; fill: var(--ink) } "
    b"@media (prefers-color-scheme: dark) "
    b"{ :root { --page: #15181c; --ink: #e4e7eb; --soft: #a7b0bb; --line: #3a414a } }</style>"
)
_COLOUR = re.compile(rb"(fill|stroke): (%b)\b" % b"|".join(GREYS), re.IGNORECASE)
_ROOT = re.compile(rb"<svg\b[^>]*>")


def _source(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


# ------------------------------------------------------------------- the table

RUN = ("environment", "policies", "oracle", "learner", "horizon")  # labels of runs that differ in the seed only
TIES = (
    "Among policies of equal cost each oracle or solver may return another one, so the regret of learners that follow "
    "it, such as epsilon-greedy, may differ between them"
)
BESIDE = 3  # letters of air beside a column
# Columns to leave out in turn where a terminal is narrow.
LEFT_OUT = (
    *("share", "oracle_time", "calls", "bound", "best_cost", "time", "rule_changes", "cost", "guarantee"),
    *("confident", "certificate"),
)


class ReportColumn(NamedTuple):
    """A column of the table: its key, its heading, and its text in a row."""

    key: str
    heading: str
    text: Callable[[Final], str]
    numeric: bool = True


def report_table(results: Results) -> dict[str, Any]:
    """Return columns and rows of texts, and a note; a fact that is the same in all rows has no column."""
    rows = [final_of(group) for _, group in results.finals.group_by(RUN, maintain_order=True)]
    worlds = list(dict.fromkeys(map(_world, rows)))
    rows.sort(key=lambda row: (worlds.index(_world(row)), row.horizon, row.regret))
    columns = list(_columns(results, rows))
    oracles = {row.labels["oracle"] for row in rows} - {NO_ORACLE}
    texts = [[column.text(row) for column in columns] for row in rows]
    return {"columns": columns, "rows": texts, "note": TIES if len(oracles) > 1 else ""}


def summary_table(results: Results, width: int | None = None) -> Table:
    """Return the table for a terminal: columns are left out until it fits so many letters."""
    report = report_table(results)
    texts = zip(*report["rows"], strict=True)
    shown = {column.key: (column, cells) for column, cells in zip(report["columns"], texts, strict=True)}
    folded = []
    for key in LEFT_OUT:
        needed = sum(max(map(len, [column.heading, *cells])) + BESIDE for column, cells in shown.values())
        if width is not None and needed >= width and key in shown:
            folded.append(shown.pop(key)[0].heading)
    table = Table(box=SIMPLE_HEAD)
    for column, _ in shown.values():
        table.add_column(column.heading, no_wrap=True, justify="right" if column.numeric else "left")
    for row in zip(*(cells for _, cells in shown.values()), strict=True):
        table.add_row(*row)
    notes = [
        _free(results, "the side constraints"),
        report["note"],
        f"No room for {', '.join(sorted(folded))}: see report.html, which milpcb report writes" if folded else "",
    ]
    table.caption, table.caption_justify = "\n".join(filter(None, notes)) or None, "left"
    return table


def _columns(results: Results, rows: Sequence[Final]) -> Iterator[ReportColumn]:
    frame = results.finals
    wanted = len(results.settings.get("experiment", {}).get("seeds", ()))
    yield ReportColumn("learner", "learner", lambda row: legible(row.learner), False)
    for key in ("environment", "policies", "oracle"):
        if frame.filter(pl.col(key) != NO_ORACLE)[key].n_unique() > 1:
            yield ReportColumn(key, key, lambda row, key=key: legible(row.labels[key]), False)  # type: ignore[misc]
    if len(results.horizons) > 1:
        yield ReportColumn("horizon", "horizon T", lambda row: spaced(row.horizon))
    if len({row.seeds for row in rows}) > 1 or rows[0].seeds < wanted:
        yield ReportColumn("seeds", "seeds", lambda row: f"{row.seeds} of {max(row.seeds, wanted)}")
    yield ReportColumn("regret", "regret", _with_spread("regret"))
    turns, number_of_turns = asked_for(frame.columns, TURNS)
    if turns:
        yield ReportColumn("in_turn", f"regret to {number_of_turns} in turn", _with_spread(turns))
    if RECOVERY in frame.columns:
        yield ReportColumn("recovery", "rounds to recover", _mean_of(RECOVERY, without="no change"))
    yield ReportColumn("certificate", "certificate", _certificate)
    confident, level = asked_for(frame.columns, CONFIDENT)
    if confident:
        yield ReportColumn("confident", f"{level}{THIN}% certificate", _mean_of(confident))
    yield ReportColumn("guarantee", "guarantee", lambda row: _known(row.guarantee))
    yield ReportColumn("share", "of the guarantee", _share)
    yield ReportColumn("bound", "own bound", _mean_of("bound"))
    yield ReportColumn("cost", "mean cost", lambda row: fixed(row.per_round("cumulative_cost"), 4))
    yield ReportColumn("best_cost", "best cost", lambda row: fixed(row.per_round("best_cost"), 4))
    if np.nan_to_num([row.mean("oracle_error") for row in rows], posinf=0.0).any():
        yield ReportColumn("oracle_error", "oracle error", _mean_of("oracle_error"))
    yield ReportColumn("calls", "oracle calls", lambda row: spaced(round(row.mean("oracle_calls"))))
    if np.isfinite([row.mean("rule_changes") for row in rows]).any():
        yield ReportColumn("rule_changes", "rule changes", _mean_of("rule_changes", without="no rule"))
    yield ReportColumn("time", "\u00b5s per round", lambda row: _known(1e6 * row.per_round("seconds")))
    yield ReportColumn("oracle_time", "in oracle", lambda row: _known(1e6 * row.per_round("oracle_seconds")))


def _world(row: Final) -> tuple[str, str]:
    return row.labels["environment"], row.labels["policies"]


def _share(row: Final) -> str:
    return _known(100 * row.regret / row.guarantee, f"{THIN}%") if 0 < row.guarantee < np.inf else ""


def _mean_of(name: str, without: str = "none") -> Callable[[Final], str]:
    return lambda row: _known(row.mean(name), without=without)


def _with_spread(name: str) -> Callable[[Final], str]:
    return lambda row: _with_doubt(row.mean(name), row.half_width(name))


def _certificate(row: Final) -> str:
    errors = row.columns["certificate_error"]
    return _with_doubt(row.mean("certificate"), 2 * float(np.sqrt((errors**2).sum()) / len(errors)))


def _known(value: float, unit: str = "", without: str = "none") -> str:
    return number(value) + unit if np.isfinite(value) else without


def _with_doubt(value: float, doubt: float) -> str:
    """Return a value with its doubt, which is about two standard errors, to the same decimals."""
    if not np.isfinite(value + doubt):
        return _known(value)
    decimals = places(value, doubt / 2)
    return f"{fixed(value, decimals)} \u00b1{THIN}{fixed(doubt, decimals)}"
