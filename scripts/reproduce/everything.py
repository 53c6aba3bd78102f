"""Play every study that the pages are about, redraw their pictures, and set what the pages claim beside what comes out.

    python scripts/reproduce/everything.py --dry-run     # what would be played
    python scripts/reproduce/everything.py               # hours; again: only what is missing
    python scripts/reproduce/everything.py --quick       # each with few rounds: has every number its place?

What is played is in runs/everything; the table there, claims.md, has a row for each number of the pages that
pages.toml names: the number, what came out, two standard errors of it, and whether the page lies outside. Ends with 1
where a row does. A number without spread, such as a guarantee, must be the same to the digits that the page has.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import tomli_w

import milpcb

ROOT = Path(__file__).resolve().parents[2]
PAGES = Path(__file__).with_name("pages.toml")
AXES = ("learner", "environment", "policies", "horizon")


@dataclass(frozen=True)
class Claim:
    """A number on a page: where it stands, the rows of a study's results that it is about, and their column."""

    page: str
    place: str
    study: str
    about: dict[str, Any]
    value: str
    number: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", help="names of studies, such as learners")
    parser.add_argument("--out", type=Path, default=Path("runs/everything"))
    options = parser.parse_args()
    named = tomllib.loads(PAGES.read_text(encoding="utf-8"))
    parts = [*named["picture"], *named["table"]]
    studies = dict.fromkeys(part[key] for key in ("study", "beside") for part in parts if key in part)
    names = {Path(study).stem: study for study in studies}
    if unknown := [name for name in options.only or () if name not in names]:
        parser.error(f"there is no study '{unknown[0]}'; the studies are {', '.join(names)}")
    studies = [names[name] for name in options.only or names]
    for study in studies:
        config = quick_config(ROOT / study, options.out) if options.quick else ROOT / study
        print(f"== {study}", flush=True)
        _milpcb("run", str(config), "--out", str(options.out / config.stem), *["--dry-run"] * options.dry_run)
    if options.dry_run:
        return 0
    for picture in named["picture"]:
        if picture["study"] in studies:
            keys = ("study",) if options.quick else ("study", "beside")  # which are one study then
            parts = [str(options.out / Path(picture[key]).stem) for key in keys if key in picture]
            _milpcb("plot", *parts, "--figure", picture["figure"], *picture.get("options", ()))
    lines = [_compared(claim, options.out, quick=options.quick) for claim in claims(named) if claim.study in studies]
    outside = sum("outside" in line for line in lines)
    table = ["| page | number | page has | came out | two standard errors | |", "| --- |" + " --- |" * 5, *lines]
    (options.out / "claims.md").write_text("\n".join([*table, ""]), encoding="utf-8")
    print(f"{options.out / 'claims.md'}: {len(lines)} numbers, {outside} of them outside")
    return int(outside > 0)


def claims(named: dict[str, Any]) -> Iterator[Claim]:
    """Yield the numbers of all tables."""
    for table in named["table"]:
        header, *rows = table_after((ROOT / table["page"]).read_text(encoding="utf-8"), table["after"])
        for row in rows:
            of_row = table["rows"].get(row[0]) if "rows" in table else {"learner": row[0]}
            for heading, cell in zip(header[1:], row[1:], strict=True):
                of_column = table["columns"].get(heading)
                if of_row is None or of_column is None:
                    continue
                about = {**of_row, **of_column}
                values = about.pop("values", table.get("values"))
                for value, number in zip(values, numbers(cell), strict=False):
                    if number is not None:
                        place = f"{row[0]}, {heading}: {value}"
                        yield Claim(table["page"], place, table["study"], about, value, number)


def table_after(text: str, words: str) -> list[list[str]]:
    """Return the cells of the first table after some words: the headings, then each row."""
    lines = text[text.index(words) :].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")])
    return [rows[0], *rows[2:]]


def numbers(cell: str) -> list[float | None]:
    """Return the numbers of a cell, None for what is none: "1 205", "-80", "338 / 301 / - / 1 205"."""
    found = [part.split(",")[0].replace(" ", "") for part in cell.split("/")]
    return [float(part) if re.fullmatch(r"-?\d+(\.\d+)?", part) else None for part in found]


def _compared(claim: Claim, out: Path, *, quick: bool) -> str:
    """Return the row of a claim; in a quick study the horizon is another, and there only has to be a number."""
    frame = milpcb.load(out / Path(claim.study).stem)
    about = {key: value for key, value in claim.about.items() if not (quick and key == "horizon")}
    last = frame.filter(pl.col("round") == pl.col("horizon"), *(pl.col(key) == value for key, value in about.items()))
    found = last[claim.value].cast(pl.Float64).to_numpy()
    if not len(found):
        return f"| {claim.page} | {claim.place} | {claim.number:g} | nothing | | outside |"
    mean = float(found.mean())
    doubt = 2 * float(found.std(ddof=1)) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    far = abs(claim.number - mean) > max(0.0 if np.isnan(doubt) else doubt, 0.006 * abs(mean), 0.6)
    outside = not np.isfinite(mean) if quick else far
    verdict = "outside" if outside else "" if quick else "agrees"
    return f"| {claim.page} | {claim.place} | {claim.number:g} | {mean:.5g} | {doubt:.3g} | {verdict} |"


def quick_config(config: Path, out: Path) -> Path:
    """Return a config like this one with few rounds and one seed, beside copies of the classes that it names."""
    tables = tomllib.loads(config.read_text(encoding="utf-8"))
    several = isinstance(tables["experiment"]["horizon"], list)
    tables["experiment"] |= {"horizon": [50, 100] if several else 100, "seeds": [0], "checkpoints": 5}
    for learner in tables["learners"]:
        learner.pop("max_horizon", None)
    target = out / "configs" / config.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(tomli_w.dumps(tables), encoding="utf-8")
    worlds = tables["environment"] if isinstance(tables["environment"], list) else [tables["environment"]]
    for module in {world["name"].partition(":")[0] for world in worlds if ":" in world["name"]}:
        shutil.copy(config.with_name(f"{module}.py"), target.parent)
    return target


def _milpcb(*arguments: str) -> None:
    """Run a command; ends Python with its exit code if it fails."""
    code = subprocess.run([sys.executable, "-m", "milpcb", *arguments], check=False).returncode
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # the command that was at work has kept what it had
        sys.exit("stopped; the same command again plays only what is missing")
