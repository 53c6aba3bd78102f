"""The HTML page on a study: what was run, what came out, how to run it again. It loads nothing from anywhere."""

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from milpcb.core.decimals import spaced
from milpcb.core.files import own_contents
from milpcb.experiments.results.figures import draw, words
from milpcb.experiments.results.figures.drawing import Drawing, render
from milpcb.experiments.results.figures.results import NARROW, Results, read_results
from milpcb.experiments.results.records import CONFIG, read_index, read_record
from milpcb.experiments.results.report_table import report_table
from milpcb.experiments.study.cells import BEST, Kind

LARGE = 400_000  # bytes of a vector picture; beyond, its pixels are smaller
POLICIES = 1_000_000  # bytes of drawings of policies; those that come after are shown as rules alone
PIXELS = 96  # CSS pixels per inch
ROWS = 24  # learners of all panels together that are shown beside their curves
FIRST, FOLDED = ("finals", "regret"), ("times",)  # figures of the first screen, and those that are folded away


@dataclass(frozen=True)
class DrawnPolicy:
    """A policy of a run directory: its heading, its rules, and its drawing, "" without one."""

    heading: str
    rules: str
    svg: str = ""


def report_page(
    results: Results,
    config: str,
    policies: Sequence[DrawnPolicy] = (),
    leaders: Sequence[DrawnPolicy] = (),
    n_runs: int = 0,
) -> str:
    """Return the page of a study with the text of its resolved config; of its ``n_runs`` some may not be finished."""
    name = results.settings.get("experiment", {}).get("name", results.title)
    panels = len(results.final_panels)
    small = panels <= words.FEW_PANELS and panels * len(results.looks) <= ROWS
    pictures = {}
    for wide, narrow in zip(draw(results), draw(replace(results, width=NARROW)), strict=True):
        pictures[wide.name] = picture(narrow) if small and wide.name in FIRST else picture(wide, narrow)
    first = [pictures.pop(key) for key in FIRST]
    folded = [pictures.pop(key) for key in FOLDED]
    missing = n_runs - len(results.finals)
    unfinished = f"{spaced(missing)} of the {words.count(n_runs, 'run')} of this study"
    return fill(
        "report.html.jinja",
        title=words.legible(results.title, 200),
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
        policies=list(_policies(policies)),
        leaders=list(_policies(leaders)),
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
    return [
        DrawnPolicy(task["title"].removeprefix(f"{BEST}, "), record["policy"], record.get("drawing", ""))
        for task, record in _shown(directory, "comparator")
    ]


def read_leaders(directory: Path) -> list[DrawnPolicy]:
    """Return the policies that learners end with, for one seed and the longest horizon."""
    found = []
    for cell, record in _shown(directory, "cell"):
        where = ", ".join(cell[axis] for axis in ("learner", "environment", "policies", "oracle"))
        found += [DrawnPolicy(where, record["leader"])] if "leader" in record else []
    return found


def _shown(directory: Path, kind: Kind) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the tasks of a kind for one seed and the longest horizon, with their records."""
    every = read_index(directory)[f"{kind}s"]
    shown = max(each["horizon"] for each in every), min(each["seed"] for each in every)
    for each in every:
        if (each["horizon"], each["seed"]) == shown:
            record = read_record(directory, kind, each["key"], each["horizon"])
            if record is not None:
                yield each, record


def _question(results: Results) -> str:
    frame, rules = results.finals, words.constraint_words(results.settings)
    counts = [words.count(frame[axis].n_unique(), axis) for axis in ("learner", "environment", "seed")]
    rounds = ", ".join(spaced(horizon) for horizon in results.horizons)
    question = "Who pays least" if frame["learner"].n_unique() > 1 else "How much does it cost to learn"
    return f"{question}{f', with {rules}' if rules else ''}? {', '.join(counts)}, {rounds} rounds."


def _kept(results: Results) -> str:
    rules = words.constraint_words(results.settings)
    if not rules:
        return ""
    free = ", ".join(words.legible(name) for name in results.unconstrained)
    without = f"Not bound by that, and marked {words.FREE}: {free}." if free else ""
    return words.sentences(f"Every policy keeps: {rules}. Regret is against {results.against}.", without)


def picture(drawing: Drawing, narrow: Drawing | None = None) -> dict[str, Any]:
    """Return what the page needs of a figure, and of the same for phones where there is one."""
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
    """Return a picture that is transparent, with its black, white and greys turned where the dark is preferred."""
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


def _policies(policies: Sequence[DrawnPolicy]) -> Iterator[dict[str, Any]]:
    left = POLICIES
    for policy in policies:
        left -= len(policy.svg)
        yield {
            "heading": policy.heading,
            "rules": policy.rules,
            "source": _source(adaptive(policy.svg.encode()), "svg+xml") if policy.svg and left >= 0 else "",
            "width": _natural_width(policy.svg),
        }


def _natural_width(svg: str) -> int:
    """Return the width of an SVG in pixels, so that all drawings have letters of one size."""
    found = re.search(r'<svg[^>]*? width="([0-9.]+)(pt)?"', svg[:2000])
    return round(float(found[1]) * (PIXELS / 72 if found[2] else 1)) if found else 0
