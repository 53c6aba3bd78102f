"""Logs of letters and calls, the commands on logs in this process, and the words of the pages that they write."""

import html
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from milpcb.cli import cli
from milpcb.core import long_search
from tests.sketches import sketch

TRIAL = ("--action", "message", "--reward", "bought", "--randomised")
CLAIMS = ("--draws", "40", "--resamples", "0")
NO_CLAIMS = ("--draws", "0", "--resamples", "0")


def people(n: int = 400, effect: float = 0.4, seed: int = 0, *, alike: bool = False) -> pl.DataFrame:
    """Return a log: calls help the young by ``effect``, letters the others; or calls help all, who are ``alike``.

    Calls annoy the old in the north.
    """
    draw = np.random.default_rng(seed)
    age, call, north = draw.integers(18, 81, n), draw.random(n) < 0.5, draw.random(n) < 0.5
    right = call if alike else call == (age <= 45)
    bought = draw.random(n) < np.where(right, 0.5 + effect, 0.5 - effect)
    angry = draw.random(n) < np.where(call, np.where(north, age / 100, 0.05), 0.2)
    return pl.DataFrame(
        {
            "age": age,
            "visits": draw.integers(0, 9, n),
            "region": np.where(north, "north", "south"),
            "message": np.where(call, "call", "letter"),
            "bought": bought.astype(int),
            "angry": angry.astype(int),
        }
    )


def command(*arguments: str) -> Any:
    """Run a command of milpcb, without lines on how long it takes; raise what it raises."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_search, "FIRST", 1e6)
        patch.setattr(sys, "argv", ["milpcb", *arguments])
        done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done


def words(page: str) -> str:
    """Return the words of a page, with a space for each run of tags and blanks."""
    body = re.sub(r"<(style|script).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


@dataclass(frozen=True)
class Learnt:
    """The output of ``milpcb learn``, and its folder."""

    printed: str
    notes: str
    folder: Path

    @property
    def html(self) -> str:
        """The page."""
        return (self.folder / "report.html").read_text()

    @property
    def page(self) -> str:
        """The words of the page."""
        return words(self.html)


class Learning:
    """Learns from logs, from equal ones with equal options once; pictures are sketches unless they are ``drawn``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Any, Learnt] = {}

    def __call__(self, frame: pl.DataFrame, *options: str, drawn: bool = False) -> Learnt:
        """Return what comes of a log."""
        key = frame.write_csv(), options, drawn
        if key not in self._known:
            place = self._folder / str(len(list(self._folder.iterdir())))
            place.mkdir()
            frame.write_csv(place / "log.csv")
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(place)
                if not drawn:
                    patch.setattr(Figure, "savefig", sketch)
                done = command("learn", "log.csv", *options, "--out", "found")
            self._known[key] = Learnt(done.stdout, done.stderr, place / "found")
        return self._known[key]
